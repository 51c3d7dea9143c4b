/* Norms as APIs: torch.norm with its old spellings, torch.linalg's, and norms of lists. */
#include <math.h>
#include <string.h>

#include "bench/call/op.h"
#include "bench/ops/norms.h"
#include "bench/ops/reduction_arguments.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/extremum.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/reduce.h"
#include "bench/primitives/singular_vectors.h"
#include "bench/primitives/vector_norm.h"
#include "bench/primitives/view.h"

static enum dtype real_dtype(enum dtype dtype)
{
    return dtype == DT_C128 ? DT_F64 : dtype == DT_C64 ? DT_F32 : dtype;
}

static void return_norm(struct call *call, struct node *y, const struct node *x)
{
    call_return_typed(call, y, real_dtype(x->dtype));
}

/* Input in the wanted dtype. */
static struct node *norm_input(struct call *call, const char *name)
{
    struct node *x = call_tensor(call, name);
    enum dtype dtype = call_dtype(call, "dtype");
    if (dtype != DT_NONE) return node_cast_operand(call->tape, x, dtype);
    if (x->integer) call_fail(call, "a norm of integers needs a dtype");
    return x;
}

/* ---- matrices -------------------------------------------------------------------------------------- */

/* Singular values of the matrices in dimensions row and column of x: (batch..., k). */
static struct node *singular(struct tape *tape, struct node *x, int row, int column)
{
    int order[TENSOR_MAX_RANK], at = 0;
    int64_t shape[TENSOR_MAX_RANK], batch[3] = { -1, x->shape[row], x->shape[column] };
    for (int d = 0; d < x->rank; d++)
        if (d != row && d != column) {
            shape[at] = x->shape[d];
            order[at++] = d;
        }
    order[at] = row;
    order[at + 1] = column;
    if (tape_failed(tape)) return tape_failure(tape);
    struct node *s =
        node_singular_values(tape, node_reshape(tape, node_permute(tape, x, order), 3, batch));
    if (tape_failed(tape)) return s;
    shape[at] = s->shape[s->rank - 1];
    return node_reshape(tape, s, at + 1, shape);
}

/* A norm of singular values: "nuc" their sum, 2 the largest, -2 the smallest. */
static struct node *spectral(struct tape *tape, struct node *x, int row, int column, double order,
                             bool keepdim)
{
    struct node *s = singular(tape, x, row, column);
    int64_t shape[TENSOR_MAX_RANK];
    uint32_t last = 1u << (s->rank - 1);
    struct node *y = order == 0 ? node_sum(tape, s, last, false)
                                : node_extremum(tape, s, last, false, order > 0 ? 1 : -1);
    if (!keepdim) return y;
    for (int d = 0; d < x->rank; d++) shape[d] = d == row || d == column ? 1 : x->shape[d];
    return node_reshape(tape, y, x->rank, shape);
}

/* Largest (smallest for a negative order) sum of |x| over `summed`, taken over `other`. */
static struct node *extreme_sum(struct tape *tape, struct node *x, int summed, int other,
                                double order, bool keepdim)
{
    struct node *sums = node_vector_norm(tape, x, 1, 1u << summed, true);
    struct node *y = node_extremum(tape, sums, 1u << other, true, order > 0 ? 1 : -1);
    struct reduced reduction = { x, 1u << summed | 1u << other, keepdim, 1 };
    return reduced_shape(tape, y, &reduction);
}

struct node *matrix_norm_of(struct call *call, struct node *x, const struct value *order, int row,
                            int column, bool keepdim)
{
    struct tape *tape = call->tape;
    if (order->kind == VALUE_STRING) {
        if (!strcmp(order->string, "nuc")) return spectral(tape, x, row, column, 0, keepdim);
        if (!strcmp(order->string, "fro"))
            return node_vector_norm(tape, x, 2, 1u << row | 1u << column, keepdim);
        call_fail(call, "a norm of order '%s'", order->string);
        return tape_failure(call->tape);
    }
    double p = order->kind == VALUE_INT ? (double)order->integer : order->real;
    if (fabs(p) == 2) return spectral(tape, x, row, column, p, keepdim);
    if (fabs(p) == 1) return extreme_sum(tape, x, row, column, p, keepdim);
    if (isinf(p)) return extreme_sum(tape, x, column, row, p, keepdim);
    call_fail(call, "a matrix norm of order %g", p);
    return tape_failure(call->tape);
}

/* The dimension argument: how many were given (0 for None), wrapped. */
static int dims_of(struct call *call, const struct node *x, int dims[2])
{
    int64_t items[TENSOR_MAX_RANK];
    int count = call_ints(call, "dim", items, TENSOR_MAX_RANK);
    for (int i = 0; i < count && i < 2; i++) dims[i] = wrap_dim(call, items[i], x->rank);
    return count;
}

static bool is_number(const struct value *v)
{
    return v->kind == VALUE_INT || v->kind == VALUE_FLOAT;
}

/* ---- torch.norm ---------------------------------------------------------------------------------------- */

/* p a number: the vector norm over dim; 'fro' the same with 2; 'nuc' the sum of singular values. */
static void norm(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = norm_input(call, "input");
    const struct value *p = call_value(call, "p");
    int dims[2] = { 0, 1 };
    bool keepdim = call_bool(call, "keepdim");
    if (p->kind == VALUE_STRING && !strcmp(p->string, "nuc")) {
        int count = dims_of(call, x, dims);
        if (!call_require(call, count == 2 || x->rank == 2, "the nuclear norm takes matrices"))
            return;
        return_norm(call, spectral(tape, x, dims[0], dims[1], 0, keepdim), x);
        return;
    }
    if (!call_require(call, p->kind != VALUE_STRING || strcmp(p->string, "fro") == 0,
                      "a norm of order '%s'", p->string))
        return;
    double order = is_number(p) ? call_real(call, "p") : 2;
    uint32_t mask = call_dims(call, "dim", x);
    return_norm(call, node_vector_norm(tape, x, order, mask, keepdim), x);
}

static void frobenius_norm(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    uint32_t mask = call_dims(call, "dim", x);
    return_norm(call, node_vector_norm(call->tape, x, 2, mask, call_bool(call, "keepdim")), x);
}

/* Over all dimensions but one, kept; over everything for dim = -1. */
static void norm_except_dim(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "v");
    double p = call_real(call, "pow");
    int64_t dim = call_int(call, "dim");
    if (dim == -1) {
        return_norm(call, node_vector_norm(tape, x, p, all_dims(x), false), x);
        return;
    }
    int kept = wrap_dim(call, dim, x->rank);
    return_norm(call, node_vector_norm(tape, x, p, all_dims(x) & ~one_dim(x, kept), true), x);
}

static void norms_of_list(struct call *call)
{
    int count;
    struct node **list = call_tensors(call, "input", &count);
    double p = call_real(call, "ord");
    for (int i = 0; i < count; i++)
        return_norm(call, node_vector_norm(call->tape, list[i], p, all_dims(list[i]), false),
                    list[i]);
}

/* ---- torch.linalg ----------------------------------------------------------------------------------------- */

static void vector_norm(struct call *call)
{
    struct node *x = norm_input(call, "input");
    uint32_t mask = call_dims(call, "dim", x);
    return_norm(
        call,
        node_vector_norm(call->tape, x, call_real(call, "ord"), mask, call_bool(call, "keepdim")),
        x);
}

static void matrix_norm(struct call *call)
{
    struct node *x = norm_input(call, "input");
    int dims[2];
    int count = dims_of(call, x, dims);
    if (!call_require(call, count == 2 && dims[0] != dims[1], "a matrix norm takes two dimensions"))
        return;
    return_norm(call,
                matrix_norm_of(call, x, call_value(call, "ord"), dims[0], dims[1],
                               call_bool(call, "keepdim")),
                x);
}

/* Without an order the 2-norm of everything; with one, of a vector or a matrix. */
static void linalg_norm(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = norm_input(call, "input");
    const struct value *order = call_value(call, "ord");
    bool keepdim = call_bool(call, "keepdim");
    int dims[2] = { 0, 1 };
    int count = dims_of(call, x, dims);
    bool is_matrix = count == 2 || (count == 0 && x->rank == 2);
    struct node *y;
    if (order->kind == VALUE_NONE) {
        uint32_t mask = call_dims(call, "dim", x);
        y = node_vector_norm(tape, x, 2, mask, keepdim);
    } else if (is_matrix) {
        y = matrix_norm_of(call, x, order, dims[0], dims[1], keepdim);
    } else {
        if (!call_require(call, is_number(order), "a vector norm of order '%s'",
                          call_string(call, "ord")))
            return;
        y = node_vector_norm(tape, x, is_number(order) ? call_real(call, "ord") : 2,
                             count ? one_dim(x, dims[0]) : all_dims(x), keepdim);
    }
    return_norm(call, y, x);
}

/* clang-format off */
const struct op ops_vector_norm[] = {
    { "norm", TENSOR | TORCH, "(Tensor input, Any p='fro', int[]? dim=None, bool keepdim=False, ScalarType? dtype=None)", norm, OP_CASTS_FIRST, 0, NULL },
    { "linalg.norm|norm", TORCH, "(Tensor input, Any ord=None, int[]? dim=None, bool keepdim=False, *, ScalarType? dtype=None)", linalg_norm, OP_CASTS_FIRST, 0, NULL },
    { "linalg.vector_norm|vector_norm", TORCH, "(Tensor input, Scalar ord=2, int[]? dim=None, bool keepdim=False, *, ScalarType? dtype=None)", vector_norm, OP_ONE_NODE | OP_CASTS_FIRST, 0, NULL },
    { "linalg.matrix_norm|matrix_norm", TORCH, "(Tensor input, Any ord='fro', int[] dim=[-2, -1], bool keepdim=False, *, ScalarType? dtype=None)", matrix_norm, OP_CASTS_FIRST, 0, NULL },
    { "frobenius_norm", TORCH, "(Tensor input, int[] dim=[], bool keepdim=False)", frobenius_norm, 0, 0, NULL },
    { "native_norm", TORCH, "(Tensor input, Any p=2, int[]? dim=None, bool keepdim=False, ScalarType? dtype=None)", norm, OP_NO_GRADIENT | OP_CASTS_FIRST, 0, NULL },
    { "norm_except_dim", TORCH, "(Tensor v, int pow=2, int dim=0)", norm_except_dim, 0, 0, NULL },
    { "_foreach_norm", TORCH, "(Tensor[] input, Scalar ord=2)", norms_of_list, OP_NO_GRADIENT, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(vector_norm);
