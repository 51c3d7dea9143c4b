/* The three-way verdict: every rule of every profile just within and just past its limit. Limits are written out here from
 * the documents of the standards, not read from config/. */
#include <stdio.h>

#include "standards/three_way_rows.h"
#include "support/suite.h"

/* ---- ratios ----------------------------------------------------------------------------- */

static const struct ratio_case {
    const char *profile, *api;
    enum three_way_metric metric;
    double error, warning; /* 0: there is no warning */
} ratio_cases[] = {
    { "doc", "softmax", METRIC_SMALL_VALUE, 2, 1 },
    { "doc", "softmax", METRIC_RMSE, 2, 1 },
    { "doc", "softmax", METRIC_MAX_RELATIVE, 10, 1 },
    { "doc", "softmax", METRIC_MEAN_RELATIVE, 2, 1 },
    { "v2", "softmax", METRIC_SMALL_VALUE, 2, 0 },
    { "v2", "softmax", METRIC_RMSE, 2, 0 },
    { "v2", "softmax", METRIC_MAX_RELATIVE, 10, 0 },
    { "v2", "softmax", METRIC_MEAN_RELATIVE, 2, 0 },
    { "v3", "softmax", METRIC_SMALL_VALUE, 2, 0 }, /* L0 */
    { "v3", "softmax", METRIC_RMSE, 2, 0 },
    { "v3", "softmax", METRIC_MAX_RELATIVE, 10, 0 },
    { "v3", "softmax", METRIC_MEAN_RELATIVE, 2, 0 },
    { "v3", "embedding", METRIC_SMALL_VALUE, 2, 0 }, /* L1 */
    { "v3", "embedding", METRIC_RMSE, 1.5, 0 },
    { "v3", "embedding", METRIC_MAX_RELATIVE, 5, 0 },
    { "v3", "scatter_add_", METRIC_MEAN_RELATIVE, 1.5, 0 },
    { "v3", "layer_norm", METRIC_SMALL_VALUE, 2, 0 }, /* L2 */
    { "v3", "layer_norm", METRIC_RMSE, 1.2, 0 },
    { "v3", "matmul", METRIC_MAX_RELATIVE, 2, 0 },
    { "v3", "one_hot", METRIC_MEAN_RELATIVE, 1.2, 0 },
    /* levels belong to v3 alone */
    { "v2", "layer_norm", METRIC_RMSE, 2, 0 },
    { "doc", "layer_norm", METRIC_MAX_RELATIVE, 10, 1 },
};

static enum three_way_column ratio_column(enum three_way_metric metric)
{
    return (enum three_way_column)(THREE_WAY_SMALL_VALUE + 2 * (int)metric);
}

/* One ratio off, everything else equal: its verdict is that of the row. */
START_TEST(ratio_limits)
{
    const struct ratio_case *c = &ratio_cases[_i];
    struct three_way_rules *rules = rules_of(c->profile);
    const double points[] = { 0.5, 1, above(1), c->error, above(c->error), 1e6 };
    for (size_t i = 0; i < 6; i++) {
        struct fixture f = benchmark_row("torch.float32");
        f.row.api = csv_text_of(c->api);
        set(&f.row.npu, c->metric, points[i]);
        struct three_way_verdict v = judge(rules, f);
        enum verdict expected = points[i] > c->error                   ? VERDICT_ERROR
                                : c->warning && points[i] > c->warning ? VERDICT_WARNING
                                                                       : VERDICT_PASS;
        ck_assert_str_eq(v.algorithm, "标杆比对法");
        ck_assert_msg(v.verdict == expected, "%s %s %d: ratio %a gave %s", c->profile, c->api,
                      c->metric, points[i], verdict_name(v.verdict));
        ck_assert_double_eq(cell_number(&v, ratio_column(c->metric)), points[i]);
        ck_assert_int_eq(cell_verdict(&v, ratio_column(c->metric) + 1), expected);
        ck_assert_int_eq(cell_verdict(&v, ratio_column((c->metric + 1) % 4) + 1), VERDICT_PASS);
        bool speaks = expected == VERDICT_ERROR || expected == VERDICT_WARNING;
        ck_assert_int_eq(v.message_length > 0, speaks);
    }
    three_way_rules_release(rules);
}
END_TEST

/* The balance has a verdict of its own but no part in that of the row. */
START_TEST(balance_informs_only)
{
    static const struct {
        const char *profile;
        double ratio;
        enum verdict expected;
    } cases[] = {
        { "doc", 1, VERDICT_PASS },    { "doc", 2, VERDICT_WARNING }, { "doc", 2.5, VERDICT_ERROR },
        { "v2", 2, VERDICT_PASS },     { "v2", 2.5, VERDICT_ERROR },  { "v3", 2.5, VERDICT_ERROR },
        { "doc", NAN, VERDICT_ERROR },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture f = benchmark_row("torch.float16");
        set(&f.row.npu, METRIC_BALANCE, cases[i].ratio);
        struct three_way_verdict v = judge_under(cases[i].profile, f);
        ck_assert_int_eq(cell_verdict(&v, THREE_WAY_BALANCE_STATUS), cases[i].expected);
        ck_assert_int_eq(v.verdict, VERDICT_PASS);
    }
}
END_TEST

/* Worst of four, warnings never hide errors, all messages in column order. */
START_TEST(worst_ratio_decides)
{
    struct fixture f = benchmark_row("torch.float32");
    set(&f.row.npu, METRIC_SMALL_VALUE, 3);
    set(&f.row.npu, METRIC_RMSE, 1.5);
    set(&f.row.npu, METRIC_MAX_RELATIVE, 11);
    set(&f.row.npu, METRIC_MEAN_RELATIVE, 2);
    struct three_way_verdict v = judge_under("doc", f);
    ck_assert_int_eq(v.verdict, VERDICT_ERROR);
    ck_assert_str_eq(v.message, "ERROR: 小值域错误比值超过阈值\n"
                                "WARNING: 均方根误差比值超过阈值\n"
                                "ERROR: 相对误差最大值比值超过阈值\n"
                                "WARNING: 相对误差平均值比值超过阈值\n");
    v = judge_under("v2", f);
    ck_assert_str_eq(v.message, "ERROR: 小值域错误比值超过阈值\n"
                                "ERROR: 相对误差最大值比值超过阈值\n");
    set(&f.row.npu, METRIC_RMSE, 4);
    set(&f.row.npu, METRIC_MEAN_RELATIVE, 4);
    v = judge_under("v2", f);
    ck_assert_str_eq(v.message, "ERROR: 小值域错误比值超过阈值\n"
                                "ERROR: 均方根误差比值超过阈值\n"
                                "ERROR: 相对误差最大值比值超过阈值\n"
                                "ERROR: 相对误差平均值比值超过阈值\n");
}
END_TEST

START_TEST(messages_of_warnings)
{
    static const char *const texts[] = { "WARNING: 小值域错误比值超过阈值\n",
                                         "WARNING: 均方根误差比值超过阈值\n",
                                         "WARNING: 相对误差最大值比值超过阈值\n",
                                         "WARNING: 相对误差平均值比值超过阈值\n" };
    for (enum three_way_metric m = METRIC_SMALL_VALUE; m < METRIC_BALANCE; m++) {
        struct fixture f = benchmark_row("torch.float32");
        set(&f.row.npu, m, 1.5);
        struct three_way_verdict v = judge_under("doc", f);
        ck_assert_str_eq(v.message, texts[m]);
    }
}
END_TEST

/* A GPU without error: doc has two fixed ratios, v2 and v3 raise the denominator to a floor of
 * the dtype. */
START_TEST(gpu_without_error)
{
    static const struct {
        const char *profile, *dtype;
        double npu, gpu, ratio;
    } cases[] = {
        { "doc", "torch.float32", 0, 0, 1 },
        { "doc", "torch.float32", 5e-324, 0, 10000 },
        { "doc", "torch.float32", -3, 2, 1.5 },
        { "doc", "torch.float32", 1, -0.0, 10000 },
        { "v2", "torch.float32", 0, 0, 0 },
        { "v2", "torch.float32", 0x1p-13, 0, 2 },
        { "v2", "torch.float32", 0x1p-13, 0x1p-14, 2 },
        { "v2", "torch.float32", 0x1p-13, -0x1p-13, 1 },
        { "v2", "torch.float16", 0x1p-10, 0x1p-20, 2 },
        { "v2", "torch.bfloat16", 0x1p-7, 0, 2 },
        { "v3", "torch.float32", 0x1p-13, 0, 2 },
        { "v3", "torch.float16", 0x1p-10, 0, 2 },
        { "v3", "torch.bfloat16", 0x1p-7, 0x1p-9, 2 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture f = benchmark_row(cases[i].dtype);
        set_both(&f, METRIC_RMSE, cases[i].npu, cases[i].gpu);
        struct three_way_verdict v = judge_under(cases[i].profile, f);
        ck_assert_msg(cell_number(&v, THREE_WAY_RMSE) == cases[i].ratio, "case %zu: %a", i,
                      cell_number(&v, THREE_WAY_RMSE));
    }
}
END_TEST

/* All pairs of NaN, infinities and a number. */
START_TEST(non_finite_pairs)
{
    static const double values[] = { NAN, INFINITY, -INFINITY, 1 };
    for (size_t i = 0; i < 4; i++) {
        for (size_t j = 0; j < 4; j++) {
            struct fixture f = benchmark_row("torch.float32");
            set_both(&f, METRIC_MEAN_RELATIVE, values[i], values[j]);
            struct three_way_verdict v = judge_under("v2", f);
            bool same = i == j;
            ck_assert_int_eq(v.verdict, same ? VERDICT_PASS : VERDICT_ERROR);
            if (i == 3 && j == 3) continue;
            ck_assert(isnan(cell_number(&v, THREE_WAY_MEAN_RELATIVE)));
            ck_assert_str_eq(v.message, same ? "相对误差平均值同为同号inf或nan\n"
                                             : "相对误差平均值inf或nan不一致\n"
                                               "ERROR: 相对误差平均值比值超过阈值\n");
        }
    }
}
END_TEST

/* ---- standards that look at the NPU alone ----------------------------------------------- */

START_TEST(binary_standard)
{
    static const double rates[] = { 0, 5e-324, 0.5, 1, NAN };
    for (size_t i = 0; i < 5; i++) {
        struct fixture f = blank_row("relu", "torch.float32");
        set(&f.row.npu, METRIC_BINARY, rates[i]);
        struct three_way_verdict v = judge_under(i % 2 ? "v2" : "doc", f);
        enum verdict expected = i ? VERDICT_ERROR : VERDICT_PASS;
        ck_assert_str_eq(v.algorithm, "二进制一致法");
        ck_assert_int_eq(v.verdict, expected);
        ck_assert_int_eq(v.cells[THREE_WAY_BINARY].kind, CELL_NPU_TEXT);
        ck_assert_int_eq(v.cells[THREE_WAY_BINARY].metric, METRIC_BINARY);
        ck_assert_int_eq(cell_verdict(&v, THREE_WAY_BINARY_STATUS), expected);
        ck_assert_str_eq(v.message, i ? "ERROR: 二进制一致错误率超过阈值\n" : "");
    }
}
END_TEST

static struct fixture absolute_row(const char *api, double inf_nan, double relative,
                                   double absolute)
{
    struct fixture f = blank_row(api, "torch.float32");
    set(&f.row.npu, METRIC_INF_NAN, inf_nan);
    set(&f.row.npu, METRIC_RELATIVE, relative);
    set(&f.row.npu, METRIC_ABSOLUTE, absolute);
    return f;
}

START_TEST(absolute_standard)
{
    static const struct {
        double values[3];
        const char *message;
    } cases[] = {
        { { 0, 0, 0 }, "" },
        { { 5e-324, 0, 0 }, "ERROR: inf/nan错误率超过阈值" },
        { { 0, 5e-324, 0 }, "ERROR: 相对误差错误率超过阈值" },
        { { 0, 0, 5e-324 }, "ERROR: 绝对误差错误率超过阈值" },
        { { 1, NAN, 1 },
          "ERROR: inf/nan错误率超过阈值ERROR: 相对误差错误率超过阈值"
          "ERROR: 绝对误差错误率超过阈值" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const double *x = cases[i].values;
        struct three_way_verdict v =
            judge_under(i % 2 ? "doc" : "v2", absolute_row("mul", x[0], x[1], x[2]));
        ck_assert_str_eq(v.algorithm, "绝对阈值法");
        ck_assert_str_eq(v.message, cases[i].message);
        ck_assert_int_eq(v.verdict, i ? VERDICT_ERROR : VERDICT_PASS);
        for (int k = 0; k < 3; k++) {
            enum three_way_column column = THREE_WAY_INF_NAN + 2 * k;
            ck_assert(cell_number(&v, column) == x[k] || isnan(x[k]));
            ck_assert_int_eq(cell_verdict(&v, column + 1),
                             x[k] == 0 ? VERDICT_PASS : VERDICT_ERROR);
        }
    }
}
END_TEST

/* doc says "greater than 0.999", the code of v2 and v3 "at least". */
START_TEST(thousandth_standard)
{
    static const struct {
        const char *profile;
        double limit_value;
        enum verdict at_limit;
    } cases[] = { { "doc", 0.999, VERDICT_ERROR }, { "v2", 0.999, VERDICT_PASS } };
    for (size_t i = 0; i < 2; i++) {
        const double points[] = { below(0.999), 0.999, above(0.999), 1, NAN };
        const enum verdict expected[] = { VERDICT_ERROR, cases[i].at_limit, VERDICT_PASS,
                                          VERDICT_PASS, VERDICT_ERROR };
        for (size_t k = 0; k < 5; k++) {
            struct fixture f = blank_row("conv2d", "torch.float16");
            set(&f.row.npu, METRIC_THOUSANDTH, points[k]);
            struct three_way_verdict v = judge_under(cases[i].profile, f);
            ck_assert_str_eq(v.algorithm, "双千指标法");
            ck_assert_int_eq(v.verdict, expected[k]);
            ck_assert_int_eq(v.cells[THREE_WAY_THOUSANDTH].kind, CELL_NPU_TEXT);
            ck_assert_int_eq(v.cells[THREE_WAY_THOUSANDTH].metric, METRIC_THOUSANDTH);
            ck_assert_int_eq(cell_verdict(&v, THREE_WAY_THOUSANDTH_STATUS), expected[k]);
            ck_assert_str_eq(v.message,
                             expected[k] == VERDICT_ERROR ? "ERROR: 双千指标不达标\n" : "");
        }
    }
}
END_TEST

START_TEST(accumulative_standard)
{
    static const struct {
        const char *dtype;
        double limit;
    } cases[] = { { "torch.float16", 0x1p-20 },
                  { "torch.bfloat16", 0x1p-7 },
                  { "torch.float32", 0x1p-14 } };
    for (size_t i = 0; i < 3; i++) {
        for (int past = 0; past < 2; past++) {
            struct fixture f = absolute_row("test_api", 0, 0, 0);
            double balance = past ? above(cases[i].limit) : cases[i].limit;
            f.row.dtype = three_way_dtype(cases[i].dtype, strlen(cases[i].dtype));
            set(&f.row.npu, METRIC_BALANCE, balance);
            struct three_way_verdict v = judge_under(past ? "doc" : "v2", f);
            enum verdict expected = past ? VERDICT_ERROR : VERDICT_PASS;
            ck_assert_str_eq(v.algorithm, "累积误差比对法");
            ck_assert_int_eq(v.verdict, expected);
            ck_assert_double_eq(cell_number(&v, THREE_WAY_BALANCE), balance);
            ck_assert_int_eq(cell_verdict(&v, THREE_WAY_BALANCE_STATUS), expected);
            ck_assert_str_eq(v.message, past ? "ERROR: 误差均衡性超过阈值" : "");
        }
    }
    struct fixture f = absolute_row("test_api", 0, 1, 0);
    set(&f.row.npu, METRIC_BALANCE, 0);
    ck_assert_int_eq(judge_under("doc", f).verdict, VERDICT_ERROR);
}
END_TEST

/* ---- ULP -------------------------------------------------------------------------------- */

static struct fixture ulp_row(const char *dtype, double mean, double share, double gpu_share)
{
    struct fixture f = blank_row("matmul", dtype);
    set_both(&f, METRIC_MEAN_ULP, mean, 1);
    set_both(&f, METRIC_ULP_PROPORTION, share, gpu_share);
    return f;
}

/* float32 passes by mean, by proportion or by ratio; the half formats by proportion or ratio;
 * the 8-bit ones by proportion. */
START_TEST(ulp_standard)
{
    static const struct {
        const char *dtype;
        double mean, share, gpu_share;
        enum verdict expected;
    } cases[] = {
        { "torch.float32", 64, 0.05, 0.05, VERDICT_ERROR },
        { "torch.float32", 0x1.fffffffffffffp5, 0.5, 0.05, VERDICT_PASS },
        { "torch.float32", 64, 0x1.9999999999999p-5, 0.01, VERDICT_PASS },
        { "torch.float32", 1e9, 0.5, 0x1.0000000000001p-1, VERDICT_PASS },
        { "torch.float32", 1e9, 0.5, 0.5, VERDICT_ERROR },
        { "torch.float16", 1e9, 0.001, 0.001, VERDICT_ERROR },
        { "torch.float16", 0, 0.002, 0.001, VERDICT_ERROR }, /* the mean does not help */
        { "torch.float16", 1e9, 0x1.0624dd2f1a9fbp-10, 0.0001, VERDICT_PASS },
        { "torch.float16", 1e9, 0.5, 0.6, VERDICT_PASS },
        { "torch.bfloat16", 0, 0.01, 0.01, VERDICT_ERROR },
        { "torch.bfloat16", 0, 0x1.0624dd2f1a9fbp-10, 0.0001, VERDICT_PASS },
        { "torch.bfloat16", 0, 0.01, 0.02, VERDICT_PASS },
        { "torch.float8_e4m3fn", 0, 0.001, 0.5, VERDICT_ERROR },
        { "torch.float8_e5m2", 1e9, 0x1.0624dd2f1a9fbp-10, 0, VERDICT_PASS },
        { "torch_npu.HiFloat8Tensor", 0, 0.002, 0.5, VERDICT_ERROR },
    };
    static const char *const profiles[] = { "doc", "v2" };
    for (size_t p = 0; p < 2; p++) {
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            struct three_way_verdict v = judge_under(
                profiles[p],
                ulp_row(cases[i].dtype, cases[i].mean, cases[i].share, cases[i].gpu_share));
            ck_assert_str_eq(v.algorithm, "ULP误差比对法");
            ck_assert_msg(v.verdict == cases[i].expected, "%s case %zu", profiles[p], i);
            ck_assert_int_eq(cell_verdict(&v, THREE_WAY_ULP_STATUS), cases[i].expected);
            ck_assert_double_eq(cell_number(&v, THREE_WAY_ULP_PROPORTION), cases[i].share);
            bool f8 = i >= 12;
            ck_assert_int_eq(v.cells[THREE_WAY_MEAN_ULP].kind, f8 ? CELL_BLANK : CELL_NUMBER);
            ck_assert_int_eq(v.cells[THREE_WAY_ULP_RATIO].kind, f8 ? CELL_BLANK : CELL_NUMBER);
            ck_assert_str_eq(
                v.message, cases[i].expected == VERDICT_ERROR ? "ERROR: ULP误差不满足标准\n" : "");
        }
    }
}
END_TEST

/* Values that cannot be compared are an error, however small the proportion is, and the verdict
 * cell stays blank. */
START_TEST(ulp_of_non_finite_values)
{
    struct fixture f = ulp_row("torch.float32", 1, 0, 0);
    set_both(&f, METRIC_MEAN_ULP, NAN, 1);
    struct three_way_verdict v = judge_under("v2", f);
    ck_assert_int_eq(v.verdict, VERDICT_ERROR);
    ck_assert_int_eq(v.cells[THREE_WAY_ULP_STATUS].kind, CELL_BLANK);
    ck_assert_str_eq(v.message, "ULP误差平均值inf或nan不一致\nERROR: ULP误差不满足标准\n");

    set_both(&f, METRIC_MEAN_ULP, 1, 1);
    set_both(&f, METRIC_ULP_PROPORTION, 0, INFINITY);
    v = judge_under("doc", f);
    ck_assert_int_eq(v.verdict, VERDICT_ERROR);
    ck_assert_str_eq(v.message, "ULP误差大于阈值占比inf或nan不一致\nERROR: ULP误差不满足标准\n");

    set_both(&f, METRIC_MEAN_ULP, NAN, NAN);
    set_both(&f, METRIC_ULP_PROPORTION, 0.01, 0.01);
    v = judge_under("doc", f);
    ck_assert_int_eq(v.verdict, VERDICT_PASS);
    ck_assert_str_eq(v.message, "ULP误差平均值同为同号inf或nan\n");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("three_way");
    TCase *tests = tcase_create("three_way");
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, ratio_limits, 0, (int)(sizeof ratio_cases / sizeof *ratio_cases));
    tcase_add_test(tests, balance_informs_only);
    tcase_add_test(tests, worst_ratio_decides);
    tcase_add_test(tests, messages_of_warnings);
    tcase_add_test(tests, gpu_without_error);
    tcase_add_test(tests, non_finite_pairs);
    tcase_add_test(tests, binary_standard);
    tcase_add_test(tests, absolute_standard);
    tcase_add_test(tests, thousandth_standard);
    tcase_add_test(tests, accumulative_standard);
    tcase_add_test(tests, ulp_standard);
    tcase_add_test(tests, ulp_of_non_finite_values);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
