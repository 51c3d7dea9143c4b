/* Smooth activations: functions by name, exponential units, softplus, gelu, gates. Where one has a piece of another form the selection on
 * its intervals decides value and gradient alike, and comparisons are written so that NaN lands on the branch that keeps it.
 */
#include <math.h>
#include <string.h>

#include "bench/call/op.h"
#include "bench/ops/activation.h"
#include "bench/ops/operands.h"
#include "bench/ops/pullback.h"
#include "bench/primitives/alias.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/complex_functions.h"
#include "bench/primitives/composed_functions.h"
#include "bench/primitives/cotangent.h"
#include "bench/primitives/integral.h"
#include "bench/primitives/selection.h"
#include "bench/primitives/stated_gradient.h"
#include "bench/primitives/unary.h"
#include "bench/primitives/view.h"
#include "core/vectorize.h"

struct node *activation_input(struct call *call)
{
    return node_to_real(call->tape, call_tensor(call, "input"));
}

struct node *activation_piecewise_input(struct call *call)
{
    return node_model_any_slope_at_nan(call->tape, activation_input(call));
}

struct node *activation_threshold(struct call *call, const char *name, const struct node *x)
{
    return node_scalar(call->tape, number_as_compared(call_real(call, name), x->dtype));
}

/* What the gradients of functions of one variable are for. */
static const char *const of_input[] = { "input", NULL };

/* y = f(x), the function by its name (text); silu of complex numbers is x sigmoid(x). */
static void function(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = activation_input(call);
    if (x->imaginary && !strcmp(call->op->text, "silu"))
        call_return(call, node_multiply(tape, x, node_function(tape, "sigmoid", x)));
    else call_return(call, node_apply(tape, call->op->text, x));
}

static void function_backward(struct call *call)
{
    call_return_gradients(call, function, of_input);
}

static void tanhshrink(struct call *call)
{
    struct node *x = activation_input(call);
    enum dtype dtype = call_float_type(call, &x, 1);
    call_return_typed(call, node_subtract(call->tape, x, node_function(call->tape, "tanh", x)),
                      dtype);
}

static void softsign(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = activation_input(call);
    enum dtype dtype = call_float_type(call, &x, 1);
    call_return_typed(call, node_divide(tape, x, node_offset(tape, node_magnitude(tape, x), 1)),
                      dtype);
}

/* ---- exponential --------------------------------------------------------------------------------- */

struct exponential_unit {
    double full, scale, inner; /* scale alpha, scale, input scale */
};

/* The slope by the result, which calls in place keep (elu_slope_of_result), where gradients start from results. */
static void exponential_unit_slope(struct tape *tape, struct node *node, struct node *cotangent,
                                   const void *parameters)
{
    const struct exponential_unit *unit = parameters;
    if (!tape->from_outputs) {
        tape_accumulate(tape, node->inputs[0], cotangent);
        return;
    }
    struct node *low = node_scale(tape, node_offset(tape, node, unit->full), unit->inner);
    struct node *positive = node_compare(tape, COMPARE_GT, node, node_scalar(tape, 0));
    gradient_pass(tape, node->inputs[1], cotangent,
                  node_select(tape, positive, node_scalar(tape, unit->scale), low));
}

/* x > 0 ? scale x : scale alpha expm1(z), z being x times a positive number, `inner` */
static struct node *exponential_unit(struct tape *tape, struct node *x, struct node *z,
                                     double alpha, double scale, double inner)
{
    struct exponential_unit *unit = tape_allocate(tape, 1, sizeof *unit);
    if (!unit) return tape_failure(tape);
    *unit = (struct exponential_unit){ scale * alpha, scale, inner };
    struct node *positive = node_compare(tape, COMPARE_GT, x, node_scalar(tape, 0));
    /* Zero where the other branch is taken: its exponential could overflow into NaN gradients. */
    struct node *low = node_select(tape, positive, node_scalar(tape, 0), z);
    low = node_apply(tape, "expm1", low);
    low = node_model_error(tape, low, node_constant(tape, DT_NONE, 1, low->rank, low->shape),
                           8); /* exp(x) - 1 */
    low = node_multiply(tape, low,
                        node_multiply(tape, node_scalar(tape, scale), node_scalar(tape, alpha)));
    struct node *y = node_select(tape, positive, node_scale(tape, x, scale), low);
    return node_stated_gradient(tape, y, 1, &x, exponential_unit_slope, unit);
}

static void elu(struct call *call)
{
    struct node *x = activation_piecewise_input(call);
    call_return(call, exponential_unit(call->tape, x, x, call_real(call, "alpha"), 1, 1));
}

/* aten's elu, of which selu and celu are cases. */
static void scaled_elu(struct call *call)
{
    double inner = call_real(call, "input_scale");
    struct node *x = activation_piecewise_input(call), *z = node_scale(call->tape, x, inner);
    call_return(call, exponential_unit(call->tape, x, z, call_real(call, "alpha"),
                                       call_real(call, "scale"), inner));
}

/* By the result y: below 0 it is scale alpha (exp(z) - 1), so the slope is input_scale (y + scale alpha). */
static void elu_slope_of_result(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *y = node_to_real(tape, call_tensor(call, "input"));
    struct node *full = node_multiply(tape, node_scalar(tape, call_real(call, "scale")),
                                      node_scalar(tape, call_real(call, "alpha")));
    struct node *low = node_scale(tape, node_add(tape, y, full), call_real(call, "input_scale"));
    struct node *slope = node_select(tape, node_compare(tape, COMPARE_GT, y, node_scalar(tape, 0)),
                                     node_scalar(tape, call_real(call, "scale")), low);
    call_return_typed(call, node_multiply(tape, call_tensor(call, "grad_output"), slope), y->dtype);
}

static void elu_backward(struct call *call)
{
    if (call_bool(call, "is_result")) elu_slope_of_result(call);
    else call_return_gradients(call, scaled_elu, of_input);
}

static void celu(struct call *call)
{
    double alpha = call_real(call, "alpha");
    struct node *x = activation_piecewise_input(call),
                *z = node_divide(call->tape, x, node_scalar(call->tape, alpha));
    call_return(call, exponential_unit(call->tape, x, z, alpha, 1, 1 / alpha));
}

static void selu(struct call *call)
{
    struct node *x = activation_piecewise_input(call);
    call_return(call, exponential_unit(call->tape, x, x, 1.6732632423543772848170429916717,
                                       1.0507009873554804934193349852946, 1));
}

/* Is some element above the limit? */
VECTORIZED static bool any_above(const double *x, size_t n, double limit)
{
    size_t above = 0;
    for (size_t i = 0; i < n; i++) above += x[i] > limit;
    return above > 0;
}

/* sigmoid(beta x) c for beta = 0. */
static void level_softplus_backward(struct tape *tape, struct node *node, struct node *cotangent,
                                    const void *parameters)
{
    (void)parameters;
    gradient_pass(tape, node->inputs[1], cotangent, node_scalar(tape, 0.5));
}

/* log1p(exp(beta x)) / beta, x itself where beta x exceeds the threshold. For beta = 0 it is infinite, and its gradient, which is
 * computed without the quotient, is not. */
static void softplus(struct call *call)
{
    struct tape *tape = call->tape;
    double factor = call_real(call, "beta");
    struct node *x = activation_input(call), *scaled = node_scale(tape, x, factor);
    struct node *threshold = activation_threshold(call, "threshold", x),
                *y = node_apply(tape, "softplus", scaled);
    if (factor != 1) y = node_divide(tape, y, node_scalar(tape, factor));
    if (factor == 0) y = node_stated_gradient(tape, y, 1, &x, level_softplus_backward, NULL);
    /* Most calls have no element in the linear part. */
    const double *value = node_values(tape, x);
    if (factor != 1 || !node_is_exact(x) || tape_failed(tape) ||
        any_above(value, x->n, threshold->value[0]))
        y = node_select(tape, node_compare(tape, COMPARE_GT, scaled, threshold), x, y);
    call_return(call, y);
}

static void softplus_backward(struct call *call)
{
    call_return_gradients(call, softplus, of_input);
}

static const double GELU_BETA = 0.79788456080286535588, /* sqrt(2 / pi) */
    GELU_KAPPA = 0.044715;

/* tanh(beta (x + kappa x^3)), step by step */
static struct node *tanh_of_cubic(struct tape *tape, struct node *x)
{
    struct node *cube = node_multiply(tape, node_multiply(tape, x, x), x);
    struct node *sum = node_add(tape, x, node_scale(tape, cube, GELU_KAPPA));
    return node_apply(tape, "tanh", node_scale(tape, sum, GELU_BETA));
}

/* c ((1 + t) / 2 + x / 2 (1 - t t) beta (1 + 3 kappa x x)), as PyTorch's kernel composes it */
static void gelu_tanh_slope(struct tape *tape, struct node *node, struct node *cotangent,
                            const void *parameters)
{
    struct node *x = node->inputs[1], *t = tanh_of_cubic(tape, x);
    (void)parameters;
    struct node *left = node_scale(tape, node_offset(tape, t, 1), 0.5);
    struct node *rest = node_subtract(tape, node_scalar(tape, 1), node_multiply(tape, t, t));
    struct node *square = node_multiply(tape, x, x);
    struct node *inner = node_offset(tape, node_scale(tape, square, 3 * GELU_KAPPA), 1);
    struct node *right = node_multiply(tape, node_multiply(tape, node_scale(tape, x, 0.5), rest),
                                       node_scale(tape, inner, GELU_BETA));
    gradient_pass(tape, x, cotangent, node_add(tape, left, right));
}

struct node *gelu_of(struct tape *tape, struct node *x, bool by_tanh)
{
    /* Kernels compute x/2 (1 + erf(x / sqrt 2)), */
    if (!by_tanh) return node_model_error(tape, node_apply(tape, "gelu", x), x, 6);
    struct node *factor =
        node_apply(tape, "sqrt", node_divide(tape, node_scalar(tape, 8), node_pi(tape)));
    struct node *square = node_multiply(tape, x, x);
    struct node *cubic =
        node_offset(tape, node_multiply(tape, square, node_scalar(tape, 0.044715)), 1);
    struct node *argument = node_multiply(tape, node_multiply(tape, factor, x), cubic);
    /* or x/2 (1 + tanh(c)). */
    struct node *y = node_multiply(tape, x, node_apply(tape, "sigmoid", argument));
    y = node_model_own_error(tape, y, x, 6);
    if (!composes(tape)) return y;
    struct node *right = node_offset(tape, tanh_of_cubic(tape, x), 1);
    y = node_as_steps(tape, y, node_multiply(tape, node_scale(tape, x, 0.5), right), "gelu");
    return node_stated_gradient(tape, y, 1, &x, gelu_tanh_slope, NULL);
}

static void gelu(struct call *call)
{
    struct node *x = activation_input(call);
    const char *approximate = call_string(call, "approximate");
    bool by_tanh = !strcmp(approximate, "tanh");
    if (!call_require(call, by_tanh || !strcmp(approximate, "none"),
                      "approximate is '%s'; it can be 'none' or 'tanh'", approximate))
        return;
    tape_defer(call->tape);
    call_return(call, gelu_of(call->tape, x, by_tanh));
}
static void gelu_backward(struct call *call) { call_return_gradients(call, gelu, of_input); }

/* Gradients of a s(b) as PyTorch composes them: s c, and (((1 - s) s) a) c. */
static void glu_steps_backward(struct tape *tape, struct node *node, struct node *cotangent,
                               const void *parameters)
{
    struct node *a = node->inputs[1], *b = node->inputs[2];
    struct node *s = node_apply(tape, "sigmoid", b), *one = node_scalar(tape, 1);
    struct node *slope = node_multiply(tape, node_subtract(tape, one, s), s);
    (void)parameters;
    gradient_pass(tape, a, s, cotangent);
    gradient_pass(tape, b, node_multiply(tape, slope, a), cotangent);
}

/* The first half along dim times the sigmoid of the second. */
static void glu(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = activation_input(call);
    int dim = call_dim(call, "dim", x->rank);
    if (!call_require(call, x->rank != 0 && x->shape[dim] % 2 == 0,
                      "glu needs an even size along its dimension"))
        return;
    int64_t half = x->shape[dim] / 2;
    struct node *a = node_slice(tape, x, dim, 0, half, 1),
                *b = node_slice(tape, x, dim, half, half, 1);
    struct node *y = node_multiply(tape, a, node_apply(tape, "sigmoid", b));
    if (composes(tape))
        y = node_stated_gradient(tape, y, 2, (struct node *[]){ a, b }, glu_steps_backward, NULL);
    call_return(call, y);
}

static void glu_backward(struct call *call) { call_return_gradients(call, glu, of_input); }

/* aten's: with exp(-|x|), which CPU kernels keep for the gradient; others return an empty tensor. */
static void log_sigmoid_forward(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = activation_input(call);
    const struct tensor *kept = call_device_output(call, 1);
    int64_t none = 0;
    call_return(call, node_apply(tape, "logsigmoid", x));
    call->device_answer.consulted = true;
    if (x->n && kept && !tensor_elements(kept))
        call_return(call, node_constant(tape, x->dtype, 0, 1, &none));
    else call_return(call, node_apply(tape, "exp", node_negate(tape, node_apply(tape, "abs", x))));
}

/* By z = exp(-|x|) where the forward kept it: 1 / (1 + z) below 0, z / (1 + z) above. */
static void log_sigmoid_backward(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = activation_input(call), *z = call_tensor(call, "buffer");
    if (!z->n && x->n) {
        function_backward(call);
        return;
    }
    struct node *below = node_compare(tape, COMPARE_LT, x, node_scalar(tape, 0));
    struct node *slope = node_divide(tape, node_select(tape, below, node_scalar(tape, 1), z),
                                     node_offset(tape, z, 1));
    call_return_typed(call, node_multiply(tape, call_tensor(call, "grad_output"), slope), x->dtype);
}

/* clang-format off */
#define PLACE ", bool inplace=False)"
#define GRADIENT(name, arguments, function) \
    { name, ATEN, "(Tensor grad_output, " arguments ")", function, OP_NO_GRADIENT, 0, NULL }
#define GRADIENT_BY_NAME(name, arguments, of) \
    { name, ATEN, "(Tensor grad_output, " arguments ")", function_backward, OP_NO_GRADIENT, 0, of }
const struct op ops_activation[] = {
    { "tanhshrink", FUNCTIONAL, "(Tensor input)", tanhshrink, 0, 0, NULL },
    { "softsign", FUNCTIONAL, "(Tensor input)", softsign, 0, 0, NULL },
    { "elu", FUNCTIONAL, "(Tensor input, float alpha=1.0" PLACE, elu, OP_ONE_NODE, 0, NULL },
    { "celu", FUNCTIONAL | TORCH, "(Tensor input, float alpha=1.0" PLACE, celu, OP_ONE_NODE, 0, NULL },
    { "selu", FUNCTIONAL | TORCH, "(Tensor input" PLACE, selu, OP_ONE_NODE, 0, NULL },
    { "softplus", FUNCTIONAL, "(Tensor input, float beta=1, float threshold=20)", softplus, OP_ONE_NODE, 0, NULL },
    { "gelu", FUNCTIONAL, "(Tensor input, str approximate='none')", gelu, OP_ONE_NODE, 0, NULL },
    { "npu_gelu", NPU, "(Tensor input, *, str approximate='none')", gelu, OP_ONE_NODE, 0, NULL },
    { "npu_silu", NPU, "(Tensor input)", function, OP_ONE_NODE, 0, "silu" },
    { "glu", FUNCTIONAL, "(Tensor input, int dim=-1)", glu, OP_ONE_NODE, 0, NULL },
    { "silu", FUNCTIONAL, "(Tensor input" PLACE, function, OP_ONE_NODE, 0, "silu" },
    { "mish", FUNCTIONAL, "(Tensor input" PLACE, function, OP_ONE_NODE, 0, "mish" },
    { "logsigmoid", FUNCTIONAL, "(Tensor input)", function, OP_ONE_NODE, 0, "logsigmoid" },
    /* aten */
    { "elu", FUNCTIONAL | ATEN, "(Tensor input, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1)", scaled_elu, OP_ONE_NODE, 0, NULL },
    { "softplus", ATEN, "(Tensor input, Scalar beta=1, Scalar threshold=20)", softplus, OP_ONE_NODE, 0, NULL },
    { "gelu", ATEN, "(Tensor input, *, str approximate='none')", gelu, OP_ONE_NODE, 0, NULL },
    { "glu", ATEN, "(Tensor input, int dim=-1)", glu, OP_ONE_NODE, 0, NULL },
    { "silu", ATEN, "(Tensor input)", function, OP_ONE_NODE, 0, "silu" },
    { "mish", ATEN, "(Tensor input)", function, OP_ONE_NODE, 0, "mish" },
    { "log_sigmoid", ATEN, "(Tensor input)", function, OP_ONE_NODE, 0, "logsigmoid" },
    { "log_sigmoid_forward", ATEN, "(Tensor input)", log_sigmoid_forward, OP_ONE_NODE, 0, NULL },
    GRADIENT("elu_backward", "Scalar alpha, Scalar scale, Scalar input_scale, bool is_result, Tensor input", elu_backward),
    GRADIENT("softplus_backward", "Tensor input, Scalar beta, Scalar threshold", softplus_backward),
    GRADIENT("gelu_backward", "Tensor input, *, str approximate='none'", gelu_backward),
    GRADIENT("glu_backward", "Tensor input, int dim", glu_backward),
    GRADIENT_BY_NAME("silu_backward", "Tensor input", "silu"),
    GRADIENT_BY_NAME("mish_backward", "Tensor input", "mish"),
    { "log_sigmoid_backward", ATEN, "(Tensor grad_output, Tensor input, Tensor buffer)", log_sigmoid_backward, OP_NO_GRADIENT, 0, "logsigmoid" },
};
/* clang-format on */
OP_TABLE_END(activation);
