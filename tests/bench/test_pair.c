/* Double-double operations: what a pair stands for goes in, the result lies within its bound.
 *
 * Operands are random pairs of any exponent in the range that the operations take; the exact
 * operand is a point within the pair's error, at an end of it half of the time. Results are
 * compared with balls at 400 bits. A sixty-fourth of the declared roundoff must not be enough.
 */
#include <arb.h>
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/arithmetic/compensated.h"
#include "bench/arithmetic/pair.h"
#include "bench/oracle.h"
#include "bench/samples.h"
#include "support/suite.h"

enum { PRECISION = 400, ROUNDS = 200000 };

static bool root(struct pair *out, struct pair a, struct pair b)
{
    (void)b;
    return pair_sqrt(out, a);
}

static void ball_root(arb_t out, const arb_t a, const arb_t b, slong precision)
{
    (void)b;
    arb_sqrt(out, a, precision);
}

static const struct {
    const char *name;
    bool (*pair)(struct pair *out, struct pair a, struct pair b);
    void (*ball)(arb_t out, const arb_t a, const arb_t b, slong precision);
    bool positive;
} operations[] = {
    { "add", pair_add, arb_add, false },
    { "multiply", pair_multiply, arb_mul, false },
    { "divide", pair_divide, arb_div, false },
    { "sqrt", root, ball_root, true },
};

/* A pair and a point that it stands for. */
static struct pair any_pair(arb_t point, struct numbers *numbers, bool positive)
{
    int exponent = (int)(numbers_next(numbers) % 80) - 40;
    struct pair p = { ldexp(1 + numbers_uniform(numbers), exponent), 0, 0 };
    if (!positive && numbers_next(numbers) % 2) p.hi = -p.hi;
    if (numbers_next(numbers) % 4) p.lo = p.hi * 0x1p-54 * (2 * numbers_uniform(numbers) - 1);
    if (numbers_next(numbers) % 4 == 0)
        p.error = fabs(p.hi) * ldexp(1, -(int)(numbers_next(numbers) % 60) - 40);
    arb_t part;
    arb_init(part);
    arb_set_d(point, p.hi);
    arb_set_d(part, p.lo);
    arb_add(point, point, part, PRECISION);
    arb_set_d(part, numbers_next(numbers) % 2 ? p.error : -p.error * numbers_uniform(numbers));
    arb_add(point, point, part, PRECISION);
    arb_clear(part);
    return p;
}

START_TEST(results_lie_within_their_bounds)
{
    struct numbers numbers = { .state = 5 + (uint64_t)_i };
    size_t tight = 0, done = 0;
    arb_t a, b, exact, rest;
    arb_init(a);
    arb_init(b);
    arb_init(exact);
    arb_init(rest);
    for (int round = 0; round < ROUNDS; round++) {
        struct pair x = any_pair(a, &numbers, operations[_i].positive),
                    y = any_pair(b, &numbers, false), z;
        if (round % 3 == 0) { /* nearly opposite numbers: sums cancel */
            y = (struct pair){ -x.hi, x.lo, 0 };
            arb_set_d(b, y.hi);
            arb_set_d(rest, y.lo);
            arb_add(b, b, rest, PRECISION);
        }
        if (!operations[_i].pair(&z, x, y)) continue;
        done++;
        ck_assert(z.hi + z.lo == z.hi);
        operations[_i].ball(exact, a, b, PRECISION);
        struct distance d;
        arb_set_d(rest, z.hi);
        arb_sub(rest, exact, rest, PRECISION);
        ck_assert(oracle_distance(&d, rest, z.lo));
        ck_assert_msg(d.least <= z.error, "%s of %.17g and %.17g: off by %g, bound %g",
                      operations[_i].name, x.hi, y.hi, d.least, z.error);
        if (x.error == 0 && y.error == 0) tight += d.least > z.error / 64;
    }
    printf("%-10s %zu results, %zu beyond a sixty-fourth of the bound\n", operations[_i].name, done,
           tight);
    ck_assert_uint_gt(done, ROUNDS / 2);
    ck_assert_uint_gt(tight, 0);
    arb_clear(a);
    arb_clear(b);
    arb_clear(exact);
    arb_clear(rest);
}
END_TEST

/* Where a step could underflow, overflow or has no answer, nothing is said. */
START_TEST(what_is_refused)
{
    struct pair out, huge = pair_exact(0x1p1000), tiny = pair_exact(0x1p-600), one = pair_exact(1);
    struct pair open = { 1, 0, 2 }, zero = pair_exact(0);
    ck_assert(!pair_add(&out, pair_exact(0x1.8p1023), pair_exact(0x1.8p1023)));
    ck_assert(!pair_multiply(&out, huge, one));
    ck_assert(!pair_multiply(&out, tiny, one));
    ck_assert(!pair_divide(&out, one, zero));
    ck_assert(!pair_divide(&out, one, open));
    ck_assert(!pair_divide(&out, one, tiny));
    ck_assert(!pair_sqrt(&out, pair_exact(-1)));
    ck_assert(!pair_sqrt(&out, open));
    ck_assert(pair_sqrt(&out, zero) && out.hi == 0 && out.error == 0);
    ck_assert(pair_multiply(&out, zero, one) && out.hi == 0 && out.error == 0);
    ck_assert(pair_divide(&out, pair_exact(3), pair_exact(2)) && out.hi == 1.5 && out.error == 0);
    ck_assert(pair_add(&out, pair_exact(1), pair_exact(0x1p-80)) && out.lo == 0x1p-80 &&
              out.error == 0);
}
END_TEST

/* 2^53 + 1 - 2^53 - 1 in pieces whose errors cancel but for what their own sum loses: a low part of 0
 * is no proof of exactness. Whole numbers are exact, and said to be. */
START_TEST(a_low_part_of_zero_proves_nothing)
{
    /* errors 1, 2^-60, -1, the second lost beside the first */
    static const double terms[] = { 0x1p54, 1, -0x1p54, 1, 0x1p-60, -1, 0x1p54, -1, -0x1p54 };
    struct running sum = { 0 }, whole = { 0 };
    struct pair out;
    for (size_t i = 0; i < sizeof terms / sizeof *terms; i++) running_add(&sum, terms[i]);
    ck_assert(running_pair(&out, &sum, false));
    ck_assert(sum.rounded && fabs(out.hi + out.lo - 0x1p-60) <= out.error);
    for (int i = 1; i <= 100; i++) running_add(&whole, i);
    ck_assert(running_pair(&out, &whole, false));
    ck_assert(out.hi == 5050 && out.lo == 0 && out.error == 0);
}
END_TEST

/* Every int64 is a pair without an error: hi its double, lo the rest. */
START_TEST(integers_are_pairs)
{
    static const int64_t edges[] = { 0,
                                     1,
                                     -1,
                                     INT64_MAX,
                                     INT64_MIN,
                                     INT64_MIN + 1,
                                     (INT64_C(1) << 53) + 1,
                                     -(INT64_C(1) << 53) - 1 };
    struct numbers numbers = { 11 };
    fmpz_t sum;
    fmpz_init(sum);
    for (int k = 0; k < 100000; k++) {
        int64_t x = k < 8 ? edges[k]
                          : (int64_t)(numbers_next(&numbers) >> numbers_next(&numbers) % 64);
        struct pair p = pair_integer(x);
        fmpz_set_d(sum, p.hi);
        if (p.lo < 0) fmpz_sub_ui(sum, sum, (ulong)-p.lo);
        else fmpz_add_ui(sum, sum, (ulong)p.lo);
        ck_assert_msg(fmpz_equal_si(sum, x) && p.error == 0 && p.hi == (double)x,
                      "%lld as a pair is %.17g + %.17g", (long long)x, p.hi, p.lo);
    }
    fmpz_clear(sum);
}
END_TEST

/* Floats whose block sums are exact in double, whose are not, and both side by side. */
static float any_float(int kind, struct numbers *numbers)
{
    float x = (float)numbers_normal(numbers);
    uint64_t bits = numbers_next(numbers);
    switch (kind) {
    case 0: return x;
    case 1: return ldexpf(x, (int)(bits % 120) - 60);
    case 2: return bits % 8 ? 0 : -x;
    case 3: return ldexpf(x, -140); /* subnormal */
    case 4: return bits % 2000 ? x : ldexpf(x, bits >> 20 & 1 ? 90 : -90);
    default: return bits % 2 ? 0x1.fffffep127f : -0x1.fffffep127f;
    }
}

START_TEST(sums_of_floats_lie_within_their_bounds)
{
    enum { LONGEST = 5000, KINDS = 6 };
    static float x[LONGEST];
    struct numbers numbers = { .state = 17 };
    arb_t exact, term;
    arb_init(exact);
    arb_init(term);
    for (int round = 0; round < 60 * KINDS; round++) {
        size_t n = numbers_next(&numbers) % (LONGEST + 1);
        struct compensated c = { .terms = 0 };
        double sum, bound, magnitude = 0;
        struct distance d;
        arb_zero(exact);
        for (size_t i = 0; i < n; i++) {
            x[i] = any_float(round % KINDS, &numbers);
            arb_set_d(term, x[i]);
            arb_add(exact, exact, term, 2000);
            magnitude += fabsf(x[i]);
        }
        compensated_add_floats(&c, x, n);
        ck_assert(compensated_total(&sum, &bound, &c));
        ck_assert(oracle_distance(&d, exact, sum));
        ck_assert_msg(d.least <= bound, "%zu floats: %.17g off by %g, bound %g", n, sum, d.least,
                      bound);
        ck_assert(bound <= 0x1p-52 * fabs(sum) + 0x1p-60 * magnitude);
    }
    x[4] = INFINITY;
    struct compensated c = { .terms = 0 };
    double sum, bound;
    compensated_add_floats(&c, x, 2048);
    ck_assert(!compensated_total(&sum, &bound, &c));
    arb_clear(exact);
    arb_clear(term);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pair");
    TCase *tests = tcase_create("pair");
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, results_lie_within_their_bounds, 0,
                        sizeof operations / sizeof *operations);
    tcase_add_test(tests, integers_are_pairs);
    tcase_add_test(tests, sums_of_floats_lie_within_their_bounds);
    tcase_add_test(tests, what_is_refused);
    tcase_add_test(tests, a_low_part_of_zero_proves_nothing);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
