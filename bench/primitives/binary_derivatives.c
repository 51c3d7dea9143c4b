/* Partial derivatives as compositions, so that they carry bounds and derivatives of their own. */
#include "bench/primitives/binary_derivatives.h"

#include <math.h>

#include "bench/primitives/alias.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/chain_rule.h"

#define PARTIALS(NAME)                                                                             \
    void NAME(struct tape *tape, struct node *a, struct node *b, struct node *y, struct node **da, \
              struct node **db)

/* A partial derivative of constant value, of y's shape. */
static struct node *constant_like(struct tape *tape, const struct node *y, double value)
{
    return node_constant(tape, DT_NONE, value, y->rank, y->shape);
}

PARTIALS(partials_multiply)
{
    (void)tape, (void)y;
    if (da) *da = b;
    if (db) *db = a;
}

PARTIALS(partials_divide)
{
    if (da) *da = node_apply(tape, "reciprocal", b);
    if (db) *db = node_negate(tape, node_divide(tape, y, b));
    (void)a;
}

/* Is `moved` b + by without a rounding, in double or in float? */
static bool is_exact_shift(double b, double moved, double by, bool single)
{
    return moved - by == b && fabs(b) < 0x1p52 && (!single || (float)moved == moved);
}

/* b + by, without the bound of a rounding where there is none: a power of a negative number exists
 * only for exact whole exponents. */
static struct node *shifted(struct tape *tape, struct node *b, double by)
{
    struct node *sum = node_offset(tape, node_detach(tape, b), by);
    const double *value = node_values(tape, b), *moved = node_values(tape, sum);
    bool single = tape_is_model(tape) && !tape->wide;
    size_t rounded = 0;
    if (!node_is_exact(b) || tape_failed(tape)) return sum;
    for (size_t i = 0; i < b->n; i++) rounded += !is_exact_shift(value[i], moved[i], by, single);
    if (rounded == 0) return node_detach(tape, sum);
    struct node *out = node_alias(tape, sum, sum->dtype);
    double *error = tape_allocate(tape, b->n, sizeof *error);
    if (tape_failed(tape)) return sum;
    for (size_t i = 0; i < b->n; i++)
        error[i] = is_exact_shift(value[i], moved[i], by, single) ? 0 : node_error(sum, i);
    out->error = error;
    return out;
}

/* b a^(b-1), zero where b is zero; a^b ln a, zero where a is 0 and b >= 0. */
PARTIALS(partials_pow)
{
    struct node *zero = node_scalar(tape, 0);
    if (da) {
        struct node *power = node_apply2(tape, "pow", a, shifted(tape, b, -1));
        *da = node_select(tape, node_compare(tape, COMPARE_EQ, b, zero), zero,
                          node_multiply(tape, b, power));
    }
    if (db) {
        struct node *vanishes = node_compare(
            tape, COMPARE_GT,
            node_multiply(tape, node_to_real(tape, node_compare(tape, COMPARE_EQ, a, zero)),
                          node_to_real(tape, node_compare(tape, COMPARE_GE, b, zero))),
            zero);
        *db = node_select(tape, vanishes, zero, node_multiply(tape, y, node_apply(tape, "log", a)));
    }
}

PARTIALS(partials_atan2)
{
    struct node *norm = node_add(tape, node_multiply(tape, a, a), node_multiply(tape, b, b));
    (void)y;
    if (da) *da = node_divide(tape, b, norm);
    if (db) *db = node_negate(tape, node_divide(tape, a, norm));
}

PARTIALS(partials_hypot)
{
    if (da) *da = node_divide(tape, a, y);
    if (db) *db = node_divide(tape, b, y);
}

PARTIALS(partials_fmod)
{
    if (da) *da = constant_like(tape, y, 1);
    if (db) *db = node_negate(tape, node_apply(tape, "trunc", node_divide(tape, a, b)));
}

PARTIALS(partials_remainder)
{
    if (da) *da = constant_like(tape, y, 1);
    if (db) *db = node_negate(tape, node_apply2(tape, "floor_divide", a, b));
}

/* d/da copysign(a, b) is +-1 by whether the signs agree, 0 at a = 0; flat in b. */
PARTIALS(partials_copysign)
{
    struct node *ratio = node_divide(tape, y, a), *zero = node_scalar(tape, 0);
    (void)b;
    if (da) *da = node_select(tape, node_compare(tape, COMPARE_EQ, a, zero), zero, ratio);
    if (db) *db = constant_like(tape, y, 0);
}

/* Whole-number quotients are flat. */
PARTIALS(partials_flat)
{
    (void)a, (void)b;
    if (da) *da = constant_like(tape, y, 0);
    if (db) *db = constant_like(tape, y, 0);
}

PARTIALS(partials_logaddexp)
{
    (void)y;
    if (da) *da = node_apply(tape, "sigmoid", node_subtract(tape, a, b));
    if (db) *db = node_apply(tape, "sigmoid", node_subtract(tape, b, a));
}

PARTIALS(partials_logaddexp2)
{
    struct node *ln2 = node_apply(tape, "log", node_scalar(tape, 2));
    (void)y;
    if (da) *da = node_apply(tape, "sigmoid", node_multiply(tape, node_subtract(tape, a, b), ln2));
    if (db) *db = node_apply(tape, "sigmoid", node_multiply(tape, node_subtract(tape, b, a), ln2));
}

/* log b, but 0 where a = 0 and b <= 0; a / b. */
PARTIALS(partials_xlogy)
{
    struct node *zero = node_scalar(tape, 0);
    (void)y;
    if (da) {
        struct node *log = node_apply(tape, "log", b);
        struct node *at_zero =
            node_select(tape, node_compare(tape, COMPARE_LE, b, zero), zero, log);
        *da = node_select(tape, node_compare(tape, COMPARE_EQ, a, zero), at_zero, log);
    }
    if (db) *db = node_divide(tape, a, b);
}

/* d/dx P(s, x) = exp((s - 1) log x - x - lgamma(s)); PyTorch has none with respect to s. */
static struct node *gamma_density(struct tape *tape, struct node *s, struct node *x)
{
    struct node *exponent =
        node_multiply(tape, node_offset(tape, s, -1), node_apply(tape, "log", x));
    exponent = node_subtract(tape, node_subtract(tape, exponent, x), node_apply(tape, "lgamma", s));
    return node_apply(tape, "exp", exponent);
}

PARTIALS(partials_igamma)
{
    (void)y;
    if (da) tape_fail(tape, STATUS_SKIP, "igamma has no gradient for its first argument");
    if (db) *db = gamma_density(tape, a, b);
}

PARTIALS(partials_igammac)
{
    (void)y;
    if (da) tape_fail(tape, STATUS_SKIP, "igammac has no gradient for its first argument");
    if (db) *db = node_negate(tape, gamma_density(tape, a, b));
}

PARTIALS(partials_polygamma)
{
    (void)y, (void)da;
    if (!db) return;
    struct node *order = node_new_real(tape, a->dtype, a->rank, a->shape); /* whole: exact plus 1 */
    const double *n = node_values(tape, a);
    for (size_t i = 0; !tape_failed(tape) && i < a->n; i++) order->value[i] = n[i] + 1;
    *db = node_apply2(tape, "polygamma", order, b);
}

/* -s zeta(s + 1, q); PyTorch has none with respect to s. A kernel rounds s + 1 unless s is whole. */
PARTIALS(partials_zeta)
{
    (void)y;
    if (da) tape_fail(tape, STATUS_SKIP, "zeta has no gradient for its first argument");
    if (!db) return;
    struct node *order = shifted(tape, a, 1);
    struct node *fractional =
        node_apply(tape, "abs", node_apply(tape, "sign", node_apply(tape, "frac", order)));
    order = node_model_error(tape, order, node_multiply(tape, order, fractional), 1);
    *db = node_negate(tape, node_multiply(tape, a, node_apply2(tape, "zeta", order, b)));
}
