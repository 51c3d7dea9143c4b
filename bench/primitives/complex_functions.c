/* Functions of complex nodes: the textbook forms in real and imaginary part, chosen so that no
 * half cancels where the other does not (the square root takes the larger half from |z| + |x|).
 */
#include "bench/primitives/complex_functions.h"

#include <math.h>
#include <string.h>

#include "bench/primitives/alias.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/chain_rule.h"
#include "bench/primitives/complex_parts.h"
#include "bench/primitives/integral.h"
#include "bench/primitives/selection.h"
#include "bench/primitives/stated_gradient.h"
#include "bench/primitives/unary.h"

/* Real and imaginary part. */
struct parts {
    struct node *re, *im;
};

static struct parts parts_of(struct tape *tape, struct node *x)
{
    return (struct parts){ node_real_part(tape, x), node_imaginary_part(tape, x) };
}

static struct node *times_i(struct tape *tape, struct node *x)
{
    struct parts p = parts_of(tape, x);
    return node_complex(tape, node_negate(tape, p.im), p.re);
}

static struct node *times_minus_i(struct tape *tape, struct node *x)
{
    struct parts p = parts_of(tape, x);
    return node_complex(tape, p.im, node_negate(tape, p.re));
}

/* a + i b of two real nodes: f1(x) f2(y) + i f3(x) f4(y). */
static struct node *products(struct tape *tape, struct parts p, const char *const f[4])
{
    struct node *re =
        node_multiply(tape, node_apply(tape, f[0], p.re), node_apply(tape, f[1], p.im));
    struct node *im =
        node_multiply(tape, node_apply(tape, f[2], p.re), node_apply(tape, f[3], p.im));
    return node_complex(tape, re, im);
}

/* x / |x|, with 0 at 0 (both partial derivatives of hypot). */
static void magnitude_backward(struct tape *tape, struct node *node, struct node *cotangent,
                               const void *parameters)
{
    struct node *zero = node_scalar(tape, 0), *at_zero = node_compare(tape, COMPARE_EQ, node, zero);
    (void)parameters;
    for (int k = 1; k <= 2; k++)
        gradient_pass(tape, node->inputs[k], cotangent,
                      node_select(tape, at_zero, zero, node_divide(tape, node->inputs[k], node)));
}

struct node *node_magnitude(struct tape *tape, struct node *x)
{
    if (!x->imaginary) return node_apply(tape, "abs", x);
    struct parts p = parts_of(tape, x);
    struct node *y = node_apply2(tape, "hypot", p.re, p.im);
    return node_stated_gradient(tape, y, 2, (struct node *[]){ p.re, p.im }, magnitude_backward,
                                NULL);
}

/* Of a complex number 0 at 0; of a real one 0 or pi, flat. */
static void angle_backward(struct tape *tape, struct node *node, struct node *cotangent,
                           const void *parameters)
{
    struct node *re = node->inputs[1], *im = node->inputs[2], *zero = node_scalar(tape, 0);
    struct node *norm = node_add(tape, node_multiply(tape, re, re), node_multiply(tape, im, im));
    struct node *at_zero = node_compare(tape, COMPARE_EQ, norm, zero);
    (void)parameters;
    gradient_pass(tape, re, cotangent,
                  node_select(tape, at_zero, zero, node_negate(tape, node_divide(tape, im, norm))));
    gradient_pass(tape, im, cotangent,
                  node_select(tape, at_zero, zero, node_divide(tape, re, norm)));
}

struct node *node_angle(struct tape *tape, struct node *x)
{
    struct node *zero = node_scalar(tape, 0);
    if (x->imaginary) {
        struct parts p = parts_of(tape, x);
        struct node *y = node_apply2(tape, "atan2", p.im, p.re);
        return node_stated_gradient(tape, y, 2, (struct node *[]){ p.re, p.im }, angle_backward,
                                    NULL);
    }
    x = node_to_real(tape, x);
    struct node *pi = node_apply(tape, "times_pi", node_scalar(tape, 1));
    struct node *y = node_select(tape, node_compare(tape, COMPARE_LT, x, zero), pi, zero);
    struct node *sane = node_compare(tape, COMPARE_EQ, x, x); /* NaN stays */
    y = node_select(tape, sane, y, node_detach(tape, x));
    return node_flat(tape, y, 1, &x);
}

struct node *node_conjugate(struct tape *tape, struct node *x)
{
    if (!x->imaginary) return x;
    struct parts p = parts_of(tape, x);
    return node_complex(tape, p.re, node_negate(tape, p.im));
}

/* Cotangents of the real part of an analytic y with y' = slope, and of its imaginary part (Cauchy and Riemann). */
static void real_part_backward(struct tape *tape, struct node *node, struct node *cotangent,
                               const void *parameters)
{
    struct parts slope = parts_of(tape, (struct node *)parameters);
    gradient_pass(tape, node->inputs[1], cotangent, slope.re);
    gradient_pass(tape, node->inputs[2], cotangent, node_negate(tape, slope.im));
}

static void imaginary_part_backward(struct tape *tape, struct node *node, struct node *cotangent,
                                    const void *parameters)
{
    struct parts slope = parts_of(tape, (struct node *)parameters);
    gradient_pass(tape, node->inputs[1], cotangent, slope.im);
    gradient_pass(tape, node->inputs[2], cotangent, slope.re);
}

/* y = f(x) with the slope as kernels form it. */
static struct node *with_slope(struct tape *tape, struct node *y, struct node *x,
                               struct node *slope)
{
    struct parts p = parts_of(tape, x), q = parts_of(tape, y);
    struct node *inputs[2] = { p.re, p.im };
    return node_complex(
        tape, node_stated_gradient(tape, q.re, 2, inputs, real_part_backward, slope),
        node_stated_gradient(tape, q.im, 2, inputs, imaginary_part_backward, slope));
}

static struct node *complex_reciprocal(struct tape *tape, struct node *x);

/* t = sqrt((|z| + |x|) / 2) is the part that does not cancel; the other is y / (2 t). The slope, 1 / (2 sqrt z), is on the
 * side of the cut that the sign of a zero says; parts of their own would have none there. */
static struct node *complex_sqrt(struct tape *tape, struct node *x)
{
    struct parts p = parts_of(tape, x);
    struct node *zero = node_scalar(tape, 0);
    struct node *size = node_add(tape, node_magnitude(tape, x), node_apply(tape, "abs", p.re));
    struct node *t = node_apply(tape, "sqrt", node_scale(tape, size, 0.5));
    struct node *small = node_divide(tape, p.im, node_scale(tape, t, 2));
    struct node *empty = node_compare(tape, COMPARE_EQ, size, zero);
    small = node_select(tape, empty, zero, small);
    struct node *right = node_compare(tape, COMPARE_GE, p.re, zero);
    struct node *signed_t = node_apply2(tape, "copysign", t, p.im);
    struct node *y = node_complex(tape, node_select(tape, right, t, node_apply(tape, "abs", small)),
                                  node_select(tape, right, small, signed_t));
    return with_slope(tape, y, x, complex_reciprocal(tape, node_scale(tape, y, 2)));
}

static struct node *complex_log(struct tape *tape, struct node *x)
{
    return node_complex(tape, node_apply(tape, "log", node_magnitude(tape, x)),
                        node_angle(tape, x));
}

static struct node *complex_exp(struct tape *tape, struct node *x)
{
    struct parts p = parts_of(tape, x);
    struct node *size = node_apply(tape, "exp", p.re);
    return node_complex(tape, node_multiply(tape, size, node_apply(tape, "cos", p.im)),
                        node_multiply(tape, size, node_apply(tape, "sin", p.im)));
}

static struct node *complex_one(struct tape *tape)
{
    return node_complex(tape, node_scalar(tape, 1), node_scalar(tape, 0));
}

static struct node *complex_reciprocal(struct tape *tape, struct node *x)
{
    return node_divide(tape, complex_one(tape), x);
}

static struct node *complex_rsqrt(struct tape *tape, struct node *x)
{
    return complex_reciprocal(tape, complex_sqrt(tape, x));
}

static struct node *complex_square(struct tape *tape, struct node *x)
{
    return node_multiply(tape, x, x);
}

static struct node *complex_sin(struct tape *tape, struct node *x)
{
    static const char *const f[4] = { "sin", "cosh", "cos", "sinh" };
    return products(tape, parts_of(tape, x), f);
}

static struct node *complex_sinh(struct tape *tape, struct node *x)
{
    static const char *const f[4] = { "sinh", "cos", "cosh", "sin" };
    return products(tape, parts_of(tape, x), f);
}

static struct node *complex_cosh(struct tape *tape, struct node *x)
{
    static const char *const f[4] = { "cosh", "cos", "sinh", "sin" };
    return products(tape, parts_of(tape, x), f);
}

static struct node *complex_cos(struct tape *tape, struct node *x)
{
    return complex_cosh(tape, times_i(tape, x));
}

/* tanh(x + iy) = (sinh x cosh x + i sin y cos y) / (sinh^2 x + cos^2 y); y' = 1 - y^2 from the result. */
static struct node *complex_tanh(struct tape *tape, struct node *x)
{
    struct parts p = parts_of(tape, x);
    struct node *sh = node_apply(tape, "sinh", p.re), *ch = node_apply(tape, "cosh", p.re);
    struct node *s = node_apply(tape, "sin", p.im), *c = node_apply(tape, "cos", p.im);
    struct node *norm = node_add(tape, node_multiply(tape, sh, sh), node_multiply(tape, c, c));
    struct node *y = node_complex(tape, node_divide(tape, node_multiply(tape, sh, ch), norm),
                                  node_divide(tape, node_multiply(tape, s, c), norm));
    struct node *square = node_multiply(tape, y, y);
    return with_slope(tape, y, x, node_offset(tape, node_negate(tape, square), 1));
}

static struct node *complex_tan(struct tape *tape, struct node *x)
{
    return times_minus_i(tape, complex_tanh(tape, times_i(tape, x)));
}

static struct node *one_minus_square(struct tape *tape, struct node *x)
{
    return node_offset(tape, node_negate(tape, node_multiply(tape, x, x)), 1);
}

/* 1 + 1 / |sqrt(w)|, w = 1 - z^2: the root of w is off by so many roundings of w, by the root of one where w itself is less. */
static struct node *over_root(struct tape *tape, struct node *x)
{
    struct node *size = node_magnitude(tape, one_minus_square(tape, x));
    struct node *over = node_apply(tape, "rsqrt", node_offset(tape, size, tape->unit));
    return node_offset(tape, over, 1);
}

/* Kernels go through logarithms: asin z = -i log(i z + sqrt(1 - z^2)), off by roundings of 1 and, where the two terms
 * cancel, of |z|^2 times that, and by what the root is; atan z = i / 2 log((i + z) / (i - z)), by roundings of 1. */
static struct node *by_logarithm(struct tape *tape, struct node *y, struct node *x, bool cancels)
{
    enum { ROUNDINGS = 8 };
    if (!tape_is_model(tape)) return y;
    struct parts q = parts_of(tape, y);
    struct node *size = node_detach(tape, node_magnitude(tape, x));
    size = node_offset(tape, node_scale(tape, node_multiply(tape, size, size), cancels), 1);
    if (cancels) size = node_multiply(tape, size, node_detach(tape, over_root(tape, x)));
    return node_complex(tape, node_model_error(tape, q.re, size, ROUNDINGS),
                        node_model_error(tape, q.im, size, ROUNDINGS));
}

/* But for the reference: y = f(z), whose slope kernels form as `scale` over 1 - z^2 or its root: the square is rounded, and cancels beside 1
 * and -1. */
static struct node *sloped_by_square(struct tape *tape, struct node *y, struct node *x, bool root,
                                     double scale)
{
    if (tape->arithmetic == BENCH_REFERENCE) return y;
    struct node *rest = one_minus_square(tape, x);
    struct node *slope = complex_reciprocal(tape, root ? complex_sqrt(tape, rest) : rest);
    return with_slope(tape, y, x, node_scale(tape, slope, scale));
}

/* Kahan: with a = sqrt(1 - z), b = sqrt(1 + z),
 *     re asin z = atan2(x, re(a b)),  im asin z = asinh(im(conj(a) b)). */
static struct node *complex_asin(struct tape *tape, struct node *x)
{
    struct node *a = complex_sqrt(tape, node_offset(tape, node_negate(tape, x), 1));
    struct node *b = complex_sqrt(tape, node_offset(tape, x, 1));
    struct node *product = node_multiply(tape, a, b);
    struct node *other = node_multiply(tape, node_conjugate(tape, a), b);
    struct node *y = node_complex(
        tape, node_apply2(tape, "atan2", node_real_part(tape, x), node_real_part(tape, product)),
        node_apply(tape, "asinh", node_imaginary_part(tape, other)));
    return sloped_by_square(tape, by_logarithm(tape, y, x, true), x, true, 1);
}

/* re acos z = 2 atan2(re a, re b),  im acos z = asinh(im(conj(b) a)). */
static struct node *complex_acos(struct tape *tape, struct node *x)
{
    struct node *a = complex_sqrt(tape, node_offset(tape, node_negate(tape, x), 1));
    struct node *b = complex_sqrt(tape, node_offset(tape, x, 1));
    struct node *other = node_multiply(tape, node_conjugate(tape, b), a);
    struct node *half =
        node_apply2(tape, "atan2", node_real_part(tape, a), node_real_part(tape, b));
    struct node *y = node_complex(tape, node_scale(tape, half, 2),
                                  node_apply(tape, "asinh", node_imaginary_part(tape, other)));
    return sloped_by_square(tape, by_logarithm(tape, y, x, true), x, true, -1);
}

/* re acosh z = asinh(re(conj(a) b)), im acosh z = 2 atan2(im a, re b), a, b = sqrt(z -+ 1). */
static struct node *complex_acosh(struct tape *tape, struct node *x)
{
    struct node *a = complex_sqrt(tape, node_offset(tape, x, -1)),
                *b = complex_sqrt(tape, node_offset(tape, x, 1));
    struct node *product = node_multiply(tape, node_conjugate(tape, a), b);
    struct node *half =
        node_apply2(tape, "atan2", node_imaginary_part(tape, a), node_real_part(tape, b));
    return node_complex(tape, node_apply(tape, "asinh", node_real_part(tape, product)),
                        node_scale(tape, half, 2));
}

static struct node *complex_asinh(struct tape *tape, struct node *x)
{
    return times_minus_i(tape, complex_asin(tape, times_i(tape, x)));
}

/* re = log1p(4 x / ((1 - x)^2 + y^2)) / 4,  im = atan2(2 y, (1 - x)(1 + x) - y^2) / 2 */
static struct node *complex_atanh(struct tape *tape, struct node *x)
{
    struct parts p = parts_of(tape, x);
    struct node *one = node_scalar(tape, 1), *below = node_subtract(tape, one, p.re);
    struct node *square = node_multiply(tape, p.im, p.im);
    struct node *norm = node_add(tape, node_multiply(tape, below, below), square);
    struct node *re = node_apply(tape, "log1p", node_divide(tape, node_scale(tape, p.re, 4), norm));
    struct node *width = node_multiply(tape, below, node_add(tape, one, p.re));
    struct node *im =
        node_apply2(tape, "atan2", node_scale(tape, p.im, 2), node_subtract(tape, width, square));
    struct node *y = node_complex(tape, node_scale(tape, re, 0.25), node_scale(tape, im, 0.5));
    return sloped_by_square(tape, y, x, false, 1);
}

static struct node *complex_atan(struct tape *tape, struct node *x)
{
    struct node *y = times_minus_i(tape, complex_atanh(tape, times_i(tape, x)));
    return by_logarithm(tape, y, x, false);
}

/* y' = y (1 - y) from the result, whose 1 - y cancels where y is next to 1. */
static struct node *complex_sigmoid(struct tape *tape, struct node *x)
{
    struct node *y =
        complex_reciprocal(tape, node_offset(tape, complex_exp(tape, node_negate(tape, x)), 1));
    struct node *slope = node_multiply(tape, y, node_offset(tape, node_negate(tape, y), 1));
    return with_slope(tape, y, x, slope);
}

static struct node *complex_expm1(struct tape *tape, struct node *x)
{
    /* expm1(x) cos y - 2 sin^2(y / 2) + i exp(x) sin y */
    struct parts p = parts_of(tape, x);
    struct node *half = node_apply(tape, "sin", node_scale(tape, p.im, 0.5));
    struct node *re =
        node_multiply(tape, node_apply(tape, "expm1", p.re), node_apply(tape, "cos", p.im));
    re = node_subtract(tape, re, node_scale(tape, node_multiply(tape, half, half), 2));
    return node_complex(
        tape, re,
        node_multiply(tape, node_apply(tape, "exp", p.re), node_apply(tape, "sin", p.im)));
}

static struct node *complex_log1p(struct tape *tape, struct node *x)
{
    /* log1p(x (2 + x) + y^2) / 2 + i atan2(y, 1 + x) */
    struct parts p = parts_of(tape, x);
    struct node *grown = node_add(tape, node_multiply(tape, p.re, node_offset(tape, p.re, 2)),
                                  node_multiply(tape, p.im, p.im));
    return node_complex(tape, node_scale(tape, node_apply(tape, "log1p", grown), 0.5),
                        node_apply2(tape, "atan2", p.im, node_offset(tape, p.re, 1)));
}

static struct node *scaled_log(struct tape *tape, struct node *x, double base)
{
    struct node *factor =
        node_apply(tape, "reciprocal", node_apply(tape, "log", node_scalar(tape, base)));
    return node_multiply(tape, complex_log(tape, x), factor);
}

static struct node *complex_log2(struct tape *tape, struct node *x)
{
    return scaled_log(tape, x, 2);
}
static struct node *complex_log10(struct tape *tape, struct node *x)
{
    return scaled_log(tape, x, 10);
}

static struct node *complex_exp2(struct tape *tape, struct node *x)
{
    return complex_exp(tape, node_multiply(tape, x, node_apply(tape, "log", node_scalar(tape, 2))));
}

/* x / |x|, 0 at 0. */
static struct node *complex_sign(struct tape *tape, struct node *x)
{
    struct node *size = node_magnitude(tape, x), *zero = node_scalar(tape, 0);
    struct node *at_zero = node_compare(tape, COMPARE_EQ, size, zero);
    size = node_select(tape, at_zero, node_scalar(tape, 1), size); /* no 0 / 0 in the gradient */
    return node_select(tape, at_zero, zero, node_divide(tape, x, size));
}

/* sin(pi x) / (pi x), 1 at 0 with a slope of 0. */
static struct node *complex_sinc(struct tape *tape, struct node *x)
{
    struct node *at_zero = node_compare(
        tape, COMPARE_EQ, node_detach(tape, node_magnitude(tape, x)), node_scalar(tape, 0));
    struct parts p = parts_of(tape, node_select(tape, at_zero, complex_one(tape), x));
    struct node *angle =
        node_complex(tape, node_apply(tape, "times_pi", p.re), node_apply(tape, "times_pi", p.im));
    struct node *y = node_divide(tape, complex_sin(tape, angle), angle);
    return node_select(tape, at_zero, complex_one(tape), y);
}

static struct node *complex_abs(struct tape *tape, struct node *x)
{
    return node_magnitude(tape, x);
}

static const struct {
    const char *name;
    struct node *(*function)(struct tape *tape, struct node *x);
    /* clang-format off */
} complex_functions[] = {
    { "abs", complex_abs },       { "acos", complex_acos },   { "acosh", complex_acosh },
    { "asin", complex_asin },     { "asinh", complex_asinh }, { "atan", complex_atan },
    { "atanh", complex_atanh },   { "cos", complex_cos },     { "cosh", complex_cosh },
    { "exp", complex_exp },       { "exp2", complex_exp2 },   { "expm1", complex_expm1 },
    { "log", complex_log },       { "log10", complex_log10 }, { "log1p", complex_log1p },
    { "log2", complex_log2 },     { "reciprocal", complex_reciprocal },
    { "rsqrt", complex_rsqrt },   { "sigmoid", complex_sigmoid }, { "sign", complex_sign },
    { "sin", complex_sin },       { "sinc", complex_sinc },   { "sinh", complex_sinh },
    { "sqrt", complex_sqrt },     { "square", complex_square }, { "tan", complex_tan },     { "tanh", complex_tanh },
};
/* clang-format on */

/* In a model: what is done with a complex infinity or NaN, and with an overflow times 0, by Annex G of C, by the formula of the
 * textbook or by vectors of it, differs between the functions of one library. Marks where a part of x is not finite or a
 * part of y (x's shape) is NaN; NULL where there is no such element. */
static struct node *lost_elements(struct tape *tape, struct node *x, struct node *y)
{
    struct parts p = parts_of(tape, x), q = parts_of(tape, y);
    const double *x_re = node_values(tape, p.re), *x_im = node_values(tape, p.im);
    const double *y_re = node_values(tape, q.re), *y_im = node_values(tape, q.im);
    struct node *lost = node_new_integer(tape, DT_BOOL, x->rank, x->shape);
    bool any = false;
    if (tape_failed(tape) || y->n != x->n) return NULL;
    for (size_t i = 0; i < x->n; i++) {
        lost->integer[i] = !isfinite(x_re[i]) || !isfinite(x_im[i]) || isnan(y_re[i]) ||
                           isnan(y_im[i]);
        any |= lost->integer[i] != 0;
    }
    return any ? lost : NULL;
}

static struct node *function_of_any(struct tape *tape, size_t i, struct node *x)
{
    struct node *y = complex_functions[i].function(tape, x);
    struct node *lost = tape_is_model(tape) ? lost_elements(tape, x, y) : NULL;
    if (!lost) return y;
    struct parts p = parts_of(tape, x);
    y = complex_functions[i].function(tape,
                                      node_complex(tape, node_model_any_slope(tape, p.re, lost),
                                                   node_model_any_slope(tape, p.im, lost)));
    if (!y->imaginary) return node_model_anything(tape, y, lost);
    p = parts_of(tape, y);
    return node_complex(tape, node_model_anything(tape, p.re, lost),
                        node_model_anything(tape, p.im, lost));
}

struct node *node_function(struct tape *tape, const char *name, struct node *x)
{
    if (!x->imaginary) return node_apply(tape, name, x);
    for (size_t i = 0; i < sizeof complex_functions / sizeof *complex_functions; i++)
        if (!strcmp(complex_functions[i].name, name)) return function_of_any(tape, i, x);
    tape_fail(tape, STATUS_SKIP, "%s does not take complex numbers", name);
    return tape_failure(tape);
}

/* Small whole powers by multiplication, others as exp(b log a); 0^b is 0 but for b = 0. */
static struct node *whole_power(struct tape *tape, struct node *a, int exponent)
{
    struct node *y = NULL, *factor = a;
    for (int n = exponent < 0 ? -exponent : exponent; n; n >>= 1) {
        if (n & 1) y = y ? node_multiply(tape, y, factor) : factor;
        if (n > 1) factor = node_multiply(tape, factor, factor);
    }
    return exponent < 0 ? complex_reciprocal(tape, y) : y;
}

struct node *node_power(struct tape *tape, struct node *a, struct node *b)
{
    if (!a->imaginary && !b->imaginary) return node_apply2(tape, "pow", a, b);
    struct node *whole = NULL;
    if (!b->imaginary && !b->tracked && b->n == 1 && b->rank == 0) {
        double exponent = node_values(tape, b)[0];
        if (exponent == rint(exponent) && exponent != 0 && fabs(exponent) <= 16)
            whole = whole_power(tape, a, (int)exponent);
        /* Kernels know the exponent beforehand where it is a number of the call, not where it is an element, and multiply then up to
         * the third power. */
        bool by_products = b->dtype == DT_NONE && fabs(exponent) <= 3;
        if (whole && (!tape_is_model(tape) || by_products)) return whole;
    }
    struct node *zero = node_scalar(tape, 0);
    if (!a->imaginary) a = node_complex(tape, a, node_imaginary_part(tape, a));
    if (!b->imaginary) b = node_complex(tape, b, node_imaginary_part(tape, b));
    struct node *y = complex_exp(tape, node_multiply(tape, b, complex_log(tape, a)));
    struct node *of_zero =
        node_select(tape, node_to_integer(tape, b, DT_BOOL), zero, complex_one(tape));
    y = node_select(tape, node_to_integer(tape, a, DT_BOOL), y, of_zero);
    if (!whole) return y;
    return node_complex(
        tape, node_model_either(tape, node_real_part(tape, whole), node_real_part(tape, y)),
        node_model_either(tape, node_imaginary_part(tape, whole), node_imaginary_part(tape, y)));
}
