/* Elements chosen by a mask: masked_fill, masked_select, masked_scatter, nonzero. */
#include <string.h>

#include "bench/call/op.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/gather.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/overwrite.h"
#include "bench/primitives/selection.h"
#include "bench/primitives/view.h"
#include "bench/tape/broadcast.h"

static struct node *mask_of(struct call *call)
{
    struct node *mask = call_tensor(call, "mask");
    if (!mask->integer) call_fail(call, "the mask must be bool");
    return mask;
}

static void masked_fill(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input"), *mask = mask_of(call);
    struct node *value = call_node(call, call_value(call, "value"));
    if (!call_require(call, !value->rank, "the value to fill with must be one number")) return;
    call_return_typed(call, node_select(tape, mask, node_cast(tape, value, x->dtype), x), x->dtype);
}

/* x and the mask in their common shape. */
static bool broadcast_pair(struct call *call, struct node **x, struct node **mask)
{
    int64_t shape[TENSOR_MAX_RANK];
    int rank;
    if (!call_require(
            call,
            shape_broadcast(&rank, shape, (*x)->rank, (*x)->shape, (*mask)->rank, (*mask)->shape),
            "the mask does not broadcast with the tensor"))
        return false;
    *x = node_broadcast(call->tape, *x, rank, shape);
    *mask = node_broadcast(call->tape, *mask, rank, shape);
    return !tape_failed(call->tape);
}

/* Positions where the mask holds. */
static int64_t *positions(struct tape *tape, const struct node *mask, int64_t *count)
{
    *count = 0;
    for (size_t i = 0; i < mask->n; i++) *count += mask->integer[i] != 0;
    int64_t *map = tape_allocate(tape, (size_t)*count, sizeof *map), at = 0;
    for (size_t i = 0; map && i < mask->n; i++)
        if (mask->integer[i]) map[at++] = (int64_t)i;
    return map;
}

static void masked_select(struct call *call)
{
    struct node *x = call_tensor(call, "input"), *mask = mask_of(call);
    int64_t count;
    if (!broadcast_pair(call, &x, &mask)) return;
    int64_t *map = positions(call->tape, mask, &count);
    if (map) call_return(call, node_gather(call->tape, x, 1, &count, map, 0));
}

/* The first elements of source, in order, where the mask holds. */
static void masked_scatter(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input"), *mask = mask_of(call);
    struct node *source = call_tensor(call, "source");
    int64_t count;
    if (!broadcast_pair(call, &x, &mask)) return;
    int64_t *map = positions(tape, mask, &count);
    if (!map) return;
    if (!call_require(call, (int64_t)source->n >= count,
                      "source has %zu elements, the mask asks for %lld", source->n,
                      (long long)count))
        return;
    source = node_reshape(tape, source, 1, (int64_t[]){ (int64_t)source->n });
    source = node_cast(tape, node_slice(tape, source, 0, 0, count, 1), x->dtype);
    call_return(call, node_overwrite(tape, x, source, 1, map, NULL));
}

/* Indices of the elements that are not zero, one row each; as columns when a tuple is asked
 * for. detail 1: always the tuple. */
/* Row i of `out` is position map[i] of x's elements, by dimension. */
static void write_positions(struct node *out, const struct node *x, const int64_t *map,
                            int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        int64_t rest = map[i];
        for (int d = x->rank - 1; d >= 0; d--) {
            out->integer[i * x->rank + d] = rest % x->shape[d];
            rest /= x->shape[d];
        }
    }
}

static void nonzero(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = node_to_integer(tape, call_tensor(call, call->op->text), DT_BOOL);
    bool tuple = call->op->detail || call_bool(call, "as_tuple");
    int64_t count;
    if (tape_failed(tape)) return;
    int64_t *map = positions(tape, x, &count);
    if (!map) return;
    if (tuple && !x->rank) x = node_reshape(tape, x, 1, (int64_t[]){ 1 });
    struct node *out = node_new_integer(tape, DT_I64, 2, (int64_t[]){ count, x->rank });
    if (tape_failed(tape)) return;
    write_positions(out, x, map, count);
    for (int d = 0; tuple && d < x->rank; d++)
        call_return(call, node_reshape(tape, node_slice(tape, out, 1, d, 1, 1), 1, &count));
    if (!tuple) call_return(call, out);
}

/* The first `size` positions, the rest filled. */
static void nonzero_static(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = node_to_integer(tape, call_tensor(call, "input"), DT_BOOL);
    int64_t count, size = call_int(call, "size");
    if (!call_require(call, size >= 0, "a size of %lld", (long long)size)) return;
    int64_t *map = positions(tape, x, &count);
    struct node *out = node_integer_constant(tape, DT_I64, call_int(call, "fill_value"), 2,
                                             (int64_t[]){ size, x->rank });
    if (!map || tape_failed(tape)) return;
    write_positions(out, x, map, count < size ? count : size);
    call_return(call, out);
}

/* clang-format off */
const struct op ops_mask[] = {
    { "masked_fill", TENSOR | TORCH | ATEN, "(Tensor input, Tensor mask, Tensor value)", masked_fill, OP_ONE_NODE, 0, NULL },
    { "masked_select", TENSOR | TORCH | ATEN, "(Tensor input, Tensor mask)", masked_select, OP_ONE_NODE, 0, NULL },
    { "masked_scatter", TENSOR | TORCH | ATEN, "(Tensor input, Tensor mask, Tensor source)", masked_scatter, OP_ONE_NODE, 0, NULL },
    { "nonzero|argwhere", TENSOR | TORCH | ATEN, "(Tensor input, *, bool as_tuple=False)", nonzero, OP_NO_GRADIENT, 0, "input" },
    { "nonzero_static", TORCH, "(Tensor input, *, int size, int fill_value=-1)", nonzero_static, OP_NO_GRADIENT, 0, NULL },
    { "nonzero_numpy", TENSOR | TORCH | ATEN, "(Tensor input)", nonzero, OP_NO_GRADIENT, 1, "input" },
};
/* clang-format on */
OP_TABLE_END(mask);
