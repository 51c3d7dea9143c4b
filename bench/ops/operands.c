/* Operands in their common dtype, masks. */
#include "bench/ops/operands.h"

#include "bench/primitives/alias.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/composed_functions.h"
#include "bench/primitives/integral.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/selection.h"
#include "bench/primitives/unary.h"
#include "bench/tape/broadcast.h"

/* Tensors of no dimensions and of other kinds do not widen the result: they are cast to it. */
static struct operands with_casts(struct tape *tape, struct operands operands)
{
    operands.a = node_staged_operand(tape, operands.a, operands.dtype);
    operands.b = node_staged_operand(tape, operands.b, operands.dtype);
    return operands;
}

struct operands two_operands(struct call *call, const char *first, const char *second)
{
    struct tape *tape = call->tape;
    struct operands operands = { call_tensor(call, first), call_tensor(call, second), DT_NONE,
                                 false };
    operands.dtype = call_result_type(call, (struct node *[]){ operands.a, operands.b }, 2);
    operands.integral = operands.a->integer && operands.b->integer;
    if (operands.integral && dtype_is_integral(operands.dtype)) {
        if (operands.a->dtype != operands.dtype)
            operands.a = node_to_integer(tape, operands.a, operands.dtype);
        if (operands.b->dtype != operands.dtype)
            operands.b = node_to_integer(tape, operands.b, operands.dtype);
    }
    return with_casts(tape, operands);
}

struct operands two_float_operands(struct call *call, const char *first, const char *second)
{
    struct operands operands = { call_tensor(call, first), call_tensor(call, second), DT_NONE,
                                 false };
    operands.dtype = call_float_type(call, (struct node *[]){ operands.a, operands.b }, 2);
    return with_casts(call->tape, operands);
}

struct node *operand_repeated(struct tape *tape, struct node *x, const struct node *other)
{
    int64_t shape[TENSOR_MAX_RANK];
    int rank;
    if (!(tape_is_model(tape) || composes(tape)) || tape_failed(tape) || x->integer ||
        !shape_broadcast(&rank, shape, x->rank, x->shape, other->rank, other->shape))
        return x;
    return node_broadcast(tape, x, rank, shape);
}

double number_as_compared(double x, enum dtype dtype)
{
    unsigned char narrow[16];
    if (dtype == DT_NONE || !dtype_is_float(dtype)) return x;
    dtype_from_double(narrow, dtype, &x, 1);
    dtype_to_double(&x, narrow, dtype, 1);
    return x;
}

struct node *node_as_compared(struct tape *tape, struct node *x, enum dtype dtype)
{
    if (x->imaginary || !dtype_is_float(dtype) || (!x->integer && x->dtype != DT_NONE)) return x;
    const double *value = x->integer ? NULL : node_values(tape, x);
    struct node *node = node_new_real(tape, dtype, x->rank, x->shape);
    if (tape_failed(tape)) return tape_failure(tape);
    for (size_t i = 0; i < x->n; i++) {
        double exact = value ? value[i] : (double)x->integer[i];
        /* Integers become float32 in one rounding, float16 and bfloat16 by way of it. */
        if (!value && dtype != DT_F64) exact = (float)x->integer[i];
        node->value[i] = number_as_compared(exact, dtype);
    }
    return node;
}

struct node *node_pi(struct tape *tape)
{
    return node_apply(tape, "times_pi", node_scalar(tape, 1));
}

struct node *node_positive_part(struct tape *tape, struct node *x)
{
    struct node *zero = node_scalar(tape, 0);
    x = node_model_choice(tape, x, x, zero); /* a slope that jumps on either side of 0 */
    struct node *y = node_select(tape, node_compare(tape, COMPARE_LT, x, zero), zero, x);
    return node_model_choice(tape, y, x, zero);
}

struct node *node_band(struct tape *tape, int64_t rows, int64_t columns, int64_t above,
                       int64_t below)
{
    int64_t shape[2] = { rows, columns };
    struct node *mask = node_new_integer(tape, DT_BOOL, 2, shape);
    for (int64_t i = 0; i < rows && !tape_failed(tape); i++)
        for (int64_t j = 0; j < columns; j++)
            mask->integer[i * columns + j] = j - i <= above && i - j <= below;
    return mask;
}

/* clang-format off */
static int64_t both(int64_t a, int64_t b) { return a && b; }
static int64_t either(int64_t a, int64_t b) { return a || b; }
static int64_t neither(int64_t a) { return !a; }
static bool is_nan(double x) { return isnan(x); }
/* clang-format on */

struct node *node_and(struct tape *tape, struct node *a, struct node *b)
{
    return node_integer_binary(tape, DT_BOOL, both, a, b);
}

struct node *node_or(struct tape *tape, struct node *a, struct node *b)
{
    return node_integer_binary(tape, DT_BOOL, either, a, b);
}

struct node *node_not(struct tape *tape, struct node *a)
{
    return node_integer_unary(tape, DT_BOOL, neither, a);
}

struct node *node_isnan(struct tape *tape, struct node *x)
{
    if (x->integer) return node_integer_constant(tape, DT_BOOL, 0, x->rank, x->shape);
    return node_predicate(tape, is_nan, x);
}
