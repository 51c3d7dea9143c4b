/* Arb evaluates both by series, and by integrals of t^(s-1) exp(-t) near s = x, where for large s neither comes to an end that is
 * narrow. There the smaller of both is taken from its tail: with t = x (1 - v) and t = x (1 + v)
 *
 *     P = x^s e^-x / Gamma(s)  integral of (1 - v)^(s-1) e^(x v)   over 0 <= v <= 1,
 *     Q = x^s e^-x / Gamma(s)  integral of (1 + v)^(s-1) e^(-x v)  over v >= 0.
 *
 * With u = v and u = -v the logarithms of the integrands are (s - 1) (log(1 - u) + u) - |s - 1 - x| v, for x <= s - 1 and x >= s - 1,
 * and fall from 0 as -z^2 / 2, z = v sqrt(s): nothing cancels, and the integral is over some twenty units of z.
 */
#include "bench/primitives/incomplete_gamma.h"

#include <acb_calc.h>
#include <arb_hypgeom.h>
#include <math.h>

#include "bench/primitives/ball_values.h"

/* ---- the integral of a tail --------------------------------------------------------------------- */

struct tail {
    arb_t less_one, slope; /* s - 1, and s - 1 - x of P, x - s + 1 of Q */
    double s, root;        /* z = v root */
    bool upper;
};

/* log(1 - u) + u = -(u^2 / 2 + u^3 / 3 + ...), whose terms from u^(n+1) on are together below 2 |u|^(n+1) for |u| <= 1/4. */
static void logarithm_less_linear(acb_t y, const acb_t u, bool analytic, slong p)
{
    acb_t sum, square;
    arb_t term;
    mag_t size;
    acb_init(sum);
    acb_init(square);
    arb_init(term);
    mag_init(size);
    acb_get_mag(size, u);
    if (mag_cmp_2exp_si(size, -2) > 0) {
        acb_neg(sum, u);
        acb_add_ui(sum, sum, 1, p);
        acb_log_analytic(sum, sum, analytic, p);
        acb_add(y, sum, u, p);
    } else {
        double log2_size = fmin(mag_get_d_log2_approx(size), -2);
        slong n = (slong)((double)(p + 8) / -log2_size) + 2;
        for (slong k = n; k >= 2; k--) {
            arb_set_ui(term, 1);
            arb_div_ui(term, term, (ulong)k, p);
            acb_mul(sum, sum, u, p);
            acb_add_arb(sum, sum, term, p);
        }
        acb_mul(square, u, u, p);
        acb_mul(sum, sum, square, p);
        mag_pow_ui(size, size, (ulong)n + 1);
        mag_mul_2exp_si(size, size, 1);
        acb_add_error_mag(sum, size);
        acb_neg(y, sum);
    }
    acb_clear(sum);
    acb_clear(square);
    arb_clear(term);
    mag_clear(size);
}

/* For acb_calc_integrate: `order` is 0, or the value has to be analytic on z. */
static int integrand(acb_ptr out, const acb_t z, void *parameters, slong order, slong p)
{
    const struct tail *tail = parameters;
    acb_t v, u;
    arb_t root;
    acb_init(v);
    acb_init(u);
    arb_init(root);
    arb_set_d(root, tail->root);
    acb_div_arb(v, z, root, p);
    if (tail->upper) acb_neg(u, v);
    else acb_set(u, v);
    logarithm_less_linear(u, u, order != 0, p);
    acb_mul_arb(u, u, tail->less_one, p);
    acb_mul_arb(v, v, tail->slope, p);
    acb_sub(out, u, v, p);
    acb_exp(out, out, p);
    acb_clear(v);
    acb_clear(u);
    arb_clear(root);
    return ARB_CALC_SUCCESS;
}

/* The integrand is at most e exp(-fall(v)), which is convex (e: where s - 1 < x <= s). Of small v: the first terms, at most the sum. */
static double fall(const struct tail *tail, double v)
{
    double u = tail->upper ? -v : v, first = v * v * (0.5 - (tail->upper ? v / 3 : 0));
    return (tail->s - 1) * (v < 0x1p-10 ? first : -log1p(-u) - u);
}

/* A bound of the integral over z beyond v root: there the fall is at least that of its tangent. */
static void rest_of_tail(arb_t rest, const struct tail *tail, double v)
{
    double tangent = (tail->s - 1) / tail->root * v / (tail->upper ? 1 + v : 1 - v);
    arb_t factor;
    arb_init(factor);
    arb_set_d(rest, -fall(tail, v));
    arb_exp(rest, rest, 53);
    arb_set_d(factor, 8 / tangent); /* e, and what doubles round */
    arb_mul(rest, rest, factor, 53);
    arb_clear(factor);
}

static void integrate_tail(arb_t y, const struct tail *tail, slong p)
{
    const double enough = (double)(p + 16) * 0.6931471805599453;
    acb_t from, to, integral;
    arb_t rest;
    mag_t tolerance;
    double z = 1;
    while (fall(tail, z / tail->root) < enough && (tail->upper || z < 0.98 * tail->root - 0.5))
        z += 0.5;
    acb_init(from);
    acb_init(to);
    acb_init(integral);
    arb_init(rest);
    mag_init(tolerance);
    acb_set_d(to, z);
    mag_set_ui_2exp_si(tolerance, 1, -p - 8);
    acb_calc_integrate(integral, integrand, (void *)tail, from, to, p, tolerance, NULL, p + 32);
    rest_of_tail(rest, tail, z / tail->root);
    acb_get_real(y, integral);
    arb_add_error(y, rest);
    acb_clear(from);
    acb_clear(to);
    acb_clear(integral);
    arb_clear(rest);
    mag_clear(tolerance);
}

/* x^s e^-x / Gamma(s), whose logarithm is the difference of numbers of the size of s log s. */
static void peak(arb_t y, const arb_t s, const arb_t x, slong p)
{
    arb_t gamma;
    arb_init(gamma);
    arb_log(y, x, p);
    arb_mul(y, y, s, p);
    arb_sub(y, y, x, p);
    arb_lgamma(gamma, s, p);
    arb_sub(y, y, gamma, p);
    arb_exp(y, y, p);
    arb_clear(gamma);
}

/* Is s so large that a tail is a bell, x near it, and both known well enough to say so? */
static bool has_bell(const arb_t s, const arb_t x)
{
    enum { LEAST = 512, BITS = 30 };
    double at = arf_get_d(arb_midref(s), ARF_RND_NEAR),
           end = arf_get_d(arb_midref(x), ARF_RND_NEAR);
    return at > LEAST && end > at / 2 && end < 2 * at && isfinite(end) &&
           arb_rel_accuracy_bits(s) > BITS && arb_rel_accuracy_bits(x) > BITS;
}

static void from_tail(arb_t y, const arb_t s, const arb_t x, bool upper, slong p)
{
    struct tail tail = { .s = arf_get_d(arb_midref(s), ARF_RND_NEAR) };
    const slong work = p + 64 + 2 * ilogb(tail.s);
    arb_t factor;
    tail.upper = arf_cmp(arb_midref(x), arb_midref(s)) > 0;
    tail.root = sqrt(tail.s);
    arb_init(factor);
    arb_init(tail.less_one);
    arb_init(tail.slope);
    arb_sub_ui(tail.less_one, s, 1, work);
    arb_sub(tail.slope, tail.less_one, x, work);
    if (tail.upper) arb_neg(tail.slope, tail.slope);
    integrate_tail(y, &tail, p);
    peak(factor, s, x, work);
    arb_mul(y, y, factor, p + 32);
    arb_set_d(factor, tail.root);
    arb_div(y, y, factor, p + 32);
    if (tail.upper != upper) {
        arb_sub_ui(y, y, 1, p + 32);
        arb_neg(y, y);
    }
    arb_clear(factor);
    arb_clear(tail.less_one);
    arb_clear(tail.slope);
}

/* ---- the functions ------------------------------------------------------------------------------ */

void incomplete_gamma_ball(arb_t y, const arb_t s, const arb_t x, bool upper, slong p)
{
    if (has_bell(s, x)) from_tail(y, s, x, upper, p);
    else if (upper) arb_hypgeom_gamma_upper(y, s, x, 1, p);
    else arb_hypgeom_gamma_lower(y, s, x, 1, p);
}

static void ball_lower(arb_t y, const arb_t s, const arb_t x, slong p)
{
    incomplete_gamma_ball(y, s, x, false, p);
}

static void ball_upper(arb_t y, const arb_t s, const arb_t x, slong p)
{
    incomplete_gamma_ball(y, s, x, true, p);
}

static double limit_of(double s, double x, bool upper)
{
    if (isnan(s) || isnan(x) || s < 0 || x < 0 || (s == 0 && x == 0) || (isinf(s) && isinf(x)))
        return NAN;
    double lower = s == 0 || isinf(x) ? 1 : 0; /* else s is infinite or x is 0 */
    return upper ? 1 - lower : lower;
}

/* P below s and Q above it are at most exp(s log(x / s) + s - x) (Chernoff). Where that is less than half the least subnormal the
 * value is 0, the other one 1, and balls would need the digits of the tail. */
double incomplete_gamma(double s, double x, bool upper)
{
    if (!(s > 0) || !(x > 0) || isinf(s) || isinf(x)) return limit_of(s, x, upper);
    double tail = s * (log(x) - log(s)) + s - x;
    if (tail < -800 - 1e-14 * (s * (fabs(log(x)) + fabs(log(s))) + s + x))
        return (x > s) == upper ? 0 : 1;
    return value_from_ball2(upper ? ball_upper : ball_lower, s, x, 10240);
}
