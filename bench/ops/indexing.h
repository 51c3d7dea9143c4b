/* x[index] of any kind, resolved to positions in dense x; and the maps of the scatter APIs.
 */
#ifndef PROBE_BENCH_OPS_INDEXING_H
#define PROBE_BENCH_OPS_INDEXING_H

#include "bench/ops/operands.h"

enum { INDEXING_MOST = 2 * TENSOR_MAX_RANK };

struct indexing {
    int rank; /* the result's */
    int64_t shape[TENSOR_MAX_RANK];
    /* Without tensor indices the result is a strided view, */
    bool is_view;
    int64_t stride[TENSOR_MAX_RANK], offset;
    /* and otherwise (or after indexing_need_map) rows of x: entry i of the map is the
     * number of the row of `row` elements that row i of the result is. */
    size_t row;
    int64_t *map;
};

/* Resolve `count` items (ints, slices, None, Ellipsis, bools, integer or bool tensors,
 * nested lists). `none_is_all`: None stands for a whole dimension, as in aten::index,
 * rather than for a new one. False, with a sentence in `why`, when the items do not
 * fit x. */
bool indexing_open(struct indexing *out, struct call *call, const struct node *x,
                   const struct value *items, size_t count, bool none_is_all, char *why,
                   size_t why_bytes);

/* Make the map of a view. False after a failure of the tape. */
bool indexing_need_map(struct indexing *indexing, struct call *call, const struct node *x);

/* Every step-th of an extent's positions from start on, count of them. */
struct slice {
    int64_t start, count, step;
};

/* The arguments start, end and step of a slice along dim of x, clamped as Python clamps them. False,
 * having failed, for a scalar or a step below 1. */
bool slice_argument(struct slice *out, struct call *call, const struct node *x, int dim);

/* Map of the scatter APIs: where element i of `index` (integers) leads in a dense tensor of
 * `shape` whose extent along dim it replaces. NULL, having failed, when out of range. */
int64_t *scatter_map(struct call *call, const struct node *index, int rank, const int64_t *shape,
                     int dim);

/* Map of index_add and its relatives: rows (outer, index) of x, and their width. */
int64_t *dimension_map(struct call *call, const struct node *x, int dim, const struct node *index,
                       size_t *row);

/* x with its rows map[i] replaced by those of v. Where several meet, PyTorch leaves open
 * which stays: the one nearest to what the device returned as output 0 is taken, else the
 * last. */
struct node *overwritten(struct call *call, struct node *x, struct node *v, size_t row,
                         const int64_t *map);

/* x with row i of `source` added to its row map[i]. */
struct node *added_rows(struct call *call, struct node *x, struct node *source, size_t row,
                        const int64_t *map);

#endif
