/* Operators of torch_npu that end or begin in blocks of floats of 8 or 4 bits with a power of two (npu_microscaling.h), and
 * in integers of four bits: behind normalizations and gates, with a second scale for each 512 numbers, in products; by
 * op-plugin's documentation (docs/zh) and, for the order of four bits in a byte, its test of npu_dual_level_quant_matmul.
 *
 * A kernel comes to the numbers that it quantizes by roundings of its own, so the power of two of a block, and what a number
 * is rounded to, can be one of two; the device's is taken where it is one of them. */
#include <math.h>
#include <string.h>

#include "bench/ops/npu_groups.h"
#include "bench/ops/npu_halves.h"
#include "bench/ops/npu_microscaling.h"
#include "bench/ops/npu_norm.h"
#include "bench/ops/npu_quantization.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/compose.h"
#include "bench/primitives/extremum.h"
#include "bench/primitives/gather.h"
#include "bench/primitives/integral.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/selection.h"
#include "bench/primitives/unary.h"
#include "bench/primitives/view.h"

enum { COARSE = 512, NIBBLES = 8 };

/* ---- behind normalizations and gates ------------------------------------------------------------------------- */

/* 1 / rms is returned of an argument that requires a gradient, otherwise nothing of extent 0. */
static void return_rstd(struct call *call, const char *name, struct node *rstd)
{
    const struct value *x = call_value(call, name);
    static const int64_t none[1] = { 0 };
    if (x->kind == VALUE_TENSOR && x->tensor.record && !x->tensor.record->requires_grad)
        rstd = node_constant(call->tape, DT_F32, 0, 1, none);
    call_return_typed(call, rstd, DT_F32);
}

/* rms_norm(x) gamma + beta in blocks; detail 1: of a sum, which is returned too. (y, [sum,] scales, 1 / rms). */
static void rms_norm_in_blocks(struct call *call)
{
    struct tape *tape = call->tape;
    bool adds = call->op->detail;
    const char *name = adds ? "x1" : "x";
    struct node *x = call_tensor(call, name), *beta = call_optional_tensor(call, "beta"), *rstd;
    enum dtype dtype = x->dtype;
    struct blocks how;
    struct between numbers;
    if (!blocks_read(call, &how)) return;
    if (adds) x = node_add(tape, x, call_tensor(call, "x2"));
    struct node *y = rms_normalized(call, x, call_tensor(call, "gamma"), call_real(call, "epsilon"),
                                    &rstd),
                *size = node_apply(tape, "abs", y);
    if (beta) {
        y = node_add(tape, y, beta);
        size = node_add(tape, size, node_apply(tape, "abs", beta));
    }
    if (!call_require(call, y->rank == x->rank && y->n == x->n && y->rank < TENSOR_MAX_RANK,
                      "beta has a larger shape than the input"))
        return;
    double roundings = 12 + (double)x->shape[x->rank - 1] / 2;
    if (!between_roundings(call, &numbers, y, roundings, dtype, size)) return;
    struct node *bytes = return_in_blocks(call, y, y->rank - 1, &how, &numbers, adds ? 2 : 1);
    if (adds) call_return_typed(call, x, dtype);
    call_return(call, bytes);
    return_rstd(call, name, rstd);
}

/* x no larger than limit (above), or no smaller. */
static struct node *limited(struct tape *tape, struct node *x, double limit, bool above)
{
    struct node *most = node_scalar(tape, limit);
    return node_select(tape, node_compare(tape, above ? COMPARE_LE : COMPARE_GE, x, most), x, most);
}

/* The gate of mode 0: silu(a) b; of 1 and 2: a sigmoid(alpha a) (b + bias) with a <= limit, |b| <= limit; of 3: b silu(a)
 * with both limited, silu(a) only from above. */
static struct node *gated(struct call *call, struct node *a, struct node *b, int64_t mode)
{
    struct tape *tape = call->tape;
    double limit = call_real(call, "clamp_limit");
    if (mode == 0) return node_multiply(tape, node_apply(tape, "silu", a), b);
    b = limited(tape, limited(tape, b, limit, true), -limit, false);
    if (mode == 3)
        return node_multiply(tape, limited(tape, node_apply(tape, "silu", a), limit, true), b);
    a = limited(tape, a, limit, true);
    struct node *gate =
        node_apply(tape, "sigmoid", node_scale(tape, a, call_real(call, "glu_alpha")));
    return node_multiply(tape, node_multiply(tape, a, gate),
                         node_offset(tape, b, call_real(call, "glu_bias")));
}

/* Do the groups, if there are any, have all rows? What stands behind them is not written. */
static bool groups_have_all(struct call *call, const struct node *x, int dim, int axis)
{
    struct groups groups;
    if (call_is_none(call, "group_index")) return true;
    int64_t rows = (int64_t)x->n / x->shape[x->rank - 1];
    return call_require(call, dim == x->rank - 1 && axis == x->rank - 1,
                        "groups of a gate or of blocks along rows are not followed here") &&
           groups_read(call, &groups, "group_index", call_int(call, "group_mode") == 1, rows) &&
           call_require(call, groups.total == rows, "the groups do not have all rows");
}

static void swiglu_in_blocks(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "x"), *a, *b;
    enum dtype dtype = x->dtype;
    struct blocks how;
    struct between numbers;
    int64_t mode = call_int(call, "swiglu_mode");
    if (!blocks_read(call, &how) ||
        !call_require(call,
                      x->rank >= 2 && x->n && x->rank < TENSOR_MAX_RANK && !x->integer &&
                          !x->imaginary && mode >= 0 && mode <= 3 &&
                          call_real(call, "clamp_limit") > 0,
                      "rows of floats, swiglu_mode 0 to 3 and a positive clamp_limit are needed"))
        return;
    int dim = call_dim(call, "activate_dim", x->rank), axis = call_dim(call, "axis", x->rank);
    if (!call_require(call, mode == 0 || dim == x->rank - 1,
                      "swiglu_mode %lld gates the last dimension", (long long)mode) ||
        !groups_have_all(call, x, dim, axis) ||
        !halves(call, mode == 1 ? pairs_to_halves(call, x) : x, dim, &a, &b))
        return;
    bool left = mode == 1 || call_bool(call, "activate_left");
    struct node *y = gated(call, left ? a : b, left ? b : a, mode);
    struct node *size = node_apply(tape, "abs", y);
    if (mode == 1 || mode == 2) { /* b + bias may cancel */
        struct node *wide = node_offset(tape, node_apply(tape, "abs", left ? b : a),
                                        fabs(call_real(call, "glu_bias")));
        size = node_multiply(tape, node_apply(tape, "abs", left ? a : b), wide);
    }
    if (!between_roundings(call, &numbers, y, 32, dtype, size)) return;
    call_return(call, return_in_blocks(call, y, axis, &how, &numbers, 1));
}

/* ---- two levels of scales ------------------------------------------------------------------------------------ */

/* v rounded to the nearest of `dtype`. */
static double nearest_of(enum dtype dtype, double v)
{
    unsigned char bytes[8];
    dtype_from_double(bytes, dtype, &v, 1);
    dtype_to_double(&v, bytes, dtype, 1);
    return v;
}

/* Rows in parts of 512, whose largest magnitude over 6 is a scale of float32; what they are by it, rounded to the dtype of x,
 * in blocks of e2m1. (y, scales, bytes). */
static void dual_level_quant(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input");
    struct blocks how = { DT_NONE, four_bits_e2m1(),
                          four_bits_rounding_named(call_string(call, "round_mode")), 0, 0 };
    if (!call_require(call,
                      x->rank >= 1 && x->rank < TENSOR_MAX_RANK && x->n &&
                          (x->dtype == DT_F16 || x->dtype == DT_BF16) &&
                          how.rounding != FOUR_BITS_UNKNOWN && call_is_none(call, "smooth_scale"),
                      "float16 or bfloat16 and no smooth_scale are needed"))
        return;
    int64_t shape[TENSOR_MAX_RANK], columns = x->shape[x->rank - 1],
                                    parts = (columns + COARSE - 1) / COARSE;
    memcpy(shape, x->shape, sizeof shape);
    shape[x->rank - 1] = parts;
    struct node *largest = node_new_real(tape, DT_F32, x->rank, shape);
    const double *value = node_values(tape, x);
    double *part[3] = { NULL, NULL, NULL };
    for (int k = 0; k < 3; k++) part[k] = tape_allocate(tape, x->n, sizeof *part[k]);
    if (tape_failed(tape)) return;
    for (size_t i = 0; i < largest->n; i++) largest->value[i] = 0;
    for (int64_t i = 0; i < (int64_t)x->n; i++) {
        double *most = &largest->value[i / columns * parts + i % columns / COARSE];
        if (!call_require(call, isfinite(value[i]), "infinite numbers have no scale")) return;
        *most = fmax(*most, fabs(value[i]));
    }
    for (int64_t i = 0; i < (int64_t)x->n; i++) {
        double most = largest->value[i / columns * parts + i % columns / COARSE],
               scaled = value[i] / (most / 6), room = 3 * 0x1p-24 * fabs(scaled);
        if (!call_require(call, most > 0, "512 zeros have no scale")) return;
        part[0][i] = nearest_of(x->dtype, scaled);
        part[1][i] = nearest_of(x->dtype, scaled - room);
        part[2][i] = nearest_of(x->dtype, scaled + room);
    }
    struct between numbers = { part[0], part[1], part[2] };
    struct node *bytes = return_in_blocks(call, x, x->rank - 1, &how, &numbers, 2);
    call_return_typed(call, node_divide(tape, largest, node_scalar(tape, 6)), DT_F32);
    call_return(call, bytes);
}

/* Numbers of four bits (rows, k) by the powers of two of their blocks. */
static struct node *unpacked(struct call *call, const char *name, const char *scales)
{
    struct node *x = four_bits_unpacked(call, call_tensor(call, name), four_bits_e2m1());
    if (!call_require(call, x->rank == 2, "%s is a matrix of floats of four bits", name)) return x;
    return by_shared_scales(call, x, call_tensor(call, scales), 1, NULL, NULL);
}

/* x1 x2^T + bias of numbers of four bits with both scales: those of 512 are float32, of x1 (m, parts), of x2 (parts, n). */
static void dual_level_product(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *a = unpacked(call, "x1", "x1_level1_scale"),
                *b = unpacked(call, "x2", "x2_level1_scale"),
                *rows = call_tensor(call, "x1_level0_scale"),
                *columns = call_tensor(call, "x2_level0_scale"),
                *bias = call_optional_tensor(call, "bias");
    enum dtype dtype = call_dtype(call, "output_dtype");
    if (!call_require(call, a->shape[1] == b->shape[1], "the inner dimensions differ")) return;
    int64_t k = a->shape[1], parts = (k + COARSE - 1) / COARSE;
    if (!call_require(call,
                      rows->rank == 2 && columns->rank == 2 && rows->shape[0] == a->shape[0] &&
                          rows->shape[1] == parts && columns->shape[0] == parts &&
                          columns->shape[1] == b->shape[0] && !rows->integer && !columns->integer,
                      "a scale is needed for each 512 numbers") ||
        !call_require(call, !bias || (bias->rank == 1 && bias->shape[0] == b->shape[0]),
                      "a bias has a number for each column"))
        return;
    int64_t *map = tape_allocate(tape, (size_t)k + 1, sizeof *map);
    for (int64_t i = 0; map && i < k; i++) map[i] = i / COARSE;
    if (tape_failed(tape)) return;
    int64_t right[2] = { k, b->shape[0] }, left[2] = { k, a->shape[0] };
    rows =
        node_gather_rows(tape, node_transpose(tape, rows, 0, 1), 2, left, (size_t)left[1], map, 0);
    columns = node_gather_rows(tape, columns, 2, right, (size_t)right[1], map, 0);
    struct node *y = compose_matmul(tape, node_multiply(tape, a, node_transpose(tape, rows, 0, 1)),
                                    node_multiply(tape, node_transpose(tape, b, 0, 1), columns));
    call_return_typed(call, bias ? node_add(tape, y, bias) : y, dtype == DT_NONE ? DT_BF16 : dtype);
}

/* ---- integers of four bits ----------------------------------------------------------------------------------- */

/* y = p1 x p2 of each matrix of x, to integers of four bits by the largest magnitude of it over 7. Of a clip_ratio
 * documentation and test say different things, of floats of four bits neither says the exponent. */
static void kronecker_quant(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "x"), *p1 = call_tensor(call, "kronecker_p1"),
                *p2 = call_tensor(call, "kronecker_p2");
    struct between numbers;
    if (!call_require(
            call,
            (call_is_none(call, "clip_ratio") || call_real(call, "clip_ratio") == 1) &&
                call_is_none(call, "dst_dtype") &&
                (call_is_none(call, "dst_type_max") || call_real(call, "dst_type_max") == 0),
            "integers of four bits without a clip_ratio are followed here") ||
        !call_require(call,
                      x->rank == 3 && p1->rank == 2 && p2->rank == 2 && x->n && !x->integer &&
                          !p1->integer && !p2->integer && p1->shape[0] == x->shape[1] &&
                          p1->shape[1] == x->shape[1] && p2->shape[0] == x->shape[2] &&
                          p2->shape[1] == x->shape[2],
                      "x (k, m, n) and square matrices of its last dimensions are needed"))
        return;
    struct node *y = compose_matmul(tape, p1, compose_matmul(tape, x, p2));
    struct node *size = compose_matmul(
        tape, node_apply(tape, "abs", p1),
        compose_matmul(tape, node_apply(tape, "abs", x), node_apply(tape, "abs", p2)));
    struct node *most = node_extremum(tape, node_apply(tape, "abs", y), 6, true, 1);
    const double *value = node_values(tape, most);
    for (size_t i = 0; !tape_failed(tape) && i < most->n; i++)
        if (!call_require(call, value[i] > 0, "a matrix of zeros has no scale")) return;
    struct node *scale = node_divide(tape, most, node_scalar(tape, 7));
    /* What y and the scale lose, each in three numbers that may be stored. */
    struct node *lost =
        node_scale(tape, node_add(tape, size, node_extremum_detached(tape, size, 6, 1)), 3);
    double roundings = (double)(x->shape[1] + x->shape[2] + NIBBLES);
    struct node *z = node_divide(tape, y, scale);
    if (!between_roundings(call, &numbers, z, roundings, x->dtype, node_divide(tape, lost, scale)))
        return;
    call_return_int4(call, z, &numbers);
    call_return_typed(call, node_squeeze(tape, scale, 6), DT_F32);
}

/* clang-format off */
#define NORM_TAIL "Tensor gamma, *, Tensor? beta=None, float epsilon=1e-06, int scale_alg=0, str round_mode='rint', Any dst_type=296)"
const struct op ops_npu_microscaled[] = {
    { "npu_rms_norm_dynamic_mx_quant", NPU, "(Tensor x, " NORM_TAIL, rms_norm_in_blocks, OP_NO_GRADIENT, 0, NULL },
    { "npu_add_rms_norm_dynamic_mx_quant", NPU, "(Tensor x1, Tensor x2, " NORM_TAIL, rms_norm_in_blocks, OP_NO_GRADIENT, 1, NULL },
    { "npu_swiglu_mx_quant", NPU, "(Tensor x, *, Tensor? group_index=None, int activate_dim=-1, bool activate_left=False, int swiglu_mode=0, float clamp_limit=7.0, float glu_alpha=1.702, float glu_bias=1.0, int group_mode=0, int axis=-1, Any dst_type=296, str round_mode='rint', int scale_alg=0, float max_dtype_value=0)", swiglu_in_blocks, OP_NO_GRADIENT, 0, NULL },
    { "npu_dynamic_dual_level_mx_quant", NPU, "(Tensor input, *, Tensor? smooth_scale=None, str round_mode='rint')", dual_level_quant, OP_NO_GRADIENT, 0, NULL },
    { "npu_dual_level_quant_matmul", NPU, "(Tensor x1, Tensor x2, Tensor x1_level0_scale, Tensor x2_level0_scale, Tensor x1_level1_scale, Tensor x2_level1_scale, Tensor? bias=None, ScalarType? output_dtype=None)", dual_level_product, OP_NO_GRADIENT, 0, NULL },
    { "npu_kronecker_quant", NPU, "(Tensor x, Tensor kronecker_p1, Tensor kronecker_p2, float? clip_ratio=None, Any dst_dtype=None, float? dst_type_max=None)", kronecker_quant, OP_NO_GRADIENT, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(npu_microscaled);
