/* Running sums, products, extrema and logarithmic sums along a dimension. */
#ifndef PROBE_BENCH_PRIMITIVES_SCAN_H
#define PROBE_BENCH_PRIMITIVES_SCAN_H

#include "bench/tape/tape.h"

/* Sums of the elements up to each one; `reverse`: from each one on. Integers wrap. */
struct node *node_cumulative_sum(struct tape *tape, struct node *x, int dim, bool reverse);

struct node *node_cumulative_product(struct tape *tape, struct node *x, int dim);

/* y_i = log sum over j <= i of exp(x_j). */
struct node *node_cumulative_logsumexp(struct tape *tape, struct node *x, int dim);

/* Position of the largest (sign 1) or smallest (-1) element so far, of equal ones the last; a NaN
 * stays. int64, x's shape. */
struct node *node_cumulative_arg_extremum(struct tape *tape, struct node *x, int dim, int sign);

#endif
