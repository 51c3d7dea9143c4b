/* Are random draws independent? Tests on standardized draws: numbers w_i whose law has mean 0 and variance 1 and
 * that are at most `most` in magnitude, in rows of `row`.
 *
 *   - autocorrelations sum w_i w_(i+k) at all lags, by one Fourier transform: masks that are the same for every
 *     sample, generators that repeat, counters, sorted draws;
 *   - means of rows and of columns: a row never filled, a column never dropped;
 *   - neighbours that are equal, against what the values' own frequencies make of a random order.
 *
 * Every limit is Bernstein's inequality: a sum of n independent terms of variance 1, at most m in magnitude, exceeds
 * z sqrt(n) with a probability below exp(-z^2 / (2 + 2 m z / (3 sqrt(n)))). (The products of an autocorrelation are
 * martingale differences, for which Freedman's inequality has the same form.) With k sums looked at, z is
 * chosen for 1e-10 / k each, so that all tests together reject independent draws with less than 1e-9.
 */
#ifndef PROBE_BENCH_ARITHMETIC_INDEPENDENCE_H
#define PROBE_BENCH_ARITHMETIC_INDEPENDENCE_H

#include <stdbool.h>
#include <stddef.h>

struct draws {
    const double *w;
    size_t n, row; /* row: at least 1, divides n */
    double most;
};

/* If the draws are not independent, `reason` says which test they fail. Without memory: false, and so does it. */
bool draws_are_independent(const struct draws *draws, char *reason, size_t bytes);

/* Do equal values of x[0..n) follow each other about as often as in a random order? `sorted`: x sorted. */
bool neighbours_differ(const double *x, const double *sorted, size_t n, char *reason, size_t bytes);

/* Do the normalized Legendre polynomials 1 to 4 of uniform numbers u[0..n) have the mean 0? They are the first
 * four moments made independent of each other. */
bool moments_hold(const double *u, size_t n, char *reason, size_t bytes);

/* Bernstein's z for sums of n terms, one of `sums`. */
double independence_limit(double n, double most, double sums);

#endif
