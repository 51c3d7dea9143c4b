/* Passing cotangents on. */
#ifndef PROBE_BENCH_PRIMITIVES_COTANGENT_H
#define PROBE_BENCH_PRIMITIVES_COTANGENT_H

#include "bench/tape/tape.h"

/* Add to the cotangent of `node`, when it is tracked. The element counts must agree. */
void tape_accumulate(struct tape *tape, struct node *node, struct node *cotangent);

/* Sum over what node_broadcast repeated: the vjp of broadcasting to x's shape. */
struct node *node_sum_to_shape(struct tape *tape, struct node *x, int rank, const int64_t *shape);

/* The same of a real x whose sums are sizes (node_sum_sizes). */
struct node *node_sum_sizes_to_shape(struct tape *tape, struct node *x, int rank,
                                     const int64_t *shape);

/* Add cotangent * factor (NULL: 1) to that of x, summed to x's shape when x was broadcast. */
void gradient_pass(struct tape *tape, struct node *x, struct node *cotangent, struct node *factor);

/* What has come to a node, in its shape and complex where it is; NULL when nothing has. */
struct node *node_gradient(struct tape *tape, struct node *node);

#endif
