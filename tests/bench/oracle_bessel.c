/* Bessel and Airy functions by their series and by Arb's functions of other forms. */
#include "bench/oracle_balls.h"

#include <acb.h>
#include <acb_hypgeom.h>
#include <arb_hypgeom.h>
#include <math.h>
#include <stdbool.h>

#define BALL(NAME) void NAME(arb_t y, const arb_t x, slong p)

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
