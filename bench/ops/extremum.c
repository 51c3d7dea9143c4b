/* Largest and smallest elements, and where they are. */
#include <math.h>
#include <string.h>

#include "bench/call/op.h"
#include "bench/ops/operands.h"
#include "bench/ops/reduction_arguments.h"
#include "bench/ops/settling.h"
#include "bench/primitives/alias.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/extremum.h"
#include "bench/primitives/gather.h"
#include "bench/primitives/integral.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/reduce.h"
#include "bench/primitives/selection.h"

/* Largest (sign 1) or smallest (-1) elements of one dimension and their positions; of equal ones
 * the device's position counts (output number `output`). keepdim shapes. The gradient goes to
 * the position. */
static struct node *extremum_along(struct call *call, struct node *x, int dim, int sign,
                                   size_t output, struct node **index)
{
    struct tape *tape = call->tape;
    if (!call_require(call, !x->rank || x->shape[dim] != 0,
                      "there is no extremum of an empty dimension"))
        return x;
    *index = settled_positions(call, output, x, dim, node_arg_extremum(tape, x, dim, sign));
    return node_take_along(tape, x, dim, *index);
}

/* ---- extrema ------------------------------------------------------------------------------------------ */

static bool has_nan(struct tape *tape, struct node *x)
{
    if (x->integer) return false;
    const double *value = node_values(tape, x);
    for (size_t i = 0; !tape_failed(tape) && i < x->n; i++)
        if (isnan(value[i])) return true;
    return false;
}

/* The mean of the elements that are NaN: a NaN whose cotangent they share, and of which the others have 0. */
static struct node *mean_of_nans(struct tape *tape, struct node *x)
{
    struct node *is_nan = node_compare(tape, COMPARE_NE, x, x);
    struct node *sum =
        node_sum(tape, node_select(tape, is_nan, x, node_scalar(tape, 0)), all_dims(x), false);
    return node_divide(tape, sum, node_sum(tape, node_to_real(tape, is_nan), all_dims(x), false));
}

/* max(input), min(input): equal ones share the cotangent. NaN equals nothing, and gets a share or none; no other element has one then
 * (evenly_distribute_backward in PyTorch's FunctionsManual.cpp). */
static void extremum_of_all(struct call *call)
{
    struct node *x = node_model_any_slope_at_nan(call->tape, call_tensor(call, "input"));
    struct node *y = has_nan(call->tape, x)
                         ? mean_of_nans(call->tape, x)
                         : node_extremum(call->tape, x, all_dims(x), false, (int)call->op->detail);
    call_return_typed(call, y, x->dtype);
}

/* max(input, other): detail is the sign. */
static void extremum_of_two(struct call *call)
{
    struct operands operands = two_operands(call, "input", "other");
    call_return_larger(call, &operands, call->op->detail > 0, false);
}

/* max(input, dim): values and indices. A tensor in the place of dim is the other operand of
 * max(input, other), also one that could pass for a number. */
static void extremum_of_dim(struct call *call)
{
    struct tape *tape = call->tape;
    if (call_value(call, "dim")->kind == VALUE_TENSOR) {
        struct operands operands = two_operands(call, "input", "dim");
        call_return_larger(call, &operands, call->op->detail > 0, false);
        return;
    }
    struct node *x = call_tensor(call, "input"), *index = x;
    int dim = call_dim(call, "dim", x->rank);
    struct reduced reduction = { x, one_dim(x, dim), call_bool(call, "keepdim"), 1 };
    struct node *y = extremum_along(call, x, dim, (int)call->op->detail, 1, &index);
    call_return_typed(call, reduced_shape(tape, y, &reduction), x->dtype);
    call_return(call, reduced_shape(tape, index, &reduction));
}

/* amax, amin over any dimensions. */
static void extremum_of_dims(struct call *call)
{
    struct reduced reduction = reduced_argument(call);
    call_return_typed(call,
                      node_extremum(call->tape, reduction.x, reduction.dims, reduction.keepdim,
                                    (int)call->op->detail),
                      reduction.x->dtype);
}

/* The smallest and the largest. */
static void both_extrema(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    bool all = call_is_none(call, "dim"), keepdim = call_bool(call, "keepdim");
    uint32_t dims = all ? all_dims(x) : one_dim(x, call_dim(call, "dim", x->rank));
    for (int sign = -1; sign <= 1; sign += 2)
        call_return_typed(call, node_extremum(call->tape, x, dims, keepdim, sign), x->dtype);
}

/* argmax, argmin; without dim the position in the flattened tensor. */
static void position(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input"), *index = x;
    struct reduced reduction = { x, 0, call_bool(call, "keepdim"), 1 };
    int64_t flat[1] = { -1 }, ones[TENSOR_MAX_RANK];
    bool all = call_is_none(call, "dim");
    int dim = all ? 0 : call_dim(call, "dim", x->rank);
    struct node *lines = all ? node_reshape(tape, x, 1, flat) : x;
    (void)extremum_along(call, lines, dim, (int)call->op->detail, 0, &index);
    if (all) {
        for (int d = 0; d < x->rank; d++) ones[d] = 1;
        index = node_reshape(tape, index, reduction.keepdim ? x->rank : 0, ones);
    } else {
        reduction.dims = one_dim(x, dim);
        index = reduced_shape(tape, index, &reduction);
    }
    call_return(call, index);
}

/* clang-format off */
#define ANY_DIMS "(Tensor input, int[]? dim=None, bool keepdim=False)"
#define MAYBE_DIM "(Tensor input, int? dim=None, bool keepdim=False)"
const struct op ops_extremum[] = {
    { "max", TENSOR | TORCH, "(Tensor input, Tensor dim, bool keepdim=False)", extremum_of_dim, OP_ONE_NODE, 1, NULL },
    { "min", TENSOR | TORCH, "(Tensor input, Tensor dim, bool keepdim=False)", extremum_of_dim, OP_ONE_NODE, -1, NULL },
    { "max", TENSOR | TORCH, "(Tensor input)", extremum_of_all, OP_ONE_NODE, 1, NULL },
    { "min", TENSOR | TORCH, "(Tensor input)", extremum_of_all, OP_ONE_NODE, -1, NULL },
    { "max", TENSOR | TORCH, "(Tensor input, Tensor other)", extremum_of_two, OP_ONE_NODE, 1, NULL },
    { "min", TENSOR | TORCH, "(Tensor input, Tensor other)", extremum_of_two, OP_ONE_NODE, -1, NULL },
    { "amax", TENSOR | TORCH, ANY_DIMS, extremum_of_dims, OP_ONE_NODE, 1, NULL },
    { "amin", TENSOR | TORCH, ANY_DIMS, extremum_of_dims, OP_ONE_NODE, -1, NULL },
    { "aminmax", TENSOR | TORCH, "(Tensor input, *, int? dim=None, bool keepdim=False)", both_extrema, OP_ONE_NODE, 0, NULL },
    { "_aminmax", TORCH, MAYBE_DIM, both_extrema, OP_NO_GRADIENT, 0, NULL },
    { "argmax", TENSOR | TORCH, MAYBE_DIM, position, OP_NO_GRADIENT, 1, NULL },
    { "argmin", TENSOR | TORCH, MAYBE_DIM, position, OP_NO_GRADIENT, -1, NULL },
};
/* clang-format on */
OP_TABLE_END(extremum);
