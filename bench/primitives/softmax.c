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
#include "bench/arithmetic/sum_spread.h"
#include "bench/arithmetic/vector_math.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/chain_rule.h"
#include "bench/primitives/lines.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/other_forms.h"
#include "bench/primitives/reduce.h"
#include "bench/primitives/softmax_gradient.h"
#include "bench/primitives/unary.h"
#include "bench/tape/bounds.h"
#include "bench/tape/deviation.h"
#include "bench/tape/enclosure.h"
#include "core/kernel_modes.h"

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

static size_t top_of_line(const struct exponentials *l, const double *x, size_t line)
{
    size_t best = 0;
    for (size_t k = 1; k < l->lines.extent; k++) {
        double have = x[line_element(&l->lines, line, best)],
               v = x[line_element(&l->lines, line, k)];
        if (isnan(have)) break;
        if (isnan(v) || v > have) best = k;
    }
    return best;
}

/* exp(x - m) of a line's elements, `stride` apart, into `out` (one after the other). */
static void exponentiate(struct tape *tape, double *out, const double *x, size_t n, size_t stride,
                         double m)
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

/* S' of one line. `line` is room for one; with `out`, exp(x - m) of every element is kept there. */
static double sum_of_others(struct tape *tape, double *out, double *room, struct exponentials *l,
                            const double *x, size_t line)
{
    size_t first = line_element(&l->lines, line, 0);
    double m = x[line_element(&l->lines, line, l->top[line])], least = 0;
    double *e = out && l->lines.step == 1 ? out + first : room;

    exponentiate(tape, e, x + first, l->lines.extent, l->lines.step, m);
    for (size_t k = 0; k < l->lines.extent; k++) { /* spread: the least d with exp(d) > 0 */
        double d = x[first + k * l->lines.step] - m;
        if (d >= -746 && d < least) least = d;
    }
    if (-least > l->spread) l->spread = -least;
    for (size_t k = 0; out && l->lines.step > 1 && k < l->lines.extent; k++)
        out[first + k * l->lines.step] = e[k];
    return sum_but(tape, e, l->lines.extent, l->top[line]);
}

/* What a kernel's logarithm is off by, in roundoffs. */
static double logarithm_roundings(const struct tape *tape)
{
    return 2 * kernel_modes_ulps(tape->modes, "log", 3.5);
}

/* Relative error of exp(d) in a kernel: the rounding of d, and a library function, typically a quarter; typically d is off by
 * half of what it is off by at most. A kernel that rounds between its steps rounds d and the exponential. */
static double modelled_exponential(const struct tape *tape, double d)
{
    double size = fmin(fabs(d), 110), staged = tape->stage * (1 + size);
    double own = 2 * kernel_modes_ulps(tape->modes, "exp", 3.5);
    if (d == 0) return 0; /* exp(0) is 1 everywhere */
    if (tape_is_typical(tape)) return tape->unit * hypot(own / 4, size / 2) + staged / 2;
    return tape->unit * (own + size) + staged;
}

/* The errors of a sum's terms, added up. Typically they are independent but for a quarter, what a function may be off by in the
 * mean, and but for equal terms, whose errors are equal: those of a slot, by the bits of d, count as one. */
enum { SLOTS = 64 };
struct carried_errors {
    double all, slot[SLOTS];
};

static void carry(struct carried_errors *carried, double d, double error)
{
    uint64_t bits;
    memcpy(&bits, &d, sizeof bits);
    carried->all += error;
    carried->slot[bits * UINT64_C(0x9e3779b97f4a7c15) >> 58] += error;
}

static double carried_error(const struct tape *tape, const struct carried_errors *carried)
{
    double squares = carried->all * carried->all / 16;
    if (!tape_is_typical(tape)) return carried->all;
    for (int k = 0; k < SLOTS; k++) squares += carried->slot[k] * carried->slot[k];
    return fmin(sqrt(squares), carried->all);
}

/* Relative error of a kernel's sum over a line: the roundings of the sum, and the weighted mean of
 * its exponentials' errors. `term` is room for a line. */
static double modelled_total(const struct tape *tape, double *term, const struct exponentials *l,
                             const struct node *x, size_t line)
{
    double m = x->value[line_element(&l->lines, line, l->top[line])], sum = 0;
    struct carried_errors carried = { 0 };
    for (size_t k = 0; k < l->lines.extent; k++) {
        double d = x->value[line_element(&l->lines, line, k)] - m;
        term[k] = scalar_exp(d);
        if (!(term[k] > 0)) continue;
        sum += term[k];
        carry(&carried, d, term[k] * modelled_exponential(tape, d));
    }
    if (!(sum > 0)) return 0;
    double own = tape_sum_growth(tape, l->lines.extent);
    if (carried.all == 0 && sum_is_exact(term, l->lines.extent, tape->wide ? 53 : 24)) return 0;
    if (tape_is_typical(tape) && isfinite(sum))
        own = sqrt(sum_spread_of_inexact(term, l->lines.extent, false, !tape->wide)) / sum;
    return tape_join(tape, carried_error(tape, &carried) / sum, own * tape->unit);
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
    double *room = tape_allocate(tape, l->lines.extent, sizeof *room);
    if (!node_is_exact(x)) l->input = tape_allocate(tape, node->n, sizeof *l->input);
    if (tape_is_model(tape)) l->total = tape_allocate(tape, node->n, sizeof *l->total);
    (void)node_need_errors(tape, node);
    if (tape_failed(tape)) return tape_failure(tape);
    for (size_t line = 0; line < node->n; line++) {
        l->top[line] = top_of_line(l, x->value, line);
        node->value[line] = l->lines.extent ? sum_of_others(tape, out, room, l, x->value, line) : 0;
        if (l->total) l->total[line] = l->lines.extent ? modelled_total(tape, room, l, x, line) : 0;
        if (!l->input) continue;
        l->input[line] = 0;
        for (size_t k = 0; k < l->lines.extent; k++)
            l->input[line] = fmax(l->input[line], node_error(x, line_element(&l->lines, line, k)));
    }
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

/* Relative error of a kernel's exponential over the sum, from theirs: three roundings more. */
static double modelled_share(const struct tape *tape, double total, double exponential)
{
    double roundings = (tape_is_typical(tape) ? 1 : 3) * tape->unit;
    return tape_join(tape, tape_join(tape, total, exponential), roundings);
}

/* Softmax over lines whose sums are known, from the exponentials that `value` holds. */
static void normalise(struct tape *tape, struct node *node, const struct node *x,
                      const struct node *sums, const struct exponentials *l)
{
    bool single = tape_is_single(tape);
    for (size_t line = 0; line < sums->n; line++) {
        double m = largest(l, x, line), total = tape_round(tape, 1 + sums->value[line]);
        double *value = node->value + line_element(&l->lines, line, 0), nan = isfinite(m) ? 0 : NAN;
        if (single)
            for (size_t k = 0; k < l->lines.extent; k++)
                value[k * l->lines.step] = (float)(value[k * l->lines.step] / total + nan);
        else
            for (size_t k = 0; k < l->lines.extent; k++)
                value[k * l->lines.step] = value[k * l->lines.step] / total + nan;
    }
    if (!tape_is_reference(tape)) return;
    node->relative = 2 * sum_error(l) + 8 * UNIT_ROUNDOFF;
    node->absolute = 4 * tape->tiny;
    if (!l->input && !l->total) return;
    double relative = node->relative, absolute = node->absolute;
    if (!node_need_errors(tape, node)) return;
    for (size_t i = 0; i < node->n; i++) {
        size_t line = line_of(&l->lines, i);
        double e = l->input ? l->input[line] : 0;
        if (l->total)
            relative =
                modelled_share(tape, l->total[line],
                               modelled_exponential(tape, x->value[i] - largest(l, x, line)));
        double shift = e < 0.25 ? 1.01 * expm1(2 * e) : INFINITY;
        double bound = node->value[i] == 0 && shift == INFINITY
                           ? 1
                           : (relative + shift) * node->value[i] + absolute;
        node->error[i] = fmin(bound, 1); /* both lie between 0 and 1 */
    }
}

static struct node *softmax_over(struct tape *tape, struct node *x, struct node *sums)
{
    const struct exponentials *l = sums->parameters;
    struct node *node = node_new(tape, &softmax_primitive, x->dtype, x->rank, x->shape, 2,
                                 (struct node *[]){ x, sums }, l);
    double *room = tape_allocate(tape, l->lines.extent, sizeof *room);
    if (tape_failed(tape)) return tape_failure(tape);
    for (size_t line = 0; line < sums->n && l->lines.extent; line++) {
        size_t first = line_element(&l->lines, line, 0);
        exponentiate(tape, room, x->value + first, l->lines.extent, l->lines.step,
                     largest(l, x, line));
        for (size_t k = 0; k < l->lines.extent; k++)
            node->value[first + k * l->lines.step] = room[k];
    }
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
    for (size_t line = 0; line < sums->n && !tape_failed(tape) && l->lines.extent; line++) {
        double m = largest(l, x, line), log = log_total(tape, m, sums->value[line]);
        for (size_t k = 0, at = line_element(&l->lines, line, 0); k < l->lines.extent;
             k++, at += l->lines.step) {
            node->value[at] = log_softmax_value(tape, x->value[at], m, log);
            if (node->error)
                node->error[at] =
                    log_softmax_bound(tape, l, line, x->value[at] - m, node->value[at]);
        }
    }
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

/* Relative error of a kernel's exp(d) / total, or of exp(d - log(total)), the exponential of log_softmax as it was stored. */
static double modelled_residual(const struct tape *tape, double total_error, double d, double total)
{
    double share = modelled_share(tape, total_error, modelled_exponential(tape, d));
    double log = scalar_log(total), function = logarithm_roundings(tape) * log;
    double of_log = tape_is_typical(tape) ? function / 4 : function;
    double rounding = fabs(d - log) * (tape_is_typical(tape) ? 0.6 : 1);
    return tape_join(tape, share, tape->unit * tape_join(tape, of_log, rounding));
}

/* c (softmax - [class is the target]), the gradient of -log_softmax_at. inputs: x, S', c;
 * parameters: the target node. For the largest element the difference is -S' / (1 + S'). */
static double residual_value(double *bound, const struct tape *tape, const struct exponentials *l,
                             const struct node *x, const struct node *sums, size_t line, size_t k,
                             bool is_target)
{
    double m = largest(l, x, line), others = sums->value[line], total = 1 + others;
    double input = l->input ? l->input[line] : 0;
    double relative = 2 * sum_error(l) + 8 * UNIT_ROUNDOFF +
                      (input < 0.25 ? 1.01 * expm1(2 * input) : INFINITY);
    double tiny = (double)l->lines.extent * 0x1p-1072, y;
    if (!isfinite(m)) {
        *bound = 0;
        return NAN;
    }
    double d = x->value[line_element(&l->lines, line, k)] - m;
    if (l->total) /* a kernel forms p - 1 by subtraction */
        relative = modelled_residual(tape, l->total[line], d, total) +
                   (input < 0.25 ? 1.01 * expm1(2 * input) : INFINITY);
    if (k == l->top[line]) {
        y = is_target ? -others / total : 1 / total;
        *bound = relative * (l->total && is_target ? 1 / total + fabs(y) : fabs(y)) + tiny;
        return y;
    }
    double p = scalar_exp(d) / total;
    y = is_target ? p - 1 : p;
    *bound = relative * p + (is_target ? tape->unit : 0) + tiny;
    return y;
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

/* Exact inputs: all elements have one relative bound, since for the target too the difference has
 * one: -S' / (1 + S') where it is the largest, else p - 1 with p <= 1/2. */
static void uniform_residuals(struct tape *tape, struct node *out, const struct node *x,
                              const struct node *sums, const struct node *c,
                              const struct node *target)
{
    const struct exponentials *l = sums->parameters;
    double *e = tape_allocate(tape, l->lines.extent, sizeof *e), relative = 0, most = 0;
    for (size_t line = 0; line < sums->n && !tape_failed(tape); line++) {
        size_t first = line_element(&l->lines, line, 0), t = (size_t)target->integer[line];
        double m = largest(l, x, line), factor = c->value[line];
        double others = sums->value[line], total = tape_round(tape, 1 + others);
        exponentiate(tape, e, x->value + first, l->lines.extent, l->lines.step, m);
        for (size_t k = 0; k < l->lines.extent; k++) e[k] = tape_round(tape, e[k] / total);
        e[t] = tape_is_single(tape) ? (float)(e[t] - 1)
               : t == l->top[line]  ? -others / total
                                    : e[t] - 1;
        double nan = isfinite(m) ? 0 : NAN;
        for (size_t k = 0; k < l->lines.extent; k++)
            out->value[first + k * l->lines.step] =
                factor == 0 ? 0 : tape_round(tape, e[k] * factor) + nan;
        if (factor != 0) relative = fmax(relative, node_error(c, line) / fabs(factor));
        most = fmax(most, fabs(factor));
    }
    out->relative = (2 * sum_error(l) + 12 * UNIT_ROUNDOFF + relative) * (1 + 0x1p-20);
    out->absolute = (1 + most) * (double)(l->lines.extent + 2) * 0x1p-1070;
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
    if (uniform) {
        uniform_residuals(tape, out, x, sums, c, target);
        tape_accumulate(tape, x, out);
        return;
    }
    (void)node_need_errors(tape, out);
    for (size_t line = 0; line < sums->n && !tape_failed(tape); line++) {
        double factor = c->value[line], factor_error = node_error(c, line);
        bool nothing = factor == 0 && factor_error == 0;
        for (size_t k = 0; k < l->lines.extent; k++) {
            size_t at = line_element(&l->lines, line, k);
            double bound;
            double r = residual_value(&bound, tape, l, x, sums, line, k,
                                      target->integer[line] == (int64_t)k);
            double y = nothing ? 0 : r * factor;
            out->value[at] = y;
            bound = (fabs(r) + bound) * factor_error + fabs(factor) * bound + tape->unit * fabs(y) +
                    tape->tiny;
            if (out->error) out->error[at] = !isfinite(y) || nothing ? 0 : bound * (1 + 0x1p-40);
        }
    }
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
        if (node->error)
            node->error[line] = log_softmax_bound(tape, l, line, v - m, node->value[line]);
    }
    model_stages(tape, node);
    return node;
}
