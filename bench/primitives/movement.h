/* Shapes: reshape, broadcast, concatenation; complex and integral nodes alike. */
#ifndef PROBE_BENCH_PRIMITIVES_MOVEMENT_H
#define PROBE_BENCH_PRIMITIVES_MOVEMENT_H

#include "bench/tape/tape.h"

/* Dense reinterpretation; the element counts must agree. One extent may be -1. */
struct node *node_reshape(struct tape *tape, struct node *x, int rank, const int64_t *shape);

/* x without the dimensions of `dims`, whose extents are 1. */
struct node *node_squeeze(struct tape *tape, struct node *x, uint32_t dims);

/* Repeat along extents of 1 (and new leading dimensions). -1 keeps an extent. */
struct node *node_broadcast(struct tape *tape, struct node *x, int rank, const int64_t *shape);

/* torch.cat of `count` >= 1 parts of one rank, at least 1. */
struct node *node_concatenate(struct tape *tape, struct node **parts, int count, int dim);

#endif
