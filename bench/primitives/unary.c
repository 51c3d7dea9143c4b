/* Functions of one variable, element by element. */
#include "bench/primitives/unary.h"

#include <math.h>
#include <string.h>

#include "bench/arithmetic/pair.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/chain_rule.h"
#include "bench/tape/bounds.h"
#include "bench/tape/enclosure.h"

static void unary_backward(struct tape *tape, struct node *node, struct node *cotangent)
{
    const struct unary_function *f = node->parameters;
    if (!f->derivative) { /* flat: a zero gradient, not none */
        tape_accumulate(tape, node->inputs[0],
                        node_constant(tape, DT_NONE, 0, node->rank, node->shape));
        return;
    }
    struct node *slope = f->derivative(tape, node->inputs[0], node);
    tape_accumulate(tape, node->inputs[0], node_multiply(tape, cotangent, slope));
}

static void unary_enclose(struct enclosure *enclosure, void *ball, struct node *node, size_t i)
{
    const struct unary_function *f = node->parameters;
    arb_t x;
    arb_init(x);
    enclosure_element(enclosure, x, node->inputs[0], i);
    f->ball(ball, x, enclosure->precision);
    arb_clear(x);
}

static bool pair_abs(struct pair *out, struct pair x)
{
    if (x.hi != 0 && x.error >= fabs(x.hi) * (1 - 0x1p-50)) return false; /* the sign is open */
    *out = signbit(x.hi) ? (struct pair){ -x.hi, -x.lo, x.error } : x;
    return true;
}

static bool pair_reciprocal(struct pair *out, struct pair x)
{
    return pair_divide(out, pair_exact(1), x);
}

static bool pair_rsqrt(struct pair *out, struct pair x)
{
    return pair_sqrt(out, x) && pair_reciprocal(out, *out);
}

static bool pair_square(struct pair *out, struct pair x) { return pair_multiply(out, x, x); }

static bool unary_pair(struct enclosure *enclosure, struct pair *out, struct node *node, size_t i)
{
    static const struct {
        const char *name;
        bool (*pair)(struct pair *out, struct pair x);
    } known[] = { { "abs", pair_abs },
                  { "reciprocal", pair_reciprocal },
                  { "rsqrt", pair_rsqrt },
                  { "sqrt", pair_sqrt },
                  { "square", pair_square } };
    const struct unary_function *f = node->parameters;
    struct pair x;
    if (f->ulps == 0 && node_is_exact(node->inputs[0])) { /* no rounding at all */
        *out = pair_exact(node->value[i]);
        return true;
    }
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (!strcmp(f->name, known[k].name))
            return enclosure_pair(enclosure, &x, node->inputs[0], i) && known[k].pair(out, x);
    return false;
}

static const struct primitive unary_primitive = { "a function", unary_backward, unary_enclose,
                                                  unary_pair };

/* Functions with zeros at inexact places, near which no kernel keeps a relative accuracy: an
 * absolute error in units of roundoff. */
static double kernel_absolute(const struct unary_function *f)
{
    static const struct {
        const char *name;
        double roundings;
    } crossing[] = {
        { "sinc", 6 }, { "sinpi", 6 }, { "cospi", 6 }, { "lgamma", 16 }, { "digamma", 16 }
    };
    for (size_t i = 0; i < sizeof crossing / sizeof *crossing; i++)
        if (!strcmp(f->name, crossing[i].name)) return crossing[i].roundings;
    return isinf(f->ulps) ? 16 : 0;
}

/* The declared error of a function in units in the last place: ours, or, in a model, what a
 * kernel's may be: nothing where the function is exact; 1.5 for the roots and quotients that
 * fast hardware does not round correctly; 4 for library functions (1 in the mean), more for those
 * without a good formula. */
static double function_ulps(const struct tape *tape, const struct unary_function *f)
{
    if (!tape_is_model(tape) || f->ulps == 0) return f->ulps;
    bool basic = f->ulps <= 0.5 || !strcmp(f->name, "rsqrt");
    double worst = basic ? 1.5 : isinf(f->ulps) ? 16 : 4;
    return tape->arithmetic == BENCH_MODEL_TYPICAL ? worst / 4 : worst;
}

static struct node *evaluate_unary(struct tape *tape, const struct unary_function *f,
                                   struct node *x)
{
    x = node_to_real(tape, x);
    const double *in = node_values(tape, x);
    struct node *node = node_new(tape, &unary_primitive, x->dtype, x->rank, x->shape, 1, &x, f);
    if (tape_failed(tape)) return node;
    double *out = node->value;
    size_t n = node->n;

    if (f->vector) f->vector(out, in, n);
    else
        for (size_t i = 0; i < n; i++) out[i] = f->scalar(in[i]);
    node_round(tape, node);
    if (!tape_is_reference(tape)) return node;

    double ulps = function_ulps(tape, f);
    node->relative = ulps * 2 * tape->unit;
    node->absolute = unary_underflow(f) * tape->tiny;
    if (tape_is_model(tape)) node->absolute += kernel_absolute(f) * tape->unit;
    if (node_is_exact(x)) return node;
    double relative = node->relative, absolute = node->absolute;
    if (!node_need_errors(tape, node)) return node;
    for (size_t i = 0; i < n; i++) {
        double e = node_error(x, i);
        double bound = relative * fabs(out[i]) + absolute;
        if (e > 0) bound = (bound + (f->slope ? f->slope(in[i], e) * e : INFINITY)) * (1 + 0x1p-40);
        node->error[i] = tidy_bound(bound, out[i]);
    }
    return node;
}

struct node *node_unary(struct tape *tape, const struct unary_function *f, struct node *x)
{
    struct node *node = evaluate_unary(tape, f, x);
    model_overflows(tape, node);
    return node;
}

struct node *node_apply(struct tape *tape, const char *name, struct node *x)
{
    const struct unary_function *f = unary_find(name);
    if (f) return node_unary(tape, f, x);
    tape_fail(tape, STATUS_INTERNAL, "there is no function %s", name);
    return x;
}
