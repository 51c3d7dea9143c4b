/* Quantization in torch_npu that is fused with what stands before: normalizations, gelu and gated activations; by op-plugin's
 * documentation (docs/context, docs/zh). An integer that a correct kernel may round either way is right either way (quantizing.h).
 */
#include <math.h>
#include <string.h>

#include "bench/call/op.h"
#include "bench/ops/activation.h"
#include "bench/ops/npu_groups.h"
#include "bench/ops/npu_halves.h"
#include "bench/ops/npu_norm.h"
#include "bench/ops/npu_quantization.h"
#include "bench/ops/quantizing.h"
#include "bench/primitives/alias.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/integral.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/unary.h"

/* What a row of n elements in a normalization adds to the operations before the rounding. */
static double norm_roundings(const struct node *x)
{
    return 12 + (x->rank ? (double)x->shape[x->rank - 1] / 2 : 0);
}

static struct node *added_beta(struct call *call, struct node *y)
{
    struct node *beta = call_optional_tensor(call, "beta");
    return beta ? node_add(call->tape, y, beta) : y;
}

/* (y1, y2, x): y = rms_norm(x1 + x2) gamma + beta, quantized by one or two scales. */
static void add_rms_norm_quant(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x1 = call_tensor(call, "x1"), *x2 = call_tensor(call, "x2");
    struct node *sum = node_add(tape, x1, x2);
    struct node *y = added_beta(call, rms_normalized(call, sum, call_tensor(call, "gamma"),
                                                     call_real(call, "epsilon"), NULL));
    static const char *const names[2][2] = { { "scales1", "zero_points1" },
                                             { "scales2", "zero_points2" } };
    if (tape_failed(tape)) return;
    struct quantizing how = { norm_roundings(sum), x1->dtype, NULL };
    for (int k = 0; k < 2; k++) {
        struct node *scale = call_optional_tensor(call, names[k][0]),
                    *zero = call_optional_tensor(call, names[k][1]);
        if (!scale) {
            call_return_none(call);
            continue;
        }
        scale = scales_along(call, scale, y, y->rank - 1);
        struct node *z = call_bool(call, "div_mode") ? node_divide(tape, y, scale)
                                                     : node_multiply(tape, y, scale);
        if (zero) z = node_add(tape, z, scales_along(call, zero, y, y->rank - 1));
        if (!call_require(call, z->n == sum->n, "scales of a larger shape than the input")) return;
        call_return_quantized_as(call, z, DT_I8, &how,
                                 largest_of(tape, zero) + largest_of(tape, y));
    }
    call_return_typed(call, sum, x1->dtype);
}

/* rms_norm (detail 0: of a sum, which is returned too) and a dynamic scale, with one or two smoothings. */
static void rms_norm_dynamic_quant(struct call *call)
{
    struct tape *tape = call->tape;
    bool adds = !call->op->detail;
    struct node *x = call_tensor(call, adds ? "x1" : "x");
    enum dtype dtype = x->dtype;
    struct node *sum = adds ? node_add(tape, x, call_tensor(call, "x2")) : x;
    struct node *y = added_beta(call, rms_normalized(call, sum, call_tensor(call, "gamma"),
                                                     call_real(call, "epsilon"), NULL));
    const char *names[2] = { adds ? "smooth_scale1" : "smooth_scales1",
                             adds ? "smooth_scale2" : "smooth_scales2" };
    struct node *scale[2] = { NULL, NULL };
    if (!call_require(call, call_is_none(call, "output_mask"),
                      "output_mask is not followed here") ||
        !call_require(call, y->rank == sum->rank && y->n == sum->n,
                      "beta has a larger shape than the input"))
        return;
    for (int k = 0; k < 2; k++)
        if (k == 0 || !call_is_none(call, names[k]))
            scale[k] = return_dynamic(call,
                                      node_with_dtype(tape, smoothed_by(call, y, names[k]), dtype),
                                      DT_I8, norm_roundings(sum));
        else call_return_none(call);
    if (adds) call_return_typed(call, sum, dtype);
    for (int k = 0; k < 2; k++)
        if (scale[k]) call_return_typed(call, scale[k], DT_F32);
        else call_return_none(call);
}

/* round((rms_norm(x) gamma + beta) / scale + offset). */
static void rms_norm_quant(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "x"), *gamma = call_tensor(call, "gamma"),
                *offset = call_tensor(call, "offset");
    struct node *y =
        added_beta(call, rms_normalized(call, x, gamma, call_real(call, "epsilon"), NULL));
    struct node *scale = node_to_real(tape, call_tensor(call, "scale"));
    struct quantizing how = { norm_roundings(x), x->dtype, NULL };
    if (!call_require(call, y->n == x->n && scale->n == 1 && offset->n == 1,
                      "one scale and one offset are needed"))
        return;
    struct node *z = node_divide(tape, y, node_reshape(tape, scale, 0, NULL));
    z = node_add(tape, z, node_reshape(tape, node_to_real(tape, offset), 0, NULL));
    call_return_quantized_as(call, z, DT_I8, &how, largest_of(tape, offset) + largest_of(tape, z));
}

/* y = round(rms_norm(x) gamma + beta over or, without div_mode, times scale, + offset) and rstd, which a kernel leaves empty where x takes no
 * gradient (op-plugin, docs of npu_rms_norm_quant_v2). gamma and beta may lie in one row. */
static void rms_norm_quant_v2(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "x"), *gamma = call_tensor(call, "gamma"), *rstd = x;
    struct node *scale = node_to_real(tape, call_tensor(call, "scale"));
    struct node *beta = call_optional_tensor(call, "beta"),
                *offset = call_optional_tensor(call, "offset");
    int64_t width[1] = { x->rank ? x->shape[x->rank - 1] : 1 }, none[1] = { 0 };
    if (!call_require(call,
                      x->rank && (int64_t)gamma->n == width[0] && (!beta || beta->n == gamma->n) &&
                          scale->n == 1 && (!offset || offset->n == 1),
                      "gamma and beta for the last dimension, one scale and one offset are needed"))
        return;
    gamma = node_reshape(tape, gamma, 1, width);
    struct node *z = rms_normalized(call, x, gamma, call_real(call, "epsilon"), &rstd);
    if (beta) z = node_add(tape, z, node_reshape(tape, beta, 1, width));
    scale = node_reshape(tape, scale, 0, NULL);
    z = call_bool(call, "div_mode") ? node_divide(tape, z, scale) : node_multiply(tape, z, scale);
    if (offset) z = node_add(tape, z, node_reshape(tape, node_to_real(tape, offset), 0, NULL));
    struct quantizing how = { norm_roundings(x), x->dtype, NULL };
    call_return_quantized_named(call, z, "dst_dtype", &how,
                                largest_of(tape, offset) + largest_of(tape, z));
    const struct tensor *kept = call_device_output(call, 1);
    call->device_answer.consulted = true;
    if (kept && !tensor_elements(kept)) rstd = node_constant(tape, DT_F32, 0, 1, none);
    call_return_typed(call, rstd, DT_F32);
}

/* gelu, then a scale and an offset (quant_mode static) or, smoothed, a scale of each row (dynamic). */
static void gelu_quant(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "self"), *scale = call_optional_tensor(call, "input_scale"),
                *offset = call_optional_tensor(call, "input_offset");
    const char *approximate = call_string(call, "approximate"),
               *mode = call_string(call, "quant_mode");
    bool by_tanh = !strcmp(approximate, "tanh"), dynamic = !strcmp(mode, "dynamic");
    enum dtype dtype = call_dtype(call, "dst_type");
    if (!call_require(
            call,
            x->rank && !x->integer && (by_tanh || !strcmp(approximate, "none")) &&
                (dynamic || (!strcmp(mode, "static") && scale)) &&
                (!scale || scale->n == 1 || scale->n == (size_t)x->shape[x->rank - 1]),
            "approximate is 'none' or 'tanh', quant_mode 'dynamic' or 'static' with a scale"))
        return;
    struct node *y = node_with_dtype(tape, gelu_of(tape, x, by_tanh), x->dtype);
    if (scale) y = node_multiply(tape, y, scales_along(call, scale, x, x->rank - 1));
    if (dynamic) {
        call_return_typed(call, return_dynamic(call, y, dtype, 32), DT_F32);
        return;
    }
    struct quantizing how = { 32, x->dtype, NULL };
    if (offset) y = node_add(tape, y, scales_along(call, offset, x, x->rank - 1));
    if (!call_require(call, y->n == x->n, "an offset of a larger shape than the input")) return;
    call_return_quantized_as(call, y, dtype, &how,
                             largest_of(tape, offset) + largest_of(tape, scale));
    call_return_none(call);
}

/* silu(a) b of the halves, a the second unless activate_left, smoothed for the rows of each group; then a scale of each
 * row, returned as what was multiplied by (quant_mode 1). */
static void swiglu_quant(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "x"), *a, *b;
    int64_t mode = call_int(call, "quant_mode");
    enum dtype dtype = call_dtype(call, "dst_type");
    if (!call_require(
            call,
            x->rank == 2 && x->n && !x->integer && mode == 1 &&
                (dtype == DT_NONE || dtype == DT_I8) &&
                (call_is_none(call, "group_index") || call_int(call, "group_list_type") == 0),
            "rows of floats, quant_mode 1 and the ends of groups are followed here") ||
        !halves(call, x, 1, &a, &b))
        return;
    bool left = call_bool(call, "activate_left");
    struct node *y = node_multiply(tape, node_apply(tape, "silu", left ? a : b), left ? b : a);
    y = smoothed_by(call, y, "smooth_scales");
    struct node *scale = return_dynamic(call, y, dtype, 32);
    call_return_typed(call, node_divide(tape, node_scalar(tape, 1), scale), DT_F32);
}

/* silu(a) b quant_scale of the halves of x weight_scale activation_scale, a the second unless activate_left; then int8 by
 * a scale of its own (quant_mode 1), returned, or with an offset (0). */
static void dequant_swiglu_quant(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "x"), *a, *b, *bias = call_optional_tensor(call, "bias"),
                *weight = call_optional_tensor(call, "weight_scale"),
                *rows = call_optional_tensor(call, "activation_scale"),
                *quant = call_optional_tensor(call, "quant_scale"),
                *offset = call_optional_tensor(call, "quant_offset");
    int64_t mode = call_int(call, "quant_mode");
    if (!call_require(call, call_is_none(call, "group_index"),
                      "experts in groups are not followed here") ||
        !call_require(call, x->rank == 2 && x->n && (mode == 0 || mode == 1), "x is a matrix"))
        return;
    int64_t column[2] = { x->shape[0], 1 }, half[2] = { 1, x->shape[1] / 2 };
    if (bias && bias->integer) x = node_add(tape, node_to_real(tape, x), node_to_real(tape, bias));
    struct node *y = node_to_real(tape, x);
    size_t n = y->n;
    if (weight) y = node_multiply(tape, y, weight);
    if (rows &&
        call_require(call, rows->n == (size_t)x->shape[0], "a scale for each row is needed"))
        y = node_multiply(tape, y, node_reshape(tape, rows, 2, column));
    if (bias && !bias->integer) y = node_add(tape, y, bias);
    if (!call_require(call, y->rank == 2 && y->n == n, "scales of a larger shape than x") ||
        !halves(call, y, 1, &a, &b))
        return;
    if (!call_bool(call, "activate_left")) {
        struct node *second = b;
        b = a;
        a = second;
    }
    y = node_multiply(tape, node_apply(tape, "silu", a), b);
    if (quant && call_require(call, quant->n == (size_t)half[1] || quant->n == 1,
                              "quant_scale has the width of the result")) {
        if (quant->n == 1) half[1] = 1;
        quant = node_reshape(tape, quant, 2, half);
        y = mode == 0 ? node_divide(tape, y, quant) : node_multiply(tape, y, quant);
    }
    if (mode == 1) {
        call_return_typed(call, return_dynamic(call, y, DT_I8, 24), DT_F32);
        return;
    }
    struct quantizing how = { 24, DT_NONE, NULL };
    if (offset)
        y = node_add(tape, y,
                     offset->n == 1 ? node_reshape(tape, node_to_real(tape, offset), 0, NULL)
                                    : node_to_real(tape, offset));
    if (!call_require(call, y->n == n / 2, "offsets of a larger shape than the result")) return;
    call_return_quantized_as(call, y, DT_I8, &how, largest_of(tape, offset));
    call_return_none(call);
}

/* clang-format off */
#define NORM_TAIL "Tensor? beta=None, float epsilon=1e-06, bool[]? output_mask=None, ...)"
const struct op ops_npu_fused_quantization[] = {
    { "npu_add_rms_norm_quant", NPU, "(Tensor x1, Tensor x2, Tensor gamma, Tensor scales1, Tensor? zero_points1, Tensor? beta=None, Tensor? scales2=None, Tensor? zero_points2=None, *, int axis=-1, float epsilon=1e-06, bool div_mode=True, ...)", add_rms_norm_quant, OP_NO_GRADIENT, 0, NULL },
    { "npu_add_rms_norm_dynamic_quant", NPU, "(Tensor x1, Tensor x2, Tensor gamma, *, Tensor? smooth_scale1=None, Tensor? smooth_scale2=None, " NORM_TAIL, rms_norm_dynamic_quant, OP_NO_GRADIENT, 0, NULL },
    { "npu_rms_norm_dynamic_quant", NPU, "(Tensor x, Tensor gamma, *, Tensor? smooth_scales1=None, Tensor? smooth_scales2=None, " NORM_TAIL, rms_norm_dynamic_quant, OP_NO_GRADIENT, 1, NULL },
    { "npu_rms_norm_quant", NPU, "(Tensor x, Tensor gamma, Tensor beta, Tensor scale, Tensor offset, float epsilon=1e-06, ...)", rms_norm_quant, OP_NO_GRADIENT, 0, NULL },
    { "npu_rms_norm_quant_v2", NPU, "(Tensor x, Tensor gamma, Tensor scale, *, Tensor? offset=None, Tensor? beta=None, float epsilon=1e-06, bool div_mode=True, Any dst_dtype=None)", rms_norm_quant_v2, OP_NO_GRADIENT, 0, NULL },
    { "npu_gelu_quant", NPU, "(Tensor self, *, Tensor? input_scale=None, Tensor? input_offset=None, str approximate='none', str quant_mode='dynamic', ScalarType? dst_type=None, str round_mode='rint')", gelu_quant, OP_NO_GRADIENT, 0, NULL },
    { "npu_swiglu_quant", NPU, "(Tensor x, *, Tensor? smooth_scales=None, Tensor? offsets=None, Tensor? group_index=None, bool activate_left=False, int quant_mode=0, int group_list_type=0, ScalarType? dst_type=None)", swiglu_quant, OP_NO_GRADIENT, 0, NULL },
    { "npu_dequant_swiglu_quant", NPU, "(Tensor x, *, Tensor? weight_scale=None, Tensor? activation_scale=None, Tensor? bias=None, Tensor? quant_scale=None, Tensor? quant_offset=None, Tensor? group_index=None, bool activate_left=False, int quant_mode=0)", dequant_swiglu_quant, OP_NO_GRADIENT, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(npu_fused_quantization);
