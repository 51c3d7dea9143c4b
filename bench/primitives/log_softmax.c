/* log_softmax, of all elements and at one class for each line (the loss of cross entropy), from the sums of exponentials.h. Inputs
 * that are off by at most e per line move every value by at most 2 e.
 */
#include <math.h>
#include <string.h>

#include "bench/arithmetic/rounding.h"
#include "bench/arithmetic/vector_math.h"
#include "bench/primitives/alias.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/chain_rule.h"
#include "bench/primitives/composed_functions.h"
#include "bench/primitives/exponentials.h"
#include "bench/primitives/lines.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/other_forms.h"
#include "bench/primitives/reduce.h"
#include "bench/primitives/softmax.h"
#include "bench/primitives/softmax_model.h"
#include "bench/primitives/unary.h"
#include "bench/tape/bounds.h"
#include "bench/tape/enclosure.h"
#include "core/vectorize.h"

/* ---- all elements -------------------------------------------------------------------------------- */

static void log_softmax_ball(struct enclosure *enclosure, arb_ptr ball, struct node *x,
                             struct node *sums, size_t i)
{
    const struct exponentials *l = sums->parameters;
    size_t line = line_of(&l->lines, i);
    arb_t sum, top;
    arb_init(sum);
    arb_init(top);
    enclosure_element(enclosure, sum, sums, line);
    arb_log1p(sum, sum, enclosure->precision);
    enclosure_element(enclosure, top, x, line_element(&l->lines, line, l->top[line]));
    enclosure_element(enclosure, ball, x, i);
    arb_sub(ball, ball, top, enclosure->precision);
    arb_sub(ball, ball, sum, enclosure->precision);
    arb_clear(sum);
    arb_clear(top);
}

/* The logarithm of a line's total, less m; NaN where m is not finite. */
static double log_total(const struct tape *tape, double m, double others)
{
    return isfinite(m) ? tape_round(tape, scalar_log1p(others)) : NAN;
}

static double log_softmax_value(const struct tape *tape, double x, double m, double log)
{
    return tape_round(tape, tape_round(tape, x - m) - log);
}

/* d = x - m, log(sum) = d - y by a function, and their difference. */
static double typical_log_softmax(const struct tape *tape, double total, double d, double y)
{
    double function = modelled_logarithm(tape) / 4 * (d - y);
    double roundings = sqrt((d * d + y * y) / 3 + function * function);
    return hypot(total, tape->unit * roundings);
}

/* `d` is x - m; a kernel rounds it, and the logarithm is off by the sum's relative error. */
static double log_softmax_bound(const struct tape *tape, const struct exponentials *l, size_t line,
                                double d, double y)
{
    if (!isfinite(y)) return 0;
    double input = l->input ? 2 * l->input[line] : 0;
    if (l->total) {
        double own = tape->unit * (fabs(d) + modelled_logarithm(tape) * fabs(d - y) + fabs(y)),
               staged = tape->stage * fabs(d);
        if (tape_is_typical(tape))
            return typical_log_softmax(tape, l->total[line], d, y) + staged / 2 + input;
        return own + staged + l->total[line] + input;
    }
    return (exponentials_error(l) + 4 * UNIT_ROUNDOFF) * fabs(y) +
           (double)l->lines.extent * 0x1p-1072 + input * (1 + 0x1p-40);
}

static void log_softmax_enclose(struct enclosure *enclosure, void *ball, struct node *node,
                                size_t i)
{
    log_softmax_ball(enclosure, ball, node->inputs[0], node->inputs[1], i);
}

/* y = exp(stored), as gradients form it from results that were rounded: to the dtype of the stages by much more than to float. */
static struct node *with_error_of_stored(struct tape *tape, struct node *y, struct node *stored)
{
    if (!(tape->stage > 0)) return node_model_error(tape, y, node_multiply(tape, y, stored), 1);
    struct node *size = node_apply(tape, "abs", node_detach(tape, stored));
    struct node *more = node_apply(tape, "expm1", node_scale(tape, size, tape->stage));
    double share =
        tape_is_typical(tape)
            ? 2.4
            : 1; /* of which a quarter counts, and a rounding is 1 / sqrt 3 of its bound */
    return node_model_error(tape, y, node_multiply(tape, y, more), share / tape->unit);
}

/* c - softmax * sum(c) */
static void log_softmax_backward(struct tape *tape, struct node *node, struct node *cotangent)
{
    const struct exponentials *l = node->parameters;
    struct node *x = node->inputs[0];
    struct node *total = x->rank ? node_sum(tape, cotangent, 1u << l->dim, true) : cotangent;
    if (l->dim == x->rank - 1) tape_returned(tape, total); /* PyTorch has it in the dtype there */
    struct node *y = tape->from_outputs ? node_apply(tape, "exp", node)
                                        : node_softmax_of_sums(tape, x, node->inputs[1]);
    y = with_error_of_stored(tape, y, node);
    tape_accumulate(tape, x, node_subtract(tape, cotangent, node_multiply(tape, y, total)));
}

static const struct primitive log_softmax_primitive = { "log_softmax", log_softmax_backward,
                                                        log_softmax_enclose, NULL };

static void some_log_softmax(void *context, size_t start, size_t count, void *room)
{
    const struct exponential_work *w = context;
    const struct exponentials *l = w->l;
    struct node *node = w->node;
    for (size_t line = start; line < start + count; line++) {
        const double *v = line_values(w->x, &l->lines, line, room);
        double m = exponentials_largest(l, w->x, line),
               log = log_total(w->tape, m, w->sums->value[line]);
        for (size_t k = 0, at = line_element(&l->lines, line, 0); k < l->lines.extent;
             k++, at += l->lines.step) {
            double x = v[k * l->lines.step];
            node->value[at] = log_softmax_value(w->tape, x, m, log);
            if (node->error)
                node->error[at] = log_softmax_bound(w->tape, l, line, x - m, node->value[at]);
        }
    }
}

struct node *node_log_softmax(struct tape *tape, struct node *x, int dim)
{
    x = node_to_real(tape, x);
    if (tape_has_form(tape, FORM_NO_MAXIMUM)) return plain_log_softmax(tape, x, dim);
    if (tape_has_form(tape, FORM_LOG_OF_SOFTMAX))
        return node_apply(tape, "log", node_softmax(tape, x, dim));
    struct node *sums = exponentials_sum(tape, x, dim, NULL);
    if (tape_failed(tape)) return tape_failure(tape);
    const struct exponentials *l = sums->parameters;
    struct node *node = node_new(tape, &log_softmax_primitive, x->dtype, x->rank, x->shape, 2,
                                 (struct node *[]){ x, sums }, l);
    if (tape_is_reference(tape)) {
        node->relative = exponentials_error(l) + 4 * UNIT_ROUNDOFF;
        node->absolute = (double)l->lines.extent * 0x1p-1072;
        if (l->input || l->total) (void)node_need_errors(tape, node);
    }
    exponentials_each_line(&(struct exponential_work){ tape, node, x, sums, l }, some_log_softmax);
    model_stages(tape, node);
    if (!composes(tape)) return node;
    struct node *largest = exponentials_tops(tape, sums);
    struct node *steps = node_subtract(tape, node_subtract(tape, x, largest),
                                       plain_logsumexp(tape, node_subtract(tape, x, largest), dim));
    return node_as_steps(tape, node, steps, "log_softmax");
}

/* ---- one class for each line --------------------------------------------------------------------- */

/* c (softmax - [class is the target]), the gradient of -log_softmax_at, of one line. inputs: x, S', c;
 * parameters: the target node. */
struct residual_line {
    double m, total, others;        /* the largest element, 1 + S', S' */
    double of_sum, input, tiny;     /* relative bounds of softmax, and an absolute one: underflow */
    struct exponential_model model; /* and those of a kernel's exponential; 0 in references */
    double log;                     /* log(1 + S'), in models */
    double factor, factor_error, unit, least; /* c; the roundoff, what underflow loses */
};

static struct residual_line residual_line_of(const struct tape *tape, const struct exponentials *l,
                                             const struct node *x, const struct node *sums,
                                             const struct node *c, size_t line)
{
    double input = l->input ? l->input[line] : 0;
    struct residual_line r = {
        .m = exponentials_largest(l, x, line),
        .total = 1 + sums->value[line],
        .others = sums->value[line],
        .of_sum = 2 * exponentials_error(l) + 8 * UNIT_ROUNDOFF,
        .input = input < 0.25 ? 1.01 * expm1(2 * input) : INFINITY,
        .tiny = (double)l->lines.extent * 0x1p-1072 + (l->total ? 4 * tape->tiny : 0),
        .factor = c->value[line],
        .factor_error = node_error(c, line),
        .unit = tape->unit,
        .least = tape->tiny,
    };
    if (!l->total) return r;
    r.model = exponential_model_of(tape);
    r.log = scalar_log(r.total);
    double function = tape->unit * modelled_logarithm(tape) * r.log;
    r.of_sum = tape_join(tape, modelled_share_of_total(tape, l->total[line]),
                         r.model.typical ? function / 4 : function);
    return r;
}

/* Relative error of exp(d) / total (`tiny` besides: of a subnormal exponential a function that is good to 4 units may be off by 4 of
 * the smallest subnormals, before c multiplies them); of a kernel's, or of exp(d - log(total)), the exponential of log_softmax as it was
 * stored. */
static inline double relative_of(const struct residual_line *r,
                                 const struct exponential_model *model, double d)
{
    double own = modelled_exponential(model, d), fixed = r->of_sum;
    double stored = model->unit * fabs(d - r->log), typical = 0.6 * stored;
    double joined = sqrt(fixed * fixed + own * own + typical * typical);
    return (model->typical ? joined : fixed + own + stored) + r->input;
}

/* The bound of y = c v, from that of v. */
static inline double bound_of_product(const struct residual_line *r, double v, double bound,
                                      double y)
{
    double error = (fabs(v) + bound) * r->factor_error + fabs(r->factor) * bound +
                   r->unit * fabs(y) + r->least;
    return fabs(y) < INFINITY ? error * (1 + 0x1p-40) : 0;
}

/* Elements that are neither the largest nor of the target, from their exponentials. */
VECTORIZED static void residuals_of_line(double *restrict value, double *restrict error,
                                         const double *restrict e, const double *restrict x,
                                         const struct residual_line *line, size_t n, size_t step)
{
    const struct residual_line r = *line;
    const struct exponential_model model = r.model;
    for (size_t k = 0, at = 0; k < n; k++, at += step) {
        double p = e[k] / r.total, y = p * r.factor;
        double bound = relative_of(&r, &model, x[at] - r.m) * p + r.tiny;
        value[at] = y;
        error[at] = bound_of_product(&r, p, bound, y);
    }
}

/* The largest element or that of the target: for the largest one the difference is -S' / (1 + S'). A kernel forms p - 1
 * by subtraction. */
static void special_residual(double *value, double *error, const struct residual_line *r, double x,
                             bool is_largest, bool is_target)
{
    double d = x - r->m, relative = relative_of(r, &r->model, d), v, bound;
    bool subtracts = r->model.unit > 0 && is_target;
    if (is_largest) {
        v = is_target ? -r->others / r->total : 1 / r->total;
        bound = relative * (subtracts ? 1 / r->total + fabs(v) : fabs(v)) + r->tiny;
    } else {
        double p = scalar_exp(d) / r->total;
        v = is_target ? p - 1 : p;
        bound = relative * p + (is_target ? r->unit : 0) + r->tiny;
    }
    *value = v * r->factor;
    *error = bound_of_product(r, v, bound, *value);
}

static void residual_enclose(struct enclosure *enclosure, void *ball, struct node *node, size_t i)
{
    struct node *x = node->inputs[0], *sums = node->inputs[1];
    const struct exponentials *l = sums->parameters;
    const struct node *target = node->parameters;
    size_t line = line_of(&l->lines, i);
    arb_t c;
    arb_init(c);
    log_softmax_ball(enclosure, ball, x, sums, i);
    if (target->integer[line] == (int64_t)line_position(&l->lines, i))
        arb_expm1(ball, ball, enclosure->precision);
    else arb_exp(ball, ball, enclosure->precision);
    enclosure_element(enclosure, c, node->inputs[2], line);
    arb_mul(ball, ball, c, enclosure->precision);
    arb_clear(c);
}

static const struct primitive residual_primitive = { "a residual of softmax", NULL,
                                                     residual_enclose, NULL };

/* The gradient of log_softmax_at: x, S' and c with the target of each line. */
struct residuals {
    struct exponential_work lines;
    const struct node *c, *target;
};

static void some_uniform_residuals(void *context, size_t start, size_t count, void *room)
{
    const struct residuals *r = context;
    const struct tape *tape = r->lines.tape;
    const struct exponentials *l = r->lines.l;
    const struct node *x = r->lines.x;
    double *e = room;
    for (size_t line = start; line < start + count; line++) {
        size_t first = line_element(&l->lines, line, 0), t = (size_t)r->target->integer[line];
        double m = exponentials_largest(l, x, line), factor = r->c->value[line];
        double others = r->lines.sums->value[line], total = tape_round(tape, 1 + others);
        exponentials_of(tape, e, line_values(x, &l->lines, line, e + l->lines.extent),
                        l->lines.extent, l->lines.step, m);
        for (size_t k = 0; k < l->lines.extent; k++) e[k] = tape_round(tape, e[k] / total);
        e[t] = tape_is_single(tape) ? (float)(e[t] - 1)
               : t == l->top[line]  ? -others / total
                                    : e[t] - 1;
        double nan = isfinite(m) ? 0 : NAN, *out = r->lines.node->value + first;
        for (size_t k = 0; k < l->lines.extent; k++)
            out[k * l->lines.step] = factor == 0 ? 0 : tape_round(tape, e[k] * factor) + nan;
    }
}

/* Exact inputs: all elements have one relative bound, since for the target too the difference has
 * one: -S' / (1 + S') where it is the largest, else p - 1 with p <= 1/2. */
static void uniform_residuals(const struct residuals *r)
{
    const struct exponentials *l = r->lines.l;
    struct node *out = r->lines.node;
    double relative = 0, most = 0;
    exponentials_each_line(&r->lines, some_uniform_residuals);
    for (size_t line = 0; line < r->lines.sums->n; line++) {
        double factor = fabs(r->c->value[line]);
        if (factor != 0) relative = fmax(relative, node_error(r->c, line) / factor);
        most = fmax(most, factor);
    }
    out->relative = (2 * exponentials_error(l) + 12 * UNIT_ROUNDOFF + relative) * (1 + 0x1p-20);
    out->absolute = (1 + most) * (double)(l->lines.extent + 2) * 0x1p-1070;
}

/* Each element with its bound; arithmetics with bounds. */
static void residuals_with_bounds(const struct residuals *r, size_t line, double *e)
{
    const struct exponentials *l = r->lines.l;
    const struct node *x = r->lines.x;
    const size_t n = l->lines.extent, step = l->lines.step,
                 first = line_element(&l->lines, line, 0);
    const struct residual_line of =
        residual_line_of(r->lines.tape, l, x, r->lines.sums, r->c, line);
    size_t top = l->top[line], class = (size_t)r->target->integer[line];
    double *value = r->lines.node->value + first, *error = r->lines.node->error + first;
    const double *from = line_values(x, &l->lines, line, e + n);
    bool nothing = of.factor == 0 && of.factor_error == 0;
    if (nothing || !isfinite(of.m)) {
        for (size_t k = 0; k < n; k++) {
            value[k * step] = nothing ? 0 : NAN;
            error[k * step] = 0;
        }
        return;
    }
    exponentials_of(r->lines.tape, e, from, n, step, of.m);
    residuals_of_line(value, error, e, from, &of, n, step);
    special_residual(value + top * step, error + top * step, &of, from[top * step], true,
                     top == class);
    if (class != top && class < n)
        special_residual(value + class * step, error + class * step, &of, from[class * step], false,
                         true);
}

static void some_residuals(void *context, size_t start, size_t count, void *room)
{
    for (size_t line = start; line < start + count; line++)
        residuals_with_bounds(context, line, room);
}

/* The same of frameworks that keep log_softmax as a tensor: its exponentials less one at the class. */
static struct node *residual_of_stored(struct tape *tape, struct node *x, int dim,
                                       const struct node *target, struct node *c)
{
    int64_t shape[TENSOR_MAX_RANK];
    struct node *y = node_apply(tape, "exp", node_log_softmax(tape, x, dim));
    struct node *class = node_new_real(tape, DT_NONE, x->rank, x->shape);
    memcpy(shape, x->shape, (size_t)x->rank * sizeof *shape);
    if (x->rank) shape[dim] = 1;
    if (tape_failed(tape)) return tape_failure(tape);
    const struct lines lines = lines_along(x, dim);
    for (size_t i = 0; i < class->n; i++)
        class->value[i] = target->integer[line_of(&lines, i)] == (int64_t)line_position(&lines, i);
    return node_multiply(tape, node_subtract(tape, y, class),
                         node_reshape(tape, c, x->rank, shape));
}

static void at_class_backward(struct tape *tape, struct node *node, struct node *cotangent)
{
    struct node *x = node->inputs[0], *sums = node->inputs[1];
    const struct node *target = node->parameters;
    const struct exponentials *l = sums->parameters;
    struct node *c = node_negate(tape, cotangent);
    if (tape->from_outputs && tape->deviation) {
        tape_accumulate(tape, x, residual_of_stored(tape, x, l->dim, target, c));
        return;
    }
    struct node *out = node_new(tape, &residual_primitive, x->dtype, x->rank, x->shape, 3,
                                (struct node *[]){ x, sums, c }, target);
    bool uniform = !l->input && !l->total;
    for (size_t line = 0; line < sums->n && !tape_failed(tape); line++)
        uniform = uniform && !(c->value[line] == 0 && node_error(c, line) > 0);
    const struct residuals residuals = { { tape, out, x, sums, l }, c, target };
    if (tape_failed(tape)) return;
    if (uniform) uniform_residuals(&residuals);
    else if (node_need_errors(tape, out)) exponentials_each_line(&residuals.lines, some_residuals);
    tape_accumulate(tape, x, out);
}

static void at_class_enclose(struct enclosure *enclosure, void *ball, struct node *node,
                             size_t line)
{
    const struct node *target = node->parameters;
    const struct exponentials *l = node->inputs[1]->parameters;
    log_softmax_ball(enclosure, ball, node->inputs[0], node->inputs[1],
                     line_element(&l->lines, line, (size_t)target->integer[line]));
}

static const struct primitive at_class_primitive = { "log_softmax at a class", at_class_backward,
                                                     at_class_enclose, NULL };

/* A kernel of cross entropy may keep no log_softmax, and subtract x from its rounded logsumexp, x - y. */
static double at_class_bound(const struct tape *tape, const struct exponentials *l, size_t line,
                             double x, double m, double y)
{
    double bound = log_softmax_bound(tape, l, line, x - m, y);
    if (!l->total || !isfinite(y)) return bound;
    return tape_join(tape, bound, tape->unit * fabs(x - y) * (tape_is_typical(tape) ? 0.6 : 1));
}

struct node *node_log_softmax_at(struct tape *tape, struct node *x, int dim, struct node *target)
{
    x = node_to_real(tape, x);
    struct node *sums = exponentials_sum(tape, x, dim, NULL);
    if (tape_failed(tape)) return tape_failure(tape);
    const struct exponentials *l = sums->parameters;
    struct node *node = node_new(tape, &at_class_primitive, x->dtype, x->rank, sums->shape, 2,
                                 (struct node *[]){ x, sums }, target);
    (void)node_need_errors(tape, node);
    for (size_t line = 0; line < sums->n && !tape_failed(tape); line++) {
        double v = node_value_at(x, line_element(&l->lines, line, (size_t)target->integer[line]));
        double m = exponentials_largest(l, x, line), log = log_total(tape, m, sums->value[line]);
        node->value[line] = log_softmax_value(tape, v, m, log);
        if (node->error) node->error[line] = at_class_bound(tape, l, line, v, m, node->value[line]);
    }
    model_stages(tape, node);
    return node;
}
