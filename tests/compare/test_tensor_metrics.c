/* The pass over two tensors against its definition in long double, element by element. */
#include "compare/dumps/tensor_metrics.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "support/suite.h"

static double random_double(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(int64_t)(*state >> 11) * 0x1p-52 - 1;
}

/* Sizes around the ends of chunks and rows of lanes. */
static const size_t sizes[] = { 1, 2, 15, 16, 17, 1023, 1024, 1025, 5000, 70001 };

START_TEST(agrees_with_the_definition)
{
    size_t n = sizes[_i];
    int64_t shape = (int64_t)n;
    double *x = malloc(n * sizeof *x), *y = malloc(n * sizeof *y);
    uint64_t state = 42 + (uint64_t)_i, within = 0, within5 = 0, limited = 0;
    long double dot = 0, xx = 0, yy = 0, dd = 0, largest = 0, relative = 0;
    const double limits[TENSOR_LIMITS] = { 0.01, 0.0001, 0 };
    struct tensor a, b;
    struct tensor_sums sums;

    for (size_t i = 0; i < n; i++) {
        x[i] = random_double(&state);
        y[i] = i % 7 == 3 ? 0 : x[i] * (1 + 0.003 * random_double(&state));
        if (i % 11 == 5) x[i] = y[i];
        double shift = y[i] == 0 ? 0x1p-52 : 0, d = fabs(x[i] - y[i]);
        double r = fabs((x[i] + shift) - (y[i] + shift)) / fabs(y[i] + shift);
        dot += (long double)x[i] * y[i];
        xx += (long double)x[i] * x[i];
        yy += (long double)y[i] * y[i];
        dd += (long double)d * d;
        if (d > largest) largest = d;
        if (r > relative) relative = r;
        within += r < 0.001;
        within5 += r < 0.005;
        limited += r < 0.01;
    }
    tensor_wrap(&a, x, DT_F64, 1, &shape);
    tensor_wrap(&b, y, DT_F64, 1, &shape);
    tensor_sums_fold(&sums, &a, &b, limits);
    ck_assert_uint_eq(sums.n, n);
    ck_assert(fabsl(sums.dot - dot) <= 1e-13L * fabsl(dot) + 1e-13L);
    ck_assert(fabsl(sums.npu_squared - xx) <= 1e-13L * xx);
    ck_assert(fabsl(sums.bench_squared - yy) <= 1e-13L * yy);
    ck_assert(fabsl(sums.difference_squared - dd) <= 1e-13L * dd);
    ck_assert(sums.max_abs == (double)largest);
    ck_assert(sums.max_relative == (double)relative);
    ck_assert_uint_eq(sums.within_thousandth, within);
    ck_assert_uint_eq(sums.within_five_thousandths, within5);
    ck_assert_uint_eq(sums.within[0], limited);
    ck_assert_uint_eq(sums.within[2], 0);
    tensor_sums_fold(&sums, &a, &b, NULL);
    ck_assert_uint_eq(sums.within_thousandth, within);
    free(x);
    free(y);
}
END_TEST

/* Equal positions of inf and nan count as equal zeros; other positions are told; signs of inf too. */
START_TEST(what_is_not_finite)
{
    float x[] = { 1, INFINITY, NAN, -INFINITY, 2 }, y[] = { 1, INFINITY, NAN, INFINITY, 2 };
    int64_t shape = 5;
    struct tensor a, b;
    struct tensor_sums sums;

    tensor_wrap(&a, x, DT_F32, 1, &shape);
    tensor_wrap(&b, y, DT_F32, 1, &shape);
    tensor_sums_fold(&sums, &a, &b, NULL);
    ck_assert(!sums.positions_differ && sums.inf_signs_differ);
    ck_assert_uint_eq(sums.npu.nan, 1);
    ck_assert_uint_eq(sums.npu.inf, 2);
    ck_assert_uint_eq(sums.within_thousandth, 5);
    ck_assert(sums.max_abs == 0 && sums.dot == 5);
    y[2] = 0;
    tensor_sums_fold(&sums, &a, &b, NULL);
    ck_assert(sums.positions_differ);
    ck_assert_uint_eq(sums.bench.nan, 0);
}
END_TEST

/* 12 decimals; above 0.9999, 6; 1 for two zeros, nan for one. */
START_TEST(cells_of_cosine)
{
    struct tensor_sums sums = { .dot = 0.123456789012345, .npu_squared = 1, .bench_squared = 1 };
    ck_assert(tensor_sums_cosine(&sums) == 0.123456789012);
    sums.dot = 0.99999949;
    ck_assert(tensor_sums_cosine(&sums) == 0.999999);
    sums.dot = 0.99989949;
    ck_assert(tensor_sums_cosine(&sums) == 0.99989949);
    sums.npu_squared = 0;
    ck_assert(isnan(tensor_sums_cosine(&sums)));
    sums.bench_squared = 0;
    ck_assert(tensor_sums_cosine(&sums) == 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tensor_metrics");
    TCase *tests = tcase_create("tensor_metrics");
    tcase_add_loop_test(tests, agrees_with_the_definition, 0, (int)(sizeof sizes / sizeof *sizes));
    tcase_add_test(tests, what_is_not_finite);
    tcase_add_test(tests, cells_of_cosine);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
