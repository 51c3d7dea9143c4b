/* Functions of two variables, one row each: value, bound, ball, derivative. */
#ifndef PROBE_BENCH_PRIMITIVES_BINARY_FUNCTIONS_H
#define PROBE_BENCH_PRIMITIVES_BINARY_FUNCTIONS_H

#include <arb.h>

#include "bench/primitives/binary_derivatives.h"

/* error: bound on |y - f| for arguments a +- ea, b +- eb where
 * y = f(a, b) in double, its own rounding included. */
struct binary_function {
    const char *name;
    double (*scalar)(double a, double b);
    double (*error)(double a, double ea, double b, double eb, double y);
    void (*ball)(arb_t y, const arb_t a, const arb_t b, slong precision);
    binary_derivative *derivative;
    int linear_sign; /* not 0: f = a + linear_sign * b, and derivative is NULL */
    /* The same values as `scalar` for arrays, or NULL. `y` may not be a or b. A function that has
     * this is off by at most 2 u |y| + 2^-1074 where its operands are exact. */
    void (*vector)(double *y, const double *a, const double *b, size_t n);
};

/* Lookup by name; NULL when there is none. The names stand in binary_functions.c. */
const struct binary_function *binary_find(const char *name);

/* The basic operations + - * /, whose bound is one rounding when the operands are exact; 0: any other function. */
char binary_operation(const struct binary_function *f);

/* Rows of all functions, for tests. */
const struct binary_function *binary_functions(size_t *count);

#endif
