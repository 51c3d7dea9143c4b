/* Softmax and its relatives as primitives over lines (one line: the elements along dim).
 *
 * The sum S' over all but the largest is a node of its own, so that balls of many elements of
 * a line share it. Bounds, with u the unit roundoff and exact inputs: a difference d = x - m is
 * off by u |d|, so exp(d) is off by (|d| + 2) u relative, at most (spread + 2) u where exp(d) > 0;
 * sums of positive terms keep that, TwoSum adds 2 u; log1p has condition number <= 1 for
 * arguments >= 0.
 * Inputs that are off by at most e per line move every softmax by at most expm1(2 e) relative
 * and every log_softmax by at most 2 e.
 */
#include "bench/primitives/softmax.h"
#include "bench/primitives/alias.h"

#include <math.h>
#include <string.h>

#include "bench/arithmetic/rounding.h"
#include "bench/arithmetic/vector_math.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/chain_rule.h"
#include "bench/primitives/lines.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/other_forms.h"
#include "bench/primitives/reduce.h"
#include "bench/primitives/softmax_gradient.h"
#include "bench/primitives/softmax_model.h"
#include "bench/primitives/unary.h"
#include "bench/tape/bounds.h"
#include "bench/tape/deviation.h"
#include "bench/tape/enclosure.h"
#include "core/kernel_modes.h"
#include "core/vectorize.h"

/* What the lines along `dim` have in common: parameters of the node of S'. */
struct exponentials {
    int dim;
    struct lines lines;
    size_t *top;   /* per line: position of the largest element, the first NaN before all */
    double spread; /* of all lines: largest |x - m| whose exponential is not 0; at most 746 */
    double *input; /* per line: largest bound of the inputs; NULL when they are exact */
    double *total; /* per line, in a model: relative error of a kernel's sum of exponentials */
};

/* x's shape with an extent of 1 along dim. */
static void shape_of_lines(int64_t *shape, const struct node *x, int dim)
{
    memcpy(shape, x->shape, sizeof x->shape);
    if (x->rank) shape[dim] = 1;
}

/* Relative error of S'. */
static double sum_error(const struct exponentials *l) { return (l->spread + 6) * UNIT_ROUNDOFF; }

/* ---- the sum of the others ----------------------------------------------------------------- */

static void others_enclose(struct enclosure *enclosure, void *ball, struct node *node, size_t line)
{
    const struct exponentials *l = node->parameters;
    struct node *x = node->inputs[0];
    arb_t largest, term;
    if (!l->lines.extent) {
        arb_zero(ball);
        return;
    }
    arb_init(largest);
    arb_init(term);
    enclosure_element(enclosure, largest, x, line_element(&l->lines, line, l->top[line]));
    enclosure->work += l->lines.extent; /* leaves count nothing, exponentials cost as much */
    arb_zero(ball);
    for (size_t k = 0; k < l->lines.extent && enclosure->work <= enclosure->limit; k++) {
        size_t at = line_element(&l->lines, line, k);
        if (k == l->top[line] || x->value[at] == -INFINITY) continue;
        enclosure_element(enclosure, term, x, at);
        arb_sub(term, term, largest, enclosure->precision);
        arb_exp(term, term, enclosure->precision);
        arb_add(ball, ball, term, enclosure->precision);
    }
    if (enclosure->work > enclosure->limit) arb_indeterminate(ball);
    arb_clear(largest);
    arb_clear(term);
}

static const struct primitive others_primitive = { "a sum of exponentials", NULL, others_enclose,
                                                   NULL };

enum { AT_ONCE = 16 };

/* The largest of n elements, -infinity of none. Returns whether all are numbers: otherwise it is none of them. */
VECTORIZED static bool largest_of(double *largest, const double *x, size_t n)
{
    double most[AT_ONCE];
    size_t k = 0, others = 0;
    for (size_t j = 0; j < AT_ONCE; j++) most[j] = -INFINITY;
    for (size_t i = 0; i < n; i++) others += x[i] != x[i];
    for (; k + AT_ONCE <= n; k += AT_ONCE)
        for (size_t j = 0; j < AT_ONCE; j++) most[j] = x[k + j] > most[j] ? x[k + j] : most[j];
    for (size_t j = 0; k < n; k++, j++) most[j] = x[k] > most[j] ? x[k] : most[j];
    for (size_t j = 1; j < AT_ONCE; j++) most[0] = most[j] > most[0] ? most[j] : most[0];
    *largest = most[0];
    return !others;
}

static size_t top_of_line(const struct exponentials *l, const double *x, size_t line)
{
    size_t best = 0, step = l->lines.step;
    const double *v = x + line_element(&l->lines, line, 0);
    double most;
    if (step == 1 && largest_of(&most, v, l->lines.extent)) {
        while (v[best] != most) best++;
        return best;
    }
    for (size_t k = 1; k < l->lines.extent && !isnan(v[best * step]); k++)
        if (isnan(v[k * step]) || v[k * step] > v[best * step]) best = k;
    return best;
}

/* exp(x - m) of a line's elements, `stride` apart, into `out` (one after the other). */
static void exponentiate(const struct tape *tape, double *out, const double *x, size_t n,
                         size_t stride, double m)
{
    bool single = tape_is_single(tape);
    for (size_t k = 0; k < n; k++) {
        double d = x[k * stride] - m;
        out[k] = single ? (float)d : d;
    }
    vector_exp(out, out, n);
    for (size_t k = 0; single && k < n; k++) out[k] = (float)out[k];
}

enum { LANES = 4 };

/* The sum of e but for e[top], by TwoSum in lanes, or in float. */
static double sum_but(const struct tape *tape, double *e, size_t n, size_t top)
{
    double sum[LANES] = { 0 }, low[LANES] = { 0 }, kept = e[top];
    if (deviation_sums(tape->deviation)) {
        struct accumulator all = { .deviation = tape->deviation };
        for (size_t k = 0; k < n; k++) accumulator_add(&all, e[k]);
        return accumulator_total(&all) - kept;
    }
    e[top] = 0;
    if (tape_is_single(tape)) {
        float total = 0;
        for (size_t k = 0; k < n; k++) total += (float)e[k];
        e[top] = kept;
        return total;
    }
    size_t k = 0;
    for (; k + LANES <= n; k += LANES)
        for (size_t j = 0; j < LANES; j++) {
            low[j] += two_sum(&sum[j], e[k + j]);
        }
    for (size_t j = 0; k < n; k++, j++) low[j] += two_sum(&sum[j], e[k]);
    e[top] = kept;
    return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((low[0] + low[1]) + (low[2] + low[3]));
}

/* How far the elements of a line, `step` apart, are from m, those whose exponential is not 0. */
VECTORIZED static double farthest(const double *x, size_t n, size_t step, double m)
{
    double far[AT_ONCE] = { 0 };
    size_t whole = n / AT_ONCE * AT_ONCE;
    for (size_t k = 0; k < whole; k += AT_ONCE)
        for (size_t j = 0; j < AT_ONCE; j++) {
            double d = m - x[(k + j) * step];
            far[j] = d <= 746 && d > far[j] ? d : far[j];
        }
    for (size_t k = whole; k < n; k++) {
        double d = m - x[k * step];
        far[0] = d <= 746 && d > far[0] ? d : far[0];
    }
    for (size_t j = 1; j < AT_ONCE; j++) far[0] = far[j] > far[0] ? far[j] : far[0];
    return far[0];
}

/* S' of one line, and its spread. `e` is room for exp(x - m) of its elements; with `out`, they are kept there. */
static double sum_of_others(const struct tape *tape, double *spread, double *out, double *e,
                            const struct exponentials *l, const double *x, size_t line)
{
    size_t first = line_element(&l->lines, line, 0);
    double m = x[line_element(&l->lines, line, l->top[line])];

    exponentiate(tape, e, x + first, l->lines.extent, l->lines.step, m);
    *spread = farthest(x + first, l->lines.extent, l->lines.step, m);
    for (size_t k = 0; out && l->lines.step > 1 && k < l->lines.extent; k++)
        out[first + k * l->lines.step] = e[k];
    return sum_but(tape, e, l->lines.extent, l->top[line]);
}

/* What a kernel's logarithm is off by, in roundoffs. */
static double logarithm_roundings(const struct tape *tape)
{
    return 2 * kernel_modes_ulps(tape->modes, "log", 3.5);
}

static void set_bounds_of_sums(struct node *node, const struct exponentials *l)
{
    for (size_t line = 0; line < node->n; line++) {
        double relative = l->total ? l->total[line] : sum_error(l);
        if (l->input)
            relative += l->input[line] < 0.25 ? expm1(2 * l->input[line]) * 1.01 : INFINITY;
        node->error[line] = relative * node->value[line] + (double)l->lines.extent * 0x1p-1073;
        if (!(node->error[line] >= 0)) node->error[line] = INFINITY;
    }
}

/* Work on the lines of x: the node that is made, with `sums` where those are known. */
struct line_work {
    struct tape *tape;
    struct node *node;
    const struct node *x, *sums;
    const struct exponentials *l;
    double *out, *spread; /* of sums_of_others */
};

/* In parts, each with room for a line. */
static void do_lines(const struct line_work *work,
                     void (*some)(void *context, size_t start, size_t count, void *scratch))
{
    const struct lines *lines = &work->l->lines;
    tape_parallel_lines(
        work->tape, &(struct parallel_lines){ lines->extent ? lines->count : 0, lines->extent,
                                              lines->extent * sizeof(double), some, (void *)work });
}

static double largest_input(const struct exponentials *l, const struct node *x, size_t line)
{
    double largest = 0;
    for (size_t k = 0; k < l->lines.extent; k++)
        largest = fmax(largest, node_error(x, line_element(&l->lines, line, k)));
    return largest;
}

/* Where the exponentials of a line are made. */
static double *line_room(const struct line_work *w, size_t line, double *room)
{
    const struct lines *lines = &w->l->lines;
    return w->out && lines->step == 1 ? w->out + line_element(lines, line, 0) : room;
}

static void sum_line(const struct line_work *w, size_t line, double *e)
{
    const struct exponentials *l = w->l;
    const double *x = w->x->value;
    l->top[line] = top_of_line(l, x, line);
    w->node->value[line] = sum_of_others(w->tape, &w->spread[line], w->out, e, l, x, line);
    if (l->input) l->input[line] = largest_input(l, w->x, line);
}

static void some_sums(void *context, size_t start, size_t count, void *room)
{
    const struct line_work *w = context;
    for (size_t line = start; line < start + count; line++)
        sum_line(w, line, line_room(w, line, room));
}

/* In a model, whose lines are summed side by side: with what a kernel's sums are off by. */
static void sum_modelled_lines(const struct line_work *w)
{
    struct tape *tape = w->tape;
    const struct exponentials *l = w->l;
    double *room = tape_allocate(tape, l->lines.extent, sizeof *room);
    struct exponential_lines modelled = { 0 };
    exponential_lines_open(&modelled, tape, l->lines.extent, w->node->n);
    for (size_t line = 0; line < w->node->n && !tape_failed(tape); line++) {
        double *e = line_room(w, line, room);
        const double *x = w->x->value + line_element(&l->lines, line, 0);
        sum_line(w, line, e);
        bool full =
            exponential_lines_add(&modelled, e, x, l->lines.step, x[l->top[line] * l->lines.step]);
        if (full || line + 1 == w->node->n) {
            size_t from = line + 1 - modelled.count;
            exponential_lines_total(l->total + from, &modelled);
        }
    }
}

/* S' of every line. */
static void sum_all_lines(struct tape *tape, struct node *node, double *out, struct exponentials *l,
                          const struct node *x)
{
    struct arena_mark before = arena_mark(tape->arena);
    double *spread = tape_allocate(tape, node->n, sizeof *spread);
    const struct line_work work = { tape, node, x, NULL, l, out, spread };
    if (!spread) return;
    if (l->total) sum_modelled_lines(&work);
    else do_lines(&work, some_sums);
    for (size_t line = 0; line < node->n && !tape_failed(tape); line++)
        l->spread = fmax(l->spread, spread[line]);
    arena_rewind(tape->arena, before);
}

/* The node of S' (dim kept with extent 1), its lines in `parameters`. With `out`, the
 * exponentials of all elements. */
static struct node *sums_of_others(struct tape *tape, struct node *x, int dim, double *out)
{
    int64_t shape[TENSOR_MAX_RANK];
    struct exponentials *l = tape_allocate(tape, 1, sizeof *l);

    (void)node_values(tape, x);
    if (tape_failed(tape)) return tape_failure(tape);
    *l = (struct exponentials){ .dim = dim, .lines = lines_along(x, dim) };
    shape_of_lines(shape, x, dim);
    struct node *node = node_new(tape, &others_primitive, x->dtype, x->rank, shape, 1, &x, l);
    node->tracked = false; /* the users pass the gradient on to x */
    l->top = tape_allocate(tape, node->n, sizeof *l->top);
    if (!node_is_exact(x)) l->input = tape_allocate(tape, node->n, sizeof *l->input);
    if (tape_is_model(tape)) l->total = tape_allocate(tape, node->n, sizeof *l->total);
    (void)node_need_errors(tape, node);
    if (tape_failed(tape)) return tape_failure(tape);
    for (size_t line = 0; l->input && line < node->n; line++) l->input[line] = 0;
    for (size_t line = 0; l->total && line < node->n; line++) l->total[line] = 0;
    if (l->lines.extent) sum_all_lines(tape, node, out, l, x);
    else memset(node->value, 0, node->n * sizeof *node->value);
    if (tape_failed(tape)) return tape_failure(tape);
    if (node->error) set_bounds_of_sums(node, l);
    model_stages(tape, node);
    return node;
}

/* The largest element of a line; without elements, -infinity. */
static double largest(const struct exponentials *l, const struct node *x, size_t line)
{
    return l->lines.extent ? x->value[line_element(&l->lines, line, l->top[line])] : -INFINITY;
}

/* ---- softmax ----------------------------------------------------------------------------------- */

static void softmax_enclose(struct enclosure *enclosure, void *ball, struct node *node, size_t i)
{
    const struct exponentials *l = node->parameters;
    struct node *x = node->inputs[0];
    size_t line = line_of(&l->lines, i);
    arb_t sum, top;
    if (x->value[i] == -INFINITY) {
        arb_zero(ball);
        return;
    }
    arb_init(sum);
    arb_init(top);
    enclosure_element(enclosure, sum, node->inputs[1], line);
    arb_add_ui(sum, sum, 1, enclosure->precision);
    enclosure_element(enclosure, top, x, line_element(&l->lines, line, l->top[line]));
    enclosure_element(enclosure, ball, x, i);
    arb_sub(ball, ball, top, enclosure->precision);
    arb_exp(ball, ball, enclosure->precision);
    arb_div(ball, ball, sum, enclosure->precision);
    arb_clear(sum);
    arb_clear(top);
}

static void softmax_backward(struct tape *tape, struct node *node, struct node *cotangent)
{
    const struct exponentials *l = node->parameters;
    const size_t *top = tape->from_outputs ? NULL : l->top; /* a stored y adds up to 1 only about */
    tape_accumulate(tape, node->inputs[0],
                    node_softmax_gradient(tape, node, cotangent, l->dim, top));
}

static const struct primitive softmax_primitive = { "softmax", softmax_backward, softmax_enclose,
                                                    NULL };

static void normalise_line(double *value, size_t n, size_t step, double total, double nan,
                           bool single)
{
    if (single)
        for (size_t k = 0; k < n; k++) value[k * step] = (float)(value[k * step] / total + nan);
    else
        for (size_t k = 0; k < n; k++) value[k * step] = value[k * step] / total + nan;
}

static void normalise_some(void *context, size_t start, size_t count, void *room)
{
    const struct line_work *w = context;
    const struct exponentials *l = w->l;
    (void)room;
    for (size_t line = start; line < start + count; line++) {
        double m = largest(l, w->x, line), total = tape_round(w->tape, 1 + w->sums->value[line]);
        normalise_line(w->node->value + line_element(&l->lines, line, 0), l->lines.extent,
                       l->lines.step, total, isfinite(m) ? 0 : NAN, tape_is_single(w->tape));
    }
}

/* What the error of a line's sum is of a kernel's exponential over it, with three roundings more. */
static double share_of_total(const struct tape *tape, double total)
{
    return tape_join(tape, total, (tape_is_typical(tape) ? 1 : 3) * tape->unit);
}

/* Bounds of a line, `step` apart: relative, with those of a kernel's exponentials of x - m in a model, and of inputs that
 * move all by `shift`. */
struct softmax_bounds {
    const struct exponential_model *model; /* or NULL */
    double m, relative, absolute, shift;
};

VECTORIZED static void bound_line(double *restrict error, const double *restrict value,
                                  const double *restrict x, const struct softmax_bounds *b,
                                  size_t n, size_t step)
{
    const struct exponential_model model = b->model ? *b->model : (struct exponential_model){ 0 };
    const double relative = b->relative, absolute = b->absolute, shift = b->shift, m = b->m;
    const bool open = shift == INFINITY;
    for (size_t k = 0, at = 0; k < n; k++, at += step) {
        double y = value[at], own = modelled_exponential(&model, x[at] - m);
        double sum = model.typical ? sqrt(relative * relative + own * own) : relative + own;
        double bound = open && y == 0 ? 1 : (sum + shift) * y + absolute;
        error[at] = bound < 1 ? bound : 1; /* both lie between 0 and 1 */
    }
}

static void bound_some(void *context, size_t start, size_t count, void *room)
{
    const struct line_work *w = context;
    const struct exponentials *l = w->l;
    const struct exponential_model model = exponential_model_of(w->tape);
    struct node *node = w->node;
    (void)room;
    for (size_t line = start; line < start + count; line++) {
        size_t first = line_element(&l->lines, line, 0);
        double e = l->input ? l->input[line] : 0;
        const struct softmax_bounds bounds = {
            .model = l->total ? &model : NULL,
            .m = largest(l, w->x, line),
            .relative = l->total ? share_of_total(w->tape, l->total[line]) : node->relative,
            .absolute = node->absolute,
            .shift = e < 0.25 ? 1.01 * expm1(2 * e) : INFINITY,
        };
        bound_line(node->error + first, node->value + first, w->x->value + first, &bounds,
                   l->lines.extent, l->lines.step);
    }
}

/* Softmax over lines whose sums are known, from the exponentials that `value` holds. */
static void normalise(struct tape *tape, struct node *node, const struct node *x,
                      const struct node *sums, const struct exponentials *l)
{
    const struct line_work work = { tape, node, x, sums, l, NULL, NULL };
    do_lines(&work, normalise_some);
    if (!tape_is_reference(tape)) return;
    node->relative = 2 * sum_error(l) + 8 * UNIT_ROUNDOFF;
    node->absolute = 4 * tape->tiny;
    if (!l->input && !l->total) return;
    if (node_need_errors(tape, node)) do_lines(&work, bound_some);
}

static void exponentiate_some(void *context, size_t start, size_t count, void *room)
{
    const struct line_work *w = context;
    const struct lines *lines = &w->l->lines;
    const double *e = room;
    for (size_t line = start; line < start + count; line++) {
        size_t first = line_element(lines, line, 0);
        exponentiate(w->tape, room, w->x->value + first, lines->extent, lines->step,
                     largest(w->l, w->x, line));
        for (size_t k = 0; k < lines->extent; k++) w->node->value[first + k * lines->step] = e[k];
    }
}

static struct node *softmax_over(struct tape *tape, struct node *x, struct node *sums)
{
    const struct exponentials *l = sums->parameters;
    struct node *node = node_new(tape, &softmax_primitive, x->dtype, x->rank, x->shape, 2,
                                 (struct node *[]){ x, sums }, l);
    if (tape_failed(tape)) return tape_failure(tape);
    do_lines(&(struct line_work){ tape, node, x, sums, l, NULL, NULL }, exponentiate_some);
    normalise(tape, node, x, sums, l);
    model_stages(tape, node);
    return node;
}

struct node *node_softmax(struct tape *tape, struct node *x, int dim)
{
    x = node_to_real(tape, x);
    if (tape_has_form(tape, FORM_NO_MAXIMUM)) return plain_softmax(tape, x, dim);
    struct node *inputs[2] = { x, x };
    struct node *node =
        node_new(tape, &softmax_primitive, x->dtype, x->rank, x->shape, 2, inputs, NULL);
    if (tape_failed(tape)) return tape_failure(tape);
    struct node *sums = sums_of_others(tape, x, dim, node->value);
    if (tape_failed(tape)) return tape_failure(tape);
    node->inputs[1] = sums;
    node->parameters = sums->parameters;
    normalise(tape, node, x, sums, sums->parameters);
    model_stages(tape, node);
    return node;
}

/* ---- log_softmax --------------------------------------------------------------------------------- */

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
    double function = logarithm_roundings(tape) / 4 * (d - y);
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
        double own = tape->unit * (fabs(d) + logarithm_roundings(tape) * fabs(d - y) + fabs(y)),
               staged = tape->stage * fabs(d);
        if (tape_is_typical(tape))
            return typical_log_softmax(tape, l->total[line], d, y) + staged / 2 + input;
        return own + staged + l->total[line] + input;
    }
    return (sum_error(l) + 4 * UNIT_ROUNDOFF) * fabs(y) + (double)l->lines.extent * 0x1p-1072 +
           input * (1 + 0x1p-40);
}

static void log_softmax_enclose(struct enclosure *enclosure, void *ball, struct node *node,
                                size_t i)
{
    log_softmax_ball(enclosure, ball, node->inputs[0], node->inputs[1], i);
}

/* c - softmax * sum(c) */
static void log_softmax_backward(struct tape *tape, struct node *node, struct node *cotangent)
{
    const struct exponentials *l = node->parameters;
    struct node *x = node->inputs[0];
    struct node *total = x->rank ? node_sum(tape, cotangent, 1u << l->dim, true) : cotangent;
    struct node *y = tape->from_outputs ? node_apply(tape, "exp", node)
                                        : softmax_over(tape, x, node->inputs[1]);
    y = node_model_error(tape, y, node_multiply(tape, y, node), 1); /* exp of the rounded output */
    tape_accumulate(tape, x, node_subtract(tape, cotangent, node_multiply(tape, y, total)));
}

static const struct primitive log_softmax_primitive = { "log_softmax", log_softmax_backward,
                                                        log_softmax_enclose, NULL };

static void some_log_softmax(void *context, size_t start, size_t count, void *room)
{
    const struct line_work *w = context;
    const struct exponentials *l = w->l;
    struct node *node = w->node;
    (void)room;
    for (size_t line = start; line < start + count; line++) {
        double m = largest(l, w->x, line), log = log_total(w->tape, m, w->sums->value[line]);
        for (size_t k = 0, at = line_element(&l->lines, line, 0); k < l->lines.extent;
             k++, at += l->lines.step) {
            double x = w->x->value[at];
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
    struct node *sums = sums_of_others(tape, x, dim, NULL);
    if (tape_failed(tape)) return tape_failure(tape);
    const struct exponentials *l = sums->parameters;
    struct node *node = node_new(tape, &log_softmax_primitive, x->dtype, x->rank, x->shape, 2,
                                 (struct node *[]){ x, sums }, l);
    if (tape_is_reference(tape)) {
        node->relative = sum_error(l) + 4 * UNIT_ROUNDOFF;
        node->absolute = (double)l->lines.extent * 0x1p-1072;
        if (l->input || l->total) (void)node_need_errors(tape, node);
    }
    do_lines(&(struct line_work){ tape, node, x, sums, l, NULL, NULL }, some_log_softmax);
    model_stages(tape, node);
    return node;
}

/* ---- logsumexp -------------------------------------------------------------------------------------- */

/* The error of m + log(total) in a kernel: that of the total, the function's, the sum's rounding. */
static double modelled_logsumexp(const struct tape *tape, double total, double log, double y)
{
    double function = tape->unit * logarithm_roundings(tape) * log, sum = tape->unit * fabs(y);
    if (!tape_is_typical(tape)) return total + function + sum;
    return sqrt(total * total + function * function / 16 + sum * sum / 3);
}

static void logsumexp_enclose(struct enclosure *enclosure, void *ball, struct node *node,
                              size_t line)
{
    const struct exponentials *l = node->parameters;
    arb_t top;
    arb_init(top);
    enclosure_element(enclosure, ball, node->inputs[1], line);
    arb_log1p(ball, ball, enclosure->precision);
    enclosure_element(enclosure, top, node->inputs[0], line_element(&l->lines, line, l->top[line]));
    arb_add(ball, ball, top, enclosure->precision);
    arb_clear(top);
}

static void logsumexp_backward(struct tape *tape, struct node *node, struct node *cotangent)
{
    struct node *x = node->inputs[0];
    struct node *y = tape->from_outputs ? node_apply(tape, "exp", node_subtract(tape, x, node))
                                        : softmax_over(tape, x, node->inputs[1]);
    y = node_model_error(tape, y, node_multiply(tape, y, node),
                         1); /* exp(x - the rounded output) */
    tape_accumulate(tape, x, node_multiply(tape, y, cotangent));
}

static const struct primitive logsumexp_primitive = { "logsumexp", logsumexp_backward,
                                                      logsumexp_enclose, NULL };

struct node *node_logsumexp(struct tape *tape, struct node *x, int dim)
{
    x = node_to_real(tape, x);
    if (tape_has_form(tape, FORM_NO_MAXIMUM)) return plain_logsumexp(tape, x, dim);
    struct node *sums = sums_of_others(tape, x, dim, NULL);
    if (tape_failed(tape)) return tape_failure(tape);
    const struct exponentials *l = sums->parameters;
    struct node *node = node_new(tape, &logsumexp_primitive, x->dtype, x->rank, sums->shape, 2,
                                 (struct node *[]){ x, sums }, l);
    (void)node_need_errors(tape, node);
    for (size_t line = 0; line < sums->n && !tape_failed(tape); line++) {
        double m = largest(l, x, line), log = tape_round(tape, scalar_log1p(sums->value[line]));
        double y = isfinite(m) ? tape_round(tape, m + log) : m;
        node->value[line] = y;
        if (!node->error) continue;
        double bound = (sum_error(l) + 4 * UNIT_ROUNDOFF) * log + UNIT_ROUNDOFF * fabs(y) +
                       (double)l->lines.extent * 0x1p-1072;
        if (l->total) bound = modelled_logsumexp(tape, l->total[line], log, y);
        if (l->input) bound += l->input[line];
        node->error[line] = isfinite(y) ? bound * (1 + 0x1p-40) : 0;
    }
    model_stages(tape, node);
    return node;
}

/* ---- log_softmax at one class ----------------------------------------------------------------------- */

/* c (softmax - [class is the target]), the gradient of -log_softmax_at, of one line. inputs: x, S', c;
 * parameters: the target node. */
struct residual_line {
    double m, total, others;        /* the largest element, 1 + S', S' */
    double of_sum, input, tiny;     /* relative bounds of softmax, and an absolute one */
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
        .m = largest(l, x, line),
        .total = 1 + sums->value[line],
        .others = sums->value[line],
        .of_sum = 2 * sum_error(l) + 8 * UNIT_ROUNDOFF,
        .input = input < 0.25 ? 1.01 * expm1(2 * input) : INFINITY,
        .tiny = (double)l->lines.extent * 0x1p-1072,
        .factor = c->value[line],
        .factor_error = node_error(c, line),
        .unit = tape->unit,
        .least = tape->tiny,
    };
    if (!l->total) return r;
    r.model = exponential_model_of(tape);
    r.log = scalar_log(r.total);
    double function = tape->unit * logarithm_roundings(tape) * r.log;
    r.of_sum = tape_join(tape, share_of_total(tape, l->total[line]),
                         r.model.typical ? function / 4 : function);
    return r;
}

/* Relative error of exp(d) / total; of a kernel's, or of exp(d - log(total)), the exponential of log_softmax as it was
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
    struct line_work lines;
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
        double m = largest(l, x, line), factor = r->c->value[line];
        double others = r->lines.sums->value[line], total = tape_round(tape, 1 + others);
        exponentiate(tape, e, x->value + first, l->lines.extent, l->lines.step, m);
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
    do_lines(&r->lines, some_uniform_residuals);
    for (size_t line = 0; line < r->lines.sums->n; line++) {
        double factor = fabs(r->c->value[line]);
        if (factor != 0) relative = fmax(relative, node_error(r->c, line) / factor);
        most = fmax(most, factor);
    }
    out->relative = (2 * sum_error(l) + 12 * UNIT_ROUNDOFF + relative) * (1 + 0x1p-20);
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
    const double *from = x->value + first;
    bool nothing = of.factor == 0 && of.factor_error == 0;
    if (nothing || !isfinite(of.m)) {
        for (size_t k = 0; k < n; k++) {
            value[k * step] = nothing ? 0 : NAN;
            error[k * step] = 0;
        }
        return;
    }
    exponentiate(r->lines.tape, e, from, n, step, of.m);
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
    const struct residuals residuals = { { tape, out, x, sums, l, NULL, NULL }, c, target };
    if (tape_failed(tape)) return;
    if (uniform) uniform_residuals(&residuals);
    else if (node_need_errors(tape, out)) do_lines(&residuals.lines, some_residuals);
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
    struct node *sums = sums_of_others(tape, x, dim, NULL);
    if (tape_failed(tape)) return tape_failure(tape);
    const struct exponentials *l = sums->parameters;
    struct node *node = node_new(tape, &at_class_primitive, x->dtype, x->rank, sums->shape, 2,
                                 (struct node *[]){ x, sums }, target);
    (void)node_need_errors(tape, node);
    for (size_t line = 0; line < sums->n && !tape_failed(tape); line++) {
        double v = x->value[line_element(&l->lines, line, (size_t)target->integer[line])];
        double m = largest(l, x, line), log = log_total(tape, m, sums->value[line]);
        node->value[line] = log_softmax_value(tape, v, m, log);
        if (node->error) node->error[line] = at_class_bound(tape, l, line, v, m, node->value[line]);
    }
    model_stages(tape, node);
    return node;
}
