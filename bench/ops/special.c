/* Orthogonal polynomials and other functions of torch.special that are compositions. */
#include "bench/call/op.h"
#include "bench/ops/matrices.h"
#include "bench/primitives/alias.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/integral.h"
#include "bench/primitives/selection.h"
#include "bench/primitives/unary.h"

/* p_0 = 1, p_1 = first x + offset, and from p_k and p_k-1 the next one by the polynomial's own recurrence. */
struct polynomials {
    double first, offset;
    struct node *(*next)(struct tape *tape, struct node *x, struct node *p, struct node *before,
                         double k);
};

/* 2 x p - q */
static struct node *next_chebyshev(struct tape *tape, struct node *x, struct node *p,
                                   struct node *before, double k)
{
    (void)k;
    return node_subtract(tape, node_scale(tape, node_multiply(tape, x, p), 2), before);
}

/* 2 x p - 2 k q */
static struct node *next_hermite(struct tape *tape, struct node *x, struct node *p,
                                 struct node *before, double k)
{
    return node_subtract(tape, node_scale(tape, node_multiply(tape, x, p), 2),
                         node_scale(tape, before, 2 * k));
}

/* x p - k q */
static struct node *next_hermite_e(struct tape *tape, struct node *x, struct node *p,
                                   struct node *before, double k)
{
    return node_subtract(tape, node_multiply(tape, x, p), node_scale(tape, before, k));
}

/* ((2 k + 1 - x) p - k q) / (k + 1) */
static struct node *next_laguerre(struct tape *tape, struct node *x, struct node *p,
                                  struct node *before, double k)
{
    struct node *along =
        node_multiply(tape, node_subtract(tape, node_scalar(tape, 2 * k + 1), x), p);
    return node_divide(tape, node_subtract(tape, along, node_scale(tape, before, k)),
                       node_scalar(tape, k + 1));
}

enum { CHEBYSHEV_T, CHEBYSHEV_U, HERMITE, HERMITE_E, LAGUERRE };
static const struct polynomials families[] = {
    [CHEBYSHEV_T] = { 1, 0, next_chebyshev }, [CHEBYSHEV_U] = { 2, 0, next_chebyshev },
    [HERMITE] = { 2, 0, next_hermite },       [HERMITE_E] = { 1, 0, next_hermite_e },
    [LAGUERRE] = { -1, 1, next_laguerre },
};

/* Where PyTorch's kernels take cos(n acos x) and sin((n + 1) acos x) / sin(acos x): the angle's rounding, n + 1 times,
 * moves values of at most 1 and n + 1. */
enum { TRIGONOMETRIC_FROM = 7 };

static struct node *by_angle(struct tape *tape, struct node *p, intptr_t family, double k)
{
    if (family > CHEBYSHEV_U || k < TRIGONOMETRIC_FROM) return p;
    struct node *size =
        node_constant(tape, DT_NONE, family == CHEBYSHEV_U ? k + 1 : 1, p->rank, p->shape);
    return node_model_error(tape, p, size, 8 * (k + 1));
}

enum { HIGHEST_DEGREE = 100 };

/* The degree is a tensor, too; it is truncated, and 0 comes of a negative one. */
static void polynomial(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *operands[2] = { call_tensor(call, "x"), call_tensor(call, "n") };
    enum dtype dtype = call_float_type(call, operands, 2);
    const struct polynomials *family = &families[call->op->detail];
    struct node *x = node_to_real(tape, operands[0]), *n = node_to_real(tape, operands[1]);
    const double *degrees = node_values(tape, n);
    double highest = 0;
    if (tape_failed(tape)) return;
    for (size_t i = 0; i < n->n; i++) highest = fmax(highest, trunc(degrees[i]));
    if (!call_require(call, highest <= HIGHEST_DEGREE, "a polynomial of degree %g", highest))
        return;
    n = node_apply(tape, "trunc", node_detach(tape, n));
    struct node *before = NULL, *p = node_constant(tape, DT_NONE, 1, x->rank, x->shape);
    struct node *y = node_scalar(tape, 0);
    for (double k = 0; k <= highest; k++) {
        struct node *mask = node_compare(tape, COMPARE_EQ, n, node_scalar(tape, k));
        y = node_select(tape, mask, by_angle(tape, p, call->op->detail, k), y);
        struct node *next =
            before ? family->next(tape, x, p, before, k)
                   : node_offset(tape, node_scale(tape, x, family->first), family->offset);
        before = p;
        p = next;
    }
    call_return_typed(call, y, dtype);
}

/* sin(x) / x: 1 at 0, 0 at infinity. */
static void spherical_bessel(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "x");
    enum dtype dtype = call_float_type(call, &x, 1);
    x = node_to_real(tape, x);
    struct node *zero = node_scalar(tape, 0), *one = node_scalar(tape, 1);
    struct node *is_zero = node_compare(tape, COMPARE_EQ, x, zero);
    struct node *is_infinite =
        node_compare(tape, COMPARE_EQ, node_apply(tape, "abs", x), node_scalar(tape, INFINITY));
    struct node *sane = node_select(tape, is_infinite, one, x);
    struct node *y =
        node_divide(tape, node_apply(tape, "sin", sane), node_select(tape, is_zero, one, sane));
    y = node_select(tape, is_zero, one, node_select(tape, is_infinite, zero, y));
    call_return_typed(call, y, dtype);
}

static void call_refuse_complex(struct call *call, const struct node *x)
{
    if (!call_require(call, !x->imaginary, "%s takes real numbers", call->api_case->api)) return;
}

/* text: the function of one variable. */
static void special_function(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    enum dtype dtype = call_float_type(call, &x, 1);
    call_refuse_complex(call, x);
    call_return_typed(call, node_apply(call->tape, call->op->text, x), dtype);
}

enum { LOWEST_ZETA = -1000 };

/* The sum over k of (other + k)^-input. */
static void zeta(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *operands[2] = { call_tensor(call, "input"), call_tensor(call, "other") };
    enum dtype dtype = call_float_type(call, operands, 2);
    call_refuse_complex(call, operands[0]);
    call_refuse_complex(call, operands[1]);
    struct node *s = node_to_real(tape, operands[0]), *q = node_to_real(tape, operands[1]);
    const double *values = node_values(tape, q);
    for (size_t i = 0; !tape_failed(tape) && i < q->n; i++)
        if (!call_require(call, !(values[i] < LOWEST_ZETA) || isinf(values[i]), "zeta at %g",
                          values[i]))
            return;
    call_return_typed(call, node_apply2(tape, "zeta", s, q), dtype);
}

#define POLYNOMIAL(name, family)                                                      \
    {                                                                                 \
        name, TORCH, "(Tensor x, Tensor n)", polynomial, OP_NO_GRADIENT, family, NULL \
    }

#define FUNCTION(name, function)                                                  \
    {                                                                             \
        name, TORCH, "(Tensor input)", special_function, OP_ONE_NODE, 0, function \
    }
/* PyTorch has no gradient of these. */
#define FLAT(name, function)                                                         \
    {                                                                                \
        name, TORCH, "(Tensor input)", special_function, OP_NO_GRADIENT, 0, function \
    }

/* clang-format off */
const struct op ops_special[] = {
    POLYNOMIAL("special.chebyshev_polynomial_t", CHEBYSHEV_T),
    POLYNOMIAL("special.chebyshev_polynomial_u", CHEBYSHEV_U),
    POLYNOMIAL("special.hermite_polynomial_h", HERMITE),
    POLYNOMIAL("special.hermite_polynomial_he", HERMITE_E),
    POLYNOMIAL("special.laguerre_polynomial_l", LAGUERRE),
    { "special.spherical_bessel_j0", TORCH, "(Tensor x)", spherical_bessel, OP_NO_GRADIENT, 0, NULL },
    FUNCTION("special.erfcx", "erfcx"),
    FUNCTION("special.ndtri", "ndtri"),
    FUNCTION("special.log_ndtr", "log_ndtr"),
    FUNCTION("special.i0e", "i0e"),
    FUNCTION("special.i1e", "i1e"),
    FLAT("special.bessel_j0", "bessel_j0"),
    FLAT("special.bessel_j1", "bessel_j1"),
    FLAT("special.bessel_y0", "bessel_y0"),
    FLAT("special.bessel_y1", "bessel_y1"),
    FLAT("special.modified_bessel_k0", "bessel_k0"),
    FLAT("special.modified_bessel_k1", "bessel_k1"),
    FLAT("special.scaled_modified_bessel_k0", "k0e"),
    FLAT("special.scaled_modified_bessel_k1", "k1e"),
    FLAT("special.airy_ai", "airy_ai"),
    { "special.zeta", TORCH, "(Tensor input, Tensor other)", zeta, OP_ONE_NODE, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(special);
