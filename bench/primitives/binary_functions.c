/* Functions of two variables: value, error propagation, ball, partial derivatives. */
#include "bench/primitives/binary_functions.h"

#include <acb.h>
#include <math.h>
#include <sleef.h>
#include <string.h>

#include "bench/arithmetic/rounding.h"
#include "bench/arithmetic/vector_functions.h"
#include "bench/arithmetic/vector_math.h"
#include "bench/primitives/ball_values.h"
#include "bench/primitives/incomplete_gamma.h"
#include "bench/primitives/unary_functions.h"

#define TINY 0x1p-1074

/* clang-format off */
static double value_add(double a, double b) { return a + b; }
static double value_subtract(double a, double b) { return a - b; }
static double value_multiply(double a, double b) { return a * b; }
static double value_divide(double a, double b) { return a / b; }
/* clang-format on */
static double value_pow(double a, double b)
{
    if (b == 2) return a * a;
    if (b == 1) return a;
    if (b == 0.5 && a >= 0) return sqrt(a);
    return scalar_pow(a, b);
}
static double value_atan2(double a, double b) { return Sleef_atan2_u10(a, b); }
static double value_hypot(double a, double b) { return Sleef_hypot_u05(a, b); }
static double value_fmod(double a, double b) { return fmod(a, b); }
static double value_remainder(double a, double b)
{
    double r = fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
static double value_copysign(double a, double b) { return copysign(a, b); }

/* floor(a / b) of the exact quotient, as Python's // has it: from the exact remainder. */
static double value_floor_divide(double a, double b)
{
    if (b == 0) return a / b;
    double rest = fmod(a, b), quotient = (a - rest) / b;
    if (rest != 0 && (b < 0) != (rest < 0)) quotient -= 1;
    if (quotient == 0) return copysign(0, a / b);
    double whole = floor(quotient);
    return quotient - whole > 0.5 ? whole + 1 : whole;
}

static double value_logaddexp(double a, double b)
{
    if (isinf(a) && a == b) return a;
    return fmax(a, b) + scalar_log1p(scalar_exp(-fabs(a - b))) + (isnan(a) ? a : 0);
}

static double value_logaddexp2(double a, double b)
{
    if (isinf(a) && a == b) return a;
    return fmax(a, b) + scalar_log1p(scalar_exp2(-fabs(a - b))) * 0x1.71547652b82fep+0 +
           (isnan(a) ? a : 0);
}

static double value_xlogy(double a, double b)
{
    return isnan(b) ? b : a == 0 ? 0 : a * scalar_log(b);
}

static void ball_polygamma(arb_t y, const arb_t n, const arb_t x, slong p);
static void ball_zeta(arb_t y, const arb_t s, const arb_t q, slong p);

static double value_igamma(double s, double x) { return incomplete_gamma(s, x, false); }
static double value_igammac(double s, double x) { return incomplete_gamma(s, x, true); }

/* The derivative of digamma for x > 0: shifted up to 20, then the asymptotic series, whose next
 * term is below 1e-21 of the value. All terms but one of the series are positive: 20 roundings. */
static double trigamma_series(double x)
{
    static const double b[] = { 1.0 / 6,  -1.0 / 30,     1.0 / 42, -1.0 / 30,
                                5.0 / 66, -691.0 / 2730, 7.0 / 6 };
    double sum = 0, series = 0;
    for (; x < 20; x += 1) sum += 1 / (x * x);
    double y = 1 / (x * x);
    for (int i = 6; i >= 0; i--) series = (series + b[i]) * y;
    return sum + (1 / x + (0.5 * y + series / x));
}

/* The n-th derivative of digamma at x; n = 0 is digamma itself. */
static double value_polygamma(double n, double x)
{
    if (n == 0) return unary_find("digamma")->scalar(x);
    if (isnan(x) || x == -INFINITY) return NAN;
    if (x == INFINITY) return 0;
    if (x <= 0 && x == floor(x)) return fmod(n, 2) == 1 ? INFINITY : NAN;
    if (n == 1 && x > 0x1p-500) return trigamma_series(x);
    return value_from_ball2(ball_polygamma, n, x, 10240);
}

/* Hurwitz's zeta function, the sum over k of (q + k)^-s, is between q^-s and q^-s + q^(1-s) / (s - 1) for q > 0; for
 * q < 0 and large s all that counts is the term nearest to a pole. */
static double zeta_within_range(double s, double q)
{
    enum { BEYOND_DOUBLE = 800 };
    double nearest = q - rint(q), base = q > 0 ? q : fabs(nearest);
    if (q > 1 && (s - 1) * log(q) > BEYOND_DOUBLE) return 0;
    if (s * log(base) < -BEYOND_DOUBLE)
        return q < 0 && nearest < 0 && fmod(s, 2) != 0 ? -INFINITY : INFINITY;
    return value_from_ball2(ball_zeta, s, q, 640);
}

/* For s > 1, and negative q only with whole s. */
static double value_zeta(double s, double q)
{
    if (isnan(s) || isnan(q) || s < 1) return NAN;
    if (s == 1) return INFINITY;
    if (q <= 0 && q == floor(q)) return INFINITY;
    if (q < 0 && s != floor(s)) return NAN;
    if (isinf(q)) return isinf(s) ? NAN : 0;
    if (isinf(s)) return q > 1 ? 0 : q == 1 ? 1 : q > 0 ? INFINITY : NAN;
    return zeta_within_range(s, q);
}

static double error_sum(double a, double ea, double b, double eb, double y)
{
    (void)a, (void)b;
    return ea + eb + UNIT_ROUNDOFF * fabs(y);
}

static double error_product(double a, double ea, double b, double eb, double y)
{
    return fabs(a) * eb + fabs(b) * ea + ea * eb + UNIT_ROUNDOFF * fabs(y) + TINY;
}

/* |a/b - a'/b'| <= (ea + |a/b| eb) / (|b| - eb); numerics section 3.3. */
static double error_quotient(double a, double ea, double b, double eb, double y)
{
    (void)a;
    if (ea == 0 && eb == 0) return UNIT_ROUNDOFF * fabs(y) + TINY;
    return eb < fabs(b) ? (ea + fabs(y) * (1 + 2 * UNIT_ROUNDOFF) * eb) / (fabs(b) - eb) +
                              UNIT_ROUNDOFF * fabs(y) + TINY
                        : INFINITY;
}

/* |b' ln a' - b ln a| <= |b| t + (|ln a| + t) eb =: r with t = ea/(a - ea) >= |ln a' - ln a|, so the power moves by a
 * factor between e^-r and e^r, and e^r - 1 <= r + r^2 for r <= 1. */
static double error_pow(double a, double ea, double b, double eb, double y)
{
    double own = 2 * UNIT_ROUNDOFF * fabs(y) + TINY;
    if (ea == 0 && eb == 0) return own;
    if (a == 0 && ea == 0) return eb < b ? own : INFINITY;
    if (eb == 0 && a <= ea) { /* around or below zero: only small whole powers */
        if (b == 2 || b == 3) return b * pow(fabs(a) + ea, b - 1) * ea * (1 + 0x1p-30) + own;
        if (a >= 0 || b != floor(b) || -a <= ea) return INFINITY;
        a = -a;
    }
    if (a <= ea) return INFINITY;
    double relative = fabs(b) * ea / (a - ea) + (fabs(log(a)) + ea / (a - ea)) * eb;
    double moved = relative <= 1 ? relative + relative * relative : expm1(relative);
    /* y is the power within 2^-20 of it, rounded to float or not, and what underflows. */
    return moved * (1 + 0x1p-20) * (fabs(y) + TINY) + own;
}

static double error_atan2(double a, double ea, double b, double eb, double y)
{
    double own = 2 * UNIT_ROUNDOFF * fabs(y) + TINY;
    if (ea == 0 && eb == 0) return own;
    double r = hypot(a, b) - ea - eb;
    /* The branch cut along the negative axis. */
    if (r <= 0 || (b - eb < 0 && fabs(a) <= ea)) return INFINITY;
    return (ea + eb) / r * (1 + 0x1p-40) + own;
}

static double error_hypot(double a, double ea, double b, double eb, double y)
{
    (void)a, (void)b;
    return ea + eb + 2 * UNIT_ROUNDOFF * fabs(y) + TINY;
}

/* How many integers the quotient of inexact operands may pass: 0 where none is within reach; infinite where the divisor may be 0. */
static double passed_integers(double a, double ea, double b, double eb)
{
    if (!(fabs(b) > eb)) return INFINITY;
    double q = a / b;
    double reach = (ea + fabs(q) * eb) / (fabs(b) - eb) * (1 + 0x1p-40) +
                   2 * UNIT_ROUNDOFF * fabs(q);
    return fmin(q - floor(q), ceil(q) - q) > reach ? 0 : 2 * reach + 1;
}

/* fmod is exact for exact arguments; otherwise a - n b moves with both, and by b with every integer that n passes. */
static double error_rest(double a, double ea, double b, double eb, double y)
{
    (void)y;
    if (ea == 0 && eb == 0) return 0;
    double passed = passed_integers(a, ea, b, eb);
    return (ea + (fabs(a / b) + 1) * eb + passed * (fabs(b) + eb)) * (1 + 0x1p-40);
}

static double error_remainder(double a, double ea, double b, double eb, double y)
{
    return error_rest(a, ea, b, eb, y) + UNIT_ROUNDOFF * fabs(y);
}

/* The size of a with the sign of b, which b has where 0 is out of its reach, or it is exact. */
static double error_copysign(double a, double ea, double b, double eb, double y)
{
    (void)y;
    return eb == 0 || fabs(b) > eb ? ea : 2 * fabs(a) + ea;
}

/* a - rest and the division by b round, 2 u |y| in all: less than the half that the last step
 * mends up to 2^50. */
static double error_floor_divide(double a, double ea, double b, double eb, double y)
{
    return ea == 0 && eb == 0 && fabs(y) < 0x1p50 ? 0 : passed_integers(a, ea, b, eb);
}

/* max + log1p(exp(-d)), d = |a - b|: the rounding u d of exp's argument, exp's own 2 u and log1p's
 * enter relative to exp(-d) <= 1.45 log1p(exp(-d)). */
static double error_of_small(double small, double d)
{
    return small > 0 ? (16 + 2 * d) * UNIT_ROUNDOFF * small : 0;
}
static double error_logaddexp(double a, double ea, double b, double eb, double y)
{
    double d = fabs(a - b);
    return fmax(ea, eb) + UNIT_ROUNDOFF * fabs(y) + error_of_small(log1p(exp(-d)), d) + TINY;
}
static double error_logaddexp2(double a, double ea, double b, double eb, double y)
{
    double d = fabs(a - b);
    return fmax(ea, eb) + UNIT_ROUNDOFF * fabs(y) + error_of_small(1.4427 * log1p(exp2(-d)), d) +
           TINY;
}

static double error_xlogy(double a, double ea, double b, double eb, double y)
{
    double own = 4 * UNIT_ROUNDOFF * fabs(y) + TINY;
    if (ea == 0 && eb == 0) return a == 0 ? 0 : own;
    if (eb >= b) return INFINITY;
    double log_error = eb > 0 ? eb / (b - eb) : 0;
    return (fabs(a) + ea) * log_error + ea * fabs(log(b)) * (1 + 8 * UNIT_ROUNDOFF) + own;
}

/* One ulp for exact arguments; otherwise the balls decide. */
static double error_wrapped(double a, double ea, double b, double eb, double y)
{
    (void)a, (void)b;
    return ea == 0 && eb == 0 ? 2 * UNIT_ROUNDOFF * fabs(y) + TINY : INFINITY;
}

/* Bound of |d/ds zeta|, the sum of |log t| t^-s over t = q + k, from s on: log t < t^d / d for t >= 1, where d is what
 * leaves an exponent above 1, and the sum of t^-r over t >= m is at most m^-r + m^(1-r) / (r - 1). */
static double zeta_slope(double s, double q, double es)
{
    double least = s - es, d = fmin((least - 1) / 2, 0.5), r = least - d, m = fmax(q, 1);
    double slope = (pow(m, -r) + pow(m, 1 - r) / (r - 1)) / d;
    if (q < 1) slope += fabs(log(q)) * pow(q, -(s + es));
    return slope * (1 + 0x1p-30);
}

static double error_zeta(double s, double es, double q, double eq, double y)
{
    if (eq > 0 || (es > 0 && !(s - es > 1 + 0x1p-20 && q > 0))) return INFINITY;
    return (es > 0 ? es * zeta_slope(s, q, es) : 0) + 2 * UNIT_ROUNDOFF * fabs(y) + TINY;
}

static double error_polygamma(double n, double en, double x, double ex, double y)
{
    if (ex > 0 && n == 1 && en == 0 && x > ex) { /* its slope: 2 sum 1/(x+k)^3 <= 2/x^3 + 1/x^2 */
        double low = (x - ex) * (1 - 0x1p-50);
        return ex * (2 / low + 1) / (low * low) + 32 * UNIT_ROUNDOFF * fabs(y) + TINY;
    }
    double units = n == 0 ? 2 * unary_find("digamma")->ulps : n == 1 ? 32 : 2;
    return ex == 0 && en == 0 ? units * UNIT_ROUNDOFF * fabs(y) + TINY : INFINITY;
}

static void ball_floor_divide(arb_t y, const arb_t a, const arb_t b, slong p)
{
    if (!arb_is_finite(b)) { /* the quotient is 0 from one side */
        arb_set_si(y, arb_is_zero(a) || arb_is_negative(a) == arb_is_negative(b) ? 0 : -1);
        return;
    }
    arb_div(y, a, b, p + 1100);
    arb_floor(y, y, p);
}

static void ball_logaddexp(arb_t y, const arb_t a, const arb_t b, slong p)
{
    bool a_larger = arf_cmp(arb_midref(a), arb_midref(b)) >= 0;
    const arb_struct *high = a_larger ? a : b, *low = a_larger ? b : a;
    arb_t t;
    arb_init(t);
    arb_sub(t, low, high, p);
    arb_exp(t, t, p);
    arb_log1p(t, t, p);
    arb_add(y, high, t, p);
    arb_clear(t);
}

static void ball_logaddexp2(arb_t y, const arb_t a, const arb_t b, slong p)
{
    bool a_larger = arf_cmp(arb_midref(a), arb_midref(b)) >= 0;
    const arb_struct *high = a_larger ? a : b, *low = a_larger ? b : a;
    arb_t t, ln2;
    arb_init(t);
    arb_init(ln2);
    arb_const_log2(ln2, p);
    arb_sub(t, low, high, p);
    arb_mul(t, t, ln2, p);
    arb_exp(t, t, p);
    arb_log1p(t, t, p);
    arb_div(t, t, ln2, p);
    arb_add(y, high, t, p);
    arb_clear(t);
    arb_clear(ln2);
}

static void ball_xlogy(arb_t y, const arb_t a, const arb_t b, slong p)
{
    arb_t t;
    if (arb_is_zero(a)) {
        arb_zero(y);
        return;
    }
    arb_init(t);
    arb_log(t, b, p);
    arb_mul(y, a, t, p);
    arb_clear(t);
}

static void ball_igamma(arb_t y, const arb_t s, const arb_t x, slong p)
{
    incomplete_gamma_ball(y, s, x, false, p);
}

static void ball_igammac(arb_t y, const arb_t s, const arb_t x, slong p)
{
    incomplete_gamma_ball(y, s, x, true, p);
}

static void ball_polygamma_sum(arb_t y, const arb_t n, const arb_t x, slong p)
{
    acb_t order, z;
    acb_init(order);
    acb_init(z);
    acb_set_arb(order, n);
    acb_set_arb(z, x);
    acb_polygamma(z, order, z, p);
    arb_set(y, acb_realref(z));
    acb_clear(order);
    acb_clear(z);
}

/* The n-th derivative of cot at y with t = cot(y): P_n(t), where P_0 = t and P_(k+1) = -(1 + t^2) P_k'. */
static void ball_cotangent_derivative(arb_t y, slong n, const arb_t t, slong p)
{
    arb_ptr c = _arb_vec_init(n + 3), next = _arb_vec_init(n + 3);
    arb_set_si(c + 1, 1);
    for (slong degree = 1; degree <= n; degree++) {
        for (slong k = 0; k <= degree + 1; k++) {
            arb_mul_si(next + k, c + k + 1, -(k + 1), p);
            arb_set_si(y, 1 - k);
            if (k) arb_addmul(next + k, c + k - 1, y, p);
        }
        for (slong k = 0; k <= degree + 1; k++) arb_swap(c + k, next + k);
    }
    arb_zero(y);
    for (slong k = n + 1; k >= 0; k--) {
        arb_mul(y, y, t, p);
        arb_add(y, y, c + k, p);
    }
    _arb_vec_clear(c, n + 3);
    _arb_vec_clear(next, n + 3);
}

/* Below 0 Arb adds |x| terms: there -(d/dx)^n pi cot(pi x) + (-1)^n polygamma(n, 1 - x), DLMF 5.15.6. */
static void ball_polygamma(arb_t y, const arb_t n, const arb_t x, slong p)
{
    enum { LEAST = -32, MOST_ORDER = 64 };
    slong order = arf_get_si(arb_midref(n), ARF_RND_NEAR);
    if (!arb_is_int(n) || order < 1 || order > MOST_ORDER || !arb_is_finite(x) ||
        arf_cmp_si(arb_midref(x), LEAST) > 0 || !arb_is_negative(x)) {
        ball_polygamma_sum(y, n, x, p);
        return;
    }
    arb_t rest, t, pi;
    arb_init(rest);
    arb_init(t);
    arb_init(pi);
    slong wide = p + 64 + 4 * order;
    arb_sub_si(rest, x, 1, ARF_PREC_EXACT);
    arb_neg(rest, rest);
    ball_polygamma_sum(rest, n, rest, p);
    if (order % 2) arb_neg(rest, rest);
    arb_sin_pi(pi, x, wide);
    arb_cos_pi(t, x, wide);
    arb_div(pi, t, pi, wide);
    ball_cotangent_derivative(t, order, pi, wide);
    arb_const_pi(pi, wide);
    arb_pow_ui(pi, pi, (ulong)order + 1, wide);
    arb_mul(t, t, pi, wide);
    arb_sub(y, rest, t, p);
    arb_clear(rest);
    arb_clear(t);
    arb_clear(pi);
}

/* From 2^17 on, where Arb sums too many terms, q^-s: for q <= 2 the others are less than (2/3)^s of it. */
static void ball_zeta(arb_t y, const arb_t s, const arb_t q, slong p)
{
    acb_t order, z;
    if (arf_cmpabs_2exp_si(arb_midref(s), 17) > 0 && arb_is_positive(q) &&
        arf_cmpabs_2exp_si(arb_midref(q), 1) < 0) {
        arb_t power;
        arb_init(power);
        arb_neg(power, s);
        arb_pow(y, q, power, p);
        arb_mul_2exp_si(power, y, -40000);
        arb_add_error(y, power);
        arb_clear(power);
        return;
    }
    acb_init(order);
    acb_init(z);
    acb_set_arb(order, s);
    acb_set_arb(z, q);
    acb_hurwitz_zeta(z, order, z, p);
    arb_set(y, acb_realref(z));
    acb_clear(order);
    acb_clear(z);
}

static void ball_fmod(arb_t y, const arb_t a, const arb_t b, slong p)
{
    arb_t q;
    arb_init(q);
    arb_div(q, a, b, p + 1100);
    if (arb_is_nonnegative(q)) arb_floor(q, q, p + 1100);
    else if (arb_is_nonpositive(q)) arb_ceil(q, q, p + 1100);
    else arb_indeterminate(q);
    arb_mul(q, q, b, p + 1100);
    arb_sub(y, a, q, p);
    arb_clear(q);
}

static void ball_remainder(arb_t y, const arb_t a, const arb_t b, slong p)
{
    arb_t q;
    arb_init(q);
    arb_div(q, a, b, p + 1100);
    arb_floor(q, q, p + 1100);
    arb_mul(q, q, b, p + 1100);
    arb_sub(y, a, q, p);
    arb_clear(q);
}

static void ball_pow(arb_t y, const arb_t a, const arb_t b, slong p)
{
    if (arb_is_exact(b) && arb_is_int(b) && arf_cmpabs_2exp_si(arb_midref(b), 30) < 0) {
        slong n = arf_get_si(arb_midref(b), ARF_RND_NEAR);
        arb_pow_ui(y, a, (ulong)(n < 0 ? -n : n), p);
        if (n < 0) arb_inv(y, y, p);
        return;
    }
    arb_pow(y, a, b, p);
}

static void ball_hypot(arb_t y, const arb_t a, const arb_t b, slong p) { arb_hypot(y, a, b, p); }

static void ball_copysign(arb_t y, const arb_t a, const arb_t b, slong p)
{
    (void)p;
    arb_abs(y, a);
    if (arb_is_negative(b)) arb_neg(y, y);
    else if (arb_contains_zero(b)) arb_indeterminate(y); /* -0 is not a real number */
}

/* ---- the table ------------------------------------------------------------------------------ */

/* clang-format off */
static const struct binary_function functions[] = {
    { "add",       value_add,       error_sum,        arb_add,        NULL,        1, NULL },
    { "subtract",  value_subtract,  error_sum,        arb_sub,        NULL,        -1, NULL },
    { "multiply",  value_multiply,  error_product,    arb_mul,        partials_multiply, 0, NULL },
    { "divide",    value_divide,    error_quotient,   arb_div,        partials_divide, 0, NULL },
    { "pow",       value_pow,       error_pow,        ball_pow,       partials_pow, 0, array_pow },
    { "atan2",     value_atan2,     error_atan2,      arb_atan2,      partials_atan2, 0, NULL },
    { "hypot",     value_hypot,     error_hypot,      ball_hypot,     partials_hypot, 0, NULL },
    { "fmod",      value_fmod,      error_rest, ball_fmod,      partials_fmod, 0, NULL },
    { "remainder", value_remainder, error_remainder,  ball_remainder, partials_remainder, 0, NULL },
    { "floor_divide", value_floor_divide, error_floor_divide, ball_floor_divide, partials_flat, 0, NULL },
    { "logaddexp", value_logaddexp, error_logaddexp,  ball_logaddexp, partials_logaddexp, 0, NULL },
    { "logaddexp2", value_logaddexp2, error_logaddexp2, ball_logaddexp2, partials_logaddexp2, 0, NULL },
    { "xlogy",     value_xlogy,     error_xlogy,      ball_xlogy,     partials_xlogy, 0, NULL },
    { "igamma",    value_igamma,    error_wrapped,    ball_igamma,    partials_igamma, 0, NULL },
    { "igammac",   value_igammac,   error_wrapped,    ball_igammac,   partials_igammac, 0, NULL },
    { "polygamma", value_polygamma, error_polygamma,    ball_polygamma, partials_polygamma, 0, NULL },
    { "zeta",      value_zeta,      error_zeta,    ball_zeta,      partials_zeta, 0, NULL },
    { "copysign",  value_copysign,  error_copysign, ball_copysign,  partials_copysign, 0, NULL },
};
/* clang-format on */

const struct binary_function *binary_functions(size_t *count)
{
    *count = sizeof functions / sizeof *functions;
    return functions;
}

const struct binary_function *binary_find(const char *name)
{
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (!strcmp(functions[i].name, name)) return &functions[i];
    return NULL;
}

char binary_operation(const struct binary_function *f)
{
    static const struct {
        const char *name;
        char operation;
    } basic[] = { { "add", '+' }, { "subtract", '-' }, { "multiply", '*' }, { "divide", '/' } };
    for (size_t i = 0; i < sizeof basic / sizeof *basic; i++)
        if (!strcmp(f->name, basic[i].name)) return basic[i].operation;
    return 0;
}
