/* Results that are shorter than float32 though the exact ones are not. */
#include <math.h>

#include "standards/short_results.h"
#include "support/random_numbers.h"
#include "support/suite.h"

enum { N = 256 };

static float got[N];
static double want[N], bound[N], rms[N];

static double unit(double x) { return dtype_ulp(DT_F32, x); }

/* Numbers of any 53 bits in `binades` binades below 1, in turns; a kernel is off by a unit. */
static void draw(size_t binades)
{
    state = 3;
    for (size_t i = 0; i < N; i++) {
        want[i] = ldexp(1 + uniform(), -1 - (int)(i % binades));
        rms[i] = unit(want[i]);
        bound[i] = 4 * rms[i];
        got[i] = (float)want[i];
    }
}

/* Cuts off the last `bits` bits of what a float holds. */
static void cut(int bits)
{
    for (size_t i = 0; i < N; i++) {
        double step = ldexp(unit(want[i]), bits);
        got[i] = (float)(trunc(want[i] / step) * step);
    }
}

static int find(bool own_bits)
{
    static const int64_t shape[1] = { N };
    const struct reference reference = { .dtype = DT_F32,
                                         .rank = 1,
                                         .shape = { N },
                                         .n = N,
                                         .hi = want,
                                         .kernel_bound = bound,
                                         .kernel_rms = rms,
                                         .kernel_own_bits = own_bits };
    struct tensor tensor;
    tensor_wrap(&tensor, got, DT_F32, 1, shape);
    return short_results_find(&tensor, &reference);
}

START_TEST(bits_that_are_cut_off)
{
    draw(4);
    ck_assert_int_eq(find(true), 0);
    for (int bits = 0; bits < 8; bits++) {
        cut(bits);
        ck_assert_int_eq(find(true), bits < 2 ? 0 : bits);
        ck_assert_int_eq(find(false), 0);
    }
    /* All of them: one that is not short is enough. */
    cut(2);
    got[N - 1] = nextafterf(got[N - 1], 2);
    ck_assert_int_eq(find(true), 0);
    bound[N - 1] = 0; /* but not where the model is exact */
    ck_assert_int_eq(find(true), 2);
}
END_TEST

/* Differences of numbers on one grid: in the largest binade they have two zeros, in the next three. */
START_TEST(one_grid)
{
    draw(4);
    for (size_t i = 0; i < N; i++) got[i] = (float)(nearbyint(want[i] * 0x1p22) * 0x1p-22);
    ck_assert_int_eq(find(true), 0);
    draw(1); /* of one binade nobody knows */
    cut(2);
    ck_assert_int_eq(find(true), 0);
}
END_TEST

START_TEST(exact_results_that_are_short)
{
    draw(4);
    cut(2);
    for (size_t i = 0; i < N; i++) want[i] = got[i];
    ck_assert_int_eq(find(true), 0);
    /* Half a unit away is far enough, less is not. */
    for (size_t i = 0; i < N; i++) want[i] = got[i] + 0.51 * unit(got[i]);
    ck_assert_int_eq(find(true), 2);
    for (size_t i = 0; i < N; i++) want[i] = got[i] + 0.49 * unit(got[i]);
    ck_assert_int_eq(find(true), 0);
}
END_TEST

/* A kernel whose errors are expected to be larger than twice those of such steps, sqrt(16 / 12) units, may have terms on such a grid. */
START_TEST(errors_that_are_larger)
{
    draw(4);
    cut(2);
    for (size_t i = 0; i < N; i++) rms[i] = 2.3 * unit(want[i]);
    ck_assert_int_eq(find(true), 2);
    for (size_t i = 0; i < N; i++) rms[i] = 2.32 * unit(want[i]);
    ck_assert_int_eq(find(true), 0);
}
END_TEST

START_TEST(few_different_results)
{
    draw(4);
    for (size_t i = 64; i < N; i++) want[i] = want[i % 64];
    cut(2);
    ck_assert_int_eq(find(true), 0); /* a quarter of them are too near such a number */
    draw(4);
    for (size_t i = 96; i < N; i++) want[i] = want[i % 96];
    cut(2);
    ck_assert_int_eq(find(true), 2);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("short_results");
    TCase *tests = tcase_create("short_results");
    tcase_add_test(tests, bits_that_are_cut_off);
    tcase_add_test(tests, one_grid);
    tcase_add_test(tests, exact_results_that_are_short);
    tcase_add_test(tests, errors_that_are_larger);
    tcase_add_test(tests, few_different_results);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
