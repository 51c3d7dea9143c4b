/* Functions of one variable: formulas from definitions, and MPFR's functions. */
#include "bench/oracle.h"

#include <acb.h>
#include <acb_hypgeom.h>
#include <arb_hypgeom.h>
#include <math.h>
#include <string.h>

#include "bench/oracle_balls.h"

#define BALL(NAME) static void NAME(arb_t y, const arb_t x, slong p)
#define MPFR(NAME) static int NAME(mpfr_t y, const mpfr_t x, mpfr_rnd_t rounding)

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
void o_trunc(arb_t y, const arb_t x, slong p)
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
