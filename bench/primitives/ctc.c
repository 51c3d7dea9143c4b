/* CTC: the likelihood of a target is a sum over alignments, computed by the forward recursion over
 * the target interleaved with blanks; posteriors need the backward recursion as well.
 *
 * The reference runs both in ball arithmetic at a fixed precision. Its exponents have no range to
 * leave, so neither logarithms nor rescaling are needed, and its radii are the bounds. Results are
 * kept as hi + lo and the rest, good to about 110 bits, so no element needs the recursion again.
 * The native arithmetic does what kernels do: logarithms, rounded at every step.
 */
#include "bench/primitives/ctc.h"

#include <arb.h>
#include <math.h>
#include <sleef.h>
#include <string.h>

#include "bench/primitives/chain_rule.h"
#include "bench/primitives/movement.h"
#include "core/memory.h"

enum { PRECISION = 128 }; /* two limbs: Arb keeps them inside the number */

/* ---- values known beyond double ------------------------------------------------------------------ */

struct known {
    double *lo, *rest;
};

static struct known *known_new(struct tape *tape, size_t n)
{
    struct known *known = tape_allocate(tape, 1, sizeof *known);
    if (!known) return NULL;
    known->lo = tape_allocate(tape, n, sizeof *known->lo);
    known->rest = tape_allocate(tape, n, sizeof *known->rest);
    return tape_failed(tape) ? NULL : known;
}

static void known_enclose(struct enclosure *enclosure, void *ball, struct node *node, size_t i)
{
    const struct known *known = node->parameters;
    arb_t low;
    mag_t rest;
    (void)enclosure;
    arb_init(low);
    mag_init(rest);
    arb_set_d(ball, node->value[i]);
    arb_set_d(low, known->lo[i]);
    arb_add(ball, ball, low, ARF_PREC_EXACT);
    mag_set_d(rest, known->rest[i]);
    arb_add_error_mag(ball, rest);
    arb_clear(low);
    mag_clear(rest);
}

static void known_set(struct node *node, struct known *known, size_t i, const arb_t ball)
{
    arb_t rest, part;
    mag_t size;
    arb_init(rest);
    arb_init(part);
    mag_init(size);
    node->value[i] = arf_get_d(arb_midref(ball), ARF_RND_NEAR);
    arb_set_d(part, node->value[i]);
    arb_sub(rest, ball, part, ARF_PREC_EXACT);
    known->lo[i] = arf_get_d(arb_midref(rest), ARF_RND_NEAR);
    arb_set_d(part, known->lo[i]);
    arb_sub(rest, rest, part, ARF_PREC_EXACT);
    arb_get_mag(size, rest);
    known->rest[i] = mag_get_d(size);
    if (node->error)
        node->error[i] = (fabs(known->lo[i]) + known->rest[i]) * (1 + 0x1p-40) + 0x1p-1074;
    arb_clear(rest);
    arb_clear(part);
    mag_clear(size);
}

/* ---- alignments ------------------------------------------------------------------------------------ */

/* One sample: states 0 .. 2 L, even ones blank. */
struct sample {
    const struct ctc_samples *all;
    const struct node *x;
    int64_t number, steps, states;
};

static struct sample sample_of(const struct ctc_samples *all, const struct node *x, int64_t number)
{
    return (struct sample){ all, x, number, all->input_length[number],
                            2 * all->target_length[number] + 1 };
}

static int64_t label(const struct sample *s, int64_t state)
{
    return state % 2 ? s->all->target[s->number][state / 2] : s->all->blank;
}

/* May an alignment go from state - 2 to state? */
static bool may_skip(const struct sample *s, int64_t state)
{
    return state % 2 && state >= 2 && label(s, state) != label(s, state - 2);
}

static double log_probability(const struct sample *s, int64_t step, int64_t class)
{
    return s->x->value[(step * s->all->batch + s->number) * s->all->classes + class];
}

/* ---- balls -------------------------------------------------------------------------------------------- */

static void probability(arb_t p, const struct sample *s, int64_t step, int64_t class)
{
    double log = log_probability(s, step, class);
    if (log == -INFINITY) {
        arb_zero(p);
        return;
    }
    arb_set_d(p, log);
    arb_exp(p, p, PRECISION);
}

/* alpha[t][state], including the probability at t. */
static void forward_balls(arb_ptr alpha, const struct sample *s)
{
    arb_t p;
    arb_init(p);
    for (int64_t t = 0; t < s->steps; t++) {
        arb_ptr row = alpha + t * s->states, before = row - s->states;
        for (int64_t k = 0; k < s->states; k++) {
            if (t == 0) {
                if (k < 2) probability(row + k, s, 0, label(s, k));
                continue;
            }
            arb_set(row + k, before + k);
            if (k >= 1) arb_add(row + k, row + k, before + k - 1, PRECISION);
            if (may_skip(s, k)) arb_add(row + k, row + k, before + k - 2, PRECISION);
            probability(p, s, t, label(s, k));
            arb_mul(row + k, row + k, p, PRECISION);
        }
    }
    arb_clear(p);
}

/* One step back: beta of t (without its probability) from beta of t + 1. */
static void backward_balls(arb_ptr beta, arb_srcptr after, const struct sample *s, int64_t t)
{
    arb_t p;
    arb_init(p);
    for (int64_t k = 0; k < s->states; k++) {
        if (t + 1 == s->steps) {
            arb_set_ui(beta + k, k + 2 >= s->states);
            continue;
        }
        arb_zero(beta + k);
        for (int64_t next = k; next <= k + 2 && next < s->states; next++) {
            if (next == k + 2 && !may_skip(s, next)) continue;
            probability(p, s, t + 1, label(s, next));
            arb_addmul(beta + k, p, after + next, PRECISION);
        }
    }
    arb_clear(p);
}

static void likelihood_ball(arb_t likelihood, arb_srcptr alpha, const struct sample *s)
{
    arb_srcptr last = alpha + (s->steps - 1) * s->states;
    arb_set(likelihood, last + s->states - 1);
    if (s->states > 1) arb_add(likelihood, likelihood, last + s->states - 2, PRECISION);
}

/* exp(x) - posterior for all classes of one step. */
static void residual_balls(struct node *out, struct known *known, const struct sample *s, int64_t t,
                           arb_srcptr alpha, arb_srcptr beta, const arb_t likelihood,
                           arb_ptr classes)
{
    const struct ctc_samples *all = s->all;
    arb_t term;
    arb_init(term);
    for (int64_t c = 0; c < all->classes; c++) arb_zero(classes + c);
    for (int64_t k = 0; k < s->states; k++)
        arb_addmul(classes + label(s, k), alpha + t * s->states + k, beta + k, PRECISION);
    for (int64_t c = 0; c < all->classes; c++) {
        arb_div(classes + c, classes + c, likelihood, PRECISION);
        probability(term, s, t, c);
        arb_sub(term, term, classes + c, PRECISION);
        known_set(out, known, (size_t)((t * all->batch + s->number) * all->classes + c), term);
    }
    arb_clear(term);
}

/* ---- logarithms, as kernels compute -------------------------------------------------------------------- */

static double log_sum(const struct tape *tape, double a, double b)
{
    if (a == -INFINITY || b == -INFINITY) return fmax(a, b);
    double high = fmax(a, b), low = fmin(a, b);
    return tape_round(tape, high + Sleef_log1p_u10(Sleef_exp_u10(tape_round(tape, low - high))));
}

static void forward_logs(const struct tape *tape, double *alpha, const struct sample *s)
{
    for (int64_t t = 0; t < s->steps; t++) {
        double *row = alpha + t * s->states, *before = row - s->states;
        for (int64_t k = 0; k < s->states; k++) {
            double sum = t == 0 ? (k < 2 ? 0 : -INFINITY) : before[k];
            if (t > 0 && k >= 1) sum = log_sum(tape, sum, before[k - 1]);
            if (t > 0 && may_skip(s, k)) sum = log_sum(tape, sum, before[k - 2]);
            row[k] = tape_round(tape, sum + log_probability(s, t, label(s, k)));
        }
    }
}

static void backward_logs(const struct tape *tape, double *beta, const double *after,
                          const struct sample *s, int64_t t)
{
    for (int64_t k = 0; k < s->states; k++) {
        double sum = t + 1 == s->steps && k + 2 >= s->states ? 0 : -INFINITY;
        for (int64_t next = k; t + 1 < s->steps && next <= k + 2 && next < s->states; next++) {
            if (next == k + 2 && !may_skip(s, next)) continue;
            double path = tape_round(tape, after[next] + log_probability(s, t + 1, label(s, next)));
            sum = log_sum(tape, sum, path);
        }
        beta[k] = sum;
    }
}

/* The likelihood's logarithm from the last row of alpha. */
static double log_likelihood(const struct tape *tape, const double *alpha, const struct sample *s)
{
    const double *last = alpha + (s->steps - 1) * s->states;
    return s->states > 1 ? log_sum(tape, last[s->states - 1], last[s->states - 2])
                         : last[s->states - 1];
}

static void residual_logs(const struct tape *tape, struct node *out, const struct sample *s,
                          int64_t t, const double *alpha, const double *beta, double likelihood,
                          double *classes)
{
    const struct ctc_samples *all = s->all;
    for (int64_t c = 0; c < all->classes; c++) classes[c] = -INFINITY;
    for (int64_t k = 0; k < s->states; k++) {
        double both = tape_round(tape, alpha[t * s->states + k] + beta[k]);
        classes[label(s, k)] = log_sum(tape, classes[label(s, k)], both);
    }
    for (int64_t c = 0; c < all->classes; c++) {
        double p = tape_round(tape, Sleef_exp_u10(log_probability(s, t, c)));
        double posterior =
            tape_round(tape, Sleef_exp_u10(tape_round(tape, classes[c] - likelihood)));
        out->value[(t * all->batch + s->number) * all->classes + c] =
            tape_round(tape, p - posterior);
    }
}

/* ---- nodes --------------------------------------------------------------------------------------------- */

/* What a kernel's logarithms may be off by in a sample: every step adds the roundings of a sum of
 * three and of an addition at the size of the result. */
static double modelled_error(const struct tape *tape, const struct sample *s, double value)
{
    double steps = (double)s->steps;
    if (tape->arithmetic == BENCH_MODEL_TYPICAL) steps = sqrt(steps);
    return tape->unit * steps * (12 + 3 * fabs(value));
}

static const struct primitive residual_primitive = { "a residual of CTC", NULL, known_enclose,
                                                     NULL };

/* Residuals of one sample, by balls or, native, by logarithms. */
static void sample_residuals(struct tape *tape, struct node *out, struct known *known,
                             const struct sample *s)
{
    size_t states = (size_t)s->states, cells = (size_t)s->steps * states;
    size_t classes = (size_t)s->all->classes;
    if (tape->arithmetic == BENCH_NATIVE) {
        double *alpha = tape_allocate(tape, cells + 2 * states + classes, sizeof *alpha);
        if (!alpha) return;
        double *beta = alpha + cells;
        forward_logs(tape, alpha, s);
        double likelihood = log_likelihood(tape, alpha, s);
        for (int64_t t = s->steps - 1; t >= 0; t--) {
            double *now = beta + (t % 2 ? states : 0), *after = beta + (t % 2 ? 0 : states);
            backward_logs(tape, now, after, s, t);
            residual_logs(tape, out, s, t, alpha, now, likelihood, beta + 2 * states);
        }
        return;
    }
    arb_ptr alpha = _arb_vec_init((slong)(cells + 2 * states + classes + 1)), beta = alpha + cells;
    arb_ptr likelihood = beta + 2 * states + classes;
    forward_balls(alpha, s);
    likelihood_ball(likelihood, alpha, s);
    for (int64_t t = s->steps - 1; t >= 0; t--) {
        arb_ptr now = beta + (t % 2 ? states : 0), after = beta + (t % 2 ? 0 : states);
        backward_balls(now, after, s, t);
        residual_balls(out, known, s, t, alpha, now, likelihood, beta + 2 * states);
    }
    _arb_vec_clear(alpha, (slong)(cells + 2 * states + classes + 1));
}

static void ctc_backward(struct tape *tape, struct node *node, struct node *cotangent)
{
    struct node *x = node->inputs[0];
    const struct ctc_samples *all = (const struct ctc_samples *)node->inputs[1]->parameters;
    struct known *known = known_new(tape, x->n);
    struct node *out =
        node_new(tape, &residual_primitive, x->dtype, x->rank, x->shape, 0, NULL, known);
    bool certify = node_need_errors(tape, out);
    if (tape_failed(tape)) return;
    memset(out->value, 0, x->n * sizeof *out->value);
    memset(known->lo, 0, x->n * sizeof *known->lo);
    memset(known->rest, 0, x->n * sizeof *known->rest);
    if (certify) memset(out->error, 0, x->n * sizeof *out->error);
    for (int64_t n = 0; n < all->batch && !tape_failed(tape); n++) {
        struct sample s = sample_of(all, x, n);
        bool impossible = isinf(node->value[n]);
        if (s.steps && !impossible) sample_residuals(tape, out, known, &s);
        double error = modelled_error(tape, &s, node->value[n]);
        for (int64_t t = 0; t < s.steps; t++)
            for (int64_t c = 0; c < all->classes; c++) {
                size_t at = (size_t)((t * all->batch + n) * all->classes + c);
                if (impossible && !all->zero_infinity) out->value[at] = NAN;
                if (!certify || !tape_is_model(tape) || impossible) continue;
                double p = exp(x->value[at]);
                out->error[at] = expm1(fmin(2 * error, 1)) * fabs(p - out->value[at]) +
                                 10 * tape->unit * p;
            }
    }
    int64_t shape[3] = { 1, all->batch, 1 };
    tape_accumulate(tape, x, node_multiply(tape, out, node_reshape(tape, cotangent, 3, shape)));
}

/* inputs: x, and a node that carries the samples (a primitive has one parameter). */
static const struct primitive ctc_primitive = { "CTC", ctc_backward, known_enclose, NULL };

static void sample_loss(struct tape *tape, struct node *out, struct known *known,
                        const struct sample *s)
{
    size_t cells = (size_t)(s->steps * s->states), at = (size_t)s->number;
    if (tape->arithmetic == BENCH_NATIVE) {
        double *alpha = tape_allocate(tape, cells, sizeof *alpha);
        if (!alpha) return;
        forward_logs(tape, alpha, s);
        out->value[at] = -log_likelihood(tape, alpha, s);
        return;
    }
    arb_ptr alpha = _arb_vec_init((slong)cells + 1), likelihood = alpha + cells;
    forward_balls(alpha, s);
    likelihood_ball(likelihood, alpha, s);
    if (arb_is_zero(likelihood)) {
        out->value[at] = INFINITY;
    } else {
        arb_log(likelihood, likelihood, PRECISION);
        arb_neg(likelihood, likelihood);
        known_set(out, known, at, likelihood);
    }
    _arb_vec_clear(alpha, (slong)cells + 1);
}

struct node *node_ctc(struct tape *tape, struct node *x, const struct ctc_samples *samples)
{
    (void)node_values(tape, x);
    struct known *known = known_new(tape, (size_t)samples->batch);
    struct node *carrier = node_new(tape, NULL, DT_NONE, 0, NULL, 0, NULL, samples);
    struct node *out = node_new(tape, &ctc_primitive, x->dtype, 1, &samples->batch, 2,
                                (struct node *[]){ x, carrier }, known);
    bool certify = node_need_errors(tape, out);
    for (int64_t n = 0; n < samples->batch && !tape_failed(tape); n++) {
        struct sample s = sample_of(samples, x, n);
        known->lo[n] = known->rest[n] = 0;
        if (certify) out->error[n] = 0;
        if (s.steps) sample_loss(tape, out, known, &s);
        else out->value[n] = s.states > 1 ? INFINITY : 0;
        if (certify && tape_is_model(tape) && isfinite(out->value[n]))
            out->error[n] = modelled_error(tape, &s, out->value[n]);
    }
    return out;
}
