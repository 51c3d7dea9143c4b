/* Running products, extrema and logarithmic sums along a dimension. (Running sums:
 * node_cumulative_sum.) */
#ifndef PROBE_BENCH_SCAN_H
#define PROBE_BENCH_SCAN_H

#include "bench/graph.h"

struct node *node_cumulative_product(struct graph *graph, struct node *x, int dim);

/* y_i = log sum over j <= i of exp(x_j). */
struct node *node_cumulative_logsumexp(struct graph *graph, struct node *x, int dim);

/* Position of the largest (sign 1) or smallest (-1) element so far, of equal ones the last; a NaN
 * stays. int64, x's shape. */
struct node *node_cumulative_arg_extremum(struct graph *graph, struct node *x, int dim, int sign);

#endif
