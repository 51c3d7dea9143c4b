/* Activations of linear pieces, and of a parabola between two. At a kink the gradient is the one PyTorch's kernels choose: each function
 * below names its intervals, and the selection on them decides value and gradient alike. Comparisons are written so that NaN lands on the
 * branch that keeps it.
 */
#include <math.h>

#include "bench/call/op.h"
#include "bench/ops/activation.h"
#include "bench/ops/integers.h"
#include "bench/ops/operands.h"
#include "bench/ops/pullback.h"
#include "bench/primitives/alias.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/integral.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/selection.h"

/* What the gradients of functions of one variable are for. */
static const char *const of_input[] = { "input", NULL };

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
    call_return(call, hard_limited(call->tape, activation_input(call), 0, 6));
}

static void hardsigmoid(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = activation_piecewise_input(call), *six = node_scalar(tape, 6);
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
    struct node *x = activation_piecewise_input(call), *zero = node_scalar(tape, 0);
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

struct node *leaky_part(struct tape *tape, struct node *x, double slope)
{
    struct node *positive = node_compare(tape, COMPARE_GT, x, node_scalar(tape, 0));
    return node_select(tape, positive, x, node_multiply(tape, x, node_scalar(tape, slope)));
}

static void leaky_relu(struct call *call)
{
    call_return(call,
                leaky_part(call->tape, activation_input(call), call_real(call, "negative_slope")));
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
    struct node *x = activation_input(call), *weight = call_tensor(call, "weight");
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
    struct node *x = activation_input(call);
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
    struct node *x = node_tracked(tape, activation_input(call)),
                *weight = call_tensor(call, "weight");
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
    struct node *limit = activation_threshold(call, "threshold", x);
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
    struct node *x = node_tracked(tape, activation_input(call));
    struct node *below =
        node_compare(tape, COMPARE_LE, x, activation_threshold(call, "threshold", x));
    struct node *y = node_select(tape, below, node_scalar(tape, 0), x);
    call_return(call, call_gradient(call, y, call_tensor(call, "grad_output"), x));
}

/* ---- shrinking ------------------------------------------------------------------------------------ */

/* -lambda <= x <= lambda */
static struct node *within(struct call *call, struct node *x)
{
    struct tape *tape = call->tape;
    struct node *lambda = activation_threshold(call, "lambd", x);
    return node_and(tape, node_compare(tape, COMPARE_LE, x, lambda),
                    node_compare(tape, COMPARE_GE, x, node_negate(tape, lambda)));
}

static void hardshrink(struct call *call)
{
    struct node *x = activation_piecewise_input(call);
    call_return(call, node_select(call->tape, within(call, x), node_scalar(call->tape, 0), x));
}

static void hardshrink_backward(struct call *call)
{
    call_return_gradients(call, hardshrink, of_input);
}

static void softshrink(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = activation_piecewise_input(call),
                *lambda = node_scalar(tape, call_real(call, "lambd"));
    struct node *right = node_compare(tape, COMPARE_GT, x, node_scalar(tape, 0));
    struct node *y =
        node_select(tape, right, node_subtract(tape, x, lambda), node_add(tape, x, lambda));
    call_return(call, node_select(tape, within(call, x), node_scalar(tape, 0), y));
}

static void softshrink_backward(struct call *call)
{
    call_return_gradients(call, softshrink, of_input);
}

/* clang-format off */
#define PLACE ", bool inplace=False)"
#define GRADIENT(name, arguments, function) \
    { name, ATEN, "(Tensor grad_output, " arguments ")", function, OP_NO_GRADIENT, 0, NULL }
const struct op ops_piecewise[] = {
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
    /* aten */
    { "hardtanh", ATEN, "(Tensor input, Scalar min_val=-1, Scalar max_val=1)", hardtanh, OP_ONE_NODE, 0, NULL },
    { "hardsigmoid", ATEN, "(Tensor input)", hardsigmoid, OP_ONE_NODE, 0, NULL },
    { "hardswish", ATEN, "(Tensor input)", hardswish, OP_ONE_NODE, 0, NULL },
    { "leaky_relu", ATEN, "(Tensor input, Scalar negative_slope=0.01)", leaky_relu, OP_ONE_NODE, 0, NULL },
    { "softshrink", ATEN, "(Tensor input, Scalar lambd=0.5)", softshrink, OP_ONE_NODE, 0, NULL },
    { "_prelu_kernel", ATEN, "(Tensor input, Tensor weight)", prelu_kernel, OP_ONE_NODE, 0, NULL },
    GRADIENT("hardtanh_backward", "Tensor input, Scalar min_val, Scalar max_val", hardtanh_backward),
    GRADIENT("hardsigmoid_backward", "Tensor input", hardsigmoid_backward),
    GRADIENT("hardswish_backward", "Tensor input", hardswish_backward),
    GRADIENT("leaky_relu_backward", "Tensor input, Scalar negative_slope, bool self_is_result", leaky_relu_backward),
    GRADIENT("hardshrink_backward", "Tensor input, Scalar lambd", hardshrink_backward),
    GRADIENT("softshrink_backward", "Tensor input, Scalar lambd", softshrink_backward),
    GRADIENT("threshold_backward", "Tensor input, Scalar threshold", threshold_backward),
    GRADIENT("prelu_backward", "Tensor input, Tensor weight", prelu_backward),
    GRADIENT("_prelu_kernel_backward", "Tensor input, Tensor weight", prelu_kernel_backward),
};
/* clang-format on */
OP_TABLE_END(piecewise);
