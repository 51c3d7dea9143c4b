/* What the loss, scan and product families compute, against identities of the definitions: no
 * value here comes from PyTorch or from the code under test.
 */
#include <check.h>
#include <math.h>
#include <mpfr.h>
#include <stdio.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/samples.h"
#include "support/suite.h"

enum { PRECISION = 400 };

/* The forward of a call written in the notation of samples.h. */
static struct bench *evaluate(const char *line, struct arena *arena)
{
    static struct sample sample;
    struct bench *bench;
    const char *wrong = sample_parse(&sample, line, arena);
    ck_assert_msg(!wrong, "%s: %s", line, wrong ? wrong : "");
    struct api_case *c = arena_allocate(arena, sizeof *c);
    *c = sample.c;
    struct status st = bench_open(&bench, c, arena, BENCH_REFERENCE);
    ck_assert_msg(!st.code, "%s: %s", line, st.text);
    return bench;
}

static const struct reference *output(struct bench *bench, size_t k)
{
    ck_assert_uint_gt(bench_output_count(bench), k);
    ck_assert_int_eq(bench_output(bench, k)->kind, BENCH_OUTPUT_TENSOR);
    return &bench_output(bench, k)->reference;
}

/* A class that has all the weight: the loss is log1p(e^-100 + e^-200), 3.7e-44, which differences of
 * logarithms in double lose altogether. */
START_TEST(tiny_cross_entropy_keeps_its_digits)
{
    struct arena arena = { 0 };
    mpfr_t first, second;
    const struct reference *r =
        output(evaluate("Functional.cross_entropy(f32(1,3)[100 0 -100], i64(1)[0])", &arena), 0);
    mpfr_inits2(PRECISION, first, second, (mpfr_ptr)0);
    mpfr_set_si(first, -100, MPFR_RNDN);
    mpfr_set_si(second, -200, MPFR_RNDN);
    mpfr_exp(first, first, MPFR_RNDN);
    mpfr_exp(second, second, MPFR_RNDN);
    mpfr_add(first, first, second, MPFR_RNDN);
    mpfr_log1p(first, first, MPFR_RNDN);
    double want = mpfr_get_d(first, MPFR_RNDN);
    ck_assert_double_le(fabs(r->hi[0] - want), 1e-13 * want);
    ck_assert_int_eq(r->state, REFERENCE_CERTIFIED);
    mpfr_clears(first, second, (mpfr_ptr)0);
    arena_release(&arena);
}
END_TEST

/* The likelihoods of all label sequences of at most `steps` labels sum to 1: each alignment belongs
 * to one of them. `number` counts through the sequences over two labels. */
static double likelihood_of_all(int steps, struct arena *arena)
{
    double total = 0;
    for (int length = 0; length <= steps; length++)
        for (int number = 0; number < 1 << length; number++) {
            char line[400], labels[100] = "";
            for (int k = 0; k < length; k++)
                snprintf(labels + strlen(labels), sizeof labels - strlen(labels), "%d ",
                         1 + (number >> k & 1));
            /* Three classes with logarithms of 1/2, 1/3, 1/6 and of 1/4, 1/4, 1/2 in turn. */
            char probabilities[300] = "";
            for (int t = 0; t < steps; t++)
                strcat(probabilities,
                       t % 2 ? "-1.3862943611198906 -1.3862943611198906 -0.69314718055994531 "
                             : "-0.69314718055994531 -1.0986122886681098 -1.791759469228055 ");
            snprintf(line, sizeof line,
                     "Functional.ctc_loss(f64(%d,1,3)[%s], i64(1,%d)[%s], (%d,), (%d,), "
                     "reduction=\"none\")",
                     steps, probabilities, length, labels, steps, length);
            total += exp(-output(evaluate(line, arena), 0)->hi[0]);
        }
    return total;
}

START_TEST(ctc_likelihoods_sum_to_one)
{
    struct arena arena = { 0 };
    for (int steps = 1; steps <= 4; steps++)
        ck_assert_double_eq_tol(likelihood_of_all(steps, &arena), 1, 1e-14);
    arena_release(&arena);
}
END_TEST

/* Intermediate products far outside double's range leave the result alone. */
START_TEST(products_do_not_overflow_on_the_way)
{
    struct arena arena = { 0 };
    const struct reference *r =
        output(evaluate("Torch.prod(f64(6)[1e300 1e300 1e300 1e-300 1e-300 1e-300])", &arena), 0);
    ck_assert_double_eq_tol(r->hi[0], 1, 1e-14);
    r = output(evaluate("Torch.prod(f64(4)[1e-300 1e-300 1e300 1e300])", &arena), 0);
    ck_assert_double_eq_tol(r->hi[0], 1, 1e-14);
    arena_release(&arena);
}
END_TEST

/* A line that grows by 1000 a step: no term is lost to a maximum that comes later. */
START_TEST(running_logsumexp_needs_no_global_maximum)
{
    struct arena arena = { 0 };
    const struct reference *r =
        output(evaluate("Torch.logcumsumexp(f64(4)[-1000 -1000 0 1000], 0)", &arena), 0);
    const double want[] = { -1000, -1000 + M_LN2, 0, 1000 };
    for (int i = 0; i < 4; i++) ck_assert_double_eq_tol(r->hi[i], want[i], 1e-12);
    arena_release(&arena);
}
END_TEST

START_TEST(cosines_are_kept_from_0_by_a_float32_constant)
{
    struct arena arena = { 0 };
    /* 1 - 1e-6 / sqrt((1 + e) (1e-12 + e)): half of e's relative digits stay. */
    const char *call = "Functional.cosine_embedding_loss(f64(1,1)[1], f64(1,1)[1e-6], i64(1)[1])";
    double e = (double)1e-12f, want = 1 - 1e-6 / sqrt((1 + e) * (1e-12 + e));
    ck_assert_double_eq_tol(output(evaluate(call, &arena), 0)->hi[0], want, 1e-13);
    e = 1e-12;
    ck_assert_double_ge(fabs(1 - 1e-6 / sqrt((1 + e) * (1e-12 + e)) - want), 1e-10);
    arena_release(&arena);
}
END_TEST

/* The variance of x + 2^24 is that of x: deviations are taken from the mean. */
START_TEST(variance_is_shift_invariant)
{
    struct arena arena = { 0 };
    const struct reference *r =
        output(evaluate("Torch.var(f32(4)[16777216 16777218 16777220 16777222], 0)", &arena), 0);
    ck_assert_double_eq_tol(r->hi[0], 20.0 / 3, 1e-13);
    arena_release(&arena);
}
END_TEST

/* A quantile of equally spaced numbers is linear in q. */
START_TEST(quantiles_of_a_ramp_are_linear)
{
    struct arena arena = { 0 };
    const struct reference *r =
        output(evaluate("Torch.quantile(f64(5)[4 0 2 1 3], f64(4)[0 0.125 0.6 1]')", &arena), 0);
    const double want[] = { 0, 0.5, 2.4, 4 };
    for (int i = 0; i < 4; i++) ck_assert_double_eq_tol(r->hi[i], want[i], 1e-15);
    arena_release(&arena);
}
END_TEST

/* floor_divide and remainder put a number together again: a = (a // b) b + a % b. */
START_TEST(quotient_and_remainder_fit)
{
    static const double a[] = { 7, -7, 7.25, -7.25, 1e15, -0.1, 5e-324 };
    static const double b[] = { 2, -2, 0.1, 0.3, 3, 7, 2 };
    struct arena arena = { 0 };
    for (int i = 0; i < 7; i++)
        for (int j = 0; j < 7; j++) {
            char line[200];
            snprintf(line, sizeof line, "Torch.floor_divide(f64(1)[%.17g], f64(1)[%.17g])", a[i],
                     b[j]);
            double quotient = output(evaluate(line, &arena), 0)->hi[0];
            snprintf(line, sizeof line, "Torch.remainder(f64(1)[%.17g], f64(1)[%.17g])", a[i],
                     b[j]);
            double rest = output(evaluate(line, &arena), 0)->hi[0];
            ck_assert_double_eq(quotient, floor(quotient));
            ck_assert(rest == 0 || ((rest < 0) == (b[j] < 0) && fabs(rest) <= fabs(b[j])));
            ck_assert_double_eq_tol(fma(quotient, b[j], rest), a[i],
                                    1e-15 * (fabs(a[i]) + fabs(b[j])));
        }
    arena_release(&arena);
}
END_TEST

/* An int64 beyond 2^53 as float64 is that integer in the reference, not the double next to it. */
START_TEST(casts_of_large_integers_are_exact)
{
    struct arena arena = { 0 };
    const struct reference *r =
        output(evaluate("Tensor.double(i64(2)[9007199254740993 -9223372036854775807])", &arena), 0);
    ck_assert_double_eq(r->hi[0], 0x1p53);
    ck_assert_double_eq(r->lo[0], 1);
    ck_assert_double_eq(r->hi[1], -0x1p63);
    ck_assert_double_eq(r->lo[1], 1);
    ck_assert_double_eq(reference_bound(r, 0), 0);
    ck_assert_double_eq(reference_bound(r, 1), 0);
    arena_release(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("identities");
    TCase *tests = tcase_create("identities");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, tiny_cross_entropy_keeps_its_digits);
    tcase_add_test(tests, casts_of_large_integers_are_exact);
    tcase_add_test(tests, ctc_likelihoods_sum_to_one);
    tcase_add_test(tests, products_do_not_overflow_on_the_way);
    tcase_add_test(tests, running_logsumexp_needs_no_global_maximum);
    tcase_add_test(tests, cosines_are_kept_from_0_by_a_float32_constant);
    tcase_add_test(tests, variance_is_shift_invariant);
    tcase_add_test(tests, quantiles_of_a_ramp_are_linear);
    tcase_add_test(tests, quotient_and_remainder_fit);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
