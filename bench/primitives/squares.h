/* Sums of squares along dimensions, in one pass over elements as they are stored. */
#ifndef PROBE_BENCH_PRIMITIVES_SQUARES_H
#define PROBE_BENCH_PRIMITIVES_SQUARES_H

#include "bench/tape/tape.h"

/* The sums over the dimensions whose bit is set in `dims`, which are kept with an extent of 1. Who calls them states the
 * gradient (bench/primitives/stated_gradient.h): where they are one node, that has none. */

/* sum x^2 */
struct node *node_sum_of_squares(struct tape *tape, struct node *x, uint32_t dims);

/* sum (x - mean)^2; `mean` is that of x over the same dimensions, or NULL to have it computed where it is needed. */
struct node *node_sum_of_squared_deviations(struct tape *tape, struct node *x, struct node *mean,
                                            uint32_t dims);

#endif
