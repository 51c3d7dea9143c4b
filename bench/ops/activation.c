/* Activations. At a kink the gradient is the one PyTorch's kernels choose: each function below
 * names its intervals, and the selection on them decides value and gradient alike. Comparisons
 * are written so that NaN lands on the branch that keeps it.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/call/op.h"
#include "bench/ops/integers.h"
#include "bench/ops/operands.h"
#include "bench/ops/properties.h"
#include "bench/primitives/alias.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/complex_functions.h"
#include "bench/primitives/integral.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/selection.h"
#include "bench/primitives/unary.h"
#include "bench/primitives/view.h"
#include "core/vectorize.h"

static struct node *input_of(struct call *call)
{
    return node_to_real(call->tape, call_tensor(call, "input"));
}

/* Number `name` as a kernel of x's dtype compares with it. */
static struct node *threshold_of(struct call *call, const char *name, const struct node *x)
{
    return node_scalar(call->tape, number_as_compared(call_real(call, name), x->dtype));
}

/* y = f(x) by name (text). */
static void function(struct call *call)
{
    call_return(call, node_apply(call->tape, call->op->text, input_of(call)));
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

static void relu6(struct call *call)
{
    call_return(call, hard_limited(call->tape, input_of(call), 0, 6));
}

static void hardsigmoid(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = input_of(call), *six = node_scalar(tape, 6);
    struct node *y = node_divide(tape, node_offset(tape, x, 3), six);
    y = node_select(tape, node_compare(tape, COMPARE_LE, x, node_scalar(tape, -3)),
                    node_scalar(tape, 0), y);
    call_return(call, node_select(tape, node_compare(tape, COMPARE_GE, x, node_scalar(tape, 3)),
                                  node_scalar(tape, 1), y));
}

/* x (x + 3) / 6 between -3, included, and 3. x times 0 below makes NaN of -infinity. */
static void hardswish(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = input_of(call), *zero = node_scalar(tape, 0);
    struct node *right = node_compare(tape, COMPARE_GE, x, node_scalar(tape, 3));
    struct node *middle =
        node_select(tape, right, zero, x); /* no infinite slopes where the parabola ends */
    struct node *y = node_divide(tape, node_multiply(tape, middle, node_offset(tape, middle, 3)),
                                 node_scalar(tape, 6));
    struct node *endless = node_compare(tape, COMPARE_EQ, x, node_scalar(tape, -INFINITY));
    struct node *below = node_select(tape, endless, node_scalar(tape, NAN), zero);
    y = node_select(tape, node_compare(tape, COMPARE_LT, x, node_scalar(tape, -3)), below, y);
    y = node_select(tape, right, x, y);
    call_return(call, node_model_error(tape, y, y, 3)); /* kernels form x * 6 / 6 beyond 3 */
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

/* x > 0 ? x : weight x, the weight one number or one per channel (dimension 1). */
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
    struct node *positive = node_compare(tape, COMPARE_GT, x, node_scalar(tape, 0));
    struct node *low = node_select(tape, positive, node_scalar(tape, 0),
                                   x); /* infinite slopes stay out of the weight's sum */
    call_return_typed(call, node_select(tape, positive, x, node_multiply(tape, weight, low)),
                      x->dtype);
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
    struct node *x = input_of(call);
    call_return(call, node_select(call->tape, within(call, x), node_scalar(call->tape, 0), x));
}

static void softshrink(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = input_of(call), *lambda = node_scalar(tape, call_real(call, "lambd"));
    struct node *right = node_compare(tape, COMPARE_GT, x, node_scalar(tape, 0));
    struct node *y =
        node_select(tape, right, node_subtract(tape, x, lambda), node_add(tape, x, lambda));
    call_return(call, node_select(tape, within(call, x), node_scalar(tape, 0), y));
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

/* x > 0 ? scale x : scale alpha expm1(x / width) */
static struct node *exponential_unit(struct tape *tape, struct node *x, double alpha, double scale,
                                     double width)
{
    struct node *positive = node_compare(tape, COMPARE_GT, x, node_scalar(tape, 0));
    /* Zero where the other branch is taken: its exponential could overflow into NaN gradients. */
    struct node *low = node_select(tape, positive, node_scalar(tape, 0), x);
    if (width != 1) low = node_divide(tape, low, node_scalar(tape, width));
    low = node_apply(tape, "expm1", low);
    low = node_model_error(tape, low, node_constant(tape, DT_NONE, 1, low->rank, low->shape),
                           8); /* exp(x) - 1 */
    low = node_multiply(tape, low,
                        node_multiply(tape, node_scalar(tape, scale), node_scalar(tape, alpha)));
    return node_select(tape, positive, node_scale(tape, x, scale), low);
}

static void elu(struct call *call)
{
    call_return(call, exponential_unit(call->tape, input_of(call), call_real(call, "alpha"), 1, 1));
}

static void celu(struct call *call)
{
    double alpha = call_real(call, "alpha");
    call_return(call, exponential_unit(call->tape, input_of(call), alpha, 1, alpha));
}

static void selu(struct call *call)
{
    call_return(call,
                exponential_unit(call->tape, input_of(call), 1.6732632423543772848170429916717,
                                 1.0507009873554804934193349852946, 1));
}

/* log1p(exp(beta x)) / beta, x itself where beta x exceeds the threshold. */
/* Is some element above the limit? */
VECTORIZED static bool any_above(const double *x, size_t n, double limit)
{
    size_t above = 0;
    for (size_t i = 0; i < n; i++) above += x[i] > limit;
    return above > 0;
}

static void softplus(struct call *call)
{
    struct tape *tape = call->tape;
    double factor = call_real(call, "beta");
    struct node *x = input_of(call), *scaled = node_scale(tape, x, factor);
    struct node *threshold = threshold_of(call, "threshold", x),
                *y = node_apply(tape, "softplus", scaled);
    if (factor != 1) y = node_divide(tape, y, node_scalar(tape, factor));
    /* Most calls have no element in the linear part. */
    const double *value = node_values(tape, x);
    if (factor != 1 || !node_is_exact(x) || tape_failed(tape) ||
        any_above(value, x->n, threshold->value[0]))
        y = node_select(tape, node_compare(tape, COMPARE_GT, scaled, threshold), x, y);
    call_return(call, y);
}

/* gelu by erf, or by tanh: x sigmoid(2 c), c = sqrt(2 / pi) (x + 0.044715 x^3). */
static void gelu(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = input_of(call);
    const char *approximate = call_string(call, "approximate");
    if (!strcmp(approximate, "none")) {
        /* Kernels compute x/2 (1 + erf(x / sqrt 2)). */
        call_return(call, node_model_error(tape, node_apply(tape, "gelu", x), x, 6));
        return;
    }
    if (!call_require(call, strcmp(approximate, "tanh") == 0,
                      "approximate is '%s'; it can be 'none' or 'tanh'", approximate))
        return;
    struct node *factor =
        node_apply(tape, "sqrt", node_divide(tape, node_scalar(tape, 8), node_pi(tape)));
    struct node *square = node_multiply(tape, x, x);
    struct node *cubic =
        node_offset(tape, node_multiply(tape, square, node_scalar(tape, 0.044715)), 1);
    struct node *argument = node_multiply(tape, node_multiply(tape, factor, x), cubic);
    /* Kernels compute x/2 (1 + tanh(c)). */
    struct node *y = node_multiply(tape, x, node_apply(tape, "sigmoid", argument));
    call_return(call, node_model_error(tape, y, x, 6));
}

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

/* The slopes drawn: native ones by us, the device's as its output shows them. NULL: not known. */
static struct node *drawn_slopes(struct call *call, struct node *x, double low, double high)
{
    struct tape *tape = call->tape;
    const struct tensor *got = tape_is_reference(tape) ? call_device_output(call, 0) : NULL;
    struct node *y = got ? node_leaf(tape, got, false) : NULL;
    if (tape_is_reference(tape) && (!y || y->n != x->n || y->integer)) return NULL;
    struct node *slopes = node_new_real(tape, DT_NONE, x->rank, x->shape);
    const double *from = node_values(tape, x), *to = y ? node_values(tape, y) : NULL;
    for (size_t i = 0; !tape_failed(tape) && i < x->n; i++)
        slopes->value[i] = to ? (from[i] == 0 ? low : to[i] / from[i])
                              : low + (high - low) * random_uniform(call, i);
    return slopes;
}

static void rrelu(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = input_of(call);
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

/* clang-format off */
#define PLACE ", bool inplace=False)"
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
    { "glu", FUNCTIONAL, "(Tensor input, int dim=-1)", glu, OP_ONE_NODE, 0, NULL },
    { "silu", FUNCTIONAL, "(Tensor input" PLACE, function, OP_ONE_NODE, 0, "silu" },
    { "mish", FUNCTIONAL, "(Tensor input" PLACE, function, OP_ONE_NODE, 0, "mish" },
    { "logsigmoid", FUNCTIONAL, "(Tensor input)", function, OP_ONE_NODE, 0, "logsigmoid" },
    { "rrelu", FUNCTIONAL | TORCH, "(Tensor input, float lower=0.125, float upper=0.3333333333333333, bool training=False" PLACE, rrelu, OP_ONE_NODE, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(activation);
