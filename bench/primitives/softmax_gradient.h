/* The gradient of softmax from its result. */
#ifndef PROBE_BENCH_PRIMITIVES_SOFTMAX_GRADIENT_H
#define PROBE_BENCH_PRIMITIVES_SOFTMAX_GRADIENT_H

#include "bench/tape/tape.h"

/* y (c - sum c y) along dim.
 *
 *   top      per line of y along dim, the position of its largest element, when y is a softmax, whose exact lines add
 *            up to 1: the reference then computes with differences from c at that place, which keeps the relative
 *            accuracy of lines near one-hot. NULL: y is any tensor.
 *   returns  a node without a gradient of its own
 */
struct node *node_softmax_gradient(struct tape *tape, struct node *y, struct node *cotangent,
                                   int dim, const size_t *top);

#endif
