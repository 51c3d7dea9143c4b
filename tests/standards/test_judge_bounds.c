/* One output judged: references with a bound of their own, and memory that runs out. */
#include "judged_outputs.h"

/* ---- references with a bound of their own -------------------------------------------------------- */

enum { WIDE = 5000 };
static size_t refined_count, refined_first;
static double true_value;

static struct status refine_all(struct reference *reference, size_t count, const size_t *components,
                                double wanted_ulp)
{
    ck_assert_double_eq(wanted_ulp, 0x1p-10);
    refined_count = count;
    refined_first = components[count - 1];
    for (size_t k = 0; k < count; k++) {
        reference->hi[components[k]] = true_value;
        reference->error[components[k]] = 0;
    }
    return status_ok();
}

static struct status refine_fails(struct reference *reference, size_t count,
                                  const size_t *components, double wanted_ulp)
{
    (void)reference;
    (void)count;
    (void)components;
    (void)wanted_ulp;
    return status_error(STATUS_INTERNAL, "cannot refine");
}

/* n float32 outputs; element k has the given want, got and bound, the others are exact ones. */
static struct status judge_bounded(struct judged *judged, size_t n, size_t k, double want,
                                   double got, double bound, enum reference_state certainty,
                                   void *refine, double *low)
{
    static double wants[WIDE], bounds[WIDE], gots[WIDE];
    int64_t shape[1] = { (int64_t)n };
    for (size_t i = 0; i < n; i++) {
        wants[i] = gots[i] = i == k ? want : 1;
        if (i == k) gots[i] = got;
        bounds[i] = i == k ? bound : 0;
    }
    struct judge_request request = request_for(doc, "softmax", DT_F64, DT_F32);
    struct wanted wanted = { .reference = reference_of(&arena, DT_F32, 1, shape, wants, n) };
    struct value value = tensor_value(tensor_of(&arena, DT_F32, 1, shape, gots));
    wanted.reference->error = bounds;
    wanted.reference->lo = low;
    wanted.reference->state = certainty;
    wanted.reference->refine = refine;
    refined_count = 0;
    return judge_output(judged, &arena, &request, &wanted, &value);
}

/* The largest error is 0.0009 by a reference that may be off by 0.001; the true value is 1.002. */
START_TEST(bounds_that_decide_are_refined)
{
    struct judged judged;
    true_value = 1.002;
    ck_assert_int_eq(
        judge_bounded(&judged, 3, 1, 1, 1.0009, 0.001, REFERENCE_BOUNDED, refine_all, NULL).code,
        STATUS_OK);
    ck_assert_uint_gt(refined_count, 0);
    expect(&judged, VERDICT_ERROR, "Relative error is greater than 0.001");
    ck_assert_double_eq_tol(judged.metrics.peer.max_abs_error, 0.0011, 1e-7);
    ck_assert_int_eq(
        judge_bounded(&judged, 3, 1, 1, 1.0009, 0.001, REFERENCE_CERTIFIED, refine_all, NULL).code,
        STATUS_OK);
    ck_assert_uint_eq(refined_count, 0);
    expect(&judged, VERDICT_PASS, NULL);
    ck_assert_int_eq(
        judge_bounded(&judged, 3, 1, 1, 1.0009, 0.001, REFERENCE_BOUNDED, NULL, NULL).code,
        STATUS_OK);
    expect(&judged, VERDICT_PASS, NULL);
    ck_assert_int_eq(
        judge_bounded(&judged, 3, 1, 1, 1.0009, 0.001, REFERENCE_BOUNDED, refine_fails, NULL).code,
        STATUS_INTERNAL);
    /* Nothing is known of the element: of a NaN, too, it has to be. */
    true_value = 1.002;
    ck_assert_int_eq(
        judge_bounded(&judged, 3, 1, 1, NAN, INFINITY, REFERENCE_BOUNDED, refine_all, NULL).code,
        STATUS_OK);
    ck_assert_uint_eq(refined_count, 1);
    /* Equal everywhere and no bound: nothing to do. */
    ck_assert_int_eq(
        judge_bounded(&judged, 3, 1, 1, 1, 0, REFERENCE_BOUNDED, refine_all, NULL).code, STATUS_OK);
    ck_assert_uint_eq(refined_count, 0);
}
END_TEST

/* One threshold each: errors whose interval just reaches it, or just does not. Beside it only
 * the worst elements are refined, which the first element is here. */
START_TEST(each_threshold_makes_an_element_decide)
{
    static const struct {
        double want, got, slack; /* slack: how far the nearest threshold is */
        /* clang-format off */
    } cases[] = {
        { 1, 1 + 0.0101, 0.0001 / 1.01 },       /* within a hundredth */
        { 1, 1 + 0.0011, 0.0001 / 1.001 },      /* a thousandth, and the largest error */
        { 1, 1 + 0.00011, 0.00001 / 1.0001 },   /* a ten-thousandth */
        { 1, 1 + 0x1p-20 * 1.2, 0 },            /* relative tolerance 1e-6 */
        { 0, 1.1e-9, 0.1e-9 },                  /* absolute error of a small value */
        { 1e-6 + 1e-12, 1e-6 + 5e-10, 1e-12 },  /* the small value itself */
        { 1, 1 + 33 * 0x1p-23, 0x1p-23 },       /* 32 ulp */
    };
    /* clang-format on */
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        struct judged judged;
        double slack = cases[k].slack ? cases[k].slack
                                      : (fabs((float)cases[k].got - 1) - 1e-6) / (1 + 1e-6);
        /* The last element is the one asked about; the others are worse by every measure. */
        static double wants[3], bounds[3], gots[3];
        int64_t shape[1] = { 3 };
        for (int past = 0; past < 2; past++) {
            wants[0] = 0, gots[0] = 5e8, bounds[0] = 0;
            wants[1] = 1, gots[1] = 1000, bounds[1] = 0;
            wants[2] = cases[k].want, gots[2] = (float)cases[k].got;
            bounds[2] = slack * (past ? 0.9 : 1.1);
            struct judge_request request = request_for(doc, "softmax", DT_F64, DT_F32);
            struct wanted wanted = { .reference =
                                         reference_of(&arena, DT_F32, 1, shape, wants, 3) };
            struct value value = tensor_value(tensor_of(&arena, DT_F32, 1, shape, gots));
            wanted.reference->error = bounds;
            wanted.reference->state = REFERENCE_BOUNDED;
            wanted.reference->refine = refine_all;
            true_value = cases[k].want;
            ck_assert_int_eq(judge_output(&judged, &arena, &request, &wanted, &value).code, 0);
            ck_assert_msg((refined_first == 2) == !past, "case %zu past %d", k, past);
        }
    }
}
END_TEST

START_TEST(refinement_has_a_limit)
{
    static double wants[WIDE], bounds[WIDE], gots[WIDE], low[WIDE];
    int64_t shape[1] = { WIDE };
    struct judged judged;
    for (size_t i = 0; i < WIDE; i++) {
        wants[i] = gots[i] = 1;
        bounds[i] = 0.02;
    }
    wants[7] = gots[7] = NAN;
    struct judge_request request = request_for(doc, "softmax", DT_F64, DT_F32);
    struct wanted wanted = { .reference = reference_of(&arena, DT_F32, 1, shape, wants, WIDE) };
    struct value value = tensor_value(tensor_of(&arena, DT_F32, 1, shape, gots));
    wanted.reference->error = bounds;
    wanted.reference->lo = low;
    wanted.reference->state = REFERENCE_BOUNDED;
    wanted.reference->refine = refine_all;
    true_value = 1;
    ck_assert_int_eq(judge_output(&judged, &arena, &request, &wanted, &value).code, STATUS_OK);
    ck_assert_uint_eq(refined_count, 4096);
    ck_assert_uint_eq(refined_first, 4096); /* from 0 on, without the NaN */
}
END_TEST

/* ---- memory ------------------------------------------------------------------------------------ */

static long allocations_left;

static struct status refine_nothing(struct reference *reference, size_t count,
                                    const size_t *components, double wanted_ulp)
{
    (void)reference;
    (void)count;
    (void)components;
    (void)wanted_ulp;
    return status_ok();
}

/* What is right must be complete: the cells are those of an arena without limit. */
static void check_same(const struct judged *judged, int kind, const struct judge_request *request,
                       const struct wanted *wanted, const struct value *got)
{
    struct judged complete;
    struct status status =
        kind == 3 ? judge_without_comparison(&complete, &arena, request, VERDICT_SKIP, "x")
                  : judge_output(&complete, &arena, request, wanted, got);
    ck_assert_int_eq(status.code, STATUS_OK);
    for (int column = 0; column < COLUMN_COUNT; column++)
        ck_assert_str_eq(judged->cells[column], complete.cells[column]);
}

/* Judge in an arena of few bytes: every shortage is reported, none crashes. */
START_TEST(memory_may_run_out)
{
    double want[2] = { 1, 2 }, got[2] = { 1, 2.1 };
    int64_t shape[1] = { 2 };
    const struct profile *profiles[] = { doc, v2, strict };
    const char *apis[] = { "softmax", "mul", "embedding" };
    struct judge_request request = request_for(profiles[_i % 3], apis[_i % 3], DT_F64, DT_F32);
    struct value plain_value = { .kind = VALUE_INT, .integer = 1 };
    for (int kind = 0; kind < 4; kind++) {
        bool enough = false;
        for (size_t limit = 0; !enough; limit += 64) {
            struct arena little = { .limit_bytes = limit ? limit : 1 };
            struct judged judged;
            struct wanted wanted = { 0 };
            struct tensor *tensor = tensor_of(&arena, DT_F32, 1, shape, got);
            struct value value = tensor_value(tensor);
            tensor->stride[0] = -1; /* so that it is copied */
            tensor->data = (float *)tensor->data + 1;
            struct status status;
            if (kind == 0) {
                wanted.reference = reference_of(&arena, DT_F32, 1, shape, want, 2);
                wanted.reference->state = REFERENCE_BOUNDED;
                wanted.reference->refine = refine_nothing;
            }
            if (kind == 1) wanted.value = &plain_value, value = plain_value;
            if (kind == 2) wanted.property_test = "x";
            if (kind == 3)
                status = judge_without_comparison(&judged, &little, &request, VERDICT_SKIP, "x");
            else status = judge_output(&judged, &little, &request, &wanted, &value);
            enough = status.code == STATUS_OK;
            ck_assert(enough || status.code == STATUS_NO_MEMORY);
            if (enough) check_same(&judged, kind, &request, &wanted, &value);
            arena_release(&little);
            ck_assert_uint_lt(limit, 1 << 20);
        }
    }
}
END_TEST

static int fail_when_out(size_t bytes)
{
    (void)bytes;
    return allocations_left-- <= 0;
}

START_TEST(numpy_arrays_may_not_fit)
{
    double want[2] = { 1, 2 };
    int64_t shape[1] = { 2 };
    struct judge_request request = request_for(v2, "softmax", DT_F64, DT_F32);
    struct wanted wanted = { .reference = reference_of(&arena, DT_F32, 1, shape, want, 2) };
    struct value value = tensor_value(tensor_of(&arena, DT_F32, 1, shape, want));
    struct judged judged;
    (void)arena_allocate(&arena, 1 << 16); /* room, so that only the arrays are allocated */
    memory_fault = fail_when_out;
    allocations_left = 0;
    struct status status = judge_output(&judged, &arena, &request, &wanted, &value);
    memory_fault = NULL;
    ck_assert_int_eq(status.code, STATUS_NO_MEMORY);
    ck_assert_msg(strstr(status.text, "96"), "%s", status.text); /* six arrays of two doubles */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("judge_bounds");
    TCase *tcase = tcase_create("judge_bounds");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, bounds_that_decide_are_refined);
    tcase_add_test(tcase, each_threshold_makes_an_element_decide);
    tcase_add_test(tcase, refinement_has_a_limit);
    tcase_add_loop_test(tcase, memory_may_run_out, 0, 3);
    tcase_add_test(tcase, numpy_arrays_may_not_fit);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
