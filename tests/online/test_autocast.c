/* Arguments of products under autocast are cast to its dtype where the record shows that it was on, and only there. */
#include "core/memory.h"
#include "online/autocast.h"
#include "support/cases.h"
#include "support/suite.h"

static struct arena arena;

static void tear_down(void) { arena_release(&arena); }

static struct value tensor(enum dtype dtype)
{
    static const double elements[] = { 1.0078125, 1.001, -3, 0.1 };
    const int64_t shape[] = { 2, 2 };
    return tensor_value(&arena, dtype, false, 2, shape, elements, 4);
}

static struct record record_of(const char *type, const char *api, enum dtype a, enum dtype b,
                               enum dtype result)
{
    struct record record = { .call = make_case(&arena, type, api,
                                               list_value(&arena, 2, tensor(a), tensor(b))) };
    record.call.outputs = list_value(&arena, 1, tensor(result));
    return record;
}

START_TEST(dtypes_decide)
{
    static const struct {
        const char *type, *api;
        enum dtype a, b, result, want_a, want_b;
    } rows[] = {
        { "Functional", "linear", DT_F32, DT_F32, DT_BF16, DT_BF16, DT_BF16 },
        { "Functional", "linear", DT_BF16, DT_F32, DT_BF16, DT_BF16, DT_BF16 },
        { "Torch", "matmul", DT_F32, DT_F32, DT_F16, DT_F16, DT_F16 },
        { "Tensor", "__matmul__", DT_F16, DT_F32, DT_F16, DT_F16, DT_F16 },
        { "Functional", "conv2d", DT_F32, DT_I64, DT_F16, DT_F16, DT_I64 },
        { "Functional", "linear", DT_F32, DT_F32, DT_F32, DT_F32, DT_F32 }, /* it is off */
        { "Functional", "linear", DT_BF16, DT_BF16, DT_BF16, DT_BF16,
          DT_BF16 }, /* nothing to cast */
        { "Functional", "linear", DT_F64, DT_F64, DT_BF16, DT_F64,
          DT_F64 }, /* not cast by autocast */
        { "Torch", "matmul", DT_BF16, DT_F32, DT_F32, DT_BF16,
          DT_F32 },                                                  /* the result shows nothing */
        { "Torch", "add", DT_F32, DT_F32, DT_BF16, DT_F32, DT_F32 }, /* computes as it is */
        { "Aten", "mm", DT_F32, DT_F32, DT_BF16, DT_F32, DT_F32 },   /* below autocast */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct record record =
            record_of(rows[i].type, rows[i].api, rows[i].a, rows[i].b, rows[i].result);
        const struct tensor before = *record.call.args.list.items[0].tensor.tensor;
        record_cast_arguments(&record, &arena);
        ck_assert_int_eq(record.unusable.code, STATUS_OK);
        const struct value *args = record.call.args.list.items;
        ck_assert_msg(args[0].tensor.tensor->dtype == rows[i].want_a &&
                          args[1].tensor.tensor->dtype == rows[i].want_b,
                      "row %zu", i);
        ck_assert_int_eq(args[0].tensor.record->dtype, rows[i].want_a);
        ck_assert_str_eq(args[0].tensor.record->dtype_name, dtype_info(rows[i].want_a)->name);
        ck_assert_int_eq(before.dtype, rows[i].a);
    }
}
END_TEST

START_TEST(elements_are_rounded)
{
    struct record record = record_of("Functional", "linear", DT_F32, DT_F32, DT_BF16);
    record.call.kwargs = dict_value(&arena, 1, "bias", tensor(DT_F32));
    /* Transposed, as a weight may be. */
    struct tensor *weight = record.call.args.list.items[1].tensor.tensor;
    weight->stride[0] = 1;
    weight->stride[1] = 2;
    record_cast_arguments(&record, &arena);
    double got[4];
    static const double straight[] = { 1.0078125, 1, -3, 0.10009765625 },
                        turned[] = { 1.0078125, -3, 1, 0.10009765625 };
    const struct value *values[] = { &record.call.args.list.items[0],
                                     &record.call.args.list.items[1],
                                     value_find(&record.call.kwargs, "bias") };
    for (int v = 0; v < 3; v++) {
        ck_assert_int_eq(values[v]->tensor.tensor->dtype, DT_BF16);
        dtype_to_double(got, values[v]->tensor.tensor->data, DT_BF16, 4);
        for (int i = 0; i < 4; i++) ck_assert_double_eq(got[i], v == 1 ? turned[i] : straight[i]);
    }
}
END_TEST

/* Without room the call is not judged, rather than wrongly. */
START_TEST(no_room_is_said)
{
    struct record record = record_of("Functional", "linear", DT_F32, DT_F32, DT_BF16);
    struct arena small = { .limit_bytes = 1 };
    record_cast_arguments(&record, &small);
    ck_assert_int_eq(record.unusable.code, STATUS_SKIP);
    ck_assert_ptr_nonnull(strstr(record.unusable.text, "autocast"));
    arena_release(&small);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("autocast");
    TCase *tests = tcase_create("autocast");
    tcase_add_checked_fixture(tests, NULL, tear_down);
    tcase_add_test(tests, dtypes_decide);
    tcase_add_test(tests, elements_are_rounded);
    tcase_add_test(tests, no_room_is_said);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
