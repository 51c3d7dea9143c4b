/* Reading the rules of the three-way comparison: what a user's file may change, for which rows,
 * and what is said about a file that is wrong. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/memory.h"
#include "standards/three_way/three_way.h"
#include "standards/three_way/three_way_rules.h"
#include "support/suite.h"

#define ck_ok(expression)                                                   \
    do {                                                                    \
        struct status ck_status_ = (expression);                            \
        ck_assert_msg(ck_status_.code == STATUS_OK, "%s", ck_status_.text); \
    } while (0)

static struct three_way_rules *load(const char *profile, const char *text)
{
    struct three_way_rules *rules = NULL;
    ck_ok(three_way_rules_load(&rules, profile, "mine.json", text));
    return rules;
}

/* A benchmark row in which only the RMSE differs. */
static struct three_way_verdict judge_rmse(const struct three_way_rules *rules, const char *api,
                                           enum three_way_dtype dtype, double ratio)
{
    struct three_way_side gpu = { 0 };
    struct three_way_row row = { .api = csv_text_of(api), .dtype = dtype, .gpu = &gpu };
    for (enum three_way_metric m = 0; m < THREE_WAY_METRICS; m++) {
        if (m == METRIC_RELATIVE) continue;
        gpu.present |= 1u << m;
        gpu.metric[m] = 1;
    }
    row.npu = gpu;
    row.npu.metric[METRIC_RMSE] = ratio;
    struct three_way_verdict verdict;
    three_way_judge(&verdict, rules, &row);
    return verdict;
}

static enum verdict rmse_verdict(const struct three_way_rules *rules, const char *api,
                                 enum three_way_dtype dtype, double ratio)
{
    return judge_rmse(rules, api, dtype, ratio).verdict;
}

START_TEST(profiles_have_names)
{
    static const char *const expected[] = { "doc", "v2", "v3", "strict" };
    const char *const *names = three_way_profiles();
    for (size_t i = 0; i < 4; i++) ck_assert_str_eq(names[i], expected[i]);
    ck_assert_ptr_null(names[4]);
    struct three_way_rules *rules = NULL;
    struct status status = three_way_rules_load(&rules, "v4", NULL, NULL);
    ck_assert_int_eq(status.code, STATUS_BAD_ARGUMENT);
    ck_assert_str_eq(status.text,
                     "there is no profile 'v4'; the profiles are doc, v2, v3 and strict");
    ck_assert_ptr_null(rules);
    three_way_rules_release(NULL);
}
END_TEST

/* The lists of the standard document: how many APIs each has, and some of its members. */
START_TEST(api_lists)
{
    static const struct {
        enum api_list list;
        size_t v2, doc;
        const char *member;
        /* clang-format off */
    } lists[] = {
        { LIST_ABSOLUTE, 30, 30, "rsqrt_" }, { LIST_BINARY, 62, 61, "max_pool3d" },
        { LIST_ULP, 17, 17, "sspaddmm" },    { LIST_THOUSANDTH, 2, 2, "conv1d" },
        { LIST_ACCUMULATIVE, 1, 1, "test_api" },
    };
    /* clang-format on */
    for (int doc = 0; doc < 2; doc++) {
        struct three_way_rules *rules = load(doc ? "doc" : "v2", NULL);
        for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
            size_t n = 0;
            for (size_t k = 0; k < rules->n_apis; k++)
                n += rules->apis[k].lists >> lists[i].list & 1;
            ck_assert_uint_eq(n, doc ? lists[i].doc : lists[i].v2);
            const struct api_rules *api = three_way_find_api(rules, csv_text_of(lists[i].member));
            ck_assert_ptr_nonnull(api);
            ck_assert_uint_eq(api->lists, 1u << lists[i].list);
        }
        size_t levels[LEVELS] = { 0 };
        for (size_t k = 0; k < rules->n_apis; k++) levels[rules->apis[k].level]++;
        ck_assert_uint_eq(levels[LEVEL_1], 5);
        ck_assert_uint_eq(levels[LEVEL_2], 13);
        ck_assert_ptr_null(three_way_find_api(rules, csv_text_of("softmax")));
        three_way_rules_release(rules);
    }
}
END_TEST

START_TEST(override_for_an_api_and_a_dtype)
{
    struct three_way_rules *rules =
        load("v2", "{\"overrides\": [{\"api\": \"softmax\", \"dtype\": \"torch.float16\","
                   " \"three_way\": {\"ratio\": {\"L0\": {\"rmse\": {\"error\": 3}}}}}]}");
    ck_assert_int_eq(rmse_verdict(rules, "softmax", THREE_WAY_F16, 3), VERDICT_PASS);
    ck_assert_int_eq(rmse_verdict(rules, "softmax", THREE_WAY_F16, 3.5), VERDICT_ERROR);
    ck_assert_int_eq(rmse_verdict(rules, "softmax", THREE_WAY_BF16, 2.5), VERDICT_ERROR);
    ck_assert_int_eq(rmse_verdict(rules, "gelu", THREE_WAY_F16, 2.5), VERDICT_ERROR);
    three_way_rules_release(rules);
}
END_TEST

/* Later overrides lie over earlier ones, and only what they name. */
START_TEST(overrides_add_up)
{
    struct three_way_rules *rules = load(
        "v2", "{\"about\": \"x\", \"$schema\": \"y\", \"overrides\": ["
              "{\"three_way\": {\"ratio\": {\"L0\": {\"rmse\": {\"error\": 5, \"warning\": 4}}}}},"
              "{\"api\": [\"gelu\", \"softmax\"], \"dtype\": [\"torch.float32\", "
              "\"torch.bfloat16\"], \"limits\": {}, \"about\": \"z\","
              " \"three_way\": {\"ratio\": {\"L0\": {\"rmse\": {\"error\": 3}}}}}]}");
    ck_assert_int_eq(rmse_verdict(rules, "silu", THREE_WAY_F32, 3.5), VERDICT_PASS);
    ck_assert_int_eq(rmse_verdict(rules, "silu", THREE_WAY_F32, 4.5), VERDICT_WARNING);
    ck_assert_int_eq(rmse_verdict(rules, "silu", THREE_WAY_F32, 5.5), VERDICT_ERROR);
    ck_assert_int_eq(rmse_verdict(rules, "softmax", THREE_WAY_F32, 2.5), VERDICT_PASS);
    ck_assert_int_eq(rmse_verdict(rules, "softmax", THREE_WAY_BF16, 3.5), VERDICT_ERROR);
    ck_assert_int_eq(rmse_verdict(rules, "softmax", THREE_WAY_F16, 3.5), VERDICT_PASS);
    three_way_rules_release(rules);
}
END_TEST

START_TEST(overrides_of_every_threshold)
{
    struct three_way_rules *rules =
        load("v2", "{\"overrides\": [{\"three_way\": {"
                   "\"thousandth\": {\"limit\": 0.5, \"inclusive\": false},"
                   "\"ulp\": {\"torch.float32\": {\"mean\": 7, \"proportion\": 0.25, \"ratio\": 3},"
                   " \"float8\": {\"proportion\": 0.5}},"
                   "\"accumulative_eb\": {\"torch.bfloat16\": 0.75}}}]}");
    const struct three_way_thresholds *t = &rules->overrides[0].thresholds;
    ck_assert_double_eq(t->thousandth, 0.5);
    ck_assert_double_eq(t->thousandth_inclusive, 0);
    ck_assert_double_eq(t->ulp[THREE_WAY_F32].mean, 7);
    ck_assert_double_eq(t->ulp[THREE_WAY_F32].proportion, 0.25);
    ck_assert_double_eq(t->ulp[THREE_WAY_F32].ratio, 3);
    ck_assert_double_eq(t->ulp[THREE_WAY_F8].proportion, 0.5);
    ck_assert(isnan(t->ulp[THREE_WAY_F8].mean));
    ck_assert_double_eq(t->accumulative_balance[THREE_WAY_BF16], 0.75);
    ck_assert(isnan(t->ratio[LEVEL_0][METRIC_RMSE].error));
    three_way_rules_release(rules);
}
END_TEST

/* The standard of an API can be set, with the words that a run's overrides use. */
/* 0 is a limit like any other: only an error of 0 keeps it. */
START_TEST(a_limit_may_be_zero)
{
    struct three_way_rules *rules = load(
        "v2",
        "{\"overrides\": [{\"three_way\": {\"ratio\": {\"L0\": {\"rmse\": {\"error\": 0}}}}}]}");
    ck_assert_int_eq(rmse_verdict(rules, "gelu", THREE_WAY_F32, 0), VERDICT_PASS);
    ck_assert_int_eq(rmse_verdict(rules, "gelu", THREE_WAY_F32, 0x1p-1000), VERDICT_ERROR);
    three_way_rules_release(rules);
}
END_TEST

START_TEST(overrides_choose_the_standard)
{
    static const struct {
        const char *word, *algorithm;
        /* clang-format off */
    } cases[] = {
        { "benchmark", "标杆比对法" },  { "binary", "二进制一致法" },
        { "absolute", "绝对阈值法" },   { "ulp", "ULP误差比对法" },
        { "thousandth", "双千指标法" }, { "accumulative", "累积误差比对法" },
        { "error model", "标杆比对法" }, /* a standard of runs only */
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[256];
        snprintf(text, sizeof text,
                 "{\"overrides\": [{\"api\": \"gelu\", \"dtype\": \"torch.float32\","
                 " \"standard\": \"%s\"}]}",
                 cases[i].word);
        struct three_way_rules *rules = load("doc", text);
        struct three_way_side gpu = { 0 };
        for (enum three_way_metric m = 0; m < THREE_WAY_METRICS; m++) gpu.present |= 1u << m;
        struct three_way_row row = {
            .api = csv_text_of("gelu"), .dtype = THREE_WAY_F32, .npu = gpu, .gpu = &gpu
        };
        struct three_way_verdict verdict;
        three_way_judge(&verdict, rules, &row);
        ck_assert_str_eq(verdict.algorithm, cases[i].algorithm);
        row.dtype = THREE_WAY_F16;
        three_way_judge(&verdict, rules, &row);
        ck_assert_str_eq(verdict.algorithm, "标杆比对法");
        three_way_rules_release(rules);
    }
}
END_TEST

/* Is it that message? "~" stands for the keys on the way to the one that is named. */
static bool is_message(const char *text, const char *message)
{
    size_t start = strcspn(message, "~"), length = strlen(text);
    const char *end = message + start + (message[start] == '~');
    return !strncmp(text, message, start) && length >= start + strlen(end) &&
           !strcmp(text + length - strlen(end), end);
}

static const struct {
    const char *text, *message;
    /* clang-format off */
} faults[] = {
    { "{", NULL },
    { "[]", NULL },
    { "{\n\"override\": []}", "mine.json:2:~override: no such key" },
    { "{\"overrides\": {}}", "mine.json:1:~overrides: must be a list" },
    { "{\"overrides\": 3}", "mine.json:1:~overrides: must be a list" },
    { "{\"overrides\":\n [3]}", NULL },
    /* the first fault ends the reading */
    { "{\"overrides\":\n [3, 4]}",
      "mine.json:2:~]: must be an object" },
    { "{\"x\": 1,\n\"y\": 2}", "mine.json:1:~x: no such key" },
    { "{\"overrides\": [{\n\"apis\": 1}]}", "mine.json:2:~apis: no such key" },
    { "{\"overrides\": [{\"api\": 1}]}",
      "mine.json:1:~api: must be an API name or a list of them" },
    { "{\"overrides\": [{\"api\": [\"x\", 1]}]}",
      "mine.json:1:~api: must be an API name or a list of them" },
    { "{\"overrides\": [{\"dtype\": 1}]}",
      "mine.json:1:~dtype: must be a dtype or a list of them" },
    { "{\"overrides\": [{\"dtype\": [\"\"]}]}",
      "mine.json:1:~dtype: must be a dtype or a list of them" },
    { "{\"overrides\": [{\"standard\": 1}]}",
      "mine.json:1:~standard: must be the name of a standard" },
    { "{\"overrides\": [{\"three_way\": 1}]}", "mine.json:1:~three_way: must be an object" },
    { "{\"overrides\": [{\"three_way\": {\"rate\": 1}}]}",
      "mine.json:1:~rate: no such key" },
    { "{\"overrides\": [{\"three_way\": {\"ratio\": []}}]}",
      "mine.json:1:~ratio: must be an object" },
    { "{\"overrides\": [{\"three_way\": {\"ratio\": {\"L3\": {}}}}]}",
      "mine.json:1:~L3: no such key" },
    { "{\"overrides\": [{\"three_way\": {\"ratio\": {\"L0\": []}}}]}",
      "mine.json:1:~L0: must be an object" },
    { "{\"overrides\": [{\"three_way\": {\"ratio\": {\"L0\": {\"rms\": {}}}}}]}",
      "mine.json:1:~rms: no such key" },
    { "{\"overrides\": [{\"three_way\": {\"ratio\": {\"L0\": {\"rmse\": 2}}}}]}",
      "mine.json:1:~rmse: must be an object" },
    { "{\"overrides\": [{\"three_way\": {\"ratio\": {\"L0\": {\"rmse\": {\"fatal\": 2}}}}}]}",
      "mine.json:1:~fatal: no such key" },
    { "{\"overrides\": [{\"three_way\": {\"ratio\": {\"L0\": {\"rmse\": {\"error\": \"2\"}}}}}]}",
      "mine.json:1:~error: must be a number that is not negative" },
    { "{\"overrides\": [{\"three_way\": {\"ratio\": {\"L0\": {\"rmse\": {\"error\": -2}}}}}]}",
      "mine.json:1:~error: must be a number that is not negative" },
    { "{\"overrides\": [{\"three_way\": {\"thousandth\": {\"inclusive\": 1}}}]}",
      "mine.json:1:~inclusive: must be true or false" },
    { "{\"overrides\": [{\"three_way\": {\"ulp\": [1]}}]}",
      "mine.json:1:~ulp: must be an object" },
    { "{\"overrides\": [{\"three_way\": {\"ulp\": {\"torch.int8\": {}}}}]}",
      "mine.json:1:~torch.int8: no such key" },
    { "{\"overrides\": [{\"three_way\": {\"ulp\": {\"torch.float16\": [1]}}}]}",
      "mine.json:1:~torch.float16: must be an object" },
    { "{\"overrides\": [{\"three_way\": {\"ulp\": {\"torch.float16\": {\"max\": 1}}}}]}",
      "mine.json:1:~max: no such key" },
    { "{\"overrides\": [{\"three_way\": {\"accumulative_eb\": {\"x\": 1}}}]}",
      "mine.json:1:~x: no such key" },
};
/* clang-format on */

START_TEST(faults_name_line_and_key)
{
    struct three_way_rules *rules = NULL;
    struct status status = three_way_rules_load(&rules, "doc", "mine.json", faults[_i].text);
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    ck_assert_ptr_null(rules);
    ck_assert_msg(strncmp(status.text, "mine.json", 9) == 0, "%s", status.text);
    if (faults[_i].message)
        ck_assert_msg(is_message(status.text, faults[_i].message), "%s", status.text);
}
END_TEST

/* ---- the built-in files ----------------------------------------------------------------- */

#define LISTS         "{\"standards\": {\"ULPStandard\": [\"mm\"]}, \"operator_levels_2026_08\": {}}"
#define PROFILE(text) "{\"about\": 1, \"profiles\": {\"doc\": {" text "}, \"v2\": {}}}"

static const struct {
    const char *text, *message;
    /* clang-format off */
} rule_faults[] = {
    { PROFILE("\"origin\": \"x\", \"order\": [\"benchmark\"], \"lists_without\": "
              "{\"ULPStandard\": [\"mm\"]}, \"blank_metrics\": \"zero\""), NULL },
    { "", "" },
    { "{\"profiles\": {\"v9\": {}}}", "three_way.json:1:~v9: is not a profile" },
    { "{\"profiles\": []}", "three_way.json:1:~profiles: must be an object" },
    { PROFILE("\"order\": 1"), "three_way.json:1:~order: must be a list" },
    { PROFILE("\"order\": []"), "three_way.json:1:~order: must end with 'benchmark'" },
    { PROFILE("\"order\": [\"ULPStandard\"]"),
      "three_way.json:1:~order: must end with 'benchmark'" },
    { PROFILE("\"order\": [\"x\"]"),
      "three_way.json:1:~]: is no step of the choice" },
    { PROFILE("\"order\": [\"x\", \"benchmark\"]"),
      "three_way.json:1:~]: is no step of the choice" },
    { PROFILE("\"unsupported_dtypes\": [1, 2]"),
      "three_way.json:1:~unsupported_dtypes: must list dtypes" },
    { PROFILE("\"lists_without\": {\"ULPStandard\": 1, \"x\": 2}"),
      "three_way.json:1:~ULPStandard: must be a list" },
    { PROFILE("\"lists_without\": {\"ULPStandard\": [1, 2]}"),
      "three_way.json:1:~ULPStandard: has an API that is not in that list" },
    { PROFILE("\"order\": [1]"),
      "three_way.json:1:~]: is no step of the choice" },
    { PROFILE("\"order\": [\"ULPStandard\", \"ULPStandard\", \"ULPStandard\", "
              "\"ULPStandard\", \"ULPStandard\", \"ULPStandard\", \"ULPStandard\", "
              "\"ULPStandard\", \"ULPStandard\", \"ULPStandard\", \"benchmark\"]"),
      "three_way.json:1:~order: has too many steps" },
    { PROFILE("\"blank_metrics\": \"one\""),
      "three_way.json:1:~blank_metrics: must be 'reason', 'exception' or 'zero'" },
    { PROFILE("\"blank_metrics\": 1"),
      "three_way.json:1:~blank_metrics: must be 'reason', 'exception' or 'zero'" },
    { PROFILE("\"by_metrics\": 1"), "three_way.json:1:~by_metrics: must be true or false" },
    { PROFILE("\"unsupported_dtypes\": {}"),
      "three_way.json:1:~unsupported_dtypes: must be a list" },
    { PROFILE("\"unsupported_dtypes\": [\"\"]"),
      "three_way.json:1:~unsupported_dtypes: must list dtypes" },
    { PROFILE("\"unsupported_dtypes\": [1]"),
      "three_way.json:1:~unsupported_dtypes: must list dtypes" },
    { PROFILE("\"ratio_of_zero\": {\"neither\": 1}"),
      "three_way.json:1:~neither: no such key" },
    { PROFILE("\"ratio_floor\": 1"), "three_way.json:1:~ratio_floor: must be an object" },
    { PROFILE("\"lists_without\": 1"),
      "three_way.json:1:~lists_without: must be an object" },
    { PROFILE("\"lists_without\": {\"x\": []}"),
      "three_way.json:1:~x: is not a list of APIs" },
    { PROFILE("\"lists_without\": {\"ULPStandard\": 1}"),
      "three_way.json:1:~ULPStandard: must be a list" },
    { PROFILE("\"lists_without\": {\"ULPStandard\": [\"x\"]}"),
      "three_way.json:1:~ULPStandard: has an API that is not in that list" },
    { PROFILE("\"lists_without\": {\"ULPStandard\": [1]}"),
      "three_way.json:1:~ULPStandard: has an API that is not in that list" },
};
/* clang-format on */

START_TEST(faults_of_built_in_files)
{
    struct three_way_rules *rules = NULL;
    struct three_way_texts texts = { .rules = rule_faults[_i].text, .lists = LISTS };
    struct status status = three_way_rules_read(&rules, "doc", &texts);
    if (!rule_faults[_i].message) {
        ck_ok(status);
        ck_assert_int_eq(rules->order[0], STEP_BENCHMARK);
        ck_assert_int_eq(rules->blank_metrics, BLANK_ZERO);
        ck_assert_uint_eq(three_way_find_api(rules, csv_text_of("mm"))->lists, 0);
        /* what the file does not say is not limited */
        ck_assert_int_eq(rmse_verdict(rules, "gelu", THREE_WAY_F32, 1e300), VERDICT_PASS);
        three_way_rules_release(rules);
        return;
    }
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    ck_assert_ptr_null(rules);
    ck_assert_msg(is_message(status.text, rule_faults[_i].message), "%s", status.text);
    texts.lists = "{";
    ck_assert_int_eq(three_way_rules_read(&rules, "doc", &texts).code, STATUS_BAD_INPUT);
}
END_TEST

static size_t allocations_left;

static int fail_late(size_t bytes)
{
    (void)bytes;
    return allocations_left-- == 0;
}

/* Each allocation of our own fails once. */
START_TEST(survives_lack_of_memory)
{
    const char *text = "{\"overrides\": [{\"api\": [\"a\", \"b\"], \"three_way\": {}}]}";
    size_t n = 0;
    for (;; n++) {
        struct three_way_rules *rules = NULL;
        allocations_left = n;
        memory_fault = fail_late;
        struct status status = three_way_rules_load(&rules, "strict", "mine.json", text);
        memory_fault = NULL;
        if (!status.code) {
            three_way_rules_release(rules);
            break;
        }
        ck_assert_int_eq(status.code, STATUS_NO_MEMORY);
        ck_assert_ptr_null(rules);
    }
    ck_assert_uint_gt(n, 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("three_way_rules");
    TCase *tests = tcase_create("three_way_rules");
    tcase_add_test(tests, profiles_have_names);
    tcase_add_test(tests, api_lists);
    tcase_add_test(tests, override_for_an_api_and_a_dtype);
    tcase_add_test(tests, overrides_add_up);
    tcase_add_test(tests, overrides_of_every_threshold);
    tcase_add_test(tests, a_limit_may_be_zero);
    tcase_add_test(tests, overrides_choose_the_standard);
    tcase_add_loop_test(tests, faults_name_line_and_key, 0, (int)(sizeof faults / sizeof *faults));
    tcase_add_loop_test(tests, faults_of_built_in_files, 0,
                        (int)(sizeof rule_faults / sizeof *rule_faults));
    tcase_add_test(tests, survives_lack_of_memory);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
