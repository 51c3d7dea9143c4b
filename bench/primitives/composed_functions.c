/* Each formula is written as its source writes it: the order of the factors decides the bits. */
#include "bench/primitives/composed_functions.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "bench/primitives/chain_rule.h"
#include "bench/primitives/rounded_numbers.h"
#include "bench/tape/deviation.h"

static const double PI = 3.14159265358979323846, ROOT_HALF = 0.70710678118654752440,
                    LEAST_OF_ROOT_2PI = 0.39894228040143267794, /* 1 / sqrt(2 pi) */
    TWO_OF_ROOT_PI = 1.12837916709551257390;                    /* 2 / sqrt(pi) */

bool composes_values(const struct tape *tape)
{
    return tape->deviation && tape->deviation->composed_functions;
}

bool composes(const struct tape *tape)
{
    return composes_values(tape) || (tape_is_model(tape) && tape->stage > 0);
}

/* ---- functions --------------------------------------------------------------------------------- */

#define STEPS(NAME) static struct node *NAME(struct tape *tape, struct node *x, bool other)

static struct node *square(struct tape *tape, struct node *x) { return node_multiply(tape, x, x); }

static struct node *less_than_one(struct tape *tape, struct node *x)
{
    return node_subtract(tape, node_scalar(tape, 1), x);
}

/* 1 + exp(x) */
static struct node *one_and_exp(struct tape *tape, struct node *x)
{
    return node_offset(tape, node_apply(tape, "exp", x), 1);
}

static struct node *inverse(struct tape *tape, struct node *x)
{
    return node_divide(tape, node_scalar(tape, 1), x);
}

STEPS(rsqrt_steps)
{
    (void)other;
    return inverse(tape, node_apply(tape, "sqrt", x));
}
STEPS(erfc_steps)
{
    (void)other;
    return less_than_one(tape, node_apply(tape, "erf", x));
}
STEPS(sigmoid_steps)
{
    (void)other;
    return inverse(tape, one_and_exp(tape, node_negate(tape, x)));
}
/* x / (1 + exp(-x)), or x sigmoid(x) */
STEPS(silu_steps)
{
    if (other) return node_multiply(tape, x, sigmoid_steps(tape, x, other));
    return node_divide(tape, x, one_and_exp(tape, node_negate(tape, x)));
}
/* log(1 + exp(x)), or log1p(exp(x)) */
STEPS(softplus_steps)
{
    if (other) return node_apply(tape, "log1p", node_apply(tape, "exp", x));
    return node_apply(tape, "log", one_and_exp(tape, x));
}
STEPS(logsigmoid_steps)
{
    return node_negate(tape, softplus_steps(tape, node_negate(tape, x), other));
}
STEPS(mish_steps)
{
    return node_multiply(tape, x, node_apply(tape, "tanh", softplus_steps(tape, x, other)));
}
/* x / 2 (1 + erf(x / sqrt 2)), or x times the half of it */
STEPS(gelu_steps)
{
    struct node *both =
        node_offset(tape, node_apply(tape, "erf", node_scale(tape, x, ROOT_HALF)), 1);
    return other ? node_multiply(tape, x, node_scale(tape, both, 0.5))
                 : node_multiply(tape, node_scale(tape, x, 0.5), both);
}
STEPS(sinc_steps)
{
    (void)other;
    struct node *angle = node_scale(tape, x, PI);
    struct node *y = node_divide(tape, node_apply(tape, "sin", angle), angle);
    struct node *at_zero = node_compare(tape, COMPARE_EQ, x, node_scalar(tape, 0));
    return node_select(tape, at_zero, node_scalar(tape, 1), y);
}
STEPS(normal_pdf_steps)
{
    (void)other;
    struct node *power = node_apply(tape, "exp", node_scale(tape, square(tape, x), -0.5));
    return node_scale(tape, power, LEAST_OF_ROOT_2PI);
}
/* A factor that is a number: rounded, where numbers are. */
STEPS(rad2deg_steps)
{
    (void)other;
    return node_scale(tape, x, 180 / PI);
}
STEPS(deg2rad_steps)
{
    (void)other;
    return node_scale(tape, x, PI / 180);
}

struct node *composed_function(struct tape *tape, const char *function, struct node *x, bool other)
{
    static const struct {
        const char *name;
        struct node *(*steps)(struct tape *tape, struct node *x, bool other);
    } composed[] = {
        { "rsqrt", rsqrt_steps },       { "erfc", erfc_steps },
        { "sigmoid", sigmoid_steps },   { "silu", silu_steps },
        { "softplus", softplus_steps }, { "logsigmoid", logsigmoid_steps },
        { "mish", mish_steps },         { "gelu", gelu_steps },
        { "sinc", sinc_steps },         { "normal_pdf", normal_pdf_steps },
        { "rad2deg", rad2deg_steps },   { "deg2rad", deg2rad_steps },
    };
    for (size_t k = 0; k < sizeof composed / sizeof *composed; k++)
        if (!strcmp(composed[k].name, function)) return composed[k].steps(tape, x, other);
    return NULL;
}

/* Of small whole exponents, as products: a a a, and 1 / (a a); 1 / sqrt(a) as rsqrt. Others are functions. */
static struct node *power_steps(struct tape *tape, struct node *a, struct node *b)
{
    double exponent = node_is_number(b) ? node_values(tape, b)[0] : 0;
    if (exponent == 3) return node_multiply(tape, square(tape, a), a);
    if (exponent == -0.5) return node_apply(tape, "rsqrt", a);
    return exponent == -2 ? inverse(tape, square(tape, a)) : NULL;
}

/* PyTorch's div_floor: (a - fmod(a, b)) / b, less 1 where the signs differ, to the nearest whole number. */
static struct node *floor_divide_steps(struct tape *tape, struct node *a, struct node *b)
{
    struct node *zero = node_scalar(tape, 0), *rest = node_apply2(tape, "fmod", a, b);
    struct node *signs =
        node_multiply(tape, node_apply(tape, "sign", rest), node_apply(tape, "sign", b));
    struct node *q = node_divide(tape, node_subtract(tape, a, rest), b);
    q = node_select(tape, node_compare(tape, COMPARE_LT, signs, zero), node_offset(tape, q, -1), q);
    struct node *below = node_apply(tape, "floor", q);
    struct node *up =
        node_compare(tape, COMPARE_GT, node_subtract(tape, q, below), node_scalar(tape, 0.5));
    struct node *y = node_select(tape, up, node_offset(tape, below, 1), below);
    return node_select(tape, node_compare(tape, COMPARE_EQ, b, zero), node_divide(tape, a, b), y);
}

/* A power, a quotient rounded down (for which the model of staged kernels has room in binary.c), or a f(b), 0 where a is 0. */
struct node *composed_function2(struct tape *tape, const char *function, struct node *a,
                                struct node *b)
{
    if (!strcmp(function, "pow")) return power_steps(tape, a, b);
    if (!strcmp(function, "floor_divide"))
        return composes_values(tape) ? floor_divide_steps(tape, a, b) : NULL;
    const char *logarithm = !strcmp(function, "xlogy")     ? "log"
                            : !strcmp(function, "xlog1py") ? "log1p"
                                                           : NULL;
    if (!logarithm) return NULL;
    struct node *y = node_multiply(tape, a, node_apply(tape, logarithm, b));
    struct node *zero = node_scalar(tape, 0);
    return node_select(tape, node_compare(tape, COMPARE_EQ, a, zero), zero, y);
}

/* ---- gradients --------------------------------------------------------------------------------- */

#define GRADIENT(NAME) \
    static struct node *NAME(struct tape *tape, struct node *x, struct node *y, struct node *c)

static struct node *gaussian(struct tape *tape, struct node *x, double factor)
{
    struct node *power = node_negate(tape, square(tape, x));
    return node_scale(tape, node_apply(tape, "exp", power), factor);
}
GRADIENT(erf_gradient)
{
    (void)y;
    return node_multiply(tape, gaussian(tape, x, TWO_OF_ROOT_PI), c);
}
GRADIENT(erfc_gradient)
{
    (void)y;
    return node_multiply(tape, gaussian(tape, x, -TWO_OF_ROOT_PI), c);
}
/* (c s) (1 + x (1 - s)) with s = 1 / (1 + exp(-x)) */
GRADIENT(silu_gradient)
{
    (void)y;
    struct node *s = sigmoid_steps(tape, x, false);
    struct node *rest = node_multiply(tape, x, less_than_one(tape, s));
    return node_multiply(tape, node_multiply(tape, c, s), node_offset(tape, rest, 1));
}
/* c ((pi x cos(pi x) - sin(pi x)) / (x x pi)), 0 at 0 */
GRADIENT(sinc_gradient)
{
    (void)y;
    struct node *angle = node_scale(tape, x, PI), *below = node_scale(tape, square(tape, x), PI);
    struct node *above = node_subtract(tape,
                                       node_multiply(tape, angle, node_apply(tape, "cos", angle)),
                                       node_apply(tape, "sin", angle));
    struct node *flow = node_multiply(tape, c, node_divide(tape, above, below));
    struct node *zero = node_scalar(tape, 0);
    return node_select(tape, node_compare(tape, COMPARE_EQ, below, zero), zero, flow);
}
/* c (1 - e / (1 + e)) left of 0, c e / (1 + e) right of it, with e = exp(-|x|), which is kept from the forward call */
GRADIENT(logsigmoid_gradient)
{
    (void)y;
    struct node *e = node_apply(tape, "exp", node_negate(tape, node_apply(tape, "abs", x)));
    struct node *share = node_divide(tape, e, node_offset(tape, e, 1));
    struct node *left = node_compare(tape, COMPARE_LT, x, node_scalar(tape, 0));
    return node_multiply(tape, node_select(tape, left, less_than_one(tape, share), share), c);
}
/* (-c / 2) y^3 */
GRADIENT(rsqrt_gradient)
{
    (void)x;
    struct node *cube = node_apply2(tape, "pow", y, node_scalar(tape, 3));
    return node_multiply(tape, node_scale(tape, c, -0.5), cube);
}
GRADIENT(rad2deg_gradient)
{
    (void)x, (void)y;
    return node_scale(tape, c, 180 / PI);
}
GRADIENT(deg2rad_gradient)
{
    (void)x, (void)y;
    return node_scale(tape, c, PI / 180);
}

struct node *composed_gradient(struct tape *tape, const char *function, struct node *x,
                               struct node *y, struct node *c)
{
    static const struct {
        const char *name;
        struct node *(*steps)(struct tape *tape, struct node *x, struct node *y, struct node *c);
    } composed[] = {
        { "erf", erf_gradient },
        { "erfc", erfc_gradient },
        { "silu", silu_gradient },
        { "sinc", sinc_gradient },
        { "logsigmoid", logsigmoid_gradient },
        { "rsqrt", rsqrt_gradient },
        { "rad2deg", rad2deg_gradient },
        { "deg2rad", deg2rad_gradient },
    };
    for (size_t k = 0; k < sizeof composed / sizeof *composed; k++)
        if (!strcmp(composed[k].name, function)) return composed[k].steps(tape, x, y, c);
    return NULL;
}

/* c / b and -c ((a / b) / b) */
static struct node *divide_gradient(struct tape *tape, int which, struct node *const operands[2],
                                    struct node *y, struct node *c)
{
    struct node *a = operands[0], *b = operands[1];
    (void)y;
    if (!which) return node_divide(tape, c, b);
    struct node *slope = node_divide(tape, node_divide(tape, a, b), b);
    return node_multiply(tape, node_negate(tape, c), slope);
}

/* c (b a^(b - 1)), 0 where b is */
static struct node *pow_gradient(struct tape *tape, int which, struct node *const operands[2],
                                 struct node *y, struct node *c)
{
    struct node *a = operands[0], *b = node_number_itself(operands[1]),
                *zero = node_scalar(tape, 0);
    (void)y;
    if (which) return NULL;
    struct node *less = node_offset(tape, b, -1);
    struct node *slope = node_multiply(tape, b, node_apply2(tape, "pow", a, less));
    slope = node_select(tape, node_compare(tape, COMPARE_EQ, b, zero), zero, slope);
    return node_multiply(tape, c, slope);
}

/* c b (1 / (a a + b b)) and c (-a) (1 / (a a + b b)) */
static struct node *atan2_gradient(struct tape *tape, int which, struct node *const operands[2],
                                   struct node *y, struct node *c)
{
    struct node *a = operands[0], *b = operands[1];
    (void)y;
    struct node *squares = node_add(tape, square(tape, a), square(tape, b));
    struct node *factor = which ? node_negate(tape, a) : b;
    return node_multiply(tape, node_multiply(tape, c, factor),
                         node_apply(tape, "reciprocal", squares));
}
/* c (a / y) */
static struct node *hypot_gradient(struct tape *tape, int which, struct node *const operands[2],
                                   struct node *y, struct node *c)
{
    return node_multiply(tape, c, node_divide(tape, operands[which], y));
}

/* c / (1 + exp(b - a)), and c / (1 + 2^(b - a)) */
static struct node *by_difference(struct tape *tape, int which, struct node *const operands[2],
                                  struct node *c, const char *power)
{
    struct node *difference = node_subtract(tape, operands[!which], operands[which]);
    return node_divide(tape, c, node_offset(tape, node_apply(tape, power, difference), 1));
}
static struct node *logaddexp_gradient(struct tape *tape, int which, struct node *const operands[2],
                                       struct node *y, struct node *c)
{
    (void)y;
    return by_difference(tape, which, operands, c, "exp");
}
static struct node *logaddexp2_gradient(struct tape *tape, int which,
                                        struct node *const operands[2], struct node *y,
                                        struct node *c)
{
    (void)y;
    return by_difference(tape, which, operands, c, "exp2");
}

struct node *composed_gradient2(struct tape *tape, const char *function, int which,
                                struct node *const operands[2], struct node *y, struct node *c)
{
    static const struct {
        const char *name;
        struct node *(*steps)(struct tape *tape, int which, struct node *const operands[2],
                              struct node *y, struct node *c);
    } composed[] = { { "divide", divide_gradient },       { "pow", pow_gradient },
                     { "atan2", atan2_gradient },         { "hypot", hypot_gradient },
                     { "logaddexp", logaddexp_gradient }, { "logaddexp2", logaddexp2_gradient } };
    for (size_t k = 0; k < sizeof composed / sizeof *composed; k++)
        if (!strcmp(composed[k].name, function))
            return composed[k].steps(tape, which, operands, y, c);
    return NULL;
}

/* ---- both in one ------------------------------------------------------------------------------- */

static void steps_backward(struct tape *tape, struct node *node, struct node *cotangent)
{
    tape_accumulate(tape, node->inputs[0], cotangent);
}

static const struct primitive as_steps = { "a function as steps", steps_backward, NULL, NULL };

struct node *node_as_steps(struct tape *tape, struct node *y, struct node *steps, const char *name)
{
    if (!steps || tape_failed(tape) || steps->n != y->n || y->imaginary) return y;
    const double *value = node_values(tape, y), *other = node_values(tape, steps);
    const char **label = tape_allocate(tape, 1, sizeof *label); /* bench/step_name.h */
    if (tape_failed(tape)) return tape_failure(tape);
    *label = name;
    if (composes_values(tape)) { /* y with them as its result, which its gradient may start from */
        y->value = steps->value;
        return y;
    }
    struct node *node = node_new(tape, &as_steps, y->dtype, y->rank, y->shape, 2,
                                 (struct node *[]){ y, steps }, label);
    if (!node_need_errors(tape, node)) return y;
    for (size_t i = 0; i < node->n; i++) {
        node->value[i] = value[i];
        bool lost = isnan(other[i]) && !isnan(value[i]); /* infinity less infinity, say */
        node->error[i] = lost ? INFINITY : fmax(node_error(y, i), node_error(steps, i));
    }
    node->staged = node->composite = true;
    return node;
}
