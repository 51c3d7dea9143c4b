/* probe-ut diff: recorded pairs of tensors give the cells of the peer; names, dtypes, output and
 * failures. */
#include "standards/metric_data.h"
#include "support/suite.h"
#include "support/workspace.h"

/* A .npy file, version 1.0, as numpy writes it. `descr` is "<f4", "|b1", ... */
static void write_npy(const char *path, const char *descr, const char *shape, const void *bytes,
                      size_t length)
{
    char header[256];
    int text = snprintf(header + 10, sizeof header - 10,
                        "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, shape);
    size_t total = (10 + (size_t)text + 1 + 63) / 64 * 64;
    memcpy(header, "\x93NUMPY\x01\x00", 8);
    header[8] = (char)((total - 10) & 255);
    header[9] = (char)((total - 10) >> 8);
    memset(header + 10 + text, ' ', total - 11 - (size_t)text);
    header[total - 1] = '\n';
    char *file = malloc(total + length);
    memcpy(file, header, total);
    memcpy(file + total, bytes, length);
    write_file(path, file, total + length);
    free(file);
}

static void write_floats(const char *path, const float *values, size_t n)
{
    char shape[32];
    snprintf(shape, sizeof shape, "(%zu,)", n);
    write_npy(path, "<f4", shape, values, n * sizeof *values);
}

static cJSON *parse(const struct outcome *o)
{
    ck_assert_msg(o->status == 0, "%s", o->err);
    cJSON *object = cJSON_Parse(o->out);
    ck_assert_msg(object, "%s", o->out);
    return object;
}

static const char *cell(const cJSON *object, const char *header)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, header);
    ck_assert_msg(cJSON_IsString(item), "%s", header);
    return item->valuestring;
}

static double number(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    ck_assert_msg(cJSON_IsNumber(item), "%s", key);
    return item->valuedouble;
}

/* ---- the peer's cells ------------------------------------------------------------------- */

static void write_side(const char *path, const cJSON *side, const char *bytes)
{
    static const struct {
        const char *name, *descr;
    } types[] = { { "float32", "<f4" }, { "float64", "<f8" }, { "float16", "<f2" },
                  { "int64", "<i8" },   { "int32", "<i4" },   { "int16", "<i2" },
                  { "int8", "|i1" },    { "uint8", "|u1" },   { "bool", "|b1" } };
    const char *dtype = cJSON_GetObjectItem(side, "dtype")->valuestring, *descr = NULL;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strcmp(types[i].name, dtype) == 0) descr = types[i].descr;
    }
    ck_assert_msg(descr, "%s", dtype);
    char shape[128] = "(";
    const cJSON *extent;
    cJSON_ArrayForEach(extent, cJSON_GetObjectItem(side, "shape"))
        snprintf(shape + strlen(shape), sizeof shape - strlen(shape), "%d,", extent->valueint);
    strcat(shape, ")");
    write_npy(path, descr, shape, bytes + (size_t)cJSON_GetObjectItem(side, "offset")->valuedouble,
              (size_t)cJSON_GetObjectItem(side, "nbytes")->valuedouble);
}

static const struct {
    const char *run;
    int every;
} runs[] = { { "m2_bf16_dev_a", 9 }, { "m5a_dev_a", 37 }, { "m5a_dev_c", 31 } };

START_TEST(cells_of_the_peer)
{
    char path[512];
    struct workspace w = workspace_make();
    snprintf(path, sizeof path, PROBE_TEST_DATA "/metrics/%s/index.json.gz", runs[_i].run);
    char *text = read_gzip(path, NULL);
    snprintf(path, sizeof path, PROBE_TEST_DATA "/metrics/%s/tensors.bin.gz", runs[_i].run);
    char *bytes = read_gzip(path, NULL);
    cJSON *index = cJSON_Parse(text);
    const cJSON *columns = cJSON_GetObjectItem(index, "columns"), *c;
    int place = 0, compared = 0;
    cJSON_ArrayForEach(c, cJSON_GetObjectItem(index, "cases"))
    {
        const cJSON *want = cJSON_GetObjectItem(c, "bench"),
                    *got = cJSON_GetObjectItem(c, "device");
        if (!want || !got || place++ % runs[_i].every) continue;
        const char *name = cJSON_GetObjectItem(c, "name")->valuestring;
        write_side(in(&w, "want.npy"), want, bytes);
        write_side(in(&w, "got.npy"), got, bytes);
        struct outcome o = run_program(
            &w, "diff", "want.npy", "got.npy", "--api", name, "--profile", "v2", "--dtype",
            cJSON_GetObjectItem(c, "device_dtype")->valuestring, "--bench-dtype",
            cJSON_GetObjectItem(c, "bench_dtype")->valuestring, "--json", NULL);
        cJSON *object = parse(&o);
        ck_assert_str_eq(cell(object, "API Name"), name);
        const cJSON *row = cJSON_GetObjectItem(c, "row");
        for (int k = 0; k < cJSON_GetArraySize(columns); k++) {
            const char *header = cJSON_GetArrayItem(columns, k)->valuestring;
            const char *expected = cJSON_GetArrayItem(row, k)->valuestring;
            if (strcmp(expected, "Warning") == 0) expected = "warning";
            ck_assert_msg(same_cell(expected, cell(object, header), 1e-5), "%s %s: %s, not %s",
                          name, header, cell(object, header), expected);
        }
        cJSON_Delete(object);
        outcome_free(&o);
        compared++;
    }
    ck_assert_int_gt(compared, 10);
    cJSON_Delete(index);
    free(text);
    free(bytes);
    workspace_remove(&w);
}
END_TEST

/* ---- names and dtypes ------------------------------------------------------------------- */

/* One element of four differs: the binary standard says so, the benchmark standard does not look.
 * The standard follows the API whatever form its name has. */
START_TEST(forms_of_names)
{
    static const struct {
        const char *api, *row;
        bool binary;
        /* clang-format off */
    } names[] = {
        { "relu", "relu.forward.output.0", true },
        { "Functional.relu.3", "Functional.relu.3.forward.output.0", true },
        { "Functional.relu.3.backward.output.2", "Functional.relu.3.backward.output.2", true },
        { "linalg.inv", "linalg.inv.forward.output.0", false },
        { "Torch.linalg.inv.0", "Torch.linalg.inv.0.forward.output.0", false },
        { "Torch.linalg.inv.0.forward.output.1", "Torch.linalg.inv.0.forward.output.1", false },
        { "Torch.linalg.inv.0.forward.output.999999999", "Torch.linalg.inv.0.forward.output.999999999", false },
    };
    /* clang-format on */
    struct workspace w = workspace_make();
    const float want[4] = { 1, 2, 3, 4 }, got[4] = { 1, 2, 3, 4.0000005f };
    write_floats(in(&w, "want.npy"), want, 4);
    write_floats(in(&w, "got.npy"), got, 4);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct outcome o =
            run_program(&w, "diff", "want.npy", "got.npy", "--api", names[i].api, "--json", NULL);
        cJSON *object = parse(&o);
        ck_assert_str_eq(cell(object, "API Name"), names[i].row);
        ck_assert_str_eq(cell(object, "二进制一致错误率"),
                         names[i].binary ? "0.25000000000000" : " ");
        ck_assert_int_eq(strcmp(cell(object, "均方根误差"), " ") == 0, names[i].binary);
        cJSON_Delete(object);
        outcome_free(&o);
    }
    /* No number behind the last dot, or no type before the first: names of APIs, which are none. */
    static const char *const unknown[] = { "Functional.relu.3x", "Functional.relu.+3",
                                           "Functional.relu.", "relu.3", "matmull" };
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        struct outcome o =
            run_program(&w, "diff", "want.npy", "got.npy", "--api", unknown[i], NULL);
        ck_assert_msg(o.status == 2, "%s: %d", unknown[i], o.status);
        ck_assert_ptr_nonnull(strstr(o.err, "there is no API"));
        outcome_free(&o);
    }
    workspace_remove(&w);
}
END_TEST

/* bfloat16 values in a float32 file: with --dtype an error of one bfloat16 unit is one ulp. */
START_TEST(dtype_of_the_values)
{
    struct workspace w = workspace_make();
    const float want[2] = { 1, 2 }, got[2] = { 1.0078125f, 2 };
    write_floats(in(&w, "want.npy"), want, 2);
    write_floats(in(&w, "got.npy"), got, 2);
    struct outcome o =
        run_program(&w, "diff", "want.npy", "got.npy", "--dtype", "torch.bfloat16", "--json", NULL);
    cJSON *object = parse(&o);
    const cJSON *evidence = cJSON_GetObjectItem(object, "evidence");
    ck_assert_str_eq(o.err, "");
    ck_assert_str_eq(cell(object, "DEVICE Dtype"), "torch.bfloat16");
    ck_assert_str_eq(cell(object, "Bench Dtype"), "torch.float32");
    ck_assert_double_eq(number(evidence, "elements"), 2);
    const cJSON *worst = cJSON_GetObjectItem(evidence, "worst ulp");
    ck_assert_double_eq(number(worst, "error"), 1);
    ck_assert_double_eq(number(worst, "index"), 0);
    ck_assert_double_eq(number(worst, "want"), 1);
    ck_assert_double_eq(number(worst, "got"), 1.0078125);
    const cJSON *histogram = cJSON_GetObjectItem(evidence, "ulp histogram");
    ck_assert_double_eq(number(histogram, "0"), 1);
    ck_assert_double_eq(number(histogram, "<= 1"), 1);
    ck_assert_int_eq(cJSON_GetArraySize(histogram), 2);
    cJSON_Delete(object);
    outcome_free(&o);

    /* 1.0000001 is no bfloat16 */
    const float odd[2] = { 1.0000001f, 2 };
    write_floats(in(&w, "got.npy"), odd, 2);
    o = run_program(&w, "diff", "want.npy", "got.npy", "--dtype", "torch.bfloat16", NULL);
    ck_assert_int_eq(o.status, 0);
    ck_assert_str_eq(o.err,
                     "warning: 1 values of got.npy are no torch.bfloat16 and were rounded\n");
    outcome_free(&o);
    workspace_remove(&w);
}
END_TEST

START_TEST(integers_and_bools)
{
    struct workspace w = workspace_make();
    const int64_t want[3] = { 1, -2, 1 }, got[3] = { 1, -2, 0 };
    write_npy(in(&w, "want.npy"), "<i8", "(3,)", want, sizeof want);
    write_npy(in(&w, "got.npy"), "<i8", "(3,)", got, sizeof got);
    struct outcome o = run_program(&w, "diff", "want.npy", "got.npy", "--json", NULL);
    cJSON *object = parse(&o);
    ck_assert_str_eq(cell(object, "二进制一致错误率"), "0.33333333333333");
    ck_assert_str_eq(cell(object, "Status"), "error");
    cJSON_Delete(object);
    outcome_free(&o);
    o = run_program(&w, "diff", "want.npy", "want.npy", "--dtype", "torch.int8", "--json", NULL);
    object = parse(&o);
    ck_assert_str_eq(cell(object, "DEVICE Dtype"), "torch.int8");
    ck_assert_str_eq(cell(object, "Status"), "pass");
    cJSON_Delete(object);
    outcome_free(&o);
    workspace_remove(&w);
}
END_TEST

/* What --dtype makes of a file's values; what cannot be the same is counted, a NaN is one everywhere. */
START_TEST(conversions_of_the_values)
{
    static const float floats[4] = { 1, NAN, INFINITY, 300 };
    static const double complexes[4] = { 1, NAN, 1e300, 2 };
    static const int64_t integers[4] = { 1, -2, 300, 127 };
    static const uint8_t bools[4] = { 0, 1, 1, 0 };
    static const struct {
        const char *descr, *shape;
        const void *bytes;
        size_t length;
        const char *dtype, *err;
    } rows[] = {
        { "<f4", "(4,)", floats, sizeof floats, "torch.float16", "" },
        { "<f4", "(4,)", floats, sizeof floats, "torch.float8_e5m2",
          "warning: 1 values of x.npy are no torch.float8_e5m2 and were rounded\n" },
        { "<f4", "(4,)", floats, sizeof floats, "torch.float8_e4m3fn",
          "warning: 2 values of x.npy are no torch.float8_e4m3fn and were rounded\n" },
        { "<f4", "(4,)", floats, sizeof floats, "torch.float64", "" },
        { "<c16", "(2,)", complexes, sizeof complexes, "torch.complex64",
          "warning: 1 values of x.npy are no torch.complex64 and were rounded\n" },
        { "<i8", "(4,)", integers, sizeof integers, "torch.int16", "" },
        { "<i8", "(4,)", integers, sizeof integers, "torch.int8",
          "warning: 1 values of x.npy are no torch.int8 and were rounded\n" },
        { "<i8", "(4,)", integers, sizeof integers, "torch.bool",
          "warning: 3 values of x.npy are no torch.bool and were rounded\n" },
        { "|b1", "(4,)", bools, sizeof bools, "torch.int32", "" },
        { "<f4", "(0,)", floats, 0, "torch.float16", "" },
    };
    struct workspace w = workspace_make();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        write_npy(in(&w, "x.npy"), rows[i].descr, rows[i].shape, rows[i].bytes, rows[i].length);
        struct outcome o =
            run_program(&w, "diff", "x.npy", "x.npy", "--dtype", rows[i].dtype, "--json", NULL);
        ck_assert_str_eq(o.err, rows[i].err);
        cJSON *object = parse(&o);
        ck_assert_str_eq(cell(object, "DEVICE Dtype"), rows[i].dtype);
        cJSON_Delete(object);
        outcome_free(&o);
    }
    workspace_remove(&w);
}
END_TEST

/* ---- output and exit status ------------------------------------------------------------- */

START_TEST(non_finite_evidence_is_json)
{
    struct workspace w = workspace_make();
    const float want[3] = { 1, INFINITY, 2 }, got[3] = { 1, 3, NAN };
    write_floats(in(&w, "want.npy"), want, 3);
    write_floats(in(&w, "got.npy"), got, 3);
    struct outcome o = run_program(&w, "diff", "want.npy", "got.npy", "--json", NULL);
    cJSON *object = parse(&o);
    const cJSON *kinds = cJSON_GetObjectItem(cJSON_GetObjectItem(object, "evidence"), "kinds");
    ck_assert_double_eq(number(kinds, "want finite, got finite"), 1);
    ck_assert_double_eq(number(kinds, "want inf, got finite"), 1);
    ck_assert_double_eq(number(kinds, "want finite, got nan"), 1);
    ck_assert_int_eq(cJSON_GetArraySize(kinds), 3);
    ck_assert_str_eq(cell(object, "Status"), "error");
    cJSON_Delete(object);
    outcome_free(&o);
    workspace_remove(&w);
}
END_TEST

START_TEST(readable_output)
{
    struct workspace w = workspace_make();
    const float want[4] = { 1, 2, 3, 4 }, got[4] = { 1, 2, 3.0000002f, 5 };
    write_floats(in(&w, "want.npy"), want, 4);
    write_floats(in(&w, "got.npy"), got, 4);
    struct outcome o = run_program(&w, "diff", "want.npy", "got.npy", NULL);
    ck_assert_int_eq(o.status, 0);
    static const char *const lines[] = {
        "got.npy: error\n",
        "  elements                     4\n  compared                     4\n",
        "  worst absolute               index 3, at [3], want 4, got 5, error 1\n",
        "  error in ulp\n    0                     2  ####",
        "    <= 1                  1  ####",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        ck_assert_msg(strstr(o.out, lines[i]), "'%s' in\n%s", lines[i], o.out);
    outcome_free(&o);
    o = run_program(&w, "diff", "want.npy", "got.npy", "--fail-on", "error", NULL);
    ck_assert_int_eq(o.status, 1);
    outcome_free(&o);
    o = run_program(&w, "diff", "want.npy", "want.npy", "--fail-on", "warning", NULL);
    ck_assert_int_eq(o.status, 0);
    outcome_free(&o);
    workspace_remove(&w);
}
END_TEST

/* All of it, for the ends of the range of errors, and tensors of which nothing is to be told. */
START_TEST(whole_output)
{
    struct workspace w = workspace_make();
    const float want[3] = { 1, 1, 1 }, got[3] = { 1, 1.0000002f, 1e38f };
    write_floats(in(&w, "want.npy"), want, 3);
    write_floats(in(&w, "got.npy"), got, 3);
    struct outcome o = run_program(&w, "diff", "want.npy", "got.npy", "--api", "relu", NULL);
    ck_assert_int_eq(o.status, 0);
    ck_assert_ptr_nonnull(strstr(o.out, "  error in ulp\n"
                                        "    0                     1  ####"));
    ck_assert_ptr_nonnull(strstr(o.out, "    <= 2                  1  ####"));
    ck_assert_ptr_nonnull(strstr(o.out, "    more                  1  ####"));
    ck_assert_ptr_nonnull(strstr(o.out, "\n  Shape: (3,)\n"));
    outcome_free(&o);

    const float infinite[2] = { INFINITY, -INFINITY };
    write_floats(in(&w, "want.npy"), infinite, 2);
    o = run_program(&w, "diff", "want.npy", "want.npy", NULL);
    ck_assert_ptr_nonnull(strstr(o.out, "  agreed without comparison    2\n"));
    ck_assert_ptr_null(strstr(o.out, "worst"));
    outcome_free(&o);

    const int64_t integers[2] = { 1, 2 };
    write_npy(in(&w, "want.npy"), "<i8", "(2,)", integers, sizeof integers);
    o = run_program(&w, "diff", "want.npy", "want.npy", NULL);
    ck_assert_str_eq(strstr(o.out, "want.npy: pass\n"), o.out);
    ck_assert_ptr_null(strstr(o.out, "worst"));
    outcome_free(&o);
    workspace_remove(&w);
}
END_TEST

/* --fail-on asks for a verdict or a worse one. A warning: two thousandths of float32 values off by 0.5 %. */
START_TEST(verdicts_that_fail)
{
    static float want[1000], got[1000];
    static const struct {
        float off;
        const char *verdict;
        int on_warning, on_error;
    } rows[] = { { 0, "pass", 0, 0 }, { 0.005f, "warning", 1, 0 }, { 100, "error", 1, 1 } };
    struct workspace w = workspace_make();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char status[32];
        for (int k = 0; k < 1000; k++) want[k] = got[k] = 1 + (float)k / 100;
        for (int k = 0; k < 2; k++) got[100 * k] *= 1 + rows[i].off;
        write_floats(in(&w, "want.npy"), want, 1000);
        write_floats(in(&w, "got.npy"), got, 1000);
        struct outcome o = run_program(&w, "diff", "want.npy", "got.npy", "--profile", "v2",
                                       "--dtype", "torch.float16", "--fail-on", "warning", NULL);
        snprintf(status, sizeof status, "got.npy: %s\n", rows[i].verdict);
        ck_assert_msg(strstr(o.out, status) != NULL, "%s:\n%s", rows[i].verdict, o.out);
        ck_assert_int_eq(o.status, rows[i].on_warning);
        outcome_free(&o);
        o = run_program(&w, "diff", "want.npy", "got.npy", "--profile", "v2", "--dtype",
                        "torch.float16", "--fail-on", "error", NULL);
        ck_assert_int_eq(o.status, rows[i].on_error);
        outcome_free(&o);
    }
    workspace_remove(&w);
}
END_TEST

START_TEST(shapes_that_differ)
{
    struct workspace w = workspace_make();
    const float values[4] = { 1, 2, 3, 4 };
    write_npy(in(&w, "want.npy"), "<f4", "(4,)", values, sizeof values);
    write_npy(in(&w, "got.npy"), "<f4", "(2, 2)", values, sizeof values);
    struct outcome o = run_program(&w, "diff", "want.npy", "got.npy", "--json", NULL);
    cJSON *object = parse(&o);
    ck_assert_str_eq(cell(object, "Status"), "error");
    ck_assert_str_eq(cell(object, "Message"), "The shape of bench(4,) and npu(2, 2) not equal.");
    cJSON_Delete(object);
    outcome_free(&o);
    workspace_remove(&w);
}
END_TEST

static void check_failure(const struct workspace *w, const char *want, const char *got,
                          const char *option, const char *value, int status, const char *message)
{
    struct outcome o = run_program(w, "diff", want, got, option, value, NULL);
    ck_assert_msg(o.status == status, "%s %s: status %d", option, value, o.status);
    ck_assert_msg(strstr(o.err, message), "%s", o.err);
    outcome_free(&o);
}

START_TEST(failures)
{
    struct workspace w = workspace_make();
    const float values[2] = { 1, 2 };
    write_floats(in(&w, "a.npy"), values, 2);
    write_text(in(&w, "b.npy"), "not numpy");
    write_text(in(&w, "c.txt"), "text");
    check_failure(&w, "a.npy", "none.npy", "--profile", "doc", 3, "none.npy");
    check_failure(&w, "b.npy", "a.npy", "--profile", "doc", 3, "b.npy");
    check_failure(&w, "a.npy", "c.txt", "--profile", "doc", 3, "c.txt");
    check_failure(&w, "a.npy", "a.npy", "--profile", "best", 2, "best");
    check_failure(&w, "a.npy", "a.npy", "--dtype", "bf17", 2, "does not know the dtype 'bf17'");
    check_failure(&w, "a.npy", "a.npy", "--bench-dtype", "x", 2, "does not know the dtype 'x'");
    check_failure(&w, "a.npy", "a.npy", "--dtype", "torch.int32", 2,
                  "a file of torch.float32 cannot hold torch.int32");
    const int64_t integers[2] = { 1, 2 };
    write_npy(in(&w, "i.npy"), "<i8", "(2,)", integers, sizeof integers);
    write_npy(in(&w, "c.npy"), "<c8", "(1,)", values, sizeof values);
    check_failure(&w, "i.npy", "i.npy", "--dtype", "torch.float64", 2,
                  "a file of torch.int64 cannot hold torch.float64");
    check_failure(&w, "c.npy", "c.npy", "--dtype", "torch.float32", 2,
                  "a file of torch.complex64 cannot hold torch.float32");
    check_failure(&w, "a.npy", "a.npy", "--dtype", "torch.complex64", 2,
                  "a file of torch.float32 cannot hold torch.complex64");
    check_failure(&w, "a.npy", "a.npy", "--api", "Torch.a.0.forward.output.1000000000", 2,
                  "does not end in the number of an output");
    check_failure(&w, "a.npy", "a.npy", "--api", "Torch.a.0.forward.output.x", 2,
                  "does not end in the number of an output");
    check_failure(&w, "a.npy", "a.npy", "--thresholds", "none.json", 3, "none.json");
    workspace_remove(&w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("diff_command");
    TCase *tests = tcase_create("diff_command");
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, cells_of_the_peer, 0, (int)(sizeof runs / sizeof *runs));
    tcase_add_test(tests, forms_of_names);
    tcase_add_test(tests, dtype_of_the_values);
    tcase_add_test(tests, integers_and_bools);
    tcase_add_test(tests, non_finite_evidence_is_json);
    tcase_add_test(tests, readable_output);
    tcase_add_test(tests, whole_output);
    tcase_add_test(tests, verdicts_that_fail);
    tcase_add_test(tests, conversions_of_the_values);
    tcase_add_test(tests, shapes_that_differ);
    tcase_add_test(tests, failures);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
