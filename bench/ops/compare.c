/* Comparison, logic and bits. Operands are compared in their common dtype, as PyTorch's kernels
 * hold them: 0.1 compared with a float32 tensor is float32's 0.1.
 */
#include <math.h>
#include <string.h>

#include "bench/call/op.h"
#include "bench/ops/integers.h"
#include "bench/ops/operands.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/complex_parts.h"
#include "bench/primitives/integral.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/selection.h"
#include "bench/primitives/stated_gradient.h"
#include "bench/tape/broadcast.h"

/* ---- comparisons ------------------------------------------------------------------------------ */

static struct node *differ(struct tape *tape, struct node *a, struct node *b)
{
    struct node *re =
        node_compare(tape, COMPARE_NE, node_real_part(tape, a), node_real_part(tape, b));
    return node_or(
        tape, re,
        node_compare(tape, COMPARE_NE, node_imaginary_part(tape, a), node_imaginary_part(tape, b)));
}

/* Truth values: bools, or written into self. There PyTorch gives self and the other operand of a
 * comparison gradients of zeros, and lets the gradient of self pass logic untouched. */
static void return_truth(struct call *call, struct node *truth, bool is_comparison)
{
    struct tape *tape = call->tape;
    struct node *self = call_tensor(call, "input");
    if (!call->in_place || tape_failed(tape) || dtype_is_integral(self->dtype)) {
        call_return(call, truth);
        return;
    }
    struct node *never = node_integer_constant(tape, DT_BOOL, 0, 0, NULL);
    struct node *y = node_cast(tape, truth, self->dtype);
    if (is_comparison)
        y = node_select(
            tape, never, self,
            node_select(tape, never, node_to_real(tape, call_tensor(call, "other")), y));
    else y = node_straight_through(tape, y, self);
    call_return_typed(call, y, self->dtype);
}

/* detail: enum comparison. */
static void compare(struct call *call)
{
    struct tape *tape = call->tape;
    struct operands operands = two_operands(call, "input", "other");
    enum comparison comparison = (enum comparison)call->op->detail;
    if (operands.a->imaginary || operands.b->imaginary) {
        struct node *a = node_cast(tape, operands.a, operands.dtype),
                    *b = node_cast(tape, operands.b, operands.dtype);
        struct node *unequal = differ(tape, a, b);
        if (!call_require(call, comparison == COMPARE_EQ || comparison == COMPARE_NE,
                          "complex numbers have no order"))
            return;
        return_truth(call, comparison == COMPARE_NE ? unequal : node_not(tape, unequal), true);
        return;
    }
    return_truth(call,
                 node_compare(tape, comparison, node_as_compared(tape, operands.a, operands.dtype),
                              node_as_compared(tape, operands.b, operands.dtype)),
                 true);
}

static void return_bool(struct call *call, bool answer)
{
    struct value value = { .kind = VALUE_BOOL };
    value.boolean = answer;
    call_return_value(call, value);
}

static bool all_set(const struct node *x)
{
    for (size_t i = 0; i < x->n; i++)
        if (!x->integer[i]) return false;
    return true;
}

static bool same_shape(const struct node *a, const struct node *b)
{
    return a->rank == b->rank && !memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape);
}

/* Same size and elements: a Python bool. */
static void equal(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *a = call_tensor(call, "input"), *b = call_tensor(call, "other");
    if (tape_failed(tape)) return;
    bool equal_elements = false;
    if (same_shape(a, b)) {
        struct node *same = node_not(tape, differ(tape, a, b));
        if (tape_failed(tape)) return;
        equal_elements = all_set(same);
    }
    return_bool(call, equal_elements);
}

/* Are a and b equal, or both NaN where that counts, or within atol + rtol |b|? Infinities are
 * close to themselves only. In extended precision: it holds every integer, and a double difference
 * could round across the limit. */
static bool is_close(long double a, long double b, double rtol, double atol, bool equal_nan)
{
    if (a == b) return true;
    if (isnan(a) && isnan(b)) return equal_nan;
    if (!isfinite(a) || !isfinite(b)) return false;
    return fabsl(a - b) <= (long double)atol + rtol * fabsl(b);
}

static bool is_close_complex(const double *a, const double *b, double rtol, double atol)
{
    return (a[0] == b[0] && a[1] == b[1]) ||
           hypot(a[0] - b[0], a[1] - b[1]) <= atol + rtol * hypot(b[0], b[1]);
}

static struct node *close_elements(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *a = call_tensor(call, "input"), *b = call_tensor(call, "other");
    double rtol = call_real(call, "rtol"), atol = call_real(call, "atol");
    bool equal_nan = call_bool(call, "equal_nan");
    int64_t shape[TENSOR_MAX_RANK];
    int rank = 0;
    if (!shape_broadcast(&rank, shape, a->rank, a->shape, b->rank, b->shape))
        call_fail(call, "the shapes do not broadcast");
    a = node_broadcast(tape, a, rank, shape);
    b = node_broadcast(tape, b, rank, shape);
    struct node *out = node_new_integer(tape, DT_BOOL, rank, shape);
    if (a->imaginary || b->imaginary) {
        const double *re_a = node_values(tape, node_real_part(tape, a)),
                     *re_b = node_values(tape, node_real_part(tape, b)),
                     *im_a = node_values(tape, node_imaginary_part(tape, a)),
                     *im_b = node_values(tape, node_imaginary_part(tape, b));
        for (size_t i = 0; !tape_failed(tape) && i < out->n; i++)
            out->integer[i] = is_close_complex((double[]){ re_a[i], im_a[i] },
                                               (double[]){ re_b[i], im_b[i] }, rtol, atol);
        return out;
    }
    if (!a->integer) (void)node_values(tape, a);
    if (!b->integer) (void)node_values(tape, b);
    for (size_t i = 0; !tape_failed(tape) && i < out->n; i++)
        out->integer[i] = is_close(node_element(a, i), node_element(b, i), rtol, atol, equal_nan);
    return out;
}

static void isclose(struct call *call) { call_return(call, close_elements(call)); }

static void allclose(struct call *call)
{
    struct node *out = close_elements(call);
    if (!tape_failed(call->tape)) return_bool(call, all_set(out));
}

/* ---- logic -------------------------------------------------------------------------------------- */

static int64_t logical_and(int64_t a, int64_t b) { return a && b; }
static int64_t logical_or(int64_t a, int64_t b) { return a || b; }
static int64_t logical_xor(int64_t a, int64_t b) { return !a != !b; }

typedef int64_t binary_integers(int64_t a, int64_t b);
static binary_integers *const logical[] = { logical_and, logical_or, logical_xor };

/* In-place forms keep self's dtype (call_return). detail: index into `logical`. */
static void logic(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *a = node_to_integer(tape, call_tensor(call, "input"), DT_BOOL);
    struct node *b = node_to_integer(tape, call_tensor(call, "other"), DT_BOOL);
    return_truth(call, node_integer_binary(tape, DT_BOOL, logical[call->op->detail], a, b), false);
}

static void logical_not(struct call *call)
{
    struct tape *tape = call->tape;
    return_truth(call, node_not(tape, node_to_integer(tape, call_tensor(call, "input"), DT_BOOL)),
                 false);
}

/* ---- bits ---------------------------------------------------------------------------------------- */

static int64_t bit_and(int64_t a, int64_t b) { return a & b; }
static int64_t bit_or(int64_t a, int64_t b) { return a | b; }
static int64_t bit_xor(int64_t a, int64_t b) { return a ^ b; }
static int64_t shift_left(int64_t a, int64_t b)
{
    return b < 0 || b > 63 ? 0 : (int64_t)((uint64_t)a << b);
}
static int64_t shift_right(int64_t a, int64_t b)
{
    return b < 0 || b > 63 ? (a < 0 ? -1 : 0) : a >> b;
}
static int64_t complement(int64_t a) { return ~a; }
static int64_t opposite(int64_t a) { return !a; }

enum { BIT_AND, BIT_OR, BIT_XOR, SHIFT_LEFT, SHIFT_RIGHT };
static binary_integers *const bitwise[] = { bit_and, bit_or, bit_xor, shift_left, shift_right };

static void bits(struct call *call)
{
    struct tape *tape = call->tape;
    struct operands operands = two_operands(call, "input", "other");
    if (!call_require(call, operands.integral, "bitwise operations take integers")) return;
    call_return(call, node_integer_binary(tape, operands.dtype, bitwise[call->op->detail],
                                          operands.a, operands.b));
}

/* Shifts of floats multiply by a power of two; detail as above. */
static void shift(struct call *call)
{
    struct tape *tape = call->tape;
    struct operands operands = two_operands(call, "input", "other");
    if (operands.integral) {
        bits(call);
        return;
    }
    struct node *scale = node_apply2(tape, "pow", node_scalar(tape, 2), operands.b);
    struct node *y = call->op->detail == SHIFT_LEFT ? node_multiply(tape, operands.a, scale)
                                                    : node_divide(tape, operands.a, scale);
    call_return_typed(call, y, operands.dtype);
}

static void bitwise_not(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    if (!call_require(call, x->integer, "bitwise operations take integers")) return;
    call_return(call, node_integer_unary(call->tape, x->dtype,
                                         x->dtype == DT_BOOL ? opposite : complement, x));
}

/* clang-format off */
#define TWO "(Tensor input, Tensor other)"
#define COMPARISON(name, which) { name, TENSOR | TORCH, TWO, compare, OP_NO_GRADIENT | OP_GRADIENT_IN_PLACE, which, NULL }
#define LOGIC(name, which) { name, TENSOR | TORCH, TWO, logic, OP_NO_GRADIENT | OP_GRADIENT_IN_PLACE, which, NULL }
#define BITS(name, which) { name, TENSOR | TORCH, TWO, bits, OP_NO_GRADIENT, which, NULL }
#define CLOSE "(Tensor input, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False)"
const struct op ops_compare[] = {
    COMPARISON("lt|less", COMPARE_LT), COMPARISON("le|less_equal", COMPARE_LE),
    COMPARISON("gt|greater", COMPARE_GT), COMPARISON("ge|greater_equal", COMPARE_GE),
    COMPARISON("eq", COMPARE_EQ), COMPARISON("ne|not_equal", COMPARE_NE),
    { "equal", TENSOR | TORCH, TWO, equal, OP_NO_GRADIENT, 0, NULL },
    { "isclose", TENSOR | TORCH, CLOSE, isclose, OP_NO_GRADIENT, 0, NULL },
    { "allclose", TENSOR | TORCH, CLOSE, allclose, OP_NO_GRADIENT, 0, NULL },
    LOGIC("logical_and", 0), LOGIC("logical_or", 1), LOGIC("logical_xor", 2),
    { "logical_not", TENSOR | TORCH, "(Tensor input)", logical_not, OP_NO_GRADIENT | OP_GRADIENT_IN_PLACE, 0, NULL },
    BITS("bitwise_and", BIT_AND), BITS("bitwise_or", BIT_OR), BITS("bitwise_xor", BIT_XOR),
    { "bitwise_left_shift", TENSOR | TORCH, TWO, shift, OP_NO_GRADIENT, SHIFT_LEFT, NULL },
    { "bitwise_right_shift", TENSOR | TORCH, TWO, shift, OP_NO_GRADIENT, SHIFT_RIGHT, NULL },
    { "bitwise_not", TENSOR | TORCH, "(Tensor input)", bitwise_not, OP_NO_GRADIENT, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(compare);
