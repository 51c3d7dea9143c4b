/* Derivatives of sigmoid, silu and gelu as primitives.
 *
 * Those of silu and gelu cross zero, so their bound is not relative to the value: each formula
 * states its error in units of roundoff, the library calls good to 2 (exp) and 3 (erfc), as a
 * function of x and the value.
 */
#include "bench/primitives/slopes.h"

#include <arb_hypgeom.h>
#include <math.h>

#include "bench/arithmetic/vector_math.h"
#include "bench/primitives/casts.h"
#include "bench/tape/bounds.h"
#include "bench/tape/enclosure.h"
#include "bench/tape/known_values.h"

enum { BLOCK = 512 };

/* ---- values and errors ------------------------------------------------------------------------- */

/* e / (1 + e)^2 with e = exp(-|x|): 2 for e, twice 1 for each sum, 3 roundings. */
static void sigmoid_values(double *restrict y, double *restrict error, const double *restrict x,
                           size_t n)
{
    for (size_t i = 0; i < n; i++) y[i] = -fabs(x[i]);
    vector_exp(y, y, n);
    for (size_t i = 0; i < n; i++) {
        double e = y[i], total = 1 + e;
        y[i] = e / (total * total);
        error[i] = 10 * y[i];
    }
}

/* s + x s (1 - s), s = sigmoid(x) good to 6. Both terms are positive for x > 0. Below, their sum is
 * at most (1 + |x|) s, which for x < -3 is less than 3 |y| (the sum is (1 + x (1 - s)) s). */
static void silu_values(double *restrict y, double *restrict error, const double *restrict x,
                        size_t n)
{
    for (size_t i = 0; i < n; i++) y[i] = -fabs(x[i]);
    vector_exp(y, y, n);
    for (size_t i = 0; i < n; i++) {
        double e = y[i], total = 1 + e, s = (x[i] >= 0 ? 1 : e) / total,
               other = (x[i] >= 0 ? e : 1) / total;
        y[i] = s + x[i] * (s * other);
        if (isinf(x[i])) y[i] = x[i] > 0 ? 1 : 0;
        error[i] = 16 * (x[i] > -3 && x[i] < 0 ? (1 + fabs(x[i])) * s : 3 * fabs(y[i]));
    }
}

/* erfc(z) / 2 + x exp(-x^2 / 2) / sqrt(2 pi), z = -x / sqrt 2 off by 2 relative. An error of z or of
 * the exponent counts x^2 times in the tail: (2 x^2 + 6) of the sum of magnitudes there, which for
 * x <= -1.5 is at most 2.1 |y|; above, 6 absolute (the second term is at most 0.25). */
static void gelu_values(double *restrict y, double *restrict error, const double *restrict x,
                        size_t n)
{
    double density[BLOCK];
    for (size_t i = 0; i < n; i++) {
        y[i] = -x[i] * 0x1.6a09e667f3bcdp-1;
        density[i] = -0.5 * x[i] * x[i];
    }
    vector_erfc(y, y, n);
    vector_exp(density, density, n);
    for (size_t i = 0; i < n; i++) {
        double part = density[i] == 0 ? 0 : x[i] * (0x1.9884533d43651p-2 * density[i]);
        y[i] = 0.5 * y[i] + (isnan(x[i]) ? x[i] : part);
        error[i] = x[i] <= -1.5 ? (5 * x[i] * x[i] + 20) * fabs(y[i]) : 12;
    }
}

/* ---- the root mean square of a kernel's errors ----------------------------------------------------- */

/* In units of roundoff, of the frameworks' formulas: library functions are off by 2 (a quarter of 4 ulp), every other step by
 * a rounding, 1 / sqrt 3, and an error e of a step by |dy/dstep| e. x and y: arguments and values. */

/* s (1 - s): (1 - 2s) 2 s for s, two roundings of y. 1 - 2s is the root of 1 - 4y. */
static void sigmoid_spreads(double *restrict spread, const double *restrict x,
                            const double *restrict y, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double difference = sqrt(fmax(1 - 4 * y[i], 0));
        double s = x[i] > 0 ? (1 + difference) / 2 : (1 - difference) / 2;
        double of_s = 2 * difference * s;
        spread[i] = sqrt(of_s * of_s + 2. / 3 * y[i] * y[i]);
    }
}

/* s (1 + x (1 - s)): (1 + x - 2 x s) 2 s for s, and four roundings. */
static void silu_spreads(double *restrict spread, const double *restrict x,
                         const double *restrict y, size_t n)
{
    (void)y;
    for (size_t i = 0; i < n; i++) spread[i] = -x[i];
    vector_exp(spread, spread, n);
    for (size_t i = 0; i < n; i++) {
        double s = 1 / (1 + spread[i]), rest = x[i] * (1 - s);
        double of_s = 2 * (1 + x[i] - 2 * x[i] * s);
        double roundings = rest * rest + (1 + rest) * (1 + rest);
        spread[i] = s * sqrt(of_s * of_s + 2. / 3 * roundings);
    }
}

/* (1 + erf(x / sqrt 2)) / 2 + x phi(x): erf(t) is off by 2, not by 2 erf(t), as vectors have it from 1 - p(t) exp(-t^2)
 * (Abramowitz and Stegun 7.1.26), and by its slope times two roundings of t, which is x phi(x) times these; then two roundings of the sum, phi by 2, half of x^2 by two roundings, x phi(x) by three, and y by one. */
static void gelu_spreads(double *restrict spread, const double *restrict x,
                         const double *restrict y, size_t n)
{
    for (size_t i = 0; i < n; i++) spread[i] = -0.5 * x[i] * x[i];
    vector_exp(spread, spread, n);
    for (size_t i = 0; i < n; i++) {
        double part = spread[i] == 0 ? 0 : x[i] * 0x1.9884533d43651p-2 * spread[i];
        double cdf = y[i] - part, power = x[i] * x[i] / 2;
        double of_part = 2. / 3 + 4 + 2. / 3 * power * power + 1;
        spread[i] = sqrt(1 + 2. / 3 * cdf * cdf + part * part * of_part + y[i] * y[i] / 3);
        if (power > 1e300) spread[i] = 1 + cdf + fabs(y[i]);
    }
}

/* ---- balls ----------------------------------------------------------------------------------------- */

/* 1 / (1 + exp(-x)) */
static void sigmoid_ball(arb_t y, const arb_t x, slong p)
{
    arb_neg(y, x);
    arb_exp(y, y, p);
    arb_add_ui(y, y, 1, p);
    arb_inv(y, y, p);
}

static void sigmoid_slope_ball(arb_t y, const arb_t x, slong p)
{
    arb_t other;
    arb_init(other);
    arb_neg(other, x);
    sigmoid_ball(other, other, p);
    sigmoid_ball(y, x, p);
    arb_mul(y, y, other, p);
    arb_clear(other);
}

static void silu_slope_ball(arb_t y, const arb_t x, slong p)
{
    arb_t slope;
    arb_init(slope);
    sigmoid_slope_ball(slope, x, p);
    arb_mul(slope, slope, x, p);
    sigmoid_ball(y, x, p);
    arb_add(y, y, slope, p);
    arb_clear(slope);
}

static void gelu_slope_ball(arb_t y, const arb_t x, slong p)
{
    arb_t t, root;
    arb_init(t);
    arb_init(root);
    arb_const_pi(root, p); /* x exp(-x^2 / 2) / sqrt(2 pi) */
    arb_mul_2exp_si(root, root, 1);
    arb_rsqrt(root, root, p);
    arb_mul(t, x, x, p);
    arb_mul_2exp_si(t, t, -1);
    arb_neg(t, t);
    arb_exp(t, t, p);
    arb_mul(t, t, x, p);
    arb_mul(t, t, root, p);
    arb_sqrt_ui(root, 2, p); /* erfc(-x / sqrt 2) / 2 */
    arb_div(root, x, root, p);
    arb_neg(root, root);
    arb_hypgeom_erfc(root, root, p);
    arb_mul_2exp_si(root, root, -1);
    arb_add(y, t, root, p);
    arb_clear(t);
    arb_clear(root);
}

/* ---- the primitive ----------------------------------------------------------------------------------- */

struct slope {
    void (*values)(double *restrict y, double *restrict error, const double *restrict x, size_t n);
    void (*spreads)(double *restrict spread, const double *restrict x, const double *restrict y,
                    size_t n);
    void (*ball)(arb_t y, const arb_t x, slong precision);
    double steepest; /* largest |f''| */
    double relative; /* the error where it is a multiple of the value, else 0 */
    /* Roundings of a kernel whose formula cancels, y (1 - y) or 1 + erf(x): constant, and per |x|. */
    double cancels, cancels_with_x;
};

static const struct slope slopes[] = {
    [SLOPE_SIGMOID] = { sigmoid_values, sigmoid_spreads, sigmoid_slope_ball, 0.097, 10, 9, 0 },
    [SLOPE_SILU] = { silu_values, silu_spreads, silu_slope_ball, 0.501, 0, 9, 9 },
    [SLOPE_GELU] = { gelu_values, gelu_spreads, gelu_slope_ball, 0.8, 0, 6, 0 },
};

static void slope_enclose(struct enclosure *enclosure, void *ball, struct node *node, size_t i)
{
    const struct slope *slope = node->parameters;
    arb_t x;
    arb_init(x);
    enclosure_element(enclosure, x, node->inputs[0], i);
    slope->ball(ball, x, enclosure->precision);
    arb_clear(x);
}

static const struct primitive slope_primitive = { "the slope of an activation", NULL, slope_enclose,
                                                  NULL };

/* What a kernel's own library calls, four times as far off as ours, and its order make of the worst case. */
static double kernel_factor(const struct tape *tape)
{
    return tape_is_model(tape) && !tape_is_typical(tape) ? 3 : 1;
}

struct slope_context {
    const struct tape *tape;
    const struct slope *slope;
    double unit; /* of its own error */
    bool known;  /* the values are there, and errors follow from them and x */
};

/* exp(-x) of a float32 kernel is infinite below -log(FLT_MAX), and all that is left of y is its error. */
static void lose_overflows(double *restrict spread, const double *restrict x,
                           const double *restrict y, double unit, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (x[i] < -88.7) spread[i] = fmax(spread[i], fabs(y[i]) / unit);
}

static void slope_elements(const struct node *node, size_t start, size_t count, double *value,
                           double *error)
{
    const struct slope_context *c = node->deferral->context;
    const struct slope *slope = c->slope;
    const struct node *x = node->inputs[0];
    const struct tape *tape = c->tape;
    bool model = tape_is_model(tape), typical = tape_is_typical(tape);
    double own[BLOCK], buffer[BLOCK], bounds[BLOCK];
    for (size_t done = 0; done < count; done += BLOCK) {
        size_t n = count - done < BLOCK ? count - done : BLOCK;
        double *y = value + done;
        const double *e = NULL,
                     *in = error ? node_bounded_block(&e, x, start + done, n, buffer, bounds)
                                 : node_block(x, start + done, n, buffer);
        if (!c->known) slope->values(y, own, in, n);
        if (tape_is_single(tape))
            for (size_t i = 0; i < n; i++) y[i] = (float)y[i];
        if (error && typical) slope->spreads(own, in, y, n);
        if (error && typical && !tape->wide) lose_overflows(own, in, y, c->unit, n);
        for (size_t i = 0; error && i < n; i++) {
            double input = e[i] * slope->steepest;
            if (model && !typical)
                own[i] += (slope->cancels + slope->cancels_with_x * fabs(in[i])) / 3;
            double bound = tape_join(tape, own[i] * c->unit, input) + 0x1p20 * tape->tiny;
            error[done + i] = bound >= 0 ? bound : isnan(y[i]) ? 0 : INFINITY;
        }
    }
}

static bool is_alike(const struct node *a, const struct node *b)
{
    return a->parameters == b->parameters;
}

struct node *node_activation_slope(struct tape *tape, enum activation_slope which, struct node *x)
{
    enum { COST = 16 }; /* in additions */
    const struct slope *slope = &slopes[which];
    x = node_to_real(tape, x);
    struct slope_context *c = tape_allocate(tape, 1, sizeof *c);
    if (!c) return tape_failure(tape);
    *c = (struct slope_context){ .tape = tape,
                                 .slope = slope,
                                 .unit = tape->unit * kernel_factor(tape) * (1 + 0x1p-30) };
    bool defers = !tape_is_model(tape) && tape_may_defer(tape, x->n, COST, 1, &x);
    if (!defers && !node_is_deferred(x)) (void)node_values(tape, x);
    struct node *node =
        node_step(tape, &slope_primitive, x->dtype, x->rank, x->shape, 1, &x, slope);
    if (tape_failed(tape)) return tape_failure(tape);
    bool uniform = node_is_exact(x) && slope->relative > 0 && !tape_is_model(tape);
    node->tracked = false;
    if (uniform && tape_is_reference(tape)) {
        node->relative = slope->relative * c->unit;
        node->absolute = 4 * tape->tiny;
    }
    bool bounded = tape_is_reference(tape) && !uniform;
    double *known = tape_is_model(tape) ? known_values_share(tape, node, is_alike) : NULL;
    c->known = known && tape_is_typical(tape);
    node_evaluate(tape, node,
                  (struct deferral){ .elements = slope_elements,
                                     .context = c,
                                     .cost = COST,
                                     .bounded = bounded,
                                     .values = c->known ? known : NULL },
                  defers);
    model_stages(tape, node);
    return tape_failed(tape) ? tape_failure(tape) : node;
}
