/* What the roundings of the dot products of a matrix product make in the root mean square: from their partial sums
 * (bench/arithmetic/sum_spread.h), exactly where there are few elements, elsewhere by an estimate that knows an element's
 * value and the norms of its lines, times the worst quotient that was seen in a sample. Imitated sums of one element may be
 * right by luck, so what they say of all elements together counts for each. */
#ifndef PROBE_BENCH_PRIMITIVES_TYPICAL_PRODUCTS_H
#define PROBE_BENCH_PRIMITIVES_TYPICAL_PRODUCTS_H

#include "bench/primitives/matmul_sizes.h"

struct typical_products {
    double *own; /* squared spread of all elements, or NULL: there are too many */
    double quotient, repeated, terms;
};

/* Look at a sample of the elements of `node`, the product of a and b, whose values are there. */
void typical_products_look(struct typical_products *typical, struct tape *tape,
                           const struct node *node, struct node *a, struct node *b,
                           const struct matmul *p);

/* The errors of n elements of a row from element `at` on.
 *
 *   value, column  the elements, and the norms of their columns
 *   row            the norm of the row
 *   unit, tiny     the unit roundoff, and what is added
 */
void typical_products_row(double *error, const double *value, const double *column,
                          const struct typical_products *typical, size_t at, double row,
                          double unit, double tiny, size_t n);

#endif
