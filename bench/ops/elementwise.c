/* Functions of one tensor: rows of the function table, and the few that need more. */
#include <math.h>
#include <string.h>

#include "bench/call/op.h"
#include "bench/ops/foreach.h"
#include "bench/ops/operands.h"
#include "bench/ops/pullback.h"
#include "bench/primitives/alias.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/complex_functions.h"
#include "bench/primitives/complex_parts.h"
#include "bench/primitives/composed_functions.h"
#include "bench/primitives/cotangent.h"
#include "bench/primitives/integral.h"
#include "bench/primitives/selection.h"
#include "bench/primitives/stated_gradient.h"
#include "bench/primitives/unary.h"
#include "core/log_gamma.h"

/* y = f(x) by name (text); integers become float32. */
static void elementwise(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    enum dtype dtype = call_float_type(call, &x, 1);
    struct node *y = node_function(call->tape, call->op->text, x);
    if (x->imaginary && !y->imaginary) dtype = dtype == DT_C128 ? DT_F64 : DT_F32;
    call_return_typed(call, y, dtype);
}

/* ---- functions that keep integers ---------------------------------------------------------------- */

/* clang-format off */
static int64_t same(int64_t a) { return a; }
static int64_t negative(int64_t a) { return (int64_t)(0 - (uint64_t)a); }
static int64_t magnitude(int64_t a) { return a < 0 ? negative(a) : a; }
static int64_t sign(int64_t a) { return (a > 0) - (a < 0); }
static int64_t square(int64_t a) { return (int64_t)((uint64_t)a * (uint64_t)a); }
/* clang-format on */

static const struct {
    const char *name;
    int64_t (*function)(int64_t a);
    /* clang-format off */
} integer_functions[] = {
    { "abs", magnitude }, { "neg", negative }, { "sign", sign },   { "square", square },
    { "floor", same },    { "ceil", same },    { "trunc", same },  { "round", same },
    { "positive", same },
};
/* clang-format on */

/* As elementwise; integral x goes through the integer function of the same name. */
static void keeping_integers(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    const char *name = call->op->text;
    for (size_t i = 0; x->integer && i < sizeof integer_functions / sizeof *integer_functions;
         i++) {
        if (strcmp(integer_functions[i].name, name) != 0) continue;
        enum dtype dtype = x->dtype == DT_BOOL && !strcmp(name, "square") ? DT_I64 : x->dtype;
        call_return(call, node_integer_unary(call->tape, dtype, integer_functions[i].function, x));
        return;
    }
    elementwise(call);
}

static void negate(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    if (x->integer) keeping_integers(call);
    else call_return(call, node_negate(call->tape, x));
}

/* input as it is: positive, resolve_neg, resolve_conj. */
static void unchanged(struct call *call) { call_return(call, call_tensor(call, "input")); }

static void conjugate(struct call *call)
{
    call_return(call, node_conjugate(call->tape, call_tensor(call, "input")));
}

static void angle(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    enum dtype dtype = x->imaginary ? x->dtype == DT_C128 ? DT_F64 : DT_F32
                                    : call_float_type(call, &x, 1);
    call_return_typed(call, node_angle(call->tape, x), dtype);
}

/* detail 0: the real part (a real tensor is its own); 1: the imaginary part. */
static void part(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    if (call->op->detail) {
        if (!call_require(call, x->imaginary, "imag takes complex tensors only")) return;
        call_return(call, node_imaginary_part(call->tape, x));
    } else {
        call_return(call, node_real_part(call->tape, x));
    }
}

/* ---- rounding ---------------------------------------------------------------------------------------- */

/* To `decimals` places: scale, round half to even, scale back. */
static void round_decimals(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input");
    int64_t decimals = call_int(call, "decimals");
    if (decimals == 0 || x->integer) {
        keeping_integers(call);
        return;
    }
    struct node *scale = node_scalar(tape, pow(10, fabs((double)decimals)));
    struct node *up = decimals > 0 ? node_multiply(tape, x, scale) : node_divide(tape, x, scale);
    up = node_apply(tape, "round", up);
    call_return(call, decimals > 0 ? node_divide(tape, up, scale) : node_multiply(tape, up, scale));
}

/* ---- nan_to_num ------------------------------------------------------------------------------------------ */

static bool is_positive_infinity(double x) { return isinf(x) && x > 0; }
static bool is_negative_infinity(double x) { return isinf(x) && x < 0; }

static double number_or(struct call *call, const char *name, double otherwise)
{
    return call_is_none(call, name) ? otherwise : call_real(call, name);
}

/* The gradient passes where x is finite. */
static struct node *replaced(struct call *call, struct node *x, enum dtype dtype)
{
    struct tape *tape = call->tape;
    const struct dtype_info *info = dtype_info(dtype_is_float(dtype) ? dtype : DT_F32);
    struct node *nan = node_scalar(tape, number_or(call, "nan", 0));
    struct node *high = node_scalar(tape, number_or(call, "posinf", info->largest));
    struct node *low = node_scalar(tape, number_or(call, "neginf", info->lowest));
    struct node *y = node_select(tape, node_isnan(tape, x), nan, x);
    y = node_select(tape, node_predicate(tape, is_positive_infinity, x), high, y);
    return node_select(tape, node_predicate(tape, is_negative_infinity, x), low, y);
}

static void nan_to_num(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input");
    if (x->integer) {
        call_return(call, x);
        return;
    }
    if (x->imaginary) {
        enum dtype part_dtype = x->dtype == DT_C128 ? DT_F64 : DT_F32;
        call_return_typed(call,
                          node_complex(tape, replaced(call, node_real_part(tape, x), part_dtype),
                                       replaced(call, node_imaginary_part(tape, x), part_dtype)),
                          x->dtype);
        return;
    }
    call_return(call, replaced(call, x, x->dtype));
}

/* ---- logit ---------------------------------------------------------------------------------------------------- */

/* Outside [0, 1] without eps the gradient is NaN; outside [eps, 1 - eps] with eps it is 0. */
static void logit_slope(struct tape *tape, struct node *node, struct node *cotangent,
                        const void *parameters)
{
    struct node *x = node->inputs[1];
    const double *eps = parameters;
    struct node *slope = node_apply(
        tape, "reciprocal", node_multiply(tape, x, node_subtract(tape, node_scalar(tape, 1), x)));
    double low = eps ? *eps : 0, high = eps ? 1 - *eps : 1;
    struct node *outside = node_or(tape, node_compare(tape, COMPARE_LT, x, node_scalar(tape, low)),
                                   node_compare(tape, COMPARE_GT, x, node_scalar(tape, high)));
    gradient_pass(tape, x, cotangent,
                  node_select(tape, outside, node_scalar(tape, eps ? 0 : NAN), slope));
}

/* log(z / (1 - z)) with z clamped to [eps, 1 - eps]. */
static void logit(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input"), *one = node_scalar(tape, 1);
    enum dtype dtype = call_float_type(call, &x, 1);
    double *eps = NULL;
    x = node_to_real(tape, x);
    struct node *z = x;
    if (!call_is_none(call, "eps")) {
        eps = tape_allocate(tape, 1, sizeof *eps);
        if (!eps) return;
        *eps = call_real(call, "eps");
        struct node *low = node_scalar(tape, *eps), *high = node_scalar(tape, 1 - *eps);
        z = node_select(tape, node_compare(tape, COMPARE_LT, z, low), low, z);
        z = node_select(tape, node_compare(tape, COMPARE_GT, z, high), high, z);
    }
    struct node *y = node_subtract(tape, node_apply(tape, "log", z),
                                   node_apply(tape, "log1p", node_negate(tape, z)));
    if (composes(tape))
        y = node_as_steps(
            tape, y, node_apply(tape, "log", node_divide(tape, z, node_subtract(tape, one, z))),
            "logit");
    y = node_select(tape, node_compare(tape, COMPARE_EQ, z, one), node_scalar(tape, INFINITY), y);
    call_return_typed(call, node_stated_gradient(tape, y, 1, &x, logit_slope, eps), dtype);
}

static void logit_backward(struct call *call)
{
    call_return_gradients(call, logit, (const char *const[]){ "input", NULL });
}

/* ---- slopes by the result -------------------------------------------------------------------- */

/* c conj(f'), where the slope f' is known by the result y: 1 - y^2 of tanh, (1 - y) y of sigmoid. */
static void return_by_slope(struct call *call, struct node *y, struct node *slope)
{
    struct tape *tape = call->tape;
    struct node *cotangent = call_tensor(call, "grad_output");
    if (slope->imaginary) slope = node_conjugate(tape, slope);
    call_return_typed(call, node_multiply(tape, cotangent, slope), y->dtype);
}

static void tanh_backward(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *y = call_tensor(call, "output");
    return_by_slope(call, y, node_subtract(tape, node_scalar(tape, 1), node_multiply(tape, y, y)));
}

static void sigmoid_backward(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *y = call_tensor(call, "output");
    return_by_slope(call, y, node_multiply(tape, node_subtract(tape, node_scalar(tape, 1), y), y));
}

/* ---- gamma functions ----------------------------------------------------------------------------------------- */

/* sum_j f(x + (1 - j)/2), j from p to 1 */
static struct node *gamma_terms(struct tape *tape, const char *f, struct node *x, int64_t p)
{
    struct node **term = tape_allocate(tape, (size_t)p, sizeof *term);
    if (!term) return x;
    for (int64_t j = 0; j < p; j++)
        term[j] = node_apply(tape, f, node_offset(tape, x, 0.5 * (double)(1 + j - p)));
    const struct node *before = tape->newest;
    struct node *y = term[0];
    for (int64_t j = 1; j < p; j++) y = node_add(tape, y, term[j]);
    tape_one_kernel(tape, before, y);
    return y;
}

/* c times the sum of slopes, as autograd has it */
static void mvlgamma_slope(struct tape *tape, struct node *node, struct node *cotangent,
                           const void *parameters)
{
    struct node *x = node->inputs[1];
    gradient_pass(tape, x, cotangent,
                  gamma_terms(tape, "digamma", x, *(const int64_t *)parameters));
}

/* log of the multivariate gamma function: p(p-1)/4 log pi + sum_j lgamma(x + (1 - j)/2) */
static void mvlgamma(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input");
    enum dtype dtype = call_float_type(call, &x, 1);
    int64_t p = call_int(call, "p");
    if (!call_require(call, p >= 1 && p <= 1000, "p is %lld; it can be 1 to 1000", (long long)p))
        return;
    int64_t *order = tape_allocate(tape, 1, sizeof *order);
    if (!order) return;
    *order = p;
    struct node *number =
        node_scale(tape, node_apply(tape, "log", node_pi(tape)), (double)(p * (p - 1)) / 4);
    struct node *y = node_add(tape, gamma_terms(tape, "lgamma", x, p), number);
    if (composes(tape)) y = node_stated_gradient(tape, y, 1, &x, mvlgamma_slope, order);
    call_return_typed(call, y, dtype);
}

static struct node *polygamma_of(struct tape *tape, int64_t order, struct node *x);

/* c times the next order */
static void polygamma_slope(struct tape *tape, struct node *node, struct node *cotangent,
                            const void *parameters)
{
    struct node *x = node->inputs[1];
    gradient_pass(tape, x, cotangent, polygamma_of(tape, *(const int64_t *)parameters + 1, x));
}

/* In a model: n! times a sum of 1 / (x + k)^(n + 1). The factorial comes from exp(lgamma(n + 1)) and is off alike for all elements.
 * Below 0 the sum begins at x itself (Cephes' zeta): next to a pole, d away, the term n! / d^(n + 1) and what the others lose of it
 * stand for all, x + k is rounded as x is, and the terms may cancel. Of order 1 it is pi^2 / sin^2(pi x), whose angle is rounded
 * likewise, and which need not be infinite at the pole. Of even order a pole has an infinity on each side. */
static struct node *polygamma_as_kernels(struct tape *tape, int64_t order, struct node *x)
{
    double n = (double)order, factorial = exp(log_gamma(n + 1));
    struct node *y = node_apply2(tape, "polygamma", node_scalar(tape, n), node_detach(tape, x));
    struct node *size = node_new_real(tape, DT_NONE, x->rank, x->shape),
                *lost = node_new_integer(tape, DT_BOOL, x->rank, x->shape);
    const double *value = node_values(tape, x);
    if (tape_failed(tape)) return y;
    for (size_t i = 0; i < x->n; i++) {
        double d = fabs(value[i] - rint(value[i]));
        double term = factorial * pow(d, -n - 1) * (4 + 4 * (n + 1) * fabs(value[i]) / d);
        size->value[i] = value[i] < 0 && d > 0 ? fmin(term, 0x1p1000) : 0;
        bool pole = value[i] <= 0 && d == 0;
        lost->integer[i] = pole && (order % 2 == 0 || (order == 1 && value[i] < 0));
    }
    y = node_model_anything(tape, node_model_error(tape, y, size, 1), lost);
    struct node *one = node_scalar(tape, 1), *share = node_scalar(tape, 1 + log_gamma(n + 1));
    if (order > 1) y = node_multiply(tape, y, node_model_error(tape, one, share, 4));
    return y;
}

/* The same as PyTorch's kernel composes it (calc_polygamma): +-n! zeta(n + 1, x), whose zeta is a number of the dtype. */
static struct node *polygamma_steps(struct tape *tape, int64_t order, struct node *x)
{
    double factorial = 1, n = (double)order;
    for (int64_t k = 2; k <= order; k++) factorial *= (double)k;
    struct node *zeta = node_apply2(tape, "zeta", node_scalar(tape, n + 1), node_detach(tape, x));
    return node_scale(tape, zeta, order % 2 ? factorial : -factorial);
}

static struct node *polygamma_of(struct tape *tape, int64_t order, struct node *x)
{
    bool composed = composes(tape) && order > 1;
    if (!tape_is_model(tape) && !composed)
        return node_apply2(tape, "polygamma", node_scalar(tape, (double)order), x);
    int64_t *kept = tape_allocate(tape, 1, sizeof *kept);
    if (!kept) return x;
    *kept = order;
    struct node *steps = composed ? polygamma_steps(tape, order, x) : NULL, *y = steps;
    if (tape_is_model(tape))
        y = node_as_steps(tape, polygamma_as_kernels(tape, order, x), steps, "polygamma");
    return node_stated_gradient(tape, y, 1, &x, polygamma_slope, kept);
}

static struct node *digamma_of(struct tape *tape, struct node *x)
{
    static const int64_t zero = 0;
    struct node *y = node_apply(tape, "digamma", x);
    return tape_is_model(tape) ? node_stated_gradient(tape, y, 1, &x, polygamma_slope, &zero) : y;
}

static void digamma(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    call_return_typed(call, digamma_of(call->tape, node_to_real(call->tape, x)),
                      call_float_type(call, &x, 1));
}

static void polygamma(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input");
    int64_t n = call_int(call, "n");
    if (!call_require(call, n >= 0 && n <= 1000, "n is %lld; it must not be negative",
                      (long long)n))
        return;
    struct node *real = node_to_real(tape, x);
    struct node *y = n ? polygamma_of(tape, n, real) : digamma_of(tape, real);
    call_return_typed(call, y, call_float_type(call, &x, 1));
}

/* ---- torch.special ------------------------------------------------------------------------------------------- */

/* -1 - log x */
static void entropy_slope(struct tape *tape, struct node *node, struct node *cotangent,
                          const void *parameters)
{
    struct node *x = node->inputs[1];
    (void)parameters;
    gradient_pass(tape, x, cotangent,
                  node_negate(tape, node_offset(tape, node_apply(tape, "log", x), 1)));
}

/* -x log x; -infinity below 0. */
static void entropy(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input");
    enum dtype dtype = call_float_type(call, &x, 1);
    x = node_to_real(tape, x);
    struct node *below = node_compare(tape, COMPARE_LT, x, node_scalar(tape, 0));
    struct node *sane = node_select(tape, below, node_scalar(tape, 1), x);
    struct node *y = node_negate(tape, node_apply2(tape, "xlogy", sane, sane));
    y = node_select(tape, below, node_scalar(tape, -INFINITY), y);
    call_return_typed(call, node_stated_gradient(tape, y, 1, &x, entropy_slope, NULL), dtype);
}

/* The distribution function of the standard normal law, erfc(-x / sqrt 2) / 2. Frameworks compute (1 + erf(x / sqrt 2)) / 2,
 * which is off by half of what erf (4 ulp) and the sum are. */
static void normal_distribution(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input");
    struct node *z = node_divide(tape, x, node_apply(tape, "sqrt", node_scalar(tape, 2)));
    struct node *y = node_scale(tape, node_apply(tape, "erfc", node_negate(tape, z)), 0.5);
    if (tape_is_model(tape))
        y = node_model_error(tape, y, node_constant(tape, DT_NONE, 1, y->rank, y->shape), 6);
    call_return_typed(call, y, call_float_type(call, &x, 1));
}

/* ---- frexp ------------------------------------------------------------------------------------------------------- */

/* Mantissa in [1/2, 1) and exponent; the gradient of the mantissa is 2^-exponent. */
static void frexp_parts(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input");
    const double *value = node_values(tape, x);
    struct node *exponent = node_new_integer(tape, DT_I32, x->rank, x->shape);
    struct node *scale = node_new_real(tape, x->dtype, x->rank, x->shape);
    if (tape_failed(tape)) return;
    for (size_t i = 0; i < x->n; i++) {
        int e = 0;
        if (isfinite(value[i])) (void)frexp(value[i], &e);
        exponent->integer[i] = e;
        scale->value[i] = ldexp(1, -e);
    }
    call_return(call, node_multiply(tape, x, scale));
    call_return(call, exponent);
}

/* ---- lists --------------------------------------------------------------------------------------- */

/* clang-format off */
static void each_elementwise(struct call *call) { call_for_each(call, elementwise); }
static void each_keeping_integers(struct call *call) { call_for_each(call, keeping_integers); }
static void each_negate(struct call *call) { call_for_each(call, negate); }
/* clang-format on */

/* clang-format off */
#define EVERYWHERE(name, function) \
    { name, TENSOR | TORCH, "(Tensor input)", elementwise, OP_ONE_NODE, 0, function }
#define KEEPING(name, function) \
    { name, TENSOR | TORCH, "(Tensor input)", keeping_integers, OP_ONE_NODE, 0, function }
#define EACH(function, run) \
    { "_foreach_" function, TORCH, "(Tensor[] input)", run, OP_ONE_NODE, 0, function }

const struct op ops_elementwise[] = {
    KEEPING("abs|absolute", "abs"),
    { "neg|negative", TENSOR | TORCH, "(Tensor input)", negate, OP_ONE_NODE, 0, "neg" },
    KEEPING("sign", "sign"),
    KEEPING("sgn", "sign"),
    KEEPING("square", "square"),
    KEEPING("floor", "floor"),
    KEEPING("ceil", "ceil"),
    KEEPING("trunc|fix", "trunc"),
    { "round", TENSOR | TORCH, "(Tensor input, *, int decimals=0)", round_decimals, OP_ONE_NODE, 0, "round" },
    { "positive|resolve_neg|resolve_conj", TENSOR | TORCH, "(Tensor input)", unchanged, OP_ONE_NODE, 0, NULL },
    { "conj_physical|conj", TENSOR | TORCH, "(Tensor input)", conjugate, OP_ONE_NODE, 0, NULL },
    { "angle", TENSOR | TORCH, "(Tensor input)", angle, OP_ONE_NODE, 0, NULL },
    { "real", TENSOR | TORCH, "(Tensor input)", part, 0, 0, NULL },
    { "imag", TENSOR | TORCH, "(Tensor input)", part, 0, 1, NULL },
    EVERYWHERE("acos|arccos", "acos"),
    EVERYWHERE("acosh|arccosh", "acosh"),
    EVERYWHERE("asin|arcsin", "asin"),
    EVERYWHERE("asinh|arcsinh", "asinh"),
    EVERYWHERE("atan|arctan", "atan"),
    EVERYWHERE("atanh|arctanh", "atanh"),
    EVERYWHERE("cos", "cos"),
    EVERYWHERE("cosh", "cosh"),
    EVERYWHERE("deg2rad", "deg2rad"),
    { "digamma", TENSOR | TORCH, "(Tensor input)", digamma, OP_ONE_NODE, 0, NULL },
    EVERYWHERE("erf", "erf"),
    EVERYWHERE("erfc", "erfc"),
    EVERYWHERE("erfinv", "erfinv"),
    EVERYWHERE("exp", "exp"),
    EVERYWHERE("exp2", "exp2"),
    EVERYWHERE("expm1", "expm1"),
    EVERYWHERE("frac", "frac"),
    EVERYWHERE("i0", "i0"),
    EVERYWHERE("lgamma", "lgamma"),
    EVERYWHERE("log", "log"),
    EVERYWHERE("log10", "log10"),
    EVERYWHERE("log1p", "log1p"),
    EVERYWHERE("log2", "log2"),
    EVERYWHERE("rad2deg", "rad2deg"),
    EVERYWHERE("reciprocal", "reciprocal"),
    EVERYWHERE("rsqrt", "rsqrt"),
    EVERYWHERE("sin", "sin"),
    EVERYWHERE("sinc", "sinc"),
    EVERYWHERE("sinh", "sinh"),
    EVERYWHERE("sqrt", "sqrt"),
    EVERYWHERE("tan", "tan"),
    { "sigmoid", ANYWHERE, "(Tensor input)", elementwise, OP_ONE_NODE, 0, "sigmoid" },
    { "tanh", ANYWHERE, "(Tensor input)", elementwise, OP_ONE_NODE, 0, "tanh" },
    { "special.i0|special.modified_bessel_i0", TORCH, "(Tensor input)", elementwise, OP_ONE_NODE, 0, "i0" },
    { "special.i1|special.modified_bessel_i1", TORCH, "(Tensor input)", elementwise, OP_ONE_NODE, 0, "i1" },
    { "special.entr", TORCH, "(Tensor input)", entropy, OP_ONE_NODE, 0, NULL },
    { "special.ndtr", TORCH, "(Tensor input)", normal_distribution, OP_ONE_NODE, 0, NULL },
    { "logit", TENSOR | TORCH, "(Tensor input, float? eps=None)", logit, OP_ONE_NODE, 0, NULL },
    { "nan_to_num", TENSOR | TORCH, "(Tensor input, float? nan=None, float? posinf=None, float? neginf=None)", nan_to_num, OP_ONE_NODE, 0, NULL },
    { "mvlgamma", TENSOR | TORCH, "(Tensor input, int p)", mvlgamma, OP_ONE_NODE, 0, NULL },
    { "polygamma", TENSOR, "(Tensor input, int n)", polygamma, OP_ONE_NODE, 0, NULL },
    { "polygamma", TORCH, "(int n, Tensor input)", polygamma, OP_ONE_NODE, 0, NULL },
    { "logit_backward", ATEN, "(Tensor grad_output, Tensor input, float? eps=None)", logit_backward, OP_NO_GRADIENT, 0, NULL },
    { "tanh_backward", ATEN, "(Tensor grad_output, Tensor output)", tanh_backward, OP_ONE_NODE, 0, NULL },
    { "sigmoid_backward", ATEN, "(Tensor grad_output, Tensor output)", sigmoid_backward, OP_ONE_NODE, 0, NULL },
    { "frexp", TENSOR | TORCH, "(Tensor input)", frexp_parts, OP_ONE_NODE, 0, NULL },
    { "_foreach_neg", TORCH, "(Tensor[] input)", each_negate, OP_ONE_NODE, 0, "neg" },
    EACH("abs", each_keeping_integers),
    EACH("sign", each_keeping_integers),
    EACH("ceil", each_keeping_integers),
    EACH("floor", each_keeping_integers),
    EACH("trunc", each_keeping_integers),
    EACH("acos", each_elementwise),
    EACH("asin", each_elementwise),
    EACH("atan", each_elementwise),
    EACH("cos", each_elementwise),
    EACH("cosh", each_elementwise),
    EACH("erf", each_elementwise),
    EACH("erfc", each_elementwise),
    EACH("exp", each_elementwise),
    EACH("expm1", each_elementwise),
    EACH("frac", each_elementwise),
    EACH("lgamma", each_elementwise),
    EACH("log", each_elementwise),
    EACH("log10", each_elementwise),
    EACH("log1p", each_elementwise),
    EACH("log2", each_elementwise),
    EACH("reciprocal", each_elementwise),
    EACH("rsqrt", each_elementwise),
    EACH("sigmoid", each_elementwise),
    EACH("sin", each_elementwise),
    EACH("sinh", each_elementwise),
    EACH("sqrt", each_elementwise),
    EACH("tan", each_elementwise),
    EACH("tanh", each_elementwise),
};
/* clang-format on */
OP_TABLE_END(elementwise);
