/* Lines of the factors of matrix products, as dot products take them. */
#ifndef PROBE_BENCH_ARITHMETIC_DOT_LINES_H
#define PROBE_BENCH_ARITHMETIC_DOT_LINES_H

#include <stdbool.h>
#include <stddef.h>

#include "core/dtype.h"

/* The lines of a factor, elements of a real dtype: element l of line i is the (i * line + l * term)-th of x.
 * One of `line` and `term` is 1. */
struct factor {
    const void *x;
    enum dtype dtype;
    size_t lines, line, term;
};

/* `count` of the lines, from line `first` on. */
struct factor factor_lines(const struct factor *f, size_t first, size_t count);

/* The lines of a factor, `step` elements apart, floats where products are exact, else doubles, and a power of two that no
 * element of each exceeds. */
struct dot_lines {
    const void *x;
    size_t step;
    const double *scale;
};

/* `scratch` has dot_lines_scratch elements, and is needed as long as the lines. The factor is exact and finite; `norms`
 * has upper bounds of the lines' 2-norms, which save a look at all elements, or is NULL. */
struct dot_lines dot_lines_prepare(double *scratch, const struct factor *f, size_t k,
                                   bool exact_products, const double *norms);
size_t dot_lines_scratch(const struct factor *f, size_t k, bool exact_products);

/* The least scale of a line of k terms, where the norm gave a larger one. */
double dot_line_scale(const struct dot_lines *lines, size_t line, size_t k, bool exact_products);

#endif
