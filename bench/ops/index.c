/* Elements by index along a dimension: gather, index_select, take, put, index_add,
 * index_copy. */
#include <string.h>

#include "bench/call/op.h"
#include "bench/ops/indexing.h"
#include "bench/ops/integers.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/gather.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/overwrite.h"
#include "bench/tape/broadcast.h"

static void gather(struct call *call)
{
    struct node *x = call_tensor(call, "input"), *index = call_tensor(call, "index");
    int dim = call_dim(call, "dim", x->rank);
    int64_t *map = scatter_map(call, index, x->rank, x->shape, dim);
    if (map) call_return(call, node_gather(call->tape, x, index->rank, index->shape, map, 0));
}

static void index_select(struct call *call)
{
    struct node *x = call_tensor(call, "input"), *index = call_tensor(call, "index");
    int dim = call_dim(call, "dim", x->rank);
    if (!call_require(call, index->integer && index->rank <= 1,
                      "the index must be a vector of integers"))
        return;
    call_return(call, node_index_select(call->tape, x, dim, index));
}

/* Elements of flattened x; negative indices count from the end. */
static int64_t *flat_map(struct call *call, const struct node *index, size_t n)
{
    if (!index->integer) call_fail(call, "the index must hold integers");
    int64_t *map = tape_allocate(call->tape, index->n, sizeof *map);
    for (size_t i = 0; map && i < index->n; i++) {
        map[i] = index->integer[i] < 0 ? index->integer[i] + (int64_t)n : index->integer[i];
        if (map[i] >= 0 && map[i] < (int64_t)n) continue;
        call_fail(call, "index %lld is out of range for %zu elements", (long long)index->integer[i],
                  n);
        return NULL;
    }
    return map;
}

static void take(struct call *call)
{
    struct node *x = call_tensor(call, "input"), *index = call_tensor(call, "index");
    int64_t *map = flat_map(call, index, x->n);
    if (map) call_return(call, node_gather(call->tape, x, index->rank, index->shape, map, 0));
}

static void put(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input"), *index = call_tensor(call, "index");
    struct node *source = node_cast(tape, call_tensor(call, "source"), x->dtype);
    int64_t *map = flat_map(call, index, x->n);
    if (!map) return;
    if (!call_require(call, source->n == index->n && x->dtype != DT_NONE,
                      "%zu indices for %zu elements", index->n, source->n))
        return;
    if (!call_bool(call, "accumulate")) {
        call_return(call, overwritten(call, x, source, 1, map));
        return;
    }
    call_return_typed(call, added_rows(call, x, source, 1, map), x->dtype);
}

/* take_along_dim: gather with the other dimensions broadcast; without dim over all
 * elements. */
static void take_along_dim(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input"), *index = call_tensor(call, "indices");
    int64_t shape[TENSOR_MAX_RANK], own[TENSOR_MAX_RANK];

    if (call_is_none(call, "dim")) {
        x = node_reshape(tape, x, 1, (int64_t[]){ (int64_t)x->n });
        index = node_reshape(tape, index, 1, (int64_t[]){ (int64_t)index->n });
    }
    int dim = call_is_none(call, "dim") ? 0 : call_dim(call, "dim", x->rank), rank;
    if (!call_require(call, index->integer && index->rank == x->rank,
                      "the indices must be integers of as many dimensions as the tensor"))
        return;
    memcpy(own, x->shape, sizeof own);
    memcpy(shape, index->shape, sizeof shape);
    if (x->rank) own[dim] = shape[dim] = 1;
    if (!call_require(call, shape_broadcast(&rank, shape, x->rank, own, x->rank, shape),
                      "the indices do not broadcast with the tensor"))
        return;
    memcpy(own, shape, sizeof own);
    if (x->rank) {
        own[dim] = x->shape[dim];
        shape[dim] = index->shape[dim];
    }
    x = node_broadcast(tape, x, rank, own);
    index = node_broadcast(tape, index, rank, shape);
    int64_t *map = scatter_map(call, index, rank, own, dim);
    if (map) call_return(call, node_gather(tape, x, rank, shape, map, 0));
}

/* ---- along a dimension, writing ----------------------------------------------------- */

/* The source of index_add and index_copy, of x's shape with the index's length
 * along dim. */
static bool check_source(struct call *call, const struct node *x, const struct node *source,
                         int dim, const struct node *index)
{
    bool fits = source->rank == x->rank || (source->n == 1 && index->n == 1 && x->rank <= 1);
    for (int d = 0; fits && d < source->rank; d++)
        fits = source->shape[d] == (d == dim ? (int64_t)index->n : x->shape[d]);
    return call_require(call, fits, "the source does not have the shape that the index asks for");
}

static void index_add(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input"), *index = call_tensor(call, "index");
    struct node *source = call_tensor(call, "source");
    struct node *alpha = call_node(call, call_value(call, "alpha"));
    int dim = call_dim(call, "dim", x->rank);
    size_t row;
    int64_t *map = dimension_map(call, x, dim, index, &row);

    if (!map || !check_source(call, x, source, dim, index)) return;
    if (!call_require(call, alpha->n == 1, "alpha must be one number")) return;
    if (!alpha->integer || alpha->integer[0] != 1)
        source = node_multiply_as(tape, x->dtype, source, alpha);
    if (!x->integer) source = node_to_real(tape, source);
    call_return_typed(call, added_rows(call, x, source, row, map), x->dtype);
}

static void index_copy(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input"), *index = call_tensor(call, "index");
    struct node *source = node_cast(tape, call_tensor(call, "source"), x->dtype);
    int dim = call_dim(call, "dim", x->rank);
    size_t row;
    int64_t *map = dimension_map(call, x, dim, index, &row);
    if (map && check_source(call, x, source, dim, index))
        call_return(call, overwritten(call, x, source, row, map));
}

static void index_fill(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input"), *index = call_tensor(call, "index");
    struct node *value = node_cast(tape, call_tensor(call, "value"), x->dtype);
    int dim = call_dim(call, "dim", x->rank);
    int64_t shape[TENSOR_MAX_RANK];
    size_t row;
    int64_t *map = dimension_map(call, x, dim, index, &row);

    if (!map) return;
    if (!call_require(call, !value->rank, "the value to fill with must be one number")) return;
    memcpy(shape, x->shape, sizeof shape);
    if (x->rank) shape[dim] = (int64_t)index->n;
    value = node_broadcast(tape, value, x->rank, shape);
    call_return_typed(call, node_overwrite(tape, x, value, row, map, NULL), x->dtype);
}

/* clang-format off */
const struct op ops_index[] = {
    { "gather", TENSOR | TORCH | ATEN, "(Tensor input, int dim, Tensor index, *, bool sparse_grad=False)", gather, OP_ONE_NODE, 0, NULL },
    { "index_select", TENSOR | TORCH | ATEN, "(Tensor input, int dim, Tensor index)", index_select, OP_ONE_NODE, 0, NULL },
    { "take", TENSOR | TORCH | ATEN, "(Tensor input, Tensor index)", take, OP_ONE_NODE, 0, NULL },
    { "put", TENSOR | TORCH | ATEN, "(Tensor input, Tensor index, Tensor source, bool accumulate=False)", put, OP_ONE_NODE, 0, NULL },
    { "take_along_dim", TENSOR | TORCH, "(Tensor input, Tensor indices, int? dim=None)", take_along_dim, OP_ONE_NODE, 0, NULL },
    { "index_add", TENSOR | TORCH | ATEN, "(Tensor input, int dim, Tensor index, Tensor source, *, Scalar alpha=1)", index_add, OP_ONE_NODE, 0, NULL },
    { "index_copy", TENSOR | TORCH | ATEN, "(Tensor input, int dim, Tensor index, Tensor source)", index_copy, OP_ONE_NODE, 0, NULL },
    { "index_fill", TENSOR | TORCH | ATEN, "(Tensor input, int dim, Tensor index, Tensor value)", index_fill, OP_ONE_NODE, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(index);
