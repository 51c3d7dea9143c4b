/* Results of kernels that round to bfloat16 between their steps, by a simulation in double, and of faulty ones. */
#include <math.h>

#include "standards/staged_fit.h"
#include "support/cases.h"
#include "support/random_numbers.h"
#include "support/suite.h"

enum { N = 3000 };

static struct arena arena;
static double x[N], y[N], want[N], got[N];

static double to_bfloat16(double v)
{
    uint16_t bits;
    dtype_from_double(&bits, DT_BF16, &v, 1);
    dtype_to_double(&v, &bits, DT_BF16, 1);
    return v;
}

/* x (1 / (1 + y)): the sum and the reciprocal are steps 1 and 0, newest first. */
static double kernel(size_t i, const struct staged_choice *choice)
{
    double sum = 1 + y[i];
    if (!(choice->kept & 2)) sum = to_bfloat16(sum);
    double reciprocal = 1 / sum;
    if (!(choice->kept & 1)) reciprocal = to_bfloat16(reciprocal);
    return x[i] * reciprocal;
}

/* The result of one kernel alone: with composed functions, where the last two of three steps round. Without, kernels come nearer to it than
 * others with. */
static bool by_last_steps;
static double nearly(size_t i, const struct staged_choice *choice)
{
    bool found = choice->composed_functions && (choice->kept & 7) == 4;
    return got[i] * (found ? 1 : choice->composed_functions ? 1 + 0x1p-5 : 1 + 0x1p-7);
}

static double own_errors[N]; /* of a kernel that rounds nowhere */

static size_t computed;
static struct status compute(struct reference *reference, bool *can,
                             const struct staged_choice *choice, staged_look *look, void *context)
{
    static double values[N];
    for (size_t i = 0; i < N; i++)
        values[i] = by_last_steps ? nearly(i, choice) : kernel(i, choice);
    reference->staged_step_count = by_last_steps ? 3 : 2;
    reference->staged_gradient = false;
    computed++;
    *can = true;
    look(context, values);
    return status_ok();
}

static int64_t columns = N;
static enum dtype dtype = DT_BF16; /* of the result; its components are those of a complex one */

static struct staged_fit find(double enough)
{
    const bool complex = dtype_is_complex(dtype);
    const int64_t shape[] = { N / columns, columns / (complex ? 2 : 1) };
    struct value value =
        tensor_value(&arena, complex ? DT_F32 : dtype, false, 1, (const int64_t[]){ N }, got, N);
    struct reference reference = { .dtype = dtype,
                                   .rank = 2,
                                   .shape = { shape[0], shape[1] },
                                   .n = N,
                                   .stage_dtype = DT_BF16,
                                   .hi = want,
                                   .kernel_bound = own_errors,
                                   .compute_staged = compute };
    struct staged_fit fit;
    bool can;
    computed = 0;
    struct status st = staged_fit_find(&fit, &can, &arena, &reference, value.tensor.tensor, enough);
    ck_assert_int_eq(st.code, STATUS_OK);
    ck_assert(can);
    return fit;
}

/* Arguments, the exact results and those of the kernel that rounds but at the steps `kept`. */
static void draw(uint64_t kept)
{
    const struct staged_choice choice = { .kept = kept };
    arena_reset(&arena);
    state = 20261123;
    for (size_t i = 0; i < N; i++) {
        x[i] = to_bfloat16(2 * uniform() - 1);
        y[i] = to_bfloat16(uniform());
        want[i] = x[i] / (1 + y[i]);
        got[i] = to_bfloat16(kernel(i, &choice));
    }
}

/* Whichever steps round, the kernel is found. */
START_TEST(the_kernel_is_found)
{
    for (uint64_t kept = 0; kept < 3; kept++) {
        draw(kept);
        struct staged_fit fit = find(0.9);
        ck_assert_uint_gt(fit.differing, N / 10);
        ck_assert_uint_eq(fit.reproduced, fit.differing);
        ck_assert_double_eq(fit.share, 1);
        ck_assert_uint_eq(fit.choice.kept & 3, kept);
        if (kept == 0) ck_assert_uint_eq(computed, 1); /* the search ends there */
    }
}
END_TEST

/* The last rounding toward 0, an error in every element, and a few wrong elements in a right result. */
START_TEST(faults_are_not_found)
{
    draw(3);
    for (size_t i = 0; i < N; i++)
        if (fabs(got[i]) > fabs(want[i]))
            got[i] = to_bfloat16(nextafter(want[i], 0) * (1 - 0x1p-9));
    struct staged_fit fit = find(0.9);
    ck_assert_uint_gt(fit.differing, N / 5);
    ck_assert_double_lt(fit.share, 0.4);

    draw(3);
    for (size_t i = 0; i < N; i++) got[i] = to_bfloat16(got[i] * (1 + 0x1p-7));
    ck_assert_double_lt(find(0.9).share, 0.4);

    draw(3);
    for (size_t i = 0; i < N; i += 100) got[i] = to_bfloat16(got[i] * (1 + 0x1p-6));
    fit = find(0.9);
    ck_assert_uint_le(fit.differing, N / 100);
    ck_assert_double_lt(fit.share, 0.4);
}
END_TEST

/* A kernel would round so everywhere: one that does in every other element has done something else. */
START_TEST(elements_that_agree_with_the_reference_count)
{
    draw(0);
    for (size_t i = 0; i < N; i += 2) got[i] = to_bfloat16(want[i]);
    struct staged_fit fit = find(0.9);
    ck_assert_uint_gt(fit.contradicted, N / 20);
    ck_assert_double_gt((double)fit.reproduced, 0.9 * (double)fit.differing);
    ck_assert_double_lt(fit.share, 0.55);
}
END_TEST

START_TEST(last_steps_may_be_those_that_round)
{
    draw(3);
    for (size_t i = 0; i < N; i++) got[i] = to_bfloat16(got[i] * (1 + 0x1p-6));
    by_last_steps = true;
    struct staged_fit fit = find(1);
    by_last_steps = false;
    ck_assert_double_eq(fit.share, 1);
}
END_TEST

/* 3000 elements are 93 vectors of 32 and 24 more, which another function rounds at other steps; where elements further from the end
 * do so, or only some of the last, it is no such kernel. */
START_TEST(the_end_of_vectors_may_round_elsewhere)
{
    static const struct staged_choice all = { .kept = 0 };
    for (uint64_t kept = 1; kept <= 3; kept += 2) {
        draw(kept);
        for (size_t i = N - 24; i < N; i++) got[i] = to_bfloat16(kernel(i, &all));
        struct staged_fit fit = find(1);
        ck_assert_uint_gt(fit.differing, 4);
        ck_assert_double_eq(fit.share, 1);
        ck_assert_double_lt(fit.chance, 1e-3);
        ck_assert(!fit.whole);
    }
    columns = 75; /* 64 and 11 of each row */
    draw(3);
    for (size_t i = 0; i < N; i++)
        if (i % 75 >= 64) got[i] = to_bfloat16(kernel(i, &all));
    struct staged_fit fit = find(1);
    columns = N;
    ck_assert_double_eq(fit.share, 1);
    ck_assert_double_lt(fit.chance, 1e-3);
    draw(3);
    for (size_t i = N - 80; i < N; i++) got[i] = to_bfloat16(kernel(i, &all));
    ck_assert_double_lt(find(1).share, 0.9);
    draw(3);
    for (size_t i = N - 24; i < N; i += 3) got[i] = to_bfloat16(kernel(i, &all));
    ck_assert_double_lt(find(1).share, 0.9);
}
END_TEST

/* What a kernel gives far from the reference it gives by chance less often than a number beside it. */
START_TEST(a_number_far_off_is_no_chance)
{
    double chance[2];
    by_last_steps = true;
    for (int far = 0; far < 2; far++) {
        draw(3);
        for (size_t i = 0; i < N; i++) got[i] = to_bfloat16(want[i]);
        got[7] *= 1 + (far ? 64 : 2) * 0x1p-7;
        struct staged_fit fit = find(1);
        ck_assert_uint_eq(fit.reproduced, 1);
        chance[far] = fit.chance;
    }
    by_last_steps = false;
    ck_assert_double_lt(chance[1], chance[0] / 15);
    ck_assert_double_gt(chance[1], chance[0] / 70);
}
END_TEST

/* Elements of which nothing is known, and those that errors of float take as far, tell no kernel from another. */
START_TEST(what_is_open_does_not_count)
{
    draw(0);
    own_errors[7] = INFINITY;
    got[7] = NAN;
    own_errors[8] = 0.01;
    got[8] = to_bfloat16(got[8] + 0.009);
    struct staged_fit fit = find(1);
    own_errors[7] = own_errors[8] = 0;
    ck_assert_double_eq(fit.share, 1);
    fit = find(1);
    ck_assert_double_lt(fit.share, 1);
}
END_TEST

/* A complex64 result whose parts were rounded to bfloat16 on the way. */
START_TEST(complex_results_are_read_by_part)
{
    static const struct staged_choice one = { .kept = 2 };
    draw(2);
    dtype = DT_C64;
    for (size_t i = 0; i < N; i++) {
        own_errors[i] = 1e-7;
        got[i] = kernel(i, &one); /* the last step does not round */
    }
    struct staged_fit fit = find(1);
    ck_assert_double_eq(fit.share, 1);
    for (size_t i = 0; i < N; i++) got[i] *= 1 + 0x1p-7;
    fit = find(1);
    for (size_t i = 0; i < N; i++) own_errors[i] = 0;
    dtype = DT_BF16;
    ck_assert_double_lt(fit.share, 0.1);
}
END_TEST

/* NaN where a number belongs is no rounding. */
START_TEST(a_wrong_kind_is_not_found)
{
    draw(3);
    got[7] = NAN;
    struct staged_fit fit = find(0.9);
    ck_assert_uint_eq(fit.differing, 1);
    ck_assert_uint_eq(fit.reproduced, 0);
}
END_TEST

/* The rounded reference differs nowhere. */
START_TEST(a_right_result_says_nothing)
{
    draw(3);
    struct staged_fit fit = find(0.9);
    ck_assert_uint_eq(fit.differing, 0);
    ck_assert_double_eq(fit.share, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("staged_fit");
    TCase *tests = tcase_create("fit");
    tcase_add_test(tests, the_kernel_is_found);
    tcase_add_test(tests, faults_are_not_found);
    tcase_add_test(tests, elements_that_agree_with_the_reference_count);
    tcase_add_test(tests, last_steps_may_be_those_that_round);
    tcase_add_test(tests, the_end_of_vectors_may_round_elsewhere);
    tcase_add_test(tests, a_number_far_off_is_no_chance);
    tcase_add_test(tests, what_is_open_does_not_count);
    tcase_add_test(tests, complex_results_are_read_by_part);
    tcase_add_test(tests, a_wrong_kind_is_not_found);
    tcase_add_test(tests, a_right_result_says_nothing);
    suite_add_tcase(suite, tests);
    int failed = suite_run(suite);
    arena_release(&arena);
    return failed;
}
