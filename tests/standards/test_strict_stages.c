/* Kernels that round between their steps, and what the profile `strict` says of them. */
#include "strict_rows.h"

static struct status no_stages(struct reference *reference)
{
    (void)reference;
    return status_no_memory(1);
}

/* What a kernel that rounds between its steps makes of the data of judge_staged, if it rounds the numbers of the call:
 * 1.75 units more in the first `staged_elements` of every 4th element. */
static size_t staged_elements;
static struct status staged_kernel(struct reference *reference, bool *can,
                                   const struct staged_choice *choice, staged_look *look,
                                   void *context)
{
    static double values[1000];
    ck_assert_uint_le(reference->n, 1000);
    for (size_t i = 0; i < reference->n; i++) {
        bool moves = choice->numbers && i % 4 == 0 && i / 4 < staged_elements;
        values[i] = reference->hi[i] + (moves ? 1.75 * 0x1p-10 : 0);
    }
    *can = true;
    look(context, values);
    return status_ok();
}
static bool with_kernel;             /* judge_staged knows that kernel */
static double staged_spread = 1;     /* and expects of staged results this many units */
static double fused_bound = 0x1p-10; /* a fused kernel is right to as many */

/* Another start of the gradient, from which its elements are allowed four times as much. */
static struct status four_times(struct reference *out, bool *can, struct reference *reference)
{
    *out = *reference;
    out->kernel_bound = arena_allocate_array(&arena, reference->n, sizeof *out->kernel_bound);
    out->kernel_rms = out->kernel_bound;
    for (size_t i = 0; i < reference->n; i++) out->kernel_bound[i] = 4 * reference->kernel_bound[i];
    *can = true;
    return status_ok();
}
static bool with_outputs; /* judge_staged knows that start */

/* 200 float16 results of which every `nth` is off by `units`, where a fused kernel is right to 2^-10 of a unit and one
 * that rounds between its steps to 2 units. */
static struct judged judge_staged(double units, size_t nth,
                                  struct status (*stage)(struct reference *))
{
    enum { N = 200 };
    static double want[N], bound[N], rms[N], staged[N], staged_rms[N];
    static float got[N];
    double unit = 0x1p-10;
    for (size_t i = 0; i < N; i++) {
        want[i] = 1 + unit * (double)(3 * i);
        bound[i] = unit * fused_bound;
        rms[i] = unit * 0x1p-10;
        staged[i] = 2 * unit;
        staged_rms[i] = staged_spread * unit;
        got[i] = (float)(want[i] + (i % nth ? 0 : i % 2 ? -units : units) * unit);
    }
    struct reference reference = { .dtype = DT_F16,
                                   .stage_dtype = DT_F16,
                                   .rank = 1,
                                   .shape = { N },
                                   .n = N,
                                   .hi = want,
                                   .kernel_bound = bound,
                                   .kernel_rms = rms,
                                   .staged_bound = staged,
                                   .staged_rms = staged_rms,
                                   .staged_steps = "exp, a number",
                                   .stage = stage,
                                   .compute_staged = with_kernel ? staged_kernel : NULL,
                                   .from_outputs = with_outputs ? four_times : NULL };
    struct api_case c = { .full_name = "Torch.x.0", .type = "Torch", .api = "x" };
    struct judge_request request = {
        .profile = strict, .c = &c, .bench_dtype = DT_F64, .input_dtype = DT_F16, .precision = 14
    };
    struct wanted wanted = { .reference = &reference };
    struct value value = { .kind = VALUE_TENSOR };
    struct judged judged = { 0 };
    struct tensor tensor;
    arena_reset(&arena);
    ck_assert_int_eq(tensor_create(&tensor, &arena, DT_F16, 1, (int64_t[]){ N }).code, STATUS_OK);
    dtype_from_float(tensor.data, DT_F16, got, N);
    value.tensor.tensor = &tensor;
    struct status status = judge_output(&judged, &arena, &request, &wanted, &value);
    ck_assert_int_eq(status.code, stage ? STATUS_NO_MEMORY : STATUS_OK);
    return judged;
}

START_TEST(rounding_between_the_steps_is_a_warning)
{
    struct judged judged = judge_staged(2, 1, NULL);
    ck_assert_int_eq(judged.verdict, VERDICT_WARNING);
    ck_assert_msg(
        strstr(judged.cells[COLUMN_MESSAGE],
               "Explained by rounding to torch.float16 between the steps (exp, a number)") != NULL,
        "%s", judged.cells[COLUMN_MESSAGE]);
    ck_assert_str_eq(judged.deciding_metric, "model_flips");
    ck_assert_int_eq(judge_staged(3, 1, NULL).verdict, VERDICT_ERROR); /* beyond that, too */
    ck_assert_int_eq(judge_staged(0, 1, NULL).verdict, VERDICT_PASS);
    /* A kernel that rounds between its steps does so everywhere. */
    ck_assert_int_eq(judge_staged(2, 4, NULL).verdict, VERDICT_WARNING);
    ck_assert_int_eq(judge_staged(2, 100, NULL).verdict, VERDICT_ERROR);
    (void)judge_staged(2, 1, no_stages);
}
END_TEST

/* Errors that roundings between the steps might make are theirs only if a kernel with such roundings gives them: 0.7
 * of the elements that are not the rounded reference. */
START_TEST(errors_that_no_kernel_gives_are_no_roundings)
{
    with_kernel = true;
    staged_elements = 0;
    struct judged judged = judge_staged(2, 4, NULL); /* 50 elements are larger by 2 units */
    ck_assert_int_eq(judged.verdict, VERDICT_ERROR);
    ck_assert_msg(
        strstr(judged.cells[COLUMN_MESSAGE], "no kernel with such roundings gives them") != NULL,
        "%s", judged.cells[COLUMN_MESSAGE]);
    ck_assert_int_eq(judge_staged(2, 1, NULL).verdict, VERDICT_ERROR); /* both ways */
    staged_elements = 34;
    ck_assert_int_eq(judge_staged(2, 4, NULL).verdict, VERDICT_ERROR);
    staged_elements = 35;
    ck_assert_int_eq(judge_staged(2, 4, NULL).verdict, VERDICT_WARNING);
    with_kernel = false;
}
END_TEST

/* Within the bounds, but more than the statistics explain (2 units where 0.25 are expected): all but all elements have to be those of a
 * kernel. */
START_TEST(odd_errors_are_explained_by_their_kernel_alone)
{
    with_kernel = true;
    staged_spread = 0.25;
    staged_elements = 50;
    ck_assert_int_eq(judge_staged(2, 4, NULL).verdict, VERDICT_WARNING);
    staged_elements = 47; /* 94 % */
    ck_assert_int_eq(judge_staged(2, 4, NULL).verdict, VERDICT_ERROR);
    staged_elements = 48;
    ck_assert_int_eq(judge_staged(2, 4, NULL).verdict, VERDICT_WARNING);
    with_kernel = false;
    ck_assert_int_eq(judge_staged(2, 4, NULL).verdict, VERDICT_ERROR); /* none that is known */
    staged_spread = 1;
}
END_TEST

/* Where a fused kernel may be off by more than the errors no element tells one kernel from another: that explains nothing. */
START_TEST(what_tells_no_kernels_apart_explains_nothing)
{
    fused_bound = 3;
    ck_assert_int_eq(judge_staged(2, 1, NULL).verdict,
                     VERDICT_WARNING); /* no kernel to compare with */
    with_kernel = true;
    staged_elements = 50;
    ck_assert_int_eq(judge_staged(2, 1, NULL).verdict, VERDICT_ERROR);
    with_kernel = false;
    fused_bound = 0x1p-10;
}
END_TEST

/* A start that does not explain the row leaves no trace: the limits of the evidence are those of the message. */
START_TEST(a_start_that_explains_nothing_is_forgotten)
{
    struct judged alone = judge_staged(3, 1, NULL);
    with_outputs = true;
    struct judged judged = judge_staged(3, 1, NULL);
    with_outputs = false;
    ck_assert_int_eq(judged.verdict, VERDICT_ERROR);
    ck_assert_uint_gt(alone.limit_count, 0);
    ck_assert_uint_eq(judged.limit_count, alone.limit_count);
    for (size_t i = 0; i < alone.limit_count; i++) {
        ck_assert_str_eq(judged.limits[i].metric, alone.limits[i].metric);
        ck_assert_double_eq(judged.limits[i].value, alone.limits[i].value);
        ck_assert_double_eq(judged.limits[i].limit, alone.limits[i].limit);
    }
}
END_TEST

/* A line of a tensor: 64 rows of 32 float32 results with errors of a fifth of what is expected, and one row with four
 * times that, which no element and no statistic of all rows shows. */
START_TEST(a_row_is_judged_by_the_others)
{
    enum { ROWS = 64, ROW = 32, N = ROWS * ROW };
    static double want[N], bound[N], rms[N];
    static float got[N];
    for (int spoilt = 0; spoilt < 2; spoilt++) {
        state = 20261123;
        for (size_t i = 0; i < N; i++) {
            double size = spoilt && i / ROW == 40 ? 4 : 0.2;
            want[i] = 1 + uniform();
            rms[i] = 64 * 0x1p-23;
            bound[i] = 40 * rms[i];
            got[i] = (float)(want[i] + size * rms[i] * (uniform() < 0.5 ? -1 : 1));
        }
        struct judged judged;
        arena_reset(&arena);
        judged = judge_matrix("x", DT_F32, ROWS, N, want, bound, rms, got);
        ck_assert_int_eq(judged.verdict, spoilt ? VERDICT_ERROR : VERDICT_PASS);
        if (!spoilt) continue;
        ck_assert_str_eq(judged.deciding_metric, "model_line");
        ck_assert_msg(strstr(judged.cells[COLUMN_MESSAGE], "at index 40 of dimension 0") != NULL,
                      "%s", judged.cells[COLUMN_MESSAGE]);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("strict_stages");
    TCase *tcase = tcase_create("strict_stages");
    tcase_set_timeout(tcase, 120);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, rounding_between_the_steps_is_a_warning);
    tcase_add_test(tcase, errors_that_no_kernel_gives_are_no_roundings);
    tcase_add_test(tcase, odd_errors_are_explained_by_their_kernel_alone);
    tcase_add_test(tcase, what_tells_no_kernels_apart_explains_nothing);
    tcase_add_test(tcase, a_start_that_explains_nothing_is_forgotten);
    tcase_add_test(tcase, a_row_is_judged_by_the_others);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
