/* Functions of two variables: formulas from definitions, and MPFR's functions. */
#include "bench/oracle.h"

#include <acb.h>
#include <acb_hypgeom.h>
#include <arb_hypgeom.h>
#include <math.h>
#include <string.h>

#include "bench/oracle_balls.h"

#define BALL2(NAME) static void NAME(arb_t y, const arb_t a, const arb_t b, slong p)
#define MPFR2(NAME) static int NAME(mpfr_t y, const mpfr_t a, const mpfr_t b, mpfr_rnd_t rounding)

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
