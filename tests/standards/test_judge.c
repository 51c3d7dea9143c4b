/* One output judged: the chain of limits, each just within and just past, and every message. */
#include "judged_outputs.h"

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
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
