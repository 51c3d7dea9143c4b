/* Array versions of the composite rows of unary_functions.c: the same formulas, the library calls
 * made on whole blocks. `y` may not be `x`. */
#ifndef PROBE_BENCH_ARITHMETIC_VECTOR_FUNCTIONS_H
#define PROBE_BENCH_ARITHMETIC_VECTOR_FUNCTIONS_H

#include <stddef.h>

/* SLEEF's functions where they do not overflow, repaired by value_NAME where they do. */
#define FUNCTIONS_REPAIRED(X) X(exp) X(sinh) X(cosh) X(log1p) X(asinh) X(acosh)
#define DECLARE_REPAIRED(NAME)     \
    double value_##NAME(double x); \
    void array_##NAME(double *y, const double *x, size_t n);
FUNCTIONS_REPAIRED(DECLARE_REPAIRED)
#undef DECLARE_REPAIRED

/* ln|gamma(x)|, by value_lgamma where x is not positive. */
double value_lgamma(double x);
void array_lgamma(double *y, const double *x, size_t n);

/* The asymptotic series of digamma: shifted up to DIGAMMA_FROM; a value below DIGAMMA_LEAST is left
 * to value_digamma, as are arguments that are not positive or not finite. */
enum { DIGAMMA_TERMS = 8, DIGAMMA_FROM = 10 };
#define DIGAMMA_LEAST 0.05
extern const double digamma_coefficients[DIGAMMA_TERMS];
double value_digamma(double x);
void array_digamma(double *y, const double *x, size_t n);

/* x^y with the exact powers of value_pow. `z` may not be x or y. */
void array_pow(double *z, const double *x, const double *y, size_t n);

void vector_abs(double *y, const double *x, size_t n);
void vector_sqrt(double *y, const double *x, size_t n);
void vector_rsqrt(double *y, const double *x, size_t n);
void vector_reciprocal(double *y, const double *x, size_t n);
void vector_square(double *y, const double *x, size_t n);
void vector_sigmoid(double *y, const double *x, size_t n);
void vector_silu(double *y, const double *x, size_t n);
void vector_softplus(double *y, const double *x, size_t n);
void vector_logsigmoid(double *y, const double *x, size_t n);
void vector_mish(double *y, const double *x, size_t n);
void vector_gelu(double *y, const double *x, size_t n);
void vector_normal_pdf(double *y, const double *x, size_t n);

#endif
