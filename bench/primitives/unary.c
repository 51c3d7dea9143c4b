/* Functions of one variable, element by element. */
#include "bench/primitives/unary.h"

#include <math.h>
#include <string.h>

#include "bench/arithmetic/pair.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/chain_rule.h"
#include "bench/primitives/composed_functions.h"
#include "bench/primitives/unary_functions.h"
#include "bench/tape/bounds.h"
#include "bench/tape/deviation.h"
#include "bench/tape/enclosure.h"
#include "bench/tape/known_values.h"
#include "core/kernel_modes.h"

static void unary_backward(struct tape *tape, struct node *node, struct node *cotangent)
{
    const struct unary_function *f = node->parameters;
    if (!f->derivative) { /* flat: a zero gradient, not none */
        tape_accumulate(tape, node->inputs[0],
                        node_constant(tape, DT_NONE, 0, node->rank, node->shape));
        return;
    }
    struct node *x = node->inputs[0], *flow = NULL, *steps = NULL;
    const struct node *before = tape->newest;
    if (composes(tape)) steps = composed_gradient(tape, f->name, x, node, cotangent);
    tape_own_kernels(tape, before);
    if (steps && composes_values(tape)) flow = steps;
    else flow = node_multiply_slope(tape, cotangent, f->derivative(tape, x, node));
    if (steps && flow != steps) flow = node_as_steps(tape, flow, steps, f->name);
    tape_accumulate(tape, x, flow);
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
        *out = pair_exact(node_value_at(node, i));
        return true;
    }
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (!strcmp(f->name, known[k].name))
            return enclosure_pair(enclosure, &x, node->inputs[0], i) && known[k].pair(out, x);
    return false;
}

static const struct primitive unary_primitive = { "a function", unary_backward, unary_enclose,
                                                  unary_pair };

/* What kernels' formulas lose beyond a relative accuracy, in units of roundoff, at (x, y). */
/* sin(pi x) / (pi x), NaN where x is infinite. */
static double at_crossing(double x, double y) { return (void)y, isinf(x) ? INFINITY : 6; }
static double at_pole_and_zero(double x, double y) { return (void)x, (void)y, 16; }
/* Below 0 by reflection: pi / tan(pi r), r the fraction of x and pi r rounded as pi is (ATen's calc_digamma). */
static double by_reflection(double x, double y)
{
    double sine = x < 0 ? fabs(sin(M_PI * (x - rint(x)))) : 1;
    return at_pole_and_zero(x, y) +
           3 * M_PI * M_PI * fmin(fabs(x), 1) / fmax(sine * sine, 0x1p-100);
}
/* The angle pi x is rounded, and pi before it, by half a unit. */
static double of_angle(double x, double y) { return (void)y, 6 + 5 * fmin(fabs(x), 0x1p24); }
/* Newton's method on erf: (erf(y) - x) / erf'(y), where erf(y) is rounded as x is. */
static double by_newton(double x, double y) { return 2 * fabs(x) * fmin(exp(y * y), 0x1p24); }
/* exp(|x|) times a Chebyshev sum, up to |x| = 8 one whose coefficients add up in magnitude to its value at 0, 1 for I0 and
 * |x| / 2 for I1 (Cephes): Clenshaw's recurrence loses two units of that, however small the sum is. */
static double by_exponential(double x, double y)
{
    return fabs(x) * fabs(y) + (fabs(x) <= 8 ? 2 * exp(fabs(x)) : 0);
}
static double by_odd_exponential(double x, double y)
{
    return fabs(x) * (fabs(y) + (fabs(x) <= 8 ? exp(fabs(x)) : 0));
}
/* The same sums, scaled: the coefficients add up to 1 for I0, |x| / 2 for I1. */
static double by_sum(double x, double y) { return (void)y, fabs(x) <= 8 ? 2 : 0; }
static double by_odd_sum(double x, double y) { return (void)y, fabs(x) <= 8 ? fabs(x) : 0; }
/* exp(x^2) of a rounded square, for x < 0. */
static double of_square(double x, double y) { return x < 0 ? 4 * fmin(x * x, 0x1p24) * y : 0; }
/* erfc(x / sqrt(2)) of a rounded quotient, for x > 0. */
static double of_tail(double x, double y) { return x > 0 ? 2 * fmin(x * x, 0x1p24) * fabs(y) : 0; }
/* Rational functions up to 5 and then sqrt(2 / (pi x)) cos(x - phase), whose angle is rounded (Cephes). */
static double of_wave(double x, double y)
{
    return (void)y, (8 + 4 * fmin(fabs(x), 0x1p24)) * fmin(1, 0.8 / sqrt(fabs(x)));
}
/* The same, up to 5 a multiple of x. */
static double of_odd_wave(double x, double y) { return of_wave(x, y) * fmin(1, fabs(x)); }
/* Up to 2 a Chebyshev sum less log(x / 2) I0, of magnitude 1 each, then exp(-x) times a sum (Cephes). */
static double by_decay(double x, double y) { return x <= 2 ? 4 : x * y; }
static double by_scaled_decay(double x, double y) { return (void)y, x <= 2 ? 4 * exp(x) : 0; }
/* The terms of K1 are 1 / x times as large. */
static double by_steep_decay(double x, double y) { return by_decay(x, y) / fmin(x, 1); }
static double by_steep_scaled_decay(double x, double y)
{
    return by_scaled_decay(x, y) / fmin(x, 1);
}
/* Beside 0 a difference of two series, then exp(-z) or a sine of z = 2/3 |x|^(3/2), which is rounded (Cephes). */
static double of_airy(double x, double y)
{
    double z = fmin(fabs(x) * sqrt(fabs(x)), 0x1p24);
    if (fabs(x) < 2.1) return 4;
    return x > 0 ? 2 * z * y : (8 + 2 * z) / sqrt(sqrt(fabs(x)));
}
/* 1 / (1 + exp(-x)) is 0 as soon as exp overflows: 2^-126, in units of 2^-24. */
static double by_overflow(double x, double y) { return (void)y, (1 + fabs(x)) * 0x1p-102; }

typedef double kernel_loss(double x, double y);

static kernel_loss *kernel_loss_of(const struct unary_function *f)
{
    static const struct {
        const char *name;
        kernel_loss *loss;
    } lossy[] = { { "sinc", at_crossing },
                  { "sinpi", of_angle },
                  { "cospi", of_angle },
                  { "lgamma", at_pole_and_zero },
                  { "digamma", by_reflection },
                  { "erfinv", by_newton },
                  { "i0", by_exponential },
                  { "i1", by_odd_exponential },
                  { "sigmoid", by_overflow },
                  { "silu", by_overflow },
                  { "mish", by_overflow },
                  { "softplus", by_overflow },
                  { "logsigmoid", by_overflow },
                  { "i0e", by_sum },
                  { "i1e", by_odd_sum },
                  { "erfcx", of_square },
                  { "log_ndtr", of_tail },
                  { "bessel_j0", of_wave },
                  { "bessel_j1", of_odd_wave },
                  { "bessel_y0", of_wave },
                  { "bessel_y1", of_wave },
                  { "bessel_k0", by_decay },
                  { "bessel_k1", by_steep_decay },
                  { "k0e", by_scaled_decay },
                  { "k1e", by_steep_scaled_decay },
                  { "airy_ai", of_airy } };
    for (size_t i = 0; i < sizeof lossy / sizeof *lossy; i++)
        if (!strcmp(f->name, lossy[i].name)) return lossy[i].loss;
    return isinf(f->ulps) ? at_pole_and_zero : NULL;
}

/* 1 / 2^k, exactly. */
static bool is_exact_reciprocal(const struct unary_function *f, const struct node *x)
{
    int exponent;
    return x->n == 1 && node_is_exact(x) && !strcmp(f->name, "reciprocal") &&
           fabs(frexp(node_value_at(x, 0), &exponent)) == 0.5;
}

/* The declared error of a function in units in the last place: ours, or, in a model, what a
 * kernel's may be: nothing where the function is exact; 1.5 for the square roots and quotients that
 * fast hardware does not round correctly; 4 for library functions (1 in the mean), more for those
 * without a good formula. */
static double function_ulps(const struct tape *tape, const struct unary_function *f, bool number)
{
    if (!tape_is_model(tape) || f->ulps == 0) return f->ulps;
    bool basic = f->ulps <= 0.5; /* c / n has the errors of a quotient when a kernel forms it */
    if (number && !basic) return tape_is_typical(tape) ? 0.3 : 0.5; /* that is rounded once */
    double worst = basic ? 1.5 : isinf(f->ulps) ? 16 : 4;
    worst = kernel_modes_ulps(tape->modes, f->name, worst);
    return tape->arithmetic == BENCH_MODEL_TYPICAL ? worst / 4 : worst;
}

/* What the elements and the bounds of f(x) are made with. */
struct unary_context {
    const struct tape *tape;
    const struct unary_function *f;
    double relative, absolute; /* of its own rounding */
    kernel_loss *loss;         /* or NULL */
    bool is_root;              /* of a model: sqrt */
};

/* The bound of y = f(x), x off by e at most. */
static double unary_bound(const struct unary_context *c, double x, double e, double y)
{
    bool typical = tape_is_typical(c->tape);
    /* What may underflow in float is not 0 in double. */
    if (x == 0 && e <= c->tape->tiny && !(tape_is_model(c->tape) && c->tape->wide)) e = 0;
    double bound = c->relative * fabs(y) + c->absolute;
    if (c->loss) bound += c->loss(x, y) * c->tape->unit / (typical ? 4 : 1);
    if (e > 0) {
        double carried = c->f->slope ? c->f->slope(x, e) * e : INFINITY;
        if (c->is_root && !(carried <= sqrt(e))) carried = sqrt(e); /* |sqrt a - sqrt b| at most */
        /* A step has no rounding of its own, and what reads a model's bound takes one off. */
        if (carried > 0 && !c->f->derivative) carried += c->tape->unit * fabs(y);
        bound = typical ? hypot(bound, carried) : (bound + carried) * (1 + 0x1p-40);
    }
    return tidy_bound(bound, y);
}

/* In a model: the logarithm of what is 0 and need not be for a kernel (an extent, a share): nothing is known. */
static bool is_log_of_rest(const struct unary_context *c, double x, double e, double y)
{
    return isinf(y) && x == 0 && e > 16 * c->tape->tiny && tape_is_model(c->tape) &&
           !strncmp(c->f->name, "log", 3);
}

static void unary_elements(const struct node *node, size_t start, size_t count, double *value,
                           double *error)
{
    enum { BLOCK = 512 };
    double buffer[BLOCK], bounds[BLOCK];
    const struct unary_context *c = node->deferral->context;
    const struct node *x = node->inputs[0];
    const bool known = node->deferral->values;
    for (size_t done = 0; done < count; done += BLOCK) {
        size_t n = count - done < BLOCK ? count - done : BLOCK;
        double *y = value + done;
        const double *e = NULL,
                     *in = error ? node_bounded_block(&e, x, start + done, n, buffer, bounds)
                                 : node_block(x, start + done, n, buffer);
        if (!known && c->f->vector) c->f->vector(y, in, n);
        for (size_t i = 0; !known && !c->f->vector && i < n; i++) y[i] = c->f->scalar(in[i]);
        if (tape_is_single(c->tape))
            for (size_t i = 0; i < n; i++) y[i] = (float)y[i];
        for (size_t i = 0; error && i < n; i++) {
            bool open = is_log_of_rest(c, in[i], e[i], y[i]);
            if (open) y[i] = 0;
            error[done + i] = open ? INFINITY : unary_bound(c, in[i], e[i], y[i]);
        }
    }
}

static bool is_alike(const struct node *a, const struct node *b)
{
    return a->parameters == b->parameters;
}

static struct node *evaluate_unary(struct tape *tape, const struct unary_function *f,
                                   struct node *x)
{
    enum { VECTOR_COST = 8, SCALAR_COST = 64 }; /* in additions */
    x = node_to_real(tape, x);
    struct unary_context *c = tape_allocate(tape, 1, sizeof *c);
    if (!c) return tape_failure(tape);
    *c = (struct unary_context){ .tape = tape, .f = f };
    struct deferral deferral = { .elements = unary_elements,
                                 .context = c,
                                 .cost = f->vector ? VECTOR_COST : SCALAR_COST,
                                 .apart = true };
    bool defers = !tape_is_model(tape) && tape_may_defer(tape, x->n, deferral.cost, 1, &x);
    if (!defers && !node_is_deferred(x)) (void)node_values(tape, x);
    struct node *node = node_step(tape, &unary_primitive, x->dtype, x->rank, x->shape, 1, &x, f);
    if (tape_failed(tape)) return tape_failure(tape);
    if (tape_is_reference(tape)) {
        bool number = node_is_number(x);
        bool rounds = !is_exact_reciprocal(f, x);
        double ulps = rounds ? function_ulps(tape, f, number) : 0;
        node->relative = c->relative = ulps * 2 * tape->unit;
        node->absolute = c->absolute = rounds ? unary_underflow(f) * tape->tiny : 0;
        c->loss = tape_is_model(tape) && !number ? kernel_loss_of(f) : NULL;
        c->is_root = tape_is_model(tape) && !strcmp(f->name, "sqrt");
        deferral.bounded = !node_is_exact(x) || c->loss;
        /* Logarithms change some of theirs (is_log_of_rest). */
        if (strncmp(f->name, "log", 3) != 0)
            deferral.values = known_values_share(tape, node, is_alike);
    }
    node_evaluate(tape, node, deferral, defers);
    return tape_failed(tape) ? tape_failure(tape) : node;
}

/* f(x) by a composition, where there is one, with the gradient of f. */
static struct node *compose(struct tape *tape, const struct unary_function *f, struct node *x)
{
    x = node_to_real(tape, x);
    struct node *steps = composed_function(tape, f->name, x, tape->deviation->other_formulas);
    if (!steps || tape_failed(tape)) return NULL;
    struct node *node = node_sharing(tape, &unary_primitive, steps, 1, &x, f);
    node->is_step = true;
    return node;
}

/* In the model of staged kernels: f(x) may be any composition, or one with two roundings within where none is known. */
static struct node *with_compositions(struct tape *tape, const struct unary_function *f,
                                      struct node *node)
{
    struct node *x = node->inputs[0], *steps = composed_function(tape, f->name, x, false);
    if (!steps && f->ulps > 1.25) model_stages_within(tape, node, 2);
    model_stages(tape, node);
    if (!steps) return node;
    node = node_as_steps(tape, node, steps, f->name);
    return node_as_steps(tape, node, composed_function(tape, f->name, x, true), f->name);
}

struct node *node_unary(struct tape *tape, const struct unary_function *f, struct node *x)
{
    struct node *composed = composes_values(tape) ? compose(tape, f, x) : NULL;
    if (composed) return composed;
    struct node *node = evaluate_unary(tape, f, x);
    model_overflows(tape, node, node_is_exact(x));
    if (composes(tape) && !tape_failed(tape)) return with_compositions(tape, f, node);
    model_stages(tape, node);
    return node;
}

struct node *node_apply(struct tape *tape, const char *name, struct node *x)
{
    const struct unary_function *f = unary_find(name);
    if (f) return node_unary(tape, f, x);
    tape_fail(tape, STATUS_INTERNAL, "there is no function %s", name);
    return tape_failure(tape);
}
