/* Quantization in torch_npu and MindSpeed: numbers to integers of 8 bits or to 8-bit floats and back, alone or fused with
 * what stands before; products of such integers. By their documentation (op-plugin, docs/context and docs/zh; MindSpeed,
 * docs/ops). An integer that a correct kernel may round either way is right either way (quantizing.h).
 */
#include <math.h>
#include <string.h>

#include "bench/call/dimensions.h"
#include "bench/call/op.h"
#include "bench/ops/activation.h"
#include "bench/ops/hifloat8.h"
#include "bench/ops/indexing.h"
#include "bench/ops/npu_groups.h"
#include "bench/ops/npu_halves.h"
#include "bench/ops/npu_layout.h"
#include "bench/ops/npu_norm.h"
#include "bench/ops/npu_quantization.h"
#include "bench/ops/operands.h"
#include "bench/ops/quantizing.h"
#include "bench/primitives/alias.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/compose.h"
#include "bench/primitives/extremum.h"
#include "bench/primitives/gather.h"
#include "bench/primitives/integral.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/overwrite.h"
#include "bench/primitives/reduce.h"
#include "bench/primitives/selection.h"
#include "bench/primitives/unary.h"
#include "bench/primitives/view.h"
#include "core/checked.h"

double largest_of(struct tape *tape, struct node *x)
{
    double most = 0;
    if (!x) return 0;
    x = node_to_real(tape, x);
    const double *value = node_values(tape, x);
    for (size_t i = 0; !tape_failed(tape) && i < x->n; i++)
        if (fabs(value[i]) > most) most = fabs(value[i]);
    return most;
}

/* y within the range of an integer dtype. */
static struct node *clamped_to(struct tape *tape, struct node *y, enum dtype dtype)
{
    struct node *top = node_scalar(tape, dtype_info(dtype)->largest),
                *bottom = node_scalar(tape, dtype_info(dtype)->lowest);
    y = node_select(tape, node_compare(tape, COMPARE_GT, y, top), top, y);
    return node_select(tape, node_compare(tape, COMPARE_LT, y, bottom), bottom, y);
}

/* ---- static scales ------------------------------------------------------------------------------------------ */

/* A vector along `axis` of x, a single element, or what broadcasts to it. */
static struct node *along(struct call *call, struct node *v, const struct node *x, int axis)
{
    int64_t shape[TENSOR_MAX_RANK];
    v = node_to_real(call->tape, v);
    if (v->n == 1) return node_reshape(call->tape, v, 0, NULL);
    if (v->rank != 1 || x->rank < 2) return v;
    for (int d = 0; d < x->rank; d++) shape[d] = d == axis ? v->shape[0] : 1;
    (void)call_require(call, v->shape[0] == x->shape[axis], "%lld scales for an extent of %lld",
                       (long long)v->shape[0], (long long)x->shape[axis]);
    return node_reshape(call->tape, v, x->rank, shape);
}

/* As the argument `name` says. */
static void return_static(struct call *call, struct node *x, struct node *scale, struct node *zero,
                          bool divides, const char *name)
{
    struct tape *tape = call->tape;
    struct quantizing how = { 4, x->dtype, NULL };
    int rank = x->rank;
    size_t n = x->n;
    struct node *y = divides ? node_divide(tape, x, scale) : node_multiply(tape, x, scale);
    if (zero) y = node_add(tape, y, zero);
    if (!call_require(call, y->rank == rank && y->n == n,
                      "scales of a larger shape than the input"))
        return;
    call_return_quantized_named(call, y, name, &how, largest_of(tape, zero));
}

/* round(x / scale + zero point), or x scale. */
static void quantize(struct call *call)
{
    struct node *x = call_tensor(call, "self"), *zero = call_optional_tensor(call, "zero_points");
    if (!call_require(call, !x->integer && x->rank >= 1, "floats are quantized")) return;
    int axis = call_dim(call, "axis", x->rank);
    struct node *scale = along(call, call_tensor(call, "scales"), x, axis);
    if (zero) zero = along(call, zero, x, axis);
    return_static(call, x, scale, zero, call_bool(call, "div_mode"), "dtype");
}

/* round(x scale[e] + offset) for the rows of group e. */
static void group_quant(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "x"), *scale = call_tensor(call, "scale"),
                *offset = call_optional_tensor(call, "offset");
    struct groups groups;
    if (!call_require(call,
                      x->rank == 2 && scale->rank == 2 && scale->shape[1] == x->shape[1] && x->n &&
                          !x->integer && !scale->integer,
                      "x is a matrix, and scale has a row for each group") ||
        !groups_read(call, &groups, "group_index", true, x->shape[0]) ||
        !call_require(call, groups.count == scale->shape[0] && groups.total == x->shape[0],
                      "the groups do not have all %lld rows", (long long)x->shape[0]))
        return;
    int64_t *map = tape_allocate(tape, (size_t)x->shape[0], sizeof *map);
    for (int e = 0; map && e < groups.count; e++)
        for (int64_t i = groups.start[e]; i < groups.end[e]; i++) map[i] = e;
    if (tape_failed(tape)) return;
    scale = node_gather_rows(tape, scale, 2, x->shape, (size_t)x->shape[1], map, 0);
    if (offset) offset = node_to_real(tape, offset);
    return_static(call, x, scale,
                  offset && offset->n == 1 ? node_reshape(tape, offset, 0, NULL) : offset, false,
                  "dst_dtype");
}

/* (x + offset) scale. */
static void anti_quant(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "x"), *offset = call_optional_tensor(call, "offset");
    enum dtype dtype = call_dtype(call, "dst_dtype");
    if (x->dtype == DT_I32) x = int4_unpacked(call, x);
    if (!call_require(call, x->integer && x->rank, "integers are turned back")) return;
    x = node_to_real(tape, x);
    if (offset) x = node_add(tape, x, along(call, offset, x, x->rank - 1));
    struct node *scale = along(call, call_tensor(call, "scale"), x, x->rank - 1);
    call_return_typed(call, node_multiply(tape, x, scale), dtype == DT_NONE ? DT_F16 : dtype);
}

/* The bits of a scale as the product of integers reads them: those of a float32 without its last 13, bit 46 set, and an
 * offset of 9 bits, rounded, at bit 37. */
static void trans_quant_param(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *scale = call_tensor(call, "scale"), *offset = call_optional_tensor(call, "offset");
    if (!call_require(
            call, scale->dtype == DT_F32 && (!offset || (offset->n == scale->n || offset->n == 1)),
            "scale is float32, and offset as long") ||
        !call_require(call, call_is_none(call, "round_mode") || call_int(call, "round_mode") == 0,
                      "round_mode 1 is not followed here"))
        return;
    const double *value = node_values(tape, scale),
                 *shift = offset ? node_values(tape, offset) : NULL;
    struct node *y = node_new_integer(tape, DT_I64, scale->rank, scale->shape);
    if (tape_failed(tape)) return;
    for (size_t i = 0; i < y->n; i++) {
        float single = (float)value[i];
        uint32_t bits;
        memcpy(&bits, &single, sizeof bits);
        uint64_t word = (bits & UINT32_C(0xffffe000)) | UINT64_C(1) << 46;
        if (shift) {
            double rounded = fmin(fmax(rint(shift[offset->n == 1 ? 0 : i]), -256), 255);
            word |= (uint64_t)((int64_t)rounded & 0x1ff) << 37;
        }
        y->integer[i] = (int64_t)word;
    }
    call_return(call, y);
}

/* ---- dynamic scales ------------------------------------------------------------------------------------------- */

/* The largest value that a dynamic scale maps to. */
static double top_of(const struct dynamic *to)
{
    if (to->top > 0) return to->top;
    if (to->hifloat8) return HIFLOAT8_LARGEST;
    return dtype_info(to->dtype == DT_NONE ? DT_I8 : to->dtype)->largest;
}

static void return_as(struct call *call, struct node *y, const struct dynamic *to,
                      const struct quantizing *how)
{
    if (to->hifloat8) call_return_hifloat8(call, y, how, 0);
    else call_return_quantized_as(call, y, to->dtype, how, 0);
}

struct node *return_dynamic_over(struct call *call, struct node *x, uint32_t over,
                                 const struct dynamic *to, double roundings)
{
    struct tape *tape = call->tape;
    struct quantizing how = { roundings, x->dtype, NULL };
    struct node *most = node_extremum(tape, node_apply(tape, "abs", x), over, true, 1);
    struct node *scale = node_divide(tape, most, node_scalar(tape, top_of(to)));
    struct node *never = node_compare(tape, COMPARE_EQ, most, node_scalar(tape, 0));
    struct node *y = node_select(tape, never, node_scalar(tape, 0), node_divide(tape, x, scale));
    if (tape_failed(tape)) return x;
    how.scale = over >> (x->rank - 1) & 1 ? scale : node_broadcast(tape, scale, x->rank, x->shape);
    if (!tape_failed(tape)) return_as(call, y, to, &how);
    return node_squeeze(tape, scale, over);
}

struct node *return_dynamic(struct call *call, struct node *x, enum dtype dtype, double roundings)
{
    if (!call_require(call, x->rank && x->shape[x->rank - 1] && x->n, "rows are needed")) return x;
    return return_dynamic_over(call, x, 1u << (x->rank - 1), &(struct dynamic){ dtype, false, 0 },
                               roundings);
}

/* x times its smoothing: a vector, or one for each group of rows. */
static struct node *smoothed(struct call *call, struct node *x, const char *name)
{
    struct tape *tape = call->tape;
    struct node *smooth = call_optional_tensor(call, name);
    struct groups groups;
    if (!smooth) return x;
    if (smooth->rank == 1 || (smooth->rank == 2 && smooth->shape[0] == 1)) {
        if (!call_require(call,
                          x->rank && smooth->n == (size_t)x->shape[x->rank - 1] && !smooth->integer,
                          "%s has the last dimension of the input", name))
            return x;
        return node_multiply(tape, x, node_reshape(tape, smooth, 1, x->shape + x->rank - 1));
    }
    if (!call_require(call,
                      x->rank && x->n && smooth->rank == 2 &&
                          smooth->shape[1] == x->shape[x->rank - 1] && !smooth->integer,
                      "%s has a row for each group", name))
        return x;
    int64_t rows = (int64_t)x->n / x->shape[x->rank - 1];
    if (!groups_read(call, &groups, "group_index", true, rows) ||
        !call_require(call, groups.count == smooth->shape[0] && groups.total == rows,
                      "the groups do not have all %lld rows", (long long)rows))
        return x;
    int64_t *map = tape_allocate(tape, (size_t)rows, sizeof *map);
    for (int e = 0; map && e < groups.count; e++)
        for (int64_t i = groups.start[e]; i < groups.end[e]; i++) map[i] = e;
    if (tape_failed(tape)) return x;
    return node_multiply(
        tape, x,
        node_gather_rows(tape, smooth, x->rank, x->shape, (size_t)x->shape[x->rank - 1], map, 0));
}

/* What dst_type says. false, having failed: a number that is not known. */
static bool dynamic_read(struct call *call, struct dynamic *to)
{
    enum dtype dtype = float8_named(call, "dst_type");
    const struct value *value = call_value(call, "dst_type");
    if (dtype == DT_NONE && value->kind == VALUE_INT && value->integer == 1) dtype = DT_I8;
    if (dtype == DT_NONE) dtype = call_dtype(call, "dst_type");
    *to = (struct dynamic){ dtype, hifloat8_named(call, "dst_type"), 0 };
    return call_require(call, dtype != DT_NONE || to->hifloat8 || value->kind != VALUE_INT,
                        "dst_type is the number of no quantized dtype that is followed here");
}

/* The default of dst_type_max has no page: kernels of HiFloat8 state 15, others take the largest number. Which of them it
 * was shows the largest scale, the result behind the next one. */
static double default_top(struct call *call, struct node *x)
{
    const struct tensor *device = call_device_output(call, call->results.count + 1);
    double most = largest_of(call->tape, x), largest = 0;
    if (!device || !tensor_elements(device) || device->dtype != DT_F32) return HIFLOAT8_LARGEST;
    struct node *scales = node_leaf(call->tape, device, false);
    largest = largest_of(call->tape, scales);
    return largest > 0 && most / largest < sqrt(15 * HIFLOAT8_LARGEST) ? 15 : HIFLOAT8_LARGEST;
}

/* A scale for each row (pertoken), each column of matrices (perchannel) or for all (pertensor); dst_type_max is of
 * HiFloat8 alone. */
static void dynamic_quant(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    const char *mode = call_string(call, "quant_mode");
    struct dynamic to;
    bool whole = !strcmp(mode, "pertensor"), columns = !strcmp(mode, "perchannel");
    if (!call_require(call, !x->integer && (whole || columns || !strcmp(mode, "pertoken")),
                      "floats are quantized by row, column or tensor") ||
        !call_require(call, x->n && x->rank >= (columns ? 2 : 1), "rows are needed") ||
        !dynamic_read(call, &to))
        return;
    struct node *y = node_with_dtype(call->tape, smoothed(call, x, "smooth_scales"), x->dtype);
    if (to.hifloat8) to.top = call_real(call, "dst_type_max");
    if (to.hifloat8 && to.top == 0) to.top = default_top(call, y);
    uint32_t row = 1u << (x->rank - 1), over = whole ? (row << 1) - 1 : columns ? row >> 1 : row;
    struct node *scale = return_dynamic_over(call, y, over, &to, 8);
    int64_t one[1] = { 1 };
    if (tape_failed(call->tape)) return;
    call_return_typed(call, whole ? node_reshape(call->tape, scale, 1, one) : scale, DT_F32);
}

/* Scale (max - min) / 255, offset 127 - max / scale. */
static void dynamic_quant_asymmetric(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input");
    enum dtype dtype = call_dtype(call, "dst_type");
    struct quantizing how = { 16, x->dtype, NULL };
    if (!call_require(call, !x->integer && x->rank && x->n && (dtype == DT_NONE || dtype == DT_I8),
                      "floats are quantized to int8, row by row"))
        return;
    struct node *y = smoothed(call, x, "smooth_scales");
    if (tape_failed(tape)) return;
    uint32_t row = 1u << (y->rank - 1);
    struct node *most = node_extremum(tape, y, row, true, 1),
                *least = node_extremum(tape, y, row, true, -1);
    struct node *scale =
        node_divide(tape, node_subtract(tape, most, least), node_scalar(tape, 255));
    struct node *offset =
        node_subtract(tape, node_scalar(tape, 127), node_divide(tape, most, scale));
    struct node *z = node_add(tape, node_divide(tape, y, scale), offset);
    how.scale = scale;
    /* The offset itself is what is left of 127 and max / scale. */
    call_return_quantized_as(call, z, dtype, &how, 2 * (127 + largest_of(tape, offset)));
    call_return_typed(call, node_squeeze(tape, scale, row), DT_F32);
    call_return_typed(call, node_squeeze(tape, offset, row), DT_F32);
}

/* ---- behind normalizations and gates ----------------------------------------------------------------------------- */

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
        scale = along(call, scale, y, y->rank - 1);
        struct node *z = call_bool(call, "div_mode") ? node_divide(tape, y, scale)
                                                     : node_multiply(tape, y, scale);
        if (zero) z = node_add(tape, z, along(call, zero, y, y->rank - 1));
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
                                      node_with_dtype(tape, smoothed(call, y, names[k]), dtype),
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
    if (scale) y = node_multiply(tape, y, along(call, scale, x, x->rank - 1));
    if (dynamic) {
        call_return_typed(call, return_dynamic(call, y, dtype, 32), DT_F32);
        return;
    }
    struct quantizing how = { 32, x->dtype, NULL };
    if (offset) y = node_add(tape, y, along(call, offset, x, x->rank - 1));
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
    y = smoothed(call, y, "smooth_scales");
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

/* ---- into caches, by blocks -------------------------------------------------------------------------------------------- */

/* round(updates / scale + zero point) written into self, batch i along axis from indices[i] on. */
static void quant_scatter(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "self"), *updates = call_tensor(call, "updates"),
                *scale = call_tensor(call, "quant_scales"),
                *zero = call_optional_tensor(call, "quant_zero_points");
    if (!call_require(call,
                      !strcmp(call_string(call, "reduce"), "update") && x->dtype == DT_I8 &&
                          !updates->integer && updates->rank,
                      "int8 is updated by floats"))
        return;
    int along_dim = call_dim(call, "quant_axis", updates->rank),
        axis = call_dim(call, "axis", updates->rank);
    int64_t flat[1] = { (int64_t)scale->n };
    struct quantizing how = { 4, updates->dtype, NULL };
    struct node *y = node_divide(
        tape, updates, along(call, node_reshape(tape, scale, 1, flat), updates, along_dim));
    if (zero) {
        int64_t zeros[1] = { (int64_t)zero->n };
        y = node_add(tape, y, along(call, node_reshape(tape, zero, 1, zeros), updates, along_dim));
    }
    if (!call_require(call, y->n == updates->n && y->rank == updates->rank,
                      "scales of a larger shape than the updates"))
        return;
    int64_t *map = batch_update_map(call, x, updates, call_tensor(call, "indices"), axis);
    if (!map) return;
    y = clamped_to(tape, y, DT_I8);
    struct node *wide = node_to_real(tape, x);
    call_return_quantized_as(call, updates->n ? node_overwrite(tape, wide, y, 1, map, NULL) : wide,
                             DT_I8, &how, largest_of(tape, zero));
}

/* Blocks of rows and columns, each by a scale of its own: the largest magnitude over the top of the dtype. */
static void dynamic_block_quant(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "x");
    int64_t down = call_int(call, "row_block_size"), across = call_int(call, "col_block_size");
    struct dynamic to;
    struct quantizing how = { 8, x->dtype, NULL };
    if (!dynamic_read(call, &to) ||
        !call_require(call,
                      x->rank == 2 && x->n && !x->integer && down >= 1 && across >= 1 &&
                          down <= 4096 && across <= 4096 && call_real(call, "min_scale") == 0,
                      "a matrix of floats and no least scale are followed here"))
        return;
    to.top = call_real(call, "dst_type_max");
    int64_t rows = (x->shape[0] + down - 1) / down, columns = (x->shape[1] + across - 1) / across;
    int64_t blocks[4] = { rows, down, columns, across }, lone[4] = { rows, 1, columns, 1 },
            shape[2] = { rows, columns };
    size_t n;
    if (!call_require(call, shape_elements(&n, 4, blocks), "too many blocks")) return;
    int64_t *map = tape_allocate(tape, n, sizeof *map),
            *back = tape_allocate(tape, x->n, sizeof *back);
    for (int64_t i = 0; !tape_failed(tape) && i < (int64_t)n; i++) {
        int64_t r = i / (down * columns * across), c = i % (columns * across);
        r = r * down + i / (columns * across) % down;
        map[i] = r < x->shape[0] && c < x->shape[1] ? r * x->shape[1] + c : -1;
        if (map[i] >= 0) back[map[i]] = r / down * columns + c / across;
    }
    if (tape_failed(tape)) return;
    struct node *split = node_gather(tape, x, 4, blocks, map, 0);
    struct node *most = node_reshape(
        tape, node_extremum(tape, node_apply(tape, "abs", split), 10, true, 1), 4, lone);
    struct node *scale = node_divide(tape, most, node_scalar(tape, top_of(&to)));
    struct node *own = node_gather(tape, scale, 2, x->shape, back, 0);
    how.scale = own;
    struct node *never = node_compare(tape, COMPARE_EQ, own, node_scalar(tape, 0));
    struct node *y = node_select(tape, never, node_scalar(tape, 0), node_divide(tape, x, own));
    if (!tape_failed(tape)) return_as(call, y, &to, &how);
    call_return_typed(call, node_reshape(tape, scale, 2, shape), DT_F32);
}

/* clang-format off */
#define NORM_TAIL "Tensor? beta=None, float epsilon=1e-06, bool[]? output_mask=None, ...)"
const struct op ops_npu_quantization[] = {
    { "npu_quantize", NPU, "(Tensor self, Tensor scales, Tensor? zero_points, Any dtype, int axis=1, bool div_mode=True)", quantize, OP_NO_GRADIENT, 0, NULL },
    { "npu_group_quant", NPU, "(Tensor x, Tensor scale, Tensor group_index, *, Tensor? offset=None, Any dst_dtype=None)", group_quant, OP_NO_GRADIENT, 0, NULL },
    { "npu_anti_quant", NPU, "(Tensor x, Tensor scale, *, Tensor? offset=None, ScalarType? dst_dtype=None, ScalarType? src_dtype=None)", anti_quant, OP_NO_GRADIENT, 0, NULL },
    { "npu_trans_quant_param", NPU, "(Tensor scale, Tensor? offset=None, int? round_mode=0)", trans_quant_param, OP_NO_GRADIENT, 0, NULL },
    { "npu_dynamic_quant", NPU, "(Tensor input, *, Tensor? smooth_scales=None, Tensor? group_index=None, Any dst_type=None, str quant_mode='pertoken', float dst_type_max=0.0, ...)", dynamic_quant, OP_NO_GRADIENT, 0, NULL },
    { "npu_dynamic_quant_asymmetric", NPU, "(Tensor input, *, Tensor? smooth_scales=None, Tensor? group_index=None, ScalarType? dst_type=None, ...)", dynamic_quant_asymmetric, OP_NO_GRADIENT, 0, NULL },
    { "npu_add_rms_norm_quant", NPU, "(Tensor x1, Tensor x2, Tensor gamma, Tensor scales1, Tensor? zero_points1, Tensor? beta=None, Tensor? scales2=None, Tensor? zero_points2=None, *, int axis=-1, float epsilon=1e-06, bool div_mode=True, ...)", add_rms_norm_quant, OP_NO_GRADIENT, 0, NULL },
    { "npu_add_rms_norm_dynamic_quant", NPU, "(Tensor x1, Tensor x2, Tensor gamma, *, Tensor? smooth_scale1=None, Tensor? smooth_scale2=None, " NORM_TAIL, rms_norm_dynamic_quant, OP_NO_GRADIENT, 0, NULL },
    { "npu_rms_norm_dynamic_quant", NPU, "(Tensor x, Tensor gamma, *, Tensor? smooth_scales1=None, Tensor? smooth_scales2=None, " NORM_TAIL, rms_norm_dynamic_quant, OP_NO_GRADIENT, 1, NULL },
    { "npu_rms_norm_quant", NPU, "(Tensor x, Tensor gamma, Tensor beta, Tensor scale, Tensor offset, float epsilon=1e-06, ...)", rms_norm_quant, OP_NO_GRADIENT, 0, NULL },
    { "npu_rms_norm_quant_v2", NPU, "(Tensor x, Tensor gamma, Tensor scale, *, Tensor? offset=None, Tensor? beta=None, float epsilon=1e-06, bool div_mode=True, Any dst_dtype=None)", rms_norm_quant_v2, OP_NO_GRADIENT, 0, NULL },
    { "npu_gelu_quant", NPU, "(Tensor self, *, Tensor? input_scale=None, Tensor? input_offset=None, str approximate='none', str quant_mode='dynamic', ScalarType? dst_type=None, str round_mode='rint')", gelu_quant, OP_NO_GRADIENT, 0, NULL },
    { "npu_swiglu_quant", NPU, "(Tensor x, *, Tensor? smooth_scales=None, Tensor? offsets=None, Tensor? group_index=None, bool activate_left=False, int quant_mode=0, int group_list_type=0, ScalarType? dst_type=None)", swiglu_quant, OP_NO_GRADIENT, 0, NULL },
    { "npu_dequant_swiglu_quant", NPU, "(Tensor x, *, Tensor? weight_scale=None, Tensor? activation_scale=None, Tensor? bias=None, Tensor? quant_scale=None, Tensor? quant_offset=None, Tensor? group_index=None, bool activate_left=False, int quant_mode=0)", dequant_swiglu_quant, OP_NO_GRADIENT, 0, NULL },
    { "npu_quant_scatter", NPU, "(Tensor self, Tensor indices, Tensor updates, Tensor quant_scales, Tensor? quant_zero_points=None, int axis=0, int quant_axis=1, str reduce='update', ...)", quant_scatter, OP_NO_GRADIENT, 0, NULL },
    { "npu_dynamic_block_quant", NPU, "(Tensor x, *, float min_scale=0.0, str round_mode='rint', Any dst_type=1, int row_block_size=1, int col_block_size=128, float dst_type_max=0.0, ...)", dynamic_block_quant, OP_NO_GRADIENT, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(npu_quantization);
