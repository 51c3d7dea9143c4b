/* Sums over windows of several dimensions, as pooling has them. */
#ifndef PROBE_BENCH_PRIMITIVES_WINDOW_SUMS_H
#define PROBE_BENCH_PRIMITIVES_WINDOW_SUMS_H

#include "bench/tape/tape.h"

enum { WINDOW_MOST_AXES = 3 };

/* Along one dimension: output o sums the inputs start[o] .. end[o] - 1. */
struct window_axis {
    int64_t inputs, outputs;
    const int64_t *start, *end;
};

/* Sums of x, real or complex, over the windows of its last `count` dimensions, one to WINDOW_MOST_AXES. */
struct node *node_window_sums(struct tape *tape, struct node *x, int count,
                              const struct window_axis *axes);

#endif
