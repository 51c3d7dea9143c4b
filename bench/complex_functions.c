/* Functions of complex nodes: the textbook forms in real and imaginary part, chosen so that no
 * half cancels where the other does not (the square root takes the larger half from |z| + |x|).
 */
#include "bench/complex_functions.h"

#include <string.h>

#include "bench/functions.h"
#include "bench/gradient.h"

/* Real and imaginary part. */
struct parts {
    struct node *re, *im;
};

static struct parts parts_of(struct graph *g, struct node *x)
{
    return (struct parts){ node_real_part(g, x), node_imaginary_part(g, x) };
}

static struct node *times_i(struct graph *g, struct node *x)
{
    struct parts p = parts_of(g, x);
    return node_complex(g, node_negate(g, p.im), p.re);
}

static struct node *times_minus_i(struct graph *g, struct node *x)
{
    struct parts p = parts_of(g, x);
    return node_complex(g, p.im, node_negate(g, p.re));
}

/* a + i b of two real nodes: f1(x) f2(y) + i f3(x) f4(y). */
static struct node *products(struct graph *g, struct parts p, const char *const f[4])
{
    struct node *re = node_multiply(g, node_apply(g, f[0], p.re), node_apply(g, f[1], p.im));
    struct node *im = node_multiply(g, node_apply(g, f[2], p.re), node_apply(g, f[3], p.im));
    return node_complex(g, re, im);
}

/* x / |x|, with 0 at 0 (both partial derivatives of hypot). */
static void magnitude_backward(struct graph *g, struct node *node, struct node *cotangent,
                               const void *parameters)
{
    struct node *zero = node_scalar(g, 0), *at_zero = node_compare(g, COMPARE_EQ, node, zero);
    (void)parameters;
    for (int k = 1; k <= 2; k++)
        gradient_pass(g, node->inputs[k], cotangent,
                      node_select(g, at_zero, zero, node_divide(g, node->inputs[k], node)));
}

struct node *node_magnitude(struct graph *graph, struct node *x)
{
    if (!x->imaginary) return node_apply(graph, "abs", x);
    struct parts p = parts_of(graph, x);
    struct node *y = node_apply2(graph, "hypot", p.re, p.im);
    return node_stated_gradient(graph, y, 2, (struct node *[]){ p.re, p.im }, magnitude_backward,
                              NULL);
}

/* Of a complex number 0 at 0; of a real one 0 or pi, flat. */
static void angle_backward(struct graph *g, struct node *node, struct node *cotangent,
                           const void *parameters)
{
    struct node *re = node->inputs[1], *im = node->inputs[2], *zero = node_scalar(g, 0);
    struct node *norm = node_add(g, node_multiply(g, re, re), node_multiply(g, im, im));
    struct node *at_zero = node_compare(g, COMPARE_EQ, norm, zero);
    (void)parameters;
    gradient_pass(g, re, cotangent,
                  node_select(g, at_zero, zero, node_negate(g, node_divide(g, im, norm))));
    gradient_pass(g, im, cotangent, node_select(g, at_zero, zero, node_divide(g, re, norm)));
}

struct node *node_angle(struct graph *graph, struct node *x)
{
    struct node *zero = node_scalar(graph, 0);
    if (x->imaginary) {
        struct parts p = parts_of(graph, x);
        struct node *y = node_apply2(graph, "atan2", p.im, p.re);
        return node_stated_gradient(graph, y, 2, (struct node *[]){ p.re, p.im }, angle_backward,
                                  NULL);
    }
    x = node_to_real(graph, x);
    struct node *pi = node_apply(graph, "times_pi", node_scalar(graph, 1));
    struct node *y = node_select(graph, node_compare(graph, COMPARE_LT, x, zero), pi, zero);
    struct node *sane = node_compare(graph, COMPARE_EQ, x, x); /* NaN stays */
    y = node_select(graph, sane, y, node_detach(graph, x));
    return node_flat(graph, y, 1, &x);
}

struct node *node_conjugate(struct graph *graph, struct node *x)
{
    if (!x->imaginary) return x;
    struct parts p = parts_of(graph, x);
    return node_complex(graph, p.re, node_negate(graph, p.im));
}

/* t = sqrt((|z| + |x|) / 2) is the part that does not cancel; the other is y / (2 t). */
static struct node *complex_sqrt(struct graph *g, struct node *x)
{
    struct parts p = parts_of(g, x);
    struct node *zero = node_scalar(g, 0);
    struct node *size = node_add(g, node_magnitude(g, x), node_apply(g, "abs", p.re));
    struct node *t = node_apply(g, "sqrt", node_scale(g, size, 0.5));
    struct node *small = node_divide(g, p.im, node_scale(g, t, 2));
    struct node *empty = node_compare(g, COMPARE_EQ, size, zero);
    small = node_select(g, empty, zero, small);
    struct node *right = node_compare(g, COMPARE_GE, p.re, zero);
    struct node *signed_t = node_apply2(g, "copysign", t, p.im);
    return node_complex(g, node_select(g, right, t, node_apply(g, "abs", small)),
                        node_select(g, right, small, signed_t));
}

static struct node *complex_log(struct graph *g, struct node *x)
{
    return node_complex(g, node_apply(g, "log", node_magnitude(g, x)), node_angle(g, x));
}

static struct node *complex_exp(struct graph *g, struct node *x)
{
    struct parts p = parts_of(g, x);
    struct node *size = node_apply(g, "exp", p.re);
    return node_complex(g, node_multiply(g, size, node_apply(g, "cos", p.im)),
                        node_multiply(g, size, node_apply(g, "sin", p.im)));
}

static struct node *complex_one(struct graph *g)
{
    return node_complex(g, node_scalar(g, 1), node_scalar(g, 0));
}

static struct node *complex_reciprocal(struct graph *g, struct node *x)
{
    return node_divide(g, complex_one(g), x);
}

static struct node *complex_rsqrt(struct graph *g, struct node *x)
{
    return complex_reciprocal(g, complex_sqrt(g, x));
}

static struct node *complex_square(struct graph *g, struct node *x)
{
    return node_multiply(g, x, x);
}

static struct node *complex_sin(struct graph *g, struct node *x)
{
    static const char *const f[4] = { "sin", "cosh", "cos", "sinh" };
    return products(g, parts_of(g, x), f);
}

static struct node *complex_sinh(struct graph *g, struct node *x)
{
    static const char *const f[4] = { "sinh", "cos", "cosh", "sin" };
    return products(g, parts_of(g, x), f);
}

static struct node *complex_cosh(struct graph *g, struct node *x)
{
    static const char *const f[4] = { "cosh", "cos", "sinh", "sin" };
    return products(g, parts_of(g, x), f);
}

static struct node *complex_cos(struct graph *g, struct node *x)
{
    return complex_cosh(g, times_i(g, x));
}

/* tanh(x + iy) = (sinh x cosh x + i sin y cos y) / (sinh^2 x + cos^2 y) */
static struct node *complex_tanh(struct graph *g, struct node *x)
{
    struct parts p = parts_of(g, x);
    struct node *sh = node_apply(g, "sinh", p.re), *ch = node_apply(g, "cosh", p.re);
    struct node *s = node_apply(g, "sin", p.im), *c = node_apply(g, "cos", p.im);
    struct node *norm = node_add(g, node_multiply(g, sh, sh), node_multiply(g, c, c));
    return node_complex(g, node_divide(g, node_multiply(g, sh, ch), norm),
                        node_divide(g, node_multiply(g, s, c), norm));
}

static struct node *complex_tan(struct graph *g, struct node *x)
{
    return times_minus_i(g, complex_tanh(g, times_i(g, x)));
}

static struct node *plus(struct graph *g, struct node *x, double term)
{
    struct parts p = parts_of(g, x);
    return node_complex(g, node_offset(g, p.re, term), p.im);
}

/* Kahan: with a = sqrt(1 - z), b = sqrt(1 + z),
 *     re asin z = atan2(x, re(a b)),  im asin z = asinh(im(conj(a) b)). */
static struct node *complex_asin(struct graph *g, struct node *x)
{
    struct node *a = complex_sqrt(g, plus(g, node_negate(g, x), 1));
    struct node *b = complex_sqrt(g, plus(g, x, 1));
    struct node *product = node_multiply(g, a, b);
    struct node *other = node_multiply(g, node_conjugate(g, a), b);
    return node_complex(g,
                        node_apply2(g, "atan2", node_real_part(g, x), node_real_part(g, product)),
                        node_apply(g, "asinh", node_imaginary_part(g, other)));
}

/* re acos z = 2 atan2(re a, re b),  im acos z = asinh(im(conj(b) a)). */
static struct node *complex_acos(struct graph *g, struct node *x)
{
    struct node *a = complex_sqrt(g, plus(g, node_negate(g, x), 1));
    struct node *b = complex_sqrt(g, plus(g, x, 1));
    struct node *other = node_multiply(g, node_conjugate(g, b), a);
    struct node *half = node_apply2(g, "atan2", node_real_part(g, a), node_real_part(g, b));
    return node_complex(g, node_scale(g, half, 2),
                        node_apply(g, "asinh", node_imaginary_part(g, other)));
}

/* re acosh z = asinh(re(conj(a) b)), im acosh z = 2 atan2(im a, re b), a, b = sqrt(z -+ 1). */
static struct node *complex_acosh(struct graph *g, struct node *x)
{
    struct node *a = complex_sqrt(g, plus(g, x, -1)), *b = complex_sqrt(g, plus(g, x, 1));
    struct node *product = node_multiply(g, node_conjugate(g, a), b);
    struct node *half = node_apply2(g, "atan2", node_imaginary_part(g, a), node_real_part(g, b));
    return node_complex(g, node_apply(g, "asinh", node_real_part(g, product)),
                        node_scale(g, half, 2));
}

static struct node *complex_asinh(struct graph *g, struct node *x)
{
    return times_minus_i(g, complex_asin(g, times_i(g, x)));
}

/* re = log1p(4 x / ((1 - x)^2 + y^2)) / 4,  im = atan2(2 y, (1 - x)(1 + x) - y^2) / 2 */
static struct node *complex_atanh(struct graph *g, struct node *x)
{
    struct parts p = parts_of(g, x);
    struct node *one = node_scalar(g, 1), *below = node_subtract(g, one, p.re);
    struct node *square = node_multiply(g, p.im, p.im);
    struct node *norm = node_add(g, node_multiply(g, below, below), square);
    struct node *re = node_apply(g, "log1p", node_divide(g, node_scale(g, p.re, 4), norm));
    struct node *width = node_multiply(g, below, node_add(g, one, p.re));
    struct node *im = node_apply2(g, "atan2", node_scale(g, p.im, 2),
                                  node_subtract(g, width, square));
    return node_complex(g, node_scale(g, re, 0.25), node_scale(g, im, 0.5));
}

static struct node *complex_atan(struct graph *g, struct node *x)
{
    return times_minus_i(g, complex_atanh(g, times_i(g, x)));
}

static struct node *complex_sigmoid(struct graph *g, struct node *x)
{
    return complex_reciprocal(g, plus(g, complex_exp(g, node_negate(g, x)), 1));
}

static struct node *complex_expm1(struct graph *g, struct node *x)
{
    /* expm1(x) cos y - 2 sin^2(y / 2) + i exp(x) sin y */
    struct parts p = parts_of(g, x);
    struct node *half = node_apply(g, "sin", node_scale(g, p.im, 0.5));
    struct node *re = node_multiply(g, node_apply(g, "expm1", p.re), node_apply(g, "cos", p.im));
    re = node_subtract(g, re, node_scale(g, node_multiply(g, half, half), 2));
    return node_complex(g, re, node_multiply(g, node_apply(g, "exp", p.re),
                                             node_apply(g, "sin", p.im)));
}

static struct node *complex_log1p(struct graph *g, struct node *x)
{
    /* log1p(x (2 + x) + y^2) / 2 + i atan2(y, 1 + x) */
    struct parts p = parts_of(g, x);
    struct node *grown = node_add(g, node_multiply(g, p.re, node_offset(g, p.re, 2)),
                                  node_multiply(g, p.im, p.im));
    return node_complex(g, node_scale(g, node_apply(g, "log1p", grown), 0.5),
                        node_apply2(g, "atan2", p.im, node_offset(g, p.re, 1)));
}

static struct node *scaled_log(struct graph *g, struct node *x, double base)
{
    struct node *factor = node_apply(g, "reciprocal", node_apply(g, "log", node_scalar(g, base)));
    return node_multiply(g, complex_log(g, x), factor);
}

static struct node *complex_log2(struct graph *g, struct node *x) { return scaled_log(g, x, 2); }
static struct node *complex_log10(struct graph *g, struct node *x) { return scaled_log(g, x, 10); }

static struct node *complex_exp2(struct graph *g, struct node *x)
{
    return complex_exp(g, node_multiply(g, x, node_apply(g, "log", node_scalar(g, 2))));
}

/* x / |x|, 0 at 0. */
static struct node *complex_sign(struct graph *g, struct node *x)
{
    struct node *size = node_magnitude(g, x), *zero = node_scalar(g, 0);
    struct node *at_zero = node_compare(g, COMPARE_EQ, size, zero);
    return node_select(g, at_zero, zero, node_divide(g, x, size));
}

static struct node *complex_abs(struct graph *g, struct node *x) { return node_magnitude(g, x); }

static const struct {
    const char *name;
    struct node *(*function)(struct graph *g, struct node *x);
} complex_functions[] = {
    { "abs", complex_abs },       { "acos", complex_acos },   { "acosh", complex_acosh },
    { "asin", complex_asin },     { "asinh", complex_asinh }, { "atan", complex_atan },
    { "atanh", complex_atanh },   { "cos", complex_cos },     { "cosh", complex_cosh },
    { "exp", complex_exp },       { "exp2", complex_exp2 },   { "expm1", complex_expm1 },
    { "log", complex_log },       { "log10", complex_log10 }, { "log1p", complex_log1p },
    { "log2", complex_log2 },     { "reciprocal", complex_reciprocal },
    { "rsqrt", complex_rsqrt },   { "sigmoid", complex_sigmoid }, { "sign", complex_sign },
    { "sin", complex_sin },       { "sinh", complex_sinh },   { "sqrt", complex_sqrt },
    { "square", complex_square }, { "tan", complex_tan },     { "tanh", complex_tanh },
};

struct node *node_function(struct graph *graph, const char *name, struct node *x)
{
    if (!x->imaginary) return node_apply(graph, name, x);
    for (size_t i = 0; i < sizeof complex_functions / sizeof *complex_functions; i++)
        if (!strcmp(complex_functions[i].name, name)) return complex_functions[i].function(graph, x);
    graph_fail(graph, STATUS_SKIP, "%s does not take complex numbers", name);
    return x;
}

/* Small whole powers by multiplication, others as exp(b log a); 0^b is 0 but for b = 0. */
static struct node *whole_power(struct graph *g, struct node *a, int exponent)
{
    struct node *y = NULL, *factor = a;
    for (int n = exponent < 0 ? -exponent : exponent; n; n >>= 1) {
        if (n & 1) y = y ? node_multiply(g, y, factor) : factor;
        if (n > 1) factor = node_multiply(g, factor, factor);
    }
    return exponent < 0 ? complex_reciprocal(g, y) : y;
}

struct node *node_power(struct graph *graph, struct node *a, struct node *b)
{
    if (!a->imaginary && !b->imaginary) return node_apply2(graph, "pow", a, b);
    if (!b->imaginary && !b->tracked && b->n == 1 && b->rank == 0) {
        double exponent = node_values(graph, b)[0];
        if (exponent == rint(exponent) && exponent != 0 && fabs(exponent) <= 16)
            return whole_power(graph, a, (int)exponent);
    }
    struct node *zero = node_scalar(graph, 0);
    if (!a->imaginary) a = node_complex(graph, a, zero);
    if (!b->imaginary) b = node_complex(graph, b, zero);
    struct node *y = complex_exp(graph, node_multiply(graph, b, complex_log(graph, a)));
    y = node_select(graph, node_to_integer(graph, a, DT_BOOL), y, zero);
    return node_select(graph, node_to_integer(graph, b, DT_BOOL), y, complex_one(graph));
}
