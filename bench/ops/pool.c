/* Pooling over one to three spatial dimensions: maximum, average, adaptive, power mean,
 * unpooling.
 *
 * An average is a sum over windows (bench/primitives/taps.h), one dimension after the other, divided
 * by the windows' sizes. A maximum is a gather at the place of the first largest element,
 * as PyTorch finds it; where several are largest the device's indices are taken.
 */
#include <string.h>

#include "bench/call/op.h"
#include "bench/ops/integers.h"
#include "bench/ops/pullback.h"
#include "bench/primitives/alias.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/gather.h"
#include "bench/primitives/integral.h"
#include "bench/primitives/overwrite.h"
#include "bench/primitives/selection.h"
#include "bench/primitives/window_sums.h"

enum { SPATIAL = 3 };

/* A pooling problem: `batch` planes of in[] elements; unused leading dimensions have extent
 * 1, kernel 1, stride 1. */
struct pooling {
    int dims; /* spatial dimensions, 1 to 3 */
    size_t batch;
    int64_t in[SPATIAL], out[SPATIAL];
    int64_t kernel[SPATIAL], stride[SPATIAL], padding[SPATIAL], dilation[SPATIAL];
    int rank; /* of the result, which is the argument's leading dimensions and out */
    int64_t shape[TENSOR_MAX_RANK];
};

/* Spatial sizes of x with `dims` of them; a result shape whose last extents are
 * still x's. */
static bool open_pooling(struct pooling *pooling, struct call *call, const struct node *x, int dims)
{
    memset(pooling, 0, sizeof *pooling);
    pooling->dims = dims;
    pooling->batch = 1;
    if (!call_require(call, x->rank == dims + 1 || x->rank == dims + 2,
                      "%d spatial dimensions need %d or %d dimensions, the argument has %d", dims,
                      dims + 1, dims + 2, x->rank))
        return false;
    for (int d = 0; d < x->rank - dims; d++) pooling->batch *= (size_t)x->shape[d];
    for (int k = 0; k < SPATIAL; k++) {
        int d = x->rank - SPATIAL + k;
        pooling->in[k] = k < SPATIAL - dims ? 1 : x->shape[d];
        pooling->out[k] = pooling->kernel[k] = pooling->stride[k] = pooling->dilation[k] = 1;
    }
    pooling->rank = x->rank;
    memcpy(pooling->shape, x->shape, sizeof pooling->shape);
    return true;
}

/* The ints of argument `name` in the spatial places of `out`; false when it is None or
 * empty. */
static bool spatial_ints(int64_t *out, struct call *call, const char *name, int dims)
{
    const struct value *value = call_value(call, name);
    if (value->kind == VALUE_NONE || (value_is_sequence(value) && !value->list.count)) return false;
    call_ints_repeated(call, name, out + SPATIAL - dims, dims);
    return true;
}

static int64_t floor_divide(int64_t a, int64_t b) { return a / b - (a % b < 0); }

static void finish_shape(struct pooling *pooling)
{
    for (int k = 0; k < pooling->dims; k++)
        pooling->shape[pooling->rank - pooling->dims + k] =
            pooling->out[SPATIAL - pooling->dims + k];
}

/* kernel_size, stride (kernel by default), padding, dilation, ceil_mode of a
 * pooling call. */
static bool read_windows(struct pooling *pooling, struct call *call, bool dilated)
{
    bool ceil_mode = call_bool(call, "ceil_mode");
    int first = SPATIAL - pooling->dims;

    if (!spatial_ints(pooling->kernel, call, "kernel_size", pooling->dims))
        call_fail(call, "no kernel size");
    if (!spatial_ints(pooling->stride, call, "stride", pooling->dims))
        memcpy(pooling->stride, pooling->kernel, sizeof pooling->stride);
    (void)spatial_ints(pooling->padding, call, "padding", pooling->dims);
    if (dilated) (void)spatial_ints(pooling->dilation, call, "dilation", pooling->dims);
    for (int k = first; k < SPATIAL; k++) {
        if (!call_require(call,
                          pooling->kernel[k] >= 1 && pooling->stride[k] >= 1 &&
                              pooling->dilation[k] >= 1 && pooling->padding[k] >= 0 &&
                              pooling->kernel[k] <= INT32_MAX && pooling->stride[k] <= INT32_MAX &&
                              pooling->dilation[k] <= INT32_MAX &&
                              pooling->padding[k] <= pooling->kernel[k] / 2,
                          "kernel, stride, padding or dilation is out of range"))
            return false;
        int64_t span = pooling->in[k] + 2 * pooling->padding[k] -
                       pooling->dilation[k] * (pooling->kernel[k] - 1) - 1;
        int64_t out =
            floor_divide(span + (ceil_mode ? pooling->stride[k] - 1 : 0), pooling->stride[k]) + 1;
        /* The last window of ceil_mode must start inside the input or its left padding. */
        if (ceil_mode && (out - 1) * pooling->stride[k] >= pooling->in[k] + pooling->padding[k])
            out--;
        if (!call_require(call, out >= 1, "the windows are larger than the input")) return false;
        pooling->out[k] = out;
    }
    finish_shape(pooling);
    return !tape_failed(call->tape);
}

static int64_t adaptive_start(int64_t o, int64_t in, int64_t out) { return o * in / out; }
static int64_t adaptive_end(int64_t o, int64_t in, int64_t out)
{
    return ((o + 1) * in + out - 1) / out;
}

/* output_size of an adaptive call: an int or a list, None keeping an extent. */
static bool read_adaptive(struct pooling *pooling, struct call *call)
{
    const struct value *value = call_value(call, "output_size");
    size_t count = value_is_sequence(value) ? value->list.count : 1;
    if (count != 1 && count != (size_t)pooling->dims)
        call_fail(call, "output_size has %zu items", count);
    for (int k = 0; k < pooling->dims && !tape_failed(call->tape); k++) {
        const struct value *item =
            !value_is_sequence(value) ? value : &value->list.items[count == 1 ? 0 : k];
        int at = SPATIAL - pooling->dims + k;
        if (item->kind == VALUE_NONE) pooling->out[at] = pooling->in[at];
        else if (item->kind == VALUE_INT && item->integer >= 0 && item->integer < INT32_MAX)
            pooling->out[at] = item->integer;
        else call_fail(call, "output_size must be ints");
        if (pooling->in[at] == 0 && pooling->out[at] > 0) call_fail(call, "the argument is empty");
    }
    finish_shape(pooling);
    return !tape_failed(call->tape);
}

/* ---- averages ----------------------------------------------------------------------- */

/* Windows of one spatial dimension clipped to the input, and their sizes
 * counting padding. */
static bool windows_of(struct tape *tape, const struct pooling *pooling, int k, bool adaptive,
                       int64_t **start, int64_t **end, int64_t **padded)
{
    size_t n = (size_t)pooling->out[k];
    *start = tape_allocate(tape, n, sizeof **start);
    *end = tape_allocate(tape, n, sizeof **end);
    *padded = tape_allocate(tape, n, sizeof **padded);
    if (tape_failed(tape)) return false;
    for (int64_t o = 0; o < pooling->out[k]; o++) {
        if (adaptive) {
            (*start)[o] = adaptive_start(o, pooling->in[k], pooling->out[k]);
            (*end)[o] = adaptive_end(o, pooling->in[k], pooling->out[k]);
            (*padded)[o] = (*end)[o] - (*start)[o];
            continue;
        }
        int64_t from = o * pooling->stride[k] - pooling->padding[k], to = from + pooling->kernel[k];
        int64_t limit = pooling->in[k] + pooling->padding[k];
        (*padded)[o] = (to < limit ? to : limit) - from;
        (*start)[o] = from < 0 ? 0 : from;
        (*end)[o] = to < pooling->in[k] ? to : pooling->in[k];
    }
    return true;
}

/* The windows of the last dimensions, and how many elements each has (with padding if asked). */
struct windows {
    struct window_axis axes[SPATIAL];
    struct node *sizes[SPATIAL];
};

static bool open_windows(struct windows *windows, struct tape *tape, const struct pooling *pooling,
                         bool adaptive, bool count_padding)
{
    for (int k = 0; k < pooling->dims; k++) {
        int at = SPATIAL - pooling->dims + k;
        int64_t *start, *end, *padded, shape[SPATIAL] = { pooling->out[at], 1, 1 };
        struct node *size = node_new_real(tape, DT_NONE, pooling->dims - k, shape);
        if (tape_failed(tape) || !windows_of(tape, pooling, at, adaptive, &start, &end, &padded))
            return false;
        for (int64_t o = 0; o < pooling->out[at]; o++)
            size->value[o] = (double)(count_padding ? padded[o] : end[o] - start[o]);
        windows->axes[k] = (struct window_axis){ pooling->in[at], pooling->out[at], start, end };
        windows->sizes[k] = size;
    }
    return true;
}

/* How many elements each window has. */
static struct node *window_sizes(struct tape *tape, const struct windows *windows,
                                 const struct pooling *pooling)
{
    struct node *sizes =
        node_new_real(tape, DT_NONE, pooling->dims, pooling->out + SPATIAL - pooling->dims);
    for (size_t i = 0; i < sizes->n && !tape_failed(tape); i++) {
        size_t rest = i;
        sizes->value[i] = 1;
        for (int k = pooling->dims - 1; k >= 0; k--) {
            sizes->value[i] *= windows->sizes[k]->value[rest % windows->sizes[k]->n];
            rest /= windows->sizes[k]->n;
        }
    }
    return sizes;
}

/* detail: spatial dimensions. */
static void avg_pool(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input");
    struct pooling pooling;
    struct windows windows;

    if (!open_pooling(&pooling, call, x, (int)call->op->detail) ||
        !read_windows(&pooling, call, false) ||
        !open_windows(&windows, tape, &pooling, false, call_bool(call, "count_include_pad")))
        return;
    const struct node *before = tape->newest;
    struct node *sum = node_window_sums(tape, x, pooling.dims, windows.axes),
                *sizes = window_sizes(tape, &windows, &pooling);
    if (pooling.dims > 1 && !call_is_none(call, "divisor_override"))
        sizes = node_scalar(tape, (double)call_int(call, "divisor_override"));
    struct node *mean = node_divide(tape, sum, sizes);
    tape_one_kernel(tape, before, mean);
    call_return_typed(call, mean, x->dtype);
}

/* PyTorch's kernels divide by one extent of a window after the other. */
static struct node *adaptive_mean(struct tape *tape, struct node *x, const struct pooling *pooling)
{
    struct windows windows;
    if (!open_windows(&windows, tape, pooling, true, false)) return tape_failure(tape);
    struct node *mean = node_window_sums(tape, x, pooling->dims, windows.axes);
    if (!tape_is_model(tape) || tape->stage > 0)
        return node_divide(tape, mean, window_sizes(tape, &windows, pooling));
    for (int k = 0; k < pooling->dims; k++) mean = node_divide(tape, mean, windows.sizes[k]);
    return mean;
}

static void adaptive_avg_pool(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    struct pooling pooling;
    if (open_pooling(&pooling, call, x, (int)call->op->detail) && read_adaptive(&pooling, call))
        call_return_typed(call, adaptive_mean(call->tape, x, &pooling), x->dtype);
}

/* (sum of x^p over windows)^(1/p) as PyTorch writes it: the average, of integers in their dtype, times the kernel's
 * size; negative sums (odd p) have no root. */
static void lp_pool(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input");
    struct pooling pooling;
    struct windows windows;
    double power = call_real(call, "norm_type"), kernel = 1;

    if (!open_pooling(&pooling, call, x, (int)call->op->detail) ||
        !read_windows(&pooling, call, false) ||
        !open_windows(&windows, tape, &pooling, false, true))
        return;
    for (int k = 0; k < SPATIAL; k++) kernel *= (double)pooling.kernel[k];
    struct node *powers = node_apply2(tape, "pow", x, node_scalar(tape, power));
    const struct node *before = tape->newest;
    struct node *sum = node_window_sums(tape, powers, pooling.dims, windows.axes),
                *sizes = window_sizes(tape, &windows, &pooling),
                *mean = node_divide(tape, sum, sizes);
    tape_one_kernel(tape, before, mean);
    if (x->integer && call_value(call, "norm_type")->kind == VALUE_INT)
        mean = node_to_real(tape, node_integer_binary(tape, DT_I64, truncated_quotient,
                                                      node_to_integer(tape, sum, DT_I64),
                                                      node_to_integer(tape, sizes, DT_I64)));
    /* PyTorch has sign(mean) * relu(|mean|): mean itself, but its slope at 0 is 0. */
    struct node *nonzero =
        node_compare(tape, COMPARE_NE, node_detach(tape, mean), node_scalar(tape, 0));
    struct node *base = node_select(tape, nonzero, mean, node_scalar(tape, 0));
    call_return_typed(
        call,
        node_apply2(tape, "pow", node_scale(tape, base, kernel), node_scalar(tape, 1 / power)),
        call_float_type(call, &x, 1));
}

/* ---- maxima ------------------------------------------------------------------------- */

/* The larger of two elements as PyTorch's loop keeps it: a later NaN
 * replaces everything. */
static bool replaces(const struct node *x, size_t candidate, size_t best)
{
    if (x->integer) return x->integer[candidate] > x->integer[best];
    return x->value[candidate] > x->value[best] || isnan(x->value[candidate]);
}

/* Bounds of window o of dimension k: positions from, from + step, ... below to. */
static void window_bounds(const struct pooling *pooling, int k, int64_t o, bool adaptive,
                          int64_t *from, int64_t *to)
{
    if (adaptive) {
        *from = adaptive_start(o, pooling->in[k], pooling->out[k]);
        *to = adaptive_end(o, pooling->in[k], pooling->out[k]);
        return;
    }
    *from = o * pooling->stride[k] - pooling->padding[k];
    *to = *from + (pooling->kernel[k] - 1) * pooling->dilation[k] + 1;
    if (*to > pooling->in[k]) *to = pooling->in[k];
    while (*from < 0) *from += pooling->dilation[k];
}

/* Position in its plane of the first largest element of each window. */
static struct node *window_arguments(struct call *call, struct node *x,
                                     const struct pooling *pooling, bool adaptive)
{
    struct node *index = node_new_integer(call->tape, DT_I64, pooling->rank, pooling->shape);
    size_t plane = (size_t)(pooling->in[0] * pooling->in[1] * pooling->in[2]), at = 0;
    int64_t from[SPATIAL], to[SPATIAL], o[SPATIAL];

    if (!x->integer) (void)node_values(call->tape, x);
    if (tape_failed(call->tape)) return tape_failure(call->tape);
    for (size_t b = 0; b < pooling->batch; b++)
        for (o[0] = 0; o[0] < pooling->out[0]; o[0]++)
            for (o[1] = 0; o[1] < pooling->out[1]; o[1]++)
                for (o[2] = 0; o[2] < pooling->out[2]; o[2]++) {
                    for (int k = 0; k < SPATIAL; k++)
                        window_bounds(pooling, k, o[k], adaptive, &from[k], &to[k]);
                    size_t best = SIZE_MAX;
                    for (int64_t z = from[0]; z < to[0]; z += pooling->dilation[0])
                        for (int64_t y = from[1]; y < to[1]; y += pooling->dilation[1])
                            for (int64_t w = from[2]; w < to[2]; w += pooling->dilation[2]) {
                                size_t k = b * plane +
                                           (size_t)((z * pooling->in[1] + y) * pooling->in[2] + w);
                                if (best == SIZE_MAX || replaces(x, k, best)) best = k;
                            }
                    if (!call_require(call, best != SIZE_MAX,
                                      "a window holds no element of the input"))
                        return index;
                    index->integer[at++] = (int64_t)(best - b * plane);
                }
    return index;
}

struct acceptance {
    const struct node *x, *own;
    const struct pooling *p;
    bool adaptive;
};

/* Any position in the window whose element equals the maximum is right. */
static bool accept_index(void *context, size_t i, int64_t index)
{
    const struct acceptance *acceptance = context;
    const struct pooling *pooling = acceptance->p;
    size_t plane = (size_t)(pooling->in[0] * pooling->in[1] * pooling->in[2]), rest = i;
    int64_t position[SPATIAL], left = index;

    if (index < 0 || index >= (int64_t)plane) return false;
    for (int k = SPATIAL - 1; k >= 0; k--) {
        int64_t from, to, o = (int64_t)(rest % (size_t)pooling->out[k]);
        rest /= (size_t)pooling->out[k];
        position[k] = left % pooling->in[k];
        left /= pooling->in[k];
        window_bounds(pooling, k, o, acceptance->adaptive, &from, &to);
        if (position[k] < from || position[k] >= to || (position[k] - from) % pooling->dilation[k])
            return false;
    }
    size_t base = rest * plane, have = base + (size_t)index,
           want = base + (size_t)acceptance->own->integer[i];
    if (acceptance->x->integer) return acceptance->x->integer[have] == acceptance->x->integer[want];
    return acceptance->x->value[have] == acceptance->x->value[want] ||
           (isnan(acceptance->x->value[have]) && isnan(acceptance->x->value[want]));
}

/* Gather the elements at the indices, returned with them when `both`. */
static void return_maxima(struct call *call, struct node *x, const struct pooling *pooling,
                          bool adaptive, bool both)
{
    struct tape *tape = call->tape;
    struct node *index = window_arguments(call, x, pooling, adaptive);
    struct acceptance acceptance = { x, index, pooling, adaptive };
    size_t plane = (size_t)(pooling->in[0] * pooling->in[1] * pooling->in[2]);

    if (tape_failed(tape)) return;
    if (both) index = call_settled_indices(call, 1, index, accept_index, &acceptance);
    int64_t *map = tape_allocate(tape, index->n, sizeof *map);
    if (!map) return;
    size_t per_plane = (size_t)(pooling->out[0] * pooling->out[1] * pooling->out[2]);
    for (size_t i = 0; i < index->n; i++)
        map[i] = (int64_t)(i / per_plane * plane) + index->integer[i];
    call_return(call, node_gather(tape, x, pooling->rank, pooling->shape, map, 0));
    if (both) call_return(call, index);
}

/* text: "indices" when the API always returns them. */
static void max_pool(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    struct pooling pooling;
    if (!open_pooling(&pooling, call, x, (int)call->op->detail) ||
        !read_windows(&pooling, call, true))
        return;
    return_maxima(call, x, &pooling, false, call->op->text || call_bool(call, "return_indices"));
}

static void adaptive_max_pool(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    struct pooling pooling;
    if (!open_pooling(&pooling, call, x, (int)call->op->detail) || !read_adaptive(&pooling, call))
        return;
    return_maxima(call, x, &pooling, true, call->op->text || call_bool(call, "return_indices"));
}

/* ---- unpooling ---------------------------------------------------------------------- */

static void max_unpool(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input"), *indices = call_tensor(call, "indices");
    int dims = (int)call->op->detail, first = SPATIAL - dims;
    int64_t sizes[TENSOR_MAX_RANK];
    struct pooling pooling;

    if (!open_pooling(&pooling, call, x, dims)) return;
    if (!call_require(call, indices->integer && indices->n == x->n,
                      "indices must be integers of the shape of the input"))
        return;
    (void)spatial_ints(pooling.kernel, call, "kernel_size", dims);
    if (!spatial_ints(pooling.stride, call, "stride", dims))
        memcpy(pooling.stride, pooling.kernel, sizeof pooling.stride);
    (void)spatial_ints(pooling.padding, call, "padding", dims);
    for (int k = first; k < SPATIAL; k++) {
        if (!call_require(call,
                          pooling.kernel[k] >= 1 && pooling.stride[k] >= 1 &&
                              pooling.padding[k] >= 0 && pooling.kernel[k] <= INT32_MAX &&
                              pooling.stride[k] <= INT32_MAX && pooling.padding[k] <= INT32_MAX &&
                              pooling.in[k] <= INT32_MAX,
                          "kernel, stride or padding is out of range"))
            return;
        pooling.out[k] = (pooling.in[k] - 1) * pooling.stride[k] + pooling.kernel[k] -
                         2 * pooling.padding[k];
    }
    int given = call_is_none(call, "output_size")
                    ? 0
                    : call_ints(call, "output_size", sizes, TENSOR_MAX_RANK);
    if (!call_require(call, !given || given >= dims, "output_size has %d items", given)) return;
    for (int k = 0; given >= dims && k < dims; k++)
        pooling.out[first + k] = sizes[given - dims + k];
    finish_shape(&pooling);
    for (int k = first; k < SPATIAL; k++)
        if (!call_require(call, pooling.out[k] >= 0 && pooling.out[k] <= INT32_MAX,
                          "the output size is out of range"))
            return;
    struct node *zero = node_constant(tape, x->dtype, 0, pooling.rank, pooling.shape);
    int64_t *map = tape_allocate(tape, x->n, sizeof *map);
    if (tape_failed(tape)) return;
    int64_t plane = pooling.out[0] * pooling.out[1] * pooling.out[2];
    size_t per_plane = (size_t)(pooling.in[0] * pooling.in[1] * pooling.in[2]);
    for (size_t i = 0; i < x->n; i++) {
        if (!call_require(call, indices->integer[i] >= 0 && indices->integer[i] < plane,
                          "index %lld is outside the output", (long long)indices->integer[i]))
            return;
        map[i] = (int64_t)(i / per_plane) * plane + indices->integer[i];
    }
    call_return(call, node_overwrite(tape, zero, x, 1, map, NULL));
}

/* ---- gradients as operators of aten ------------------------------------------------- */

static void avg_pool_backward(struct call *call)
{
    call_return_gradients(call, avg_pool, (const char *const[]){ "input", NULL });
}

/* The windows' number is that of the gradient's elements. */
static void adaptive_avg_pool_backward(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *gradient = call_tensor(call, "grad_output"), *x = call_tensor(call, "input");
    struct pooling pooling;
    if (!open_pooling(&pooling, call, x, (int)call->op->detail)) return;
    if (!call_require(call, gradient->rank == x->rank, "a gradient of %d dimensions for %d",
                      gradient->rank, x->rank))
        return;
    for (int k = SPATIAL - pooling.dims; k < SPATIAL; k++)
        pooling.out[k] = gradient->shape[gradient->rank - SPATIAL + k];
    finish_shape(&pooling);
    x = node_tracked(tape, x);
    call_return(call, call_gradient(call, adaptive_mean(tape, x, &pooling), gradient, x));
}

/* Each element of the gradient belongs to the element of x's plane that the forward's indices name. */
static void max_pool_backward(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *gradient = call_tensor(call, "grad_output"), *x = call_tensor(call, "input"),
                *indices = call_tensor(call, "indices");
    int dims = (int)call->op->detail;
    if (!call_require(call,
                      indices->integer && indices->n == gradient->n && x->rank >= dims &&
                          gradient->rank == x->rank,
                      "indices must be integers of the shape of the gradient"))
        return;
    size_t plane = 1, windows = 1;
    for (int d = x->rank - dims; d < x->rank; d++) {
        plane *= (size_t)x->shape[d];
        windows *= (size_t)gradient->shape[d];
    }
    int64_t *map = tape_allocate(tape, indices->n, sizeof *map);
    if (!map) return;
    for (size_t i = 0; i < indices->n; i++) {
        int64_t index = indices->integer[i];
        if (!call_require(call, index >= 0 && (size_t)index < plane,
                          "index %lld is outside the input", (long long)index))
            return;
        map[i] = (int64_t)(i / windows * plane) + index;
    }
    call_return_typed(call, node_scatter_add(tape, gradient, x->rank, x->shape, map), x->dtype);
}

/* clang-format off */
#define AVG_ROWS(name, groups, dims, tail) \
    { name, groups, "(Tensor input, int[] kernel_size, int[]? stride=None, int[] padding=0, bool ceil_mode=False, bool count_include_pad=True" tail ")", avg_pool, OP_ONE_NODE, dims, NULL }
#define MAX_ROW(name, groups, dims, text) \
    { name, groups, "(Tensor input, int[] kernel_size, int[]? stride=None, int[] padding=0, int[] dilation=1, bool ceil_mode=False, bool return_indices=False)", max_pool, OP_ONE_NODE, dims, text }
#define ADAPTIVE_MAX_ROW(name, groups, dims, text) \
    { name, groups, "(Tensor input, Any output_size, bool return_indices=False)", adaptive_max_pool, OP_ONE_NODE, dims, text }
#define UNPOOL_ROW(name, dims) \
    { name, FUNCTIONAL, "(Tensor input, Tensor indices, int[] kernel_size, int[]? stride=None, int[] padding=0, int[]? output_size=None)", max_unpool, OP_ONE_NODE, dims, NULL }
#define AVG_GRADIENT(name, dims) \
    { name, ATEN, "(Tensor grad_output, Tensor input, int[] kernel_size, int[] stride, int[] padding, bool ceil_mode, bool count_include_pad, int? divisor_override)", avg_pool_backward, OP_NO_GRADIENT, dims, NULL }
#define MAX_GRADIENT(name, dims) \
    { name, ATEN, "(Tensor grad_output, Tensor input, int[] kernel_size, int[] stride, int[] padding, int[] dilation, bool ceil_mode, Tensor indices)", max_pool_backward, OP_NO_GRADIENT, dims, NULL }

const struct op ops_pool[] = {
    AVG_ROWS("avg_pool1d", FUNCTIONAL | TORCH | ATEN, 1, ""),
    AVG_ROWS("avg_pool2d", FUNCTIONAL | ATEN, 2, ", int? divisor_override=None"),
    AVG_ROWS("avg_pool3d", FUNCTIONAL | ATEN, 3, ", int? divisor_override=None"),
    { "adaptive_avg_pool1d", FUNCTIONAL | TORCH, "(Tensor input, Any output_size)", adaptive_avg_pool, OP_ONE_NODE, 1, NULL },
    { "adaptive_avg_pool2d|_adaptive_avg_pool2d", FUNCTIONAL | TORCH | ATEN, "(Tensor input, Any output_size)", adaptive_avg_pool, OP_ONE_NODE, 2, NULL },
    { "adaptive_avg_pool3d|_adaptive_avg_pool3d", FUNCTIONAL | TORCH | ATEN, "(Tensor input, Any output_size)", adaptive_avg_pool, OP_ONE_NODE, 3, NULL },
    { "lp_pool1d", FUNCTIONAL, "(Tensor input, float norm_type, int[] kernel_size, int[]? stride=None, bool ceil_mode=False, *, int padding=0)", lp_pool, 0, 1, NULL },
    { "lp_pool2d", FUNCTIONAL, "(Tensor input, float norm_type, int[] kernel_size, int[]? stride=None, bool ceil_mode=False, *, int padding=0)", lp_pool, 0, 2, NULL },
    { "lp_pool3d", FUNCTIONAL, "(Tensor input, float norm_type, int[] kernel_size, int[]? stride=None, bool ceil_mode=False, *, int padding=0)", lp_pool, 0, 3, NULL },
    MAX_ROW("max_pool1d", FUNCTIONAL | TORCH, 1, NULL),
    MAX_ROW("max_pool2d", FUNCTIONAL | TORCH | ATEN, 2, NULL),
    MAX_ROW("max_pool3d", FUNCTIONAL | TORCH | ATEN, 3, NULL),
    MAX_ROW("max_pool1d_with_indices", FUNCTIONAL | TORCH, 1, "indices"),
    MAX_ROW("max_pool2d_with_indices", FUNCTIONAL | ATEN, 2, "indices"),
    MAX_ROW("max_pool3d_with_indices", FUNCTIONAL | ATEN, 3, "indices"),
    ADAPTIVE_MAX_ROW("adaptive_max_pool1d", FUNCTIONAL, 1, NULL),
    ADAPTIVE_MAX_ROW("adaptive_max_pool2d", FUNCTIONAL, 2, NULL),
    ADAPTIVE_MAX_ROW("adaptive_max_pool3d", FUNCTIONAL, 3, NULL),
    ADAPTIVE_MAX_ROW("adaptive_max_pool1d", TORCH, 1, "indices"),
    ADAPTIVE_MAX_ROW("adaptive_max_pool1d_with_indices", FUNCTIONAL, 1, "indices"),
    ADAPTIVE_MAX_ROW("adaptive_max_pool2d_with_indices", FUNCTIONAL, 2, "indices"),
    ADAPTIVE_MAX_ROW("adaptive_max_pool3d_with_indices", FUNCTIONAL, 3, "indices"),
    UNPOOL_ROW("max_unpool1d", 1),
    UNPOOL_ROW("max_unpool2d", 2),
    UNPOOL_ROW("max_unpool3d", 3),
    /* aten */
    ADAPTIVE_MAX_ROW("adaptive_max_pool2d", ATEN, 2, "indices"),
    ADAPTIVE_MAX_ROW("adaptive_max_pool3d", ATEN, 3, "indices"),
    { "max_unpool2d", ATEN, "(Tensor input, Tensor indices, int[] output_size, *, int[] kernel_size=1, int[]? stride=None, int[] padding=0)", max_unpool, OP_ONE_NODE, 2, NULL },
    { "max_unpool3d", ATEN, "(Tensor input, Tensor indices, int[] output_size, int[] stride, int[] padding, *, int[] kernel_size=1)", max_unpool, OP_ONE_NODE, 3, NULL },
    AVG_GRADIENT("avg_pool2d_backward", 2),
    AVG_GRADIENT("avg_pool3d_backward", 3),
    { "_adaptive_avg_pool2d_backward", ATEN, "(Tensor grad_output, Tensor input)", adaptive_avg_pool_backward, OP_NO_GRADIENT, 2, NULL },
    { "_adaptive_avg_pool3d_backward|adaptive_avg_pool3d_backward", ATEN, "(Tensor grad_output, Tensor input)", adaptive_avg_pool_backward, OP_NO_GRADIENT, 3, NULL },
    MAX_GRADIENT("max_pool2d_with_indices_backward", 2),
    MAX_GRADIENT("max_pool3d_with_indices_backward", 3),
    { "adaptive_max_pool2d_backward", ATEN, "(Tensor grad_output, Tensor input, Tensor indices)", max_pool_backward, OP_NO_GRADIENT, 2, NULL },
    { "adaptive_max_pool3d_backward", ATEN, "(Tensor grad_output, Tensor input, Tensor indices)", max_pool_backward, OP_NO_GRADIENT, 3, NULL },
};
/* clang-format on */
OP_TABLE_END(pool);
