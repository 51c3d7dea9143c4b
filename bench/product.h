/* Pieces of the certified matrix product that the convolution shares. */
#ifndef PROBE_BENCH_PRODUCT_H
#define PROBE_BENCH_PRODUCT_H

#include <stdbool.h>
#include <stddef.h>

/* Upper bounds of the 2-norms of `lines` lines of `length` elements: rows of a (lines, length)
 * matrix, or, with `down`, columns of a (length, lines) matrix. */
void line_norms(double *norm, const double *x, size_t lines, size_t length, bool down);

#endif
