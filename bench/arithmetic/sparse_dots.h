/* The few elements of a tile of a matrix product that its bounds leave open, recomputed side by side (bench/arithmetic/dot.h): some terms of all
 * of them at a time, so that what they have of the lines stays in a cache. One after the other each would read two lines from
 * memory, which takes three times as long as their sums. */
#ifndef PROBE_BENCH_ARITHMETIC_SPARSE_DOTS_H
#define PROBE_BENCH_ARITHMETIC_SPARSE_DOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/arithmetic/certificate.h"
#include "bench/arithmetic/dot_lines.h"

/* The product of factors of at most 24 significand bits whose elements are finite. */
struct sparse_dots {
    double *value;
    size_t step;
    struct factor a, b;
    const double *a_norms, *b_norms; /* upper bounds of the lines' 2-norms */
    size_t k;
    struct certificate certificate;
    const uint64_t
        *open; /* a bit for each element, 64 columns a word, rows `open_step` words apart */
    size_t open_step;
};

/* More open elements are not few. */
size_t sparse_dots_most(size_t rows, size_t columns);

/* Recompute the open elements, sparse_dots_most of them or fewer. Returns whether the quick form of the certificate passes them all; those that it
 * does not keep the values that they had. `scratch` has sparse_dots_scratch elements. */
bool sparse_dots_recompute(const struct sparse_dots *s, double *scratch);
size_t sparse_dots_scratch(const struct factor *a, const struct factor *b, size_t k);

#endif
