/* Quantization in torch_npu and MindSpeed: numbers to integers of 8 bits or to 8-bit floats and back, by given scales, by their own, by
 * blocks, and into caches. By their documentation (op-plugin, docs/context and docs/zh; MindSpeed, docs/ops). An integer that a correct
 * kernel may round either way is right either way (quantizing.h).
 */
#include <math.h>
#include <string.h>

#include "bench/call/op.h"
#include "bench/ops/hifloat8.h"
#include "bench/ops/indexing.h"
#include "bench/ops/npu_groups.h"
#include "bench/ops/npu_layout.h"
#include "bench/ops/npu_quantization.h"
#include "bench/ops/quantizing.h"
#include "bench/primitives/alias.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/extremum.h"
#include "bench/primitives/gather.h"
#include "bench/primitives/integral.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/overwrite.h"
#include "bench/primitives/selection.h"
#include "bench/primitives/unary.h"
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

struct node *scales_along(struct call *call, struct node *v, const struct node *x, int axis)
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
    struct node *scale = scales_along(call, call_tensor(call, "scales"), x, axis);
    if (zero) zero = scales_along(call, zero, x, axis);
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
    if (offset) x = node_add(tape, x, scales_along(call, offset, x, x->rank - 1));
    struct node *scale = scales_along(call, call_tensor(call, "scale"), x, x->rank - 1);
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

struct node *smoothed_by(struct call *call, struct node *x, const char *name)
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
    struct node *y = node_with_dtype(call->tape, smoothed_by(call, x, "smooth_scales"), x->dtype);
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
    struct node *y = smoothed_by(call, x, "smooth_scales");
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
        tape, updates, scales_along(call, node_reshape(tape, scale, 1, flat), updates, along_dim));
    if (zero) {
        int64_t zeros[1] = { (int64_t)zero->n };
        y = node_add(tape, y,
                     scales_along(call, node_reshape(tape, zero, 1, zeros), updates, along_dim));
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
const struct op ops_npu_quantization[] = {
    { "npu_quantize", NPU, "(Tensor self, Tensor scales, Tensor? zero_points, Any dtype, int axis=1, bool div_mode=True)", quantize, OP_NO_GRADIENT, 0, NULL },
    { "npu_group_quant", NPU, "(Tensor x, Tensor scale, Tensor group_index, *, Tensor? offset=None, Any dst_dtype=None)", group_quant, OP_NO_GRADIENT, 0, NULL },
    { "npu_anti_quant", NPU, "(Tensor x, Tensor scale, *, Tensor? offset=None, ScalarType? dst_dtype=None, ScalarType? src_dtype=None)", anti_quant, OP_NO_GRADIENT, 0, NULL },
    { "npu_trans_quant_param", NPU, "(Tensor scale, Tensor? offset=None, int? round_mode=0)", trans_quant_param, OP_NO_GRADIENT, 0, NULL },
    { "npu_dynamic_quant", NPU, "(Tensor input, *, Tensor? smooth_scales=None, Tensor? group_index=None, Any dst_type=None, str quant_mode='pertoken', float dst_type_max=0.0, ...)", dynamic_quant, OP_NO_GRADIENT, 0, NULL },
    { "npu_dynamic_quant_asymmetric", NPU, "(Tensor input, *, Tensor? smooth_scales=None, Tensor? group_index=None, ScalarType? dst_type=None, ...)", dynamic_quant_asymmetric, OP_NO_GRADIENT, 0, NULL },
    { "npu_quant_scatter", NPU, "(Tensor self, Tensor indices, Tensor updates, Tensor quant_scales, Tensor? quant_zero_points=None, int axis=0, int quant_axis=1, str reduce='update', ...)", quant_scatter, OP_NO_GRADIENT, 0, NULL },
    { "npu_dynamic_block_quant", NPU, "(Tensor x, *, float min_scale=0.0, str round_mode='rint', Any dst_type=1, int row_block_size=1, int col_block_size=128, float dst_type_max=0.0, ...)", dynamic_block_quant, OP_NO_GRADIENT, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(npu_quantization);
