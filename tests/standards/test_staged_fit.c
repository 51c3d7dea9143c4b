/* Results of kernels that round to bfloat16 between two steps, by a simulation in double, and of faulty ones. */
#include <math.h>

#include "standards/staged_fit.h"
#include "support/cases.h"
#include "support/random_numbers.h"
#include "support/suite.h"

enum { N = 3000 };

static struct arena arena;
static double want[N], staged[N], got[N];

static double to_bfloat16(double x)
{
    uint16_t bits;
    dtype_from_double(&bits, DT_BF16, &x, 1);
    dtype_to_double(&x, &bits, DT_BF16, 1);
    return x;
}

static struct staged_fit measure(void)
{
    static const int64_t shape[] = { N };
    struct value value = tensor_value(&arena, DT_BF16, false, 1, shape, got, N);
    struct reference reference = {
        .dtype = DT_BF16, .rank = 1, .shape = { N }, .n = N, .hi = want
    };
    return staged_fit_measure(&reference, staged, value.tensor.tensor);
}

/* x / (1 + y) with both steps rounded, and its exact value. */
static void draw(void)
{
    arena_reset(&arena);
    state = 20261123;
    for (size_t i = 0; i < N; i++) {
        double x = to_bfloat16(2 * uniform() - 1), y = to_bfloat16(uniform());
        want[i] = x / (1 + y);
        staged[i] = x / to_bfloat16(1 + y);
        got[i] = to_bfloat16(want[i]);
    }
}

/* The kernel that was simulated. */
START_TEST(a_staged_kernel_fits)
{
    draw();
    for (size_t i = 0; i < N; i++) got[i] = to_bfloat16(staged[i]);
    struct staged_fit fit = measure();
    ck_assert_uint_gt(fit.differing, N / 5);
    ck_assert_double_gt(fit.correlation, 0.5);
    ck_assert_double_lt(fit.one_sided, 0.2);
}
END_TEST

/* The last rounding toward 0: half of the elements differ, all in one direction. */
START_TEST(a_cut_does_not_fit)
{
    draw();
    for (size_t i = 0; i < N; i++)
        if (fabs(got[i]) > fabs(want[i]))
            got[i] = to_bfloat16(nextafter(want[i], 0) * (1 - 0x1p-9));
    struct staged_fit fit = measure();
    ck_assert_uint_gt(fit.differing, N / 5);
    ck_assert_double_lt(fit.correlation, 0.25);
    ck_assert_double_gt(fit.one_sided, 0.9);
}
END_TEST

/* The rounded reference differs nowhere, and an infinity is left out. */
START_TEST(a_right_result_says_nothing)
{
    draw();
    got[7] = INFINITY;
    struct staged_fit fit = measure();
    ck_assert_uint_eq(fit.differing, 0);
    ck_assert(fit.correlation == 0 && fit.one_sided == 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("staged_fit");
    TCase *tests = tcase_create("fit");
    tcase_add_test(tests, a_staged_kernel_fits);
    tcase_add_test(tests, a_cut_does_not_fit);
    tcase_add_test(tests, a_right_result_says_nothing);
    suite_add_tcase(suite, tests);
    int failed = suite_run(suite);
    arena_release(&arena);
    return failed;
}
