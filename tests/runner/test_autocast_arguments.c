/* Arguments of products under autocast are cast to its dtype where the recorded dtypes show that it was on, and only there;
 * gradients are judged in the dtype that they were computed in. */
#include "core/memory.h"
#include "runner/autocast_arguments.h"
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

static struct api_case call_of(const char *type, const char *api, enum dtype a, enum dtype b,
                               enum dtype result)
{
    struct api_case c = make_case(&arena, type, api, list_value(&arena, 2, tensor(a), tensor(b)));
    c.outputs = list_value(&arena, 1, tensor(result));
    return c;
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
        struct api_case c =
            call_of(rows[i].type, rows[i].api, rows[i].a, rows[i].b, rows[i].result);
        const struct value *before = c.args.list.items;
        bool casts = rows[i].want_a != rows[i].a || rows[i].want_b != rows[i].b;
        enum dtype to = DT_I64;
        ck_assert_int_eq(autocast_arguments(&to, &c, &arena).code, STATUS_OK);
        if (casts) ck_assert_int_eq(to, rows[i].result);
        const struct value *args = c.args.list.items;
        ck_assert_msg(args[0].tensor.tensor->dtype == rows[i].want_a &&
                          args[1].tensor.tensor->dtype == rows[i].want_b,
                      "row %zu", i);
        ck_assert_int_eq(args[0].tensor.record->dtype, rows[i].want_a);
        ck_assert_str_eq(args[0].tensor.record->dtype_name, dtype_info(rows[i].want_a)->name);
        ck_assert_int_eq(before[0].tensor.tensor->dtype, rows[i].a);
        ck_assert_int_eq(before[0].tensor.record->dtype, rows[i].a);
    }
}
END_TEST

START_TEST(elements_are_rounded)
{
    struct api_case c = call_of("Functional", "linear", DT_F32, DT_F32, DT_BF16);
    enum dtype to;
    c.kwargs = dict_value(&arena, 1, "bias", tensor(DT_F32));
    /* Transposed, as a weight may be. */
    struct tensor *weight = c.args.list.items[1].tensor.tensor;
    weight->stride[0] = 1;
    weight->stride[1] = 2;
    ck_assert_int_eq(autocast_arguments(&to, &c, &arena).code, STATUS_OK);
    double got[4];
    static const double straight[] = { 1.0078125, 1, -3, 0.10009765625 },
                        turned[] = { 1.0078125, -3, 1, 0.10009765625 };
    const struct value *values[] = { &c.args.list.items[0], &c.args.list.items[1],
                                     value_find(&c.kwargs, "bias") };
    for (int v = 0; v < 3; v++) {
        ck_assert_int_eq(values[v]->tensor.tensor->dtype, DT_BF16);
        dtype_to_double(got, values[v]->tensor.tensor->data, DT_BF16, 4);
        for (int i = 0; i < 4; i++) ck_assert_double_eq(got[i], v == 1 ? turned[i] : straight[i]);
    }
}
END_TEST

START_TEST(lists_inside_are_cast)
{
    struct api_case c = call_of("Torch", "chain_matmul", DT_F32, DT_F32, DT_F16);
    enum dtype to;
    c.args = list_value(&arena, 1, list_value(&arena, 2, tensor(DT_F32), tensor(DT_F32)));
    const struct value *before = c.args.list.items[0].list.items;
    ck_assert_int_eq(autocast_arguments(&to, &c, &arena).code, STATUS_OK);
    ck_assert_int_eq(c.args.list.items[0].list.items[1].tensor.tensor->dtype, DT_F16);
    ck_assert_int_eq(before[1].tensor.tensor->dtype, DT_F32);
}
END_TEST

START_TEST(gradients_are_narrowed)
{
    struct value gradients = list_value(&arena, 3, tensor(DT_F32), none_value(), tensor(DT_BF16));
    const struct value *before = gradients.list.items;
    double got[4];
    ck_assert_int_eq(autocast_gradients(&gradients, DT_NONE, &arena).code, STATUS_OK);
    ck_assert_ptr_eq(gradients.list.items, before);
    ck_assert_int_eq(autocast_gradients(&gradients, DT_BF16, &arena).code, STATUS_OK);
    ck_assert_int_eq(gradients.list.items[0].tensor.tensor->dtype, DT_BF16);
    ck_assert_int_eq(gradients.list.items[1].kind, VALUE_NONE);
    dtype_to_double(got, gradients.list.items[0].tensor.tensor->data, DT_BF16, 4);
    ck_assert_double_eq(got[1], 1);
    ck_assert_int_eq(before[0].tensor.tensor->dtype, DT_F32);
}
END_TEST

START_TEST(no_room_is_said)
{
    struct api_case c = call_of("Functional", "linear", DT_F32, DT_F32, DT_BF16);
    struct arena small = { .limit_bytes = 1 };
    enum dtype to;
    ck_assert_int_eq(autocast_arguments(&to, &c, &small).code, STATUS_NO_MEMORY);
    arena_release(&small);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("autocast arguments");
    TCase *tests = tcase_create("autocast");
    tcase_add_checked_fixture(tests, NULL, tear_down);
    tcase_add_test(tests, dtypes_decide);
    tcase_add_test(tests, elements_are_rounded);
    tcase_add_test(tests, lists_inside_are_cast);
    tcase_add_test(tests, gradients_are_narrowed);
    tcase_add_test(tests, no_room_is_said);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
