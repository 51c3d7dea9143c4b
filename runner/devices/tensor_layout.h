/* Copying tensors between dense row-major order and what a kernel wants: another dtype, another
 * order of the dimensions, broadcast to a larger shape.
 */
#ifndef PROBE_RUNNER_DEVICES_TENSOR_LAYOUT_H
#define PROBE_RUNNER_DEVICES_TENSOR_LAYOUT_H

#include "core/arena.h"
#include "core/tensor.h"

/* Write `in`, broadcast to `shape` and converted to `dtype`, to `out` with its dimensions stored
 * in the order `axes` (axes[0] varies slowest; NULL is row-major). The shapes must broadcast. */
struct status layout_store(void *out, enum dtype dtype, int rank, const int64_t *shape,
                           const int *axes, const struct tensor *in, struct arena *arena);

/* The reverse: a dense row-major tensor of `dtype` in `arena` from elements stored in the order
 * `axes`. */
struct status layout_load(struct tensor *out, enum dtype dtype, const struct tensor *stored,
                          const int *axes, struct arena *arena);

/* Does `shape` broadcast to `wanted`? */
bool layout_broadcasts(int rank, const int64_t *shape, int wanted_rank, const int64_t *wanted);

/* Convert n elements; values are rounded once. Complex converts only to complex. */
void layout_convert(void *out, enum dtype to, const void *in, enum dtype from, size_t n);

#endif
