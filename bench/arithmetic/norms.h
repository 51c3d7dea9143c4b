/* Norms of the lines of matrices, rounded up, for bounds by Cauchy and Schwarz. */
#ifndef PROBE_BENCH_ARITHMETIC_NORMS_H
#define PROBE_BENCH_ARITHMETIC_NORMS_H

#include <stdbool.h>
#include <stddef.h>

/* Upper bounds of the 2-norms of `lines` lines of `length` elements: rows of a (lines, length)
 * matrix, or, with `down`, columns of a (length, lines) matrix. */
void line_norms(double *norm, const double *x, size_t lines, size_t length, bool down);

/* The same in parts: squares, 0 at first, get those of `length` more elements of each line, whose stored rows lie
 * `step` apart; the whole length then makes norms of them. */
void line_squares_add(double *squares, const double *x, size_t lines, size_t length, size_t step,
                      bool down);
void line_squares_add_floats(double *squares, const float *x, size_t lines, size_t length,
                             size_t step, bool down);
void line_squares_to_norms(double *norm, size_t lines, size_t length);

/* An upper bound of the norm of one line, elements `step` apart, whose squares are all 0. */
double line_norm_of_tiny(const double *x, size_t length, size_t step);

/* Is none of them infinite or NaN? */
bool all_finite(const double *x, size_t n);
bool all_finite_floats(const float *x, size_t n);

#endif
