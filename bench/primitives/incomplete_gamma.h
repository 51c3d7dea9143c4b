/* The regularised incomplete gamma functions P(s, x), lower, and Q(s, x) = 1 - P, upper. */
#ifndef PROBE_BENCH_PRIMITIVES_INCOMPLETE_GAMMA_H
#define PROBE_BENCH_PRIMITIVES_INCOMPLETE_GAMMA_H

#include <arb.h>
#include <stdbool.h>

/* An enclosure of P(s, x), or of Q, for positive s and x. Where s is large and x within a factor of two, to nearly p bits of
 * the smaller of both in about a millisecond, for every s that a double can have. */
void incomplete_gamma_ball(arb_t y, const arb_t s, const arb_t x, bool upper, slong p);

/* P(s, x), or Q, to within an ulp; limits at the ends of the domain, NaN outside. */
double incomplete_gamma(double s, double x, bool upper);

#endif
