/* Products of narrow numbers with scales against their definitions in long double, and what is refused. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/opened_call.h"
#include "support/suite.h"

/* Scales for rows and columns and a bias. */
START_TEST(scales_of_rows_and_columns)
{
    struct arena arena = { 0 };
    struct sample sample;
    struct bench *bench =
        opened(&sample,
               "Torch._scaled_mm(f8e4m3(4,16)[-3..3], f8e5m2(16,6)[-3..3], "
               "f32(4,1)[0.1..2], f32(1,6)[0.1..2], bf16(6), None, torch.bfloat16)",
               &arena);
    const double *a = argument(&sample, 0, &arena), *b = argument(&sample, 1, &arena);
    const double *rows = argument(&sample, 2, &arena), *columns = argument(&sample, 3, &arena);
    const double *bias = argument(&sample, 4, &arena);
    const struct reference *r = &bench_output(bench, 0)->reference;
    ck_assert_uint_eq(bench_output_count(bench), 1);
    ck_assert_int_eq(r->dtype, DT_BF16);
    for (size_t i = 0; i < 24; i++) {
        long double sum = 0;
        for (size_t k = 0; k < 16; k++) sum += (long double)a[i / 6 * 16 + k] * b[k * 6 + i % 6];
        check_element(r, i, sum * rows[i / 6] * columns[i % 6] + bias[i % 6]);
    }
    arena_release(&arena);
}
END_TEST

/* A float8 result is scaled, and saturates. */
START_TEST(float8_results_saturate)
{
    struct arena arena = { 0 };
    struct sample sample;
    struct bench *bench =
        opened(&sample,
               "Torch._scaled_mm(f8e4m3(1,2)[16 8], f8e4m3(2,3)[16 -16 1 16 -16 0], "
               "f32()[0.5], f32()[2], scale_result=f32()[1.5])",
               &arena);
    const struct reference *r = &bench_output(bench, 0)->reference;
    ck_assert_int_eq(r->dtype, DT_F8E4M3);
    ck_assert_double_eq(r->hi[0], 448);
    ck_assert_double_eq(r->hi[1], -448);
    ck_assert_double_eq(r->hi[2], 24);
    arena_release(&arena);
}
END_TEST

/* Until PyTorch 2.4 the largest magnitude came with the result. */
START_TEST(older_calls_return_the_largest_magnitude)
{
    struct arena arena = { 0 };
    struct sample sample;
    struct value two[2] = { { .kind = VALUE_NONE }, { .kind = VALUE_NONE } };
    struct bench *bench;
    ck_assert_ptr_null(sample_parse(
        &sample, "Torch._scaled_mm(f8e4m3(1,2)[1 2], f8e4m3(2,2)[3 -4 1 1], scale_a=f32()[0.5])",
        &arena));
    sample.c.outputs = (struct value){ .kind = VALUE_LIST, .list = { .items = two, .count = 2 } };
    ck_assert_int_eq(bench_open(&bench, &sample.c, &arena, BENCH_REFERENCE).code, 0);
    ck_assert_uint_eq(bench_output_count(bench), 2);
    ck_assert_double_eq(bench_output(bench, 0)->reference.hi[0], 2.5);
    ck_assert_double_eq(bench_output(bench, 1)->reference.hi[0], 2.5);
    arena_release(&arena);
}
END_TEST

START_TEST(whole_numbers_with_a_scale_for_each_row)
{
    struct arena arena = { 0 };
    struct sample sample;
    struct bench *bench = opened(
        &sample, "Torch._weight_int8pack_mm(bf16(3,8), i8(5,8)[-127..127], bf16(5)[0.01..0.1])",
        &arena);
    const double *x = argument(&sample, 0, &arena), *w = argument(&sample, 1, &arena);
    const double *scales = argument(&sample, 2, &arena);
    const struct reference *r = &bench_output(bench, 0)->reference;
    ck_assert_int_eq(r->dtype, DT_BF16);
    for (size_t i = 0; i < 15; i++) {
        long double sum = 0;
        for (size_t k = 0; k < 8; k++) sum += (long double)x[i / 5 * 8 + k] * w[i % 5 * 8 + k];
        check_element(r, i, sum * scales[i % 5]);
    }
    arena_release(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scaled products");
    TCase *tests = tcase_create("scaled products");
    tcase_add_test(tests, scales_of_rows_and_columns);
    tcase_add_test(tests, float8_results_saturate);
    tcase_add_test(tests, older_calls_return_the_largest_magnitude);
    tcase_add_test(tests, whole_numbers_with_a_scale_for_each_row);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
