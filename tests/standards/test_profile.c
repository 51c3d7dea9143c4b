/* Profiles: what the built-in ones say, what a user's file may change, and what it may not. */
#include "standards/profile.h"
#include "standards/profile_read.h"

#include <check.h>
#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/memory.h"
#include "support/suite.h"

static char path[64];

static const char *file_with(const char *text)
{
    FILE *file;
    snprintf(path, sizeof path, "profile_test_%d.json", (int)getpid());
    file = fopen(path, "w");
    fputs(text, file);
    fclose(file);
    chmod(path, 0640);
    return path;
}

static struct profile *load(const char *name, const char *override)
{
    struct profile *profile = NULL;
    struct status status =
        profile_load(&profile, name, override ? file_with(override) : NULL, FILES_CHECKED);
    if (override) remove(path);
    ck_assert_msg(status.code == STATUS_OK, "%s", status.text);
    return profile;
}

START_TEST(every_built_in_profile_loads)
{
    const char *const *name = profile_names();
    ck_assert_str_eq(name[0], "doc");
    for (; *name; name++) {
        struct profile *profile = load(*name, NULL);
        ck_assert_str_eq(profile_name(profile), *name);
        profile_release(profile);
    }
    ck_assert_int_eq(name - profile_names(), 4);
    profile_release(NULL);
}
END_TEST

START_TEST(unknown_profile)
{
    struct profile *profile = NULL;
    struct status status = profile_load(&profile, "dox", NULL, FILES_CHECKED);
    ck_assert_int_eq(status.code, STATUS_BAD_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(status.text, "\"dox\""));
    ck_assert_ptr_null(profile);
}
END_TEST

/* Thresholds of precheck 5.8, by profile and dtype. */
static const struct {
    const char *profile;
    enum limit limit;
    enum dtype dtype;
    double value;
} thresholds[] = {
    { "doc", LIMIT_SMALL_VALUE, DT_F32, 1e-6 },
    { "doc", LIMIT_SMALL_VALUE, DT_C64, 1e-6 },
    { "doc", LIMIT_SMALL_VALUE, DT_F16, 1e-3 },
    { "doc", LIMIT_SMALL_VALUE, DT_BF16, 1e-3 },
    { "doc", LIMIT_ABSOLUTE_SMALL_VALUE_ATOL, DT_F32, 1e-9 },
    { "doc", LIMIT_ABSOLUTE_SMALL_VALUE_ATOL, DT_BF16, 1e-5 },
    { "doc", LIMIT_BENCHMARK_SMALL_VALUE_ATOL, DT_F16, 1e-5 },
    { "doc", LIMIT_RELATIVE_TOLERANCE, DT_F32, 1e-6 },
    { "doc", LIMIT_RELATIVE_TOLERANCE, DT_F16, 1e-3 },
    { "doc", LIMIT_RELATIVE_TOLERANCE, DT_BF16, 4e-3 },
    { "doc", LIMIT_ULP_COUNTED, DT_F32, 32 },
    { "doc", LIMIT_ULP_COUNTED, DT_BF16, 1 },
    { "v2", LIMIT_SMALL_VALUE, DT_F32, 0x1p-20 },
    { "v2", LIMIT_SMALL_VALUE, DT_F16, 0x1p-10 },
    { "v2", LIMIT_ABSOLUTE_SMALL_VALUE_ATOL, DT_F32, 0x1p-30 },
    { "v2", LIMIT_ABSOLUTE_SMALL_VALUE_ATOL, DT_F16, 0x1p-16 },
    { "v2", LIMIT_ABSOLUTE_SMALL_VALUE_ATOL, DT_BF16, 1e-16 },
    { "v2", LIMIT_BENCHMARK_SMALL_VALUE_ATOL, DT_F16, 1e-16 },
    { "v2", LIMIT_BENCHMARK_SMALL_VALUE_ATOL, DT_F32, 0x1p-30 },
    { "v2", LIMIT_RELATIVE_TOLERANCE, DT_BF16, 0x1p-8 },
    { "v2", LIMIT_ACCUMULATIVE_BOUND, DT_F16, 0x1p-8 },
    { "v2", LIMIT_ACCUMULATIVE_BOUND, DT_BF16, 0x1p-7 },
    { "v2", LIMIT_ACCUMULATIVE_BOUND, DT_F32, 0x1p-11 },
    { "v2", LIMIT_ACCUMULATIVE_SMALL_VALUE, DT_F32, 1 },
    { "v3", LIMIT_SMALL_VALUE, DT_F64, 0x1p-20 },
    { "v3", LIMIT_INTEGER_MAX_ABS_ERROR, DT_I8, 1 },
    { "v2", LIMIT_INTEGER_MAX_ABS_ERROR, DT_I8, 0 },
    { "doc", LIMIT_COSINE, DT_F32, 0.99 },
    { "v3", LIMIT_MAX_ABS_ERROR, DT_F32, 0.001 },
    { "doc", LIMIT_HUNDREDTH, DT_F16, 0.01 },
    { "doc", LIMIT_THOUSANDTH, DT_F16, 0.001 },
    { "doc", LIMIT_TEN_THOUSANDTH, DT_F32, 0.0001 },
    { "doc", LIMIT_FLOAT8_PROPORTION, DT_F8E4M3, 0.001 },
    { "strict", LIMIT_MODEL_WORST, DT_F32, 1 },
};

START_TEST(thresholds_of_the_profiles)
{
    struct profile *profile = load(thresholds[_i].profile, NULL);
    ck_assert_double_eq(
        profile_limit(profile, thresholds[_i].limit, "softmax", thresholds[_i].dtype),
        thresholds[_i].value);
    ck_assert(!profile_is_overridden(profile, "softmax", thresholds[_i].dtype));
    profile_release(profile);
}
END_TEST

static const struct {
    const char *profile, *api;
    enum dtype output, input;
    enum standard standard;
} selections[] = {
    { "doc", "softmax", DT_F32, DT_F32, STANDARD_BENCHMARK },
    { "doc", "mul", DT_F32, DT_F32, STANDARD_ABSOLUTE },
    { "doc", "rsub", DT_BF16, DT_BF16, STANDARD_ABSOLUTE },
    { "doc", "relu", DT_F16, DT_F16, STANDARD_BINARY },
    { "doc", "histc", DT_F32, DT_F32, STANDARD_BENCHMARK },
    { "v2", "histc", DT_F32, DT_F32, STANDARD_BINARY },
    { "doc", "matmul", DT_C64, DT_C64, STANDARD_ULP },
    { "doc", "softmax", DT_F8E4M3, DT_F16, STANDARD_ULP },
    { "v2", "matmul", DT_F16, DT_F16, STANDARD_ULP },
    { "v2", "matmul", DT_F16, DT_F8E5M2, STANDARD_ABSOLUTE },
    { "v2", "relu", DT_F8E5M2, DT_F8E5M2, STANDARD_ULP },
    { "v2", "conv2d", DT_F32, DT_F32, STANDARD_THOUSANDTH },
    { "doc", "conv2d", DT_F32, DT_F32, STANDARD_BENCHMARK },
    { "v2", "test_api", DT_F32, DT_F32, STANDARD_ACCUMULATIVE },
    { "doc", "test_api", DT_F32, DT_F32, STANDARD_BENCHMARK },
    { "v3", "relu", DT_F32, DT_F32, STANDARD_BENCHMARK },
    { "v3", "relu", DT_F64, DT_F64, STANDARD_BENCHMARK },
    { "v3", "relu", DT_F32, DT_F8E4M3, STANDARD_ABSOLUTE },
    { "v2", "relu", DT_F64, DT_F64, STANDARD_NONE },
};

START_TEST(selection_of_the_standard)
{
    struct profile *profile = load(selections[_i].profile, NULL);
    struct profile_selection selection =
        profile_select(profile, selections[_i].api, selections[_i].output, selections[_i].input);
    ck_assert_str_eq(standard_name(selection.standard), standard_name(selections[_i].standard));
    ck_assert_int_eq(selection.supported, selections[_i].standard != STANDARD_NONE);
    ck_assert_int_eq(selection.also_thousandth, !strcmp(selections[_i].api, "conv2d") &&
                                                    !strcmp(selections[_i].profile, "doc"));
    profile_release(profile);
}
END_TEST

START_TEST(integers_by_distance)
{
    struct profile *v3 = load("v3", NULL), *doc = load("doc", NULL);
    ck_assert(profile_select(v3, "npu_dynamic_quant", DT_I8, DT_F16).integer_by_distance);
    ck_assert(!profile_select(v3, "sort", DT_I8, DT_F16).integer_by_distance);
    ck_assert(!profile_select(doc, "npu_dynamic_quant", DT_I8, DT_F16).integer_by_distance);
    profile_release(v3);
    profile_release(doc);
}
END_TEST

START_TEST(lists_of_exact_operations)
{
    struct profile *strict = load("strict", NULL), *doc = load("doc", NULL);
    ck_assert(profile_is_exact(strict, "embedding"));
    ck_assert(!profile_is_exact(strict, "softmax"));
    ck_assert(!profile_is_exact(doc, "embedding"));
    profile_release(strict);
    profile_release(doc);
}
END_TEST

/* The last rule that matches wins; APIs and dtypes that it does not name keep their limits. */
START_TEST(overrides_by_api_and_dtype)
{
    struct profile *profile =
        load("doc", "{ \"$schema\": \"x\", \"about\": \"a\", \"overrides\": [\n"
                    "  { \"api\": [\"matmul\", \"mm\"], \"dtype\": \"torch.bfloat16\",\n"
                    "    \"limits\": { \"max_abs_error\": 0.25, \"cosine\": 0.9 } },\n"
                    "  { \"api\": \"mm\", \"limits\": { \"cosine\": 0.8,\n"
                    "    \"hundredth\": { \"torch.float16\": 0.5, \"default\": 0.125 } } },\n"
                    "  { \"about\": \"b\", \"limits\": { \"thousandth\": null } },\n"
                    "  { \"api\": \"relu\", \"dtype\": [\"torch.float16\", \"torch.float32\"],\n"
                    "    \"standard\": \"ulp\", \"three_way\": {} } ] }");
    ck_assert_double_eq(profile_limit(profile, LIMIT_MAX_ABS_ERROR, "mm", DT_BF16), 0.25);
    ck_assert_double_eq(profile_limit(profile, LIMIT_MAX_ABS_ERROR, "mm", DT_F16), 0.001);
    ck_assert_double_eq(profile_limit(profile, LIMIT_MAX_ABS_ERROR, "bmm", DT_BF16), 0.001);
    ck_assert_double_eq(profile_limit(profile, LIMIT_COSINE, "matmul", DT_BF16), 0.9);
    ck_assert_double_eq(profile_limit(profile, LIMIT_COSINE, "mm", DT_BF16), 0.8);
    ck_assert_double_eq(profile_limit(profile, LIMIT_HUNDREDTH, "mm", DT_F16), 0.5);
    ck_assert_double_eq(profile_limit(profile, LIMIT_HUNDREDTH, "mm", DT_F32), 0.125);
    ck_assert_double_eq(profile_limit(profile, LIMIT_THOUSANDTH, "abs", DT_F32), INFINITY);
    ck_assert(profile_is_overridden(profile, "matmul", DT_BF16));
    ck_assert(profile_is_overridden(profile, "abs", DT_C64));
    ck_assert_int_eq(profile_select(profile, "relu", DT_F16, DT_F16).standard, STANDARD_ULP);
    ck_assert_int_eq(profile_select(profile, "relu", DT_BF16, DT_F16).standard, STANDARD_BINARY);
    profile_release(profile);
}
END_TEST

/* Modes of kernels for all, and per API and dtype besides. */
START_TEST(modes_by_api_and_dtype)
{
    static const struct {
        const char *api;
        enum dtype dtype;
        const char *modes;
    } rows[] = {
        { "conv2d", DT_F32, "hf32,staged,fast-math:exp=8" },
        { "conv2d", DT_F16, "staged,fast-math:exp=8" },
        { "matmul", DT_F32, "tf32,staged,fast-math:exp=8" },
        { "relu", DT_F32, "staged,fast-math:exp=8" },
        { NULL, DT_NONE, "tf32,hf32,staged,fast-math:exp=8" },
    };
    struct profile *profile =
        load("strict", "{ \"overrides\": [ { \"api\": \"conv2d\", \"dtype\": \"torch.float32\", "
                       "\"allow\": \"hf32\" },\n"
                       " { \"api\": [\"matmul\"], \"allow\": [\"tf32\", \"fast-math:exp=4\"] },\n"
                       " { \"allow\": \"fast-math:exp=8\" } ] }");
    struct kernel_modes modes = { .allowed[KERNEL_STAGED] = true };
    char text[KERNEL_MODES_BYTES];
    ck_assert_int_eq(profile_allow(profile, &modes).code, 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ck_assert_int_eq(profile_allowed(&modes, profile, rows[i].api, rows[i].dtype).code, 0);
        kernel_modes_text(text, &modes);
        ck_assert_str_eq(text, rows[i].modes);
    }
    profile_release(profile);
}
END_TEST

START_TEST(a_standard_for_every_api)
{
    struct profile *profile = load("v2", "{ \"overrides\": [ { \"standard\": \"benchmark\" } ] }");
    ck_assert_int_eq(profile_select(profile, "relu", DT_F16, DT_F16).standard, STANDARD_BENCHMARK);
    ck_assert(!profile_is_overridden(profile, "relu", DT_F16));
    profile_release(profile);
    profile = load("v2", "{}");
    profile_release(profile);
    profile = load("v2", "{ \"overrides\": [ {\"api\": \"relu\", \"dtype\": \"torch.float16\","
                         "\"limits\": {\"cosine\": 1} } ] }");
    ck_assert(!profile_is_overridden(profile, "abs", DT_F16));
    ck_assert(!profile_is_overridden(profile, "relu", DT_F32));
    profile_release(profile);
}
END_TEST

/* Faults in a user's file: each names its line and what is wrong. */
static const struct {
    const char *text, *fragment;
    int line;
} faults[] = {
    { "{ \"overrides\": [\n{ \"api\": \"mm\",\n \"limits\": { \"cosin\": 1 } } ] }",
      "cosin: no such key; the nearest is \"cosine\"", 3 },
    { "{ \"overides\": [] }", "overides: no such key; known here: $schema, about, overrides", 1 },
    { "{ \"overrides\": [\n\n{ \"apis\": \"mm\" } ] }",
      "apis: no such key; known here: about, api, dtype", 3 },
    { "{ \"overrides\": {} }", "must be an array", 1 },
    { "[]", "expected an object with \"overrides\"", 1 },
    { "{ \"overrides\": [\n 5 ] }", "expected an object with \"api\"", 2 },
    { "{ \"overrides\": [ { \"limits\":\n 5 } ] }", "expected an object of limits", 1 },
    { "{ \"overrides\": [ {\n \"limits\": { \"cosine\": \"x\" } } ] }", "expected a number", 2 },
    { "{ \"overrides\": [ {\n \"limits\": { \"cosine\": -1 } } ] }", "expected a number", 2 },
    { "{ \"overrides\": [ { \"limits\": {\n \"cosine\": { \"default\": [] } } } ] }",
      "expected a number", 2 },
    { "{ \"overrides\": [ { \"limits\": { \"cosine\": {\n\"torch.float31\": 1 } } } ] }",
      "\"torch.float31\" is no dtype", 2 },
    { "{ \"overrides\": [ { \"limits\": { \"cosine\": {\n\"torch.float32\": true } } } ] }",
      "expected a number", 2 },
    { "{ \"overrides\": [ { \"dtype\": \"float33\" } ] }", "\"float33\" is no dtype", 1 },
    { "{ \"overrides\": [ { \"dtype\": [\"torch.float32\",\n 7] } ] }", "expected a string", 2 },
    { "{ \"overrides\": [ { \"api\": [] } ] }", "at least one API name", 1 },
    { "{ \"overrides\": [ { \"api\": [\"a\",\n null] } ] }", "expected a string", 2 },
    { "{ \"overrides\": [ { \"api\": \"a\",\n \"api\": \"b\" } ] }", "the key is there twice", 2 },
    { "{ \"overrides\": [ { \"standard\":\n \"ulps\" } ] }", "\"ulps\" is no standard", 1 },
    { "{ \"overrides\": [ { \"standard\": 4 } ] }", "expected a string", 1 },
    { "{ \"overrides\": [\n{ \"api\" \"mm\" } ] }", ":2:9: not JSON from here on", 2 },
    /* Control characters that cJSON takes for blanks, and a byte order mark. */
    { "\020\001{\"overrides\": [\n\"a,\\\"b\", 1\v]}", "expected an object", 2 },
    { "\xEF\xBB\xBF{\n\",\":{}}", "no such key", 2 },
    { "{ \"overrides\": [] } x", "not JSON from here on", 1 },
    { "", "not JSON from here on", 1 },
};

START_TEST(faults_name_line_and_key)
{
    struct profile *profile = NULL;
    char place[32];
    struct status status = profile_load(&profile, "doc", file_with(faults[_i].text), FILES_CHECKED);
    remove(path);
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    snprintf(place, sizeof place, ":%d:", faults[_i].line);
    ck_assert_msg(strstr(status.text, place) && strstr(status.text, path), "%s", status.text);
    ck_assert_msg(strstr(status.text, faults[_i].fragment), "%s", status.text);
    ck_assert_ptr_null(profile);
}
END_TEST

START_TEST(a_file_that_is_not_there)
{
    struct profile *profile = NULL;
    struct status status = profile_load(&profile, "doc", "no/such/file.json", FILES_CHECKED);
    ck_assert_int_ne(status.code, STATUS_OK);
    ck_assert_ptr_nonnull(strstr(status.text, "no/such/file.json"));
}
END_TEST

static const struct {
    const char *typed, *meant;
    /* clang-format off */
} typing_errors[] = {
    { "hundreth", "hundredth" },       { "thousandths", "thousandth" },
    { "ulp_count", "ulp_counted" },    { "samll_value", "small_value" },
    { "cosine_", "cosine" },           { "relative_tol", "relative_tolerance" },
    { "max_abs_eror", "max_abs_error" }, { "modle_rms", "model_rms" },
    { "odel_bias", "model_bias" },     { "ten_thousanth", "ten_thousandth" },
};
/* clang-format on */

START_TEST(the_nearest_key)
{
    char text[128], expected[64];
    struct profile *profile = NULL;
    snprintf(text, sizeof text, "{ \"overrides\": [ { \"limits\": { \"%s\": 1 } } ] }",
             typing_errors[_i].typed);
    struct status status = profile_load(&profile, "doc", file_with(text), FILES_CHECKED);
    remove(path);
    snprintf(expected, sizeof expected, "the nearest is \"%s\"", typing_errors[_i].meant);
    ck_assert_msg(strstr(status.text, expected), "%s", status.text);
}
END_TEST

START_TEST(a_comment_among_the_limits)
{
    static const char text[] = "{ \"overrides\": [ { \"limits\": "
                               "{ \"_why\": \"noisy\", \"$at\": 1, \"cosine\": 0.5 } } ] }";
    struct profile *profile = NULL;
    struct status status = profile_load(&profile, "doc", file_with(text), FILES_CHECKED);
    remove(path);
    ck_assert_msg(!status.code, "%s", status.text);
    profile_release(profile);
}
END_TEST

/* ---- faults in a built-in table ------------------------------------------------------------ */

/* The text of profile_doc.json with one piece replaced. */
static char *doctored(const char *from, const char *to)
{
    const struct embedded_file *file = config_files;
    while (strcmp(file->name, "profile_doc.json")) file++;
    const char *place = strstr(file->text, from);
    ck_assert_msg(place, "%s", from);
    char *text = malloc(file->bytes + strlen(to) + 1);
    size_t before = (size_t)(place - file->text);
    memcpy(text, file->text, before);
    strcpy(text + before, to);
    strcat(text, place + strlen(from));
    return text;
}

static struct status read_doctored(struct profile **out, const char *from, const char *to)
{
    const struct embedded_file *lists = config_files;
    while (strcmp(lists->name, "api_precision_standard.json")) lists++;
    char *text = doctored(from, to);
    struct embedded_file files[] = { { "profile_doc.json", text, strlen(text) }, *lists, { 0 } };
    struct status status = profile_read(out, "doc", files, NULL, FILES_CHECKED);
    free(text);
    return status;
}

static const struct {
    const char *from, *to, *fragment;
    /* clang-format off */
} table_faults[] = {
    { "\"arithmetic\": \"exact\"", "\"arithmetic\": \"vague\"", "\"vague\" is no arithmetic" },
    { "\"cosine_nan\": \"error\"", "\"cosine_nan\": 1", "expected a string" },
    { "\"verdict\": \"chain\"", "\"verdict\": \"x\"", "\"x\" is no verdict" },
    { "\"integers\": \"every\"", "\"integers\": \"x\"", "\"x\" is no integers" },
    { "\"empty\": \"pass\"", "\"empty\": \"x\"", "\"x\" is no empty" },
    { "\"integer_message\": \"", "\"integer_massage\": \"", "integer_massage: no such key; known here: " },
    { "\"integer_message\": \"Compare algorithm is not supported for %s data", "\"integer_message\": \"Compare",
      "must contain %s" },
    { "\"integer_message\": \"Compare algorithm is not supported for %s data. Only judged by Error Rate.\"",
      "\"integer_message\": 7", "expected a string" },
    { "\"about\"", "\"abaut\"", "abaut: no such key; known here: " },
    { "\"standard_dtypes\": [\"torch.float16\"", "\"standard_dtypes\": [\"float17\"", "is no dtype" },
    { "{ \"list\": \"ULPStandard\"", "{ \"list\": \"UlpStandard\"", "\"UlpStandard\" is no list" },
    { "{ \"list\": \"ULPStandard\"", "{ \"list\": 5", "expected a string" },
    { "{ \"list\": \"ULPStandard\"", "{ \"lists\": \"ULPStandard\"", "lists: no such key; known here: " },
    { "{ \"output\": [\"torch.float8_e4m3fn\"", "{ \"output\": [\"float9\"", "is no dtype" },
    { "{ \"output\": [\"torch.float8_e4m3fn\"", "{ \"input\": [\"float9\"", "is no dtype" },
    { "\"standard\": \"ulp\"", "\"standard\": \"upl\"", "\"upl\" is no standard" },
    { "\"cosine\": 0.99,", "", "the limit \"cosine\" is missing" },
    { "\"relative_tolerance\": { \"torch.float16\": 0.001, \"torch.bfloat16\": 0.004, \"default\": 1e-06 }",
      "\"relative_tolerance\": { \"torch.float16\": 0.001 }", "the limit \"relative_tolerance\" is missing" },
    { "\"verdict\": \"chain\"", "\"verdict\": \"error model\"", "the limit \"model_worst\" is missing" },
    { "\"cosine\": 0.99,", "\"cosine\": [],", "expected a number" },
    { "\"limits\": {", "\"exact\": [], \"limits\": {", "at least one API name" },
    { "\"limits\": {", "\"integers_by_distance\": [5], \"limits\": {", "expected a string" },
    { "{", "[", "not JSON from here on" },
};
/* clang-format on */

START_TEST(faults_in_a_table)
{
    struct profile *profile = NULL;
    struct status status = read_doctored(&profile, table_faults[_i].from, table_faults[_i].to);
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    ck_assert_msg(strstr(status.text, table_faults[_i].fragment), "%s", status.text);
    ck_assert_ptr_null(profile);
}
END_TEST

START_TEST(tables_that_are_missing)
{
    struct embedded_file none[] = { { 0 } };
    struct profile *profile = NULL;
    struct status status = profile_read(&profile, "doc", none, NULL, FILES_CHECKED);
    ck_assert_int_eq(status.code, STATUS_INTERNAL);
    ck_assert_ptr_nonnull(strstr(status.text, "profile_doc.json"));
    const struct embedded_file *file = config_files;
    while (strcmp(file->name, "profile_doc.json")) file++;
    struct embedded_file no_lists[] = { *file, { 0 } };
    status = profile_read(&profile, "doc", no_lists, NULL, FILES_CHECKED);
    ck_assert_int_eq(status.code, STATUS_INTERNAL);
    ck_assert_ptr_nonnull(strstr(status.text, "api_precision_standard.json"));
}
END_TEST

/* A table may leave out the order of standards: then none applies. */
START_TEST(a_table_without_selection)
{
    struct profile *profile = NULL;
    const struct embedded_file *file = config_files;
    while (strcmp(file->name, "profile_doc.json")) file++;
    const char *begin = strstr(file->text, " \"selection\""), *end = strstr(begin, " \"limits\"");
    char *selection = malloc((size_t)(end - begin) + 1);
    memcpy(selection, begin, (size_t)(end - begin));
    selection[end - begin] = '\0';
    struct status status = read_doctored(&profile, selection, "");
    ck_assert_msg(status.code == STATUS_OK, "%s", status.text);
    struct profile_selection chosen = profile_select(profile, "relu", DT_F32, DT_F32);
    ck_assert_int_eq(chosen.standard, STANDARD_NONE);
    ck_assert(chosen.supported);
    free(selection);
    profile_release(profile);
}
END_TEST

/* The schema that users' editors read names every limit and no other. */
START_TEST(the_schema_knows_every_limit)
{
    const struct embedded_file *file = config_files;
    while (strcmp(file->name, "standards_override.schema.json")) file++;
    cJSON *root = cJSON_Parse(file->text);
    const cJSON *override = cJSON_GetObjectItem(cJSON_GetObjectItem(root, "$defs"), "override");
    const cJSON *limits = cJSON_GetObjectItem(
        cJSON_GetObjectItem(cJSON_GetObjectItem(override, "properties"), "limits"), "properties");
    ck_assert_int_eq(cJSON_GetArraySize(limits), LIMIT_COUNT);
    for (int limit = 0; limit < LIMIT_COUNT; limit++)
        ck_assert_msg(cJSON_GetObjectItem(limits, limit_name((enum limit)limit)), "%s",
                      limit_name((enum limit)limit));
    cJSON_Delete(root);
}
END_TEST

START_TEST(names_of_limits)
{
    ck_assert_str_eq(limit_name(LIMIT_COSINE), "cosine");
    ck_assert_str_eq(limit_name(LIMIT_MODEL_FALLBACK_SCALE), "model_fallback_scale");
    struct profile *profile = load("doc", NULL);
    ck_assert(isnan(profile_limit(profile, LIMIT_MODEL_RMS, "x", DT_F32)));
    ck_assert_double_eq(profile_limit(profile, LIMIT_SMALL_VALUE, "x", DT_C128), 1e-6);
    profile_release(profile);
}
END_TEST

/* ---- every allocation fails once ----------------------------------------------------------- */

static long allocations_left;

static int fail_when_out(size_t bytes)
{
    (void)bytes;
    return allocations_left-- <= 0;
}

START_TEST(memory_may_run_out_anywhere)
{
    struct profile *profile = NULL;
    const char *file =
        file_with("{ \"overrides\": [ { \"api\": [\"mm\", \"bmm\"], \"standard\": \"ulp\","
                  " \"limits\": { \"cosine\": { \"default\": 1, \"torch.float16\": 2 } } } ] }");
    for (long n = 0;; n++) {
        ck_assert_int_lt(n, 5000);
        profile = NULL;
        allocations_left = n;
        memory_fault = fail_when_out;
        struct status status = profile_load(&profile, _i ? "v3" : "strict", file, FILES_CHECKED);
        memory_fault = NULL;
        if (status.code == STATUS_OK) break;
        ck_assert_msg(status.code == STATUS_NO_MEMORY || status.code == STATUS_IO, "%s",
                      status.text);
        ck_assert_ptr_null(profile);
    }
    ck_assert_double_eq(profile_limit(profile, LIMIT_COSINE, "bmm", DT_F16), 2);
    profile_release(profile);
    remove(path);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("profile");
    TCase *tcase = tcase_create("profile");
#define COUNT(table) (int)(sizeof table / sizeof table[0])
    tcase_add_test(tcase, every_built_in_profile_loads);
    tcase_add_test(tcase, unknown_profile);
    tcase_add_test(tcase, a_comment_among_the_limits);
    tcase_add_loop_test(tcase, thresholds_of_the_profiles, 0, COUNT(thresholds));
    tcase_add_loop_test(tcase, selection_of_the_standard, 0, COUNT(selections));
    tcase_add_test(tcase, integers_by_distance);
    tcase_add_test(tcase, lists_of_exact_operations);
    tcase_add_test(tcase, overrides_by_api_and_dtype);
    tcase_add_test(tcase, modes_by_api_and_dtype);
    tcase_add_test(tcase, a_standard_for_every_api);
    tcase_add_loop_test(tcase, faults_name_line_and_key, 0, COUNT(faults));
    tcase_add_test(tcase, a_file_that_is_not_there);
    tcase_add_loop_test(tcase, the_nearest_key, 0, COUNT(typing_errors));
    tcase_add_loop_test(tcase, faults_in_a_table, 0, COUNT(table_faults));
    tcase_add_test(tcase, tables_that_are_missing);
    tcase_add_test(tcase, a_table_without_selection);
    tcase_add_test(tcase, the_schema_knows_every_limit);
    tcase_add_test(tcase, names_of_limits);
    tcase_add_loop_test(tcase, memory_may_run_out_anywhere, 0, 2);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
