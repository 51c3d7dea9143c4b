/* Operators of torch_npu that move, pick or pack elements, by their documentation (op-plugin, docs/context). Nothing is
 * rounded: every result is exact.
 */
#include "bench/ops/npu_layout.h"

#include <string.h>

#include "bench/call/dimensions.h"
#include "bench/call/op.h"
#include "bench/ops/indexing.h"
#include "bench/ops/operands.h"
#include "bench/ops/settling.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/extremum.h"
#include "bench/primitives/gather.h"
#include "bench/primitives/integral.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/selection.h"
#include "bench/primitives/view.h"
#include "bench/tape/broadcast.h"
#include "core/checked.h"

/* ---- shapes ---------------------------------------------------------------------------------- */

/* The argument perm names each of `rank` dimensions once. */
static bool read_permutation(struct call *call, int rank, int *order)
{
    int64_t perm[TENSOR_MAX_RANK];
    int dims = call_ints(call, "perm", perm, TENSOR_MAX_RANK);
    uint32_t seen = 0;
    if (!call_require(call, dims == rank, "perm has %d entries for %d dimensions", dims, rank))
        return false;
    for (int d = 0; d < dims; d++) {
        order[d] = wrap_dim(call, perm[d], dims);
        if (!call_require(call, !(seen >> order[d] & 1), "perm names dimension %d twice", order[d]))
            return false;
        seen |= 1u << order[d];
    }
    return true;
}

static void confusion_transpose(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "self");
    int64_t shape[TENSOR_MAX_RANK];
    int order[TENSOR_MAX_RANK], rank = call_ints(call, "shape", shape, TENSOR_MAX_RANK);
    bool transpose_first = call_bool(call, "transpose_first");
    if (!transpose_first) x = node_reshape(tape, x, rank, shape);
    if (!read_permutation(call, x->rank, order)) return;
    x = node_permute(tape, x, order);
    call_return(call, transpose_first ? node_reshape(tape, x, rank, shape) : x);
}

static void transpose(struct call *call)
{
    struct node *x = call_tensor(call, "self");
    int order[TENSOR_MAX_RANK];
    if (!read_permutation(call, x->rank, order)) return;
    call_return(call, node_permute(call->tape, x, order));
}

/* Another layout in memory of the same elements. */
static void format_cast(struct call *call) { call_return(call, call_tensor(call, "self")); }

/* Zeros around: paddings holds (before, after) of each dimension, the first one first. */
static void pad(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    int64_t paddings[2 * TENSOR_MAX_RANK], shape[TENSOR_MAX_RANK], stride[TENSOR_MAX_RANK];
    int count = call_ints(call, "paddings", paddings, 2 * TENSOR_MAX_RANK);
    int64_t offset = 0;
    if (!call_require(call, x->rank && count == 2 * x->rank,
                      "%d paddings for %d dimensions: two for each are needed", count, x->rank))
        return;
    for (int d = 0; d < x->rank; d++) {
        for (int side = 0; side < 2; side++)
            if (!call_require(call,
                              paddings[2 * d + side] >= 0 && paddings[2 * d + side] <= INT32_MAX,
                              "a padding of %lld", (long long)paddings[2 * d + side]))
                return;
        shape[d] = x->shape[d] + paddings[2 * d] + paddings[2 * d + 1];
    }
    size_t n;
    if (!call_require(call, shape_elements(&n, x->rank, shape), "the result is too large")) return;
    shape_strides(stride, x->rank, shape);
    for (int d = 0; d < x->rank; d++) offset += paddings[2 * d] * stride[d];
    call_return(call, node_place(call->tape, x, NULL, x->rank, shape, stride, offset));
}

/* `size` elements from `offsets` on along each dimension; -1: all that are left. */
static void slice(struct call *call)
{
    struct node *x = call_tensor(call, "self");
    int64_t offsets[TENSOR_MAX_RANK], size[TENSOR_MAX_RANK];
    int count = call_ints(call, "offsets", offsets, TENSOR_MAX_RANK);
    if (!call_require(call,
                      count == x->rank && call_ints(call, "size", size, TENSOR_MAX_RANK) == x->rank,
                      "offsets and size have an entry for each dimension"))
        return;
    for (int d = 0; d < x->rank; d++) {
        int64_t extent = x->shape[d];
        if (!call_require(call, offsets[d] >= 0 && offsets[d] <= extent,
                          "offset %lld of dimension %d is outside of it", (long long)offsets[d], d))
            return;
        if (size[d] == -1) size[d] = extent - offsets[d];
        if (!call_require(call, size[d] >= 0 && size[d] <= extent - offsets[d],
                          "%lld elements of dimension %d are too many", (long long)size[d], d))
            return;
        x = node_slice(call->tape, x, d, offsets[d], size[d], 1);
    }
    call_return(call, x);
}

/* Where a strided range begins or ends: negative positions count from the end. */
static int64_t clamped(int64_t at, int64_t extent)
{
    if (at < 0) at += at < -extent ? -at : extent;
    return at > extent ? extent : at;
}

/* Strided slices as TensorFlow has them: bit d of begin_mask (end_mask) says that begin (end) of dimension d does
 * not count, of shrink_axis_mask that one element is taken and the dimension goes. */
static void indexing(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "self");
    int64_t begin[TENSOR_MAX_RANK], end[TENSOR_MAX_RANK], step[TENSOR_MAX_RANK];
    int count = call_ints(call, "begin", begin, TENSOR_MAX_RANK);
    int64_t begin_mask = call_int(call, "begin_mask"), end_mask = call_int(call, "end_mask"),
            shrink = call_int(call, "shrink_axis_mask");
    if (!call_require(call,
                      call_int(call, "ellipsis_mask") == 0 && call_int(call, "new_axis_mask") == 0,
                      "ellipsis_mask and new_axis_mask are not followed here") ||
        !call_require(call,
                      count <= x->rank && call_ints(call, "end", end, TENSOR_MAX_RANK) == count &&
                          call_ints(call, "strides", step, TENSOR_MAX_RANK) == count,
                      "begin, end and strides have an entry for each of the first dimensions"))
        return;
    for (int d = 0; d < count; d++) {
        int64_t extent = x->shape[d];
        bool lone = shrink >> d & 1;
        if (!call_require(call, step[d] >= 1 && step[d] <= INT32_MAX,
                          "a stride of %lld: only positive ones are followed here",
                          (long long)step[d]))
            return;
        int64_t first = begin_mask >> d & 1 ? 0 : clamped(begin[d], extent);
        int64_t last = lone ? first + 1 : end_mask >> d & 1 ? extent : clamped(end[d], extent);
        if (!call_require(call, !lone || first < extent, "position %lld of dimension %d",
                          (long long)begin[d], d))
            return;
        int64_t length = last > first ? (last - first + step[d] - 1) / step[d] : 0;
        x = node_slice(tape, x, d, length ? first : 0, length, step[d]);
    }
    uint32_t gone = 0;
    for (int d = 0; d < count; d++) gone |= shrink >> d & 1 ? 1u << d : 0;
    call_return(call, node_squeeze(tape, x, gone));
}

/* ---- rows and places ---------------------------------------------------------------------------- */

/* input[index], rows of the first dimension. */
static void gather_sparse_index(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input"), *index = call_tensor(call, "index");
    int64_t shape[2 * TENSOR_MAX_RANK];
    size_t row = 1;
    if (!call_require(call,
                      x->rank && index->integer && index->rank + x->rank - 1 <= TENSOR_MAX_RANK,
                      "rows are picked by a tensor of integers"))
        return;
    int64_t *map = tape_allocate(tape, index->n, sizeof *map);
    if (!map) return;
    for (size_t i = 0; i < index->n; i++) {
        map[i] = index->integer[i];
        if (!call_require(call, map[i] >= 0 && map[i] < x->shape[0], "row %lld of %lld",
                          (long long)map[i], (long long)x->shape[0]))
            return;
    }
    memcpy(shape, index->shape, sizeof index->shape);
    for (int d = 1; d < x->rank; d++) {
        shape[index->rank + d - 1] = x->shape[d];
        row *= (size_t)x->shape[d];
    }
    int rank = index->rank + x->rank - 1;
    call_return(call,
                row ? node_gather_rows(tape, x, rank, shape, row, map, 0)
                    : node_broadcast(tape, node_reshape(tape, x, x->rank, x->shape), rank, shape));
}

/* One element of each line along dim replaced: indices and updates are without dim. */
static void scatter(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "self"), *index = call_tensor(call, "indices"),
                *updates = call_tensor(call, "updates");
    int dim = call_dim(call, "dim", x->rank);
    int64_t shape[TENSOR_MAX_RANK];
    if (!call_require(call, x->rank && index->integer && !x->integer && !updates->integer,
                      "real numbers are replaced at places told by integers"))
        return;
    memcpy(shape, x->shape, sizeof shape);
    shape[dim] = 1;
    index = node_reshape(tape, index, x->rank, shape);
    updates = node_reshape(tape, updates, x->rank, shape);
    int64_t *map = scatter_map(call, index, x->rank, x->shape, dim);
    if (map) call_return(call, overwritten(call, x, updates, 1, map));
}

/* self[indices[i]] = updates[i], the last dimension of indices naming the first dimensions of self. */
static void scatter_nd_update(struct call *call)
{
    struct node *x = call_tensor(call, "self"), *index = call_tensor(call, "indices"),
                *updates = call_tensor(call, "updates");
    if (!call_require(call,
                      index->integer && index->rank && index->shape[index->rank - 1] >= 1 &&
                          index->shape[index->rank - 1] <= x->rank,
                      "the last dimension of indices names dimensions of self"))
        return;
    int depth = (int)index->shape[index->rank - 1];
    size_t row = 1, count = index->n / (size_t)depth;
    for (int d = depth; d < x->rank; d++) row *= (size_t)x->shape[d];
    if (!call_require(call, updates->n == count * row && (!x->integer == !updates->integer),
                      "%zu updates for %zu places of %zu elements", updates->n, count, row))
        return;
    int64_t *map = tape_allocate(call->tape, count, sizeof *map);
    if (!map) return;
    for (size_t i = 0; i < count; i++) {
        map[i] = 0;
        for (int d = 0; d < depth; d++) {
            int64_t at = index->integer[i * (size_t)depth + (size_t)d];
            if (!call_require(call, at >= 0 && at < x->shape[d], "index %lld of dimension %d",
                              (long long)at, d))
                return;
            map[i] = map[i] * x->shape[d] + at;
        }
    }
    call_return(call, row && count ? overwritten(call, x, updates, row, map) : x);
}

int64_t *batch_update_map(struct call *call, const struct node *x, const struct node *updates,
                          const struct node *index, int axis)
{
    if (!call_require(call,
                      x->rank >= 2 && updates->rank == x->rank && index->integer &&
                          index->rank == 1 && index->n == (size_t)updates->shape[0] &&
                          updates->shape[0] <= x->shape[0],
                      "a position is needed for each batch of the updates") ||
        !call_require(call, axis != 0, "the axis must not be that of the batch"))
        return NULL;
    int64_t strides[TENSOR_MAX_RANK], at[TENSOR_MAX_RANK] = { 0 };
    for (int d = 1; d < x->rank; d++)
        if (!call_require(call,
                          d == axis ? updates->shape[d] <= x->shape[d]
                                    : updates->shape[d] == x->shape[d],
                          "the updates do not fit in dimension %d", d))
            return NULL;
    for (size_t b = 0; b < index->n; b++)
        if (!call_require(call,
                          index->integer[b] >= 0 &&
                              index->integer[b] <= x->shape[axis] - updates->shape[axis],
                          "position %lld leaves the axis", (long long)index->integer[b]))
            return NULL;
    int64_t *map = tape_allocate(call->tape, updates->n + 1, sizeof *map);
    if (!map) return NULL;
    shape_strides(strides, x->rank, x->shape);
    for (size_t i = 0; i < updates->n; i++) {
        map[i] = index->integer[at[0]] * strides[axis];
        for (int d = 0; d < x->rank; d++) map[i] += at[d] * strides[d];
        for (int d = x->rank - 1; d >= 0 && ++at[d] == updates->shape[d]; d--) at[d] = 0;
    }
    return map;
}

static void scatter_update(struct call *call)
{
    struct node *x = call_tensor(call, "self"), *updates = call_tensor(call, "updates");
    if (!call_require(call, !x->integer == !updates->integer, "self and updates are of one kind"))
        return;
    int axis = call_dim(call, "axis", x->rank);
    int64_t *map = batch_update_map(call, x, updates, call_tensor(call, "indices"), axis);
    if (map) call_return(call, updates->n ? overwritten(call, x, updates, 1, map) : x);
}

/* on_value at the class of each element, in a new last dimension of `depth`; a class outside has none. */
static void one_hot(struct call *call)
{
    struct node *x = call_tensor(call, "self");
    int64_t depth = call_int(call, "depth"), shape[TENSOR_MAX_RANK + 1];
    double on = call_real(call, "on_value"), off = call_real(call, "off_value");
    if (!call_require(call,
                      x->integer && x->rank < TENSOR_MAX_RANK && depth >= 1 && depth <= INT32_MAX,
                      "integer classes and a depth are needed"))
        return;
    memcpy(shape, x->shape, (size_t)x->rank * sizeof *shape);
    shape[x->rank] = depth;
    struct node *y = node_new_real(call->tape, DT_F32, x->rank + 1, shape);
    if (tape_failed(call->tape)) return;
    for (size_t i = 0; i < y->n; i++)
        y->value[i] = x->integer[i / (size_t)depth] == (int64_t)(i % (size_t)depth) ? on : off;
    call_return(call, y);
}

/* The largest (detail 1) or smallest elements along dim and where they are, as int32. */
static void extremum(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "self");
    if (!call_require(call, x->rank && x->n && !x->imaginary, "real numbers along a dimension"))
        return;
    int dim = call_dim(call, "dim", x->rank);
    struct node *index = node_arg_extremum(tape, x, dim, (int)call->op->detail);
    index = settled_positions(call, 1, x, dim, index);
    struct node *y = node_take_along(tape, x, dim, index);
    uint32_t gone = call_bool(call, "keepdim") ? 0 : one_dim(x, dim);
    call_return_typed(call, node_squeeze(tape, y, gone), x->dtype);
    call_return_typed(call, node_squeeze(tape, index, gone), DT_I32);
}

/* ---- packing -------------------------------------------------------------------------------------- */

/* Bit k of byte i tells whether element 8 i + k is at least 0; bits behind the last one are 0. In `size` rows. */
static void sign_bits_pack(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "self");
    int64_t size = call_int(call, "size"), bytes = ((int64_t)x->n + 7) / 8;
    if (!call_require(call, x->rank == 1 && !x->imaginary && size >= 1 && bytes % size == 0,
                      "a vector whose bytes divide into %lld rows is needed", (long long)size))
        return;
    int64_t shape[2] = { size, bytes / size };
    struct node *y = node_new_integer(tape, DT_U8, 2, shape);
    if (!x->integer) (void)node_values(tape, x);
    if (tape_failed(tape)) return;
    memset(y->integer, 0, y->n * sizeof *y->integer);
    for (size_t i = 0; i < x->n; i++)
        if (node_element(x, i) >= 0) y->integer[i / 8] |= INT64_C(1) << i % 8;
    call_return(call, y);
}

/* 1 for each bit that is set, -1 for the others. */
static void sign_bits_unpack(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    int64_t size = call_int(call, "size"), bits = 8 * (int64_t)x->n;
    enum dtype dtype = call_dtype(call, "dtype");
    if (!call_require(call,
                      x->rank == 1 && x->dtype == DT_U8 && size >= 1 && bits % size == 0 &&
                          dtype != DT_NONE && dtype_is_float(dtype),
                      "a vector of bytes, a number of rows and a dtype of floats are needed"))
        return;
    int64_t shape[2] = { size, bits / size };
    struct node *y = node_new_real(call->tape, dtype, 2, shape);
    if (tape_failed(call->tape)) return;
    for (size_t i = 0; i < y->n; i++) y->value[i] = x->integer[i / 8] >> i % 8 & 1 ? 1 : -1;
    call_return_typed(call, y, dtype);
}

/* Eight neighbours of the last dimension in one int32, four bits each, the first one lowest. */
static void int4_pack(struct call *call)
{
    struct node *x = call_tensor(call, "weight");
    int64_t shape[TENSOR_MAX_RANK];
    if (!call_require(call, x->dtype == DT_I32 && x->rank && x->shape[x->rank - 1] % 8 == 0,
                      "int32 weights in eights are needed"))
        return;
    memcpy(shape, x->shape, sizeof shape);
    shape[x->rank - 1] /= 8;
    struct node *y = node_new_integer(call->tape, DT_I32, x->rank, shape);
    if (tape_failed(call->tape)) return;
    for (size_t i = 0; i < y->n; i++) {
        uint32_t word = 0;
        for (size_t k = 0; k < 8; k++) word |= ((uint32_t)x->integer[8 * i + k] & 15) << 4 * k;
        y->integer[i] = (int32_t)word;
    }
    call_return(call, y);
}

/* self with value[i] at the positions start[i] ..< end[i] along axis: where that is the last of two or more dimensions,
 * start and end have a column for each row of the first; along others the ranges of all columns. The last range wins. */
static void masked_fill_range(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "self"), *start = call_tensor(call, "start"),
                *end = call_tensor(call, "end"), *value = call_tensor(call, "value");
    int axis = call_dim(call, "axis", x->rank);
    bool by_row = x->rank > 1 && axis == x->rank - 1;
    if (!call_require(call,
                      x->rank >= 1 && x->rank <= 3 && start->rank == 2 && end->rank == 2 &&
                          start->integer && end->integer && value->rank == 1 &&
                          !value->integer == !x->integer && start->n == end->n &&
                          start->shape[0] == end->shape[0] && start->shape[0] == value->shape[0] &&
                          (!by_row || start->shape[1] == x->shape[0]),
                      "up to three dimensions, and ranges with a value each, are needed"))
        return;
    int64_t extent = x->shape[axis], inner = 1, columns = start->shape[1],
            lines = by_row ? x->shape[0] : 1, each = (int64_t)x->n / (x->n ? x->shape[0] : 1),
            *map = tape_allocate(tape, x->n + 1, sizeof *map),
            *range = tape_allocate(tape, (size_t)(lines * extent) + 1, sizeof *range);
    struct node *mask = node_new_integer(tape, DT_BOOL, x->rank, x->shape);
    if (tape_failed(tape)) return;
    for (int d = axis + 1; d < x->rank; d++) inner *= x->shape[d];
    for (int64_t i = 0; i < lines * extent; i++) range[i] = -1;
    for (int64_t r = 0; r < (int64_t)start->n; r++) {
        if (!call_require(call, start->integer[r] >= 0 && end->integer[r] <= extent,
                          "range %lld leaves the axis", (long long)r))
            return;
        for (int64_t at = start->integer[r]; at < end->integer[r]; at++)
            range[(by_row ? r % columns : 0) * extent + at] = r / columns;
    }
    for (int64_t i = 0; i < (int64_t)x->n; i++) {
        map[i] = range[(by_row ? i / each : 0) * extent + i / inner % extent];
        mask->integer[i] = map[i] >= 0;
    }
    call_return_typed(
        call, node_select(tape, mask, node_gather(tape, value, x->rank, x->shape, map, 0), x),
        x->dtype);
}

/* ---- channels in groups of sixteen ------------------------------------------------------------------------------- */

/* Channels first .. first + count - 1 of x (n, c, ...); those beyond the tensor, which fill up its last group, are 0. */
static struct node *channels_from(struct call *call, struct node *x, int64_t first, int64_t count)
{
    int64_t shape[TENSOR_MAX_RANK],
        have = x->shape[1] - first < count ? x->shape[1] - first : count;
    struct node *parts[2] = { node_slice(call->tape, x, 1, first, have, 1) };
    if (have == count) return parts[0];
    memcpy(shape, x->shape, sizeof shape);
    shape[1] = count - have;
    parts[1] = node_constant(call->tape, x->dtype, 0, x->rank, shape);
    return node_concatenate(call->tape, parts, 2, 1);
}

/* 16 c1_len channels of the one from group offset1 on and of the other from group offset2 on, added: what torch_npu
 * makes of a sum of slices. */
static void stride_add(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x[2] = { call_tensor(call, "self"), call_tensor(call, "other") };
    int64_t offset[2] = { call_int(call, "offset1"), call_int(call, "offset2") },
            count = call_int(call, "c1_len");
    for (int k = 0; k < 2; k++) {
        bool fits = x[k]->rank >= 4 && x[k]->rank == x[0]->rank && !x[k]->integer &&
                    !x[k]->imaginary && count >= 1 && count <= INT32_MAX;
        for (int d = 0; fits && d < x[k]->rank; d++)
            fits = d == 1 || x[k]->shape[d] == x[0]->shape[d];
        if (!call_require(
                call,
                fits && offset[k] >= 0 && offset[k] < (x[k]->shape[1] + 15) / 16 &&
                    offset[k] + count <= (x[k]->shape[1] + 15) / 16,
                "tensors (n, c, ...) alike but for c, with the groups of channels that are "
                "added, are needed"))
            return;
        x[k] = channels_from(call, x[k], 16 * offset[k], 16 * count);
    }
    call_return(call, node_add(tape, x[0], x[1]));
}

/* clang-format off */
#define MASKS "int begin_mask=0, int end_mask=0, int ellipsis_mask=0, int new_axis_mask=0, int shrink_axis_mask=0"
const struct op ops_npu_layout[] = {
    { "npu_confusion_transpose", NPU, "(Tensor self, int[] perm, int[] shape, bool transpose_first)", confusion_transpose, OP_ONE_NODE, 0, NULL },
    { "npu_transpose", NPU, "(Tensor self, int[] perm, bool require_contiguous=True)", transpose, OP_ONE_NODE, 0, NULL },
    { "npu_format_cast", NPU, "(Tensor self, Any acl_format, ...)", format_cast, OP_ONE_NODE, 0, NULL },
    { "npu_pad", NPU, "(Tensor input, int[] paddings)", pad, OP_ONE_NODE, 0, NULL },
    { "npu_slice", NPU, "(Tensor self, int[] offsets, int[] size)", slice, OP_ONE_NODE, 0, NULL },
    { "npu_indexing", NPU, "(Tensor self, int[] begin, int[] end, int[] strides, " MASKS ")", indexing, OP_ONE_NODE, 0, NULL },
    { "npu_gather_sparse_index", NPU, "(Tensor input, Tensor index)", gather_sparse_index, OP_ONE_NODE, 0, NULL },
    { "npu_scatter", NPU, "(Tensor self, Tensor indices, Tensor updates, int dim)", scatter, OP_NO_GRADIENT, 0, NULL },
    { "npu_scatter_nd_update", NPU, "(Tensor self, Tensor indices, Tensor updates)", scatter_nd_update, OP_NO_GRADIENT, 0, NULL },
    { "npu_masked_fill_range", NPU, "(Tensor self, Tensor start, Tensor end, Tensor value, int axis=-1)", masked_fill_range, OP_NO_GRADIENT, 0, NULL },
    { "scatter_update", NPU, "(Tensor self, Tensor indices, Tensor updates, int axis)", scatter_update, OP_NO_GRADIENT, 0, NULL },
    { "npu_one_hot", NPU, "(Tensor self, int num_classes=-1, int depth=1, Scalar on_value=1, Scalar off_value=0)", one_hot, OP_NO_GRADIENT, 0, NULL },
    { "npu_stride_add", NPU, "(Tensor self, Tensor other, Scalar offset1, Scalar offset2, Scalar c1_len)", stride_add, OP_NO_GRADIENT | OP_ADDS, 0, NULL },
    { "npu_max", NPU, "(Tensor self, int dim, bool keepdim=False)", extremum, OP_ONE_NODE, 1, NULL },
    { "npu_min", NPU, "(Tensor self, int dim, bool keepdim=False)", extremum, OP_ONE_NODE, -1, NULL },
    { "npu_sign_bits_pack", NPU, "(Tensor self, int size)", sign_bits_pack, OP_NO_GRADIENT, 0, NULL },
    { "npu_sign_bits_unpack", NPU, "(Tensor input, int size, ScalarType dtype)", sign_bits_unpack, OP_NO_GRADIENT, 0, NULL },
    { "npu_convert_weight_to_int4pack", NPU, "(Tensor weight, int inner_k_tiles=0)", int4_pack, OP_NO_GRADIENT, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(npu_layout);
