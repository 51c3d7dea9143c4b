/* Inverses of complex matrices in double. */
#ifndef PROBE_BENCH_ARITHMETIC_COMPLEX_INVERSE_H
#define PROBE_BENCH_ARITHMETIC_COMPLEX_INVERSE_H

#include <stdbool.h>
#include <stddef.h>

/* x (n, n) = a^-1 by Gauss and Jordan's elimination with row pivots; `scratch` has room for n * n. False, and x unset, where a is
 * singular or an element is not finite. Callers that need a bound take the residual. */
bool complex_inverse(double _Complex *x, double _Complex *scratch, const double _Complex *a,
                     size_t n);

#endif
