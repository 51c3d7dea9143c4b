/* Scalar functions, one row each: value, declared error, slope, ball, derivative.
 *
 * ulps    the double value is within ulps * 2^-52 * |y| + unary_underflow of f at the double
 *         argument: a declared bound of the library or of our formula, tested against MPFR and
 *         balls (tests/bench/test_functions.c); 1 ulp <= 2^-52 |y|. INFINITY: nothing is known.
 * slope   upper bound of |f'| on [x - e, x + e]; NULL: unknown, an inexact argument then gives
 *         an infinite bound and the element is recomputed by balls
 * ball    the same function on a ball
 * derivative  f'(x) as a node, given x and y = f(x); NULL: f is flat (zero gradient)
 */
#ifndef PROBE_BENCH_PRIMITIVES_FUNCTIONS_H
#define PROBE_BENCH_PRIMITIVES_FUNCTIONS_H

#include <arb.h>

#include "bench/tape/tape.h"

struct unary_function {
    const char *name;
    double (*scalar)(double x);
    void (*vector)(double *y, const double *x, size_t n); /* or NULL: loop over scalar */
    double ulps;
    double (*slope)(double x, double e);
    void (*ball)(arb_t y, const arb_t x, slong precision);
    struct node *(*derivative)(struct tape *tape, struct node *x, struct node *y);
};

/* What underflow adds to the error, in units of the smallest subnormal: two for a library
 * function, which may flush; more for a formula, which multiplies an underflowed part. */
static inline double unary_underflow(const struct unary_function *f)
{
    if (f->ulps == 0) return 0;
    return f->ulps > 1.5 ? f->ulps * 0x1p14 : fmax(f->ulps, 1) * 2;
}

/* Functions of two variables. error: bound on |y - f| for arguments a +- ea, b +- eb where
 * y = f(a, b) in double, its own rounding included. */
struct binary_function {
    const char *name;
    double (*scalar)(double a, double b);
    double (*error)(double a, double ea, double b, double eb, double y);
    void (*ball)(arb_t y, const arb_t a, const arb_t b, slong precision);
    /* Partial derivatives at (a, b), broadcast shapes; NULL pointers are not wanted. */
    void (*derivative)(struct tape *tape, struct node *a, struct node *b, struct node *y,
                       struct node **da, struct node **db);
    int linear_sign; /* not 0: f = a + linear_sign * b, and derivative is NULL */
    /* The same values as `scalar` for arrays, or NULL. `y` may not be a or b. A function that has
     * this is off by at most 2 u |y| + 2^-1074 where its operands are exact. */
    void (*vector)(double *y, const double *a, const double *b, size_t n);
};

/* Lookup by name; NULL when there is none. Names: bench/primitives/functions_unary.c, functions_binary.c. */
const struct unary_function *unary_find(const char *name);
const struct binary_function *binary_find(const char *name);

/* node_unary and node_binary by name; an unknown name is an internal failure. */
struct node *node_apply(struct tape *tape, const char *name, struct node *x);
struct node *node_apply2(struct tape *tape, const char *name, struct node *a, struct node *b);

/* Rows of all functions, for tests. */
const struct unary_function *unary_functions(size_t *count);
const struct binary_function *binary_functions(size_t *count);

#endif
