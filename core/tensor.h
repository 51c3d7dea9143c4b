/* N-dimensional strided tensors.
 *
 * A tensor describes elements; it never owns them: they belong to an arena or a file mapping.
 * Strides count elements, may be 0 (broadcast) or negative, and `data` points at the element
 * with all indices 0.
 */
#ifndef PROBE_CORE_TENSOR_H
#define PROBE_CORE_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/dtype.h"
#include "core/status.h"

enum { TENSOR_MAX_RANK = 16 };

struct tensor {
    enum dtype dtype;
    int rank;
    int64_t shape[TENSOR_MAX_RANK];
    int64_t stride[TENSOR_MAX_RANK];
    void *data;
};

/* Number of elements; 1 for rank 0. The shape must have passed shape_elements once. */
size_t tensor_elements(const struct tensor *tensor);

/* A dense row-major tensor with uninitialised elements in `arena`. STATUS_NO_MEMORY when the
 * product of the shape overflows or does not fit. */
struct status tensor_create(struct tensor *out, struct arena *arena, enum dtype dtype, int rank,
                            const int64_t *shape);

/* Describe existing dense row-major elements. */
void tensor_wrap(struct tensor *out, void *data, enum dtype dtype, int rank, const int64_t *shape);

/* Row-major with no gaps. Extents of 1 may have any stride; empty tensors are dense. */
bool tensor_is_dense(const struct tensor *tensor);

/* `out` is `in` itself when that is dense, otherwise a dense copy in `arena`. */
struct status tensor_densify(struct tensor *out, struct arena *arena, const struct tensor *in);

/* Same rank and extents. */
bool tensor_same_shape(const struct tensor *a, const struct tensor *b);

/* "(2, 3)", "(3,)", "()": the shape as a Python tuple. Cut to `bytes`. */
void shape_format(char *text, size_t bytes, int rank, const int64_t *shape);

#endif
