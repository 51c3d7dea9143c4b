/* Tensors joined to one: cat, stack and their relatives, grids, products of sets. */
#include <string.h>

#include "bench/call/op.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/gather.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/view.h"

enum { MOST_COMBINATIONS = 1 << 28 };

/* The common dtype of all parts. */
static struct node **same_dtype(struct call *call, struct node **parts, int count)
{
    enum dtype dtype = call_result_type(call, parts, count);
    struct node **out = tape_allocate(call->tape, (size_t)count, sizeof *out);
    if (!out) return parts;
    for (int k = 0; k < count; k++) out[k] = node_cast(call->tape, parts[k], dtype);
    return out;
}

static struct node *joined(struct call *call, struct node **parts, int count, int dim)
{
    if (!call_require(call, count >= 1, "there is nothing to join"))
        return node_scalar(call->tape, 0);
    return node_concatenate(call->tape, same_dtype(call, parts, count), count, dim);
}

/* As torch.cat, which takes empty vectors for empty tensors of any shape. */
static void cat(struct call *call)
{
    struct tape *tape = call->tape;
    int count, first = 0;
    struct node **parts = call_tensors(call, "tensors", &count);
    if (!call_require(call, count, "there is nothing to join")) return;
    enum dtype dtype = call_result_type(call, parts, count);
    while (first < count - 1 && parts[first]->rank == 1 && !parts[first]->n) first++;
    struct node *model = parts[first];
    if (!call_require(call, model->rank, "scalars cannot be concatenated")) return;
    int dim = call_dim(call, "dim", model->rank);
    int64_t nothing[TENSOR_MAX_RANK];
    memcpy(nothing, model->shape, sizeof nothing);
    nothing[dim] = 0;
    for (int k = 0; k < count; k++)
        if (parts[k]->rank == 1 && !parts[k]->n)
            parts[k] = node_reshape(tape, parts[k], model->rank, nothing);
    call_return_typed(call, joined(call, parts, count, dim), dtype);
}

/* Every part with a dimension of 1 put in at `dim`. */
static void insert_dimension(struct tape *tape, struct node **parts, int count, int dim)
{
    for (int k = 0; k < count; k++) {
        int64_t shape[TENSOR_MAX_RANK + 1];
        const struct node *x = parts[k];
        for (int d = 0; d <= x->rank; d++)
            shape[d] = d < dim ? x->shape[d] : d == dim ? 1 : x->shape[d - 1];
        parts[k] = node_reshape(tape, parts[k], x->rank + 1, shape);
    }
}

static void stack(struct call *call)
{
    int count;
    struct node **parts = call_tensors(call, "tensors", &count);
    if (!call_require(call, count, "there is nothing to stack")) return;
    int dim = call_dim(call, "dim", parts[0]->rank + 1);
    for (int k = 1; k < count; k++)
        if (!call_require(call, parts[k]->rank == parts[0]->rank,
                          "stacked tensors differ in shape"))
            return;
    insert_dimension(call->tape, parts, count, dim);
    call_return(call, joined(call, parts, count, dim));
}

/* hstack, vstack, dstack: detail is the rank each part has at least. */
static void join_along(struct call *call)
{
    int count, least = (int)call->op->detail;
    struct tape *tape = call->tape;
    struct node **parts = call_tensors(call, "tensors", &count);
    for (int k = 0; k < count; k++) {
        const struct node *x = parts[k];
        int64_t shape[3] = { 1, 1, 1 };
        if (x->rank >= least) continue;
        if (x->rank == 1) shape[1] = x->shape[0];
        if (x->rank == 2) memcpy(shape, x->shape, 2 * sizeof *shape);
        parts[k] = node_reshape(tape, parts[k], least, shape);
    }
    int dim = least == 1 ? count && parts[0]->rank > 1 : least == 2 ? 0 : 2;
    call_return(call, joined(call, parts, count, dim));
}

/* Vectors become columns. */
static void column_stack(struct call *call)
{
    int count;
    struct tape *tape = call->tape;
    struct node **parts = call_tensors(call, "tensors", &count);
    for (int k = 0; k < count; k++)
        if (parts[k]->rank < 2)
            parts[k] = node_reshape(tape, parts[k], 2, (int64_t[]){ (int64_t)parts[k]->n, 1 });
    call_return(call, joined(call, parts, count, 1));
}

static void block_diag(struct call *call)
{
    struct tape *tape = call->tape;
    int count;
    struct node **parts = call_tensors(call, "tensors", &count);
    int64_t width = 0, start = 0;

    if (!call_require(call, count, "there is nothing to join")) return;
    parts = same_dtype(call, parts, count);
    for (int k = 0; k < count; k++) {
        const struct node *x = parts[k];
        if (x->rank > 2) call_fail(call, "a block of %d dimensions", x->rank);
        else if (x->rank < 2)
            parts[k] = node_reshape(tape, parts[k], 2, (int64_t[]){ 1, (int64_t)x->n });
        width += parts[k]->shape[1];
    }
    for (int k = 0; k < count; k++) {
        int64_t columns = parts[k]->shape[1];
        parts[k] = node_place(tape, parts[k], NULL, 2, (int64_t[]){ parts[k]->shape[0], width },
                              (int64_t[]){ width, 1 }, start);
        start += columns;
    }
    call_return(call, joined(call, parts, count, 0));
}

/* The grids of `count` vectors: part k varies along dimension k. */
static void grids(struct call *call, struct node **parts, int count)
{
    int64_t shape[TENSOR_MAX_RANK];
    if (!call_require(call, count <= TENSOR_MAX_RANK, "a grid of %d dimensions", count)) return;
    for (int k = 0; k < count; k++) {
        if (!call_require(call, parts[k]->rank <= 1, "grids are made of vectors")) return;
        shape[k] = (int64_t)parts[k]->n;
    }
    for (int k = 0; k < count; k++) {
        int64_t own[TENSOR_MAX_RANK];
        for (int d = 0; d < count; d++) own[d] = d == k ? shape[d] : 1;
        parts[k] = node_broadcast(call->tape, node_reshape(call->tape, parts[k], count, own), count,
                                  shape);
    }
}

static void meshgrid(struct call *call)
{
    int count;
    struct node **parts = call_tensors(call, "tensors", &count);
    bool swap = !strcmp(call_string(call, "indexing"), "xy") && count >= 2;
    if (!call_require(call, count, "meshgrid needs at least one vector")) return;
    if (swap) {
        struct node *first = parts[0];
        parts[0] = parts[1];
        parts[1] = first;
    }
    grids(call, parts, count);
    for (int k = 0; k < count; k++) call_return(call, parts[swap && k < 2 ? 1 - k : k]);
}

static void cartesian_prod(struct call *call)
{
    struct tape *tape = call->tape;
    int count;
    struct node **parts = call_tensors(call, "tensors", &count);
    if (count == 1 && parts[0]->rank == 1) {
        call_return(call, parts[0]);
        return;
    }
    grids(call, parts, count);
    for (int k = 0; k < count; k++)
        parts[k] = node_reshape(tape, parts[k], 2, (int64_t[]){ (int64_t)parts[k]->n, 1 });
    call_return(call, joined(call, parts, count, 1));
}

/* The r-subsets of a vector in lexicographic order of positions. */
static void combinations(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input");
    int64_t n = (int64_t)x->n, r = call_int(call, "r"), total = 0;
    bool again = call_bool(call, "with_replacement");

    if (!call_require(call, x->rank == 1 && r >= 0 && r <= 64,
                      "combinations of %lld of a tensor of %d dimensions", (long long)r, x->rank))
        return;
    if (r == 0) { /* an empty vector, as PyTorch gives */
        call_return(call, node_slice(tape, x, 0, 0, 0, 1));
        return;
    }
    /* C(n, r), or C(n + r - 1, r), by the exact product of successive binomials. */
    __int128 choose = again || n >= r ? 1 : 0;
    for (int64_t k = 1; k <= r && choose; k++) {
        choose = choose * ((again ? n - 1 : n - r) + k) / k;
        if (!call_require(call, choose <= MOST_COMBINATIONS / r, "too many combinations")) return;
    }
    total = (int64_t)choose;
    int64_t *map = tape_allocate(tape, (size_t)(total * r), sizeof *map), at[64];
    if (!map) return;
    for (int64_t k = 0; k < r; k++) at[k] = again ? 0 : k;
    for (int64_t i = 0; i < total; i++) {
        memcpy(map + i * r, at, (size_t)r * sizeof *at);
        int64_t k = r - 1;
        while (k >= 0 && at[k] == (again ? n - 1 : n - r + k)) k--;
        if (k < 0) break;
        at[k]++;
        for (int64_t j = k + 1; j < r; j++) at[j] = at[j - 1] + (again ? 0 : 1);
    }
    call_return(call, node_gather(tape, x, 2, (int64_t[]){ total, r }, map, 0));
}

/* clang-format off */
const struct op ops_join[] = {
    { "cat|concat|concatenate", TORCH | ATEN, "(Tensor[] tensors, int dim=0)", cat, OP_ONE_NODE, 0, NULL },
    { "stack", TORCH | ATEN, "(Tensor[] tensors, int dim=0)", stack, OP_ONE_NODE, 0, NULL },
    { "hstack", TORCH, "(Tensor[] tensors)", join_along, OP_ONE_NODE, 1, NULL },
    { "vstack|row_stack", TORCH, "(Tensor[] tensors)", join_along, OP_ONE_NODE, 2, NULL },
    { "dstack", TORCH, "(Tensor[] tensors)", join_along, OP_ONE_NODE, 3, NULL },
    { "column_stack", TORCH, "(Tensor[] tensors)", column_stack, OP_ONE_NODE, 0, NULL },
    { "block_diag", TORCH, "(*Tensor[] tensors)", block_diag, OP_ONE_NODE, 0, NULL },
    { "meshgrid", TORCH, "(*Tensor[] tensors, *, str? indexing=None)", meshgrid, 0, 0, NULL },
    { "cartesian_prod", TORCH, "(*Tensor[] tensors)", cartesian_prod, 0, 0, NULL },
    { "combinations", TORCH, "(Tensor input, int r=2, bool with_replacement=False)", combinations, 0, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(join);
