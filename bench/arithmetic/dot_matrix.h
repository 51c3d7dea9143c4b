/* Matrix products whose elements are recomputed by dot products in more precision (bench/arithmetic/dot.h) where their
 * bounds leave them open. */
#ifndef PROBE_BENCH_ARITHMETIC_DOT_MATRIX_H
#define PROBE_BENCH_ARITHMETIC_DOT_MATRIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/arithmetic/certificate.h"
#include "bench/arithmetic/dot_lines.h"

/* The product C of two factors, lines of `k` terms each: the a.lines x b.lines matrix `value`, rows `step` elements
 * apart, with its bounds, rows `error_step` apart, tested in `dtype`. Products that are exact are those of factors that floats can hold. */
struct dot_matrix {
    double *value, *error;
    size_t step, error_step;
    struct factor a, b;
    size_t k;
    enum dtype dtype;
    bool exact_products;
    bool quick; /* open is what the quick form of the certificate does not pass */
    /* A bit for each element that is open, 64 columns a word, rows `open_step` words apart; NULL: they are looked for. */
    const uint64_t *open;
    size_t open_step;
};

/* Is some bound more than 2^-10 ulp of the dtype? Never for float64, whose elements no double
 * certifies. */
bool dots_open(const struct dot_matrix *c);

/* Recompute the elements that are open. The bounds are replaced where they become smaller.
 *
 *   a, b  the lines of c->a and c->b
 *   wide  room for 2 k
 */
void dots_recompute(const struct dot_matrix *c, const struct dot_lines *a,
                    const struct dot_lines *b, double *wide);

#endif
