/* The gradient of softmax, y_i (c_i - sum_k y_k c_k): an inner product for each line, and what is left of c.
 *
 * Kernels compute it so, and the models and the native arithmetic follow them. The reference of a y whose exact
 * lines add up to 1, with t the place of a line's largest element, is
 *     c_i - sum_k y_k c_k = (c_i - c_t) + D,   D = sum_k y_k (c_t - c_k), whose term t is 0.
 * Where one class has nearly all the weight, D is small and has the relative accuracy of its terms, and element t's
 * gradient y_t D with it; in c_t - sum c y all digits are lost by then.
 *
 * Its errors. Let c be the doubles and c* what they stand for, off by e_k at most. As a function of c the gradient is
 * linear, so that c* instead of c moves the second factor, c_i - sum_k y_k c_k, by at most e_i + e_t + E for i != t,
 * and for i = t, which c_t enters with 1 - y_t, by R e_t + E, where E = sum_(k != t) y_k e_k and
 * R = sum_(k != t) y_k. For c itself, d_k = fl(c_t - c_k) is off by u |d_k|, and D by Dot2's own error
 * (arithmetic/compensated.h) and sum (u y_k + the error of y_k) |d_k|.
 */
#include "bench/primitives/softmax_gradient.h"

#include <arb.h>
#include <math.h>
#include <string.h>

#include "bench/arithmetic/compensated.h"
#include "bench/arithmetic/rounding.h"
#include "bench/arithmetic/sum_spread.h"
#include "bench/primitives/lines.h"
#include "bench/tape/bounds.h"
#include "bench/tape/deviation.h"
#include "bench/tape/enclosure.h"

/* ---- inner products ------------------------------------------------------------------------------ */

static void dot_enclose(struct enclosure *enclosure, void *ball, struct node *node, size_t line)
{
    const struct lines *l = node->parameters;
    arb_t a, b;
    arb_init(a);
    arb_init(b);
    arb_zero(ball);
    enclosure->work += l->extent;
    for (size_t k = 0; k < l->extent && enclosure->work <= enclosure->limit; k++) {
        size_t at = line_element(l, line, k);
        enclosure_element(enclosure, a, node->inputs[0], at);
        enclosure_element(enclosure, b, node->inputs[1], at);
        arb_addmul(ball, a, b, enclosure->precision);
    }
    if (enclosure->work > enclosure->limit) arb_indeterminate(ball);
    arb_clear(a);
    arb_clear(b);
}

static const struct primitive dot_primitive = { "an inner product", NULL, dot_enclose, NULL };

/* One line's inner product. The bound: operands' errors, a rounding per product, TwoSum (a model's
 * kernel adds in any order). Typically the operands' errors are independent, and besides those of a line of softmax have that of its
 * sum in common: then they make |sum a e|. */
static double dot_line(double *bound, const struct tape *tape, double *term, const struct node *a,
                       const struct node *b, const struct lines *l, size_t line)
{
    double sum = 0, low = 0, size = 0, operands = 0, together[2] = { 0, 0 };
    struct accumulator deviating = { .deviation = tape->deviation };
    bool single = tape_is_single(tape), certify = tape_is_reference(tape),
         typical = tape_is_typical(tape), deviates = deviation_sums(tape->deviation);
    for (size_t k = 0, at = line_element(l, line, 0); k < l->extent; k++, at += l->step) {
        double product = a->value[at] * b->value[at];
        if (single) {
            sum = (float)(sum + (float)product);
            continue;
        }
        if (deviates) {
            accumulator_add(&deviating, product);
            continue;
        }
        low += two_sum(&sum, product);
        if (!certify) continue;
        double ea = node_error(a, at), eb = node_error(b, at);
        size += fabs(product);
        double e = ea * fabs(b->value[at]) + eb * (fabs(a->value[at]) + ea);
        operands += typical ? e * e : e;
        together[0] += ea * b->value[at];
        together[1] += eb * a->value[at];
        if (typical) term[k] = product;
    }
    if (deviates) return *bound = 0, accumulator_total(&deviating);
    double y = isfinite(sum) ? sum + low : sum;
    if (typical && isfinite(sum)) {
        double shared = hypot(together[0], together[1]);
        *bound = sqrt(operands + shared * shared) +
                 tape->unit * sqrt(operands > 0
                                       ? sum_spread_of_inexact(term, l->extent, true, !tape->wide)
                                       : sum_spread(term, l->extent, true, !tape->wide));
        return y;
    }
    double growth = tape_is_model(tape) ? tape_sum_growth(tape, l->extent) : 2;
    *bound = (operands + tape->unit * ((growth + 1) * size + fabs(y))) * (1 + 0x1p-20) +
             (double)l->extent * tape->tiny;
    return y;
}

/* ---- sums of differences from the top ---------------------------------------------------------- */

struct shifted {
    bool is_finite;            /* else the line is left to the usual form */
    double sum, bound;         /* D for c */
    double top, moved, others; /* e_t, E and R */
};

/* `weight` and `difference` are room for a line's y_k and d_k. */
static struct shifted shift_line(double *weight, double *difference, const struct node *y,
                                 const struct node *c, const struct lines *l, size_t line,
                                 size_t top)
{
    struct shifted s = { .top = node_error(c, top) };
    struct compensated sum = { 0 };
    double own = 0;
    for (size_t k = 0, at = line_element(l, line, 0); k < l->extent; k++, at += l->step) {
        double d = c->value[top] - c->value[at], e = node_error(y, at);
        weight[k] = y->value[at];
        difference[k] = d;
        own += (UNIT_ROUNDOFF * weight[k] + e) * fabs(d);
        if (at == top) continue;
        s.moved += (weight[k] + e) * node_error(c, at);
        s.others += weight[k] + e;
    }
    compensated_add_products(&sum, weight, difference, l->extent, false);
    if (!compensated_total(&s.sum, &s.bound, &sum)) return s;
    double growth = 1 + (double)(l->extent + 4) * 2 * UNIT_ROUNDOFF; /* roundings of the bounds */
    s.bound = (s.bound + own) * growth + (double)l->extent * 0x1p-1073;
    s.moved *= growth;
    s.others *= growth;
    s.is_finite = isfinite(s.bound + s.moved + s.others * s.top);
    return s;
}

/* sum c y, as what is left of c_t. */
static void set_shifted_product(struct node *mean, size_t line, const struct shifted *s, double ct)
{
    double t = ct - s->sum;
    double bound = s->bound + s->top + s->moved + UNIT_ROUNDOFF * fabs(t);
    mean->value[line] = t;
    mean->error[line] = tidy_bound(bound * (1 + 0x1p-40), t);
}

static void centre_shifted(struct node *out, const struct shifted *s, const struct node *y,
                           const struct node *c, const struct lines *l, size_t line, size_t top)
{
    const double unit = UNIT_ROUNDOFF;
    for (size_t k = 0, at = line_element(l, line, 0); k < l->extent; k++, at += l->step) {
        double d = c->value[top] - c->value[at], factor = s->sum - d, v = y->value[at] * factor;
        double input = at == top ? s->others * s->top : node_error(c, at) + s->top;
        double e = s->bound + unit * (fabs(d) + fabs(factor)) + input + s->moved;
        double bound = y->value[at] * e + node_error(y, at) * (fabs(factor) + e) + unit * fabs(v);
        out->value[at] = v;
        out->error[at] = tidy_bound(bound * (1 + 0x1p-40) + 0x1p-1074, v);
    }
}

/* The inner products of all lines; with `top`, `shifted` is set for each. */
static struct node *line_products(struct tape *tape, struct shifted *shifted, struct node *c,
                                  struct node *y, const struct lines *l, int dim, const size_t *top)
{
    int64_t shape[TENSOR_MAX_RANK];
    memcpy(shape, y->shape, sizeof shape);
    if (y->rank) shape[dim] = 1;
    struct node *node =
        node_new(tape, &dot_primitive, y->dtype, y->rank, shape, 2, (struct node *[]){ c, y }, l);
    double *room = tape_allocate(tape, 2 * l->extent, sizeof *room), ignored;
    (void)node_values(tape, c);
    (void)node_values(tape, y);
    (void)node_need_errors(tape, node);
    for (size_t line = 0; line < node->n && !tape_failed(tape); line++) {
        double *bound = node->error ? &node->error[line] : &ignored;
        if (!l->extent) {
            node->value[line] = *bound = 0;
            continue;
        }
        if (top) {
            size_t at = line_element(l, line, top[line]);
            shifted[line] = shift_line(room, room + l->extent, y, c, l, line, at);
            if (shifted[line].is_finite) {
                set_shifted_product(node, line, &shifted[line], c->value[at]);
                continue;
            }
        }
        node->value[line] = dot_line(bound, tape, room, c, y, l, line);
        *bound = tidy_bound(*bound, node->value[line]);
    }
    model_stages(tape, node);
    return node;
}

/* ---- the gradient -------------------------------------------------------------------------------- */

/* inputs: y, c, the inner products; parameters: lines. */
static void centred_enclose(struct enclosure *enclosure, void *ball, struct node *node, size_t i)
{
    arb_t factor;
    arb_init(factor);
    enclosure_element(enclosure, factor, node->inputs[2], line_of(node->parameters, i));
    enclosure_element(enclosure, ball, node->inputs[1], i);
    arb_sub(ball, ball, factor, enclosure->precision);
    enclosure_element(enclosure, factor, node->inputs[0], i);
    arb_mul(ball, ball, factor, enclosure->precision);
    arb_clear(factor);
}

static const struct primitive centred_primitive = { "a gradient of softmax", NULL, centred_enclose,
                                                    NULL };

static void centre_line(const struct tape *tape, struct node *out, const struct node *y,
                        const struct node *c, const struct node *mean, const struct lines *l,
                        size_t line)
{
    double t = mean->value[line], et = out->error ? node_error(mean, line) : 0, unit = tape->unit;
    for (size_t k = 0, at = line_element(l, line, 0); k < l->extent; k++, at += l->step) {
        double d = tape_round(tape, c->value[at] - t), v = tape_round(tape, y->value[at] * d);
        out->value[at] = v;
        if (!out->error) continue;
        double ed = node_error(c, at) + et + unit * fabs(d);
        double bound = fabs(y->value[at]) * ed + node_error(y, at) * (fabs(d) + ed) +
                       unit * fabs(v);
        bound = bound * (1 + 0x1p-40) + tape->tiny;
        out->error[at] = tidy_bound(bound, v);
    }
}

struct node *node_softmax_gradient(struct tape *tape, struct node *y, struct node *cotangent,
                                   int dim, const size_t *top)
{
    struct lines *l = tape_allocate(tape, 1, sizeof *l);
    struct shifted *shifted = NULL;
    if (tape_failed(tape)) return tape_failure(tape);
    *l = lines_along(y, dim);
    if (tape->arithmetic != BENCH_REFERENCE) top = NULL;
    if (top) shifted = tape_allocate(tape, l->count, sizeof *shifted);
    struct node *mean = line_products(tape, shifted, cotangent, y, l, dim, top);
    struct node *out = node_new(tape, &centred_primitive, y->dtype, y->rank, y->shape, 3,
                                (struct node *[]){ y, cotangent, mean }, l);
    (void)node_need_errors(tape, out);
    out->tracked = mean->tracked = false;
    for (size_t line = 0; line < mean->n && !tape_failed(tape) && l->extent; line++) {
        if (top && shifted[line].is_finite)
            centre_shifted(out, &shifted[line], y, cotangent, l, line,
                           line_element(l, line, top[line]));
        else centre_line(tape, out, y, cotangent, mean, l, line);
    }
    model_stages(tape, out);
    return out;
}
