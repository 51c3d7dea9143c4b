/* Norms of the lines of matrices, rounded up, for bounds by Cauchy and Schwarz. */
#ifndef PROBE_BENCH_ARITHMETIC_NORMS_H
#define PROBE_BENCH_ARITHMETIC_NORMS_H

#include <stdbool.h>
#include <stddef.h>

/* Upper bounds of the 2-norms of `lines` lines of `length` elements: rows of a (lines, length)
 * matrix, or, with `down`, columns of a (length, lines) matrix. */
void line_norms(double *norm, const double *x, size_t lines, size_t length, bool down);

/* Is none of them infinite or NaN? */
bool all_finite(const double *x, size_t n);

#endif
