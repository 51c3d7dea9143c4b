/* What is written as a dump is read as the same calls: every kind of argument, ranges, tensors. */
#include "formats/dump_write.h"

#include <math.h>

#include "core/file.h"
#include "formats/dump.h"
#include "support/cases.h"
#include "support/suite.h"
#include "support/workspace.h"

static struct value described(struct arena *arena, enum dtype dtype, double low, double high)
{
    struct tensor_record *record = arena_allocate_zeroed(arena, 1, sizeof *record);
    record->dtype = dtype;
    record->dtype_name = dtype_info(dtype)->name;
    record->rank = 2;
    record->shape[0] = 3, record->shape[1] = 5;
    record->min = (struct statistic){ STATISTIC_NUMBER, low };
    record->max = (struct statistic){ STATISTIC_NUMBER, high };
    record->requires_grad = true;
    return (struct value){ .kind = VALUE_TENSOR, .tensor = { .record = record } };
}

static struct value slice_value(struct arena *arena, int64_t start, int64_t step)
{
    struct value slice = list_value(arena, 3, int_value(start), none_value(), int_value(step));
    slice.kind = VALUE_SLICE;
    return slice;
}

static void write_call(const struct workspace *w, const struct api_case *c, bool with_tensors)
{
    struct arena arena = { 0 };
    struct dump_writer writer;
    struct status status = dump_writer_open(
        &writer, w->path, (struct dump_writer_options){ .with_tensors = with_tensors });
    if (!status.code) status = dump_writer_add(&writer, c, &arena);
    status = dump_writer_end(&writer, status);
    ck_assert_msg(!status.code, "%s", status.text);
    arena_release(&arena);
}

static struct api_case read_call(struct dump **dump, struct arena *arena, const struct workspace *w)
{
    struct api_case c;
    struct status status = dump_open(dump, in(w, "dump.json"), FILES_CHECKED);
    ck_assert_msg(!status.code, "%s", status.text);
    ck_assert_uint_eq(dump_count(*dump), 1);
    status = dump_read_case(&c, arena, *dump, 0);
    ck_assert_msg(!status.code, "%s", status.text);
    return c;
}

START_TEST(every_kind_of_argument_comes_back)
{
    struct workspace w = workspace_make();
    struct arena arena = { 0 };
    struct dump *dump;
    struct value size = list_value(&arena, 2, int_value(4), int_value(-1));
    size.kind = VALUE_SIZE;
    struct value device = string_value("cuda:1"), format = string_value("channels_last");
    device.kind = VALUE_DEVICE;
    format.kind = VALUE_MEMORY_FORMAT;
    struct api_case c =
        make_case(&arena, "Torch", "anything",
                  list_value(&arena, 8, none_value(), bool_value(true), int_value(-7),
                             float_value(0.1), string_value("a \"b\"\n"), dtype_value(DT_BF16),
                             slice_value(&arena, 1, 2), size));
    c.kwargs = dict_value(&arena, 5, "device", device, "memory_format", format, "rest",
                          (struct value){ .kind = VALUE_ELLIPSIS }, "big", float_value(INFINITY),
                          "list", list_value(&arena, 2, float_value(2), float_value(NAN)));
    write_call(&w, &c, false);
    struct api_case back = read_call(&dump, &arena, &w);
    ck_assert_str_eq(back.full_name, "Torch.anything.0");
    ck_assert(!back.has_backward);
    const struct value *args = back.args.list.items;
    ck_assert_uint_eq(back.args.list.count, 8);
    ck_assert_int_eq(args[0].kind, VALUE_NONE);
    ck_assert(args[1].kind == VALUE_BOOL && args[1].boolean);
    ck_assert(args[2].kind == VALUE_INT && args[2].integer == -7);
    ck_assert(args[3].kind == VALUE_FLOAT && args[3].real == 0.1);
    ck_assert_str_eq(args[4].string, "a \"b\"\n");
    ck_assert(args[5].kind == VALUE_DTYPE && args[5].dtype == DT_BF16);
    ck_assert(args[6].kind == VALUE_SLICE && args[6].list.items[0].integer == 1 &&
              args[6].list.items[1].kind == VALUE_NONE && args[6].list.items[2].integer == 2);
    ck_assert(args[7].kind == VALUE_SIZE && args[7].list.items[1].integer == -1);
    const struct value *found = value_find(&back.kwargs, "device");
    ck_assert(found && found->kind == VALUE_DEVICE && !strcmp(found->string, "cuda:1"));
    found = value_find(&back.kwargs, "memory_format");
    ck_assert(found && found->kind == VALUE_MEMORY_FORMAT);
    ck_assert_int_eq(value_find(&back.kwargs, "rest")->kind, VALUE_ELLIPSIS);
    ck_assert(isinf(value_find(&back.kwargs, "big")->real));
    found = value_find(&back.kwargs, "list");
    ck_assert(found->list.items[0].kind == VALUE_FLOAT && isnan(found->list.items[1].real));
    dump_close(dump);
    arena_release(&arena);
    workspace_remove(&w);
}
END_TEST

START_TEST(ranges_and_cotangents_come_back)
{
    struct workspace w = workspace_make();
    struct arena arena = { 0 };
    struct dump *dump;
    struct api_case c = make_case(
        &arena, "Torch", "add", list_value(&arena, 1, described(&arena, DT_F16, -0.25, INFINITY)));
    c.has_backward = true;
    c.cotangents = list_value(&arena, 2, described(&arena, DT_F32, -1, 1), none_value());
    write_call(&w, &c, false);
    struct api_case back = read_call(&dump, &arena, &w);
    const struct tensor_record *r = back.args.list.items[0].tensor.record;
    ck_assert(r->dtype == DT_F16 && r->rank == 2 && r->shape[0] == 3 && r->shape[1] == 5);
    ck_assert(r->min.number == -0.25 && isinf(r->max.number) && r->requires_grad);
    ck_assert(!r->data_name);
    ck_assert(back.has_backward);
    ck_assert_uint_eq(back.cotangents.list.count, 2);
    ck_assert_int_eq(back.cotangents.list.items[0].tensor.record->dtype, DT_F32);
    ck_assert_int_eq(back.cotangents.list.items[1].kind, VALUE_NONE);
    dump_close(dump);
    arena_release(&arena);
    workspace_remove(&w);
}
END_TEST

/* bfloat16 has no .npy. A tensor without elements among them is drawn. */
START_TEST(elements_come_back)
{
    static const int64_t shape[2] = { 3, 5 };
    struct workspace w = workspace_make();
    struct arena arena = { 0 };
    struct dump *dump;
    struct tensor loaded;
    struct value stored = ramp_value(&arena, DT_BF16, true, 2, shape);
    struct api_case c = make_case(&arena, "Torch", "add",
                                  list_value(&arena, 2, described(&arena, DT_BF16, 0, 1), stored));
    write_call(&w, &c, true);
    struct api_case back = read_call(&dump, &arena, &w);
    ck_assert_ptr_null(back.args.list.items[0].tensor.record->data_name);
    const struct tensor_record *r = back.args.list.items[1].tensor.record;
    ck_assert_str_eq(r->data_name, "Torch.add.0.forward.input.1.pt");
    struct status status = dump_load_tensor(&loaded, &arena, dump, r);
    ck_assert_msg(!status.code, "%s", status.text);
    ck_assert(loaded.dtype == DT_BF16 && loaded.rank == 2);
    ck_assert_mem_eq(loaded.data, stored.tensor.tensor->data, 3 * 5 * 2);
    dump_close(dump);
    arena_release(&arena);
    workspace_remove(&w);
}
END_TEST

START_TEST(a_dump_is_not_replaced)
{
    struct workspace w = workspace_make();
    struct dump_writer writer;
    write_text(in(&w, "dump.json"), "old");
    struct status status =
        dump_writer_open(&writer, w.path, (struct dump_writer_options){ .with_tensors = false });
    ck_assert_int_eq(status.code, STATUS_BAD_ARGUMENT);
    ck_assert_int_eq(dump_writer_end(&writer, status).code, STATUS_BAD_ARGUMENT);
    char *text = read_file(in(&w, "dump.json"), NULL);
    ck_assert_str_eq(text, "old");
    free(text);
    workspace_remove(&w);
}
END_TEST

/* Results and their statistics, and that the gradients are those of the call. */
START_TEST(a_computed_call_comes_back)
{
    static const double x[4] = { 3, -4, 0, 0 }, y[4] = { NAN, 1, 2, 3 };
    static const int64_t shape[1] = { 4 }, none[1] = { 0 };
    struct workspace w = workspace_make();
    struct arena arena = { 0 };
    struct dump *dump;
    struct tensor loaded;
    struct dump_writer writer;
    struct value computed = tensor_value(&arena, DT_F32, false, 1, shape, x, 4);
    computed.tensor.record = NULL;
    struct value truths = tensor_value(&arena, DT_BOOL, false, 1, shape, x, 4);
    struct api_case c = make_case(&arena, "Torch", "add", list_value(&arena, 1, truths));
    c.outputs =
        list_value(&arena, 2, computed, tensor_value(&arena, DT_F64, false, 1, shape, y, 4));
    c.has_backward = true;
    c.cotangents = list_value(&arena, 1, tensor_value(&arena, DT_F32, false, 1, none, x, 1));
    c.gradients = list_value(&arena, 1, computed);
    for (int i = 0; i < 2; i++) { /* the second replaces the first */
        const struct dump_writer_options options = { .with_tensors = true,
                                                     .gradients_of_arguments = true,
                                                     .replace = i > 0 };
        struct status status = dump_writer_open(&writer, w.path, options);
        if (!status.code) status = dump_writer_add(&writer, &c, &arena);
        status = dump_writer_end(&writer, status);
        ck_assert_msg(!status.code, "%s", status.text);
    }
    struct api_case back = read_call(&dump, &arena, &w);
    ck_assert(back.gradients_of_arguments);
    const struct tensor_record *r = back.outputs.list.items[0].tensor.record;
    ck_assert(r->max.number == 3 && r->min.number == -4);
    ck_assert(r->mean.number == -0.25 && r->norm.number == 5);
    ck_assert_int_eq(dump_load_tensor(&loaded, &arena, dump, r).code, STATUS_OK);
    ck_assert(((const float *)loaded.data)[1] == -4);
    r = back.outputs.list.items[1].tensor.record;
    ck_assert(isnan(r->max.number) && isnan(r->min.number));
    r = back.args.list.items[0].tensor.record;
    ck_assert(r->max.kind == STATISTIC_BOOL && r->max.number == 1 && r->min.number == 0);
    r = back.cotangents.list.items[0].tensor.record;
    ck_assert(r->shape[0] == 0 && r->max.kind == STATISTIC_ABSENT);
    r = back.gradients.list.items[0].tensor.record;
    ck_assert_str_eq(r->data_name, "Torch.add.0.backward.output.0.pt");
    dump_close(dump);
    arena_release(&arena);
    workspace_remove(&w);
}
END_TEST

/* A name that would lead elsewhere names a file in the folder all the same. */
START_TEST(a_hostile_name_stays_in_its_folder)
{
    static const double x[1] = { 1 };
    static const int64_t shape[1] = { 1 };
    struct workspace w = workspace_make();
    struct arena arena = { 0 };
    struct dump *dump;
    struct tensor loaded;
    struct value args = list_value(&arena, 1, tensor_value(&arena, DT_F32, false, 1, shape, x, 1));
    struct api_case c = make_case(&arena, "Torch", "../../../escaped", args);
    write_call(&w, &c, true);
    ck_assert_uint_eq(count_matches(&w, "dump_tensor_data/*.pt"), 1);
    struct api_case back = read_call(&dump, &arena, &w);
    ck_assert_str_eq(back.full_name, c.full_name);
    ck_assert_int_eq(
        dump_load_tensor(&loaded, &arena, dump, back.args.list.items[0].tensor.record).code,
        STATUS_OK);
    dump_close(dump);
    arena_release(&arena);
    workspace_remove(&w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("dump_write");
    TCase *tests = tcase_create("dump_write");
    tcase_add_test(tests, every_kind_of_argument_comes_back);
    tcase_add_test(tests, ranges_and_cotangents_come_back);
    tcase_add_test(tests, elements_come_back);
    tcase_add_test(tests, a_dump_is_not_replaced);
    tcase_add_test(tests, a_computed_call_comes_back);
    tcase_add_test(tests, a_hostile_name_stays_in_its_folder);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
