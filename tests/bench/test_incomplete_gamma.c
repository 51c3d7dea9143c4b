/* Regularised incomplete gamma functions of large arguments: MPFR's where that comes to an end, beyond it how the function of s + 1
 * differs from that of s.
 */
#include <arb.h>
#include <check.h>
#include <float.h>
#include <math.h>
#include <mpfr.h>

#include "bench/primitives/incomplete_gamma.h"
#include "support/suite.h"

enum { DIGITS = 1400 }; /* bits: P is 1 - Q, and as small as 1e-200 */

static const double orders[] = { 513, 600, 2001.5, 1e4 };
static const double distances[] = {
    -30, -8, -1, -0.01, 0, 0.3, 1, 8, 30
}; /* of x from s, over sqrt(s) */

enum { ORDERS = sizeof orders / sizeof *orders, DISTANCES = sizeof distances / sizeof *distances };

/* Q(s, x), or P. */
static void by_mpfr(mpfr_t y, double s, double x, bool upper)
{
    mpfr_t order, point, whole;
    mpfr_inits2(DIGITS, order, point, whole, (mpfr_ptr)NULL);
    mpfr_set_d(order, s, MPFR_RNDN);
    mpfr_set_d(point, x, MPFR_RNDN);
    mpfr_gamma_inc(y, order, point, MPFR_RNDN);
    mpfr_gamma(whole, order, MPFR_RNDN);
    mpfr_div(y, y, whole, MPFR_RNDN);
    if (!upper) mpfr_ui_sub(y, 1, y, MPFR_RNDN);
    mpfr_clears(order, point, whole, (mpfr_ptr)NULL);
}

/* Does the ball hold y, but for what y itself is off by? */
static void assert_holds(const arb_t ball, mpfr_srcptr y)
{
    arb_t exact, slack;
    arb_init(exact);
    arb_init(slack);
    arf_set_mpfr(arb_midref(exact), y);
    arb_mul_2exp_si(slack, exact, -500);
    arb_add_error(exact, slack);
    ck_assert(arb_overlaps(ball, exact));
    arb_clear(exact);
    arb_clear(slack);
}

START_TEST(balls_hold_what_mpfr_says)
{
    double s = orders[_i / DISTANCES], x = s + distances[_i % DISTANCES] * sqrt(s);
    arb_t order, point, ball;
    mpfr_t expected;
    arb_init(order);
    arb_init(point);
    arb_init(ball);
    mpfr_init2(expected, DIGITS);
    arb_set_d(order, s);
    arb_set_d(point, x);
    for (int upper = 0; upper < 2 && x > s / 2 && x < 2 * s; upper++) {
        by_mpfr(expected, s, x, upper);
        for (slong p = 80; p <= 320; p *= 2) {
            incomplete_gamma_ball(ball, order, point, upper, p);
            assert_holds(ball, expected);
            ck_assert_int_ge(arb_rel_accuracy_bits(ball), p - 20);
        }
        double y = mpfr_get_d(expected, MPFR_RNDN), got = incomplete_gamma(s, x, upper);
        ck_assert_msg(fabs(got - y) <= DBL_EPSILON * y, "s %g, x %g: %.17g, not %.17g", s, x, got,
                      y);
    }
    mpfr_clear(expected);
    arb_clear(order);
    arb_clear(point);
    arb_clear(ball);
}
END_TEST

/* P(s, x) - P(s + 1, x) = Q(s + 1, x) - Q(s, x) = x^s e^-x / Gamma(s + 1) (DLMF 8.8.5, 8.8.6). */
START_TEST(neighbours_differ_by_the_density)
{
    static const double large[] = { 1e6, 0x1p40, 1e20, 1e100, 1e300 };
    enum { BITS = 200 };
    double s = large[_i / DISTANCES], x = s + distances[_i % DISTANCES] * sqrt(s);
    const slong work = 2 * BITS + 2 * ilogb(s);
    arb_t order, next, point, here, there, density, gamma;
    arb_ptr all[] = { order, next, point, here, there, density, gamma };
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) arb_init(all[k]);
    arb_set_d(order, s);
    arb_set_d(point, x);
    arb_add_ui(next, order, 1, work);
    bool upper = x > s; /* the smaller of both */
    incomplete_gamma_ball(here, order, point, upper, BITS + ilogb(s));
    incomplete_gamma_ball(there, next, point, upper, BITS + ilogb(s));
    arb_sub(here, here, there, work);
    if (upper) arb_neg(here, here);
    arb_log(density, point, work);
    arb_mul(density, density, order, work);
    arb_sub(density, density, point, work);
    arb_lgamma(gamma, next, work);
    arb_sub(density, density, gamma, work);
    arb_exp(density, density, work);
    ck_assert(arb_overlaps(here, density));
    ck_assert_int_ge(arb_rel_accuracy_bits(here), 40);
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) arb_clear(all[k]);
}
END_TEST

/* The median is next to s - 1/3: P(s, s) = 1/2 + 1 / (3 sqrt(2 pi s)) + O(s^-3/2) (DLMF 8.11.12). */
START_TEST(values_of_floats_are_there)
{
    for (double s = 1e3; s < 1e38; s *= 7.3) {
        double lower = incomplete_gamma(s, s, false), upper = incomplete_gamma(s, s, true);
        ck_assert_double_le(fabs(lower - 0.5 - 1 / (3 * sqrt(2 * acos(-1) * s))),
                            0.01 / (s * sqrt(s)) + 1e-16);
        ck_assert_double_le(fabs(lower + upper - 1), DBL_EPSILON);
    }
    ck_assert_double_eq(incomplete_gamma(1e20, 1e21, false), 1);
    ck_assert_double_eq(incomplete_gamma(1e20, 1e19, false), 0);
    ck_assert_double_nan(incomplete_gamma(-1, 2, false));
}
END_TEST

static Suite *incomplete_gamma_suite(void)
{
    Suite *suite = suite_create("incomplete gamma");
    TCase *tests = tcase_create("incomplete gamma");
    tcase_add_loop_test(tests, balls_hold_what_mpfr_says, 0, ORDERS * DISTANCES);
    tcase_add_loop_test(tests, neighbours_differ_by_the_density, 0, 5 * DISTANCES);
    tcase_add_test(tests, values_of_floats_are_there);
    tcase_set_timeout(tests, 120);
    suite_add_tcase(suite, tests);
    return suite;
}

int main(void) { return suite_run(incomplete_gamma_suite()); }
