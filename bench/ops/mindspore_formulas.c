/* Formulas of MindSpore that PyTorch has not as functions; by the reference pages of mindspore.ops and their examples. */
#include <math.h>
#include <string.h>

#include "bench/call/dimensions.h"
#include "bench/call/op.h"
#include "bench/ops/operands.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/compose.h"
#include "bench/primitives/integral.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/reduce.h"
#include "bench/primitives/selection.h"
#include "bench/primitives/unary.h"
#include "bench/primitives/view.h"

/* |x - y| < tolerance */
static void approximate_equal(struct call *call)
{
    struct tape *tape = call->tape;
    struct operands o = two_operands(call, "x", "y");
    if (tape_failed(tape)) return;
    struct node *apart = node_apply(
        tape, "abs", node_subtract(tape, node_to_real(tape, o.a), node_to_real(tape, o.b)));
    struct node *limit =
        node_scalar(tape, number_as_compared(call_real(call, "tolerance"), o.dtype));
    call_return(call, node_compare(tape, COMPARE_LT, apart, limit));
}

/* The step from 1 to the next number of the dtype, everywhere. */
static void epsilon(struct call *call)
{
    struct node *x = call_tensor(call, "x");
    if (!call_require(call, dtype_is_float(x->dtype), "floats are needed")) return;
    call_return(call,
                node_constant(call->tape, x->dtype, dtype_ulp(x->dtype, 1), x->rank, x->shape));
}

/* Tensors times max_norm / (norm + 1e-6) where that is below 1; the norm is that of all of them together. */
static void clip_by_norm(struct call *call)
{
    struct tape *tape = call->tape;
    int count;
    struct node **x = call_tensors(call, "x", &count), *squares = NULL;
    if (!call_require(call, count > 0, "a list of tensors was expected") ||
        !call_require(call, call_real(call, "norm_type") == 2,
                      "only the norm of order 2 is followed here"))
        return;
    for (int i = 0; i < count; i++) {
        struct node *one = node_sum(tape, node_multiply(tape, x[i], x[i]), all_dims(x[i]), false);
        squares = squares ? node_add(tape, squares, one) : one;
    }
    struct node *norm = node_offset(tape, node_apply(tape, "sqrt", squares), 1e-6);
    struct node *share = node_divide(tape, node_scalar(tape, call_real(call, "max_norm")), norm);
    struct node *one = node_scalar(tape, 1);
    share = node_select(tape, node_compare(tape, COMPARE_GT, share, one), one, share);
    for (int i = 0; i < count; i++)
        call_return_typed(call, node_multiply(tape, x[i], share), x[i]->dtype);
}

/* x / (bias + alpha sum of squares over depth_radius channels on either side)^beta */
static void local_response(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "x"), *sum = NULL;
    int64_t radius = call_int(call, "depth_radius");
    if (!call_require(call,
                      x->rank == 4 && !x->integer && radius >= 0 &&
                          !strcmp(call_string(call, "norm_region"), "ACROSS_CHANNELS"),
                      "a tensor (n, c, h, w) and channels are needed"))
        return;
    struct node *squares = node_multiply(tape, x, x);
    int64_t channels = x->shape[1];
    for (int64_t away = -radius; away <= radius; away++) {
        int64_t shape[4] = { x->shape[0], 0, x->shape[2], x->shape[3] },
                shift = away < 0 ? -away : away;
        if (shift >= channels) continue;
        struct node *part = node_slice(tape, squares, 1, away > 0 ? away : 0, channels - shift, 1);
        shape[1] = shift;
        struct node *rest = node_constant(tape, x->dtype, 0, 4, shape);
        if (shift)
            part = node_concatenate(
                tape, away > 0 ? (struct node *[]){ part, rest } : (struct node *[]){ rest, part },
                2, 1);
        sum = sum ? node_add(tape, sum, part) : part;
    }
    if (!call_require(call, sum != NULL, "there are no channels")) return;
    struct node *base =
        node_offset(tape, node_scale(tape, sum, call_real(call, "alpha")), call_real(call, "bias"));
    struct node *power = node_apply2(tape, "pow", base, node_scalar(tape, call_real(call, "beta")));
    call_return_typed(call, node_divide(tape, x, power), x->dtype);
}

/* Sums over one axis of each, sample by sample. */
static void batch_dot(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x[2] = { call_tensor(call, "x1"), call_tensor(call, "x2") };
    int64_t axis[2] = { -1, -2 }, shape[TENSOR_MAX_RANK], rows[2] = { 1, 1 };
    if (!call_require(call,
                      x[0]->rank >= 2 && x[1]->rank >= 2 && x[0]->shape[0] == x[1]->shape[0] &&
                          x[0]->rank + x[1]->rank - 2 <= TENSOR_MAX_RANK,
                      "tensors of as many samples are needed"))
        return;
    if (x[1]->rank == 2) axis[1] = -1;
    if (!call_is_none(call, "axes") && call_ints(call, "axes", axis, 2) == 1) axis[1] = axis[0];
    int rank = 1;
    shape[0] = x[0]->shape[0];
    for (int k = 0; k < 2; k++) {
        int d = wrap_dim(call, axis[k], x[k]->rank), order[TENSOR_MAX_RANK], at = 0;
        if (!call_require(call, d >= 1, "the first axis is that of samples")) return;
        axis[k] = x[k]->shape[d];
        for (int i = 0; i < x[k]->rank; i++)
            if (i != d) order[at++] = i;
        order[at] = d;
        for (int i = 1; i < x[k]->rank; i++) {
            if (i == d) continue;
            rows[k] *= x[k]->shape[i];
            shape[rank++] = x[k]->shape[i];
        }
        x[k] = node_permute(tape, x[k], order);
        x[k] = node_reshape(tape, x[k], 3, (int64_t[]){ shape[0], rows[k], axis[k] });
    }
    if (!call_require(call, axis[0] == axis[1], "the axes have %lld and %lld elements",
                      (long long)axis[0], (long long)axis[1]))
        return;
    if (rank == 1) shape[rank++] = 1;
    struct node *y = compose_matmul(tape, x[0], node_transpose(tape, x[1], 1, 2));
    call_return_typed(call, node_reshape(tape, y, rank, shape), x[0]->dtype);
}

/* Are no k predictions larger than that of the target? */
static void in_top_k(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "x1"), *target = call_tensor(call, "x2");
    int64_t k = call_int(call, "k");
    if (!call_require(call,
                      x->rank == 2 && !x->integer && target->integer && target->rank == 1 &&
                          target->shape[0] == x->shape[0],
                      "rows of predictions and a target for each are needed"))
        return;
    const double *value = node_values(tape, x);
    struct node *y = node_new_integer(tape, DT_BOOL, 1, target->shape);
    for (int64_t r = 0; !tape_failed(tape) && r < x->shape[0]; r++) {
        const double *row = value + r * x->shape[1];
        int64_t at = target->integer[r], above = 0;
        if (!call_require(call, at >= 0 && at < x->shape[1], "target %lld of %lld", (long long)at,
                          (long long)x->shape[1]))
            return;
        for (int64_t i = 0; i < x->shape[1]; i++) {
            if (!call_require(call, isfinite(row[i]), "only finite predictions are followed here"))
                return;
            above += row[i] > row[at];
        }
        y->integer[r] = above < k;
    }
    call_return(call, y);
}

/* The bits that are 1. */
static void population_count(struct call *call)
{
    struct node *x = call_tensor(call, "x");
    if (!call_require(call, x->integer && dtype_info(x->dtype)->bytes == 2,
                      "integers of 16 bits are needed"))
        return;
    struct node *y = node_new_integer(call->tape, DT_U8, x->rank, x->shape);
    for (size_t i = 0; !tape_failed(call->tape) && i < x->n; i++)
        y->integer[i] = __builtin_popcount((unsigned)x->integer[i] & 0xffff);
    call_return(call, y);
}

/* clang-format off */
const struct op ops_mindspore_formulas[] = {
    { "approximate_equal", MINDSPORE, "(Tensor x, Tensor y, float tolerance)", approximate_equal, OP_NO_GRADIENT, 0, NULL },
    { "eps", MINDSPORE, "(Tensor x)", epsilon, OP_NO_GRADIENT, 0, NULL },
    { "clip_by_norm", MINDSPORE, "(Tensor[] x, float max_norm, float norm_type)", clip_by_norm, 0, 0, NULL },
    { "lrn", MINDSPORE, "(Tensor x, int depth_radius, float bias, float alpha, float beta, str norm_region)", local_response, 0, 0, NULL },
    { "batch_dot", MINDSPORE, "(Tensor x1, Tensor x2, int[]? axes)", batch_dot, 0, 0, NULL },
    { "intopk", MINDSPORE, "(Tensor x1, Tensor x2, int k)", in_top_k, OP_NO_GRADIENT, 0, NULL },
    { "population_count", MINDSPORE, "(Tensor x)", population_count, OP_NO_GRADIENT, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(mindspore_formulas);
