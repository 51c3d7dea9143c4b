/* Ops of MindSpore that PyTorch has not: rows and elements under tuples of indices, segments, slices by
 * begin and size, and a few of its own formulas (docs/mindspore.md says which names were compared with
 * the reference pages of mindspore.ops).
 */
#include <math.h>
#include <string.h>

#include "bench/call/op.h"
#include "bench/ops/indexing.h"
#include "bench/ops/integers.h"
#include "bench/ops/operands.h"
#include "bench/ops/scattering.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/extremum.h"
#include "bench/primitives/gather.h"
#include "bench/primitives/integral.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/reduce.h"
#include "bench/primitives/selection.h"
#include "bench/primitives/unary.h"
#include "bench/primitives/view.h"

/* ---- formulas ----------------------------------------------------------------------------- */

/* x / y, and 0 where x is 0. */
static void xdivy(struct call *call)
{
    struct tape *tape = call->tape;
    struct operands o = two_float_operands(call, "x", "y");
    struct node *zero = node_scalar(tape, 0);
    struct node *is_zero = node_compare(tape, COMPARE_EQ, o.a, zero);
    /* The division must not see the zeros, or their NaN would reach the gradient. */
    struct node *y = node_select(tape, is_zero, node_scalar(tape, 1), o.b);
    call_return_typed(call, node_select(tape, is_zero, zero, node_divide(tape, o.a, y)), o.dtype);
}

/* The bias belongs to dimension 1. */
static void bias_add(struct call *call)
{
    struct node *x = call_tensor(call, "x"), *bias = call_tensor(call, "bias");
    int64_t shape[TENSOR_MAX_RANK];
    for (int d = 0; d < TENSOR_MAX_RANK; d++) shape[d] = 1;
    if (!call_require(call, x->rank >= 2 && bias->rank == 1 && bias->shape[0] == x->shape[1],
                      "the bias must be a vector of the channels"))
        return;
    shape[1] = x->shape[1];
    bias = node_reshape(call->tape, bias, x->rank, shape);
    call_return_typed(call, node_add(call->tape, x, bias), x->dtype);
}

static void addn(struct call *call)
{
    int count;
    struct node **x = call_tensors(call, "x", &count);
    if (!call_require(call, count > 0, "a list of tensors was expected")) return;
    struct node *sum = x[0];
    for (int i = 1; i < count; i++) sum = node_add(call->tape, sum, x[i]);
    call_return_typed(call, sum, x[0]->dtype);
}

/* Elements that are not 0; an empty axis is all of them. */
static void count_nonzero(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "x");
    struct node *is_zero = node_compare(tape, COMPARE_EQ, node_cast(tape, x, DT_BOOL),
                                        node_integer_constant(tape, DT_BOOL, 0, 0, NULL));
    struct node *ones = node_cast(tape, node_not(tape, is_zero), DT_F64);
    struct node *count =
        node_sum(tape, ones, call_dims(call, "axis", x), call_bool(call, "keep_dims"));
    call_return_typed(call, node_cast(tape, count, DT_I32), DT_I32);
}

/* All tensors times clip_norm / max(norm, clip_norm), where norm is that of all of them together. */
static void clip_by_global_norm(struct call *call)
{
    struct tape *tape = call->tape;
    int count;
    struct node **x = call_tensors(call, "x", &count);
    if (!call_require(call, count > 0, "a list of tensors was expected")) return;
    struct node *limit = node_scalar(tape, call_real(call, "clip_norm")), *squares = NULL;
    for (int i = 0; i < count; i++) {
        struct node *one = node_sum(tape, node_multiply(tape, x[i], x[i]), all_dims(x[i]), false);
        squares = squares ? node_add(tape, squares, one) : one;
    }
    struct node *norm = node_apply(tape, "sqrt", squares);
    struct node *is_above = node_compare(tape, COMPARE_GT, norm, limit);
    struct node *factor = node_divide(tape, limit, node_select(tape, is_above, norm, limit));
    for (int i = 0; i < count; i++)
        call_return_typed(call, node_multiply(tape, x[i], factor), x[i]->dtype);
}

/* The extremum of all elements, and the index 0 whatever its place. */
static void extremum_of_all(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "x");
    call_return_typed(call, node_extremum(tape, x, all_dims(x), false, (int)call->op->detail),
                      x->dtype);
    call_return(call, node_integer_constant(tape, DT_I32, 0, 0, NULL));
}

/* The value in the variable's shape and dtype. */
static void assign(struct call *call)
{
    struct node *x = call_tensor(call, "x"), *value = call_tensor(call, "value");
    value = node_broadcast(call->tape, node_cast(call->tape, value, x->dtype), x->rank, x->shape);
    call_return_typed(call, value, x->dtype);
}

/* ---- slices ------------------------------------------------------------------------------- */

/* size -1: up to the end. */
static void slice(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "x");
    int64_t begin[TENSOR_MAX_RANK], size[TENSOR_MAX_RANK];
    int n = call_ints(call, "begin", begin, TENSOR_MAX_RANK);
    if (!call_require(call, n == x->rank && call_ints(call, "size", size, TENSOR_MAX_RANK) == n,
                      "begin and size must have an entry for each dimension"))
        return;
    for (int d = 0; d < n; d++) {
        int64_t length = size[d] == -1 ? x->shape[d] - begin[d] : size[d];
        if (!call_require(call,
                          begin[d] >= 0 && length >= 0 && begin[d] <= x->shape[d] &&
                              length <= x->shape[d] - begin[d],
                          "the slice leaves dimension %d", d))
            return;
        x = node_slice(tape, x, d, begin[d], length, 1);
    }
    call_return(call, x);
}

/* One dimension of a strided slice: Python's begin:end:step, or one index. */
struct stride_part {
    int64_t begin, end, step;
    bool from_start, to_end, shrinks;
};

/* Elements of a dimension from `begin` on, clamped as Python clamps them. */
static int64_t clamped(int64_t position, int64_t extent)
{
    if (position < 0) position += extent;
    return position < 0 ? 0 : position > extent ? extent : position;
}

static struct node *take_part(struct call *call, struct node *x, int dim,
                              const struct stride_part *part)
{
    int64_t extent = x->shape[dim];
    if (part->shrinks) {
        int64_t index = part->begin < 0 ? part->begin + extent : part->begin;
        if (!call_require(call, index >= 0 && index < extent, "index %lld of dimension %d",
                          (long long)part->begin, dim))
            return x;
        return node_slice(call->tape, x, dim, index, 1, 1);
    }
    if (!call_require(call, part->step >= 1, "a stride of %lld", (long long)part->step)) return x;
    int64_t begin = part->from_start ? 0 : clamped(part->begin, extent);
    int64_t end = part->to_end ? extent : clamped(part->end, extent);
    int64_t count = end > begin ? (end - begin + part->step - 1) / part->step : 0;
    return node_slice(call->tape, x, dim, begin, count, part->step);
}

/* Bit i of a mask: begin_mask and end_mask leave out a limit, shrink_axis_mask takes one element and
 * drops its dimension. */
static void strided_slice(struct call *call)
{
    struct node *x = call_tensor(call, "x");
    int64_t begin[TENSOR_MAX_RANK], end[TENSOR_MAX_RANK], step[TENSOR_MAX_RANK];
    int n = call_ints(call, "begin", begin, TENSOR_MAX_RANK);
    bool steps = !call_is_none(call, "strides");
    int64_t from = call_int(call, "begin_mask"), to = call_int(call, "end_mask"),
            shrink = call_int(call, "shrink_axis_mask");
    if (!call_require(call,
                      n <= x->rank && call_ints(call, "end", end, TENSOR_MAX_RANK) == n &&
                          (!steps || call_ints(call, "strides", step, TENSOR_MAX_RANK) == n),
                      "begin, end and strides must have as many entries, at most %d", x->rank) ||
        !call_require(call, !call_int(call, "ellipsis_mask") && !call_int(call, "new_axis_mask"),
                      "ellipsis_mask and new_axis_mask are not supported"))
        return;
    uint32_t dropped = 0;
    for (int d = 0; d < n; d++) {
        const struct stride_part part = { begin[d],      end[d],      steps ? step[d] : 1,
                                          from >> d & 1, to >> d & 1, shrink >> d & 1 };
        x = take_part(call, x, d, &part);
        if (part.shrinks) dropped |= one_dim(x, d);
    }
    if (tape_failed(call->tape)) return;
    call_return(call, dropped ? node_squeeze(call->tape, x, dropped) : x);
}

/* ---- rows under indices ------------------------------------------------------------------- */

/* Where tuples of indices lead in x: each of the `count` tuples names a row of `row` elements. */
struct places {
    int64_t *map;
    size_t count, row;
};

/* `depth` indices lie side by side in `indices` for each place. Negative indices count from the end. */
static bool find_places(struct places *out, struct call *call, const struct node *indices,
                        int depth, int rank, const int64_t *shape)
{
    if (!call_require(call, indices->integer && depth >= 1 && depth <= rank,
                      "integer indices of %d to %d dimensions were expected", 1, rank))
        return false;
    out->row = 1;
    for (int d = depth; d < rank; d++) out->row *= (size_t)shape[d];
    out->count = indices->n / (size_t)depth;
    out->map = tape_allocate(call->tape, out->count, sizeof *out->map);
    for (size_t i = 0; out->map && i < out->count; i++) {
        out->map[i] = 0;
        for (int d = 0; d < depth; d++) {
            int64_t index = indices->integer[i * (size_t)depth + (size_t)d];
            if (index < 0) index += shape[d];
            if (!call_require(call, index >= 0 && index < shape[d],
                              "an index is out of range for dimension %d", d))
                return false;
            out->map[i] = out->map[i] * shape[d] + index;
        }
    }
    return out->map != NULL;
}

/* The last dimension of `indices` holds the tuples. */
static bool find_tuples(struct places *out, struct call *call, const struct node *indices, int rank,
                        const int64_t *shape)
{
    if (!call_require(call, indices->rank >= 1, "the indices must have a dimension")) return false;
    return find_places(out, call, indices, (int)indices->shape[indices->rank - 1], rank, shape);
}

/* indices' leading dimensions, then those of x behind its first `depth`. */
static int result_shape(int64_t shape[TENSOR_MAX_RANK], struct call *call,
                        const struct node *indices, int leading, const struct node *x, int depth)
{
    int rank = leading + x->rank - depth;
    if (!call_require(call, rank >= 0 && rank <= TENSOR_MAX_RANK, "too many dimensions")) return 0;
    memcpy(shape, indices->shape, (size_t)leading * sizeof *shape);
    memcpy(shape + leading, x->shape + depth, (size_t)(x->rank - depth) * sizeof *shape);
    return rank;
}

static void gather_nd(struct call *call)
{
    struct node *x = call_tensor(call, "x"), *indices = call_tensor(call, "indices");
    int64_t shape[TENSOR_MAX_RANK];
    struct places places;
    if (!find_tuples(&places, call, indices, x->rank, x->shape)) return;
    int depth = (int)indices->shape[indices->rank - 1];
    int rank = result_shape(shape, call, indices, indices->rank - 1, x, depth);
    if (tape_failed(call->tape)) return;
    call_return(call, node_gather_rows(call->tape, x, rank, shape, places.row, places.map, 0));
}

/* Positions along one axis, of any shape, which takes the axis's place. */
static void gather(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "x"), *indices = call_tensor(call, "indices");
    int axis = call_dim(call, "axis", x->rank);
    int64_t shape[TENSOR_MAX_RANK], flat = (int64_t)indices->n;
    if (!call_require(call, call_int(call, "batch_dims") == 0, "batch_dims other than 0")) return;
    if (!call_require(call, x->rank >= 1 && x->rank - 1 + indices->rank <= TENSOR_MAX_RANK,
                      "too many dimensions"))
        return;
    memcpy(shape, x->shape, (size_t)axis * sizeof *shape);
    memcpy(shape + axis, indices->shape, (size_t)indices->rank * sizeof *shape);
    memcpy(shape + axis + indices->rank, x->shape + axis + 1,
           (size_t)(x->rank - axis - 1) * sizeof *shape);
    struct node *rows = node_index_select(tape, x, axis, node_reshape(tape, indices, 1, &flat));
    call_return(call, node_reshape(tape, rows, x->rank - 1 + indices->rank, shape));
}

enum update { UPDATE_ADD, UPDATE_SUB, UPDATE_MUL, UPDATE_DIV, UPDATE_MAX, UPDATE_MIN, UPDATE_SET };

/* The map of rows as one of elements. */
static int64_t *element_map(struct call *call, const struct places *places)
{
    size_t n = places->count * places->row;
    int64_t *map = tape_allocate(call->tape, n, sizeof *map);
    for (size_t i = 0; map && i < n; i++)
        map[i] = places->map[i / places->row] * (int64_t)places->row + (int64_t)(i % places->row);
    return map;
}

/* 1 / v, which a division by several updates multiplies together. */
static struct node *inverse(struct tape *tape, struct node *v)
{
    return node_divide(tape, node_scalar(tape, 1), v);
}

static struct node *updated(struct call *call, struct node *x, struct node *v,
                            const struct places *places, enum update kind)
{
    static const enum scatter_reduction reductions[] = {
        [UPDATE_MUL] = SCATTER_PROD,
        [UPDATE_DIV] = SCATTER_PROD,
        [UPDATE_MAX] = SCATTER_AMAX,
        [UPDATE_MIN] = SCATTER_AMIN,
    };
    struct tape *tape = call->tape;
    if (!call_require(call, v->n == places->count * places->row, "%zu updates for %zu places", v->n,
                      places->count * places->row))
        return x;
    if (!call_require(call, kind != UPDATE_DIV || !x->integer, "a division of integers")) return x;
    v = node_cast(tape, v, x->dtype);
    if (kind == UPDATE_SET) return overwritten(call, x, v, places->row, places->map);
    if (kind == UPDATE_SUB) v = node_negate(tape, v);
    if (kind == UPDATE_ADD || kind == UPDATE_SUB)
        return added_rows(call, x, v, places->row, places->map);
    if (kind == UPDATE_DIV) v = inverse(tape, v);
    const int64_t *map = element_map(call, places);
    return map ? scatter_reduced(call, x, v, map, reductions[kind], true) : x;
}

/* scatter_nd_x and tensor_scatter_x: tuples in the last dimension; detail: what is done. */
static void update_tuples(struct call *call)
{
    struct node *x = call_tensor(call, "x"), *indices = call_tensor(call, "indices"),
                *v = call_tensor(call, "updates");
    struct places places;
    if (!find_tuples(&places, call, indices, x->rank, x->shape)) return;
    call_return_typed(call, updated(call, x, v, &places, (enum update)call->op->detail), x->dtype);
}

/* Indices as a tensor, or as an int or a tuple of ints. */
static struct node *row_indices(struct call *call)
{
    const struct value *value = call_value(call, "indices");
    bool is_list = value->kind == VALUE_LIST;
    if (!is_list && value->kind != VALUE_INT) return call_tensor(call, "indices");
    int64_t count = is_list ? (int64_t)value->list.count : 1;
    const struct value *items = is_list ? value->list.items : value;
    struct node *indices = node_new_integer(call->tape, DT_I64, 1, &count);
    for (int64_t i = 0; !tape_failed(call->tape) && i < count; i++) {
        if (!call_require(call, items[i].kind == VALUE_INT, "an index that is no integer")) break;
        indices->integer[i] = items[i].integer;
    }
    return indices;
}

/* scatter_x and inplace_x: each index is a row of x's first dimension. */
static void update_rows(struct call *call)
{
    struct node *x = call_tensor(call, "x"), *indices = row_indices(call),
                *v = call_tensor(call, "updates");
    struct places places;
    if (!find_places(&places, call, indices, 1, x->rank, x->shape)) return;
    call_return_typed(call, updated(call, x, v, &places, (enum update)call->op->detail), x->dtype);
}

/* tensor_scatter_elements: elements along an axis. */
static void scatter_elements(struct call *call)
{
    static const struct {
        const char *name;
        enum update kind;
    } names[] = { { "none", UPDATE_SET }, { "add", UPDATE_ADD } };
    struct node *x = call_tensor(call, "x"), *indices = call_tensor(call, "indices"),
                *v = call_tensor(call, "updates");
    const char *reduction = call_string(call, "reduction");
    size_t i = 0, count = sizeof names / sizeof *names;
    while (i < count && strcmp(names[i].name, reduction) != 0) i++;
    if (!call_require(call, i < count, "the reduction '%s' is not known", reduction)) return;
    struct places places = { .row = 1, .count = indices->n };
    places.map = scatter_map(call, indices, x->rank, x->shape, call_dim(call, "axis", x->rank));
    if (!places.map) return;
    call_return_typed(call, updated(call, x, v, &places, names[i].kind), x->dtype);
}

/* Updates added into zeros. */
static void scatter_nd(struct call *call)
{
    struct node *indices = call_tensor(call, "indices"), *v = call_tensor(call, "updates");
    int64_t shape[TENSOR_MAX_RANK];
    struct places places;
    int rank = call_ints(call, "shape", shape, TENSOR_MAX_RANK);
    if (!find_tuples(&places, call, indices, rank, shape)) return;
    struct node *zeros = v->integer ? node_integer_constant(call->tape, v->dtype, 0, rank, shape)
                                    : node_constant(call->tape, v->dtype, 0, rank, shape);
    call_return_typed(call, updated(call, zeros, v, &places, UPDATE_ADD), v->dtype);
}

/* unsorted_segment_x: the rows of x with one id together; a segment without rows has the neutral
 * element, which for extrema is the dtype's own. */
static void segment(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "x"), *ids = call_tensor(call, "segment_ids");
    enum update kind = (enum update)call->op->detail;
    int64_t shape[TENSOR_MAX_RANK];
    struct places places;
    if (!call_require(call, ids->integer && ids->rank >= 1 && ids->rank <= x->rank,
                      "segment_ids must be integers for the first dimensions of x"))
        return;
    shape[0] = call_int(call, "num_segments");
    int rank = 1 + x->rank - ids->rank;
    memcpy(shape + 1, x->shape + ids->rank, (size_t)(rank - 1) * sizeof *shape);
    if (!call_require(call, shape[0] >= 1, "num_segments must be positive")) return;
    const struct dtype_info *info = dtype_info(x->dtype);
    double neutral = kind == UPDATE_MUL   ? 1
                     : kind == UPDATE_MAX ? info->lowest
                     : kind == UPDATE_MIN ? info->largest
                                          : 0;
    struct node *base = x->integer
                            ? node_integer_constant(tape, x->dtype,
                                                    (int64_t)fmax(fmin(neutral, 0x1p62), -0x1p62),
                                                    rank, shape)
                            : node_constant(tape, x->dtype, neutral, rank, shape);
    if (!find_places(&places, call, ids, 1, rank, shape)) return;
    call_return_typed(call, updated(call, base, x, &places, kind), x->dtype);
}

/* ---- creation ----------------------------------------------------------------------------- */

/* on_value where the class is, off_value elsewhere; the classes lie along `axis` of the result. */
static void one_hot(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "indices");
    int64_t depth = call_int(call, "depth"), shape[TENSOR_MAX_RANK];
    int axis = call_dim(call, "axis", x->rank + 1);
    if (!call_require(call, x->integer && depth >= 0 && x->rank < TENSOR_MAX_RANK,
                      "integer classes and a depth were expected"))
        return;
    memcpy(shape, x->shape, (size_t)axis * sizeof *shape);
    shape[axis] = depth;
    memcpy(shape + axis + 1, x->shape + axis, (size_t)(x->rank - axis) * sizeof *shape);
    struct node *mask = node_new_integer(tape, DT_BOOL, x->rank + 1, shape);
    size_t inner = 1;
    for (int d = axis; d < x->rank; d++) inner *= (size_t)x->shape[d];
    if (tape_failed(tape)) return;
    memset(mask->integer, 0, mask->n * sizeof *mask->integer);
    for (size_t i = 0; i < x->n; i++) {
        int64_t class = x->integer[i];
        if (class < 0 || class >= depth) continue;
        mask->integer[(i / inner * (size_t)depth + (size_t) class) * inner + i % inner] = 1;
    }
    struct node *on = call_tensor(call, "on_value"), *off = call_tensor(call, "off_value");
    struct node *both[2] = { on, off };
    enum dtype dtype = on->dtype == DT_NONE ? DT_I64 : call_result_type(call, both, 2);
    call_return_typed(call, node_cast(tape, node_select(tape, mask, on, off), dtype), dtype);
}

/* 1 where a position is below the length: (..., maxlen). */
static void sequence_mask(struct call *call)
{
    struct node *x = call_tensor(call, "lengths");
    int64_t most = 0, shape[TENSOR_MAX_RANK];
    if (!call_require(call, x->integer && x->rank < TENSOR_MAX_RANK, "integer lengths")) return;
    for (size_t i = 0; i < x->n; i++)
        if (x->integer[i] > most) most = x->integer[i];
    if (!call_is_none(call, "maxlen")) most = call_int(call, "maxlen");
    memcpy(shape, x->shape, (size_t)x->rank * sizeof *shape);
    shape[x->rank] = most;
    struct node *y = node_new_integer(call->tape, DT_BOOL, x->rank + 1, shape);
    if (tape_failed(call->tape)) return;
    for (size_t i = 0; i < y->n; i++)
        y->integer[i] = (int64_t)(i % (size_t)most) < x->integer[i / (size_t)most];
    call_return(call, y);
}

#define UPDATES "(Tensor x, Tensor indices, Tensor updates)"
#define TUPLES(name, kind)                                     \
    {                                                          \
        name, MINDSPORE, UPDATES, update_tuples, 0, kind, NULL \
    }
#define ROWS(name, kind)                                     \
    {                                                        \
        name, MINDSPORE, UPDATES, update_rows, 0, kind, NULL \
    }
#define INPLACE(name, kind)                                                                    \
    {                                                                                          \
        name, MINDSPORE, "(Tensor x, Tensor updates, Any indices)", update_rows, 0, kind, NULL \
    }
#define SEGMENT(name, kind)                                                                    \
    {                                                                                          \
        name, MINDSPORE, "(Tensor x, Tensor segment_ids, int num_segments)", segment, 0, kind, \
            NULL                                                                               \
    }

/* clang-format off */
const struct op ops_mindspore[] = {
    { "xdivy", MINDSPORE, "(Tensor x, Tensor y)", xdivy, 0, 0, NULL },
    { "bias_add", MINDSPORE, "(Tensor x, Tensor bias)", bias_add, 0, 0, NULL },
    { "addn", MINDSPORE, "(Tensor[] x)", addn, 0, 0, NULL },
    { "count_nonzero", MINDSPORE, "(Tensor x, int[]? axis, bool keep_dims)", count_nonzero, OP_NO_GRADIENT, 0, NULL },
    { "clip_by_global_norm", MINDSPORE, "(Tensor[] x, Scalar clip_norm)", clip_by_global_norm, 0, 0, NULL },
    { "max", MINDSPORE, "(Tensor x)", extremum_of_all, 0, 1, NULL },
    { "min", MINDSPORE, "(Tensor x)", extremum_of_all, 0, -1, NULL },
    { "assign", MINDSPORE, "(Tensor x, Tensor value)", assign, 0, 0, NULL },
    { "strided_slice", MINDSPORE, "(Tensor x, int[] begin, int[] end, int[]? strides, int begin_mask, int end_mask, int ellipsis_mask, int new_axis_mask, int shrink_axis_mask)", strided_slice, 0, 0, NULL },
    { "slice", MINDSPORE, "(Tensor x, int[] begin, int[] size)", slice, 0, 0, NULL },
    { "gather", MINDSPORE, "(Tensor x, Tensor indices, int axis, int batch_dims)", gather, 0, 0, NULL },
    { "gather_nd", MINDSPORE, "(Tensor x, Tensor indices)", gather_nd, 0, 0, NULL },
    { "scatter_elements", MINDSPORE, "(Tensor x, Tensor indices, Tensor updates, int axis, str reduction)", scatter_elements, 0, 0, NULL },
    { "scatter_nd", MINDSPORE, "(Tensor indices, Tensor updates, int[] shape)", scatter_nd, 0, 0, NULL },
    TUPLES("scatter_nd_add|tensor_scatter_add", UPDATE_ADD), TUPLES("scatter_nd_sub|tensor_scatter_sub", UPDATE_SUB),
    TUPLES("scatter_nd_mul|tensor_scatter_mul", UPDATE_MUL), TUPLES("scatter_nd_div|tensor_scatter_div", UPDATE_DIV),
    TUPLES("scatter_nd_max|tensor_scatter_max", UPDATE_MAX), TUPLES("scatter_nd_min|tensor_scatter_min", UPDATE_MIN),
    TUPLES("tensor_scatter_update", UPDATE_SET),
    ROWS("scatter_add", UPDATE_ADD), ROWS("scatter_sub", UPDATE_SUB), ROWS("scatter_mul", UPDATE_MUL),
    ROWS("scatter_div", UPDATE_DIV), ROWS("scatter_max", UPDATE_MAX), ROWS("scatter_min", UPDATE_MIN),
    ROWS("scatter_update", UPDATE_SET),
    INPLACE("inplace_add", UPDATE_ADD), INPLACE("inplace_sub", UPDATE_SUB), INPLACE("inplace_update", UPDATE_SET),
    SEGMENT("unsorted_segment_sum", UPDATE_ADD), SEGMENT("unsorted_segment_prod", UPDATE_MUL),
    SEGMENT("unsorted_segment_max", UPDATE_MAX), SEGMENT("unsorted_segment_min", UPDATE_MIN),
    { "one_hot", MINDSPORE, "(Tensor indices, int depth, Tensor on_value, Tensor off_value, int axis)", one_hot, OP_NO_GRADIENT, 0, NULL },
    { "sequence_mask", MINDSPORE, "(Tensor lengths, int? maxlen)", sequence_mask, OP_NO_GRADIENT, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(mindspore);
