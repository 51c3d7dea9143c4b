/* Arithmetic of two tensors: add, sub, mul, div and their roundings, powers, remainders,
 * extrema, and the functions of two variables that are one row of the function table.
 */
#include <math.h>
#include <string.h>

#include "bench/call/op.h"
#include "bench/ops/foreach.h"
#include "bench/ops/integers.h"
#include "bench/ops/operands.h"
#include "bench/primitives/alias.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/complex_functions.h"
#include "bench/primitives/composed_functions.h"
#include "bench/primitives/cotangent.h"
#include "bench/primitives/integral.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/selection.h"
#include "bench/primitives/stated_gradient.h"
#include "bench/primitives/unary.h"
#include "bench/tape/broadcast.h"

/* ---- integers ------------------------------------------------------------------------------- */

static int64_t rest_trunc(int64_t a, int64_t b) { return b == -1 || b == 0 ? 0 : a % b; }

static int64_t rest_floor(int64_t a, int64_t b)
{
    int64_t rest = rest_trunc(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

static int64_t quotient_floor(int64_t a, int64_t b)
{
    int64_t quotient = truncated_quotient(a, b), rest = rest_trunc(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? quotient - 1 : quotient;
}

/* Negative powers of integers are 0 but for 1 and -1. */
static int64_t integer_power(int64_t a, int64_t b)
{
    if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
    uint64_t power = 1, factor = (uint64_t)a;
    for (; b; b >>= 1) {
        if (b & 1) power *= factor;
        factor *= factor;
    }
    return (int64_t)power;
}

static int64_t greatest_common_divisor(int64_t a, int64_t b)
{
    uint64_t x = a < 0 ? 0 - (uint64_t)a : (uint64_t)a, y = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;
    while (y) {
        uint64_t rest = x % y;
        x = y;
        y = rest;
    }
    return (int64_t)x;
}

static int64_t least_common_multiple(int64_t a, int64_t b)
{
    int64_t divisor = greatest_common_divisor(a, b);
    int64_t product = divisor ? wrapping_multiply(a / divisor, b) : 0;
    return product < 0 ? wrapping_negate(product) : product;
}

static int64_t step(int64_t a, int64_t b) { return a == 0 ? b : a > 0; }

/* PyTorch raises on integer division by zero. */
static void refuse_zero_divisors(struct call *call, const struct node *a, const struct node *b)
{
    if (!a->n) return; /* nothing is divided */
    for (size_t i = 0; i < b->n && !tape_failed(call->tape); i++)
        if (!call_require(call, b->integer[i] != 0, "an integer divisor is 0")) return;
}

/* ---- sums and products ------------------------------------------------------------------------ */

/* a + alpha b and a - alpha b; detail is the sign. rsub swaps its operands: text "swap". */
static void add(struct call *call)
{
    struct tape *tape = call->tape;
    struct operands operands = two_operands(call, "input", "other");
    struct node *alpha = call_node(call, call_value(call, "alpha"));
    int sign = (int)call->op->detail;
    tape_defer(tape);
    if (call->op->text) {
        struct node *a = operands.a;
        operands.a = operands.b;
        operands.b = a;
    }
    if (operands.integral && alpha->integer) {
        struct node *scaled =
            node_integer_binary(tape, operands.dtype, wrapping_multiply, operands.b, alpha);
        call_return(call, node_integer_binary(tape, operands.dtype,
                                              sign > 0 ? wrapping_add : wrapping_subtract,
                                              operands.a, scaled));
        return;
    }
    struct node *b = operands.b;
    if (call_real(call, "alpha") != 1)
        b = node_multiply(tape, operand_repeated(tape, b, operands.a), alpha);
    call_return_typed(call,
                      sign > 0 ? node_add(tape, operands.a, b) : node_subtract(tape, operands.a, b),
                      operands.dtype);
}

/* relu(a + alpha b) */
static void add_relu(struct call *call)
{
    struct tape *tape = call->tape;
    struct operands operands = two_operands(call, "input", "other");
    struct node *alpha = call_node(call, call_value(call, "alpha")), *zero = node_scalar(tape, 0);
    struct node *sum = node_add(tape, operands.a, node_multiply(tape, operands.b, alpha));
    call_return_typed(call, node_select(tape, node_compare(tape, COMPARE_LE, sum, zero), zero, sum),
                      operands.dtype);
}

static void multiply(struct call *call)
{
    struct operands operands = two_operands(call, "input", "other");
    tape_defer(call->tape);
    call_return_typed(call, node_multiply_as(call->tape, operands.dtype, operands.a, operands.b),
                      operands.dtype);
}

/* ---- quotients ---------------------------------------------------------------------------------- */

static void divide_exactly(struct call *call)
{
    struct operands operands = two_float_operands(call, "input", "other");
    tape_defer(call->tape);
    call_return_typed(call, node_divide(call->tape, operands.a, operands.b), operands.dtype);
}

/* PyTorch's __rtruediv__ is reciprocal() * other. */
static void divide_reflected(struct call *call)
{
    struct tape *tape = call->tape;
    struct operands operands = two_float_operands(call, "input", "other");
    if (!composes(tape) || operands.a->imaginary || operands.b->imaginary) {
        divide_exactly(call);
        return;
    }
    struct node *inverse = node_apply(tape, "reciprocal", operands.b);
    call_return_typed(call, node_multiply(tape, inverse, operands.a), operands.dtype);
}

static void divide_rounded(struct call *call, bool down)
{
    struct tape *tape = call->tape;
    struct operands operands = two_operands(call, "input", "other");
    if (operands.integral) {
        refuse_zero_divisors(call, operands.a, operands.b);
        call_return(call, node_integer_binary(tape, operands.dtype,
                                              down ? quotient_floor : truncated_quotient,
                                              operands.a, operands.b));
        return;
    }
    struct node *y = down ? node_apply2(tape, "floor_divide", operands.a, operands.b)
                          : node_apply(tape, "trunc", node_divide(tape, operands.a, operands.b));
    struct node *inputs[2] = { node_to_real(tape, operands.a), node_to_real(tape, operands.b) };
    call_return_typed(call, node_flat(tape, y, 2, inputs), operands.dtype);
}

static void divide(struct call *call)
{
    const char *mode = call_string(call, "rounding_mode");
    if (!*mode) divide_exactly(call);
    else if (!strcmp(mode, "floor") || !strcmp(mode, "trunc"))
        divide_rounded(call, !strcmp(mode, "floor"));
    else call_fail(call, "rounding_mode is '%s'; it can be 'trunc' or 'floor'", mode);
}

static void floor_divide(struct call *call) { divide_rounded(call, true); }

/* In a model: anything where a / b is beyond the largest number, as kernels form a - b floor(a / b). */
static struct node *open_beyond_quotients(struct tape *tape, struct node *y, struct node *a,
                                          struct node *b)
{
    if (!tape_is_model(tape) || y->imaginary) return y;
    struct node *q = node_divide(tape, node_detach(tape, a), node_detach(tape, b));
    const double *value = node_values(tape, q),
                 most = dtype_info(tape->wide ? DT_F64 : DT_F32)->largest;
    struct node *lost = node_new_integer(tape, DT_BOOL, y->rank, y->shape);
    bool any = false;
    for (size_t i = 0; !tape_failed(tape) && i < y->n; i++)
        any |= lost->integer[i] = fabs(value[i]) > most && isfinite(node_value_at(y, i));
    return any ? node_model_anything(tape, y, lost) : y;
}

/* remainder (sign of the divisor; text "remainder") and fmod (of the dividend; "fmod"). */
static void modulo(struct call *call)
{
    struct tape *tape = call->tape;
    struct operands operands = two_operands(call, "input", "other");
    bool floored = !strcmp(call->op->text, "remainder");
    if (operands.integral) {
        refuse_zero_divisors(call, operands.a, operands.b);
        call_return(call,
                    node_integer_binary(tape, operands.dtype, floored ? rest_floor : rest_trunc,
                                        operands.a, operands.b));
    } else {
        struct node *y = node_apply2(tape, call->op->text, operands.a, operands.b);
        if (floored) y = open_beyond_quotients(tape, y, operands.a, operands.b);
        call_return_typed(call, y, operands.dtype);
    }
}

/* ---- powers --------------------------------------------------------------------------------------- */

static void power(struct call *call)
{
    struct tape *tape = call->tape;
    struct operands operands = two_operands(call, "input", "exponent");
    if (operands.integral)
        call_return(
            call, node_integer_binary(tape, operands.dtype, integer_power, operands.a, operands.b));
    else call_return_typed(call, node_power(tape, operands.a, operands.b), operands.dtype);
}

/* In float64 whatever comes in. */
static void float_power(struct call *call)
{
    struct tape *tape = call->tape;
    struct operands operands = two_operands(call, "input", "exponent");
    call_return_typed(call, node_power(tape, operands.a, operands.b),
                      dtype_is_complex(operands.dtype) ? DT_C128 : DT_F64);
}

/* input * 2^other */
static void scale_by_power(struct call *call)
{
    struct tape *tape = call->tape;
    struct operands operands = two_float_operands(call, "input", "other");
    struct node *scale = node_power(tape, node_scalar(tape, 2), operands.b);
    call_return_typed(call, node_multiply(tape, operands.a, scale), operands.dtype);
}

/* ---- extrema ----------------------------------------------------------------------------------------- */

struct choice {
    bool most, ignores_nan;
};

/* Of two equal values each takes half the cotangent; fmax and fmin give the first all of it. */
static void extremum_backward(struct tape *tape, struct node *node, struct node *cotangent,
                              const void *parameters)
{
    const struct choice *choice = parameters;
    struct node *a = node->inputs[1], *b = node->inputs[2];
    struct node *one = node_scalar(tape, 1), *zero = node_scalar(tape, 0),
                *half = node_scalar(tape, 0.5);
    struct node *first = node_compare(tape, choice->most ? COMPARE_GT : COMPARE_LT, a, b);
    struct node *equal = node_compare(tape, COMPARE_EQ, a, b);
    if (choice->ignores_nan) first = node_or(tape, first, node_isnan(tape, b));
    struct node *ties[2] = { choice->ignores_nan ? one : half, choice->ignores_nan ? zero : half };
    struct node *share = node_select(tape, first, one, node_select(tape, equal, ties[0], zero));
    struct node *rest = node_select(tape, first, zero, node_select(tape, equal, ties[1], one));
    if (!choice->ignores_nan) { /* a NaN on either side passes the cotangent to both */
        struct node *nan = node_or(tape, node_isnan(tape, a), node_isnan(tape, b));
        share = node_select(tape, nan, one, share);
        rest = node_select(tape, nan, one, rest);
    }
    gradient_pass(tape, a, cotangent, share);
    gradient_pass(tape, b, cotangent, rest);
}

void call_return_larger(struct call *call, struct operands *operands, bool most, bool ignores_nan)
{
    struct tape *tape = call->tape;
    if (operands->integral) {
        call_return(call, node_integer_binary(tape, operands->dtype,
                                              most ? larger_integer : smaller_integer, operands->a,
                                              operands->b));
        return;
    }
    struct choice *choice = tape_allocate(tape, 1, sizeof *choice);
    if (!choice) return;
    *choice = (struct choice){ most, ignores_nan };
    struct node *a = node_to_real(tape, operands->a), *b = node_to_real(tape, operands->b);
    struct node *first = node_compare(tape, most ? COMPARE_GE : COMPARE_LE, a, b);
    first = node_or(tape, first, node_isnan(tape, ignores_nan ? b : a));
    struct node *y = node_select(tape, first, a, b);
    y = node_stated_gradient(tape, y, 2, (struct node *[]){ a, b }, extremum_backward, choice);
    call_return_typed(call, y, operands->dtype);
}

/* maximum, minimum: NaN wins. fmax, fmin (text): NaN loses. detail: the sign. */
static void extremum(struct call *call)
{
    struct operands operands = two_operands(call, "input", "other");
    call_return_larger(call, &operands, call->op->detail > 0, call->op->text != NULL);
}

/* 0 below, 1 above, `values` at zero; NaN counts as not above. */
static void heaviside(struct call *call)
{
    struct tape *tape = call->tape;
    struct operands operands = two_operands(call, "input", "values");
    if (operands.integral) {
        call_return(call, node_integer_binary(tape, operands.dtype, step, operands.a, operands.b));
        return;
    }
    struct node *zero = node_scalar(tape, 0), *one = node_scalar(tape, 1);
    struct node *side =
        node_select(tape, node_compare(tape, COMPARE_GT, operands.a, zero), one, zero);
    call_return_typed(
        call, node_select(tape, node_compare(tape, COMPARE_EQ, operands.a, zero), operands.b, side),
        operands.dtype);
}

/* The neighbour of a toward b in their own dtype: sign and magnitude as an integer step. */
static double neighbour(double a, double b, enum dtype dtype)
{
    if (isnan(a) || isnan(b)) return NAN;
    if (a == b) return b;
    if (dtype == DT_F64) return nextafter(a, b);
    double least =
        ldexp(1, dtype_info(dtype)->exponent_min - dtype_info(dtype)->significand_bits + 1);
    if (a == 0) return copysign(least, b);
    if (isinf(a)) return copysign(dtype_info(dtype)->largest, a);
    /* Away from zero the spacing is that at a; toward zero that below a. */
    bool outward = (b > a) == (a > 0);
    double spacing = dtype_ulp(dtype, outward ? a : a * (1 - 0x1p-52));
    double next = (b > a) ? a + spacing : a - spacing;
    return fabs(next) > dtype_info(dtype)->largest ? copysign(INFINITY, next) : next;
}

static void next_after(struct call *call)
{
    struct tape *tape = call->tape;
    struct operands operands = two_operands(call, "input", "other");
    int64_t shape[TENSOR_MAX_RANK];
    int rank;
    if (!call_require(call,
                      shape_broadcast(&rank, shape, operands.a->rank, operands.a->shape,
                                      operands.b->rank, operands.b->shape),
                      "the shapes do not broadcast"))
        return;
    struct node *a = node_broadcast(tape, node_to_real(tape, operands.a), rank, shape);
    struct node *b = node_broadcast(tape, node_to_real(tape, operands.b), rank, shape);
    struct node *y = node_new_real(tape, operands.dtype, rank, shape);
    const double *from = node_values(tape, a), *to = node_values(tape, b);
    if (tape_failed(tape)) return;
    for (size_t i = 0; i < y->n; i++) y->value[i] = neighbour(from[i], to[i], operands.dtype);
    call_return(call, y);
}

/* ---- rows of the function table --------------------------------------------------------------------- */

/* text: the function. */
static void binary(struct call *call)
{
    struct operands operands = two_float_operands(call, "input", "other");
    call_return_typed(call, node_apply2(call->tape, call->op->text, operands.a, operands.b),
                      operands.dtype);
}

/* logaddexp and logaddexp2. Kernels form max + log(1 + exp(-d)), d = |a - b|: the logarithm's errors are
 * absolute where the result is small. */
static void log_of_sum(struct call *call)
{
    struct tape *tape = call->tape;
    struct operands operands = two_float_operands(call, "input", "other");
    struct node *y = node_apply2(tape, call->op->text, operands.a, operands.b);
    if (tape_is_model(tape) && !tape_failed(tape)) {
        struct node *d =
            node_detach(tape, node_apply(tape, "abs", node_subtract(tape, operands.a, operands.b)));
        struct node *log = node_apply(tape, "softplus", node_negate(tape, d));
        y = node_model_error(tape, y, node_offset(tape, log, 0.25), 16);
    }
    call_return_typed(call, y, operands.dtype);
}

/* a log1p(b), 0 where a is unless b is NaN. */
static void x_log1p_y(struct call *call)
{
    struct tape *tape = call->tape;
    struct operands operands = two_float_operands(call, "input", "other");
    struct node *zero = node_scalar(tape, 0), *b = node_to_real(tape, operands.b);
    struct node *endless = node_or(tape, node_compare(tape, COMPARE_LE, b, node_scalar(tape, -1)),
                                   node_compare(tape, COMPARE_EQ, b, node_scalar(tape, INFINITY)));
    struct node *none = node_and(tape, node_compare(tape, COMPARE_EQ, operands.a, zero), endless);
    struct node *log = node_apply(tape, "log1p", node_select(tape, none, zero, b));
    call_return_typed(call, node_multiply(tape, operands.a, log), operands.dtype);
}

/* Integers only: detail 0 gcd, 1 lcm. */
static void divisors(struct call *call)
{
    struct operands operands = two_operands(call, "input", "other");
    if (!call_require(call, operands.integral, "gcd and lcm take integers")) return;
    call_return(call, node_integer_binary(call->tape, operands.dtype,
                                          call->op->detail ? least_common_multiple
                                                           : greatest_common_divisor,
                                          operands.a, operands.b));
}

/* ---- lists ------------------------------------------------------------------------------------ */

/* clang-format off */
static void each_add(struct call *call) { call_for_each(call, add); }
static void each_multiply(struct call *call) { call_for_each(call, multiply); }
static void each_divide(struct call *call) { call_for_each(call, divide_exactly); }
static void each_power(struct call *call) { call_for_each(call, power); }
static void each_extremum(struct call *call) { call_for_each(call, extremum); }
/* clang-format on */

/* clang-format off */
#define TWO "(Tensor input, Tensor other)"
#define EACH_TWO "(Tensor[] input, Any other"
const struct op ops_arithmetic[] = {
    { "add", TENSOR | TORCH, "(Tensor input, Tensor other, *, Scalar alpha=1)", add, OP_ONE_NODE, 1, NULL },
    { "sub|subtract", TENSOR | TORCH, "(Tensor input, Tensor other, *, Scalar alpha=1)", add, OP_ONE_NODE, -1, NULL },
    { "rsub", TENSOR | TORCH, "(Tensor input, Tensor other, *, Scalar alpha=1)", add, OP_ONE_NODE, -1, "swap" },
    /* The older order, add(input, alpha, other). */
    { "add", TENSOR | TORCH, "(Tensor input, Scalar alpha, Tensor other)", add, OP_ONE_NODE, 1, NULL },
    { "sub", TENSOR | TORCH, "(Tensor input, Scalar alpha, Tensor other)", add, OP_ONE_NODE, -1, NULL },
    { "_add_relu", TORCH, "(Tensor input, Tensor other, *, Scalar alpha=1)", add_relu, OP_NO_GRADIENT, 0, NULL },
    { "mul|multiply", TENSOR | TORCH, TWO, multiply, OP_ONE_NODE, 0, NULL },
    { "div|divide", TENSOR | TORCH, "(Tensor input, Tensor other, *, str? rounding_mode=None)", divide, OP_ONE_NODE, 0, NULL },
    { "__rdiv__|__rtruediv__", TENSOR, "(Tensor other, Tensor input)", divide_reflected, 0, 0, NULL },
    { "true_divide", TENSOR | TORCH, TWO, divide_exactly, OP_ONE_NODE, 0, NULL },
    { "floor_divide", TENSOR | TORCH, TWO, floor_divide, OP_NO_GRADIENT, 0, NULL },
    { "remainder", TENSOR | TORCH, TWO, modulo, OP_ONE_NODE, 0, "remainder" },
    { "fmod", TENSOR | TORCH, TWO, modulo, OP_ONE_NODE, 0, "fmod" },
    { "pow", TENSOR | TORCH, "(Tensor input, Tensor exponent)", power, OP_ONE_NODE, 0, NULL },
    { "float_power", TENSOR | TORCH, "(Tensor input, Tensor exponent)", float_power, 0, 0, NULL },
    { "ldexp", TENSOR | TORCH, TWO, scale_by_power, 0, 0, NULL },
    { "maximum", TENSOR | TORCH, TWO, extremum, OP_ONE_NODE, 1, NULL },
    { "minimum", TENSOR | TORCH, TWO, extremum, OP_ONE_NODE, -1, NULL },
    { "fmax", TENSOR | TORCH, TWO, extremum, OP_ONE_NODE, 1, "fmax" },
    { "fmin", TENSOR | TORCH, TWO, extremum, OP_ONE_NODE, -1, "fmin" },
    { "heaviside", TENSOR | TORCH, "(Tensor input, Tensor values)", heaviside, OP_NO_GRADIENT, 0, NULL },
    { "nextafter", TENSOR | TORCH, TWO, next_after, OP_NO_GRADIENT, 0, NULL },
    { "atan2|arctan2", TENSOR | TORCH, TWO, binary, OP_ONE_NODE, 0, "atan2" },
    { "hypot", TENSOR | TORCH, TWO, binary, OP_ONE_NODE, 0, "hypot" },
    { "copysign", TENSOR | TORCH, TWO, binary, OP_ONE_NODE, 0, "copysign" },
    { "logaddexp", TENSOR | TORCH, TWO, log_of_sum, OP_ONE_NODE, 0, "logaddexp" },
    { "logaddexp2", TENSOR | TORCH, TWO, log_of_sum, OP_ONE_NODE, 0, "logaddexp2" },
    { "xlogy", TENSOR | TORCH, TWO, binary, OP_ONE_NODE, 0, "xlogy" },
    { "special.xlog1py", TORCH, TWO, x_log1p_y, OP_ONE_NODE, 0, NULL },
    { "igamma", TENSOR | TORCH, TWO, binary, OP_ONE_NODE, 0, "igamma" },
    { "igammac", TENSOR | TORCH, TWO, binary, OP_ONE_NODE, 0, "igammac" },
    { "gcd", TENSOR | TORCH, TWO, divisors, OP_NO_GRADIENT, 0, NULL },
    { "lcm", TENSOR | TORCH, TWO, divisors, OP_NO_GRADIENT, 1, NULL },
    /* The second argument is a list of tensors, a list of numbers, or one number for all. */
    { "_foreach_add", TORCH, EACH_TWO ", *, Scalar alpha=1)", each_add, OP_ONE_NODE, 1, NULL },
    { "_foreach_sub", TORCH, EACH_TWO ", *, Scalar alpha=1)", each_add, OP_ONE_NODE, -1, NULL },
    { "_foreach_mul", TORCH, EACH_TWO ")", each_multiply, OP_ONE_NODE, 0, NULL },
    { "_foreach_div", TORCH, EACH_TWO ")", each_divide, OP_ONE_NODE, 0, NULL },
    { "_foreach_pow", TORCH, "(Tensor[] input, Any exponent)", each_power, OP_ONE_NODE, 0, NULL },
    { "_foreach_maximum|_foreach_clamp_min", TORCH, EACH_TWO ")", each_extremum, OP_ONE_NODE, 1, NULL },
    { "_foreach_minimum|_foreach_clamp_max", TORCH, EACH_TWO ")", each_extremum, OP_ONE_NODE, -1, NULL },
};
/* clang-format on */
OP_TABLE_END(arithmetic);
