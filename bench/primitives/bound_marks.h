/* The bounds of products of exact operands follow from the norms of the lines, but for the elements that were
 * recomputed: those are certified, and the least bound that every certified element of a dtype has is bound enough for them.
 * So a bit for each element, where it would take eight bytes, is all there is to keep.
 *
 * Words of bits are of one row and, as tiles begin at multiples of 64 columns, of one tile. */
#ifndef PROBE_BENCH_PRIMITIVES_BOUND_MARKS_H
#define PROBE_BENCH_PRIMITIVES_BOUND_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/arithmetic/certificate.h"
#include "bench/tape/tape.h"

struct bound_marks {
    size_t m, n, words; /* of a product; words of a row */
    const double *rows, *columns;
    size_t row_step, column_step; /* from the norms of one product to those of the next */
    double gamma, tiny;
    struct certificate certificate;
    double *values;
    uint64_t *recomputed;
};

/* Bounds of a row of products of exact operands: factor * |b_j|, 0 for values that are not finite.
 * Returns how many are not certified at first sight. */
size_t exact_row_bounds(double *restrict error, const double *restrict value,
                        const double *restrict column, double factor, double tiny,
                        const struct certificate *certificate, size_t n);

/* Which of n elements of a row, at most 64, are not certified at first sight, as bits: of the bounds of exact_row_bounds. */
uint64_t exact_open_bits(const double *restrict value, const double *restrict column, double factor,
                         double tiny, const struct certificate *certificate, size_t n);

/* Bits, and bounds, of the elements of a row that are not certified at first sight. Returns whether there are any. */
bool mark_open(uint64_t *words, double *error, const double *value, const double *column,
               double factor, double tiny, const struct certificate *certificate, size_t n);

/* Leave the marks of the elements of a row that are certified by the bounds they have now. */
void unmark_open(uint64_t *words, const double *value, const double *error, size_t n,
                 const struct certificate *certificate);

/* Elements of a step whose deferral has marks: values, and bounds where `error` is not NULL. */
void bound_marks_elements(const struct node *node, size_t start, size_t count, double *value,
                          double *error);

#endif
