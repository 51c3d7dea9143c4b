/* dump.json as rows: names, order, cells of what is no tensor, rejected rows, unusable files. */
#include "compare/dumps/dump_reader.h"

#include "compare/dumps.h"

static const char T[] = TENSOR("1.5", "-1", "0.1", "2");

/* The example of the rules: nested arguments, no row for null's surroundings. */
START_TEST(nested_names)
{
    static const char *const expected[] = {
        "Cell.net.Loss.forward.0.input.0",
        "Cell.net.Loss.forward.0.input.1.y",
        "Cell.net.Loss.forward.0.input.1.data_info.img_hw",
        "Cell.net.Loss.forward.0.output.0",
    };
    struct scratch scratch = scratch_make();
    char data[2000];
    snprintf(
        data, sizeof data,
        "\"Cell.net.Loss.forward.0\": {\"output\": [%s], \"is_recompute\": false, \"input_args\": "
        "[%s, {\"y\": %s, \"data_info\": {\"img_hw\": null}}], \"input_kwargs\": {}}",
        T, T, T);
    struct dump_rows dump = open_dump(make_dump(&scratch, "d", "statistics", "mindspore", data));
    ck_assert_uint_eq(dump.n_rows, 4);
    for (uint32_t i = 0; i < 4; i++) ck_assert_str_eq(name_of(&dump, i), expected[i]);
    ck_assert_int_eq(dump.framework, FRAMEWORK_MINDSPORE);
    ck_assert_str_eq(dump_text(&dump, dump.rows[2].dtype), "None");
    ck_assert_str_eq(value_of(&dump, 2, STATISTIC_MAX), "None");
    dump_rows_close(&dump);
    scratch_remove(&scratch);
}
END_TEST

/* inputs and kwargs, then parameters, then outputs, whatever the order of the file. */
START_TEST(order_of_sections)
{
    static const char *const expected[] = {
        "Module.a.Linear.forward.0.input.0",
        "Module.a.Linear.forward.0.input.k",
        "Module.a.Linear.forward.0.parameters.weight",
        "Module.a.Linear.forward.0.output.0",
    };
    struct scratch scratch = scratch_make();
    char data[2000];
    snprintf(data, sizeof data,
             "\"Module.a.Linear.forward.0\": {\"output\": [%s], \"parameters\": {\"weight\": %s}, "
             "\"input_kwargs\": {\"k\": %s}, \"input_args\": [%s]}",
             T, T, T, T);
    struct dump_rows dump = open_dump(make_dump(&scratch, "d", "statistics", "pytorch", data));
    ck_assert_uint_eq(dump.n_rows, 4);
    for (uint32_t i = 0; i < 4; i++) ck_assert_str_eq(name_of(&dump, i), expected[i]);
    dump_rows_close(&dump);
    scratch_remove(&scratch);
}
END_TEST

/* Lists add nothing to the names of parameter gradients; debug data has no section. */
START_TEST(whole_entries)
{
    struct scratch scratch = scratch_make();
    char data[2000];
    snprintf(data, sizeof data,
             "\"Module.a.Linear.parameters_grad\": {\"weight\": [%s]}, "
             "\"Module.a.Linear.parameters_grad.1\": {\"bias\": [%s]}, \"x.debug\": {\"v\": [%s]}",
             T, T, T);
    struct dump_rows dump = open_dump(make_dump(&scratch, "d", "statistics", "pytorch", data));
    ck_assert_uint_eq(dump.n_rows, 3);
    ck_assert_str_eq(name_of(&dump, 0), "Module.a.Linear.parameters_grad.weight");
    ck_assert_str_eq(name_of(&dump, 1), "Module.a.Linear.parameters_grad.1.bias");
    ck_assert_str_eq(name_of(&dump, 2), "x.debug.v.0");
    ck_assert_int_eq(dump.rows[0].state, STATE_PARAMETERS_GRAD);
    ck_assert_int_eq(dump.rows[2].state, STATE_DEBUG);
    dump_rows_close(&dump);
    scratch_remove(&scratch);
}
END_TEST

/* Dtype, shape and value cells. */
static const struct {
    const char *json, *dtype, *shape, *value;
} leaves[] = {
    { "{\"type\": \"int\", \"value\": 1}", "<class 'int'>", "[]", "1" },
    { "{\"type\": \"float\", \"value\": 1.0}", "<class 'float'>", "[]", "1.0" },
    { "{\"type\": \"bool\", \"value\": true}", "<class 'bool'>", "[]", "True" },
    { "{\"type\": \"NoneType\", \"value\": null}", "<class 'NoneType'>", "[]", "None" },
    { "{\"type\": \"str\", \"value\": \"mean\"}", "<class 'str'>", "[]", "mean" },
    { "{\"type\": \"list\", \"value\": [1, 2.50, \"a'b\", null, {\"k\": false}]}", "<class 'list'>",
      "[]", "[1, 2.5, \"a'b\", None, {'k': False}]" },
    { "{\"type\": \"torch.Size\", \"value\": [2, 3]}", "torch.Size", "[2, 3]", "None" },
    { "{\"type\": \"slice\", \"value\": [1, 3, null]}", "slice", "(3,)", "None" },
    { "{\"type\": \"ellipsis\", \"value\": \"...\"}", "ellipsis", "[]", "..." },
    { "{\"type\": \"torch.ProcessGroup\", \"group_ranks\": [0, 1]}", "torch.ProcessGroup", "[]",
      "[0, 1]" },
};

START_TEST(other_leaves)
{
    struct scratch scratch = scratch_make();
    char data[2000];
    snprintf(data, sizeof data, "\"Torch.f.0.forward\": {\"input_args\": [%s], \"output\": [%s]}",
             leaves[_i].json, T);
    struct dump_rows dump = open_dump(make_dump(&scratch, "d", "statistics", "pytorch", data));
    ck_assert_uint_eq(dump.n_rows, 2);
    ck_assert_str_eq(dump_text(&dump, dump.rows[0].dtype), leaves[_i].dtype);
    ck_assert_str_eq(dump_text(&dump, dump.rows[0].shape), leaves[_i].shape);
    ck_assert_str_eq(value_of(&dump, 0, STATISTIC_MAX), leaves[_i].value);
    ck_assert_str_eq(value_of(&dump, 0, STATISTIC_L2NORM), leaves[_i].value);
    ck_assert(!dump.rows[0].is_tensor);
    dump_rows_close(&dump);
    scratch_remove(&scratch);
}
END_TEST

/* zlib.crc32 of b"1", b"True", b"None", b"" in Python; what was recorded; nothing of nothing. */
START_TEST(checksums_of_values)
{
    struct scratch scratch = scratch_make();
    struct dump_rows dump = open_dump(make_dump(
        &scratch, "d", "statistics", "pytorch",
        "\"Torch.f.0.forward\": {\"input_args\": [{\"type\": \"int\", \"value\": 1}, {\"type\": "
        "\"bool\", \"value\": true}, {\"type\": \"NoneType\", \"value\": null}, {\"type\": "
        "\"NoneType\"}, {\"type\": \"torch.Tensor\", \"dtype\": \"torch.int8\", \"shape\": [], "
        "\"md5\": \"00c0ffee\"}, null]}"));
    static const uint32_t expected[] = { 0x83dcefb7, 0x5dcee3b3, 0xdfa2aff1, 0, 0x00c0ffee };
    ck_assert_int_eq(dump.kind, DUMP_MD5);
    for (int i = 0; i < 5; i++) ck_assert_uint_eq(dump.rows[i].checksum, expected[i]);
    ck_assert_int_eq(dump.rows[5].checksum_kind, CHECKSUM_NONE);
    dump_rows_close(&dump);
    scratch_remove(&scratch);
}
END_TEST

/* The name of the data file names the row; "-1" and "" are none. */
START_TEST(data_names)
{
    struct scratch scratch = scratch_make();
    struct dump_rows dump = open_dump(make_dump(
        &scratch, "d", "tensor", "pytorch",
        "\"Torch.f.0.forward\": {\"input_args\": [{\"type\": \"torch.Tensor\", \"dtype\": \"x\", "
        "\"shape\": [], \"data_name\": \"Torch.f.0.forward.input.0.pt\"}, {\"type\": "
        "\"torch.Tensor\", "
        "\"dtype\": \"x\", \"shape\": [], \"data_name\": \"other.name.npy\"}, {\"type\": "
        "\"torch.Tensor\", \"dtype\": \"x\", \"shape\": [], \"data_name\": \"-1\"}]}"));
    struct csv_buffer text = { 0 };
    ck_assert_str_eq(name_of(&dump, 0), "Torch.f.0.forward.input.0");
    ck_assert_str_eq(name_of(&dump, 1), "other.name");
    ck_assert_str_eq(name_of(&dump, 2), "Torch.f.0.forward.input.2");
    ck_assert_int_eq(dump_row_append_data_name(&text, &dump, &dump.rows[0]).code, STATUS_OK);
    ck_assert_int_eq(dump_row_append_data_name(&text, &dump, &dump.rows[1]).code, STATUS_OK);
    ck_assert_int_eq(dump_row_append_data_name(&text, &dump, &dump.rows[2]).code, STATUS_OK);
    ck_assert_int_eq(csv_append_bytes(&text, "", 1).code, STATUS_OK);
    ck_assert_str_eq(text.data, "Torch.f.0.forward.input.0.ptother.name.npy");
    csv_buffer_release(&text);
    dump_rows_close(&dump);
    scratch_remove(&scratch);
}
END_TEST

/* What a spreadsheet would run, and records of the wrong shape, cost their row. */
START_TEST(rejected_rows)
{
    struct scratch scratch = scratch_make();
    struct dump_rows dump = open_dump(make_dump(
        &scratch, "d", "statistics", "pytorch",
        "\"=cmd.0.forward\": {\"input_args\": [{\"type\": \"int\", \"value\": 1}]}, "
        "\"Torch.f.0.forward\": {\"input_args\": [{\"type\": \"str\", \"value\": \"@SUM(1)\"}, "
        "{\"type\": \"torch.Tensor\", \"dtype\": \"x\", \"shape\": \"2x3\"}, {\"type\": "
        "\"torch.Tensor\", \"dtype\": \"x\", \"shape\": [], \"requires_grad\": 1}, {\"type\": "
        "\"int\", \"value\": -1}]}"));
    static const enum row_fault expected[] = { FAULT_FORMULA_NAME, FAULT_FORMULA_TEXT, FAULT_SHAPE,
                                               FAULT_REQUIRES_GRAD, FAULT_NONE };
    ck_assert_uint_eq(dump.n_rows, 5);
    for (int i = 0; i < 5; i++) ck_assert_int_eq(dump.rows[i].fault, expected[i]);
    dump_rows_close(&dump);
    scratch_remove(&scratch);
}
END_TEST

/* Text of the file; what the message says. */
static const struct {
    const char *text, *message;
} unusable[] = {
    { "{\"task\": \"statistics\", \"framework\": \"pytorch\", \"data\": {\"a\": ", "line 1" },
    { "[]", "expected" },
    { "{\"framework\": \"pytorch\", \"data\": {}}", "names no task" },
    { "{\"task\": \"\", \"framework\": \"pytorch\", \"data\": {}}", "names no task" },
    { "{\"task\": \"x\", \"framework\": \"pytorch\", \"data\": {}}", "task 'x'" },
    { "{\"task\": \"statistics\", \"framework\": \"pytorch\"}", "no 'data'" },
    { "{\"task\": \"statistics\", \"framework\": \"pytorch\", \"data\": 3}",
      "an object of entries" },
    { "{\"task\": \"statistics\", \"data\": {\"Torch.f.0.forward\": {}}}", "framework" },
};

START_TEST(unusable_files)
{
    struct scratch scratch = scratch_make();
    struct dump_rows dump;
    const char *path = scratch_text(&scratch, "dump.json", unusable[_i].text);
    struct status status = dump_rows_open(&dump, path, FILES_CHECKED);
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    ck_assert_msg(strstr(status.text, unusable[_i].message) != NULL, "%s", status.text);
    ck_assert_ptr_null(dump.rows);
    scratch_remove(&scratch);
}
END_TEST

/* Nesting deeper than 400 levels ends the reading with its place. */
START_TEST(deep_nesting)
{
    enum { LEVELS = 1000 };
    struct scratch scratch = scratch_make();
    struct dump_rows dump;
    static char text[2 * LEVELS + 200];
    int length = sprintf(text, "{\"task\": \"statistics\", \"framework\": \"pytorch\", \"data\": "
                               "{\"Torch.f.0.forward\": {\"input_args\": ");
    memset(text + length, '[', LEVELS);
    const char *path = scratch_text(&scratch, "dump.json", text);
    struct status status = dump_rows_open(&dump, path, FILES_CHECKED);
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    scratch_remove(&scratch);
}
END_TEST

/* A dump without `framework` is what its first tensor says. */
START_TEST(framework_by_type)
{
    struct scratch scratch = scratch_make();
    const char *path = scratch_text(
        &scratch, "dump.json",
        "{\"task\": \"statistics\", \"data\": {\"Mint.f.0.forward\": {\"input_args\": [{\"type\": "
        "\"mindspore.Tensor\", \"dtype\": \"Float32\", \"shape\": []}]}}}");
    struct dump_rows dump = open_dump(path);
    ck_assert_int_eq(dump.framework, FRAMEWORK_MINDSPORE);
    dump_rows_close(&dump);
    scratch_remove(&scratch);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("dump_reader");
    TCase *tests = tcase_create("dump_reader");
    tcase_add_test(tests, nested_names);
    tcase_add_test(tests, order_of_sections);
    tcase_add_test(tests, whole_entries);
    tcase_add_loop_test(tests, other_leaves, 0, (int)(sizeof leaves / sizeof *leaves));
    tcase_add_test(tests, checksums_of_values);
    tcase_add_test(tests, data_names);
    tcase_add_test(tests, rejected_rows);
    tcase_add_loop_test(tests, unusable_files, 0, (int)(sizeof unusable / sizeof *unusable));
    tcase_add_test(tests, deep_nesting);
    tcase_add_test(tests, framework_by_type);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
