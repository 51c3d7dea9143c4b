/* Sparse linear maps as a kernel computes them. */
#ifndef PROBE_BENCH_PRIMITIVES_TAPS_MODEL_H
#define PROBE_BENCH_PRIMITIVES_TAPS_MODEL_H

#include "bench/primitives/tap_lists.h"
#include "bench/tape/tape.h"

/* In a model: the values of `node`, the map of x along a dimension with `inner` elements behind it, and the errors of a kernel. */
void taps_model(struct tape *tape, struct node *node, const struct node *x, const struct taps *taps,
                size_t inner);

#endif
