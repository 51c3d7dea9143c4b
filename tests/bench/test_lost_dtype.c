/* A dtype that the dumper could not record, {} or null among the positional arguments, is that of the result; whatever else is null
 * there stays so. */
#include <string.h>

#include "bench/bench.h"
#include "support/cases.h"
#include "support/suite.h"

static struct arena arena;

static void tear_down(void) { arena_release(&arena); }

/* Arguments in a word: x the tensor, a float32 one; i 0; f False; u what could not be recorded; n null; c "cpu"; d a dtype, float64. */
static struct value argument_of(char letter)
{
    const double elements[] = { 1, -2, 3, 0.5 };
    const int64_t shape[] = { 2, 2 };
    switch (letter) {
    case 'x': return tensor_value(&arena, DT_F32, false, 2, shape, elements, 4);
    case 'i': return int_value(0);
    case 'f': return bool_value(false);
    case 'u': return (struct value){ .kind = VALUE_UNSUPPORTED, .string = "an object" };
    case 'c': return string_value("cpu");
    case 'd': return dtype_value(DT_F64);
    default: return none_value();
    }
}

static char letter_of(const struct value *value)
{
    switch (value->kind) {
    case VALUE_TENSOR: return 'x';
    case VALUE_INT: return 'i';
    case VALUE_BOOL: return 'f';
    case VALUE_UNSUPPORTED: return 'u';
    case VALUE_STRING: return 'c';
    case VALUE_DTYPE: return value->dtype == DT_F64 ? 'd' : 'D';
    default: return 'n';
    }
}

static struct api_case call_of(const char *type, const char *api, const char *letters)
{
    struct value args = list_value(&arena, 0);
    args.list.count = strlen(letters);
    args.list.items = arena_allocate_zeroed(&arena, args.list.count, sizeof *args.list.items);
    for (size_t i = 0; i < args.list.count; i++) args.list.items[i] = argument_of(letters[i]);
    struct api_case c = make_case(&arena, type, api, args);
    const double one = 1;
    c.outputs = list_value(&arena, 1, tensor_value(&arena, DT_I16, false, 0, NULL, &one, 1));
    return c;
}

/* D: the dtype of the result, int16. */
static const struct {
    const char *type, *api, *recorded, *want;
} rows[] = {
    { "Tensor", "to", "xu", "xD" },
    { "Tensor", "to", "xn", "xD" },
    { "Tensor", "to", "xuff", "xDff" },
    { "Tensor", "to", "xuu", "xnD" },
    { "Tensor", "to", "xnn", "xnD" },
    { "Tensor", "to", "xcu", "xcD" },
    { "Tensor", "to", "xud", "xnd" },
    { "Tensor", "to", "xd", "xd" },
    { "Tensor", "to", "xc", "xc" },
    { "Tensor", "type", "xu", "xD" },
    { "Tensor", "type", "xn", "xD" },
    { "Tensor", "view", "xu", "xD" },
    { "Torch", "softmax", "xiu", "xiD" },
    { "Functional", "softmax", "xiiu", "xiiD" },
    { "Tensor", "clamp", "xnn", "xnn" },
    { "Torch", "add", "xu", "xu" },
    { "Torch", "_softmax_backward_data", "xxiu", "xxiD" },
    { "Torch", "no_such", "xu", "xu" },
};

START_TEST(the_result_tells)
{
    struct api_case c = call_of(rows[_i].type, rows[_i].api, rows[_i].recorded), out;
    char got[8] = "";
    ck_assert_int_eq(bench_translate(&out, &arena, &c).code, STATUS_OK);
    for (size_t i = 0; i < out.args.list.count; i++) got[i] = letter_of(&out.args.list.items[i]);
    ck_assert_msg(!strcmp(got, rows[_i].want), "%s %s: %s", rows[_i].api, rows[_i].recorded, got);
    for (size_t i = 0; i < c.args.list.count; i++) /* what was recorded stays */
        ck_assert_int_eq(letter_of(&c.args.list.items[i]), rows[_i].recorded[i]);
}
END_TEST

/* Keywords: {} is lost, null is None, and what names the dtype of an argument is not that of the result. */
START_TEST(keywords)
{
    const struct value lost = argument_of('u');
    struct api_case c = call_of("NPU", "npu_anti_quant", "xx"), out;
    c.kwargs = dict_value(&arena, 3, "dst_dtype", lost, "src_dtype", lost, "offset", none_value());
    ck_assert_int_eq(bench_translate(&out, &arena, &c).code, STATUS_OK);
    ck_assert_int_eq(letter_of(value_find(&out.kwargs, "dst_dtype")), 'D');
    ck_assert_int_eq(letter_of(value_find(&out.kwargs, "src_dtype")), 'u');
    ck_assert_int_eq(letter_of(value_find(&out.kwargs, "offset")), 'n');
    ck_assert_int_eq(letter_of(value_find(&c.kwargs, "dst_dtype")), 'u');
    c.kwargs = dict_value(&arena, 1, "dst_dtype", none_value());
    ck_assert_int_eq(bench_translate(&out, &arena, &c).code, STATUS_OK);
    ck_assert_int_eq(letter_of(value_find(&out.kwargs, "dst_dtype")), 'n');
}
END_TEST

START_TEST(without_a_result_nothing_is_known)
{
    struct api_case c = call_of("Tensor", "to", "xu"), out;
    c.outputs = list_value(&arena, 0);
    ck_assert_int_eq(bench_translate(&out, &arena, &c).code, STATUS_OK);
    ck_assert_int_eq(out.args.list.items[1].kind, VALUE_UNSUPPORTED);
    c.outputs = list_value(&arena, 1, int_value(1));
    ck_assert_int_eq(bench_translate(&out, &arena, &c).code, STATUS_OK);
    ck_assert_int_eq(out.args.list.items[1].kind, VALUE_UNSUPPORTED);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("lost_dtype");
    TCase *tests = tcase_create("lost_dtype");
    tcase_add_checked_fixture(tests, NULL, tear_down);
    tcase_add_loop_test(tests, the_result_tells, 0, sizeof rows / sizeof *rows);
    tcase_add_test(tests, keywords);
    tcase_add_test(tests, without_a_result_nothing_is_known);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
