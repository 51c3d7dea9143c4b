/* Convolutions: every rank is brought to three spatial dimensions and one primitive. */
#include <math.h>
#include <string.h>

#include "bench/call/dimensions.h"
#include "bench/call/op.h"
#include "bench/ops/pullback.h"
#include "bench/primitives/alias.h"
#include "bench/primitives/begun_sums.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/complex_parts.h"
#include "bench/primitives/convolution.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/reduce.h"
#include "bench/primitives/unary.h"
#include "bench/primitives/view.h"
#include "bench/tape/broadcast.h"
#include "bench/tape/promotion.h"

struct convolution_arguments {
    int spatial; /* dimensions */
    bool batched;
    int64_t stride[3], padding[3], dilation[3], output_padding[3], groups;
};

/* Extents of a spatial list argument, right-aligned into three slots; `least` and more, and small
 * enough for products of two of them. */
static void spatial_argument(struct call *call, const char *name, int spatial, int64_t least,
                             int64_t *out)
{
    int64_t items[3] = { 0 };
    call_ints_repeated(call, name, items, spatial);
    for (int d = 0; d < spatial; d++) {
        if (items[d] < least || items[d] > INT32_MAX)
            call_fail(call, "'%s' of %lld is out of range", name, (long long)items[d]);
        else out[3 - spatial + d] = items[d];
    }
}

/* Insert leading spatial extents of 1 and, for unbatched input, a batch of 1: rank 5. */
static struct node *to_rank5(struct tape *tape, struct node *x, int spatial, bool batched)
{
    int64_t shape[5] = { 1, 1, 1, 1, 1 };
    int first = batched ? 0 : 1, at = 0;
    for (int d = first; d < 2; d++) shape[d] = x->shape[at++];
    for (int d = 5 - spatial; d < 5; d++) shape[d] = x->shape[at++];
    return node_reshape(tape, x, 5, shape);
}

static struct node *from_rank5(struct tape *tape, struct node *y, int spatial, bool batched)
{
    int64_t shape[5];
    int rank = 0;
    if (tape_failed(tape)) return tape_failure(tape);
    for (int d = batched ? 0 : 1; d < 2; d++) shape[rank++] = y->shape[d];
    for (int d = 5 - spatial; d < 5; d++) shape[rank++] = y->shape[d];
    return node_reshape(tape, y, rank, shape);
}

/* Bias per channel of a rank-5 result, whose elements are sums of `terms`. Kernels begin with it: every partial sum is as large. Where it is
 * infinite, tiles that are transformed, or another infinity on the way, make it NaN. */
static struct node *add_bias(struct tape *tape, struct node *y, struct node *bias, double terms)
{
    int64_t shape[5] = { 1, -1, 1, 1, 1 };
    y = node_model_open_at_infinity(tape, y);
    if (!bias) return y;
    bias = node_reshape(tape, bias, 5, shape);
    y = node_add(tape, y, bias);
    if (!tape_is_model(tape)) return y;
    double roundings = tape_is_typical(tape) ? 2 * sqrt(terms) : terms;
    bias = node_broadcast(tape, node_to_real(tape, bias), 5, y->shape);
    if (!y->imaginary) return node_model_error(tape, y, bias, roundings);
    /* Complex ones by three real convolutions, of sums of the parts for the imaginary part (PyTorch): (b_r + b_i + ...) - (b_r + ...). */
    struct node *re = node_apply(tape, "abs", node_detach(tape, node_real_part(tape, bias)));
    struct node *im = node_apply(tape, "abs", node_detach(tape, node_imaginary_part(tape, bias)));
    return node_complex(tape, node_model_error(tape, node_real_part(tape, y), re, roundings + 1),
                        node_model_error(tape, node_imaginary_part(tape, y), node_add(tape, re, im),
                                         roundings + 2));
}

/* In a model: y, sums of `terms` products of x and w, where a kernel begins with the bias. */
static struct node *begun_with(struct tape *tape, struct node *y, struct node *x, struct node *w,
                               struct node *bias, enum convolution_role role,
                               const struct convolution_geometry *geometry, double terms)
{
    const struct begun_sum sum = { x, w, bias ? node_to_real(tape, bias) : NULL, 1,
                                   (int64_t)terms };
    if (!begun_sums_round(tape, y, &sum)) return y;
    struct node *sizes = node_convolution(tape, role, begun_sums_sizes(tape, x),
                                          begun_sums_sizes(tape, w), geometry);
    return begun_sums_rounded(tape, y, sizes, sum.k);
}

/* x * w with explicit zero padding where it is not symmetric ("same" with an even kernel). */
static struct node *pad_trailing(struct tape *tape, struct node *x, const int64_t *extra)
{
    for (int d = 0; d < 3; d++) {
        if (!extra[d]) continue;
        int64_t shape[5];
        memcpy(shape, x->shape, sizeof shape);
        shape[2 + d] = extra[d];
        struct node *parts[2] = { x, node_constant(tape, x->dtype, 0, 5, shape) };
        x = node_concatenate(tape, parts, 2, 2 + d);
    }
    return x;
}

static struct node *convolve(struct call *call, struct node *x, struct node *w, struct node *bias,
                             const struct convolution_arguments *arguments)
{
    struct tape *tape = call->tape;
    struct convolution_geometry geometry = { .groups = arguments->groups };
    enum dtype dtype = dtype_promote(x->dtype, w->dtype);
    x = to_rank5(tape, x, arguments->spatial, arguments->batched);
    w = to_rank5(tape, w, arguments->spatial, true);
    memcpy(geometry.x, x->shape, sizeof geometry.x);
    memcpy(geometry.w, w->shape, sizeof geometry.w);
    geometry.y[0] = x->shape[0];
    geometry.y[1] = w->shape[0];
    for (int d = 0; d < 3; d++) {
        geometry.stride[d] = arguments->stride[d];
        geometry.padding[d] = arguments->padding[d];
        geometry.dilation[d] = arguments->dilation[d];
        int64_t reach = x->shape[2 + d] + 2 * arguments->padding[d] -
                        arguments->dilation[d] * (w->shape[2 + d] - 1) - 1;
        if (!call_require(call,
                          arguments->stride[d] >= 1 && arguments->dilation[d] >= 1 && reach >= 0,
                          "the kernel does not fit the input"))
            return x;
        geometry.y[2 + d] = reach / arguments->stride[d] + 1;
    }
    if (!call_require(call,
                      arguments->groups >= 1 && x->shape[1] == w->shape[1] * arguments->groups,
                      "%lld input channels for a weight of %lld and %lld groups",
                      (long long)x->shape[1], (long long)w->shape[1], (long long)arguments->groups))
        return x;
    double terms = (double)w->n / (double)w->shape[0];
    struct node *y = node_convolution(tape, CONVOLVE, x, w, &geometry);
    y = add_bias(tape, begun_with(tape, y, x, w, bias, CONVOLVE, &geometry, terms), bias, terms);
    y = from_rank5(tape, y, arguments->spatial, arguments->batched);
    return dtype_is_integral(dtype) ? node_to_integer(tape, y, dtype)
                                    : node_with_dtype(tape, y, dtype);
}

static struct node *convolve_transposed(struct call *call, struct node *x, struct node *w,
                                        struct node *bias,
                                        const struct convolution_arguments *arguments)
{
    struct tape *tape = call->tape;
    struct convolution_geometry geometry = { .groups = arguments->groups };
    enum dtype dtype = dtype_promote(x->dtype, w->dtype);
    x = to_rank5(tape, x, arguments->spatial, arguments->batched); /* plays the part of y */
    w = to_rank5(tape, w, arguments->spatial, true);
    memcpy(geometry.y, x->shape, sizeof geometry.y);
    memcpy(geometry.w, w->shape, sizeof geometry.w);
    geometry.x[0] = x->shape[0];
    geometry.x[1] = w->shape[1] * arguments->groups;
    for (int d = 0; d < 3; d++) {
        geometry.stride[d] = arguments->stride[d];
        geometry.padding[d] = arguments->padding[d];
        geometry.dilation[d] = arguments->dilation[d];
        geometry.x[2 + d] =
            (x->shape[2 + d] - 1) * arguments->stride[d] - 2 * arguments->padding[d] +
            arguments->dilation[d] * (w->shape[2 + d] - 1) + arguments->output_padding[d] + 1;
        if (geometry.x[2 + d] < 0) call_fail(call, "the padding leaves nothing of the result");
    }
    if (x->shape[1] != w->shape[0])
        call_fail(call, "%lld input channels for a weight of %lld", (long long)x->shape[1],
                  (long long)w->shape[0]);
    double terms = (double)w->n / (double)w->shape[1] / (double)arguments->groups;
    struct node *y = node_convolution(tape, CONVOLVE_INPUT_ADJOINT, x, w, &geometry);
    y = begun_with(tape, y, x, w, bias, CONVOLVE_INPUT_ADJOINT, &geometry, terms);
    y = add_bias(tape, y, bias, terms);
    y = from_rank5(tape, y, arguments->spatial, arguments->batched);
    return dtype_is_integral(dtype) ? node_to_integer(tape, y, dtype)
                                    : node_with_dtype(tape, y, dtype);
}

static bool read_arguments(struct call *call, struct convolution_arguments *arguments,
                           const struct node *x, int spatial)
{
    *arguments = (struct convolution_arguments){ .spatial = spatial,
                                                 .stride = { 1, 1, 1 },
                                                 .dilation = { 1, 1, 1 } };
    if (!call_require(call, x->rank == spatial + 1 || x->rank == spatial + 2,
                      "a tensor of %d dimensions; %s takes %d or %d", x->rank, call->api_case->api,
                      spatial + 1, spatial + 2))
        return false;
    arguments->batched = x->rank == spatial + 2;
    arguments->groups = call_int(call, "groups");
    if (arguments->groups < 1 || arguments->groups > INT32_MAX)
        call_fail(call, "%lld groups", (long long)arguments->groups);
    spatial_argument(call, "stride", spatial, 1, arguments->stride);
    spatial_argument(call, "dilation", spatial, 1, arguments->dilation);
    return !tape_failed(call->tape);
}

/* Pad "same" as MindSpore does: to ceil(extent / stride) results, the odd element at the end. The
 * front goes to `padding`, what the end has more is put there by hand. */
static struct node *pad_to_same(struct call *call, struct node *x, const struct node *w,
                                struct convolution_arguments *arguments)
{
    int spatial = arguments->spatial;
    int64_t extra[3] = { 0 };
    bool any = false;
    for (int d = 3 - spatial; d < 3; d++) {
        int64_t extent = x->shape[x->rank - 3 + d], kernel = w->shape[w->rank - 3 + d];
        int64_t results = (extent + arguments->stride[d] - 1) / arguments->stride[d];
        int64_t total = (results - 1) * arguments->stride[d] +
                        arguments->dilation[d] * (kernel - 1) + 1 - extent;
        if (total < 0) total = 0;
        arguments->padding[d] = total / 2;
        extra[d] = total % 2;
        any |= extra[d] != 0;
    }
    if (!any) return x;
    struct node *wide = to_rank5(call->tape, x, spatial, arguments->batched);
    return from_rank5(call->tape, pad_trailing(call->tape, wide, extra), spatial,
                      arguments->batched);
}

/* The same with MindSpore's pad_mode: "valid" has no padding, "pad" that which is given. */
static void convolution_by_mode(struct call *call)
{
    int spatial = (int)call->op->detail;
    struct node *x = call_tensor(call, "input"), *w = call_tensor(call, "weight");
    struct node *bias = call_optional_tensor(call, "bias");
    const char *mode = call_string(call, "pad_mode");
    struct convolution_arguments arguments;

    if (!read_arguments(call, &arguments, x, spatial)) return;
    if (!call_require(call, w->rank == spatial + 2, "a weight of %d dimensions", w->rank)) return;
    if (!strcmp(mode, "pad")) spatial_argument(call, "padding", spatial, 0, arguments.padding);
    else if (!strcmp(mode, "same")) x = pad_to_same(call, x, w, &arguments);
    else if (strcmp(mode, "valid") != 0) call_fail(call, "pad_mode is '%s'", mode);
    call_return(call, convolve(call, x, w, bias, &arguments));
}

/* conv1d/2d/3d; detail is the number of spatial dimensions. */
static void convolution(struct call *call)
{
    struct tape *tape = call->tape;
    int spatial = (int)call->op->detail;
    struct node *x = call_tensor(call, "input"), *w = call_tensor(call, "weight");
    struct node *bias = call_optional_tensor(call, "bias");
    struct convolution_arguments arguments;

    if (!read_arguments(call, &arguments, x, spatial)) return;
    const struct value *padding = call_value(call, "padding");
    if (padding->kind == VALUE_STRING) {
        int64_t extra[3] = { 0 };
        bool same = !strcmp(padding->string, "same");
        if (!call_require(call, same || strcmp(padding->string, "valid") == 0,
                          "padding is '%s'; it can be 'valid' or 'same'", padding->string))
            return;
        for (int d = 0; same && d < 3; d++)
            if (!call_require(call, arguments.stride[d] == 1, "padding 'same' needs a stride of 1"))
                return;
        if (!call_require(call, !same || w->rank == spatial + 2, "a weight of %d dimensions",
                          w->rank))
            return;
        for (int d = 0; same && d < spatial; d++) {
            int64_t total = arguments.dilation[3 - spatial + d] * (w->shape[2 + d] - 1);
            arguments.padding[3 - spatial + d] = total / 2;
            extra[3 - spatial + d] = total % 2; /* the odd one goes to the end */
        }
        if (same && (extra[0] || extra[1] || extra[2])) {
            /* One extra element at the end: pad by hand, so that both ends keep total / 2. */
            struct node *padded =
                pad_trailing(tape, to_rank5(tape, x, spatial, arguments.batched), extra);
            x = from_rank5(tape, padded, spatial, arguments.batched);
        }
    } else {
        spatial_argument(call, "padding", spatial, 0, arguments.padding);
    }
    call_return(call, convolve(call, x, w, bias, &arguments));
}

static void convolution_transposed(struct call *call)
{
    int spatial = (int)call->op->detail;
    struct node *x = call_tensor(call, "input"), *w = call_tensor(call, "weight");
    struct node *bias = call_optional_tensor(call, "bias");
    struct convolution_arguments arguments;

    if (!read_arguments(call, &arguments, x, spatial)) return;
    spatial_argument(call, "padding", spatial, 0, arguments.padding);
    spatial_argument(call, "output_padding", spatial, 0, arguments.output_padding);
    call_return(call, convolve_transposed(call, x, w, bias, &arguments));
}

/* The convolution of the general entry, whose spatial dimensions the weight tells. */
static struct node *convolved(struct call *call, struct node *x, struct node *w, struct node *bias,
                              struct convolution_arguments *arguments)
{
    int spatial = w->rank - 2;
    if (!call_require(call, spatial >= 1 && spatial <= 3, "a convolution over %d dimensions",
                      spatial))
        return x;
    if (!read_arguments(call, arguments, x, spatial)) return x;
    spatial_argument(call, "padding", spatial, 0, arguments->padding);
    spatial_argument(call, "output_padding", spatial, 0, arguments->output_padding);
    return call_bool(call, "transposed") ? convolve_transposed(call, x, w, bias, arguments)
                                         : convolve(call, x, w, bias, arguments);
}

/* torch.convolution and _convolution: the general entry with all arguments positional. */
static void convolution_general(struct call *call)
{
    struct convolution_arguments arguments;
    call_return(call, convolved(call, call_tensor(call, "input"), call_tensor(call, "weight"),
                                call_optional_tensor(call, "bias"), &arguments));
}

/* The gradients of input, weight and bias; that of the bias are the sums over a channel. */
static void convolution_backward(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *gradient = call_tensor(call, "grad_output");
    struct node *x = node_tracked(tape, call_tensor(call, "input"));
    struct node *w = node_tracked(tape, call_tensor(call, "weight"));
    struct convolution_arguments arguments;
    struct node *y = convolved(call, x, w, NULL, &arguments);
    struct node *gradients[3] = { x, w, NULL };
    if (tape_failed(tape)) return;
    call_pull_back(call, y, gradient, 2, gradients);
    uint32_t channel = 1u << (arguments.batched ? 1 : 0);
    gradients[2] = node_sum(tape, gradient, all_dims(gradient) & ~channel, false);
    for (size_t k = 0; k < 3; k++)
        if (call_wants_output(call, k)) call_return(call, gradients[k]);
        else call_return_none(call);
}

/* conv_tbc: x (time, batch, channel), w (kernel, in, out), bias (out). */
static void convolution_tbc(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input"), *w = call_tensor(call, "weight"),
                *bias = call_tensor(call, "bias");
    if (!call_require(call, x->rank == 3 && w->rank == 3,
                      "conv_tbc takes tensors of three dimensions"))
        return;
    struct convolution_arguments arguments = {
        .spatial = 1, .batched = true, .stride = { 1, 1, 1 }, .dilation = { 1, 1, 1 }, .groups = 1
    };
    spatial_argument(call, "pad", 1, 0, arguments.padding);
    int to_bct[3] = { 1, 2, 0 }, to_oik[3] = { 2, 1, 0 }, back[3] = { 2, 0, 1 };
    struct node *y = convolve(call, node_permute(tape, x, to_bct), node_permute(tape, w, to_oik),
                              bias, &arguments);
    call_return(call, node_permute(tape, y, back));
}

#define FORWARD(n)                                                                                \
    "(Tensor input, Tensor weight, Tensor? bias=None, int[" n "] stride=1, Any padding=0, int[" n \
    "] dilation=1, int groups=1)"
#define BY_MODE                                                                               \
    "(Tensor input, Tensor weight, Tensor? bias, int[] stride, str pad_mode, int[] padding, " \
    "int[] dilation, int groups)"
#define TRANSPOSED(n)                                                              \
    "(Tensor input, Tensor weight, Tensor? bias=None, int[" n "] stride=1, int[" n \
    "] padding=0, int[" n "] output_padding=0, int groups=1, int[" n "] dilation=1)"
#define GENERAL                                                                                 \
    "(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, " \
    "bool transposed, int[] output_padding, int groups"

/* clang-format off */
const struct op ops_conv[] = {
    { "conv1d", FUNCTIONAL | TORCH, FORWARD("1"), convolution, OP_ONE_NODE, 1, NULL },
    { "conv2d", FUNCTIONAL | TORCH, FORWARD("2"), convolution, OP_ONE_NODE, 2, NULL },
    { "conv3d", FUNCTIONAL | TORCH, FORWARD("3"), convolution, OP_ONE_NODE, 3, NULL },
    { "conv1d", MINDSPORE, BY_MODE, convolution_by_mode, 0, 1, NULL },
    { "conv2d", MINDSPORE, BY_MODE, convolution_by_mode, 0, 2, NULL },
    { "conv3d", MINDSPORE, BY_MODE, convolution_by_mode, 0, 3, NULL },
    { "conv_transpose1d", FUNCTIONAL | TORCH, TRANSPOSED("1"), convolution_transposed, OP_ONE_NODE, 1, NULL },
    { "conv_transpose2d", FUNCTIONAL | TORCH, TRANSPOSED("2"), convolution_transposed, OP_ONE_NODE, 2, NULL },
    { "conv_transpose3d", FUNCTIONAL | TORCH, TRANSPOSED("3"), convolution_transposed, OP_ONE_NODE, 3, NULL },
    { "convolution", TORCH, GENERAL ")", convolution_general, OP_ONE_NODE, 0, NULL },
    { "npu_conv2d|npu_conv3d|npu_convolution", NPU, "(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, int groups, *, bool transposed=False, int[] output_padding=[0])", convolution_general, OP_ONE_NODE, 0, NULL },
    { "npu_conv_transpose2d|npu_convolution_transpose", NPU, "(Tensor input, Tensor weight, Tensor? bias, int[] padding, int[] output_padding, int[] stride, int[] dilation, int groups, *, bool transposed=True)", convolution_general, OP_ONE_NODE, 0, NULL },
    { "_convolution", TORCH, GENERAL ", bool benchmark=False, bool deterministic=False, bool cudnn_enabled=True, bool allow_tf32=True)", convolution_general, OP_ONE_NODE, 0, NULL },
    { "convolution_backward", ATEN, "(Tensor grad_output, Tensor input, Tensor weight, int[]? bias_sizes, int[] stride, int[] padding, int[] dilation, bool transposed, int[] output_padding, int groups, bool[] output_mask)", convolution_backward, OP_NO_GRADIENT, 0, NULL },
    { "conv_tbc", FUNCTIONAL | TORCH, "(Tensor input, Tensor weight, Tensor bias, int pad=0)", convolution_tbc, OP_ONE_NODE, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(conv);
