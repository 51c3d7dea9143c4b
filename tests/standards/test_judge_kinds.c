/* One output judged: every kind of output, shapes that do not agree, and values that are no
 * tensors. */
#include "judged_outputs.h"

/* ---- integers, bools, complex ---------------------------------------------------------------- */

START_TEST(integer_outputs)
{
    static const enum dtype dtypes[] = { DT_I64, DT_I32, DT_I16, DT_I8, DT_U8, DT_BOOL };
    double want[4] = { 1, 0, 1, 1 }, got[4] = { 1, 0, 0, 1 };
    for (size_t d = 0; d < 6; d++) {
        char message[160];
        snprintf(message, sizeof message,
                 "Compare algorithm is not supported for %s data. Only "
                 "judged by Error Rate.\n",
                 dtype_info(dtypes[d])->name + 6);
        struct judged judged = judge_list(doc, "sort", dtypes[d], 4, want, want);
        expect(&judged, VERDICT_PASS, message);
        ck_assert_str_eq(judged.cells[COLUMN_BINARY_MISMATCH], "0.00000000000000");
        ck_assert_str_eq(judged.cells[COLUMN_COSINE], " ");
        judged = judge_list(doc, "sort", dtypes[d], 4, want, got);
        expect(&judged, VERDICT_ERROR, message);
        ck_assert_str_eq(judged.cells[COLUMN_BINARY_MISMATCH], "0.25000000000000");
        ck_assert_str_eq(judged.deciding_metric, "binary_mismatch");
        ck_assert_double_eq(judged.deciding_value, 0.25);
        ck_assert_double_eq(judged.deciding_limit, 0);
        judged = judge_list(strict, "sort", dtypes[d], 4, want, got);
        expect(&judged, VERDICT_ERROR, NULL);
    }
    struct judged judged = judge_list(v3, "sort", DT_I64, 4, want, want);
    expect(&judged, VERDICT_PASS, "Current int64 data, only perform binary comparison.\n");
    judged = judge_list(v2, "sort", DT_I16, 4, want, want);
    expect(&judged, VERDICT_ERROR,
           "Bench out dtype is int16 but npu output dtype is int16, cannot compare.");
    ck_assert_str_eq(judged.deciding_metric, "dtype");
    ck_assert_double_eq(judged.deciding_value, 1);
    ck_assert_double_eq(judged.deciding_limit, 0);
    judged = judge_list(v2, "sort", DT_U8, 4, want, want);
    expect(&judged, VERDICT_PASS, NULL);
}
END_TEST

START_TEST(quantized_integers_by_distance)
{
    double want[3] = { 1, 2, 3 }, near[3] = { 2, 1, 3 }, far[3] = { 1, 2, 5 };
    struct judged judged = judge_list(v3, "npu_dynamic_quant", DT_I8, 3, want, near);
    expect(&judged, VERDICT_ERROR, "cannot compare"); /* the peer compares no int8 */
    judged = judge_list(v3, "npu_dynamic_quant", DT_I32, 3, want, near);
    expect(&judged, VERDICT_PASS, "Max abs error is not greater than 1, consider as pass.\n");
    ck_assert_str_eq(judged.cells[COLUMN_BINARY_MISMATCH], " ");
    ck_assert_str_eq(judged.cells[COLUMN_MAX_ABS_ERROR], "1.00000000000000");
    judged = judge_list(v3, "npu_dynamic_quant", DT_I32, 3, want, far);
    expect(&judged, VERDICT_ERROR, "Max abs error is greater than 1, consider as error.\n");
    double bits[3] = { 1, 0, 1 };
    judged = judge_list(v3, "npu_dynamic_quant", DT_BOOL, 3, bits, bits);
    ck_assert_str_eq(judged.cells[COLUMN_BINARY_MISMATCH], "0.00000000000000");
}
END_TEST

START_TEST(complex_outputs_are_pairs_of_reals)
{
    double pairs[4] = { 1, -2, 3, 4 }, wrong[4] = { 1, -2, 3, -4 };
    int64_t shape[1] = { 2 };
    struct judge_request request = request_for(doc, "fft", DT_C128, DT_C64);
    struct reference *want = reference_of(&arena, DT_C64, 1, shape, pairs, 4);
    struct judged judged = judge_with(&request, want, tensor_of(&arena, DT_C64, 1, shape, pairs));
    expect(&judged, VERDICT_PASS, NULL);
    ck_assert_uint_eq(judged.metrics.n, 4);
    ck_assert_str_eq(judged.cells[COLUMN_SHAPE], "(2,)");
    ck_assert_str_eq(judged.cells[COLUMN_DEVICE_DTYPE], "torch.complex64");
    ck_assert_str_eq(judged.standard, "benchmark");
    judged = judge_with(&request, want, tensor_of(&arena, DT_C64, 1, shape, wrong));
    expect(&judged, VERDICT_ERROR, NULL);
    request.profile = strict;
    judged = judge_with(&request, want, tensor_of(&arena, DT_C64, 1, shape, wrong));
    expect(&judged, VERDICT_ERROR, "1 of 4 elements are further off");
    request.profile = v2;
    judged = judge_with(&request, want, tensor_of(&arena, DT_C64, 1, shape, pairs));
    expect(&judged, VERDICT_ERROR,
           "Bench out dtype is complex128 but npu output dtype is complex64, cannot compare.");
}
END_TEST

/* ---- shapes, kinds, empties ------------------------------------------------------------------ */

START_TEST(shapes_and_kinds_must_agree)
{
    double values[6] = { 1, 2, 3, 4, 5, 6 };
    int64_t two_three[2] = { 2, 3 }, three_two[2] = { 3, 2 }, six[1] = { 6 };
    struct judge_request request = request_for(doc, "softmax", DT_F64, DT_F32);
    struct reference *want = reference_of(&arena, DT_F32, 2, two_three, values, 6);
    struct judged judged =
        judge_with(&request, want, tensor_of(&arena, DT_F32, 2, three_two, values));
    expect(&judged, VERDICT_ERROR, "The shape of bench(2, 3) and npu(3, 2) not equal.");
    ck_assert_str_eq(judged.deciding_metric, "shape");
    ck_assert_double_eq(judged.deciding_value, 1);
    ck_assert_double_eq(judged.deciding_limit, 0);
    judged = judge_with(&request, want, tensor_of(&arena, DT_F32, 1, six, values));
    expect(&judged, VERDICT_ERROR, "The shape of bench(2, 3) and npu(6,) not equal.");
    judged = judge_with(&request, want, tensor_of(&arena, DT_I32, 2, two_three, values));
    expect(&judged, VERDICT_ERROR,
           "Bench out dtype is float64 but npu output dtype is int32, cannot compare.");
    judged = judge_with(&request, want, tensor_of(&arena, DT_F16, 2, two_three, values));
    expect(&judged, VERDICT_PASS, NULL);
    request.bench_dtype = DT_I32;
    want = reference_of(&arena, DT_I32, 2, two_three, values, 6);
    judged = judge_with(&request, want, tensor_of(&arena, DT_I64, 2, two_three, values));
    expect(&judged, VERDICT_PASS, NULL);
    judged = judge_with(&request, want, tensor_of(&arena, DT_U8, 2, two_three, values));
    expect(&judged, VERDICT_ERROR, "cannot compare");
}
END_TEST

/* A transposed view is compared by its elements, not its memory. */
START_TEST(strided_outputs)
{
    double values[4] = { 1, 2, 3, 4 }, transposed[4] = { 1, 3, 2, 4 };
    int64_t shape[2] = { 2, 2 };
    struct tensor *tensor = tensor_of(&arena, DT_F32, 2, shape, values);
    tensor->stride[0] = 1;
    tensor->stride[1] = 2;
    struct judge_request request = request_for(doc, "relu", DT_F64, DT_F32);
    struct judged judged =
        judge_with(&request, reference_of(&arena, DT_F32, 2, shape, transposed, 4), tensor);
    ck_assert_str_eq(judged.cells[COLUMN_BINARY_MISMATCH], "0.00000000000000");
}
END_TEST

START_TEST(empty_outputs)
{
    static const enum dtype dtypes[] = { DT_F32, DT_I64 };
    double nothing[1] = { 0 };
    for (size_t d = 0; d < 2; d++) {
        struct judged judged = judge_list(doc, "softmax", dtypes[d], 0, nothing, nothing);
        expect(&judged, VERDICT_PASS, "Both outputs are empty, consider as pass.");
        ck_assert_str_eq(judged.cells[COLUMN_SHAPE], "(0,)");
        judged = judge_list(strict, "softmax", dtypes[d], 0, nothing, nothing);
        expect(&judged, VERDICT_PASS, NULL);
        judged = judge_list(v2, "softmax", dtypes[d], 0, nothing, nothing);
        expect(&judged, VERDICT_ERROR, "There is not bench calculation result.");
        judged = judge_list(v3, "softmax", dtypes[d], 0, nothing, nothing);
        expect(&judged, VERDICT_SKIP, "There is not bench calculation result.");
    }
}
END_TEST

/* ---- values that are no tensors ---------------------------------------------------------------- */

static struct judged judge_value_pair(const struct value *want, const struct value *got)
{
    struct judge_request request = request_for(doc, "allclose", DT_NONE, DT_F32);
    struct wanted wanted = { .value = want };
    struct judged judged;
    ck_assert_int_eq(judge_output(&judged, &arena, &request, &wanted, got).code, STATUS_OK);
    return judged;
}

START_TEST(plain_values)
{
    struct value items[2] = { { .kind = VALUE_INT, .integer = 1 },
                              { .kind = VALUE_INT, .integer = 2 } };
    struct value others[2] = { { .kind = VALUE_INT, .integer = 1 },
                               { .kind = VALUE_INT, .integer = 3 } };
    const struct {
        struct value a, b; /* equal to itself, different from each other */
        const char *name;
        /* clang-format off */
    } pairs[] = {
        { { .kind = VALUE_BOOL, .boolean = true }, { .kind = VALUE_BOOL }, "<class 'bool'>" },
        { { .kind = VALUE_INT, .integer = 5 }, { .kind = VALUE_INT, .integer = 6 }, "<class 'int'>" },
        { { .kind = VALUE_FLOAT, .real = 5 }, { .kind = VALUE_FLOAT, .real = NAN }, "<class 'float'>" },
        { { .kind = VALUE_STRING, .string = "a" }, { .kind = VALUE_STRING, .string = "b" },
          "<class 'str'>" },
        { { .kind = VALUE_DTYPE, .dtype = DT_F32 }, { .kind = VALUE_DTYPE, .dtype = DT_F16 },
          "<class 'torch.dtype'>" },
        { { .kind = VALUE_DEVICE, .string = "cpu" }, { .kind = VALUE_DEVICE, .string = "npu:0" },
          "<class 'torch.device'>" },
        { { .kind = VALUE_SIZE, .list = { items, NULL, 2 } },
          { .kind = VALUE_SIZE, .list = { others, NULL, 2 } }, "<class 'torch.Size'>" },
        { { .kind = VALUE_LIST, .list = { items, NULL, 2 } },
          { .kind = VALUE_LIST, .list = { others, NULL, 2 } }, "<class 'list'>" },
    };
    /* clang-format on */
    for (size_t k = 0; k < sizeof pairs / sizeof pairs[0]; k++) {
        struct judged judged = judge_value_pair(&pairs[k].a, &pairs[k].a);
        expect(&judged, VERDICT_PASS, NULL);
        ck_assert_str_eq(judged.cells[COLUMN_BENCH_DTYPE], pairs[k].name);
        ck_assert_str_eq(judged.cells[COLUMN_DEVICE_DTYPE], pairs[k].name);
        ck_assert_str_eq(judged.cells[COLUMN_BINARY_MISMATCH], "0");
        ck_assert_str_eq(judged.cells[COLUMN_SHAPE], " ");
        ck_assert_str_eq(judged.cells[COLUMN_MESSAGE], "");
        judged = judge_value_pair(&pairs[k].a, &pairs[k].b);
        expect(&judged, VERDICT_ERROR, NULL);
        ck_assert_str_eq(judged.deciding_metric, "equal");
        ck_assert_double_eq(judged.deciding_value, 1);
        ck_assert_double_eq(judged.deciding_limit, 0);
        ck_assert_str_eq(judged.cells[COLUMN_BINARY_MISMATCH], " ");
        size_t other = (k + 1) % (sizeof pairs / sizeof pairs[0]);
        judged = judge_value_pair(&pairs[k].a, &pairs[other].a);
        expect(&judged, VERDICT_ERROR, "bench and npu output type is different.");
        ck_assert_str_eq(judged.deciding_metric, "type");
        ck_assert_double_eq(judged.deciding_value, 1);
        ck_assert_double_eq(judged.deciding_limit, 0);
    }
    struct value nan = { .kind = VALUE_FLOAT, .real = NAN };
    struct judged judged = judge_value_pair(&nan, &nan);
    expect(&judged, VERDICT_PASS, NULL);
    nan.real = 1;
    struct value other = { .kind = VALUE_FLOAT, .real = NAN };
    judged = judge_value_pair(&other, &nan);
    expect(&judged, VERDICT_ERROR, NULL);
    struct value ellipsis = { .kind = VALUE_ELLIPSIS };
    judged = judge_value_pair(&ellipsis, &ellipsis);
    expect(&judged, VERDICT_PASS, NULL);
}
END_TEST

START_TEST(structures)
{
    struct value items[3] = { { .kind = VALUE_INT, .integer = 1 },
                              { .kind = VALUE_NONE },
                              { .kind = VALUE_LIST } };
    const char *keys[2] = { "a", "b" }, *other_keys[2] = { "a", "c" };
    struct value longer = { .kind = VALUE_LIST, .list = { items, NULL, 3 } };
    struct value shorter = { .kind = VALUE_LIST, .list = { items, NULL, 2 } };
    struct value dict = { .kind = VALUE_DICT, .list = { items, keys, 2 } };
    struct value renamed = { .kind = VALUE_DICT, .list = { items, other_keys, 2 } };
    struct value fewer = { .kind = VALUE_DICT, .list = { items, keys, 1 } };
    struct judged judged;
    judged = judge_value_pair(&longer, &shorter);
    expect(&judged, VERDICT_ERROR, "bench and npu output structure is different.");
    ck_assert_str_eq(judged.deciding_metric, "structure");
    ck_assert_double_eq(judged.deciding_value, 1);
    ck_assert_double_eq(judged.deciding_limit, 0);
    judged = judge_value_pair(&longer, &longer);
    expect(&judged, VERDICT_PASS, NULL);
    judged = judge_value_pair(&dict, &renamed);
    expect(&judged, VERDICT_ERROR, "bench and npu output dict keys are different.");
    judged = judge_value_pair(&dict, &fewer);
    expect(&judged, VERDICT_ERROR, "bench and npu output dict keys are different.");
    ck_assert_double_eq(judged.deciding_value, 1);
    ck_assert_double_eq(judged.deciding_limit, 0);
    judged = judge_value_pair(&dict, &dict);
    expect(&judged, VERDICT_PASS, NULL);
    /* A difference deeper down. */
    struct value inner_a = { .kind = VALUE_INT, .integer = 1 };
    struct value inner_b = { .kind = VALUE_FLOAT, .real = 1 };
    struct value list_a = { .kind = VALUE_LIST, .list = { &inner_a, NULL, 1 } };
    struct value list_b = { .kind = VALUE_LIST, .list = { &inner_b, NULL, 1 } };
    struct value list_c = { .kind = VALUE_LIST };
    struct value outer_a = { .kind = VALUE_LIST, .list = { &list_a, NULL, 1 } };
    struct value outer_b = { .kind = VALUE_LIST, .list = { &list_b, NULL, 1 } };
    struct value outer_c = { .kind = VALUE_LIST, .list = { &list_c, NULL, 1 } };
    struct value tensor = { .kind = VALUE_TENSOR };
    struct value of_tensors = { .kind = VALUE_LIST, .list = { &tensor, NULL, 1 } };
    judged = judge_value_pair(&of_tensors, &of_tensors); /* tensors are flattened before */
    expect(&judged, VERDICT_ERROR, NULL);
    judged = judge_value_pair(&outer_a, &outer_b);
    expect(&judged, VERDICT_ERROR, NULL);
    judged = judge_value_pair(&outer_a, &outer_c);
    expect(&judged, VERDICT_ERROR, NULL);
}
END_TEST

START_TEST(outputs_that_are_none)
{
    struct judge_request request = request_for(doc, "softmax", DT_F64, DT_F32);
    struct value none = { .kind = VALUE_NONE };
    struct wanted nothing = { 0 }, none_value = { .value = &none };
    struct judged judged;
    ck_assert_int_eq(judge_output(&judged, &arena, &request, &nothing, &none).code, STATUS_OK);
    expect(&judged, VERDICT_SKIP, "Bench output is None, skip this test.");
    ck_assert_int_eq(judge_output(&judged, &arena, &request, &none_value, &none).code, STATUS_OK);
    expect(&judged, VERDICT_SKIP, "Bench output is None, skip this test.");
    double values[1] = { 1 };
    int64_t shape[1] = { 1 };
    struct wanted tensor = { .reference = reference_of(&arena, DT_F32, 1, shape, values, 1) };
    ck_assert_int_eq(judge_output(&judged, &arena, &request, &tensor, &none).code, STATUS_OK);
    expect(&judged, VERDICT_ERROR, "bench and npu output type is different.");
    ck_assert_double_eq(judged.deciding_value, 1);
    ck_assert_double_eq(judged.deciding_limit, 0);
}
END_TEST

START_TEST(random_outputs)
{
    struct judge_request request = request_for(doc, "dropout", DT_F64, DT_F32);
    struct wanted want = { .property_test = "kept share within 5 sigma", .property_holds = true };
    double values[2] = { 1, 2 };
    int64_t shape[1] = { 2 };
    struct value got = tensor_value(tensor_of(&arena, DT_F32, 1, shape, values));
    struct value none = { .kind = VALUE_NONE };
    struct judged judged;
    ck_assert_int_eq(judge_output(&judged, &arena, &request, &want, &got).code, STATUS_OK);
    expect(&judged, VERDICT_PASS, "Random output, judged by property: kept share within 5 sigma.");
    ck_assert_uint_eq(judged.limit_count, 1);
    ck_assert_double_eq(judged.limits[0].value, 0);
    ck_assert_double_eq(judged.limits[0].limit, 0);
    ck_assert(judged.limits[0].holds);
    ck_assert_str_eq(judged.cells[COLUMN_SHAPE], "(2,)");
    ck_assert_str_eq(judged.standard, "property");
    want.property_holds = false;
    want.property_reason = "the share is 0.9";
    ck_assert_int_eq(judge_output(&judged, &arena, &request, &want, &none).code, STATUS_OK);
    expect(&judged, VERDICT_ERROR, "kept share within 5 sigma: the share is 0.9.");
    ck_assert_str_eq(judged.cells[COLUMN_SHAPE], " ");
    ck_assert_str_eq(judged.deciding_metric, "kept share within 5 sigma");
    ck_assert_double_eq(judged.deciding_value, 1);
    ck_assert_double_eq(judged.deciding_limit, 0);
    want.property_reason = "";
    ck_assert_int_eq(judge_output(&judged, &arena, &request, &want, &got).code, STATUS_OK);
    expect(&judged, VERDICT_ERROR, "5 sigma.");
}
END_TEST

/* ---- strict, where the bench has no model ------------------------------------------------------ */

START_TEST(strict_without_a_model)
{
    double want[3] = { 1, -2, 0.5 }, near[3] = { 1 + 0x1p-22, -2, 0.5 }, far[3] = { 1.01, -2, 0.5 };
    struct judged judged = judge_list(strict, "softmax", DT_F32, 3, want, near);
    expect(&judged, VERDICT_PASS, "Error model: the worst element is at");
    ck_assert_str_eq(judged.standard, "error model");
    ck_assert_str_ne(judged.cells[COLUMN_COSINE], " ");
    ck_assert_str_ne(judged.cells[COLUMN_TEN_THOUSANDTH], " ");
    judged = judge_list(strict, "softmax", DT_F32, 3, want, far);
    expect(&judged, VERDICT_ERROR,
           "1 of 3 elements are further off than rounding explains; element 0 "
           "should be 1 and is 1.0");
    ck_assert_str_eq(judged.deciding_metric, "model_largest");
    judged = judge_list(strict, "embedding", DT_F32, 3, want, near);
    expect(&judged, VERDICT_ERROR, NULL);
    judged = judge_list(strict, "embedding", DT_F32, 3, want, want);
    expect(&judged, VERDICT_PASS, NULL);
    double nan[3] = { NAN, -2, 0.5 };
    judged = judge_list(strict, "softmax", DT_F32, 3, want, nan);
    expect(&judged, VERDICT_ERROR, "element 0 should be 1 and is nan");
    ck_assert_str_eq(judged.cells[COLUMN_COSINE], "nan");
    judged = judge_list(strict, "softmax", DT_F32, 3, nan, nan);
    expect(&judged, VERDICT_PASS, NULL);
    judged = judge_list(strict, "softmax", DT_F64, 3, want, want);
    expect(&judged, VERDICT_PASS, NULL);
    ck_assert_ptr_null(strstr(judged.cells[COLUMN_MESSAGE], "not supported"));
    struct judge_request request = request_for(strict, "embedding", DT_F64, DT_F32);
    int64_t shape[1] = { 3 };
    request.backward = true; /* sums, so not exact */
    judged = judge_with(&request, reference_of(&arena, DT_F32, 1, shape, want, 3),
                        tensor_of(&arena, DT_F32, 1, shape, near));
    expect(&judged, VERDICT_PASS, NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("judge_kinds");
    TCase *tcase = tcase_create("judge_kinds");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, integer_outputs);
    tcase_add_test(tcase, quantized_integers_by_distance);
    tcase_add_test(tcase, complex_outputs_are_pairs_of_reals);
    tcase_add_test(tcase, shapes_and_kinds_must_agree);
    tcase_add_test(tcase, strided_outputs);
    tcase_add_test(tcase, empty_outputs);
    tcase_add_test(tcase, plain_values);
    tcase_add_test(tcase, structures);
    tcase_add_test(tcase, outputs_that_are_none);
    tcase_add_test(tcase, random_outputs);
    tcase_add_test(tcase, strict_without_a_model);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
