/* Functions of one variable, one row each: value, declared error, slope, ball, derivative.
 *
 * ulps    the double value is within ulps * 2^-52 * |y| + unary_underflow of f at the double
 *         argument: a declared bound of the library or of our formula, tested against MPFR and
 *         balls (tests/bench/test_functions.c); 1 ulp <= 2^-52 |y|. INFINITY: nothing is known.
 * slope   upper bound of |f'| on [x - e, x + e]; NULL: unknown, an inexact argument then gives
 *         an infinite bound and the element is recomputed by balls
 * ball    the same function on a ball
 * derivative  f'(x) as a node, given x and y = f(x); NULL: f is flat (zero gradient)
 */
#ifndef PROBE_BENCH_PRIMITIVES_UNARY_FUNCTIONS_H
#define PROBE_BENCH_PRIMITIVES_UNARY_FUNCTIONS_H

#include <arb.h>
#include <math.h>

#include "bench/primitives/unary_derivatives.h"

struct unary_function {
    const char *name;
    double (*scalar)(double x);
    void (*vector)(double *y, const double *x, size_t n); /* or NULL: loop over scalar */
    double ulps;
    double (*slope)(double x, double e);
    void (*ball)(arb_t y, const arb_t x, slong precision);
    unary_derivative *derivative;
};

/* What underflow adds to the error, in units of the smallest subnormal: two for a library
 * function, which may flush; more for a formula, which multiplies an underflowed part. */
static inline double unary_underflow(const struct unary_function *f)
{
    if (f->ulps == 0) return 0;
    return f->ulps > 1.5 ? f->ulps * 0x1p14 : fmax(f->ulps, 1) * 2;
}

/* Lookup by name; NULL when there is none. The names stand in unary_functions.c. */
const struct unary_function *unary_find(const char *name);

/* Rows of all functions, for tests. */
const struct unary_function *unary_functions(size_t *count);

#endif
