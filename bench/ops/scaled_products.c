/* Matrix products of narrow numbers with scales, by PyTorch's schemas and the documentation of the libraries behind them.
 *
 * _scaled_mm multiplies float8 numbers: D = A B scale_a scale_b + bias, and for a float8 result D scale_result, which saturates
 * (cuBLAS, cublasLtMatmul: scaling factors multiply, the maximum of magnitudes is taken before the result's). Scales of
 * one element count for a whole factor, of (rows, 1) and (1, columns) for each row and column; others, of blocks, are refused. Until 2.4
 * the scales were optional and the maximum was returned, too. _weight_int8pack_mm multiplies with the transposed weights, one scale for each
 * of their rows. */
#include "bench/call/op.h"
#include "bench/primitives/alias.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/complex_functions.h"
#include "bench/primitives/compose.h"
#include "bench/primitives/extremum.h"
#include "bench/primitives/integral.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/selection.h"
#include "bench/primitives/unary.h"
#include "bench/primitives/view.h"

static bool is_float8(enum dtype dtype) { return dtype == DT_F8E4M3 || dtype == DT_F8E5M2; }

/* Tensor cores that add in fewer bits, which use_fast_accum allows, keep some 14 of them (DeepSeek-V3 Technical Report, 2024, 3.3.2): an
 * error of 2^-13 of the sum of magnitudes beside the 2^-24 of float. */
static const double fast_roundings = 0x1p11;

/* y times the scale `name`, of one element or `shape` (two dimensions); y itself without one. */
static struct node *scaled(struct call *call, struct node *y, const char *name, int64_t rows,
                           int64_t columns)
{
    struct node *scale = call_optional_tensor(call, name);
    if (!scale || tape_failed(call->tape)) return y;
    bool one = scale->n == 1;
    if (!call_require(
            call,
            one || (scale->rank == 2 && scale->shape[0] == rows && scale->shape[1] == columns),
            "%s of blocks of the matrix is not in the catalogue", name))
        return y;
    return node_multiply(call->tape, y, one ? node_reshape(call->tape, scale, 0, NULL) : scale);
}

/* y no further from 0 than the largest number of the dtype. */
static struct node *saturated(struct tape *tape, struct node *y, enum dtype dtype)
{
    double most = dtype == DT_F8E4M3 ? 448 : 57344;
    struct node *high = node_scalar(tape, most), *low = node_scalar(tape, -most);
    y = node_select(tape, node_compare(tape, COMPARE_GT, y, high), high, y);
    return node_select(tape, node_compare(tape, COMPARE_LT, y, low), low, y);
}

/* Does the dump have the largest magnitude, too? */
static bool returns_two(const struct value *outputs)
{
    if (outputs->kind == VALUE_LIST && outputs->list.count == 1) outputs = &outputs->list.items[0];
    return outputs->kind == VALUE_LIST && outputs->list.count == 2;
}

static void scaled_mm(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *a = call_tensor(call, "input"), *b = call_tensor(call, "mat2");
    if (!call_require(call,
                      a->rank == 2 && b->rank == 2 && is_float8(a->dtype) && is_float8(b->dtype) &&
                          a->shape[1] == b->shape[0],
                      "_scaled_mm takes two matrices of float8 that fit each other"))
        return;
    enum dtype dtype = call_is_none(call, "out_dtype") ? a->dtype : call_dtype(call, "out_dtype");
    struct node *y = compose_matmul(tape, a, b);
    if (call_bool(call, "use_fast_accum")) {
        struct node *sizes = compose_matmul(tape, node_magnitude(tape, a), node_magnitude(tape, b));
        y = node_model_error(tape, y, sizes, fast_roundings);
    }
    y = scaled(call, y, "scale_a", a->shape[0], 1);
    y = scaled(call, y, "scale_b", 1, b->shape[1]);
    struct node *bias = call_optional_tensor(call, "bias");
    if (bias) y = node_add(tape, y, bias);
    if (tape_failed(tape)) return;
    struct node *before = y;
    if (is_float8(dtype)) y = saturated(tape, scaled(call, y, "scale_result", 1, 1), dtype);
    call_return_typed(call, y, dtype);
    if (!returns_two(&call->api_case->outputs)) return;
    struct node *flat = node_reshape(tape, node_magnitude(tape, before), 1, (int64_t[]){ -1 });
    if (is_float8(dtype)) call_return_typed(call, node_extremum(tape, flat, 1, false, 1), DT_F32);
    else call_return_none(call); /* not written */
}

static void weight_int8(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input"), *w = call_tensor(call, "mat2");
    struct node *scales = call_tensor(call, "scales");
    if (!call_require(
            call,
            x->rank == 2 && w->rank == 2 && w->integer && scales->rank == 1 &&
                scales->shape[0] == w->shape[0] && x->shape[1] == w->shape[1],
            "_weight_int8pack_mm takes a matrix, whole numbers and a scale for each row of "
            "them"))
        return;
    struct node *turned = node_transpose(tape, node_to_real(tape, w), 0, 1);
    call_return_typed(call, node_multiply(tape, compose_matmul(tape, x, turned), scales), x->dtype);
}

/* clang-format off */
const struct op ops_scaled_products[] = {
    { "_scaled_mm", TORCH, "(Tensor input, Tensor mat2, Tensor? scale_a=None, Tensor? scale_b=None, Tensor? bias=None, Tensor? scale_result=None, ScalarType? out_dtype=None, bool use_fast_accum=False)", scaled_mm, OP_NO_GRADIENT, 0, NULL },
    { "_weight_int8pack_mm", TORCH, "(Tensor input, Tensor mat2, Tensor scales)", weight_int8, OP_NO_GRADIENT, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(scaled_products);
