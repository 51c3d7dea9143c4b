/* One output judged: every kind of output, every message, each limit just within and just past. */
#include "core/memory.h"
#include "standards/metric_data.h"
#include "support/suite.h"

static struct arena arena;
static struct profile *doc, *v2, *v3, *strict;

static struct api_case plain = { .full_name = "Torch.softmax.3",
                                 .type = "Torch",
                                 .api = "softmax" };

static struct judge_request request_for(const struct profile *profile, const char *api,
                                        enum dtype bench, enum dtype input)
{
    static struct api_case c;
    c = plain;
    c.api = api;
    return (struct judge_request){
        .profile = profile, .c = &c, .bench_dtype = bench, .input_dtype = input, .precision = 14
    };
}

static struct value tensor_value(struct tensor *tensor)
{
    struct value value = { .kind = VALUE_TENSOR };
    value.tensor.tensor = tensor;
    return value;
}

static struct judged judge_with(const struct judge_request *request, struct reference *reference,
                                struct tensor *tensor)
{
    struct wanted want = { .reference = reference };
    struct value got = tensor_value(tensor);
    struct judged judged;
    ck_assert_int_eq(judge_output(&judged, &arena, request, &want, &got).code, STATUS_OK);
    for (int column = 0; column < COLUMN_COUNT; column++)
        ck_assert_ptr_nonnull(judged.cells[column]);
    ck_assert_str_eq(judged.cells[COLUMN_STATUS], verdict_name(judged.verdict));
    return judged;
}

/* n values of float32 (bench float64) under an API and profile. */
static struct judged judge_list(const struct profile *profile, const char *api, enum dtype device,
                                size_t n, const double *want, const double *got)
{
    int64_t shape[1] = { (int64_t)n };
    enum dtype bench = device == DT_F32 ? DT_F64 : dtype_is_float(device) ? DT_F32 : device;
    struct judge_request request = request_for(profile, api, bench, device);
    return judge_with(&request, reference_of(&arena, device, 1, shape, want, n),
                      tensor_of(&arena, device, 1, shape, got));
}

static void expect(const struct judged *judged, enum verdict verdict, const char *message)
{
    ck_assert_str_eq(verdict_name(judged->verdict), verdict_name(verdict));
    if (message)
        ck_assert_msg(strstr(judged->cells[COLUMN_MESSAGE], message), "%s",
                      judged->cells[COLUMN_MESSAGE]);
}

/* ---- names and combination ---------------------------------------------------------------- */

START_TEST(headers_are_the_peers)
{
    ck_assert_str_eq(details_headers[COLUMN_NAME], "API Name");
    ck_assert_str_eq(details_headers[COLUMN_DEVICE_DTYPE], "DEVICE Dtype");
    ck_assert_str_eq(details_headers[COLUMN_INF_NAN_RATIO], "inf/nan错误率");
    ck_assert_str_eq(details_headers[COLUMN_ULP_PROPORTION], "ULP误差大于阈值占比");
    ck_assert_str_eq(details_headers[COLUMN_MESSAGE], "Message");
    for (int column = 0; column < COLUMN_COUNT; column++)
        ck_assert_ptr_nonnull(details_headers[column]);
}
END_TEST

START_TEST(verdicts_of_an_api)
{
    const enum verdict worst[] = { VERDICT_PASS, VERDICT_WARNING, VERDICT_ERROR, VERDICT_WARNING };
    const enum verdict warned[] = { VERDICT_WARNING, VERDICT_SKIP, VERDICT_PASS };
    const enum verdict passed[] = { VERDICT_SKIP, VERDICT_PASS, VERDICT_BLANK };
    const enum verdict skipped[] = { VERDICT_SKIP, VERDICT_SKIP };
    ck_assert_int_eq(verdict_combine(worst, 4), VERDICT_ERROR);
    ck_assert_int_eq(verdict_combine(warned, 3), VERDICT_WARNING);
    ck_assert_int_eq(verdict_combine(passed, 3), VERDICT_PASS);
    ck_assert_int_eq(verdict_combine(skipped, 2), VERDICT_SKIP);
    ck_assert_int_eq(verdict_combine(skipped, 0), VERDICT_BLANK);
    ck_assert_str_eq(verdict_name(VERDICT_BLANK), " ");
    ck_assert_str_eq(verdict_name(VERDICT_SKIP), "SKIP");
    ck_assert_str_eq(verdict_name(VERDICT_WARNING), "warning");
}
END_TEST

START_TEST(row_names)
{
    struct judge_request request = request_for(doc, "softmax", DT_F64, DT_F32);
    struct judged judged;
    request.backward = true;
    request.index = 12;
    ck_assert_int_eq(
        judge_without_comparison(&judged, &arena, &request, VERDICT_SKIP, "No \"way\",\nat all")
            .code,
        STATUS_OK);
    ck_assert_str_eq(judged.cells[COLUMN_NAME], "Torch.softmax.3.backward.output.12");
    ck_assert_str_eq(judged.cells[COLUMN_STATUS], "SKIP");
    ck_assert_str_eq(judged.cells[COLUMN_MESSAGE], "No \"way\",\nat all");
    for (int column = COLUMN_BENCH_DTYPE; column < COLUMN_STATUS; column++)
        ck_assert_str_eq(judged.cells[column], " ");
    ck_assert(!judged.has_metrics);
    ck_assert_str_eq(judged.deciding_metric, "");
}
END_TEST

/* ---- the chain: each limit just within and just past ---------------------------------------- */

enum { MANY = 2000 };

/* 2000 ones, the first `off` of which are wrong by `error`. */
static struct judged judge_ones(const struct profile *profile, enum dtype device, size_t off,
                                double error)
{
    static double want[MANY], got[MANY];
    for (size_t i = 0; i < MANY; i++) {
        want[i] = i % 2 ? 1 : -1;
        got[i] = want[i] * (1 + (i < off ? error : 0));
    }
    return judge_list(profile, "softmax", device, MANY, want, got);
}

/* Two vectors at a given cosine. */
static struct judged judge_angle(double cosine, enum dtype device)
{
    double want[2] = { 1, 0 }, got[2] = { cosine, sqrt(1 - cosine * cosine) };
    return judge_list(doc, "softmax", device, 2, want, got);
}

START_TEST(cosine_limit)
{
    struct judged judged = judge_angle(0.9899, DT_F32);
    expect(&judged, VERDICT_ERROR,
           "\nCosine similarity is less than 0.99, consider as error, "
           "skip other check and set to SPACE.\n");
    ck_assert_str_eq(judged.deciding_metric, "cosine");
    ck_assert_double_eq(judged.deciding_limit, 0.99);
    ck_assert_str_eq(judged.cells[COLUMN_MAX_ABS_ERROR], " ");
    judged = judge_angle(0.9901, DT_F32);
    ck_assert_str_ne(judged.cells[COLUMN_MAX_ABS_ERROR], " ");
    expect(&judged, VERDICT_ERROR, "Relative error is greater than 0.001, consider as error");
}
END_TEST

START_TEST(max_abs_error_limit)
{
    struct judged judged = judge_ones(doc, DT_F32, MANY, 0.000999);
    expect(&judged, VERDICT_PASS,
           "Max abs error is less than 0.001, consider as pass, skip other "
           "check and set to SPACE.\n");
    ck_assert_str_eq(judged.cells[COLUMN_THOUSANDTH], " ");
    ck_assert_str_eq(judged.deciding_metric, "");
    judged = judge_ones(doc, DT_F32, MANY, 0.001001);
    ck_assert_str_ne(judged.cells[COLUMN_THOUSANDTH], " ");
}
END_TEST

/* Half precision: hundredth decides error, thousandth pass. A share must exceed 1 - limit. */
START_TEST(half_precision_limits)
{
    struct judged judged = judge_ones(doc, DT_F16, 19, 0.02); /* 99.05 % within 1 % */
    expect(&judged, VERDICT_WARNING,
           "Relative error is greater than 0.001, consider as warning, "
           "skip other check and set to SPACE.\n");
    ck_assert_str_eq(judged.cells[COLUMN_HUNDREDTH], "0.99050000000000");
    ck_assert_str_eq(judged.cells[COLUMN_TEN_THOUSANDTH], " ");
    ck_assert_str_eq(judged.deciding_metric, "thousandth");
    judged = judge_ones(doc, DT_F16, 20, 0.02); /* 99 % exactly */
    expect(&judged, VERDICT_ERROR, "Relative error is greater than 0.01, consider as error");
    ck_assert_str_eq(judged.cells[COLUMN_THOUSANDTH], " ");
    judged = judge_ones(doc, DT_BF16, 1, 0.02); /* 99.95 % */
    expect(&judged, VERDICT_PASS,
           "Relative error is less than 0.001, consider as pass, skip "
           "other check and set to SPACE.\n");
    judged = judge_ones(doc, DT_BF16, 2, 0.02); /* 99.9 % exactly */
    expect(&judged, VERDICT_WARNING, NULL);
}
END_TEST

START_TEST(full_precision_limits)
{
    struct judged judged = judge_ones(doc, DT_F32, 1, 0.002);
    expect(&judged, VERDICT_WARNING,
           "Relative error is greater than 0.0001, consider as warning, "
           "skip other check and set to SPACE.\n");
    ck_assert_str_eq(judged.cells[COLUMN_HUNDREDTH], " ");
    judged = judge_ones(doc, DT_F32, 2, 0.002); /* 99.9 % within 0.1 % */
    expect(&judged, VERDICT_ERROR, "Relative error is greater than 0.001, consider as error");
    ck_assert_str_eq(judged.deciding_metric, "thousandth");
    /* Large numbers, so that the absolute error is no pass: all within 1e-4. */
    double want[4] = { 100, 200, 300, -400 }, got[4] = { 100.005, 200, 300, -400 };
    judged = judge_list(doc, "softmax", DT_F32, 4, want, got);
    expect(&judged, VERDICT_PASS, "Relative error is less than 0.0001, consider as pass.\n");
    ck_assert_str_eq(judged.cells[COLUMN_TEN_THOUSANDTH], "1.00000000000000");
}
END_TEST

START_TEST(float8_limits)
{
    struct judged judged = judge_ones(doc, DT_F8E4M3, 2, 0.25); /* two units; 0.1 % of all */
    expect(&judged, VERDICT_PASS, "ULP proportion is within 0.001, consider as pass.\n");
    judged = judge_ones(doc, DT_F8E4M3, 3, 0.25);
    expect(&judged, VERDICT_ERROR, "ULP proportion is greater than 0.001, consider as error.\n");
    ck_assert_str_eq(judged.deciding_metric, "ulp_proportion");
    judged = judge_ones(doc, DT_F8E5M2, MANY, 0.25); /* one unit each */
    expect(&judged, VERDICT_PASS, NULL);
}
END_TEST

START_TEST(cosine_messages)
{
    double one[2] = { 1, 2 }, zero[2] = { 0, 0 }, nan[2] = { NAN, 1 }, inf[2] = { INFINITY, NAN };
    struct judged judged = judge_list(doc, "softmax", DT_F32, 1, one, one);
    expect(&judged, VERDICT_PASS,
           "All the data in device dump data is scalar. Please refer to "
           "other compare algorithms.\nMax abs");
    ck_assert_str_eq(judged.cells[COLUMN_COSINE], " ");
    judged = judge_list(doc, "softmax", DT_F32, 2, zero, zero);
    expect(&judged, VERDICT_PASS, "All the data in device and bench outputs are zero.\nMax abs");
    judged = judge_list(doc, "softmax", DT_F32, 2, one, zero);
    expect(&judged, VERDICT_ERROR, "All the data is zero in device dump data.\nCosine");
    judged = judge_list(doc, "softmax", DT_F32, 2, zero, one);
    expect(&judged, VERDICT_ERROR, "All the data is zero in bench dump data.\nCosine");
    judged = judge_list(doc, "softmax", DT_F32, 2, one, nan);
    expect(&judged, VERDICT_ERROR,
           "Dump data has NaN when comparing with Cosine Similarity.\nCosine");
    ck_assert_str_eq(judged.cells[COLUMN_COSINE], "nan");
    judged = judge_list(doc, "softmax", DT_F32, 2, inf, inf);
    expect(&judged, VERDICT_PASS, "are equal infinities or NaN.\n");
    judged = judge_list(doc, "softmax", DT_F32, 2, nan, nan);
    expect(&judged, VERDICT_PASS, NULL);
    judged = judge_list(v2, "softmax", DT_F32, 2, nan, nan);
    expect(&judged, VERDICT_ERROR, "Dump data has NaN");
    judged = judge_list(v3, "softmax", DT_F32, 2, nan, nan);
    ck_assert_str_eq(judged.cells[COLUMN_COSINE], "nan");
    ck_assert_str_eq(judged.cells[COLUMN_MAX_ABS_ERROR], "nan");
    expect(&judged, VERDICT_ERROR, "Relative error is greater than 0.001");
}
END_TEST

/* ---- the columns of the standards ----------------------------------------------------------- */

static bool printed(const struct judged *judged, enum details_column column)
{
    return strcmp(judged->cells[column], " ") != 0;
}

static unsigned columns_of(const struct judged *judged)
{
    unsigned set = 0;
    for (int column = COLUMN_BINARY_MISMATCH; column <= COLUMN_ULP_PROPORTION; column++)
        set |= (unsigned)printed(judged, (enum details_column)column) << column;
    return set;
}

#define BIT(column) (1u << (column))
static const unsigned absolute_columns =
    BIT(COLUMN_INF_NAN_RATIO) | BIT(COLUMN_RELATIVE_ERROR_RATIO) | BIT(COLUMN_ABSOLUTE_ERROR_RATIO);
static const unsigned benchmark_columns = BIT(COLUMN_SMALL_VALUE_RATIO) | BIT(COLUMN_RMSE) |
                                          BIT(COLUMN_MAX_RELATIVE_ERROR) |
                                          BIT(COLUMN_MEAN_RELATIVE_ERROR) |
                                          BIT(COLUMN_ERROR_BALANCE);
static const unsigned ulp_columns = BIT(COLUMN_MAX_ULP) | BIT(COLUMN_MEAN_ULP) |
                                    BIT(COLUMN_ULP_PROPORTION);

START_TEST(columns_by_standard)
{
    double want[3] = { 1, 2, 3 };
    struct judged judged = judge_list(doc, "softmax", DT_F32, 3, want, want);
    ck_assert_uint_eq(columns_of(&judged), benchmark_columns);
    ck_assert_str_eq(judged.standard, "benchmark");
    ck_assert_str_eq(judged.cells[COLUMN_SMALL_VALUE_RATIO], "0");
    ck_assert_str_eq(judged.cells[COLUMN_MAX_RELATIVE_ERROR], "0.00000000000000");
    judged = judge_list(doc, "mul", DT_F32, 3, want, want);
    ck_assert_uint_eq(columns_of(&judged), absolute_columns);
    ck_assert_str_eq(judged.cells[COLUMN_INF_NAN_RATIO], "0");
    ck_assert_str_eq(judged.cells[COLUMN_RELATIVE_ERROR_RATIO], "0.00000000000000");
    judged = judge_list(doc, "relu", DT_F32, 3, want, want);
    ck_assert_uint_eq(columns_of(&judged), BIT(COLUMN_BINARY_MISMATCH));
    judged = judge_list(doc, "matmul", DT_F16, 3, want, want);
    ck_assert_uint_eq(columns_of(&judged), ulp_columns);
    ck_assert_str_eq(judged.cells[COLUMN_MAX_ULP], "0.0");
    judged = judge_list(doc, "matmul", DT_F32, 3, want, want);
    ck_assert_str_eq(judged.cells[COLUMN_MAX_ULP], "0.00000000000000");
    judged = judge_list(doc, "conv2d", DT_F32, 3, want, want);
    ck_assert_uint_eq(columns_of(&judged), benchmark_columns);
    ck_assert_str_eq(judged.cells[COLUMN_THOUSANDTH], "1.00000000000000");
    judged = judge_list(v2, "conv2d", DT_F32, 3, want, want);
    ck_assert_uint_eq(columns_of(&judged), 0);
    ck_assert_str_eq(judged.cells[COLUMN_THOUSANDTH], "1.00000000000000");
    judged = judge_list(v2, "test_api", DT_F32, 3, want, want);
    ck_assert_uint_eq(columns_of(&judged), absolute_columns | BIT(COLUMN_ERROR_BALANCE));
    judged = judge_list(v3, "relu", DT_F32, 3, want, want);
    ck_assert_uint_eq(columns_of(&judged), benchmark_columns);
    judged = judge_list(doc, "softmax", DT_F64, 3, want, want);
    ck_assert_uint_eq(columns_of(&judged), 0);
    expect(&judged, VERDICT_PASS,
           "The data type torch.float64 is not supported for new precision "
           "standard.\n");
    double small[2] = { 1e-9, -1e-9 };
    judged = judge_list(doc, "softmax", DT_F32, 2, small, small);
    ck_assert_str_eq(judged.cells[COLUMN_MAX_RELATIVE_ERROR], "0");
    ck_assert_str_eq(judged.cells[COLUMN_MEAN_RELATIVE_ERROR], "0");
}
END_TEST

/* Each standard sees its own constants: an error between the two tolerances of v2's float16. */
START_TEST(constants_by_standard)
{
    double want[2] = { 0, 1 }, got[2] = { 0x1p-18, 1 };
    struct judged judged = judge_list(v2, "mul", DT_F16, 2, want, got);
    ck_assert_str_eq(judged.cells[COLUMN_ABSOLUTE_ERROR_RATIO], "0.00000000000000");
    judged = judge_list(v2, "softmax", DT_F16, 2, want, got);
    ck_assert_str_eq(judged.cells[COLUMN_SMALL_VALUE_RATIO], "1.00000000000000");
    double wide[2] = { 1.5, 0.5 }, off[2] = { 1.5 + 0x1p-7, 0.5 + 0x1p-7 };
    judged = judge_list(v2, "test_api", DT_F16, 2, wide, off);
    ck_assert_str_eq(judged.cells[COLUMN_ABSOLUTE_ERROR_RATIO], "1.00000000000000");
    ck_assert_str_eq(judged.cells[COLUMN_RELATIVE_ERROR_RATIO], "1.00000000000000");
}
END_TEST

START_TEST(printed_precision)
{
    double want[2] = { 1, 2 };
    int64_t shape[1] = { 2 };
    struct judge_request request = request_for(doc, "relu", DT_F64, DT_F32);
    request.precision = 3;
    struct judged judged = judge_with(&request, reference_of(&arena, DT_F32, 1, shape, want, 2),
                                      tensor_of(&arena, DT_F32, 1, shape, want));
    ck_assert_str_eq(judged.cells[COLUMN_BINARY_MISMATCH], "0.000");
}
END_TEST

/* The working type of half results sets how they print. */
START_TEST(half_results_print_short)
{
    double want[2] = { 1, 3 }, got[2] = { 1.0009765625, 3 };
    int64_t shape[1] = { 2 };
    struct judge_request request = request_for(doc, "softmax", DT_F16, DT_F16);
    struct judged judged = judge_with(&request, reference_of(&arena, DT_F16, 1, shape, want, 2),
                                      tensor_of(&arena, DT_F16, 1, shape, got));
    ck_assert_str_eq(judged.cells[COLUMN_MAX_ABS_ERROR], "0.000977");
    request.bench_dtype = DT_F32;
    judged = judge_with(&request, reference_of(&arena, DT_F16, 1, shape, want, 2),
                        tensor_of(&arena, DT_F16, 1, shape, got));
    ck_assert_str_eq(judged.cells[COLUMN_MAX_ABS_ERROR], "0.0009765625");
    ck_assert_str_eq(judged.cells[COLUMN_BENCH_DTYPE], "torch.float32");
    ck_assert_str_eq(judged.cells[COLUMN_DEVICE_DTYPE], "torch.float16");
    ck_assert_str_eq(judged.cells[COLUMN_SHAPE], "(2,)");
}
END_TEST

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

/* ---- references with a bound of their own -------------------------------------------------------- */

enum { WIDE = 5000 };
static size_t refined_count, refined_first;
static double true_value;

static struct status refine_all(struct reference *reference, size_t count, const size_t *components,
                                double wanted_ulp)
{
    ck_assert_double_eq(wanted_ulp, 0x1p-10);
    refined_count = count;
    refined_first = components[count - 1];
    for (size_t k = 0; k < count; k++) {
        reference->hi[components[k]] = true_value;
        reference->error[components[k]] = 0;
    }
    return status_ok();
}

static struct status refine_fails(struct reference *reference, size_t count,
                                  const size_t *components, double wanted_ulp)
{
    (void)reference;
    (void)count;
    (void)components;
    (void)wanted_ulp;
    return status_error(STATUS_INTERNAL, "cannot refine");
}

/* n float32 outputs; element k has the given want, got and bound, the others are exact ones. */
static struct status judge_bounded(struct judged *judged, size_t n, size_t k, double want,
                                   double got, double bound, enum reference_state certainty,
                                   void *refine, double *low)
{
    static double wants[WIDE], bounds[WIDE], gots[WIDE];
    int64_t shape[1] = { (int64_t)n };
    for (size_t i = 0; i < n; i++) {
        wants[i] = gots[i] = i == k ? want : 1;
        if (i == k) gots[i] = got;
        bounds[i] = i == k ? bound : 0;
    }
    struct judge_request request = request_for(doc, "softmax", DT_F64, DT_F32);
    struct wanted wanted = { .reference = reference_of(&arena, DT_F32, 1, shape, wants, n) };
    struct value value = tensor_value(tensor_of(&arena, DT_F32, 1, shape, gots));
    wanted.reference->error = bounds;
    wanted.reference->lo = low;
    wanted.reference->state = certainty;
    wanted.reference->refine = refine;
    refined_count = 0;
    return judge_output(judged, &arena, &request, &wanted, &value);
}

/* The largest error is 0.0009 by a reference that may be off by 0.001; the true value is 1.002. */
START_TEST(bounds_that_decide_are_refined)
{
    struct judged judged;
    true_value = 1.002;
    ck_assert_int_eq(
        judge_bounded(&judged, 3, 1, 1, 1.0009, 0.001, REFERENCE_BOUNDED, refine_all, NULL).code,
        STATUS_OK);
    ck_assert_uint_gt(refined_count, 0);
    expect(&judged, VERDICT_ERROR, "Relative error is greater than 0.001");
    ck_assert_double_eq_tol(judged.metrics.peer.max_abs_error, 0.0011, 1e-7);
    ck_assert_int_eq(
        judge_bounded(&judged, 3, 1, 1, 1.0009, 0.001, REFERENCE_CERTIFIED, refine_all, NULL).code,
        STATUS_OK);
    ck_assert_uint_eq(refined_count, 0);
    expect(&judged, VERDICT_PASS, NULL);
    ck_assert_int_eq(
        judge_bounded(&judged, 3, 1, 1, 1.0009, 0.001, REFERENCE_BOUNDED, NULL, NULL).code,
        STATUS_OK);
    expect(&judged, VERDICT_PASS, NULL);
    ck_assert_int_eq(
        judge_bounded(&judged, 3, 1, 1, 1.0009, 0.001, REFERENCE_BOUNDED, refine_fails, NULL).code,
        STATUS_INTERNAL);
    /* Equal everywhere and no bound: nothing to do. */
    ck_assert_int_eq(
        judge_bounded(&judged, 3, 1, 1, 1, 0, REFERENCE_BOUNDED, refine_all, NULL).code, STATUS_OK);
    ck_assert_uint_eq(refined_count, 0);
}
END_TEST

/* One threshold each: errors whose interval just reaches it, or just does not. Beside it only
 * the worst elements are refined, which the first element is here. */
START_TEST(each_threshold_makes_an_element_decide)
{
    static const struct {
        double want, got, slack; /* slack: how far the nearest threshold is */
        /* clang-format off */
    } cases[] = {
        { 1, 1 + 0.0101, 0.0001 / 1.01 },       /* within a hundredth */
        { 1, 1 + 0.0011, 0.0001 / 1.001 },      /* a thousandth, and the largest error */
        { 1, 1 + 0.00011, 0.00001 / 1.0001 },   /* a ten-thousandth */
        { 1, 1 + 0x1p-20 * 1.2, 0 },            /* relative tolerance 1e-6 */
        { 0, 1.1e-9, 0.1e-9 },                  /* absolute error of a small value */
        { 1e-6 + 1e-12, 1e-6 + 5e-10, 1e-12 },  /* the small value itself */
        { 1, 1 + 33 * 0x1p-23, 0x1p-23 },       /* 32 ulp */
    };
    /* clang-format on */
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        struct judged judged;
        double slack = cases[k].slack ? cases[k].slack
                                      : (fabs((float)cases[k].got - 1) - 1e-6) / (1 + 1e-6);
        /* The last element is the one asked about; the others are worse by every measure. */
        static double wants[3], bounds[3], gots[3];
        int64_t shape[1] = { 3 };
        for (int past = 0; past < 2; past++) {
            wants[0] = 0, gots[0] = 5e8, bounds[0] = 0;
            wants[1] = 1, gots[1] = 1000, bounds[1] = 0;
            wants[2] = cases[k].want, gots[2] = (float)cases[k].got;
            bounds[2] = slack * (past ? 0.9 : 1.1);
            struct judge_request request = request_for(doc, "softmax", DT_F64, DT_F32);
            struct wanted wanted = { .reference =
                                         reference_of(&arena, DT_F32, 1, shape, wants, 3) };
            struct value value = tensor_value(tensor_of(&arena, DT_F32, 1, shape, gots));
            wanted.reference->error = bounds;
            wanted.reference->state = REFERENCE_BOUNDED;
            wanted.reference->refine = refine_all;
            true_value = cases[k].want;
            ck_assert_int_eq(judge_output(&judged, &arena, &request, &wanted, &value).code, 0);
            ck_assert_msg((refined_first == 2) == !past, "case %zu past %d", k, past);
        }
    }
}
END_TEST

START_TEST(refinement_has_a_limit)
{
    static double wants[WIDE], bounds[WIDE], gots[WIDE], low[WIDE];
    int64_t shape[1] = { WIDE };
    struct judged judged;
    for (size_t i = 0; i < WIDE; i++) {
        wants[i] = gots[i] = 1;
        bounds[i] = 0.02;
    }
    wants[7] = gots[7] = NAN;
    struct judge_request request = request_for(doc, "softmax", DT_F64, DT_F32);
    struct wanted wanted = { .reference = reference_of(&arena, DT_F32, 1, shape, wants, WIDE) };
    struct value value = tensor_value(tensor_of(&arena, DT_F32, 1, shape, gots));
    wanted.reference->error = bounds;
    wanted.reference->lo = low;
    wanted.reference->state = REFERENCE_BOUNDED;
    wanted.reference->refine = refine_all;
    true_value = 1;
    ck_assert_int_eq(judge_output(&judged, &arena, &request, &wanted, &value).code, STATUS_OK);
    ck_assert_uint_eq(refined_count, 4096);
    ck_assert_uint_eq(refined_first, 4096); /* from 0 on, without the NaN */
}
END_TEST

/* ---- memory ------------------------------------------------------------------------------------ */

static long allocations_left;

static struct status refine_nothing(struct reference *reference, size_t count,
                                    const size_t *components, double wanted_ulp)
{
    (void)reference;
    (void)count;
    (void)components;
    (void)wanted_ulp;
    return status_ok();
}

/* What is right must be complete: the cells are those of an arena without limit. */
static void check_same(const struct judged *judged, int kind, const struct judge_request *request,
                       const struct wanted *wanted, const struct value *got)
{
    struct judged complete;
    struct status status =
        kind == 3 ? judge_without_comparison(&complete, &arena, request, VERDICT_SKIP, "x")
                  : judge_output(&complete, &arena, request, wanted, got);
    ck_assert_int_eq(status.code, STATUS_OK);
    for (int column = 0; column < COLUMN_COUNT; column++)
        ck_assert_str_eq(judged->cells[column], complete.cells[column]);
}

/* Judge in an arena of few bytes: every shortage is reported, none crashes. */
START_TEST(memory_may_run_out)
{
    double want[2] = { 1, 2 }, got[2] = { 1, 2.1 };
    int64_t shape[1] = { 2 };
    const struct profile *profiles[] = { doc, v2, strict };
    const char *apis[] = { "softmax", "mul", "embedding" };
    struct judge_request request = request_for(profiles[_i % 3], apis[_i % 3], DT_F64, DT_F32);
    struct value plain_value = { .kind = VALUE_INT, .integer = 1 };
    for (int kind = 0; kind < 4; kind++) {
        bool enough = false;
        for (size_t limit = 0; !enough; limit += 64) {
            struct arena little = { .limit_bytes = limit ? limit : 1 };
            struct judged judged;
            struct wanted wanted = { 0 };
            struct tensor *tensor = tensor_of(&arena, DT_F32, 1, shape, got);
            struct value value = tensor_value(tensor);
            tensor->stride[0] = -1; /* so that it is copied */
            tensor->data = (float *)tensor->data + 1;
            struct status status;
            if (kind == 0) {
                wanted.reference = reference_of(&arena, DT_F32, 1, shape, want, 2);
                wanted.reference->state = REFERENCE_BOUNDED;
                wanted.reference->refine = refine_nothing;
            }
            if (kind == 1) wanted.value = &plain_value, value = plain_value;
            if (kind == 2) wanted.property_test = "x";
            if (kind == 3)
                status = judge_without_comparison(&judged, &little, &request, VERDICT_SKIP, "x");
            else status = judge_output(&judged, &little, &request, &wanted, &value);
            enough = status.code == STATUS_OK;
            ck_assert(enough || status.code == STATUS_NO_MEMORY);
            if (enough) check_same(&judged, kind, &request, &wanted, &value);
            arena_release(&little);
            ck_assert_uint_lt(limit, 1 << 20);
        }
    }
}
END_TEST

static int fail_when_out(size_t bytes)
{
    (void)bytes;
    return allocations_left-- <= 0;
}

START_TEST(numpy_arrays_may_not_fit)
{
    double want[2] = { 1, 2 };
    int64_t shape[1] = { 2 };
    struct judge_request request = request_for(v2, "softmax", DT_F64, DT_F32);
    struct wanted wanted = { .reference = reference_of(&arena, DT_F32, 1, shape, want, 2) };
    struct value value = tensor_value(tensor_of(&arena, DT_F32, 1, shape, want));
    struct judged judged;
    (void)arena_allocate(&arena, 1 << 16); /* room, so that only the arrays are allocated */
    memory_fault = fail_when_out;
    allocations_left = 0;
    struct status status = judge_output(&judged, &arena, &request, &wanted, &value);
    memory_fault = NULL;
    ck_assert_int_eq(status.code, STATUS_NO_MEMORY);
    ck_assert_msg(strstr(status.text, "96"), "%s", status.text); /* six arrays of two doubles */
}
END_TEST

static void setup(void)
{
    ck_assert_int_eq(profile_load(&doc, "doc", NULL, FILES_CHECKED).code, STATUS_OK);
    ck_assert_int_eq(profile_load(&v2, "v2", NULL, FILES_CHECKED).code, STATUS_OK);
    ck_assert_int_eq(profile_load(&v3, "v3", NULL, FILES_CHECKED).code, STATUS_OK);
    ck_assert_int_eq(profile_load(&strict, "strict", NULL, FILES_CHECKED).code, STATUS_OK);
}

static void teardown(void)
{
    arena_release(&arena);
    profile_release(doc);
    profile_release(v2);
    profile_release(v3);
    profile_release(strict);
}

int main(void)
{
    Suite *suite = suite_create("judge");
    TCase *tcase = tcase_create("judge");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, headers_are_the_peers);
    tcase_add_test(tcase, verdicts_of_an_api);
    tcase_add_test(tcase, row_names);
    tcase_add_test(tcase, cosine_limit);
    tcase_add_test(tcase, max_abs_error_limit);
    tcase_add_test(tcase, half_precision_limits);
    tcase_add_test(tcase, full_precision_limits);
    tcase_add_test(tcase, float8_limits);
    tcase_add_test(tcase, cosine_messages);
    tcase_add_test(tcase, columns_by_standard);
    tcase_add_test(tcase, constants_by_standard);
    tcase_add_test(tcase, printed_precision);
    tcase_add_test(tcase, half_results_print_short);
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
    tcase_add_test(tcase, bounds_that_decide_are_refined);
    tcase_add_test(tcase, each_threshold_makes_an_element_decide);
    tcase_add_test(tcase, refinement_has_a_limit);
    tcase_add_loop_test(tcase, memory_may_run_out, 0, 3);
    tcase_add_test(tcase, numpy_arrays_may_not_fit);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
