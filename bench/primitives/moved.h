/* What primitives that move elements share (movement.c, view.c, gather.c). */
#ifndef PROBE_BENCH_PRIMITIVES_MOVED_H
#define PROBE_BENCH_PRIMITIVES_MOVED_H

#include "bench/tape/tape.h"

/* dst[k] = src[offset of k], k row-major in `shape`. 8-byte elements. */
void copy_strided(void *dst, const void *src, int rank, const int64_t *shape, const int64_t *stride,
                  int64_t offset, size_t n);

/* A new node of a movement primitive for real x, or an integral one; elements
 * uninitialised, uniform bounds taken over, an error array made when x has one. */
struct node *moved(struct tape *tape, const struct primitive *primitive, struct node *x, int rank,
                   const int64_t *shape, const void *parameters);

#endif
