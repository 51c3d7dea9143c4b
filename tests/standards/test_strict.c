/* The profile `strict`: kinds of values, references with bounds of their own, and each statistic
 * by its definition. */
#include "strict_rows.h"

/* ---- kinds of values ---------------------------------------------------------------------- */

static enum verdict judge_pair(enum dtype dtype, double want, double got, double kernel_bound)
{
    double wants[2] = { want, 1 }, kernel_bounds[2] = { kernel_bound, 0 },
           rms[2] = { kernel_bound / 4, 0 };
    float gots[2] = { (float)got, 1 };
    arena_reset(&arena);
    return judge_values("x", dtype, 2, wants, kernel_bounds, rms, gots).verdict;
}

/* Every kind against every kind: only equal ones agree. */
START_TEST(kinds_of_values_must_agree)
{
    const double kinds[] = { 1.5, INFINITY, -INFINITY, NAN };
    for (size_t d = 0; d < 3; d++)
        for (int w = 0; w < 4; w++)
            for (int g = 0; g < 4; g++)
                ck_assert_int_eq(judge_pair(outputs[d], kinds[w], kinds[g], 0x1p-20),
                                 w == g ? VERDICT_PASS : VERDICT_ERROR);
}
END_TEST

/* At the edge of the range, the model decides what may overflow. */
START_TEST(overflow_is_judged_by_the_interval)
{
    ck_assert_int_eq(judge_pair(DT_F16, 70000, INFINITY, 0), VERDICT_PASS);
    ck_assert_int_eq(judge_pair(DT_F16, 70000, 65504, 0), VERDICT_ERROR); /* saturated */
    ck_assert_int_eq(judge_pair(DT_F16, -70000, -INFINITY, 1), VERDICT_PASS);
    ck_assert_int_eq(judge_pair(DT_F16, 65519, 65504, 0.5), VERDICT_PASS);
    ck_assert_int_eq(judge_pair(DT_F16, 65519, INFINITY, 0.5), VERDICT_ERROR);
    ck_assert_int_eq(judge_pair(DT_F16, 65519, INFINITY, 2), VERDICT_PASS);
    ck_assert_int_eq(judge_pair(DT_F16, 65521, 65504, 0.5), VERDICT_ERROR);
    ck_assert_int_eq(judge_pair(DT_F16, 65521, 65504, 2), VERDICT_PASS);
    ck_assert_int_eq(judge_pair(DT_F32, 1e300, INFINITY, 0), VERDICT_PASS);
    /* A difference that overflows is one. */
    ck_assert_int_eq(judge_pair(DT_F64, 1.7e308, -1.7e308, 0), VERDICT_ERROR);
    ck_assert_int_eq(judge_pair(DT_F64, 1.7e308, -1.7e308, 1e300), VERDICT_ERROR);
    /* The 8-bit formats may saturate. */
    ck_assert_int_eq(judge_pair(DT_F8E4M3, 1000, 448, 0), VERDICT_PASS);
    ck_assert_int_eq(judge_pair(DT_F8E4M3, 1000, NAN, 0), VERDICT_PASS);
    ck_assert_int_eq(judge_pair(DT_F8E4M3, 1000, 416, 0), VERDICT_ERROR);
    ck_assert_int_eq(judge_pair(DT_F8E5M2, -INFINITY, -57344, 0), VERDICT_PASS);
    ck_assert_int_eq(judge_pair(DT_F8E5M2, -INFINITY, 57344, 0), VERDICT_ERROR);
    ck_assert_int_eq(judge_pair(DT_F8E5M2, 1e9, -57344, 0), VERDICT_ERROR);
    ck_assert_int_eq(judge_pair(DT_F8E5M2, 1e9, INFINITY, 0), VERDICT_PASS);
    ck_assert_int_eq(judge_pair(DT_F8E5M2, 1e9, -INFINITY, 0), VERDICT_ERROR);
    ck_assert_int_eq(judge_pair(DT_F8E5M2, 49152, INFINITY, 0), VERDICT_ERROR);
    ck_assert_int_eq(judge_pair(DT_F8E4M3, 447, 416, 30), VERDICT_PASS);
    ck_assert_int_eq(judge_pair(DT_F8E4M3, 447, 384, 30), VERDICT_ERROR);
}
END_TEST

/* Where a kernel may divide by what underflows, it may return anything. */
START_TEST(nothing_is_asked_where_nothing_is_known)
{
    const double any[] = { 0, 3e38, INFINITY, -INFINITY, NAN };
    const double wants[] = { 1.5, INFINITY, -INFINITY, NAN };
    for (size_t d = 0; d < 3; d++)
        for (int k = 0; k < 5; k++)
            for (int w = 0; w < 4; w++)
                ck_assert_int_eq(judge_pair(outputs[d], wants[w], any[k], INFINITY), VERDICT_PASS);
}
END_TEST

START_TEST(zeros_of_both_signs_are_equal)
{
    ck_assert_int_eq(judge_pair(DT_F32, 0.0, -0.0, 0), VERDICT_PASS);
    ck_assert_int_eq(judge_pair(DT_F32, -0.0, 0.0, 0), VERDICT_PASS);
    ck_assert_int_eq(judge_pair(DT_F32, 0.0, 1e-45, 0), VERDICT_ERROR);
}
END_TEST

/* A zero that a kernel may miss by an underflow alone: the squares of its errors underflow themselves. */
START_TEST(right_zeros_pass)
{
    for (size_t d = 0; d < 3; d++)
        ck_assert_int_eq(judge_pair(outputs[d], 0, 0, 0x1p-1074), VERDICT_PASS);
    ck_assert_int_eq(judge_pair(DT_F64, 0, 0, 0x1p-1074), VERDICT_PASS);
    ck_assert_int_eq(judge_pair(DT_F64, 0, 1e-30, 0x1p-1074), VERDICT_ERROR);
}
END_TEST

/* ---- references with bounds of their own ---------------------------------------------------- */

static int refined;
static double refined_to;

static struct status refine_to(struct reference *reference, size_t count, const size_t *components,
                               double wanted_ulp)
{
    ck_assert_double_eq(wanted_ulp, 0x1p-10);
    refined += (int)count;
    for (size_t k = 0; k < count; k++) {
        reference->hi[components[k]] = refined_to;
        reference->error[components[k]] = 0;
    }
    return status_ok();
}

static struct status refine_badly(struct reference *reference, size_t count,
                                  const size_t *components, double wanted_ulp)
{
    (void)reference;
    (void)count;
    (void)components;
    (void)wanted_ulp;
    return status_error(STATUS_NO_MEMORY, "no room to refine");
}

/* One element, float32, exact but for a bound of 2^-10 on the reference 1. */
static struct status measure_bounded(struct model_findings *findings, double got,
                                     enum reference_state certainty, void *refine)
{
    static double want[1], bound[1], kernel_bound[1];
    static const struct model_fallback unused;
    int64_t shape[1] = { 1 };
    struct tensor tensor;
    struct reference reference = { .dtype = DT_F32,
                                   .rank = 1,
                                   .shape = { 1 },
                                   .n = 1,
                                   .hi = want,
                                   .error = bound,
                                   .kernel_bound = kernel_bound,
                                   .state = certainty,
                                   .refine = refine };
    want[0] = 1;
    bound[0] = 0x1p-10;
    kernel_bound[0] = 0;
    refined = 0;
    ck_assert_int_eq(tensor_create(&tensor, &arena, DT_F32, 1, shape).code, STATUS_OK);
    dtype_from_double(tensor.data, DT_F32, &got, 1);
    return error_model_measure(findings, &arena, &tensor, &reference, &unused);
}

START_TEST(deciding_elements_are_refined)
{
    struct model_findings f;
    refined_to = 1 + 0x1p-12;
    ck_assert_int_eq(measure_bounded(&f, 1 + 0x1p-12, REFERENCE_BOUNDED, refine_to).code, 0);
    ck_assert_int_eq(refined, 1);
    ck_assert_uint_eq(f.beyond, 0);
    ck_assert_int_eq(measure_bounded(&f, 1 + 0x1p-11, REFERENCE_BOUNDED, refine_to).code, 0);
    ck_assert_int_eq(refined, 1);
    ck_assert_uint_eq(f.beyond, 1); /* the bound hid it */
    /* Nothing to refine: beyond the bound, or right without it. */
    ck_assert_int_eq(measure_bounded(&f, 1 + 0x1p-9, REFERENCE_BOUNDED, refine_to).code, 0);
    ck_assert_int_eq(refined, 0);
    ck_assert_uint_eq(f.beyond, 1);
    ck_assert_int_eq(measure_bounded(&f, 1, REFERENCE_BOUNDED, refine_to).code, 0);
    ck_assert_int_eq(refined, 0);
    /* Not possible, not needed, not successful. */
    ck_assert_int_eq(measure_bounded(&f, 1 + 0x1p-11, REFERENCE_BOUNDED, NULL).code, 0);
    ck_assert_uint_eq(f.beyond, 0);
    ck_assert_int_eq(measure_bounded(&f, 1 + 0x1p-11, REFERENCE_CERTIFIED, refine_to).code, 0);
    ck_assert_int_eq(refined, 0);
    ck_assert_int_eq(measure_bounded(&f, 1 + 0x1p-11, REFERENCE_BOUNDED, refine_badly).code,
                     STATUS_NO_MEMORY);
}
END_TEST

/* At most a thousand are refined at a time. */
START_TEST(refinement_is_limited)
{
    enum { MANY = 3000 };
    static double want[MANY], bound[MANY], kernel_bound[MANY], got[MANY];
    static const struct model_fallback unused;
    int64_t shape[1] = { MANY };
    struct model_findings f;
    struct reference reference = { .dtype = DT_F32,
                                   .rank = 1,
                                   .shape = { MANY },
                                   .n = MANY,
                                   .hi = want,
                                   .error = bound,
                                   .kernel_bound = kernel_bound,
                                   .state = REFERENCE_BOUNDED,
                                   .refine = refine_to };
    for (size_t i = 0; i < MANY; i++) {
        want[i] = 1;
        bound[i] = i % 2 ? 0x1p-10 : 0;
        got[i] = 1 + (i % 2 ? 0x1p-12 : 0);
    }
    refined = 0;
    refined_to = 1 + 0x1p-12;
    struct tensor *tensor = tensor_of(&arena, DT_F32, 1, shape, got);
    ck_assert_int_eq(error_model_measure(&f, &arena, tensor, &reference, &unused).code, 0);
    ck_assert_int_eq(refined, 1024);
    ck_assert_uint_eq(f.beyond, 0);
}
END_TEST

/* Elements that the model explains without the bound need no refinement, bound or not. */
START_TEST(explained_elements_are_not_refined)
{
    double want[2] = { 1, 1 }, bound[2] = { 0, 0x1p-20 }, kernel_bound[2] = { 0x1p-10, 0x1p-10 };
    double got[2] = { 1 + 0x1p-12, 1 + 0x1p-12 };
    static const struct model_fallback unused;
    int64_t shape[1] = { 2 };
    struct model_findings f;
    struct reference reference = { .dtype = DT_F32,
                                   .rank = 1,
                                   .shape = { 2 },
                                   .n = 2,
                                   .hi = want,
                                   .error = bound,
                                   .kernel_bound = kernel_bound,
                                   .state = REFERENCE_BOUNDED,
                                   .refine = refine_badly };
    struct tensor *tensor = tensor_of(&arena, DT_F32, 1, shape, got);
    ck_assert_int_eq(error_model_measure(&f, &arena, tensor, &reference, &unused).code, 0);
    ck_assert_uint_eq(f.beyond, 0);
}
END_TEST

/* float64: the reference is a pair, and the arithmetic is that of the output. */
START_TEST(pairs_of_doubles)
{
    static const struct model_fallback unused;
    double want[2] = { 1, 0x1p-1060 }, low[2] = { 0x1p-54 * 0.9, 0 },
           kernel_bound[2] = { 0, 0x1p-1070 };
    double got[2] = { 1, 0x1p-1060 };
    int64_t shape[1] = { 2 };
    struct model_findings f;
    struct reference reference = { .dtype = DT_F64,
                                   .rank = 1,
                                   .shape = { 2 },
                                   .n = 2,
                                   .hi = want,
                                   .lo = low,
                                   .kernel_bound = kernel_bound };
    struct tensor *tensor = tensor_of(&arena, DT_F64, 1, shape, got);
    ck_assert_int_eq(error_model_measure(&f, &arena, tensor, &reference, &unused).code, 0);
    ck_assert_uint_eq(f.beyond, 0);
    ck_assert_uint_eq(f.statistics.elements, 1);
    ck_assert_uint_eq(f.flips, 0);
    /* The low part decides: with it the next number is 0.6 units off, without 1. */
    low[0] = 0x1p-52 * 0.4;
    kernel_bound[0] = 0x1p-52 * 0.15;
    got[0] = 1 + 0x1p-52;
    tensor = tensor_of(&arena, DT_F64, 1, shape, got);
    ck_assert_int_eq(error_model_measure(&f, &arena, tensor, &reference, &unused).code, 0);
    ck_assert_uint_eq(f.beyond, 0);
    low[0] = -low[0];
    ck_assert_int_eq(error_model_measure(&f, &arena, tensor, &reference, &unused).code, 0);
    ck_assert_uint_eq(f.beyond, 1);
    kernel_bound[0] = 0;
    got[1] = 0x1p-1060 + 0x1p-1068;
    tensor = tensor_of(&arena, DT_F64, 1, shape, got);
    ck_assert_int_eq(error_model_measure(&f, &arena, tensor, &reference, &unused).code, 0);
    ck_assert_uint_eq(f.beyond, 2);
}
END_TEST

/* Errors of float64 whose squares underflow are expected to be a quarter of the worst, and are not measured in units of 0. */
START_TEST(errors_whose_squares_underflow)
{
    static const struct model_fallback unused;
    double want[1] = { 0x1p-1000 }, kernel_bound[1] = { 0x1p-1050 }, kernel_rms[1] = { 0 };
    double got[1] = { 0x1p-1000 + 0x1p-1051 };
    int64_t shape[1] = { 1 };
    struct model_findings f;
    struct reference reference = { .dtype = DT_F64,
                                   .rank = 1,
                                   .shape = { 1 },
                                   .n = 1,
                                   .hi = want,
                                   .kernel_bound = kernel_bound,
                                   .kernel_rms = kernel_rms };
    struct tensor *tensor = tensor_of(&arena, DT_F64, 1, shape, got);
    ck_assert_int_eq(error_model_measure(&f, &arena, tensor, &reference, &unused).code, 0);
    ck_assert_uint_eq(f.beyond, 0);
    ck_assert(f.largest > 1.5 && f.largest < 2.1);
}
END_TEST

/* The statistics to the last digit. A float16 result is a rounding of everything within half a step, so only
 * what is beyond that counts as error. */
START_TEST(statistics_by_their_definition)
{
    static const struct model_fallback unused;
    double want[2] = { 1.5, -1.5 }, kernel_bound[2] = { 0x1p-5, 0x1p-5 },
           rms[2] = { 0x1p-7, 0x1p-7 };
    double got[2] = { 1.5 + 0x1p-8, -1.5 };
    int64_t shape[1] = { 2 };
    struct model_findings f;
    struct reference *reference = reference_of(&arena, DT_F16, 1, shape, want, 2);
    struct tensor *tensor = tensor_of(&arena, DT_F16, 1, shape, got);
    reference->kernel_bound = kernel_bound;
    reference->kernel_rms = rms;
    ck_assert_int_eq(error_model_measure(&f, &arena, tensor, reference, &unused).code, 0);
    double unit = 0x1p-10, inner = 0x1p-23; /* of float16, and of the float32 before it */
    double spread = sqrt(0x1p-14 + inner * inner / 12), least = 0x1p-8 - unit / 2;
    double z = least / spread;
    ck_assert_double_eq_tol(f.largest, z, 1e-14);
    ck_assert_uint_eq(f.largest_index, 0);
    ck_assert_double_eq_tol(f.statistics.rms, z / sqrt(2), 1e-14);
    ck_assert_double_eq_tol(f.statistics.bias, z / 2, 1e-14);
    ck_assert_uint_eq(f.flips, 1);
    double chances = beyond(least, 2 * spread) + beyond(unit / 2, 2 * spread);
    ck_assert_double_eq_tol(f.expected_flips, chances, 1e-14);
    ck_assert_double_eq_tol(f.worst.quotient, 0x1p-8 / (0x1p-5 + inner / 2 + unit / 2), 1e-14);
    /* The reference's own bound may have moved it. */
    reference->error = (double[2]){ unit / 16, 0 };
    ck_assert_int_eq(error_model_measure(&f, &arena, tensor, reference, &unused).code, 0);
    ck_assert_double_eq_tol(f.largest, (least - unit / 16) / spread, 1e-14);
    chances = beyond(least - unit / 16, 2 * spread) + beyond(unit / 2, 2 * spread);
    ck_assert_double_eq_tol(f.expected_flips, chances, 1e-14);
    /* A power of two is the rounding of less below it: a quarter of the step above. */
    want[0] = reference->hi[0] = 1 - 0x1p-9;
    reference->error = NULL;
    tensor = tensor_of(&arena, DT_F16, 1, shape, (double[2]){ 1, -1.5 });
    ck_assert_int_eq(error_model_measure(&f, &arena, tensor, reference, &unused).code, 0);
    spread = sqrt(0x1p-14 + 0x1p-48 / 12);
    ck_assert_double_eq_tol(f.largest, (0x1p-9 - unit / 4) / spread, 1e-14);
    /* Without a model: 64 units at the element and 64 at the largest, a quarter as rms. */
    const struct model_fallback fallback = { 3, 5 };
    reference->kernel_bound = reference->kernel_rms = NULL;
    want[0] = reference->hi[0] = 0.25;
    tensor = tensor_of(&arena, DT_F32, 1, shape, (double[2]){ 0.25 + 0x1p-22, -1.5 });
    ck_assert_int_eq(error_model_measure(&f, &arena, tensor, reference, &fallback).code, 0);
    double reach = 3 * 0x1p-25 + 5 * 0x1p-23;
    ck_assert_double_eq_tol(f.worst.quotient, 0x1p-22 / (reach + 0x1p-26), 1e-14);
    ck_assert_double_eq_tol(f.largest, 0x1p-22 / sqrt(reach * reach / 16 + 0x1p-50 / 12), 1e-12);
}
END_TEST

START_TEST(no_memory_to_measure)
{
    static const struct model_fallback unused;
    double want[1] = { 1 };
    int64_t shape[1] = { 1 };
    struct model_findings f;
    struct arena little = { .limit_bytes = 64 };
    struct tensor *tensor = tensor_of(&arena, DT_F32, 1, shape, want);
    struct reference *reference = reference_of(&arena, DT_F32, 1, shape, want, 1);
    ck_assert_int_eq(error_model_measure(&f, &little, tensor, reference, &unused).code,
                     STATUS_NO_MEMORY);
    arena_release(&little);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("strict");
    TCase *tcase = tcase_create("strict");
    tcase_set_timeout(tcase, 120);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, kinds_of_values_must_agree);
    tcase_add_test(tcase, overflow_is_judged_by_the_interval);
    tcase_add_test(tcase, nothing_is_asked_where_nothing_is_known);
    tcase_add_test(tcase, zeros_of_both_signs_are_equal);
    tcase_add_test(tcase, right_zeros_pass);
    tcase_add_test(tcase, deciding_elements_are_refined);
    tcase_add_test(tcase, refinement_is_limited);
    tcase_add_test(tcase, explained_elements_are_not_refined);
    tcase_add_test(tcase, pairs_of_doubles);
    tcase_add_test(tcase, errors_whose_squares_underflow);
    tcase_add_test(tcase, statistics_by_their_definition);
    tcase_add_test(tcase, no_memory_to_measure);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
