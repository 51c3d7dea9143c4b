/* The nominal precision of the bench: one dtype above the device's, as the convention has it. */
#include "runner/precision.h"
#include "support/cases.h"
#include "support/suite.h"

static const int64_t shape[] = { 2 };

static const struct {
    const char *api;
    enum dtype args[3]; /* DT_NONE: a number */
    enum dtype named;   /* by a keyword "dtype", or by position when `positional` */
    bool positional;
    enum dtype first_float;
    enum dtype device, forward, backward;
} rows[] = {
    { "add", { DT_F32, DT_F32 }, DT_NONE, false, DT_F32, DT_F32, DT_F64, DT_F64 },
    { "add", { DT_F16, DT_F16 }, DT_NONE, false, DT_F16, DT_F16, DT_F32, DT_F32 },
    { "add", { DT_BF16 }, DT_NONE, false, DT_BF16, DT_BF16, DT_F32, DT_F32 },
    { "add", { DT_F32, DT_BF16 }, DT_NONE, false, DT_F32, DT_BF16, DT_F32, DT_F32 }, /* a mixture */
    { "add", { DT_F16, DT_F32 }, DT_NONE, false, DT_F16, DT_F32, DT_F32, DT_F32 },
    { "add", { DT_F64 }, DT_NONE, false, DT_F64, DT_F64, DT_F64, DT_F64 },
    { "add", { DT_F64, DT_F32 }, DT_NONE, false, DT_F64, DT_F64, DT_F64, DT_F64 },
    { "add", { DT_I64, DT_F32 }, DT_NONE, false, DT_F32, DT_F32, DT_F64, DT_F64 },
    { "eq", { DT_F32 }, DT_NONE, false, DT_F32, DT_BOOL, DT_BOOL, DT_BOOL },
    { "add", { DT_I64 }, DT_NONE, false, DT_NONE, DT_I64, DT_I64, DT_I64 },
    { "add", { DT_I64 }, DT_NONE, false, DT_NONE, DT_F32, DT_F32, DT_F32 }, /* nothing is raised */
    { "abs", { DT_C64 }, DT_NONE, false, DT_NONE, DT_F32, DT_F32, DT_F32 },
    { "add", { DT_F8E4M3 }, DT_NONE, false, DT_F8E4M3, DT_F8E4M3, DT_F8E4M3, DT_F8E4M3 },
    /* convolutions in HF32 */
    { "conv2d", { DT_F32, DT_F32 }, DT_NONE, false, DT_F32, DT_F32, DT_F32, DT_F32 },
    { "conv1d", { DT_F16 }, DT_NONE, false, DT_F16, DT_F16, DT_F32, DT_F32 },
    { "conv3d", { DT_F32 }, DT_NONE, false, DT_F32, DT_F32, DT_F64, DT_F64 },
    /* calls that name the dtype of their result */
    { "half", { DT_F32 }, DT_NONE, false, DT_F32, DT_F16, DT_F16, DT_F64 },
    { "type_as", { DT_F32, DT_F16 }, DT_NONE, false, DT_F32, DT_F16, DT_F16, DT_F16 },
    { "sum", { DT_F32 }, DT_F32, false, DT_F32, DT_F32, DT_F32, DT_F64 },
    { "to", { DT_F32 }, DT_BF16, true, DT_F32, DT_BF16, DT_BF16, DT_F64 },
};

START_TEST(dtypes_one_above)
{
    struct arena arena = { 0 };
    struct value args =
        list_value(&arena, 4, none_value(), none_value(), none_value(), none_value());
    static const double elements[] = { 1, 2, 3 }; /* a complex one takes two */
    for (int k = 0; k < 3; k++)
        args.list.items[k] =
            rows[_i].args[k] ? tensor_value(&arena, rows[_i].args[k], false, 1, shape, elements, 2)
                             : float_value(1.5);
    struct api_case c = make_case(&arena, "Torch", rows[_i].api, args);
    if (rows[_i].positional) args.list.items[3] = dtype_value(rows[_i].named);
    else if (rows[_i].named) c.kwargs = dict_value(&arena, 1, "dtype", dtype_value(rows[_i].named));
    struct bench_precision precision = precision_of_case(&c);
    ck_assert_int_eq(precision.first_float, rows[_i].first_float);
    ck_assert_int_eq(precision_forward(&precision, rows[_i].device), rows[_i].forward);
    ck_assert_int_eq(precision_backward(&precision, rows[_i].device), rows[_i].backward);
    arena_release(&arena);
}
END_TEST

/* A tensor that was computed here has no record, and does not count. */
START_TEST(unrecorded_tensors_do_not_count)
{
    struct arena arena = { 0 };
    const struct value computed = { .kind = VALUE_TENSOR };
    struct api_case c = make_case(&arena, "Torch", "add", list_value(&arena, 1, computed));
    struct bench_precision precision = precision_of_case(&c);
    ck_assert_int_eq(precision.first_float, DT_NONE);
    ck_assert_int_eq(precision_forward(&precision, DT_F32), DT_F32);
    arena_release(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("precision");
    TCase *tests = tcase_create("precision");
    tcase_add_loop_test(tests, dtypes_one_above, 0, sizeof rows / sizeof *rows);
    tcase_add_test(tests, unrecorded_tensors_do_not_count);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
