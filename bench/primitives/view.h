/* Affine views of the elements of a node, and placing elements at one. */
#ifndef PROBE_BENCH_PRIMITIVES_VIEW_H
#define PROBE_BENCH_PRIMITIVES_VIEW_H

#include "bench/tape/tape.h"

/* out[i0, i1, ...] = x_dense[offset + sum_d i_d * stride[d]], strides in elements of dense x.
 * Covers permute, slice, flip, expand, diagonal, unfold, as_strided. */
struct node *node_view(struct tape *tape, struct node *x, int rank, const int64_t *shape,
                       const int64_t *stride, int64_t offset);

struct node *node_permute(struct tape *tape, struct node *x, const int *order);
struct node *node_transpose(struct tape *tape, struct node *x, int dim0, int dim1);
struct node *node_slice(struct tape *tape, struct node *x, int dim, int64_t start, int64_t length,
                        int64_t step);

/* The adjoint of a view, for one that no two elements share: a result of `shape`, `fill`
 * (one element, exact; NULL: 0) everywhere but at offset + sum_d i_d * stride[d] (in elements of the dense result), where
 * x[i0, i1, ...] lies. stride has x's rank. Covers constant padding and diag_embed. */
struct node *node_place(struct tape *tape, struct node *x, struct node *fill, int rank,
                        const int64_t *shape, const int64_t *stride, int64_t offset);

#endif
