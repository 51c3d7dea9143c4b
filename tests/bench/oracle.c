/* Formulas from definitions, and MPFR's functions. */
#include "bench/oracle.h"

#include <acb.h>
#include <acb_hypgeom.h>
#include <arb_hypgeom.h>
#include <math.h>
#include <string.h>

#define BALL(NAME)  static void NAME(arb_t y, const arb_t x, slong p)
#define BALL2(NAME) static void NAME(arb_t y, const arb_t a, const arb_t b, slong p)
#define MPFR(NAME)  static int NAME(mpfr_t y, const mpfr_t x, mpfr_rnd_t rounding)
#define MPFR2(NAME) static int NAME(mpfr_t y, const mpfr_t a, const mpfr_t b, mpfr_rnd_t rounding)

/* ---- one variable, balls ------------------------------------------------------------------ */

BALL(o_abs)
{
    (void)p;
    arb_abs(y, x);
}
BALL(o_sign)
{
    (void)p;
    arb_sgn(y, x);
}
/* toward zero: sign(x) floor|x| */
BALL(o_trunc)
{
    arb_t s;
    arb_init(s);
    arb_sgn(s, x);
    arb_abs(y, x);
    arb_floor(y, y, p);
    arb_mul(y, y, s, p);
    arb_clear(s);
}
/* half to even: of an exact x; away from halves floor(x + 1/2) of any */
BALL(o_round)
{
    arb_t half, twice;
    arb_init(half);
    arb_init(twice);
    arb_set_d(half, 0.5);
    arb_add(half, half, x, ARF_PREC_EXACT);
    arb_mul_2exp_si(twice, x, 1);
    if (arb_is_exact(x) && arb_is_int(twice) && !arb_is_int(x)) { /* a tie */
        arb_mul_2exp_si(twice, half, -1);
        arb_floor(twice, twice, ARF_PREC_EXACT);
        arb_mul_2exp_si(twice, twice, 1); /* the even one of half - 1 and half */
        arb_set(y, twice);
        arb_sub(twice, half, twice, ARF_PREC_EXACT);
        if (!arb_is_zero(twice)) arb_sub_ui(half, half, 1, ARF_PREC_EXACT), arb_set(y, half);
    } else {
        arb_floor(y, half, p);
    }
    arb_clear(half);
    arb_clear(twice);
}
BALL(o_frac)
{
    arb_t t;
    arb_init(t);
    o_trunc(t, x, ARF_PREC_EXACT);
    arb_sub(y, x, t, p);
    arb_clear(t);
}
/* 2^x = exp(x ln 2) */
BALL(o_exp2)
{
    arb_t c;
    arb_init(c);
    arb_const_log2(c, p + 64);
    arb_mul(c, c, x, p + 64);
    arb_exp(y, c, p);
    arb_clear(c);
}
static void log_of_base(arb_t y, const arb_t x, ulong base, slong p)
{
    arb_t c;
    arb_init(c);
    arb_log_ui(c, base, p + 20);
    arb_log(y, x, p + 20);
    arb_div(y, y, c, p);
    arb_clear(c);
}
BALL(o_log2) { log_of_base(y, x, 2, p); }
BALL(o_log10) { log_of_base(y, x, 10, p); }
BALL(o_reciprocal) { arb_ui_div(y, 1, x, p); }
BALL(o_square) { arb_pow_ui(y, x, 2, p); }
/* exp(x) / (1 + exp(x)), mirrored for x > 0 */
BALL(o_sigmoid)
{
    arb_t e, one;
    bool positive = arf_sgn(arb_midref(x)) > 0;
    arb_init(e);
    arb_init(one);
    if (positive) arb_neg(e, x);
    else arb_set(e, x);
    arb_exp(e, e, p + 10);
    arb_add_ui(one, e, 1, p + 10);
    if (positive) arb_ui_div(y, 1, one, p);
    else arb_div(y, e, one, p);
    arb_clear(e);
    arb_clear(one);
}
BALL(o_silu)
{
    arb_t s;
    arb_init(s);
    o_sigmoid(s, x, p + 10);
    arb_mul(y, s, x, p);
    arb_clear(s);
}
/* ln(1 + e^x) */
BALL(o_softplus)
{
    arb_t e;
    bool positive = arf_sgn(arb_midref(x)) > 0;
    arb_init(e);
    if (positive) arb_neg(e, x);
    else arb_set(e, x);
    arb_exp(e, e, p + 10);
    arb_log1p(e, e, p + 10);
    if (positive) arb_add(y, e, x, p);
    else arb_set(y, e);
    arb_clear(e);
}
BALL(o_logsigmoid)
{
    arb_t t;
    arb_init(t);
    arb_neg(t, x);
    o_softplus(y, t, p);
    arb_neg(y, y);
    arb_clear(t);
}
/* x tanh(ln(1 + e^x)) = x (1 - 2 / ((1 + e^x)^2 + 1)) = x e (e + 2) / ((1 + e)^2 + 1) */
BALL(o_mish)
{
    arb_t e, t;
    arb_init(e);
    arb_init(t);
    if (arf_cmp_si(arb_midref(x), 1000) > 0) { /* 1 - tanh(x) < 2^-2000 */
        arb_set_ui(t, 1);
        mag_set_ui_2exp_si(arb_radref(t), 1, -2000);
        arb_mul(y, x, t, p);
    } else {
        arb_exp(e, x, p + 20);
        arb_add_ui(t, e, 2, p + 20);
        arb_mul(t, t, e, p + 20);
        arb_add_ui(e, t, 2, p + 20);
        arb_div(t, t, e, p + 20);
        arb_mul(y, t, x, p);
    }
    arb_clear(e);
    arb_clear(t);
}
/* x Phi(x), Phi(x) = erfc(-x / sqrt 2) / 2 */
BALL(o_gelu)
{
    arb_t t;
    arb_init(t);
    arb_set_ui(t, 2);
    arb_rsqrt(t, t, p + 64);
    arb_mul(t, t, x, p + 64);
    arb_neg(t, t);
    arb_hypgeom_erfc(t, t, p + 20);
    arb_mul(t, t, x, p);
    arb_mul_2exp_si(y, t, -1);
    arb_clear(t);
}
/* ln|Gamma(x)|; for x < 0 by Gamma(x) Gamma(1 - x) = pi / sin(pi x) */
BALL(o_lgamma)
{
    arb_t t, s;
    if (arf_sgn(arb_midref(x)) > 0) {
        arb_lgamma(y, x, p);
        return;
    }
    arb_init(t);
    arb_init(s);
    arb_sin_pi(t, x, p + 60);
    arb_abs(t, t);
    arb_const_pi(s, p + 60);
    arb_div(t, s, t, p + 60);
    arb_log(t, t, p + 60);
    arb_neg(s, x);
    arb_add_ui(s, s, 1, p + 1100);
    arb_lgamma(s, s, p + 60);
    arb_sub(y, t, s, p);
    arb_clear(t);
    arb_clear(s);
}
/* I_n(x) = sum (x/2)^(n+2k) / (k! (n+k)!): Arb's 0F1 form */
static void bessel(arb_t y, const arb_t x, int n, slong p)
{
    acb_t z, order, out;
    acb_init(z);
    acb_init(order);
    acb_init(out);
    acb_set_arb(z, x);
    acb_set_si(order, n);
    acb_hypgeom_bessel_i_0f1(out, order, z, 0, p + 40);
    acb_get_real(y, out);
    acb_clear(z);
    acb_clear(order);
    acb_clear(out);
}
BALL(o_i0) { bessel(y, x, 0, p); }
BALL(o_i1) { bessel(y, x, 1, p); }
BALL(o_sinc)
{
    arb_t t;
    if (arb_is_zero(x)) {
        arb_one(y);
        return;
    }
    arb_init(t);
    arb_const_pi(t, p + 20);
    arb_mul(t, t, x, p + 20);
    arb_sin_pi(y, x, p + 20);
    arb_div(y, y, t, p);
    arb_clear(t);
}
BALL(o_times_pi)
{
    arb_t t;
    arb_init(t);
    arb_const_pi(t, p + 10);
    arb_mul(y, x, t, p);
    arb_clear(t);
}
BALL(o_deg2rad)
{
    o_times_pi(y, x, p + 10);
    arb_div_ui(y, y, 180, p);
}
BALL(o_rad2deg)
{
    arb_t t;
    arb_init(t);
    arb_const_pi(t, p + 10);
    arb_div(t, x, t, p + 10);
    arb_mul_ui(y, t, 180, p);
    arb_clear(t);
}
/* exp(-x^2 / 2) / sqrt(2 pi) = exp(-(x^2 + ln 2 pi) / 2) */
BALL(o_normal_pdf)
{
    arb_t c, t;
    arb_init(c);
    arb_init(t);
    arb_const_pi(c, p + 40);
    arb_mul_2exp_si(c, c, 1);
    arb_log(c, c, p + 40);
    arb_mul(t, x, x, p + 40);
    arb_add(t, t, c, p + 40);
    arb_mul_2exp_si(t, t, -1);
    arb_neg(t, t);
    arb_exp(y, t, p);
    arb_clear(c);
    arb_clear(t);
}

/* The asymptotic series of erfcx, 1 / (x sqrt pi) sum (-1)^k (2k - 1)!! / (2 x^2)^k: the rest is smaller than the first term
 * that is left out. */
static void erfcx_series(arb_t y, const arb_t x, slong p)
{
    arb_t term, ratio, sum;
    arb_init(term);
    arb_init(ratio);
    arb_init(sum);
    arb_one(term);
    arb_mul(ratio, x, x, p + 20);
    arb_mul_2exp_si(ratio, ratio, 1);
    for (ulong k = 0; k < 200; k++) {
        arb_add(sum, sum, term, p + 20);
        arb_mul_ui(term, term, 2 * k + 1, p + 20);
        arb_div(term, term, ratio, p + 20);
        arb_neg(term, term);
    }
    arb_add_error(sum, term);
    arb_const_sqrt_pi(ratio, p + 20);
    arb_mul(ratio, ratio, x, p + 20);
    arb_div(y, sum, ratio, p);
    arb_clear(term);
    arb_clear(ratio);
    arb_clear(sum);
}
BALL(o_erfcx)
{
    if (arf_cmp_si(arb_midref(x), 10000) > 0) {
        erfcx_series(y, x, p);
        return;
    }
    arb_t e;
    arb_init(e);
    arb_mul(e, x, x, p + 80);
    arb_exp(e, e, p + 40);
    arb_hypgeom_erfc(y, x, p + 40);
    arb_mul(y, y, e, p);
    arb_clear(e);
}
/* sqrt(2) erfinv(2 x - 1) */
BALL(o_ndtri)
{
    arb_t t;
    arb_init(t);
    arb_mul_2exp_si(t, x, 1);
    arb_sub_ui(t, t, 1, ARF_PREC_EXACT);
    arb_hypgeom_erfinv(y, t, p + 1100);
    arb_sqrt_ui(t, 2, p + 20);
    arb_mul(y, y, t, p);
    arb_clear(t);
}
/* log(erfcx(t) / 2) - t^2 with t = -x / sqrt 2; right of 0 log(1 - erfc(-t) / 2) */
BALL(o_log_ndtr)
{
    arb_t t, s;
    arb_init(t);
    arb_init(s);
    arb_sqrt_ui(t, 2, p + 80);
    arb_div(t, x, t, p + 80);
    if (arf_sgn(arb_midref(x)) > 0) {
        arb_hypgeom_erfc(s, t, p + 20);
        arb_mul_2exp_si(s, s, -1);
        arb_neg(s, s);
        arb_log1p(y, s, p);
    } else {
        arb_neg(t, t);
        o_erfcx(s, t, p + 20);
        arb_mul_2exp_si(s, s, -1);
        arb_log(s, s, p + 20);
        arb_mul(t, t, t, p + 80);
        arb_sub(y, s, t, p);
    }
    arb_clear(t);
    arb_clear(s);
}
/* exp(-|x|) I_n(x); Arb's scaled asymptotic series far out */
static void scaled_bessel_i(arb_t y, const arb_t x, int n, slong p)
{
    bool negative = arf_sgn(arb_midref(x)) < 0;
    arb_t t, e;
    arb_init(t);
    arb_init(e);
    if (negative) arb_neg(t, x);
    else arb_set(t, x);
    if (arf_cmp_si(arb_midref(t), 1000) > 0) {
        acb_t z, order;
        acb_init(z);
        acb_init(order);
        acb_set_arb(z, t);
        acb_set_si(order, n);
        acb_hypgeom_bessel_i_asymp(z, order, z, 1, p + 40);
        acb_get_real(y, z);
        acb_clear(z);
        acb_clear(order);
    } else {
        bessel(y, t, n, p + 20);
        arb_neg(e, t);
        arb_exp(e, e, p + 20);
        arb_mul(y, y, e, p);
    }
    if (negative && n % 2) arb_neg(y, y);
    arb_clear(t);
    arb_clear(e);
}
BALL(o_i0e) { scaled_bessel_i(y, x, 0, p); }
BALL(o_i1e) { scaled_bessel_i(y, x, 1, p); }
/* K_n by its asymptotic series far out, else by the limit of the difference of two I's */
static void bessel_k(arb_t y, const arb_t x, int n, bool scaled, slong p)
{
    acb_t z, order;
    if (!arb_is_positive(x)) {
        arb_indeterminate(y);
        return;
    }
    acb_init(z);
    acb_init(order);
    acb_set_arb(z, x);
    acb_set_si(order, n);
    if (arf_cmp_si(arb_midref(x), 100) > 0) acb_hypgeom_bessel_k_asymp(z, order, z, scaled, p + 40);
    else acb_hypgeom_bessel_k_0f1(z, order, z, scaled, p + 320);
    acb_get_real(y, z);
    acb_clear(z);
    acb_clear(order);
}
BALL(o_k0) { bessel_k(y, x, 0, false, p); }
BALL(o_k1) { bessel_k(y, x, 1, false, p); }
BALL(o_k0e) { bessel_k(y, x, 0, true, p); }
BALL(o_k1e) { bessel_k(y, x, 1, true, p); }
static void bessel_jy(arb_t y, const arb_t x, int n, bool second, slong p)
{
    acb_t z, order, j;
    acb_init(z);
    acb_init(order);
    acb_init(j);
    acb_set_arb(z, x);
    acb_set_si(order, n);
    if (second) acb_hypgeom_bessel_jy(j, z, order, z, p + 40);
    else if (arf_cmpabs_ui(arb_midref(x), 200) < 0) acb_hypgeom_bessel_j_0f1(z, order, z, p + 640);
    else acb_hypgeom_bessel_j_asymp(z, order, z, p + 40);
    acb_get_real(y, z);
    acb_clear(z);
    acb_clear(order);
    acb_clear(j);
}
BALL(o_j0) { bessel_jy(y, x, 0, false, p); }
BALL(o_j1) { bessel_jy(y, x, 1, false, p); }
BALL(o_y0) { bessel_jy(y, x, 0, true, p); }
BALL(o_y1) { bessel_jy(y, x, 1, true, p); }
/* How far the terms of Ai's series grow, exp(2/3 |x|^(3/2)), in bits. */
static slong airy_bits(const arb_t x)
{
    return 20 + (slong)pow(fabs(arf_get_d(arb_midref(x), ARF_RND_NEAR)), 1.5);
}
static slong airy_terms(const arb_t x, slong p) { return 20 + (p + 4 * airy_bits(x)) / 2; }
/* Ai by its two series about 0, or the asymptotic ones */
static void airy(arb_t value, arb_t slope, const arb_t x, slong p)
{
    acb_t z, ai, aip;
    acb_init(z);
    acb_init(ai);
    acb_init(aip);
    acb_set_arb(z, x);
    if (arf_cmpabs_ui(arb_midref(x), 40) < 0)
        acb_hypgeom_airy_direct(ai, aip, NULL, NULL, z, airy_terms(x, p), p + 4 * airy_bits(x));
    else acb_hypgeom_airy_asymp(ai, aip, NULL, NULL, z, p / 4, p + 40);
    acb_get_real(value, ai);
    acb_get_real(slope, aip);
    acb_clear(z);
    acb_clear(ai);
    acb_clear(aip);
}
BALL(o_airy)
{
    arb_t other;
    arb_init(other);
    airy(y, other, x, p);
    arb_clear(other);
}
BALL(o_airy_prime)
{
    arb_t other;
    arb_init(other);
    airy(other, y, x, p);
    arb_clear(other);
}

/* ---- one variable, MPFR --------------------------------------------------------------------- */

MPFR(m_sign)
{
    (void)rounding;
    return mpfr_set_si(y, mpfr_sgn(x), MPFR_RNDN);
}
MPFR(m_reciprocal) { return mpfr_ui_div(y, 1, x, rounding); }
MPFR(m_lgamma)
{
    int sign;
    return mpfr_lgamma(y, &sign, x, rounding);
}

/* Waves have no value at infinity for a kernel. */
#define WAVE(NAME, function)                                   \
    MPFR(NAME)                                                 \
    {                                                          \
        if (mpfr_number_p(x)) return function(y, x, rounding); \
        mpfr_set_nan(y);                                       \
        return 0;                                              \
    }
WAVE(m_j0, mpfr_j0)
WAVE(m_j1, mpfr_j1)
WAVE(m_y0, mpfr_y0)
WAVE(m_y1, mpfr_y1)

/* clang-format off */
static const struct oracle oracles[] = {
    { "abs", o_abs, mpfr_abs, -10, 10, false, { 0 } },
    { "sign", o_sign, m_sign, -10, 10, false, { 0 } },
    { "floor", arb_floor, mpfr_rint_floor, -100, 100, false, { 0.5 } },
    { "ceil", arb_ceil, mpfr_rint_ceil, -100, 100, false, { 0.5 } },
    { "trunc", o_trunc, mpfr_rint_trunc, -100, 100, false, { 0.5 } },
    { "round", o_round, mpfr_rint_roundeven, -100, 100, false, { 0.5, 1.5, 2.5, 0.49999999999999994 } },
    { "frac", o_frac, mpfr_frac, -100, 100, false, { 0.5 } },
    { "exp", arb_exp, mpfr_exp, -750, 715, false, { 709.782712893384, 708, -708.3964, -745.1332191 } },
    { "exp2", o_exp2, mpfr_exp2, -1080, 1030, false, { 1024, 1023.999, -1022, -1074, -1075 } },
    { "expm1", arb_expm1, mpfr_expm1, -40, 715, false, { 709.782712893384, -37, 0.5 } },
    { "log", arb_log, mpfr_log, 0, 10, false, { 1, 0.5, 2, 2.718281828459045 } },
    { "log2", o_log2, mpfr_log2, 0, 10, false, { 1, 0.5, 2 } },
    { "log10", o_log10, mpfr_log10, 0, 1000, false, { 1, 10, 100, 1000 } },
    { "log1p", arb_log1p, mpfr_log1p, -1, 10, false, { -1, -0.5, 1, 0.25 } },
    { "sqrt", arb_sqrt, mpfr_sqrt, 0, 100, false, { 1, 4 } },
    { "rsqrt", arb_rsqrt, mpfr_rec_sqrt, 0, 100, false, { 1, 4 } },
    { "reciprocal", o_reciprocal, m_reciprocal, -10, 10, false, { 1, 3 } },
    { "square", o_square, mpfr_sqr, -10, 10, false, { 1, 3 } },
    { "sin", arb_sin, mpfr_sin, -30, 30, false, { 3.141592653589793, 1.5707963267948966, 15, 39000, 1e14 } },
    { "cos", arb_cos, mpfr_cos, -30, 30, false, { 3.141592653589793, 1.5707963267948966, 15, 39000, 1e14 } },
    { "tan", arb_tan, mpfr_tan, -30, 30, false, { 3.141592653589793, 1.5707963267948966, 15, 39000, 1e14 } },
    { "asin", arb_asin, mpfr_asin, -1, 1, false, { 1, 0.5, 0.7071067811865476 } },
    { "acos", arb_acos, mpfr_acos, -1, 1, false, { 1, 0.5, 0.7071067811865476 } },
    { "atan", arb_atan, mpfr_atan, -10, 10, false, { 1 } },
    { "sinh", arb_sinh, mpfr_sinh, -715, 715, false, { 710.4758600739439, 709, 1e-3 } },
    { "cosh", arb_cosh, mpfr_cosh, -715, 715, false, { 710.4758600739439, 709 } },
    { "tanh", arb_tanh, mpfr_tanh, -22, 22, false, { 18.7, 19, 22 } },
    { "asinh", arb_asinh, mpfr_asinh, -50, 50, false, { 1 } },
    { "acosh", arb_acosh, mpfr_acosh, 1, 50, false, { 1, 2 } },
    { "atanh", arb_atanh, mpfr_atanh, -1, 1, false, { 1, 0.5 } },
    { "erf", arb_hypgeom_erf, mpfr_erf, -6.5, 6.5, true, { 1, 2.5, 5.92, 6 } },
    { "erfc", arb_hypgeom_erfc, mpfr_erfc, -7, 28, true, { 1, 2.2, 4.2, 26.5, 27.2 } },
    { "sigmoid", o_sigmoid, NULL, -750, 50, false, { 709, -709, 745.2, -745.2, 36.7 } },
    { "silu", o_silu, NULL, -750, 50, false, { 709, -709, -745.2, -1.278 } },
    { "softplus", o_softplus, NULL, -750, 50, false, { 709, -709, -745.2, 20 } },
    { "logsigmoid", o_logsigmoid, NULL, -50, 750, false, { 709, -709, 745.2, -20 } },
    { "mish", o_mish, NULL, -750, 50, false, { 20, -1.19, -709, -745.2 } },
    { "gelu", o_gelu, NULL, -39, 10, true, { -0.75, -37.5, -38.4, 8.3 } },
    { "lgamma", o_lgamma, m_lgamma, -30, 30, true, { 1, 2, 0.5, 2.5, -0.5, -2.4570247382208006, -3 } },
    { "digamma", arb_digamma, mpfr_digamma, -30, 30, true, { 1.4616321449683622, 1, -0.5, -0.5040830082644554, 10 } },
    { "erfinv", arb_hypgeom_erfinv, NULL, -1, 1, true, { 1, 0.5, 0.9 } },
    { "i0", o_i0, NULL, -30, 30, true, { 713, 8, 720 } },
    { "i1", o_i1, NULL, -30, 30, true, { 713, 8, 720 } },
    { "sinc", o_sinc, NULL, -30, 30, false, { 1, 2, 0.5 } },
    { "sinpi", arb_sin_pi, mpfr_sinpi, -30, 30, false, { 1, 2, 0.5, 0.25 } },
    { "cospi", arb_cos_pi, mpfr_cospi, -30, 30, false, { 1, 2, 0.5, 0.25 } },
    { "times_pi", o_times_pi, NULL, -30, 30, false, { 1 } },
    { "deg2rad", o_deg2rad, NULL, -720, 720, false, { 90, 180, 360 } },
    { "rad2deg", o_rad2deg, NULL, -10, 10, false, { 3.141592653589793 } },
    { "erfcx", o_erfcx, NULL, -27, 50, true, { 1, -26.6, 10000 } },
    { "ndtri", o_ndtri, NULL, 0, 1, true, { 0.5, 1, 0.1 } },
    { "log_ndtr", o_log_ndtr, NULL, -40, 40, true, { 1, 38.5, 37.5 } },
    { "i0e", o_i0e, NULL, -30, 30, true, { 8, 1000 } },
    { "i1e", o_i1e, NULL, -30, 30, true, { 8, 1000 } },
    { "bessel_j0", o_j0, m_j0, -50, 50, true, { 5, 2.404825557695773, 200 } },
    { "bessel_j1", o_j1, m_j1, -50, 50, true, { 5, 3.8317059702075125, 200 } },
    { "bessel_y0", o_y0, m_y0, 0, 50, true, { 5, 0.8935769662791675 } },
    { "bessel_y1", o_y1, m_y1, 0, 50, true, { 5, 2.1971413260310170 } },
    { "bessel_k0", o_k0, NULL, 0, 50, true, { 2, 705, 742 } },
    { "bessel_k1", o_k1, NULL, 0, 50, true, { 2, 705, 742 } },
    { "k0e", o_k0e, NULL, 0, 50, true, { 2, 1000 } },
    { "k1e", o_k1e, NULL, 0, 50, true, { 2, 1000 } },
    { "airy_ai", o_airy, NULL, -20, 20, true, { 2.09, 103, 108, -2.3381074104597670 } },
    { "airy_ai_prime", o_airy_prime, NULL, -20, 20, true, { 2.09, 103, 108, -1.0187929716474710 } },
    { "normal_pdf", o_normal_pdf, NULL, -39, 39, false, { 1, 37.5, 38.5 } },
};
/* clang-format on */

const struct oracle *oracle_find(const char *name)
{
    for (size_t i = 0; i < sizeof oracles / sizeof *oracles; i++)
        if (!strcmp(oracles[i].name, name)) return &oracles[i];
    return NULL;
}

/* ---- two variables --------------------------------------------------------------------------- */

BALL2(o_pow) { arb_pow(y, a, b, p); }

/* fmod by its definition: a - trunc(a / b) b, with precision for any quotient of doubles. */
BALL2(o_fmod)
{
    arb_t q;
    arb_init(q);
    arb_div(q, a, b, p + 2300);
    o_trunc(q, q, ARF_PREC_EXACT);
    arb_mul(q, q, b, p + 2300);
    arb_sub(y, a, q, p);
    arb_clear(q);
}
BALL2(o_floor_divide)
{
    arb_t q;
    arb_init(q);
    arb_div(q, a, b, p + 2300);
    arb_floor(y, q, p + 2300);
    arb_clear(q);
}
BALL2(o_remainder)
{
    arb_t q;
    arb_init(q);
    o_floor_divide(q, a, b, p);
    arb_mul(q, q, b, p + 2300);
    arb_sub(y, a, q, p);
    arb_clear(q);
}
/* ln(e^a + e^b), shifted only where the exponentials would not fit */
static void log_of_sum(arb_t y, const arb_t a, const arb_t b, ulong base, slong p)
{
    arb_t shift, u, v, ln;
    slong wide = p + 64;
    arb_init(shift);
    arb_init(u);
    arb_init(v);
    arb_init(ln);
    if (base == 2) arb_const_log2(ln, wide);
    else arb_one(ln);
    arb_set_arf(shift, arf_cmp(arb_midref(a), arb_midref(b)) > 0 ? arb_midref(a) : arb_midref(b));
    if (arf_cmpabs_2exp_si(arb_midref(shift), 12) < 0) arb_zero(shift);
    arb_sub(u, a, shift, wide);
    arb_sub(v, b, shift, wide);
    arb_mul(u, u, ln, wide);
    arb_mul(v, v, ln, wide);
    arb_exp(u, u, wide);
    arb_exp(v, v, wide);
    arb_add(u, u, v, wide);
    arb_log(u, u, wide);
    arb_div(u, u, ln, wide);
    arb_add(y, u, shift, p);
    arb_clear(shift);
    arb_clear(u);
    arb_clear(v);
    arb_clear(ln);
}
BALL2(o_logaddexp) { log_of_sum(y, a, b, 0, p); }
BALL2(o_logaddexp2) { log_of_sum(y, a, b, 2, p); }
BALL2(o_xlogy)
{
    if (arb_is_zero(a)) {
        arb_zero(y);
        return;
    }
    arb_log(y, b, p + 20);
    arb_mul(y, y, a, p);
}
BALL2(o_igamma)
{
    arb_hypgeom_gamma_upper(y, a, b, 1, p);
    arb_sub_ui(y, y, 1, p);
    arb_neg(y, y);
}
BALL2(o_igammac)
{
    arb_hypgeom_gamma_lower(y, a, b, 1, p);
    arb_sub_ui(y, y, 1, p);
    arb_neg(y, y);
}
/* (-1)^(n+1) n! zeta(n + 1, x) for n >= 1 */
BALL2(o_polygamma)
{
    acb_t s, x, z;
    if (arb_is_zero(a)) {
        arb_digamma(y, b, p);
        return;
    }
    acb_init(s);
    acb_init(x);
    acb_init(z);
    acb_set_arb(s, a);
    acb_add_ui(s, s, 1, p);
    acb_set_arb(x, b);
    acb_hurwitz_zeta(z, s, x, p + 20);
    acb_get_real(y, z);
    acb_gamma(z, s, p + 20);
    arb_mul(y, y, acb_realref(z), p);
    if (arf_get_si(arb_midref(a), ARF_RND_NEAR) % 2 == 0) arb_neg(y, y);
    acb_clear(s);
    acb_clear(x);
    acb_clear(z);
}
/* the sum up to q + m >= 20, then Euler and Maclaurin's formula; far out and of large s Arb's own */
BALL2(o_zeta)
{
    acb_t s, q, z;
    acb_init(s);
    acb_init(q);
    acb_init(z);
    acb_set_arb(s, a);
    acb_set_arb(q, b);
    acb_add_ui(q, q, 20, p + 1100);
    acb_hurwitz_zeta(z, s, q, p + 40);
    acb_get_real(y, z);
    for (ulong k = 0; k < 20; k++) {
        acb_set_arb(q, b);
        acb_add_ui(q, q, k, p + 1100);
        acb_neg(z, s);
        acb_pow(z, q, z, p + 40);
        arb_add(y, y, acb_realref(z), p + 40);
    }
    acb_clear(s);
    acb_clear(q);
    acb_clear(z);
}
BALL2(o_copysign)
{
    (void)p;
    arb_abs(y, a);
    if (arb_is_negative(b)) arb_neg(y, y);
}
/* by the half-angle form, away from the cut */
BALL2(o_atan2) { arb_atan2(y, a, b, p); }
BALL2(o_hypot)
{
    arb_t t;
    arb_init(t);
    arb_mul(t, a, a, p + 20);
    arb_addmul(t, b, b, p + 20);
    arb_sqrt(y, t, p);
    arb_clear(t);
}

MPFR2(m_copysign) { return mpfr_copysign(y, a, b, rounding); }

static const struct oracle2 oracles2[] = {
    { "add", arb_add, mpfr_add, -10, 10, -10, 10, false, false },
    { "subtract", arb_sub, mpfr_sub, -10, 10, -10, 10, false, false },
    { "multiply", arb_mul, mpfr_mul, -10, 10, -10, 10, false, false },
    { "divide", arb_div, mpfr_div, -10, 10, -10, 10, false, false },
    { "pow", o_pow, mpfr_pow, 0, 10, -20, 20, false, false },
    { "atan2", o_atan2, mpfr_atan2, -10, 10, -10, 10, false, false },
    { "hypot", o_hypot, mpfr_hypot, -10, 10, -10, 10, false, false },
    { "fmod", o_fmod, mpfr_fmod, -100, 100, -10, 10, false, false },
    { "remainder", o_remainder, NULL, -100, 100, -10, 10, false, false },
    { "floor_divide", o_floor_divide, NULL, -100, 100, -10, 10, false, false },
    { "logaddexp", o_logaddexp, NULL, -50, 50, -50, 50, false, false },
    { "logaddexp2", o_logaddexp2, NULL, -50, 50, -50, 50, false, false },
    { "xlogy", o_xlogy, NULL, -10, 10, 0, 10, false, false },
    { "igamma", o_igamma, NULL, 0, 20, 0, 30, false, true },
    { "igammac", o_igammac, NULL, 0, 20, 0, 30, false, true },
    { "polygamma", o_polygamma, NULL, 0, 4, -10, 30, true, true },
    { "zeta", o_zeta, NULL, 1, 40, 0, 20, false, true },
    { "copysign", o_copysign, m_copysign, -10, 10, -10, 10, false, false },
};

const struct oracle2 *oracle2_find(const char *name)
{
    for (size_t i = 0; i < sizeof oracles2 / sizeof *oracles2; i++)
        if (!strcmp(oracles2[i].name, name)) return &oracles2[i];
    return NULL;
}

/* ---- MPFR's enclosures ----------------------------------------------------------------------- */

enum { ORACLE_BITS = 200 };

/* The interval from a value rounded downward to its upper neighbour (the value itself when it is
 * exact) as a ball. */
static void close_interval(arb_t out, mpfr_t low, int inexact)
{
    if (!mpfr_number_p(low)) {
        if (mpfr_nan_p(low)) arb_indeterminate(out);
        else if (mpfr_sgn(low) > 0) arb_pos_inf(out);
        else arb_neg_inf(out);
        return;
    }
    mpfr_t high;
    arf_t a, b;
    mpfr_init2(high, mpfr_get_prec(low));
    mpfr_set(high, low, MPFR_RNDN);
    if (inexact) mpfr_nextabove(high);
    arf_init(a);
    arf_init(b);
    arf_set_mpfr(a, low);
    arf_set_mpfr(b, high);
    arb_set_interval_arf(out, a, b, ORACLE_BITS + 40);
    arf_clear(a);
    arf_clear(b);
    mpfr_clear(high);
}

void oracle_mpfr(arb_t y, const struct oracle *oracle, double x)
{
    mpfr_t in, out;
    mpfr_init2(in, 53);
    mpfr_init2(out, ORACLE_BITS);
    mpfr_set_d(in, x, MPFR_RNDN);
    int inexact = oracle->mpfr(out, in, MPFR_RNDD);
    close_interval(y, out, inexact);
    mpfr_clear(in);
    mpfr_clear(out);
}

void oracle2_mpfr(arb_t y, const struct oracle2 *oracle, double a, double b)
{
    mpfr_t u, v, out;
    mpfr_init2(u, 53);
    mpfr_init2(v, 53);
    mpfr_init2(out, ORACLE_BITS);
    mpfr_set_d(u, a, MPFR_RNDN);
    mpfr_set_d(v, b, MPFR_RNDN);
    int inexact = oracle->mpfr(out, u, v, MPFR_RNDD);
    close_interval(y, out, inexact);
    mpfr_clear(u);
    mpfr_clear(v);
    mpfr_clear(out);
}

/* ---- judging ------------------------------------------------------------------------------------ */

bool oracle_distance(struct distance *distance, const arb_t exact, double y)
{
    arb_t difference;
    arf_t limit;

    if (!arb_is_finite(exact) || !isfinite(y)) return false;
    arb_init(difference);
    arf_init(limit);
    arb_set_d(difference, y);
    arb_sub(difference, exact, difference, 320);
    arb_get_abs_lbound_arf(limit, difference, 64);
    distance->least = arf_get_d(limit, ARF_RND_FLOOR);
    arb_get_abs_ubound_arf(limit, difference, 64);
    distance->most = arf_get_d(limit, ARF_RND_CEIL);
    arb_clear(difference);
    arf_clear(limit);
    return true;
}
