/* Elementary functions on arrays of doubles: SLEEF's 1.0- and 1.5-ulp functions.
 *
 * The variants called are the ones that SLEEF declares to give the same bits at every width and
 * on every machine (its "finz" functions, built on fused multiply-add), so a reference does not
 * depend on the host. Widths of 8, 4 and 1 are chosen at run time; tails go through the same
 * function on a padded register. `out` may be `in`.
 */
#ifndef PROBE_BENCH_ARITHMETIC_VECTOR_MATH_H
#define PROBE_BENCH_ARITHMETIC_VECTOR_MATH_H

#include <stddef.h>

/* NAME as in libm, SLEEF's spelling, its declared error in units of 0.1 ulp. */
/* clang-format off */
#define VECTOR_MATH_UNARY(X)                                                                \
    X(exp, 10) X(exp2, 10) X(expm1, 10) X(log, 10) X(log2, 10) X(log10, 10) X(log1p, 10)      \
    X(sin, 10) X(cos, 10) X(tan, 10) X(asin, 10) X(acos, 10) X(atan, 10) X(sinh, 10)          \
    X(cosh, 10) X(tanh, 10) X(asinh, 10) X(acosh, 10) X(atanh, 10) X(erf, 10) X(erfc, 15)     \
    X(lgamma, 10) /* of positive numbers */
/* clang-format on */

#define VECTOR_MATH_DECLARE(name, error)                         \
    void vector_##name(double *out, const double *in, size_t n); \
    double scalar_##name(double x);
VECTOR_MATH_UNARY(VECTOR_MATH_DECLARE)
#undef VECTOR_MATH_DECLARE

/* x^y. `out` may be x or y. */
double scalar_pow(double x, double y);
void vector_pow(double *out, const double *x, const double *y, size_t n);

/* 8, 4 or 1: doubles per call of the variant in use. */
int vector_math_width(void);

/* For tests and benchmarks: use at most this width from now on (8, 4, 1; 0 = the best). Not while
 * another thread computes. */
void vector_math_limit(int width);

#endif
