/* The three-way verdict: which standard a row is judged by, rows without the numbers for it, and what is said. */
#include <stdio.h>

#include "standards/three_way_rows.h"
#include "support/suite.h"

/* ---- the choice of the standard --------------------------------------------------------- */

#define BENCHMARK    "标杆比对法"
#define BINARY       "二进制一致法"
#define ABSOLUTE     "绝对阈值法"
#define ULP          "ULP误差比对法"
#define THOUSANDTH   "双千指标法"
#define ACCUMULATIVE "累积误差比对法"

/* A row that has every number, so that only lists and dtype decide; without the relative error
 * ratio, which v2 takes for a sign of 8-bit inputs, where `relative` is false. */
static struct fixture full_row(const char *api, const char *dtype, bool relative)
{
    struct fixture f = blank_row(api, dtype);
    for (enum three_way_metric m = 0; m < THREE_WAY_METRICS; m++) {
        if (m != METRIC_RELATIVE || relative) set_both(&f, m, 0, 0);
    }
    return f;
}

START_TEST(lists_choose_the_standard)
{
    static const struct {
        const char *api, *dtype;
        bool relative;
        const char *doc, *v2, *v3;
    } cases[] = {
        { "softmax", "torch.float32", false, BENCHMARK, BENCHMARK, BENCHMARK },
        { "softmax", "torch.float32", true, BENCHMARK, ABSOLUTE, BENCHMARK },
        { "relu", "torch.float16", false, BINARY, BINARY, BENCHMARK },
        { "histc", "torch.float32", false, BENCHMARK, BINARY, BENCHMARK },
        { "softmax", "torch.int64", false, BINARY, BINARY, BINARY },
        { "softmax", "torch.bool", false, BINARY, BINARY, BINARY },
        { "softmax", "<class 'int'>", false, BINARY, BINARY, BINARY },
        { "mul", "torch.int32", false, BINARY, BINARY, BINARY },
        { "mul", "torch.bfloat16", true, ABSOLUTE, ABSOLUTE, BENCHMARK },
        { "__rmul__", "torch.float32", true, ABSOLUTE, ABSOLUTE, BENCHMARK },
        { "linear", "torch.float32", false, ULP, ULP, BENCHMARK },
        { "linear", "torch.float32", true, ULP, ABSOLUTE, BENCHMARK },
        { "bmm", "torch.int64", false, BINARY, BINARY, BINARY },
        { "conv1d", "torch.float32", false, THOUSANDTH, THOUSANDTH, BENCHMARK },
        { "conv2d", "torch.int8", false, THOUSANDTH, BINARY, BINARY },
        { "test_api", "torch.float32", true, ACCUMULATIVE, ACCUMULATIVE, BENCHMARK },
        { "softmax", "torch.float8_e4m3fn", false, ULP, ULP, ULP },
        { "mul", "torch.float8_e5m2", true, ULP, ULP, ULP },
        { "matmul", "torch.complex64", false, ULP, " ", " " },
        { "softmax", "torch.half", false, BENCHMARK, BENCHMARK, BENCHMARK },
        { "softmax", " torch.float ", false, BENCHMARK, BENCHMARK, BENCHMARK },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture f = full_row(cases[i].api, cases[i].dtype, cases[i].relative);
        ck_assert_msg(!strcmp(judge_under("doc", f).algorithm, cases[i].doc), "doc, case %zu: %s",
                      i, judge_under("doc", f).algorithm);
        ck_assert_msg(!strcmp(judge_under("v2", f).algorithm, cases[i].v2), "v2, case %zu", i);
        ck_assert_msg(!strcmp(judge_under("v3", f).algorithm, cases[i].v3), "v3, case %zu", i);
    }
}
END_TEST

/* doc judges a row by the numbers it has when the run that wrote it followed other
 * lists: files of several makers may be mixed. */
START_TEST(numbers_choose_the_standard)
{
    static const struct {
        const char *api;
        unsigned npu;
        const char *expected;
    } cases[] = {
        { "mul", 0x1f, BENCHMARK },
        { "softmax", 1u << METRIC_INF_NAN | 1u << METRIC_RELATIVE | 1u << METRIC_ABSOLUTE,
          ABSOLUTE },
        { "cumsum",
          1u << METRIC_INF_NAN | 1u << METRIC_RELATIVE | 1u << METRIC_ABSOLUTE |
              1u << METRIC_BALANCE,
          ACCUMULATIVE },
        { "softmax", 1u << METRIC_MEAN_ULP | 1u << METRIC_ULP_PROPORTION, ULP },
        { "softmax", 1u << METRIC_BINARY, BINARY },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture f = blank_row(cases[i].api, "torch.float32");
        for (enum three_way_metric m = 0; m < THREE_WAY_METRICS; m++) {
            if (cases[i].npu & 1u << m) set_both(&f, m, m == METRIC_THOUSANDTH, 0);
        }
        struct three_way_verdict v = judge_under("doc", f);
        ck_assert_msg(!strcmp(v.algorithm, cases[i].expected), "case %zu: %s %s", i, v.algorithm,
                      v.message);
        ck_assert_int_eq(v.verdict, VERDICT_PASS);
    }
}
END_TEST

/* ---- rows that are skipped -------------------------------------------------------------- */

static void check_skip(const struct three_way_verdict *v, const char *message)
{
    ck_assert_int_eq(v->verdict, VERDICT_SKIP);
    ck_assert_str_eq(v->algorithm, " ");
    ck_assert_str_eq(v->message, message);
    ck_assert_uint_eq(v->message_length, strlen(message));
    for (int column = 0; column < THREE_WAY_STATUS; column++)
        ck_assert_int_eq(v->cells[column].kind, CELL_BLANK);
}

START_TEST(skipped_npu_row)
{
    static const char *const profiles[] = { "doc", "v2", "v3", "strict" };
    for (size_t i = 0; i < 4; i++) {
        struct fixture f = blank_row("split", " ");
        f.row.npu_message = csv_text_of("Multiple backward is not supported.");
        struct three_way_verdict v = judge_under(profiles[i], f);
        check_skip(&v, "Multiple backward is not supported.");
        ck_assert(v.npu_message);
        ck_assert(!v.unattributed);
        ck_assert(!v.unsupported);
    }
    struct fixture f = blank_row("real", " ");
    struct three_way_verdict v = judge_under("v2", f);
    check_skip(&v, "nan");
    ck_assert(!v.npu_message);
    v = judge_under("doc", f);
    check_skip(&v, "The NPU row was skipped without a message.");
    f.row.npu_message = (struct csv_text){ 0 };
    v = judge_under("doc", f);
    check_skip(&v, "The NPU row was skipped without a message.");
}
END_TEST

START_TEST(unsupported_dtypes)
{
    static const struct {
        const char *dtype;
        bool doc, peer; /* unsupported? */
    } cases[] = {
        { "torch.float64", true, true },    { "torch.double", true, true },
        { "torch.complex64", false, true }, { "torch.complex128", true, true },
        { "torch.float32", false, false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture f = benchmark_row(cases[i].dtype);
        f.row.npu_message = csv_text_of("as the NPU said");
        struct three_way_verdict v = judge_under("doc", f);
        if (cases[i].doc) check_skip(&v, "This data type does not support benchmark compare.");
        else ck_assert_int_eq(v.verdict, VERDICT_PASS);
        ck_assert(!v.unattributed && !v.unsupported);
        for (int k = 0; k < 2; k++) {
            v = judge_under(k ? "v3" : "v2", f);
            if (cases[i].peer) check_skip(&v, "as the NPU said");
            else ck_assert_int_eq(v.verdict, VERDICT_PASS);
            ck_assert_int_eq(v.unattributed, cases[i].peer);
            ck_assert_int_eq(v.unsupported, cases[i].peer);
        }
    }
}
END_TEST

/* The peer skips outputs of shape (0,), whatever they hold. */
START_TEST(empty_vectors)
{
    struct fixture f = benchmark_row("torch.float32");
    f.row.empty_vector = true;
    f.row.npu_message = csv_text_of("There is not bench calculation result.");
    struct three_way_verdict v = judge_under("v2", f);
    check_skip(&v, "There is not bench calculation result.");
    ck_assert(!v.unattributed);
    ck_assert_int_eq(judge_under("doc", f).verdict, VERDICT_PASS);
}
END_TEST

START_TEST(rows_without_the_numbers)
{
    struct fixture f = blank_row("relu", "torch.float32");
    struct three_way_verdict v = judge_under("v2", f);
    check_skip(&v, "ERROR: Input data is an empty string");
    ck_assert(v.exception);
    v = judge_under("v3", blank_row("relu", "torch.int8"));
    check_skip(&v, "ERROR: Input data is an empty string");
    ck_assert(v.exception && !v.assumed_zero);

    /* v3 counts missing numbers of a ratio as 0. */
    v = judge_under("v3", f);
    ck_assert_int_eq(v.verdict, VERDICT_PASS);
    ck_assert(v.assumed_zero && !v.exception);
    ck_assert_double_eq(cell_number(&v, THREE_WAY_RMSE), 0);

    f = benchmark_row("torch.float32");
    f.gpu.present = 0;
    memset(f.gpu.metric, 0, sizeof f.gpu.metric);
    f.row.gpu_message = csv_text_of("why");
    v = judge_under("doc", f);
    check_skip(&v, "The GPU row has no 小值域错误占比: why");
    f.row.gpu_message = csv_text_of(" ");
    v = judge_under("doc", f);
    check_skip(&v, "The GPU row has no 小值域错误占比.");
    f.row.gpu_message = (struct csv_text){ 0 };
    v = judge_under("doc", f);
    check_skip(&v, "The GPU row has no 小值域错误占比.");
    v = judge_under("v2", f);
    check_skip(&v, "ERROR: Input data is an empty string");
    v = judge_under("v3", f);
    ck_assert_int_eq(v.verdict, VERDICT_ERROR); /* 1 / 2^-14 */
    ck_assert(v.assumed_zero);

    f = benchmark_row("torch.float32");
    f.row.npu.present &= ~(1u << METRIC_MEAN_RELATIVE);
    f.row.npu_message = csv_text_of("cut");
    v = judge_under("doc", f);
    check_skip(&v, "The NPU row has no 相对误差平均值: cut");
    ck_assert(!v.exception && !v.assumed_zero);
}
END_TEST

/* Rows judged by other means than numbers: random outputs by their properties, empty ones by
 * their shape. The NPU run's verdict stands, unless the reference is to blame. */
START_TEST(verdict_of_the_first_stage)
{
    static const struct {
        enum verdict npu, gpu, expected;
    } cases[] = {
        { VERDICT_PASS, VERDICT_PASS, VERDICT_PASS },
        { VERDICT_PASS, VERDICT_ERROR, VERDICT_PASS },
        { VERDICT_WARNING, VERDICT_PASS, VERDICT_WARNING },
        { VERDICT_ERROR, VERDICT_PASS, VERDICT_ERROR },
        { VERDICT_ERROR, VERDICT_WARNING, VERDICT_ERROR },
        { VERDICT_ERROR, VERDICT_ERROR, VERDICT_SKIP },
        { VERDICT_ERROR, VERDICT_SKIP, VERDICT_SKIP },
        { VERDICT_SKIP, VERDICT_PASS, VERDICT_SKIP },
        { VERDICT_BLANK, VERDICT_BLANK, VERDICT_SKIP },
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct fixture f = blank_row("bernoulli", "torch.float32");
        f.row.npu.status = cases[k].npu;
        f.gpu.status = cases[k].gpu;
        f.row.npu_message = csv_text_of("the share of ones");
        struct three_way_verdict v = judge_under("doc", f);
        ck_assert_msg(v.verdict == cases[k].expected, "case %zu: %s", k, verdict_name(v.verdict));
        ck_assert_str_eq(v.algorithm, " ");
        if (v.verdict == VERDICT_SKIP)
            ck_assert_str_eq(v.message, "The NPU row has no 小值域错误占比: the share of ones");
        else if (v.verdict == VERDICT_PASS)
            ck_assert_str_eq(v.message,
                             "No numbers to compare; the verdict is that of the NPU run.\n");
        else
            ck_assert_str_eq(v.message,
                             "No numbers to compare; the verdict is that of the NPU run.\n"
                             "the share of ones");
    }
    struct fixture f = blank_row("bernoulli", "torch.float32");
    f.row.npu.status = VERDICT_ERROR;
    f.gpu.status = VERDICT_PASS;
    f.row.npu_message = (struct csv_text){ 0 };
    ck_assert_int_eq(judge_under("doc", f).verdict, VERDICT_ERROR);
}
END_TEST

/* ---- messages --------------------------------------------------------------------------- */

/* A message that does not fit is cut between characters. */
START_TEST(long_messages_are_cut)
{
    char text[2048];
    for (size_t shift = 0; shift < 3; shift++) {
        memset(text, 'x', shift);
        for (size_t i = shift; i + 3 < sizeof text; i += 3) memcpy(text + i, "误", 4);
        struct three_way_verdict v;
        three_way_skip(&v, text);
        ck_assert_uint_eq(v.message_length, (THREE_WAY_MESSAGE_BYTES - 1 - shift) / 3 * 3 + shift);
        ck_assert_mem_eq(v.message, text, v.message_length);
        ck_assert_uint_eq(strlen(v.message), v.message_length);
    }
}
END_TEST

/* Bytes that are no UTF-8 at all are dropped, not searched backwards for ever. */
START_TEST(long_message_of_stray_bytes)
{
    char text[2048];
    memset(text, 0x80, sizeof text - 1);
    text[sizeof text - 1] = '\0';
    struct three_way_verdict v;
    three_way_skip(&v, text);
    ck_assert_uint_eq(v.message_length, 0);
}
END_TEST

START_TEST(skip_has_no_cells)
{
    struct three_way_verdict v;
    memset(&v, 0xff, sizeof v);
    three_way_skip(&v, "reason");
    check_skip(&v, "reason");
    ck_assert(!v.npu_message && !v.unattributed && !v.unsupported && !v.exception &&
              !v.assumed_zero);
}
END_TEST

START_TEST(empty_cells)
{
    static const struct {
        const char *profile;
        bool nan;
    } cases[] = { { "doc", false }, { "v2", true }, { "v3", true } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct three_way_rules *rules = rules_of(cases[i].profile);
        ck_assert_int_eq(three_way_empty_is_nan(rules), cases[i].nan);
        three_way_rules_release(rules);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("three_way_choice");
    TCase *tests = tcase_create("three_way_choice");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, lists_choose_the_standard);
    tcase_add_test(tests, numbers_choose_the_standard);
    tcase_add_test(tests, skipped_npu_row);
    tcase_add_test(tests, unsupported_dtypes);
    tcase_add_test(tests, empty_vectors);
    tcase_add_test(tests, rows_without_the_numbers);
    tcase_add_test(tests, verdict_of_the_first_stage);
    tcase_add_test(tests, long_messages_are_cut);
    tcase_add_test(tests, long_message_of_stray_bytes);
    tcase_add_test(tests, skip_has_no_cells);
    tcase_add_test(tests, empty_cells);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
