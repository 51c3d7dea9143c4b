/* What primitives that move elements share (movement.c, view.c, gather.c). */
#ifndef PROBE_BENCH_PRIMITIVES_MOVED_H
#define PROBE_BENCH_PRIMITIVES_MOVED_H

#include "bench/tape/known_values.h"
#include "bench/tape/tape.h"

/* Places of elements: number i0, i1, ... row-major in `shape` lies at offset + sum_d i_d * stride[d]. */
struct strides {
    int rank;
    const int64_t *shape, *stride;
    int64_t offset;
};

/* The n elements, 8 bytes each, at those places of `src`, one after the other; helpers copy some. */
void copy_strided(struct help *help, void *dst, const void *src, const struct strides *s, size_t n);

/* A new node of a movement primitive for real x, or an integral one; elements
 * uninitialised, uniform bounds taken over, an error array made when x has one. */
struct node *moved(struct tape *tape, const struct primitive *primitive, struct node *x, int rank,
                   const int64_t *shape, const void *parameters);

/* The same of all elements of x in another order, deferred: read at their places in x, run by run. NULL where steps are not
 * deferred, or for short runs. `alike`: which steps of another model have the same values. */
struct node *moved_in_runs(struct tape *tape, const struct primitive *primitive, struct node *x,
                           const struct strides *s, const void *parameters, steps_alike *alike);

#endif
