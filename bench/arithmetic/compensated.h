/* Compensated sums and dot products of long arrays: Sum2 and Dot2 of Ogita, Rump and Oishi
 * (Accurate sum and dot product, SIAM J. Sci. Comput. 26, 2005), with the sum of magnitudes that
 * their bounds need from the same pass. Lanes in a fixed order give the same bits on every host.
 */
#ifndef PROBE_BENCH_ARITHMETIC_COMPENSATED_H
#define PROBE_BENCH_ARITHMETIC_COMPENSATED_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include "bench/arithmetic/pair.h"
#include "bench/arithmetic/rounding.h"

enum { COMPENSATED_LANES = 16 };

/* All zeros before the first block. A block's element i goes to lane i mod COMPENSATED_LANES. */
struct compensated {
    double sum[COMPENSATED_LANES], low[COMPENSATED_LANES], magnitude[COMPENSATED_LANES];
    size_t terms;
};

/* Add n terms. */
void compensated_add(struct compensated *c, const double *x, size_t n);

/* The same of floats. Where the exponents of a block lie close together, as they mostly do, its plain sums in double
 * are exact and the only terms. */
void compensated_add_floats(struct compensated *c, const float *x, size_t n);

/* Add n products; the rounding errors of the products, too, unless they are known to be exact. */
void compensated_add_products(struct compensated *c, const double *x, const double *y, size_t n,
                              bool exact_products);

/* The same of floats, whose products are exact. */
void compensated_add_float_products(struct compensated *c, const float *x, const float *y,
                                    size_t n);

/* The sum, rounded once, and a bound on its error, u |sum| + gamma_n^2 sum|x_i| (plus what products
 * lose to underflow). False when the terms are not finite or overflow: then neither is set. */
bool compensated_total(double *sum, double *bound, const struct compensated *c);

/* The same sums one term at a time, for terms that do not lie in arrays. All zeros at first. */
struct running {
    double sum, low, magnitude;
    size_t terms;
    bool rounded; /* some step was not exact; a low of 0 does not tell: errors can cancel */
};

static inline void running_add(struct running *r, double x)
{
    double error = two_sum(&r->sum, x);
    r->low += error;
    r->rounded |= error != 0;
    r->magnitude += fabs(x);
    r->terms++;
}

static inline void running_add_product(struct running *r, double x, double y)
{
    double product = x * y;
    r->low += fma(x, y, -product);
    running_add(r, product);
}

/* The sum as a pair, off by gamma_n^2 sum|x_i| and, for products, what they lose to underflow;
 * false when it is not finite. */
bool running_pair(struct pair *out, const struct running *r, bool products);

#endif
