/* Rows for whatever a device may return: too few outputs and too many, other kinds, shapes and dtypes,
 * no gradients. The worker that echoes (worker_peer.c) is the device: it returns the arguments as
 * outputs and the cotangents as gradients. */
#include <libgen.h>

#include "core/arena.h"
#include "formats/csv.h"
#include "formats/tensor_file.h"
#include "standards/judge.h"
#include "support/dumps.h"
#include "support/suite.h"

/* Arguments as a dump records them. */
#define TENSOR(SHAPE, MIN)                                                     \
    "{\"type\":\"torch.Tensor\",\"dtype\":\"torch.float32\",\"shape\":[" SHAPE \
    "],\"Max\":2.0,\"Min\":" MIN ",\"Mean\":0.0,\"Norm\":1.0,\"requires_grad\":true}"
#define X      TENSOR("4", "-2.0")
#define INT(N) "{\"type\":\"int\",\"value\":" #N "}"

static const struct {
    const char *name, *args, *kwargs, *cotangents; /* no cotangents: no backward */
    /* clang-format off */
} calls[] = {
    { "Torch.var_mean.0", X, "", NULL },
    { "Torch.add.0", X "," X, "", X },
    { "Torch.mul.0", X "," X, "", "null," X },
    { "Torch.std_mean.0", X, "", "null," TENSOR("", "-2.0") },
    { "Torch.split.0", X "," INT(2), "", TENSOR("2", "-2.0") "," TENSOR("2", "-2.0") },
    { "Torch.argmax.0", X, "", NULL },
    { "Torch.eq.0", X "," X, "", NULL },
    { "Tensor.size.0", X "," INT(0), "", NULL },
    { "Functional.dropout.0", X ",{\"type\":\"float\",\"value\":0.5}", "", NULL },
    { "Torch.multinomial.0", TENSOR("4", "0.5") "," INT(4) ",{\"type\":\"bool\",\"value\":true}", "", NULL },
    { "Torch.multinomial.1", TENSOR("4", "0.5") "," INT(3), "", NULL },
    { "Torch.multinomial.2", TENSOR("2,4", "0.5") "," INT(3), "", NULL },
    { "Torch.randperm.0", INT(4), "", NULL },
    { "Torch.clone.0", X, "", X },
    { "Torch.floor.0", TENSOR("4", "2.0"), "", X }, /* 2 is its own floor, and has no gradient */
    { "Torch.add.1", X "," X, "\"out\":" X, X },
    { "Torch.add.2", X "," X, "", "" },
    { "Torch.add.3", INT(1) "," INT(2), "", TENSOR("", "-2.0") },
    { "Torch.unbind.0", TENSOR("0,3", "-2.0"), "", TENSOR("3", "-2.0") },
    { "Torch.numel.0", X, "", X },
    { "Functional.embedding.0",
      "{\"type\":\"torch.Tensor\",\"dtype\":\"torch.int64\",\"shape\":[2],\"Max\":1,\"Min\":0,\"Mean\":0,\"Norm\":1,"
      "\"requires_grad\":false}," TENSOR("3,4", "-2.0"), "", TENSOR("2,4", "-2.0") },
    { "Torch.cat.0", "[" X "," X "]", "", TENSOR("8", "-2.0") },
};
/* clang-format on */

#define BY_PROPERTY "Random output, judged by property: "
#define LEGAL       "legal values; distribution within the Dvoretzky-Kiefer-Wolfowitz limit at 1e-9: "
#define BLANK       " ", " ", " "

/* Every details row in order: name, the next three cells, verdict, start of the message. */
static const struct {
    const char *name, *bench, *device, *shape, *status, *message;
    /* clang-format off */
} expected[] = {
    { "Torch.var_mean.0.forward.output.0", "torch.float64", "torch.float32", "(4,)", "error",
      "The shape of bench() and npu(4,) not equal." },
    { "Torch.var_mean.0.forward.output.1", BLANK, "error", "The device returned 1 outputs of 2." },
    { "Torch.add.0.forward.output.0", "torch.float64", "torch.float32", "(4,)", "error", "\nCosine similarity is less" },
    { "Torch.add.0.backward.output.0", "torch.float64", "torch.float32", "(4,)", "pass", "\nMax abs error is less" },
    { "Torch.add.0.backward.output.1", BLANK, "SKIP", "The device has no gradient for this argument." },
    { "Torch.mul.0.forward.output.0", "torch.float64", "torch.float32", "(4,)", "error", "\nCosine similarity is less" },
    { "Torch.mul.0.backward.output.0", BLANK, "SKIP", "there is no cotangent for any output" },
    { "Torch.std_mean.0.forward.output.0", "torch.float64", "torch.float32", "(4,)", "error",
      "The shape of bench() and npu(4,) not equal." },
    { "Torch.std_mean.0.forward.output.1", BLANK, "error", "The device returned 1 outputs of 2." },
    { "Torch.std_mean.0.backward.output.0", BLANK, "SKIP", "The device has no gradient for this argument." },
    { "Torch.split.0.forward.output.0", "torch.float64", "torch.float32", "(4,)", "error",
      "The shape of bench(2,) and npu(4,) not equal." },
    { "Torch.split.0.forward.output.1", BLANK, "error", "bench and npu output type is different." },
    { "Torch.split.0.backward.output.0", "torch.float64", "torch.float32", "(2,)", "error",
      "The shape of bench(4,) and npu(2,) not equal." },
    { "Torch.argmax.0.forward.output.0", "torch.int64", "torch.float32", "(4,)", "error",
      "The shape of bench() and npu(4,) not equal." },
    { "Torch.eq.0.forward.output.0", "torch.bool", "torch.float32", "(4,)", "error",
      "Bench out dtype is bool but npu output dtype is float32, cannot compare." },
    { "Tensor.size.0.forward.output.0", "<class 'int'>", "<class 'torch.Tensor'>", " ", "error",
      "bench and npu output type is different." },
    { "Functional.dropout.0.forward.output.0", "torch.float64", "torch.float32", "(4,)", "error",
      BY_PROPERTY "each element kept or dropped; dropped ones within 6.2 sigma (1e-9): element 0 is " },
    { "Torch.multinomial.0.forward.output.0", "torch.int64", "torch.float32", "(4,)", "error",
      BY_PROPERTY LEGAL "the dtype is torch.float32, not torch.int64." },
    { "Torch.multinomial.1.forward.output.0", "torch.int64", "torch.float32", "(4,)", "error",
      BY_PROPERTY LEGAL "the shape differs." },
    { "Torch.multinomial.2.forward.output.0", "torch.int64", "torch.float32", "(2, 4)", "error",
      BY_PROPERTY LEGAL "the shape differs." },
    { "Torch.randperm.0.forward.output.0", BLANK, "error", BY_PROPERTY LEGAL "the device returned no tensor." },
    { "Torch.clone.0.forward.output.0", "torch.float64", "torch.float32", "(4,)", "pass", "\nMax abs error is less" },
    { "Torch.clone.0.backward.output.0", "torch.float64", "torch.float32", "(4,)", "pass", "\nMax abs error is less" },
    { "Torch.floor.0.forward.output.0", "torch.float64", "torch.float32", "(4,)", "pass", "" },
    { "Torch.floor.0.backward.output.0", "torch.float64", "torch.float32", "(4,)", "error", "" },
    { "Torch.add.1.forward.output.0", "torch.float64", "torch.float32", "(4,)", "error", "\nCosine similarity is less" },
    { "Torch.add.1.backward.output.0", BLANK, "SKIP",
      "function with out=... arguments don't support automatic differentiation, skip backward." },
    { "Torch.add.2.forward.output.0", "torch.float64", "torch.float32", "(4,)", "error", "\nCosine similarity is less" },
    { "Torch.add.2.backward.output.0", BLANK, "SKIP",
      "This API does not have backward input data, skip backward." },
    { "Torch.add.3.forward.output.0", BLANK, "error", "bench and npu output type is different." },
    { "Torch.add.3.backward.output.0", BLANK, "SKIP", "No argument is a tensor, so there is no gradient to check." },
    { "Torch.unbind.0.forward.output.0", BLANK, "SKIP", "Bench output is None, skip this test." },
    { "Torch.unbind.0.backward.output.0", BLANK, "SKIP", "there is no cotangent for any output" },
    { "Torch.numel.0.forward.output.0", "<class 'int'>", "<class 'torch.Tensor'>", " ", "error",
      "bench and npu output type is different." },
    { "Torch.numel.0.backward.output.0", BLANK, "SKIP", "Torch.numel.0 has no gradient" },
    { "Functional.embedding.0.forward.output.0", "torch.float64", "torch.int64", "(2,)", "error",
      "The shape of bench(2, 4) and npu(2,) not equal." },
    { "Functional.embedding.0.backward.output.0", BLANK, "SKIP", "Bench output is None, skip this test." },
    { "Functional.embedding.0.backward.output.1", BLANK, "SKIP", "The device has no gradient for this argument." },
    { "Torch.cat.0.forward.output.0", BLANK, "error",
      "the worker's reply: an output that is neither a value nor an object with one key" },
    { "Torch.cat.0.backward.output.0", BLANK, "SKIP", "The device failed in the forward." },
};
/* clang-format on */

static void write_dump(const char *path)
{
    struct dump_text d;
    char name[128], body[2000];
    dump_begin(&d);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        snprintf(name, sizeof name, "%s.forward", calls[i].name);
        snprintf(body, sizeof body, "\"input_args\":[%s],\"input_kwargs\":{%s},\"output\":[]",
                 calls[i].args, calls[i].kwargs);
        dump_entry(&d, name, body);
        if (!calls[i].cotangents) continue;
        snprintf(name, sizeof name, "%s.backward", calls[i].name);
        snprintf(body, sizeof body, "\"input\":[%s],\"output\":[]", calls[i].cotangents);
        dump_entry(&d, name, body);
    }
    dump_write(&d, path);
}

static const char *echoing(void)
{
    static char backend[1000];
    char ut[] = PROBE_UT;
    snprintf(backend, sizeof backend, "worker:'%s/tests/plugin/worker-peer'", dirname(ut));
    return backend;
}

static struct workspace echoed(void)
{
    struct workspace w = workspace_make();
    const char *backend = echoing();
    write_dump(in(&w, "dump.json"));
    struct outcome o = run_program(&w, "-api_info", "dump.json", "-o", "out", "-save_error_data",
                                   "--backend", backend, NULL);
    ck_assert_msg(o.status == 0, "status %d: %s", o.status, o.err);
    outcome_free(&o);
    return w;
}

static void same_cell(struct csv_text cell, const char *wanted, const char *row)
{
    ck_assert_msg(csv_text_equal(cell, wanted), "%s: '%.*s', not '%s'", row, (int)cell.length,
                  cell.bytes, wanted);
}

static bool starts(struct csv_text text, const char *start)
{
    return text.length >= strlen(start) && !memcmp(text.bytes, start, strlen(start));
}

START_TEST(rows_of_whatever_is_returned)
{
    struct workspace w = echoed();
    size_t bytes, at = 0;
    char *text = read_file(only_match(&w, "out/accuracy_checking_details_*.csv"), &bytes);
    struct csv_reader reader;
    struct csv_row row;
    bool more;
    ck_assert(!csv_open_text(&reader, "details", text, bytes, NULL).code);
    ck_assert(!csv_next(&reader, &row, &more).code && more); /* header */
    for (; !csv_next(&reader, &row, &more).code && more; at++) {
        ck_assert_uint_lt(at, sizeof expected / sizeof *expected);
        const char *name = expected[at].name;
        same_cell(row.cells[COLUMN_NAME], name, name);
        same_cell(row.cells[COLUMN_BENCH_DTYPE], expected[at].bench, name);
        same_cell(row.cells[COLUMN_DEVICE_DTYPE], expected[at].device, name);
        same_cell(row.cells[COLUMN_SHAPE], expected[at].shape, name);
        same_cell(row.cells[COLUMN_STATUS], expected[at].status, name);
        struct csv_text message = row.cells[COLUMN_MESSAGE];
        ck_assert_msg(starts(message, expected[at].message), "%s: %.*s", name, (int)message.length,
                      message.bytes);
    }
    ck_assert_uint_eq(at, sizeof expected / sizeof *expected);
    csv_close(&reader);
    free(text);
    workspace_remove(&w);
}
END_TEST

/* A device that has no gradients: backward rows are SKIP and say so; what came from the dump is saved. */
START_TEST(rows_of_a_device_without_backward)
{
    struct workspace w = workspace_make();
    char backend[1100];
    snprintf(backend, sizeof backend, "%s forward", echoing());
    write_dump(in(&w, "dump.json"));
    struct outcome o = run_program(&w, "-api_info", "dump.json", "-o", "out", "-save_error_data",
                                   "--backend", backend, NULL);
    ck_assert_msg(o.status == 0, "%s", o.err);
    outcome_free(&o);
    char *result = read_file(only_match(&w, "out/accuracy_checking_result_*.csv"), NULL);
    static const char *const rows[] = { "\r\nTorch.add.0,error,SKIP,",
                                        "\r\nTorch.clone.0,pass,SKIP," };
    for (int i = 0; i < 2; i++) {
        const char *row = strstr(result, rows[i]);
        ck_assert_msg(row != NULL, "%s", result);
        const char *end = strstr(row + 2, "\r\n"),
                   *reason = strstr(row, "/worker-peer computes no gradients");
        ck_assert_msg(reason && reason < end, "%s", row);
    }
    ck_assert_ptr_nonnull(strstr(result, "\r\nTorch.argmax.0,error, \r\n"));
    free(result);
    ck_assert_uint_eq(count_matches(&w, "ut_error_data*/Torch.add.0.backward.input.0.pt"), 1);
    ck_assert_uint_eq(count_matches(&w, "ut_error_data*/Torch.add.0.backward.output.*"), 0);
    ck_assert_uint_eq(count_matches(&w, "ut_error_data*/Torch.clone.0.*"), 0);
    workspace_remove(&w);
}
END_TEST

/* A device whose results are not the same every time: the rows that differ say so, and no others. */
START_TEST(rows_of_a_device_that_wavers)
{
    static const char told[] =
        "\nDiffers from run to run: 1 of 4 elements in 3 runs, by up to 1 ulp.\n";
    struct workspace w = workspace_make();
    char backend[1100];
    snprintf(backend, sizeof backend, "%s wavering", echoing());
    write_dump(in(&w, "dump.json"));
    struct outcome o = run_program(&w, "-api_info", "dump.json", "-o", "out", "--repeat", "3",
                                   "--backend", backend, NULL);
    ck_assert_msg(o.status == 0, "%s", o.err);
    ck_assert_ptr_nonnull(strstr(o.out, "run-to-run differences: 1 row of 1 call"));
    outcome_free(&o);
    char *details = read_file(only_match(&w, "out/accuracy_checking_details_*.csv"), NULL);
    const char *row = strstr(details, "Torch.clone.0.forward.output.0,"),
               *next = strstr(details, "Torch.clone.0.backward.output.0,"),
               *found = strstr(details, told);
    ck_assert_msg(found && found > row && found < next, "%s", row);
    ck_assert_ptr_null(strstr(found + sizeof told, "Differs from run to run"));
    free(details);
    workspace_remove(&w);
}
END_TEST

/* Several devices, and more threads than calls, write the same bytes. */
START_TEST(rows_of_several_devices)
{
    static const char *const threads[] = { "2", "3", "64" };
    struct workspace w = echoed();
    /* Every worker maps what addresses are left; the emulator has few. */
    for (int i = 0; i < (emulated() ? 2 : 3); i++) {
        struct outcome o = run_program(&w, "-api_info", "dump.json", "-o", threads[i], "--backend",
                                       echoing(), "-n", threads[i], "-d", "0", "3", NULL);
        ck_assert_msg(o.status == 0, "%s", o.err);
        outcome_free(&o);
        static const char *const kinds[] = { "result_*.csv", "details_*.csv" };
        for (int k = 0; k < 2; k++) {
            char one[100], many[100];
            snprintf(one, sizeof one, "out/accuracy_checking_%s", kinds[k]);
            snprintf(many, sizeof many, "%s/accuracy_checking_%s", threads[i], kinds[k]);
            assert_same_files(only_match(&w, one), only_match(&w, many));
        }
    }
    workspace_remove(&w);
}
END_TEST

/* A tensor that the run saved, as doubles. */
static size_t saved(const struct workspace *w, const char *name, enum dtype dtype, double *elements)
{
    char pattern[256];
    struct arena arena = { 0 };
    struct file_map map;
    struct tensor tensor;
    snprintf(pattern, sizeof pattern, "ut_error_data*/%s.pt", name);
    struct status status =
        tensor_file_read(&tensor, &map, &arena, only_match(w, pattern), FILES_TRUSTED);
    ck_assert_msg(!status.code, "%s", status.text);
    ck_assert_int_eq(tensor.dtype, dtype);
    size_t n = tensor_elements(&tensor);
    ck_assert_uint_le(n, 8);
    dtype_to_double(elements, tensor.data, dtype, n);
    file_unmap(&map);
    arena_release(&arena);
    return n;
}

/* References that are integers are saved as such; of a random output there is none; outputs that are
 * no tensors count and leave no file. */
START_TEST(saved_tensors_of_all_kinds)
{
    struct workspace w = echoed();
    double x[8], y[8], out[8];
    ck_assert_uint_eq(saved(&w, "Torch.argmax.0.forward.input.0", DT_F32, x), 4);
    ck_assert_uint_eq(saved(&w, "Torch.argmax.0.forward.output.bench.0", DT_I64, out), 1);
    int largest = 0;
    for (int i = 1; i < 4; i++)
        if (x[i] > x[largest]) largest = i;
    ck_assert_double_eq(out[0], largest);

    ck_assert_uint_eq(saved(&w, "Torch.eq.0.forward.input.0", DT_F32, x), 4);
    ck_assert_uint_eq(saved(&w, "Torch.eq.0.forward.input.1", DT_F32, y), 4);
    ck_assert_uint_eq(saved(&w, "Torch.eq.0.forward.output.bench.0", DT_BOOL, out), 4);
    for (int i = 0; i < 4; i++) ck_assert_double_eq(out[i], x[i] == y[i]);

    /* What came back is what went there. */
    ck_assert_uint_eq(saved(&w, "Torch.add.0.forward.input.1", DT_F32, x), 4);
    ck_assert_uint_eq(saved(&w, "Torch.add.0.forward.output.device.1", DT_F32, y), 4);
    ck_assert_mem_eq(x, y, 4 * sizeof *x);

    static const struct {
        const char *pattern;
        size_t files;
        /* clang-format off */
    } counts[] = {
        { "Torch.multinomial.0.forward.output.bench.*", 0 }, { "Torch.multinomial.0.forward.output.device.0.pt", 1 },
        { "Torch.randperm.0.*", 0 },                         { "Tensor.size.0.forward.output.bench.*", 0 },
        { "Torch.split.0.forward.output.device.*", 1 },      { "Torch.split.0.backward.output.bench.0.pt", 1 },
        { "Torch.mul.0.backward.input.0.pt", 0 },            { "Torch.mul.0.backward.input.1.pt", 1 },
        { "Torch.mul.0.backward.output.bench.*", 0 },        { "Torch.clone.0.*", 0 }, /* a pass */
        { "Torch.floor.0.backward.output.device.0.pt", 1 },
        { "Torch.cat.0.*", 0 },                              { "Torch.unbind.0.*", 0 },
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        char pattern[256];
        snprintf(pattern, sizeof pattern, "ut_error_data*/%s", counts[i].pattern);
        ck_assert_msg(count_matches(&w, pattern) == counts[i].files, "%s: %zu files",
                      counts[i].pattern, count_matches(&w, pattern));
    }
    workspace_remove(&w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("device_rows");
    TCase *tests = tcase_create("device_rows");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, rows_of_whatever_is_returned);
    tcase_add_test(tests, rows_of_a_device_without_backward);
    tcase_add_test(tests, rows_of_a_device_that_wavers);
    tcase_add_test(tests, rows_of_several_devices);
    tcase_add_test(tests, saved_tensors_of_all_kinds);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
