/* Questions about elements (isnan and the like) and about whole tensors (is_floating_point). */
#include <math.h>

#include "bench/call/op.h"
#include "bench/ops/operands.h"
#include "bench/primitives/complex_parts.h"
#include "bench/primitives/integral.h"

/* clang-format off */
static bool is_finite(double x) { return isfinite(x); }
static bool infinite(double x) { return isinf(x); }
static bool not_a_number(double x) { return isnan(x); }
static bool positive_infinity(double x) { return isinf(x) && x > 0; }
static bool negative_infinity(double x) { return isinf(x) && x < 0; }
static bool negative_sign(double x) { return signbit(x); }
static bool zero(double x) { return x == 0; }
/* clang-format on */

enum { FINITE, INFINITE, NOT_A_NUMBER, POSITIVE_INFINITY, NEGATIVE_INFINITY, SIGN_BIT };

static bool (*const predicates[])(double) = {
    [FINITE] = is_finite,
    [INFINITE] = infinite,
    [NOT_A_NUMBER] = not_a_number,
    [POSITIVE_INFINITY] = positive_infinity,
    [NEGATIVE_INFINITY] = negative_infinity,
    [SIGN_BIT] = negative_sign,
};

/* clang-format off */
static int64_t is_negative(int64_t a) { return a < 0; }

/* detail: which. Integers are finite. */
static void predicate(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input");
    intptr_t which = call->op->detail;
    if (x->integer) {
        call_return(call, which == SIGN_BIT
                              ? node_integer_unary(tape, DT_BOOL, is_negative, x)
                              : node_integer_constant(tape, DT_BOOL, which == FINITE, x->rank, x->shape));
        return;
    }
    struct node *answer = node_predicate(tape, predicates[which], node_real_part(tape, x));
    if (x->imaginary) { /* finite: both parts; infinite or NaN: either */
        struct node *other = node_predicate(tape, predicates[which], node_imaginary_part(tape, x));
        answer = which == FINITE ? node_and(tape, answer, other) : node_or(tape, answer, other);
    }
    call_return(call, answer);
}
/* clang-format on */

static void isreal(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input");
    call_return(call, x->imaginary ? node_predicate(tape, zero, node_imaginary_part(tape, x))
                                   : node_integer_constant(tape, DT_BOOL, 1, x->rank, x->shape));
}

static void return_bool(struct call *call, bool answer)
{
    struct value value = { .kind = VALUE_BOOL };
    value.boolean = answer;
    call_return_value(call, value);
}

enum { FLOATING_POINT, COMPLEX, SIGNED };

/* detail: which; a Python bool. */
static void is_of_kind(struct call *call)
{
    enum dtype dtype = call_tensor(call, "input")->dtype;
    switch (call->op->detail) {
    case FLOATING_POINT: return_bool(call, dtype_is_float(dtype)); break;
    case COMPLEX: return_bool(call, dtype_is_complex(dtype)); break;
    default: return_bool(call, dtype != DT_BOOL && dtype != DT_U8); break;
    }
}

/* clang-format off */
#define ELEMENTS(name, which) { name, TENSOR | TORCH, "(Tensor input)", predicate, OP_NO_GRADIENT, which, NULL }
#define KIND(name, which) { name, TENSOR | TORCH, "(Tensor input)", is_of_kind, OP_NO_GRADIENT, which, NULL }
const struct op ops_predicate[] = {
    ELEMENTS("isfinite", FINITE), ELEMENTS("isinf", INFINITE), ELEMENTS("isnan", NOT_A_NUMBER),
    ELEMENTS("isposinf", POSITIVE_INFINITY), ELEMENTS("isneginf", NEGATIVE_INFINITY),
    ELEMENTS("signbit", SIGN_BIT),
    { "isreal", TENSOR | TORCH, "(Tensor input)", isreal, OP_NO_GRADIENT, 0, NULL },
    KIND("is_floating_point", FLOATING_POINT), KIND("is_complex", COMPLEX), KIND("is_signed", SIGNED),
};
/* clang-format on */
OP_TABLE_END(predicate);
