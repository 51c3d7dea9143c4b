/* Padding: constant, reflect, replicate, circular; negative amounts crop. */
#include <ctype.h>
#include <string.h>

#include "bench/call/op.h"
#include "bench/ops/pullback.h"
#include "bench/primitives/gather.h"
#include "bench/primitives/view.h"
#include "bench/tape/broadcast.h"
#include "core/checked.h"

enum pad_mode { PAD_CONSTANT, PAD_REFLECT, PAD_REPLICATE, PAD_CIRCULAR };

/* Amounts per dimension of x: before[d] and after[d]. The list counts from the last
 * dimension. */
struct padding {
    int64_t before[TENSOR_MAX_RANK], after[TENSOR_MAX_RANK];
    int dims; /* dimensions the list names */
};

static bool read_padding(struct padding *padding, struct call *call, const struct node *x,
                         const char *name)
{
    int64_t pads[2 * TENSOR_MAX_RANK];
    int count = call_ints(call, name, pads, 2 * TENSOR_MAX_RANK);
    memset(padding, 0, sizeof *padding);
    const char *stem = /* of reflection_pad2d: one amount is that of both ends of two dimensions */
        strstr(call->api_case->api, "_pad");
    if (count == 1 && stem && isdigit((unsigned char)stem[4])) {
        count = 2 * (stem[4] - '0');
        for (int k = 1; k < count; k++) pads[k] = pads[0];
    }
    if (!call_require(call, count % 2 == 0 && count / 2 <= x->rank,
                      "%d padding amounts for %d dimensions", count, x->rank))
        return false;
    padding->dims = count / 2;
    for (int k = 0; k < padding->dims; k++) {
        int d = x->rank - 1 - k;
        padding->before[d] = pads[2 * k];
        padding->after[d] = pads[2 * k + 1];
        int64_t limit = INT32_MAX;
        if (!call_require(call,
                          padding->before[d] <= limit && padding->after[d] <= limit &&
                              padding->before[d] >= -limit && padding->after[d] >= -limit &&
                              x->shape[d] + padding->before[d] + padding->after[d] >= 0,
                          "the padding of dimension %d does not fit its extent", d))
            return false;
    }
    return true;
}

/* Crop by the negative amounts, then place in a larger tensor of `fill`. */
static struct node *pad_constant(struct call *call, struct node *x, const struct padding *padding,
                                 struct node *fill)
{
    struct tape *tape = call->tape;
    int64_t shape[TENSOR_MAX_RANK], stride[TENSOR_MAX_RANK], offset = 0;
    bool grows = false;

    for (int d = 0; d < x->rank; d++) {
        int64_t cut = padding->before[d] < 0 ? -padding->before[d] : 0,
                cut_end = padding->after[d] < 0 ? -padding->after[d] : 0;
        if (!call_require(call, cut + cut_end <= x->shape[d],
                          "more is cropped of dimension %d than it has", d))
            return x;
        if (cut || cut_end) x = node_slice(tape, x, d, cut, x->shape[d] - cut - cut_end, 1);
        shape[d] = x->shape[d] + (padding->before[d] > 0 ? padding->before[d] : 0) +
                   (padding->after[d] > 0 ? padding->after[d] : 0);
        grows = grows || shape[d] != x->shape[d];
    }
    if (!grows) return x;
    shape_strides(stride, x->rank, shape);
    for (int d = 0; d < x->rank; d++)
        offset += (padding->before[d] > 0 ? padding->before[d] : 0) * stride[d];
    return node_place(tape, x, fill, x->rank, shape, stride, offset);
}

/* Where place i, counted from the first element, finds its element among n. */
static int64_t source_index(enum pad_mode mode, int64_t i, int64_t n)
{
    switch (mode) {
    case PAD_REFLECT:
        if (i < 0) i = -i;
        return i >= n ? 2 * (n - 1) - i : i;
    case PAD_REPLICATE: return i < 0 ? 0 : i >= n ? n - 1 : i;
    default: return (i % n + n) % n;
    }
}

/* Where the places of dimension `dim` find their elements; NULL on failure. */
static int64_t *padded_sources(struct call *call, const struct node *x, enum pad_mode mode, int dim,
                               int64_t before, int64_t after)
{
    int64_t n = x->shape[dim], length = n + before + after;
    bool fits = mode == PAD_REFLECT    ? before < n && after < n
                : mode == PAD_CIRCULAR ? before <= n && after <= n
                                       : n > 0;
    if (!call_require(call, (!before && !after) || (fits && length >= 1),
                      "padding %lld and %lld of %lld elements in this mode", (long long)before,
                      (long long)after, (long long)n))
        return NULL;
    int64_t *source = tape_allocate(call->tape, (size_t)length, sizeof *source);
    for (int64_t i = 0; source && i < length; i++) source[i] = source_index(mode, i - before, n);
    return source;
}

/* One map over all dimensions: a gradient is one sum for each element, whose terms a kernel may add in any
 * order. */
static struct node *pad_repeating(struct call *call, struct node *x, enum pad_mode mode,
                                  const struct padding *padding)
{
    int64_t *source[TENSOR_MAX_RANK], shape[TENSOR_MAX_RANK], stride[TENSOR_MAX_RANK];
    size_t n, inner = 1;
    int first = x->rank - padding->dims;

    memcpy(shape, x->shape, sizeof shape);
    for (int d = first; d < x->rank; d++) {
        shape[d] += padding->before[d] + padding->after[d];
        source[d] = padded_sources(call, x, mode, d, padding->before[d], padding->after[d]);
        if (!source[d]) return x;
        inner *= (size_t)shape[d];
    }
    if (!call_require(call, shape_elements(&n, x->rank, shape), "the padding is too large"))
        return x;
    int64_t *map = tape_allocate(call->tape, n, sizeof *map);
    if (!map) return x;
    shape_strides(stride, x->rank, x->shape);
    size_t plane = 1; /* of x: its padded dimensions */
    for (int d = first; d < x->rank; d++) plane *= (size_t)x->shape[d];
    for (size_t i = 0; i < n; i++) {
        size_t rest = i % inner;
        int64_t at = (int64_t)(i / inner * plane);
        for (int d = x->rank - 1; d >= first; d--) {
            at += source[d][rest % (size_t)shape[d]] * stride[d];
            rest /= (size_t)shape[d];
        }
        map[i] = at;
    }
    return node_gather(call->tape, x, x->rank, shape, map, 0);
}

/* PyTorch's circular padding crops first: what is repeated is what is left. */
static struct node *cropped(struct tape *tape, struct node *x, struct padding *padding)
{
    for (int d = 0; d < x->rank; d++) {
        int64_t from = padding->before[d] < 0 ? -padding->before[d] : 0,
                behind = padding->after[d] < 0 ? -padding->after[d] : 0;
        if (!from && !behind) continue;
        x = node_slice(tape, x, d, from, x->shape[d] - from - behind, 1);
        padding->before[d] += from;
        padding->after[d] += behind;
    }
    return x;
}

static void pad(struct call *call)
{
    static const char *const modes[] = { "constant", "reflect", "replicate", "circular" };
    struct node *x = call_tensor(call, "input");
    const char *name = call_string(call, "mode");
    struct padding padding;
    int mode = 0;

    while (mode < 4 && strcmp(modes[mode], name) != 0) mode++;
    if (!call_require(call, mode != 4, "the padding mode '%s' is not known", name)) return;
    if (!read_padding(&padding, call, x, "pad")) return;
    if (mode == PAD_CONSTANT) /* PyTorch passes the value on as a double, for integers too */
        x = pad_constant(
            call, x, &padding,
            call_is_none(call, "value") ? NULL : node_scalar(call->tape, call_real(call, "value")));
    else
        x = pad_repeating(call, mode == PAD_CIRCULAR ? cropped(call->tape, x, &padding) : x,
                          (enum pad_mode)mode, &padding);
    call_return(call, x);
}

static void constant_pad_nd(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    struct padding padding;
    if (read_padding(&padding, call, x, "pad"))
        call_return(call, pad_constant(call, x, &padding, call_tensor(call, "value")));
}

/* aten's reflection_pad and replication_pad: detail is the mode. */
static void repeating_pad(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    struct padding padding;
    if (read_padding(&padding, call, x, "padding"))
        call_return(call, pad_repeating(call, x, (enum pad_mode)call->op->detail, &padding));
}

static void repeating_pad_backward(struct call *call)
{
    call_return_gradients(call, repeating_pad, (const char *const[]){ "input", NULL });
}

/* clang-format off */
const struct op ops_pad[] = {
    { "pad", FUNCTIONAL | ATEN, "(Tensor input, int[] pad, str mode='constant', float? value=None)", pad, OP_ONE_NODE, 0, NULL },
    { "constant_pad_nd", TORCH | ATEN, "(Tensor input, int[] pad, Scalar value=0)", constant_pad_nd, OP_ONE_NODE, 0, NULL },
    { "reflection_pad1d|reflection_pad2d|reflection_pad3d", TORCH | ATEN, "(Tensor input, int[] padding)", repeating_pad, OP_ONE_NODE, PAD_REFLECT, NULL },
    { "replication_pad1d|replication_pad2d|replication_pad3d", TORCH | ATEN, "(Tensor input, int[] padding)", repeating_pad, OP_ONE_NODE, PAD_REPLICATE, NULL },
    { "reflection_pad1d_backward|reflection_pad2d_backward|reflection_pad3d_backward", ATEN, "(Tensor grad_output, Tensor input, int[] padding)", repeating_pad_backward, OP_NO_GRADIENT | OP_ADDS, PAD_REFLECT, NULL },
    { "replication_pad1d_backward|replication_pad2d_backward|replication_pad3d_backward", ATEN, "(Tensor grad_output, Tensor input, int[] padding)", repeating_pad_backward, OP_NO_GRADIENT | OP_ADDS, PAD_REPLICATE, NULL },
};
/* clang-format on */
OP_TABLE_END(pad);
