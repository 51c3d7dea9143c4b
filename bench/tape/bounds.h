/* Bounds of pointwise primitives. */
#ifndef PROBE_BENCH_TAPE_BOUNDS_H
#define PROBE_BENCH_TAPE_BOUNDS_H

#include <math.h>

#include "bench/tape/tape.h"

/* A bound may come out as NaN from inf * 0; then nothing is known, or the value is special. */
static inline double tidy_bound(double bound, double value)
{
    if (!isfinite(value)) return 0;
    return bound >= 0 ? bound : INFINITY;
}

/* In the model of a float kernel: a value beyond float's range is infinite there, and nothing is
 * known of what is made of it. `known`: the step is one operation whose exact result overflows in any kernel, to the infinity of its
 * sign; so it has its bounds where it is a result of the call. */
void model_overflows(struct tape *tape, struct node *node, bool known);

/* In a model of kernels that may flush subnormals: those of the node may be 0. */
void model_flushes(struct tape *tape, struct node *node);

/* In a model of kernels that round between their steps: the node is one, and is rounded. Every primitive that
 * computes ends with this. */
void model_stages(struct tape *tape, struct node *node);

/* The node is composed of others by such kernels: so many roundings more, before it is rounded itself. */
void model_stages_within(struct tape *tape, struct node *node, double roundings);

#endif
