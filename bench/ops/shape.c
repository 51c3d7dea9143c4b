/* Shapes of one tensor: reshapes, orders of dimensions, repetition, reversal. */
#include <string.h>

#include "bench/call/dimensions.h"
#include "bench/call/op.h"
#include "bench/primitives/alias.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/complex_parts.h"
#include "bench/primitives/gather.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/view.h"
#include "bench/tape/broadcast.h"

/* ---- the same elements in another shape --------------------------------------------- */

static void same(struct call *call) { call_return(call, call_tensor(call, "input")); }

static void detach(struct call *call)
{
    call_return(call, node_detach(call->tape, call_tensor(call, "input")));
}

/* text: the parameter with the shape. */
static void reshape(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    int64_t shape[TENSOR_MAX_RANK];
    int rank = call_ints(call, call->op->text, shape, TENSOR_MAX_RANK);
    call_return(call, node_reshape(call->tape, x, rank, shape));
}

static void reshape_as(struct call *call)
{
    struct node *x = call_tensor(call, "input"), *other = call_tensor(call, "other");
    call_return(call, node_reshape(call->tape, x, other->rank, other->shape));
}

static void ravel(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    call_return(call, node_reshape(call->tape, x, 1, (int64_t[]){ (int64_t)x->n }));
}

static void flatten(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    int64_t shape[TENSOR_MAX_RANK];
    int rank = 0, first = call_dim(call, "start_dim", x->rank);
    int last = call_dim(call, "end_dim", x->rank);

    if (!call_require(call, first <= last, "start_dim lies behind end_dim")) return;
    for (int d = 0; d < x->rank; d++)
        if (d > first && d <= last) shape[rank - 1] *= x->shape[d];
        else shape[rank++] = x->shape[d];
    if (!x->rank) shape[rank++] = 1;
    call_return(call, node_reshape(call->tape, x, rank, shape));
}

static void unflatten(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    int64_t sizes[TENSOR_MAX_RANK], shape[2 * TENSOR_MAX_RANK];
    int dim = call_dim(call, "dim", x->rank), rank = 0, unknown = -1;
    int count = call_ints(call, "sizes", sizes, TENSOR_MAX_RANK);
    int64_t known = 1;

    for (int k = 0; k < count; k++)
        if (sizes[k] == -1) unknown = k;
        else if (__builtin_mul_overflow(known, sizes[k], &known))
            call_fail(call, "the sizes are too large");
    if (unknown >= 0) sizes[unknown] = known > 0 && x->rank ? x->shape[dim] / known : 0;
    for (int d = 0; d < x->rank; d++) {
        if (d != dim) shape[rank++] = x->shape[d];
        for (int k = 0; d == dim && k < count; k++) shape[rank++] = sizes[k];
    }
    call_return(call, node_reshape(call->tape, x, rank, shape));
}

static void squeeze(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    int64_t shape[TENSOR_MAX_RANK];
    int rank = 0;
    uint32_t dims = call_dims(call, "dim", x);
    for (int d = 0; d < x->rank; d++)
        if (!(dims >> d & 1) || x->shape[d] != 1) shape[rank++] = x->shape[d];
    call_return(call, node_reshape(call->tape, x, rank, shape));
}

static void unsqueeze(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    int64_t shape[TENSOR_MAX_RANK + 1];
    int dim = call_dim(call, "dim", x->rank + 1);
    for (int d = 0; d <= x->rank; d++)
        shape[d] = d < dim ? x->shape[d] : d == dim ? 1 : x->shape[d - 1];
    call_return(call, node_reshape(call->tape, x, x->rank + 1, shape));
}

/* At least `rank` dimensions, in numpy's places. */
static struct node *at_least(struct tape *tape, struct node *x, int rank)
{
    int64_t shape[3] = { 1, 1, 1 };
    if (x->rank >= rank) return x;
    if (x->rank == 1) shape[1] = x->shape[0];
    if (x->rank == 2) memcpy(shape, x->shape, 2 * sizeof *shape);
    return node_reshape(tape, x, rank, shape);
}

static void atleast(struct call *call)
{
    int count;
    struct node **parts = call_tensors(call, "tensors", &count);
    for (int k = 0; k < count; k++)
        call_return(call, at_least(call->tape, parts[k], (int)call->op->detail));
}

/* ---- order of dimensions ------------------------------------------------------------ */

/* text: the dimensions are called axis0 and axis1. */
static void transpose(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    bool axes = call->op->text != NULL;
    int first = call_dim(call, axes ? "axis0" : "dim0", x->rank);
    int second = call_dim(call, axes ? "axis1" : "dim1", x->rank);
    call_return(call, node_transpose(call->tape, x, first, second));
}

/* t: the transpose of a matrix; vectors and scalars stay. */
static void matrix_transpose(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    if (!call_require(call, x->rank <= 2, "t() takes at most 2 dimensions, the argument has %d",
                      x->rank))
        return;
    call_return(call, x->rank < 2 ? x : node_transpose(call->tape, x, 0, 1));
}

static void adjoint(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input");
    if (x->rank == 1) call_fail(call, "a matrix or a batch of matrices is needed");
    else if (x->rank) x = node_transpose(tape, x, x->rank - 2, x->rank - 1);
    if (x->imaginary)
        x = node_complex(tape, node_real_part(tape, x),
                         node_negate(tape, node_imaginary_part(tape, x)));
    call_return(call, x);
}

static void permute(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    int64_t dims[TENSOR_MAX_RANK];
    int order[TENSOR_MAX_RANK], count = call_ints(call, "dims", dims, TENSOR_MAX_RANK);
    uint32_t seen = 0;

    for (int d = 0; d < count; d++) {
        order[d] = wrap_dim(call, dims[d], x->rank);
        seen |= 1u << order[d];
    }
    if (!call_require(call, count == x->rank && seen == all_dims(x),
                      "the dimensions given are not a permutation of %d dimensions", x->rank))
        return;
    call_return(call, node_permute(call->tape, x, order));
}

static void movedim(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    int64_t from[TENSOR_MAX_RANK], to[TENSOR_MAX_RANK];
    int count = call_ints(call, "source", from, TENSOR_MAX_RANK), order[TENSOR_MAX_RANK];
    uint32_t moved = 0;

    if (!call_require(call, call_ints(call, "destination", to, TENSOR_MAX_RANK) == count,
                      "source and destination differ in length"))
        return;
    for (int d = 0; d < x->rank; d++) order[d] = -1;
    for (int k = 0; k < count; k++) {
        int source = wrap_dim(call, from[k], x->rank), place = wrap_dim(call, to[k], x->rank);
        if (!call_require(call, !(moved >> source & 1) && (!x->rank || order[place] < 0),
                          "a dimension is moved twice"))
            return;
        if (x->rank) order[place] = source;
        moved |= 1u << source;
    }
    for (int d = 0, rest = 0; d < x->rank; d++) {
        if (order[d] >= 0) continue;
        while (moved >> rest & 1) rest++;
        order[d] = rest++;
    }
    call_return(call, node_permute(call->tape, x, order));
}

/* ---- repetition --------------------------------------------------------------------- */

static void expand(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    int64_t shape[TENSOR_MAX_RANK];
    int rank = call_ints(call, "size", shape, TENSOR_MAX_RANK);
    call_return(call, node_broadcast(call->tape, x, rank, shape));
}

static void expand_as(struct call *call)
{
    struct node *x = call_tensor(call, "input"), *other = call_tensor(call, "other");
    call_return(call, node_broadcast(call->tape, x, other->rank, other->shape));
}

static void broadcast_tensors(struct call *call)
{
    int64_t shape[TENSOR_MAX_RANK];
    int count, rank = 0;
    struct node **parts = call_tensors(call, "tensors", &count);
    for (int k = 0; k < count; k++)
        if (!call_require(
                call, shape_broadcast(&rank, shape, rank, shape, parts[k]->rank, parts[k]->shape),
                "the tensors do not broadcast"))
            return;
    for (int k = 0; k < count; k++)
        call_return(call, node_broadcast(call->tape, parts[k], rank, shape));
}

/* Repeat x times[d] along dimension d of its shape padded on the left to `rank`: broadcast
 * over a new dimension before each repeated one, then merge the two. */
static struct node *repeated(struct call *call, struct node *x, int rank, const int64_t *times)
{
    struct tape *tape = call->tape;
    int64_t split[2 * TENSOR_MAX_RANK], wide[2 * TENSOR_MAX_RANK], merged[TENSOR_MAX_RANK];
    int n = 0;

    for (int d = 0; d < rank; d++) {
        int own = d - (rank - x->rank);
        int64_t extent = own >= 0 ? x->shape[own] : 1;
        if (!call_require(call,
                          times[d] >= 0 && !__builtin_mul_overflow(extent, times[d], &merged[d]),
                          "%lld repeats", (long long)times[d]))
            return x;
        if (times[d] != 1) {
            split[n] = 1;
            wide[n++] = times[d];
        }
        split[n] = wide[n] = extent;
        n++;
    }
    x = node_broadcast(tape, node_reshape(tape, x, n, split), n, wide);
    return node_reshape(tape, x, rank, merged);
}

/* repeat (at least as many numbers as dimensions) and tile (padded with ones). */
static void repeat(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    int64_t given[TENSOR_MAX_RANK], times[TENSOR_MAX_RANK];
    int count = call_ints(call, call->op->text, given, TENSOR_MAX_RANK);
    int rank = count > x->rank ? count : x->rank;

    if (!call_require(call, count >= x->rank || call->op->detail, "%d repeats for %d dimensions",
                      count, x->rank))
        return;
    for (int d = 0; d < rank; d++) times[d] = d < rank - count ? 1 : given[d - (rank - count)];
    call_return(call, repeated(call, x, rank, times));
}

static void repeat_interleave(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input"), *repeats = call_tensor(call, "repeats");

    if (call_is_none(call, "dim")) x = node_reshape(tape, x, 1, (int64_t[]){ (int64_t)x->n });
    int dim = call_is_none(call, "dim") ? 0 : call_dim(call, "dim", x->rank);
    if (!call_require(call, repeats->integer, "repeats must be integers")) return;
    if (!x->rank) x = node_reshape(tape, x, 1, (int64_t[]){ 1 });
    int64_t extent = x->shape[dim], total = 0;
    if (!call_require(call, repeats->n == 1 || (int64_t)repeats->n == extent,
                      "%zu repeats for %lld elements", repeats->n, (long long)extent))
        return;
    for (int64_t i = 0; i < extent && !tape_failed(tape); i++) {
        int64_t times = repeats->integer[repeats->n == 1 ? 0 : i];
        if (!call_require(call, times >= 0 && !__builtin_add_overflow(total, times, &total),
                          "repeats must not be negative"))
            return;
    }
    struct node *index = node_new_integer(tape, DT_I64, 1, &total);
    if (tape_failed(tape)) return;
    for (int64_t i = 0, at = 0; i < extent; i++)
        for (int64_t k = repeats->integer[repeats->n == 1 ? 0 : i]; k > 0; k--)
            index->integer[at++] = i;
    call_return(call, node_index_select(tape, x, dim, index));
}

/* repeat_interleave of repeats alone: the index i, repeats[i] times. */
static void repeat_positions(struct call *call)
{
    struct node *repeats = call_tensor(call, "repeats");
    int64_t total = 0;
    if (!call_require(call, repeats->integer && repeats->rank == 1,
                      "repeats must be a vector of integers"))
        return;
    for (size_t i = 0; i < repeats->n; i++)
        if (!call_require(call,
                          repeats->integer[i] >= 0 &&
                              !__builtin_add_overflow(total, repeats->integer[i], &total),
                          "repeats must not be negative"))
            return;
    struct node *index = node_new_integer(call->tape, repeats->dtype, 1, &total);
    if (tape_failed(call->tape)) return;
    for (size_t i = 0, at = 0; i < repeats->n; i++)
        for (int64_t k = repeats->integer[i]; k > 0; k--) index->integer[at++] = (int64_t)i;
    call_return(call, index);
}

/* ---- reversal and rotation ---------------------------------------------------------- */

static struct node *flipped(struct tape *tape, struct node *x, uint32_t dims)
{
    int64_t stride[TENSOR_MAX_RANK], offset = 0;
    if (tape_failed(tape) || !x->n) return x;
    shape_strides(stride, x->rank, x->shape);
    for (int d = 0; d < x->rank; d++) {
        if (!(dims >> d & 1)) continue;
        offset += (x->shape[d] - 1) * stride[d];
        stride[d] = -stride[d];
    }
    return node_view(tape, x, x->rank, x->shape, stride, offset);
}

static void flip(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    int64_t dims[TENSOR_MAX_RANK];
    int count = call_ints(call, "dims", dims, TENSOR_MAX_RANK);
    uint32_t set = 0;
    for (int k = 0; k < count; k++) set |= 1u << wrap_dim(call, dims[k], x->rank);
    call_return(call, flipped(call->tape, x, set));
}

/* flipud and fliplr: detail is the dimension. */
static void flip_one(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    if (!call_require(call, x->rank > call->op->detail, "too few dimensions to flip")) return;
    call_return(call, flipped(call->tape, x, 1u << call->op->detail));
}

static struct node *rolled(struct tape *tape, struct node *x, int dim, int64_t shift)
{
    if (!x->rank || !x->n) return x;
    int64_t extent = x->shape[dim], start = (extent - shift % extent) % extent;
    if (!start) return x;
    struct node *parts[2] = { node_slice(tape, x, dim, start, extent - start, 1),
                              node_slice(tape, x, dim, 0, start, 1) };
    return node_concatenate(tape, parts, 2, dim);
}

static void roll(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input"), *y = x;
    int64_t shifts[TENSOR_MAX_RANK], dims[TENSOR_MAX_RANK];
    int count = call_ints(call, "shifts", shifts, TENSOR_MAX_RANK);
    int named = call_ints(call, "dims", dims, TENSOR_MAX_RANK);

    if (named == 0 && count == 1) {
        y = rolled(tape, node_reshape(tape, x, 1, (int64_t[]){ (int64_t)x->n }), 0, shifts[0]);
        call_return(call, node_reshape(tape, y, x->rank, x->shape));
        return;
    }
    if (!call_require(call, named == count && count, "%d shifts for %d dimensions", count, named))
        return;
    for (int k = 0; k < count; k++)
        y = rolled(tape, y, wrap_dim(call, dims[k], x->rank), shifts[k]);
    call_return(call, y);
}

static void rot90(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input");
    int64_t dims[2] = { 0, 1 };
    int64_t k = (call_int(call, "k") % 4 + 4) % 4;

    if (!call_require(call, call_ints(call, "dims", dims, 2) == 2, "rot90 needs two dimensions"))
        return;
    int first = wrap_dim(call, dims[0], x->rank), second = wrap_dim(call, dims[1], x->rank);
    if (!call_require(call, first != second, "rot90 needs two different dimensions")) return;
    if (k == 2) x = flipped(tape, x, 1u << first | 1u << second);
    if (k % 2)
        x = node_transpose(tape, flipped(tape, x, 1u << (k == 1 ? second : first)), first, second);
    call_return(call, x);
}

/* clang-format off */
const struct op ops_shape[] = {
    { "view|_unsafe_view", ANYWHERE | ATEN, "(Tensor input, *int[] size)", reshape, OP_ONE_NODE, 0, "size" },
    { "reshape", ANYWHERE | ATEN, "(Tensor input, *int[] size)", reshape, OP_ONE_NODE, 0, "size" },
    { "reshape", ANYWHERE | ATEN, "(Tensor input, *, int[] shape)", reshape, OP_ONE_NODE, 0, "shape" },
    { "_reshape_alias", ANYWHERE | ATEN, "(Tensor input, int[] size, int[] stride)", reshape, OP_ONE_NODE, 0, "size" },
    { "view_as|reshape_as", TENSOR, "(Tensor input, Tensor other)", reshape_as, OP_ONE_NODE, 0, NULL },
    { "ravel", TENSOR | TORCH, "(Tensor input)", ravel, OP_ONE_NODE, 0, NULL },
    { "flatten", TENSOR | TORCH, "(Tensor input, int start_dim=0, int end_dim=-1)", flatten, OP_ONE_NODE, 0, NULL },
    { "unflatten", TENSOR | TORCH, "(Tensor input, int dim, *int[] sizes)", unflatten, OP_ONE_NODE, 0, NULL },
    { "squeeze", TENSOR | TORCH | ATEN, "(Tensor input, int[]? dim=None)", squeeze, OP_ONE_NODE, 0, NULL },
    { "unsqueeze", TENSOR | TORCH | ATEN, "(Tensor input, int dim)", unsqueeze, OP_ONE_NODE, 0, NULL },
    { "atleast_1d", TORCH, "(*Tensor[] tensors)", atleast, 0, 1, NULL },
    { "atleast_2d", TORCH, "(*Tensor[] tensors)", atleast, 0, 2, NULL },
    { "atleast_3d", TORCH, "(*Tensor[] tensors)", atleast, 0, 3, NULL },
    { "contiguous|clone|alias|lift|lift_fresh|resolve_neg|resolve_conj|pin_memory|_pin_memory|cpu|cuda|numpy|requires_grad_",
      TENSOR | TORCH | ATEN, "(Tensor input, ...)", same, OP_ONE_NODE, 0, NULL },
    { "detach|detach_copy", TENSOR | TORCH | ATEN, "(Tensor input)", detach, OP_NO_GRADIENT, 0, NULL },

    { "transpose", TENSOR | TORCH | ATEN, "(Tensor input, int dim0, int dim1)", transpose, OP_ONE_NODE, 0, NULL },
    { "swapaxes", TENSOR | TORCH, "(Tensor input, int axis0, int axis1)", transpose, OP_ONE_NODE, 0, "axes" },
    { "swapdims", TENSOR | TORCH, "(Tensor input, int dim0, int dim1)", transpose, OP_ONE_NODE, 0, NULL },
    { "t", TENSOR | TORCH | ATEN, "(Tensor input)", matrix_transpose, OP_ONE_NODE, 0, NULL },
    { "adjoint", TENSOR | TORCH, "(Tensor input)", adjoint, OP_ONE_NODE, 0, NULL },
    { "npu_reshape", NPU, "(Tensor input, int[] shape, bool can_refresh=False)", reshape, OP_ONE_NODE, 0, "shape" },
    { "npu_broadcast", NPU, "(Tensor input, int[] size)", expand, OP_ONE_NODE, 0, NULL },
    { "permute", TENSOR | TORCH | ATEN, "(Tensor input, *int[] dims)", permute, OP_ONE_NODE, 0, NULL },
    { "movedim|moveaxis", TENSOR | TORCH, "(Tensor input, int[] source, int[] destination)", movedim, OP_ONE_NODE, 0, NULL },

    { "expand", TENSOR | ATEN, "(Tensor input, *int[] size, bool implicit=False)", expand, OP_ONE_NODE, 0, NULL },
    { "broadcast_to", TENSOR | TORCH, "(Tensor input, int[] size)", expand, OP_ONE_NODE, 0, NULL },
    { "expand_as", TENSOR, "(Tensor input, Tensor other)", expand_as, OP_ONE_NODE, 0, NULL },
    { "broadcast_tensors", TORCH, "(*Tensor[] tensors)", broadcast_tensors, 0, 0, NULL },
    { "repeat", TENSOR | ATEN, "(Tensor input, *int[] repeats)", repeat, OP_ONE_NODE, 0, "repeats" },
    { "tile", TENSOR | TORCH, "(Tensor input, *int[] repeats)", repeat, OP_ONE_NODE, 1, "repeats" },
    { "tile", TENSOR | TORCH, "(Tensor input, *, int[] dims)", repeat, OP_ONE_NODE, 1, "dims" },
    { "repeat_interleave", TENSOR | TORCH, "(Tensor input, Tensor repeats, int? dim=None, *, int? output_size=None)", repeat_interleave, OP_ONE_NODE, 0, NULL },
    { "repeat_interleave", TENSOR | TORCH, "(Tensor repeats, *, int? output_size=None)", repeat_positions, OP_NO_GRADIENT, 0, NULL },

    { "flip", TENSOR | TORCH | ATEN, "(Tensor input, *int[] dims)", flip, OP_ONE_NODE, 0, NULL },
    { "flipud", TENSOR | TORCH, "(Tensor input)", flip_one, OP_ONE_NODE, 0, NULL },
    { "fliplr", TENSOR | TORCH, "(Tensor input)", flip_one, OP_ONE_NODE, 1, NULL },
    { "roll", TENSOR | TORCH | ATEN, "(Tensor input, int[1] shifts, int[1] dims=[])", roll, OP_ONE_NODE, 0, NULL },
    { "rot90", TENSOR | TORCH | ATEN, "(Tensor input, int k=1, int[] dims=[0, 1])", rot90, OP_ONE_NODE, 0, NULL },


};
/* clang-format on */
OP_TABLE_END(shape);
