/* Two runs compared by the error model: every combination of their verdicts, and what counts as clearly worse. */
#include <math.h>
#include <string.h>

#include "standards/three_way/by_evidence.h"
#include "support/suite.h"

/* A side whose run measured `value` against a limit of 3. */
struct measured {
    struct evidence_limit limit;
    struct row_evidence evidence;
};

static struct three_way_side side(struct measured *m, enum verdict status, double value)
{
    m->limit = (struct evidence_limit){ "model_rms", value, 3, value <= 3 };
    m->evidence = (struct row_evidence){ &m->limit, 1 };
    return (struct three_way_side){ .status = status, .by_model = true, .evidence = &m->evidence };
}

static struct evidence_verdict compare(enum verdict npu_status, double npu, enum verdict gpu_status,
                                       double gpu)
{
    struct measured m[2];
    struct three_way_side sides[2] = { side(&m[0], npu_status, npu), side(&m[1], gpu_status, gpu) };
    return three_way_by_evidence(&sides[0], &sides[1]);
}

/* What the model explains passes, whatever the other device does; beyond it the NPU has to be twice as far off as the
 * GPU, which counts as half its limit at least. */
START_TEST(verdicts)
{
    static const struct {
        enum verdict npu_status;
        double npu;
        enum verdict gpu_status;
        double gpu;
        enum verdict expected;
        const char *says;
    } rows[] = {
        { VERDICT_PASS, 1.5, VERDICT_PASS, 0.001, VERDICT_PASS, "explains both" },
        { VERDICT_PASS, 1.6, VERDICT_PASS, 0.001, VERDICT_WARNING, "clearly worse" },
        { VERDICT_PASS, 2.9, VERDICT_PASS, 1.45, VERDICT_PASS, "explains both" },
        { VERDICT_PASS, 2.9, VERDICT_PASS, 1.44, VERDICT_WARNING, "clearly worse" },
        { VERDICT_PASS, 2.9, VERDICT_ERROR, 300, VERDICT_PASS, "not the GPU" },
        { VERDICT_ERROR, 3.1, VERDICT_PASS, 1e-9, VERDICT_ERROR, "not the NPU" },
        { VERDICT_ERROR, 3.1, VERDICT_PASS, 1.5, VERDICT_ERROR, "not the NPU" },
        { VERDICT_ERROR, 3.1, VERDICT_PASS, 1.6, VERDICT_WARNING, "not clearly worse" },
        { VERDICT_ERROR, 30, VERDICT_PASS, 2.9, VERDICT_ERROR, "not the NPU" },
        { VERDICT_ERROR, 30, VERDICT_ERROR, 30, VERDICT_WARNING, "Both" },
        { VERDICT_ERROR, 30, VERDICT_ERROR, 15, VERDICT_WARNING, "Both" },
        { VERDICT_ERROR, 30.1, VERDICT_ERROR, 15, VERDICT_ERROR, "neither" },
        { VERDICT_ERROR, INFINITY, VERDICT_ERROR, 15, VERDICT_ERROR, "neither" },
        { VERDICT_ERROR, INFINITY, VERDICT_ERROR, INFINITY, VERDICT_WARNING, "Both" },
        { VERDICT_ERROR, 30, VERDICT_ERROR, INFINITY, VERDICT_WARNING, "Both" },
        { VERDICT_ERROR, NAN, VERDICT_PASS, 1, VERDICT_ERROR, "not the NPU" },
        { VERDICT_ERROR, 30, VERDICT_WARNING, 20, VERDICT_WARNING, "Both" },
        { VERDICT_WARNING, 30, VERDICT_PASS, 1, VERDICT_WARNING, "needs none" },
        { VERDICT_WARNING, 30, VERDICT_WARNING, 30, VERDICT_WARNING, "Both" },
        { VERDICT_SKIP, 0, VERDICT_PASS, 1, VERDICT_SKIP, "NPU run has no verdict" },
        { VERDICT_PASS, 0, VERDICT_SKIP, 1, VERDICT_SKIP, "GPU run has no verdict" },
        { VERDICT_BLANK, 0, VERDICT_PASS, 1, VERDICT_SKIP, "NPU run has no verdict" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct evidence_verdict v =
            compare(rows[i].npu_status, rows[i].npu, rows[i].gpu_status, rows[i].gpu);
        ck_assert_msg(v.verdict == rows[i].expected, "row %zu: %s", i, v.message);
        ck_assert_msg(strstr(v.message, rows[i].says) != NULL, "row %zu: %s", i, v.message);
    }
}
END_TEST

/* The failed comparison in which the NPU is worst decides; those that hold do not count. */
START_TEST(the_worst_comparison_decides)
{
    static const struct evidence_limit npu[] = { { "model_rms", 30, 3, false },
                                                 { "model_bias", 2, 2.5, true },
                                                 { "model_largest", 800, 8, false },
                                                 { "model_worst", 5, 1, false } };
    static const struct evidence_limit gpu[] = { { "model_rms", 27, 3, false },
                                                 { "model_bias", 0.001, 2.5, true },
                                                 { "model_largest", 80, 8, false } };
    const struct row_evidence npu_evidence = { npu, 4 }, gpu_evidence = { gpu, 3 };
    const struct three_way_side a = { .status = VERDICT_ERROR,
                                      .by_model = true,
                                      .evidence = &npu_evidence };
    const struct three_way_side b = { .status = VERDICT_ERROR,
                                      .by_model = true,
                                      .evidence = &gpu_evidence };
    struct evidence_verdict v = three_way_by_evidence(&a, &b);
    ck_assert_int_eq(v.verdict, VERDICT_ERROR);
    ck_assert_str_eq(v.metric,
                     "model_largest"); /* 10 times the GPU's, as model_worst is of half a limit */
    ck_assert_double_eq(v.npu, 100);
    ck_assert_double_eq(v.gpu, 10);
}
END_TEST

/* Where nothing is allowed the values are compared. */
START_TEST(exact_operations)
{
    static const struct {
        double npu, gpu;
        enum verdict expected;
    } rows[] = {
        { 0.5, 0, VERDICT_ERROR },   { 0.5, 0.25, VERDICT_WARNING }, { 0.51, 0.25, VERDICT_ERROR },
        { 1, NAN, VERDICT_WARNING }, { NAN, 1, VERDICT_ERROR },      { NAN, NAN, VERDICT_WARNING },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct evidence_limit npu = { "binary_mismatch", rows[i].npu, 0, false };
        const struct evidence_limit gpu = { "binary_mismatch", rows[i].gpu, 0, rows[i].gpu == 0 };
        const struct row_evidence x = { &npu, 1 }, y = { &gpu, 1 };
        const struct three_way_side a = { .status = VERDICT_ERROR,
                                          .by_model = true,
                                          .evidence = &x };
        const struct three_way_side b = { .status = rows[i].gpu == 0 ? VERDICT_PASS : VERDICT_ERROR,
                                          .by_model = true,
                                          .evidence = &y };
        ck_assert_msg(three_way_by_evidence(&a, &b).verdict == rows[i].expected, "row %zu", i);
    }
}
END_TEST

/* Without evidence nothing is said, but that a row passes. */
START_TEST(evidence_is_needed)
{
    struct measured m;
    struct three_way_side failed = side(&m, VERDICT_ERROR, 30),
                          none = { .status = VERDICT_ERROR, .by_model = true };
    struct three_way_side passed = { .status = VERDICT_PASS, .by_model = true };
    struct three_way_side by_chain = { .status = VERDICT_PASS };
    ck_assert_int_eq(three_way_by_evidence(&passed, &passed).verdict, VERDICT_PASS);
    ck_assert_int_eq(three_way_by_evidence(&failed, &passed).verdict, VERDICT_ERROR);
    ck_assert_ptr_nonnull(
        strstr(three_way_by_evidence(&none, &passed).message, "evidence of the NPU"));
    ck_assert_int_eq(three_way_by_evidence(&none, &passed).verdict, VERDICT_SKIP);
    ck_assert_ptr_nonnull(
        strstr(three_way_by_evidence(&failed, &none).message, "evidence of the GPU"));
    ck_assert_ptr_nonnull(
        strstr(three_way_by_evidence(&by_chain, &passed).message, "--profile strict"));
    ck_assert_int_eq(three_way_by_evidence(&passed, &by_chain).verdict, VERDICT_SKIP);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("by_evidence");
    TCase *tcase = tcase_create("by_evidence");
    tcase_add_test(tcase, verdicts);
    tcase_add_test(tcase, the_worst_comparison_decides);
    tcase_add_test(tcase, exact_operations);
    tcase_add_test(tcase, evidence_is_needed);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
