/* Sums and means over dimensions. */
#ifndef PROBE_BENCH_PRIMITIVES_REDUCE_H
#define PROBE_BENCH_PRIMITIVES_REDUCE_H

#include "bench/tape/tape.h"

/* Over the dimensions whose bit is set in `dims` (all ones: every dimension). Integers wrap. */
struct node *node_sum(struct tape *tape, struct node *x, uint32_t dims, bool keepdim);
/* The sums of a real x, extents of 1 left, whose values alone are asked for: a model does not look at how their terms round. */
struct node *node_sum_sizes(struct tape *tape, struct node *x, uint32_t dims);
struct node *node_mean(struct tape *tape, struct node *x, uint32_t dims, bool keepdim);

#endif
