/* Functions of torch.special whose double values come from balls: value, ball and derivative of each, as the rows of
 * bench/primitives/unary_functions.h want them. `airy_ai_prime` is there for the derivative of Ai alone.
 *
 * erfcx      exp(x^2) erfc(x)
 * ndtri      the x whose normal distribution function is p
 * log_ndtr   log of the normal distribution function
 * i0e, i1e   exp(-|x|) I_n(x)
 * k0e, k1e   exp(x) K_n(x)
 */
#ifndef PROBE_BENCH_PRIMITIVES_SPECIAL_FUNCTIONS_H
#define PROBE_BENCH_PRIMITIVES_SPECIAL_FUNCTIONS_H

#include <arb.h>

#include "bench/tape/tape.h"

#define SPECIAL_FUNCTION(name)                         \
    double value_##name(double x);                     \
    void ball_##name(arb_t y, const arb_t x, slong p); \
    struct node *derivative_##name(struct tape *tape, struct node *x, struct node *y)

SPECIAL_FUNCTION(erfcx);
SPECIAL_FUNCTION(ndtri);
SPECIAL_FUNCTION(log_ndtr);
SPECIAL_FUNCTION(i0e);
SPECIAL_FUNCTION(i1e);
SPECIAL_FUNCTION(bessel_j0);
SPECIAL_FUNCTION(bessel_j1);
SPECIAL_FUNCTION(bessel_y0);
SPECIAL_FUNCTION(bessel_y1);
SPECIAL_FUNCTION(bessel_k0);
SPECIAL_FUNCTION(bessel_k1);
SPECIAL_FUNCTION(k0e);
SPECIAL_FUNCTION(k1e);
SPECIAL_FUNCTION(airy_ai);
SPECIAL_FUNCTION(airy_ai_prime);

#undef SPECIAL_FUNCTION

/* Upper bounds of |f'| on [x - e, x + e]. */
double slope_erfcx(double x, double e);
double slope_log_ndtr(double x, double e);

#endif
