/* Determinants, their signs and logarithms. A logarithm exists where the determinant itself is no number of the dtype: kernels add up those of
 * the pivots. Here the matrix is multiplied by a power of two, which changes no digit, and the logarithm of the power taken off again. */
#include <math.h>

#include "bench/call/op.h"
#include "bench/ops/factors.h"
#include "bench/ops/matrices.h"
#include "bench/primitives/alias.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/complex_functions.h"
#include "bench/primitives/complex_matrix.h"
#include "bench/primitives/complex_parts.h"
#include "bench/primitives/integral.h"
#include "bench/primitives/matrix.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/unary.h"

/* Of each matrix of a batch (batch, n, n): the power of two, the logarithm of what it multiplies the determinant by, and the sum of the
 * magnitudes of the logarithms that kernels add up. */
struct balance {
    struct node *factor;           /* (batch, 1, 1) */
    struct node *logarithm, *logs; /* (batch) */
};

static struct balance balance_of(struct tape *tape, struct node *a)
{
    int64_t batches = a->shape[0], n = a->shape[1];
    struct node *plain = node_detach(tape, a), *pivots;
    struct node *lu = a->imaginary ? node_complex_lu(tape, plain, &pivots, NULL)
                                   : node_lu(tape, plain, &pivots, NULL);
    const double *size = node_values(tape, node_magnitude(tape, lu));
    struct balance out = { node_constant(tape, DT_NONE, 1, 3, (int64_t[]){ batches, 1, 1 }),
                           node_constant(tape, DT_NONE, 0, 1, &batches),
                           node_constant(tape, DT_NONE, 0, 1, &batches) };
    for (int64_t b = 0; b < batches && n && !tape_failed(tape); b++) {
        double sum = 0, logs = 0;
        for (int64_t i = 0; i < n; i++) {
            double one = log2(size[(b * n + i) * n + i]);
            sum += one;
            logs += fabs(one);
        }
        if (!isfinite(logs)) continue;
        int power = fabs(sum) > 64 ? (int)round(-sum / (double)n) : 0;
        out.factor->value[b] = ldexp(1, power);
        out.logarithm->value[b] = (double)power * (double)n;
        out.logs->value[b] = logs * log(2);
    }
    out.logarithm =
        node_multiply(tape, out.logarithm, node_apply(tape, "log", node_scalar(tape, 2)));
    return out;
}

/* The logarithm of what the determinant is, `scaled` the one of the balanced matrices of order n. Kernels add the logarithms of n pivots, which
 * may cancel: n roundings of sums below that of their magnitudes, in the mean a third of the root. */
static struct node *with_balance(struct tape *tape, struct node *scaled,
                                 const struct balance *balance, int64_t n)
{
    struct node *y = node_subtract(tape, scaled, balance->logarithm);
    double roundings = tape_is_typical(tape) ? 4 * sqrt((double)n) / 3 : (double)n;
    if (!y->imaginary) return node_model_error(tape, y, balance->logs, roundings);
    return node_complex(tape,
                        node_model_error(tape, node_real_part(tape, y), balance->logs, roundings),
                        node_imaginary_part(tape, y));
}

/* In a model: the determinant, whose slope is open where its logarithm is none: kernels return NaN, infinities or 0. */
static struct node *open_where_undefined(struct tape *tape, struct node *det)
{
    struct node *above = node_compare(tape, COMPARE_GT, det, node_scalar(tape, 0));
    struct node *lost = node_new_integer(tape, DT_BOOL, det->rank, det->shape);
    for (size_t i = 0; !tape_failed(tape) && i < lost->n; i++)
        lost->integer[i] = !above->integer[i];
    return node_model_any_slope(tape, det, lost);
}

/* detail 0: det, 1: logdet, else: sign and logarithm, which exist where the determinant itself overflows. */
static void determinant(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input"), *a = call_matrices(call, x);
    struct balance balance = { 0 };
    if (!call_require(call, a->rank < 3 || a->shape[1] == a->shape[2], "a square matrix is needed"))
        return;
    if (tape_failed(tape)) return;
    int64_t n = a->shape[1];
    if (call->op->detail) {
        balance = balance_of(tape, a);
        a = node_multiply(tape, a, balance.factor);
    }
    struct node *det = a->imaginary ? node_complex_determinant(tape, a) : node_determinant(tape, a);
    struct node *size = node_magnitude(tape, det), *y = det;
    if (call->op->detail == 1 && !det->imaginary) det = open_where_undefined(tape, det);
    if (call->op->detail > 1)
        y = det->imaginary ? node_divide(tape, det, size) : node_apply(tape, "sign", det);
    else if (call->op->detail) y = with_balance(tape, node_function(tape, "log", det), &balance, n);
    call_return_typed(call, node_reshape(tape, y, x->rank - 2, x->shape), x->dtype);
    if (call->op->detail < 2) return;
    y = with_balance(tape, node_apply(tape, "log", size), &balance, n);
    call_return_typed(call, node_reshape(tape, y, x->rank - 2, x->shape),
                      dtype_component(x->dtype));
}

static void determinant_and_factors(struct call *call)
{
    determinant(call);
    (void)call_return_factors_used(call, "input", call->op->detail == 2 ? 3 : 2);
}

/* clang-format off */
const struct op ops_determinant[] = {
    { "det|linalg.det", TORCH | TENSOR, "(Tensor input)", determinant, 0, 0, NULL },
    { "logdet", TORCH | TENSOR, "(Tensor input)", determinant, 0, 1, NULL },
    { "slogdet|linalg.slogdet", TORCH | TENSOR, "(Tensor input)", determinant, 0, 2, NULL },
    { "_linalg_det", TORCH, "(Tensor input)", determinant_and_factors, 0, 0, NULL },
    { "_linalg_slogdet", TORCH, "(Tensor input)", determinant_and_factors, 0, 2, NULL },
};
/* clang-format on */
OP_TABLE_END(determinant);
