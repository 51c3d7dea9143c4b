/* Slopes as compositions, so that they carry bounds and slopes of their own. A model has the formulas of kernels, whose
 * errors differ from those of formulas that do not cancel. */
#include "bench/primitives/unary_derivatives.h"

#include <math.h>

#include "bench/primitives/chain_rule.h"
#include "bench/primitives/slopes.h"

#define DERIVATIVE(NAME) struct node *NAME(struct tape *tape, struct node *x, struct node *y)

static struct node *one_minus(struct tape *tape, struct node *x)
{
    return node_subtract(tape, node_scalar(tape, 1), x);
}

static struct node *power(struct tape *tape, struct node *x, double exponent)
{
    return node_apply2(tape, "pow", x, node_scalar(tape, exponent));
}

DERIVATIVE(derivative_abs)
{
    (void)y;
    return node_apply(tape, "sign", x);
}
DERIVATIVE(derivative_exp)
{
    (void)x, (void)tape;
    return y;
}
DERIVATIVE(derivative_exp2)
{
    (void)x;
    return node_multiply(tape, y, node_apply(tape, "log", node_scalar(tape, 2)));
}
DERIVATIVE(derivative_expm1)
{
    if (tape_is_model(tape) || tape->from_outputs)
        return node_offset(tape, y, 1); /* the frameworks' formula */
    return node_apply(tape, "exp", x);
}
DERIVATIVE(derivative_log)
{
    (void)y;
    return node_apply(tape, "reciprocal", x);
}
DERIVATIVE(derivative_logarithm2)
{
    (void)y;
    return node_apply(tape, "reciprocal",
                      node_multiply(tape, x, node_apply(tape, "log", node_scalar(tape, 2))));
}
DERIVATIVE(derivative_logarithm10)
{
    (void)y;
    return node_apply(tape, "reciprocal",
                      node_multiply(tape, x, node_apply(tape, "log", node_scalar(tape, 10))));
}
DERIVATIVE(derivative_log1p)
{
    (void)y;
    return node_apply(tape, "reciprocal", node_offset(tape, x, 1));
}
DERIVATIVE(derivative_sqrt)
{
    (void)x;
    return node_divide(tape, node_scalar(tape, 0.5), y);
}
DERIVATIVE(derivative_rsqrt)
{
    (void)x;
    return node_scale(tape, power(tape, y, 3), -0.5);
}
DERIVATIVE(derivative_reciprocal)
{
    (void)x;
    return node_negate(tape, node_multiply(tape, y, y));
}
DERIVATIVE(derivative_square)
{
    (void)y;
    return node_scale(tape, x, 2);
}
DERIVATIVE(derivative_sin)
{
    (void)y;
    return node_apply(tape, "cos", x);
}
DERIVATIVE(derivative_cos)
{
    (void)y;
    return node_negate(tape, node_apply(tape, "sin", x));
}
DERIVATIVE(derivative_tan)
{
    (void)x;
    return node_offset(tape, node_multiply(tape, y, y), 1);
}
/* Kernels form 1 - x x, which cancels where (1 - x)(1 + x) does not: models do, and what stands for a kernel. */
static bool as_kernels_do(const struct tape *tape)
{
    return tape_is_model(tape) || tape->deviation;
}
DERIVATIVE(derivative_asin)
{
    (void)y;
    if (as_kernels_do(tape))
        return node_apply(tape, "rsqrt", one_minus(tape, node_multiply(tape, x, x)));
    return node_apply(tape, "rsqrt",
                      node_multiply(tape, one_minus(tape, x), node_offset(tape, x, 1)));
}
DERIVATIVE(derivative_acos) { return node_negate(tape, derivative_asin(tape, x, y)); }
DERIVATIVE(derivative_atan)
{
    (void)y;
    return node_apply(tape, "reciprocal", node_offset(tape, node_multiply(tape, x, x), 1));
}
DERIVATIVE(derivative_sinh)
{
    (void)y;
    return node_apply(tape, "cosh", x);
}
DERIVATIVE(derivative_cosh)
{
    (void)y;
    return node_apply(tape, "sinh", x);
}
DERIVATIVE(derivative_tanh)
{
    (void)x;
    return node_multiply(tape, one_minus(tape, y), node_offset(tape, y, 1));
}
DERIVATIVE(derivative_asinh)
{
    (void)y;
    return node_apply(tape, "rsqrt", node_offset(tape, node_multiply(tape, x, x), 1));
}
DERIVATIVE(derivative_acosh)
{
    (void)y;
    if (as_kernels_do(tape))
        return node_apply(tape, "rsqrt", node_offset(tape, node_multiply(tape, x, x), -1));
    struct node *zero = node_scalar(tape, 0); /* -2 0 at -1 is 0 as x^2 - 1 is, not -0 */
    struct node *square = node_multiply(tape, node_offset(tape, x, -1), node_offset(tape, x, 1));
    return node_apply(tape, "rsqrt", node_add(tape, square, zero));
}
DERIVATIVE(derivative_atanh)
{
    (void)y;
    if (as_kernels_do(tape))
        return node_apply(tape, "reciprocal", one_minus(tape, node_multiply(tape, x, x)));
    return node_apply(tape, "reciprocal",
                      node_multiply(tape, one_minus(tape, x), node_offset(tape, x, 1)));
}
/* 2/sqrt(pi) exp(-x^2) = 2 sqrt(2) phi(x sqrt 2), with phi's own constant inside. */
DERIVATIVE(derivative_erf)
{
    (void)y;
    struct node *root2 = node_apply(tape, "sqrt", node_scalar(tape, 2));
    struct node *pdf = node_apply(tape, "normal_pdf", node_multiply(tape, x, root2));
    return node_multiply(tape, node_scale(tape, root2, 2), pdf);
}
DERIVATIVE(derivative_erfc) { return node_negate(tape, derivative_erf(tape, x, y)); }
DERIVATIVE(derivative_sigmoid)
{
    if (tape->from_outputs)
        return node_multiply(tape, y, node_subtract(tape, node_scalar(tape, 1), y));
    return node_activation_slope(tape, SLOPE_SIGMOID, x);
}
DERIVATIVE(derivative_silu)
{
    (void)y;
    return node_activation_slope(tape, SLOPE_SILU, x);
}
DERIVATIVE(derivative_softplus)
{
    (void)y;
    return node_apply(tape, "sigmoid", x);
}
DERIVATIVE(derivative_logsigmoid)
{
    (void)y;
    return node_apply(tape, "sigmoid", node_negate(tape, x));
}
DERIVATIVE(derivative_mish)
{
    (void)y;
    struct node *t = node_apply(tape, "tanh", node_apply(tape, "softplus", x));
    struct node *slope = node_multiply(tape, one_minus(tape, t), node_offset(tape, t, 1));
    slope = node_multiply(tape, slope, node_multiply(tape, x, node_apply(tape, "sigmoid", x)));
    return node_add(tape, t, slope);
}
DERIVATIVE(derivative_gelu)
{
    (void)y;
    return node_activation_slope(tape, SLOPE_GELU, x);
}
DERIVATIVE(derivative_one)
{
    (void)x;
    return node_constant(tape, DT_NONE, 1, y->rank, y->shape);
}
DERIVATIVE(derivative_times_pi)
{
    (void)x, (void)y;
    return node_apply(tape, "times_pi", node_scalar(tape, 1));
}
DERIVATIVE(derivative_deg2rad)
{
    (void)x, (void)y;
    return node_apply(tape, "deg2rad", node_scalar(tape, 1));
}
DERIVATIVE(derivative_rad2deg)
{
    (void)x, (void)y;
    return node_apply(tape, "rad2deg", node_scalar(tape, 1));
}
DERIVATIVE(derivative_sinpi)
{
    (void)y;
    return node_apply(tape, "times_pi", node_apply(tape, "cospi", x));
}
DERIVATIVE(derivative_cospi)
{
    (void)y;
    return node_negate(tape, node_apply(tape, "times_pi", node_apply(tape, "sinpi", x)));
}
/* (cos(pi x) - sinc(x)) / x, and 0 at 0. */
DERIVATIVE(derivative_sinc)
{
    struct node *zero = node_scalar(tape, 0);
    struct node *slope = node_divide(tape, node_subtract(tape, node_apply(tape, "cospi", x), y), x);
    return node_select(tape, node_compare(tape, COMPARE_EQ, x, zero), zero, slope);
}
/* sqrt(pi)/2 exp(y^2) */
DERIVATIVE(derivative_erfinv)
{
    struct node *root =
        node_apply(tape, "sqrt", node_apply(tape, "times_pi", node_scalar(tape, 0.25)));
    (void)x;
    return node_multiply(tape, root, node_apply(tape, "exp", node_multiply(tape, y, y)));
}
/* The derivative of digamma is polygamma(1, x). */
DERIVATIVE(derivative_digamma)
{
    (void)y;
    return node_apply2(tape, "polygamma", node_scalar(tape, 1), x);
}
DERIVATIVE(derivative_i0)
{
    (void)y;
    return node_apply(tape, "i1", x);
}
/* I0 - I1 / x, which tends to 1/2 at 0. */
DERIVATIVE(derivative_i1)
{
    struct node *half = node_scalar(tape, 0.5);
    struct node *slope = node_subtract(tape, node_apply(tape, "i0", x), node_divide(tape, y, x));
    return node_select(tape, node_compare(tape, COMPARE_EQ, x, node_scalar(tape, 0)), half, slope);
}
DERIVATIVE(derivative_lgamma)
{
    (void)y;
    return node_apply(tape, "digamma", x);
}
DERIVATIVE(derivative_normal_pdf) { return node_negate(tape, node_multiply(tape, x, y)); }
