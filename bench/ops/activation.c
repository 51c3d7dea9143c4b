/* Activations. At a kink the gradient is the one PyTorch's kernels choose: each function below
 * names its intervals, and the selection on them decides value and gradient alike. Comparisons
 * are written so that NaN lands on the branch that keeps it.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/call/op.h"
#include "bench/ops/activation.h"
#include "bench/ops/integers.h"
#include "bench/ops/operands.h"
#include "bench/ops/properties.h"
#include "bench/ops/pullback.h"
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
#include "bench/primitives/view.h"
#include "core/vectorize.h"

static struct node *input_of(struct call *call)
{
    return node_to_real(call->tape, call_tensor(call, "input"));
}

/* The input of a function of several pieces. */
static struct node *piecewise_input(struct call *call)
{
    return node_model_any_slope_at_nan(call->tape, input_of(call));
}

/* Number `name` as a kernel of x's dtype compares with it. */
static struct node *threshold_of(struct call *call, const char *name, const struct node *x)
{
    return node_scalar(call->tape, number_as_compared(call_real(call, name), x->dtype));
}

/* What the gradients of functions of one variable are for. */
static const char *const of_input[] = { "input", NULL };

/* y = f(x) by name (text). */
/* text: the function; silu of complex numbers is x sigmoid(x). */
static void function(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = input_of(call);
    if (x->imaginary && !strcmp(call->op->text, "silu"))
        call_return(call, node_multiply(tape, x, node_function(tape, "sigmoid", x)));
    else call_return(call, node_apply(tape, call->op->text, x));
}

static void function_backward(struct call *call)
{
    call_return_gradients(call, function, of_input);
}

/* ---- piecewise linear ------------------------------------------------------------------------ */

/* Integers are allowed: relu is a maximum there. */
static int64_t positive_part(int64_t a) { return a > 0 ? a : 0; }

static void relu(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input"), *zero = node_scalar(tape, 0);
    if (x->integer) call_return(call, node_integer_unary(tape, x->dtype, positive_part, x));
    else call_return(call, node_select(tape, node_compare(tape, COMPARE_LE, x, zero), zero, x));
}

/* x between two limits, which have no gradient: the interior is open. */
static struct node *hard_limited(struct tape *tape, struct node *x, double low, double high)
{
    if (low > high) low = high; /* as clamping does */
    x = node_model_any_slope_at_nan(tape, x);
    struct node *least = node_scalar(tape, number_as_compared(low, x->dtype));
    struct node *most = node_scalar(tape, number_as_compared(high, x->dtype));
    struct node *y =
        node_select(tape, node_compare(tape, COMPARE_LE, x, least), node_scalar(tape, low), x);
    return node_select(tape, node_compare(tape, COMPARE_GE, x, most), node_scalar(tape, high), y);
}

static void hardtanh(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    if (x->integer) {
        struct node *low = call_node(call, call_value(call, "min_val")),
                    *high = call_node(call, call_value(call, "max_val"));
        call_return(call, clamp_integers(call->tape, x->dtype, x, low, high));
        return;
    }
    double low = call_real(call, "min_val"), high = call_real(call, "max_val");
    call_return(call, hard_limited(call->tape, x, low, high));
}

static void hardtanh_backward(struct call *call)
{
    call_return_gradients(call, hardtanh, of_input);
}

static void relu6(struct call *call)
{
    call_return(call, hard_limited(call->tape, input_of(call), 0, 6));
}

static void hardsigmoid(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = piecewise_input(call), *six = node_scalar(tape, 6);
    struct node *y = node_divide(tape, node_offset(tape, x, 3), six);
    y = node_select(tape, node_compare(tape, COMPARE_LE, x, node_scalar(tape, -3)),
                    node_scalar(tape, 0), y);
    call_return(call, node_select(tape, node_compare(tape, COMPARE_GE, x, node_scalar(tape, 3)),
                                  node_scalar(tape, 1), y));
}

static void hardsigmoid_backward(struct call *call)
{
    call_return_gradients(call, hardsigmoid, of_input);
}

/* x (x + 3) / 6 between -3, included, and 3. x times 0 below makes NaN of -infinity. At 3 vectors of PyTorch's CPU code take
 * the slope of the line, and what is left over that of the parabola. */
static void hardswish(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = piecewise_input(call), *zero = node_scalar(tape, 0);
    x = node_model_unknown_slope(tape, x, node_compare(tape, COMPARE_EQ, x, node_scalar(tape, 3)));
    struct node *right = node_compare(tape, COMPARE_GE, x, node_scalar(tape, 3));
    struct node *left = node_compare(tape, COMPARE_LT, x, node_scalar(tape, -3));
    /* No infinite slopes where the parabola ends. */
    struct node *middle = node_select(tape, node_or(tape, left, right), zero, x);
    struct node *y = node_divide(tape, node_multiply(tape, middle, node_offset(tape, middle, 3)),
                                 node_scalar(tape, 6));
    struct node *endless = node_compare(tape, COMPARE_EQ, x, node_scalar(tape, -INFINITY));
    struct node *below = node_select(tape, endless, node_scalar(tape, NAN), zero);
    y = node_select(tape, left, below, y);
    y = node_select(tape, right, x, y);
    call_return(call, node_model_error(tape, y, y, 3)); /* kernels form x * 6 / 6 beyond 3 */
}

static void hardswish_backward(struct call *call)
{
    call_return_gradients(call, hardswish, of_input);
}

static struct node *leaky(struct tape *tape, struct node *x, double slope)
{
    struct node *positive = node_compare(tape, COMPARE_GT, x, node_scalar(tape, 0));
    return node_select(tape, positive, x, node_multiply(tape, x, node_scalar(tape, slope)));
}

static void leaky_relu(struct call *call)
{
    call_return(call, leaky(call->tape, input_of(call), call_real(call, "negative_slope")));
}

static void leaky_relu_backward(struct call *call)
{
    call_return_gradients(call, leaky_relu, of_input);
}

/* x > 0 ? x : weight x */
static struct node *weighted_below(struct tape *tape, struct node *x, struct node *weight)
{
    struct node *positive = node_compare(tape, COMPARE_GT, x, node_scalar(tape, 0));
    struct node *low = node_select(tape, positive, node_scalar(tape, 0),
                                   x); /* infinite slopes stay out of the weight's sum */
    return node_select(tape, positive, x, node_multiply(tape, weight, low));
}

/* The same, the weight one number or one per channel (dimension 1). */
static void prelu(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = input_of(call), *weight = call_tensor(call, "weight");
    int64_t shape[TENSOR_MAX_RANK];
    for (int d = 0; d < x->rank; d++) shape[d] = 1;
    if (weight->n != 1) {
        if (!call_require(call, x->rank >= 2 && shape[1] == 1 && (size_t)x->shape[1] == weight->n,
                          "prelu has %zu weights for an input without as many channels", weight->n))
            return;
        shape[1] = x->shape[1];
    }
    weight = node_reshape(tape, weight, x->rank, shape);
    call_return_typed(call, weighted_below(tape, x, weight), x->dtype);
}

/* aten's kernel: a weight that broadcasts. */
static void prelu_kernel(struct call *call)
{
    struct node *x = input_of(call);
    call_return_typed(call, weighted_below(call->tape, x, call_tensor(call, "weight")), x->dtype);
}

static void prelu_backward(struct call *call)
{
    call_return_gradients(call, prelu, (const char *const[]){ "input", "weight", NULL });
}

/* The gradient of the weight is not summed to its shape. */
static void prelu_kernel_backward(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = node_tracked(tape, input_of(call)), *weight = call_tensor(call, "weight");
    weight = node_tracked(tape, node_broadcast(tape, weight, x->rank, x->shape));
    struct node *gradients[2] = { x, weight };
    call_pull_back(call, weighted_below(tape, x, weight), call_tensor(call, "grad_output"), 2,
                   gradients);
    call_return(call, gradients[0]);
    call_return(call, gradients[1]);
}

static void threshold(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input"),
                *value = call_node(call, call_value(call, "value"));
    struct node *limit = threshold_of(call, "threshold", x);
    if (x->integer) { /* both numbers are cut to its dtype */
        value = node_to_integer(tape, value, x->dtype);
        limit = node_to_integer(tape, call_node(call, call_value(call, "threshold")), x->dtype);
    }
    struct node *below = node_compare(tape, COMPARE_LE, x, limit);
    call_return_typed(call, node_select(tape, below, value, x), x->dtype);
}

/* Toward x; the number that stands below the threshold has no part in it. */
static void threshold_backward(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = node_tracked(tape, input_of(call));
    struct node *below = node_compare(tape, COMPARE_LE, x, threshold_of(call, "threshold", x));
    struct node *y = node_select(tape, below, node_scalar(tape, 0), x);
    call_return(call, call_gradient(call, y, call_tensor(call, "grad_output"), x));
}

/* ---- shrinking ------------------------------------------------------------------------------------ */

/* -lambda <= x <= lambda */
static struct node *within(struct call *call, struct node *x)
{
    struct tape *tape = call->tape;
    struct node *lambda = threshold_of(call, "lambd", x);
    return node_and(tape, node_compare(tape, COMPARE_LE, x, lambda),
                    node_compare(tape, COMPARE_GE, x, node_negate(tape, lambda)));
}

static void hardshrink(struct call *call)
{
    struct node *x = piecewise_input(call);
    call_return(call, node_select(call->tape, within(call, x), node_scalar(call->tape, 0), x));
}

static void hardshrink_backward(struct call *call)
{
    call_return_gradients(call, hardshrink, of_input);
}

static void softshrink(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = piecewise_input(call), *lambda = node_scalar(tape, call_real(call, "lambd"));
    struct node *right = node_compare(tape, COMPARE_GT, x, node_scalar(tape, 0));
    struct node *y =
        node_select(tape, right, node_subtract(tape, x, lambda), node_add(tape, x, lambda));
    call_return(call, node_select(tape, within(call, x), node_scalar(tape, 0), y));
}

static void softshrink_backward(struct call *call)
{
    call_return_gradients(call, softshrink, of_input);
}

static void tanhshrink(struct call *call)
{
    struct node *x = input_of(call);
    enum dtype dtype = call_float_type(call, &x, 1);
    call_return_typed(call, node_subtract(call->tape, x, node_function(call->tape, "tanh", x)),
                      dtype);
}

static void softsign(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = input_of(call);
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
    struct node *x = piecewise_input(call);
    call_return(call, exponential_unit(call->tape, x, x, call_real(call, "alpha"), 1, 1));
}

/* aten's elu, of which selu and celu are cases. */
static void scaled_elu(struct call *call)
{
    double inner = call_real(call, "input_scale");
    struct node *x = piecewise_input(call), *z = node_scale(call->tape, x, inner);
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
    struct node *x = piecewise_input(call),
                *z = node_divide(call->tape, x, node_scalar(call->tape, alpha));
    call_return(call, exponential_unit(call->tape, x, z, alpha, 1, 1 / alpha));
}

static void selu(struct call *call)
{
    struct node *x = piecewise_input(call);
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
    struct node *x = input_of(call), *scaled = node_scale(tape, x, factor);
    struct node *threshold = threshold_of(call, "threshold", x),
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
    struct node *x = input_of(call);
    const char *approximate = call_string(call, "approximate");
    bool by_tanh = !strcmp(approximate, "tanh");
    if (!call_require(call, by_tanh || !strcmp(approximate, "none"),
                      "approximate is '%s'; it can be 'none' or 'tanh'", approximate))
        return;
    tape_defer(call->tape);
    call_return(call, gelu_of(call->tape, x, by_tanh));
}
static void gelu_backward(struct call *call) { call_return_gradients(call, gelu, of_input); }

/* The first half along dim times the sigmoid of the second. */
static void glu(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = input_of(call);
    int dim = call_dim(call, "dim", x->rank);
    if (!call_require(call, x->rank != 0 && x->shape[dim] % 2 == 0,
                      "glu needs an even size along its dimension"))
        return;
    int64_t half = x->shape[dim] / 2;
    struct node *a = node_slice(tape, x, dim, 0, half, 1),
                *b = node_slice(tape, x, dim, half, half, 1);
    call_return(call, node_multiply(tape, a, node_apply(tape, "sigmoid", b)));
}

static void glu_backward(struct call *call) { call_return_gradients(call, glu, of_input); }

/* aten's: with exp(-|x|), which CPU kernels keep for the gradient; others return an empty tensor. */
static void log_sigmoid_forward(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = input_of(call);
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
    struct node *x = input_of(call), *z = call_tensor(call, "buffer");
    if (!z->n && x->n) {
        function_backward(call);
        return;
    }
    struct node *below = node_compare(tape, COMPARE_LT, x, node_scalar(tape, 0));
    struct node *slope = node_divide(tape, node_select(tape, below, node_scalar(tape, 1), z),
                                     node_offset(tape, z, 1));
    call_return_typed(call, node_multiply(tape, call_tensor(call, "grad_output"), slope), x->dtype);
}

/* ---- rrelu: random in training ---------------------------------------------------------------------- */

struct slopes {
    double low, high;
    const struct node *x;
};

/* Positive inputs stay; others are multiplied by draws from the uniform distribution: each in its
 * range, their mean within 6.2 sigma (1e-9). */
static bool slopes_hold(const struct bench_property *property, const struct tensor *got,
                        char *reason, size_t reason_bytes)
{
    const struct slopes *slopes = property->context;
    struct arena arena = { 0 };
    struct tensor dense;
    double margin = 4 * dtype_ulp(got->dtype, 1), sum = 0, count = 0;
    double *drawn = arena_allocate_array(&arena, 2 * slopes->x->n, sizeof *drawn);
    bool holds = false;
    if (!drawn || tensor_densify(&dense, &arena, got).code) {
        (void)snprintf(reason, reason_bytes, "there is no memory to test the distribution");
        goto done;
    }
    dtype_to_double(drawn, dense.data, dense.dtype, slopes->x->n);
    for (size_t i = 0; i < slopes->x->n; i++) {
        double x = slopes->x->value[i], y = drawn[i];
        double a = x > 0 ? x : x * slopes->low, b = x > 0 ? x : x * slopes->high;
        double slack = margin * (fabs(a) + fabs(b)) + dtype_ulp(got->dtype, 0);
        if (isinf(x) && isinf(y)) continue;
        if (isnan(x) ? !isnan(y) : !(y >= fmin(a, b) - slack && y <= fmax(a, b) + slack)) {
            (void)snprintf(reason, reason_bytes,
                           "element %zu is %g for input %g: no slope in [%g, %g]", i, y, x,
                           slopes->low, slopes->high);
            goto done;
        }
        if (!(x < 0) || slack > 0x1p-6 * fabs(x)) continue;
        sum += y / x;
        count++;
    }
    double middle = (slopes->low + slopes->high) / 2,
           sigma = (slopes->high - slopes->low) / sqrt(12 * fmax(count, 1));
    holds = fabs(sum - count * middle) <= count * (6.2 * sigma + margin * slopes->high) + 1e-9;
    if (!holds)
        (void)snprintf(reason, reason_bytes, "the mean of %g slopes is %g; it should be near %g",
                       count, sum / count, middle);
done:
    arena_release(&arena);
    return holds;
}

/* The slopes drawn: native ones by us, the device's as its output shows them, a product that was rounded. At 0 it shows none: the one
 * in the middle, which a model lets be any. NULL: not known. */
static struct node *drawn_slopes(struct call *call, struct node *x, double low, double high)
{
    struct tape *tape = call->tape;
    const struct tensor *got = tape_is_reference(tape) ? call_device_output(call, 0) : NULL;
    struct node *y = got ? node_leaf(tape, got, false) : NULL;
    if (tape_is_reference(tape) && (!y || y->n != x->n || y->integer)) return NULL;
    struct node *slopes = node_new_real(tape, DT_NONE, x->rank, x->shape);
    struct node *unseen = node_new_real(tape, DT_NONE, x->rank, x->shape);
    const double *from = node_values(tape, x), *to = y ? node_values(tape, y) : NULL;
    double unit = got ? ldexp(1, -dtype_info(got->dtype)->significand_bits) : 0;
    for (size_t i = 0; !tape_failed(tape) && i < x->n; i++) {
        bool shown = to && from[i] != 0;
        slopes->value[i] = shown ? to[i] / from[i]
                           : to  ? (low + high) / 2
                                 : low + (high - low) * random_uniform(call, i);
        unseen->value[i] = shown ? fabs(slopes->value[i]) * unit : (high - low) / 2;
    }
    return node_model_error(tape, slopes, unseen, (tape_is_typical(tape) ? 4 : 1) / tape->unit);
}

static void rrelu(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = piecewise_input(call);
    double low = call_real(call, "lower"), high = call_real(call, "upper");
    if (!call_bool(call, "training")) {
        call_return(call, leaky(tape, x, (low + high) / 2));
        return;
    }
    struct slopes *slopes = tape_allocate(tape, 1, sizeof *slopes);
    struct bench_property *property = tape_allocate(tape, 1, sizeof *property);
    (void)node_values(tape, x);
    struct node *drawn = drawn_slopes(call, x, low, high), *y = NULL;
    if (tape_failed(tape)) return;
    *slopes = (struct slopes){ low, high, x };
    *property =
        (struct bench_property){ "slopes within the limits, their mean within 6.2 sigma (1e-9)",
                                 slopes_hold, slopes };
    if (drawn)
        y = node_select(tape, node_compare(tape, COMPARE_GT, x, node_scalar(tape, 0)), x,
                        node_multiply(tape, x, drawn));
    call_return_random(call, y, x->dtype, x->rank, x->shape, property);
}

/* By the slopes drawn in training, which stand in `noise`. */
static void rrelu_backward(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = node_tracked(tape, input_of(call)), *y;
    double low = call_real(call, "lower"), high = call_real(call, "upper");
    if (call_bool(call, "training") && high - low > 1e-6)
        y = node_multiply(tape, x, call_tensor(call, "noise"));
    else y = leaky(tape, x, (low + high) / 2);
    call_return(call, call_gradient(call, y, call_tensor(call, "grad_output"), x));
}

/* clang-format off */
#define PLACE ", bool inplace=False)"
#define GRADIENT(name, arguments, function) \
    { name, ATEN, "(Tensor grad_output, " arguments ")", function, OP_NO_GRADIENT, 0, NULL }
#define GRADIENT_BY_NAME(name, arguments, of) \
    { name, ATEN, "(Tensor grad_output, " arguments ")", function_backward, OP_NO_GRADIENT, 0, of }
const struct op ops_activation[] = {
    { "relu", FUNCTIONAL, "(Tensor input" PLACE, relu, OP_ONE_NODE, 0, NULL },
    { "relu", TENSOR | TORCH, "(Tensor input)", relu, OP_ONE_NODE, 0, NULL },
    { "relu6", FUNCTIONAL | TORCH, "(Tensor input" PLACE, relu6, OP_ONE_NODE, 0, NULL },
    { "hardtanh", FUNCTIONAL, "(Tensor input, float min_val=-1.0, float max_val=1.0" PLACE, hardtanh, OP_ONE_NODE, 0, NULL },
    { "hardsigmoid", FUNCTIONAL, "(Tensor input" PLACE, hardsigmoid, OP_ONE_NODE, 0, NULL },
    { "hardswish", FUNCTIONAL, "(Tensor input" PLACE, hardswish, OP_ONE_NODE, 0, NULL },
    { "leaky_relu", FUNCTIONAL, "(Tensor input, float negative_slope=0.01" PLACE, leaky_relu, OP_ONE_NODE, 0, NULL },
    { "prelu", ANYWHERE, "(Tensor input, Tensor weight)", prelu, OP_ONE_NODE, 0, NULL },
    { "threshold", FUNCTIONAL | TORCH, "(Tensor input, Scalar threshold, Scalar value" PLACE, threshold, OP_ONE_NODE, 0, NULL },
    { "hardshrink", ANYWHERE, "(Tensor input, float lambd=0.5)", hardshrink, OP_ONE_NODE, 0, NULL },
    { "softshrink", FUNCTIONAL, "(Tensor input, float lambd=0.5)", softshrink, OP_ONE_NODE, 0, NULL },
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
    { "rrelu", FUNCTIONAL | TORCH, "(Tensor input, float lower=0.125, float upper=0.3333333333333333, bool training=False" PLACE, rrelu, OP_ONE_NODE, 0, NULL },
    /* aten */
    { "hardtanh", ATEN, "(Tensor input, Scalar min_val=-1, Scalar max_val=1)", hardtanh, OP_ONE_NODE, 0, NULL },
    { "hardsigmoid", ATEN, "(Tensor input)", hardsigmoid, OP_ONE_NODE, 0, NULL },
    { "hardswish", ATEN, "(Tensor input)", hardswish, OP_ONE_NODE, 0, NULL },
    { "leaky_relu", ATEN, "(Tensor input, Scalar negative_slope=0.01)", leaky_relu, OP_ONE_NODE, 0, NULL },
    { "softshrink", ATEN, "(Tensor input, Scalar lambd=0.5)", softshrink, OP_ONE_NODE, 0, NULL },
    { "elu", FUNCTIONAL | ATEN, "(Tensor input, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1)", scaled_elu, OP_ONE_NODE, 0, NULL },
    { "softplus", ATEN, "(Tensor input, Scalar beta=1, Scalar threshold=20)", softplus, OP_ONE_NODE, 0, NULL },
    { "gelu", ATEN, "(Tensor input, *, str approximate='none')", gelu, OP_ONE_NODE, 0, NULL },
    { "glu", ATEN, "(Tensor input, int dim=-1)", glu, OP_ONE_NODE, 0, NULL },
    { "silu", ATEN, "(Tensor input)", function, OP_ONE_NODE, 0, "silu" },
    { "mish", ATEN, "(Tensor input)", function, OP_ONE_NODE, 0, "mish" },
    { "log_sigmoid", ATEN, "(Tensor input)", function, OP_ONE_NODE, 0, "logsigmoid" },
    { "log_sigmoid_forward", ATEN, "(Tensor input)", log_sigmoid_forward, OP_ONE_NODE, 0, NULL },
    { "_prelu_kernel", ATEN, "(Tensor input, Tensor weight)", prelu_kernel, OP_ONE_NODE, 0, NULL },
    { "rrelu_with_noise", ATEN, "(Tensor input, Tensor noise, Scalar lower=0.125, Scalar upper=0.3333333333333333, bool training=False, Generator? generator=None)", rrelu, OP_ONE_NODE, 0, NULL },
    GRADIENT("hardtanh_backward", "Tensor input, Scalar min_val, Scalar max_val", hardtanh_backward),
    GRADIENT("hardsigmoid_backward", "Tensor input", hardsigmoid_backward),
    GRADIENT("hardswish_backward", "Tensor input", hardswish_backward),
    GRADIENT("leaky_relu_backward", "Tensor input, Scalar negative_slope, bool self_is_result", leaky_relu_backward),
    GRADIENT("hardshrink_backward", "Tensor input, Scalar lambd", hardshrink_backward),
    GRADIENT("softshrink_backward", "Tensor input, Scalar lambd", softshrink_backward),
    GRADIENT("threshold_backward", "Tensor input, Scalar threshold", threshold_backward),
    GRADIENT("elu_backward", "Scalar alpha, Scalar scale, Scalar input_scale, bool is_result, Tensor input", elu_backward),
    GRADIENT("softplus_backward", "Tensor input, Scalar beta, Scalar threshold", softplus_backward),
    GRADIENT("gelu_backward", "Tensor input, *, str approximate='none'", gelu_backward),
    GRADIENT("glu_backward", "Tensor input, int dim", glu_backward),
    GRADIENT_BY_NAME("silu_backward", "Tensor input", "silu"),
    GRADIENT_BY_NAME("mish_backward", "Tensor input", "mish"),
    { "log_sigmoid_backward", ATEN, "(Tensor grad_output, Tensor input, Tensor buffer)", log_sigmoid_backward, OP_NO_GRADIENT, 0, "logsigmoid" },
    GRADIENT("prelu_backward", "Tensor input, Tensor weight", prelu_backward),
    GRADIENT("_prelu_kernel_backward", "Tensor input, Tensor weight", prelu_kernel_backward),
    GRADIENT("rrelu_with_noise_backward", "Tensor input, Tensor noise, Scalar lower, Scalar upper, bool training, bool self_is_result", rrelu_backward),
};
/* clang-format on */
OP_TABLE_END(activation);
