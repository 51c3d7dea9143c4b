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
#include "core/vectorize.h"

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

/* The bound on element `at`, whose value is v; a node that is not read is exact. */
static inline double line_error(const struct node *node, size_t at, double v)
{
    double e = node->error ? node->error[at] : node->relative * fabs(v) + node->absolute;
    return fabs(v) < INFINITY ? e : 0;
}

/* One line's inner product, but for models; `v` are the elements of a, from the line's first one on. The bound: operands' errors,
 * a rounding per product, TwoSum. */
static double dot_line(double *bound, const struct tape *tape, const struct node *a,
                       const double *v, const struct node *b, const struct lines *l, size_t line)
{
    double sum = 0, low = 0, size = 0, operands = 0;
    struct accumulator deviating = { .deviation = tape->deviation };
    bool single = tape_is_single(tape), certify = tape_is_reference(tape),
         deviates = deviation_sums(tape->deviation);
    for (size_t k = 0, at = line_element(l, line, 0); k < l->extent; k++, at += l->step) {
        double x = v[k * l->step], product = x * b->value[at];
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
        double ea = line_error(a, at, x), eb = node_error(b, at);
        size += fabs(product);
        operands += ea * fabs(b->value[at]) + eb * (fabs(x) + ea);
    }
    if (deviates) return *bound = 0, accumulator_total(&deviating);
    double y = isfinite(sum) ? sum + low : sum;
    *bound = (operands + tape->unit * (3 * size + fabs(y))) * (1 + 0x1p-20) +
             (double)l->extent * tape->tiny;
    return y;
}

/* ---- the same in models ---------------------------------------------------------------------------- */

/* Lines are summed side by side, as in bench/arithmetic/sum_spread.h; so many terms fit into a cache of their own. */
enum { WIDTH = SUM_SPREAD_LINES, MOST_TERMS = 1 << 13, LEAST_LINES = 4 };

/* Sums of products by TwoSum, of their magnitudes, and of the errors of the operands, in typical models of the squares.
 * Typically the operands' errors are independent; besides, those of a line of softmax have that of its sum in common:
 * then they make |sum a e|, which is kept for either operand. */
struct product_sums {
    double sum[WIDTH], low[WIDTH], size[WIDTH], operands[WIDTH], together[2][WIDTH];
};

static inline double finite_error(const struct node *x, const double *error, size_t at)
{
    double size = fabs(x->value[at]);
    double e = x->error ? error[at] : x->relative * size + x->absolute;
    return size < INFINITY ? e : 0;
}

static inline __attribute__((always_inline)) void add_up(struct product_sums *restrict s,
                                                         double *restrict term,
                                                         const struct node *a, const struct node *b,
                                                         const struct lines *l, const size_t *start,
                                                         bool typical, size_t width)
{
    const double *ea = readable(a->error, a->value), *eb = readable(b->error, b->value);
    *s = (struct product_sums){ 0 };
    for (size_t k = 0; k < l->extent; k++, term += width)
        LANES_LOOP for (size_t w = 0; w < width; w++)
        {
            size_t at = start[w] + k * l->step;
            double x = a->value[at], y = b->value[at], product = x * y;
            double first = finite_error(a, ea, at), second = finite_error(b, eb, at);
            double e = first * fabs(y) + second * (fabs(x) + first);
            s->low[w] += two_sum(&s->sum[w], product);
            s->size[w] += fabs(product);
            s->operands[w] += typical ? e * e : e;
            s->together[0][w] += first * y;
            s->together[1][w] += second * x;
            term[w] = product;
        }
}

VECTORIZED static void add_up_lines(struct product_sums *s, double *term, const struct node *a,
                                    const struct node *b, const struct lines *l,
                                    const size_t *start, bool typical)
{
    add_up(s, term, a, b, l, start, typical, WIDTH);
}

/* The typical error of the additions, over the unit: of lines whose terms have errors, or have none. */
static void spread_lines(double *spread, double *term, size_t extent, bool inexact, bool single,
                         size_t width)
{
    if (width > 1) sum_spread_of_lines(spread, term, extent, inexact, true, single);
    else
        *spread = inexact ? sum_spread_of_inexact(term, extent, true, single)
                          : sum_spread(term, extent, true, single);
}

/* The bound: operands' errors, a rounding per product, those of a kernel that adds in any order. */
static void model_lines(const struct tape *tape, struct node *node, double *term,
                        const struct node *a, const struct node *b, const struct lines *l,
                        size_t line, size_t count, size_t width)
{
    struct product_sums s;
    double spread[2][WIDTH], growth = tape_sum_growth(tape, l->extent);
    bool typical = tape_is_typical(tape), any[2] = { false, false };
    size_t start[WIDTH];
    for (size_t w = 0; w < width; w++) start[w] = line_element(l, line + (w < count ? w : 0), 0);
    if (width > 1) add_up_lines(&s, term, a, b, l, start, typical);
    else add_up(&s, term, a, b, l, start, typical, 1);
    for (size_t w = 0; w < count; w++) any[s.operands[w] > 0] |= typical && isfinite(s.sum[w]);
    for (int inexact = 0; inexact < 2; inexact++)
        if (any[inexact])
            spread_lines(spread[inexact], term, l->extent, inexact, !tape->wide, width);
    for (size_t w = 0; w < count; w++) {
        double y = isfinite(s.sum[w]) ? s.sum[w] + s.low[w] : s.sum[w], operands = s.operands[w];
        double bound = (operands + tape->unit * ((growth + 1) * s.size[w] + fabs(y))) *
                           (1 + 0x1p-20) +
                       (double)l->extent * tape->tiny;
        if (typical && isfinite(s.sum[w])) {
            double shared = hypot(s.together[0][w], s.together[1][w]);
            bound = sqrt(operands + shared * shared) + tape->unit * sqrt(spread[operands > 0][w]);
        }
        node->value[line + w] = y;
        node->error[line + w] = tidy_bound(bound, y);
    }
}

static void model_all_lines(struct tape *tape, struct node *node, const struct node *a,
                            const struct node *b, const struct lines *l)
{
    size_t most = l->extent > MOST_TERMS || node->n < LEAST_LINES ? 1 : WIDTH;
    struct arena_mark before = arena_mark(tape->arena);
    double *term = tape_allocate(tape, l->extent * most, sizeof *term);
    for (size_t line = 0, count; term && line < node->n; line += count) {
        count = node->n - line < most ? node->n - line : most;
        model_lines(tape, node, term, a, b, l, line, count, most);
    }
    arena_rewind(tape->arena, before);
}

/* ---- sums of differences from the top ---------------------------------------------------------- */

struct shifted {
    bool is_finite;            /* else the line is left to the usual form */
    double sum, bound;         /* D for c */
    double top, moved, others; /* e_t, E and R */
};

/* `v`: the elements of c, from the line's first one on, `top` the place in the line. `weight` and `difference` are room for a
 * line's y_k and d_k. */
static struct shifted shift_line(double *weight, double *difference, const struct node *y,
                                 const struct node *c, const double *v, const struct lines *l,
                                 size_t line, size_t top)
{
    const size_t at_top = line_element(l, line, top);
    const double ct = v[top * l->step];
    struct shifted s = { .top = line_error(c, at_top, ct) };
    struct compensated sum = { 0 };
    double own = 0;
    for (size_t k = 0, at = line_element(l, line, 0); k < l->extent; k++, at += l->step) {
        double x = v[k * l->step], d = ct - x, e = node_error(y, at);
        weight[k] = y->value[at];
        difference[k] = d;
        own += (UNIT_ROUNDOFF * weight[k] + e) * fabs(d);
        if (at == at_top) continue;
        s.moved += (weight[k] + e) * line_error(c, at, x);
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
                           const struct node *c, const double *v, const struct lines *l,
                           size_t line, size_t top)
{
    const double unit = UNIT_ROUNDOFF, ct = v[top * l->step];
    for (size_t k = 0, at = line_element(l, line, 0); k < l->extent; k++, at += l->step) {
        double x = v[k * l->step], d = ct - x, factor = s->sum - d, z = y->value[at] * factor;
        double input = k == top ? s->others * s->top : line_error(c, at, x) + s->top;
        double e = s->bound + unit * (fabs(d) + fabs(factor)) + input + s->moved;
        double bound = y->value[at] * e + node_error(y, at) * (fabs(factor) + e) + unit * fabs(z);
        out->value[at] = z;
        out->error[at] = tidy_bound(bound * (1 + 0x1p-40) + 0x1p-1074, z);
    }
}

/* Work on lines of y and c: their inner products `mean`, and the gradient `out` from those. With `top`, `shifted` is set
 * for each. */
struct line_work {
    const struct tape *tape;
    const struct node *c, *y;
    const struct lines *l;
    const size_t *top;
    struct shifted *shifted;
    struct node *mean, *out;
};

static void some_products(void *context, size_t start, size_t count, void *scratch)
{
    const struct line_work *w = context;
    struct node *mean = w->mean;
    double *room = scratch, ignored;
    for (size_t line = start; line < start + count; line++) {
        double *bound = mean->error ? &mean->error[line] : &ignored;
        const double *v = line_values(w->c, w->l, line, room + 2 * w->l->extent);
        if (w->top) {
            size_t top = w->top[line];
            w->shifted[line] =
                shift_line(room, room + w->l->extent, w->y, w->c, v, w->l, line, top);
            if (w->shifted[line].is_finite) {
                set_shifted_product(mean, line, &w->shifted[line], v[top * w->l->step]);
                continue;
            }
        }
        mean->value[line] = dot_line(bound, w->tape, w->c, v, w->y, w->l, line);
        *bound = tidy_bound(*bound, mean->value[line]);
    }
}

static void do_lines(struct tape *tape, const struct line_work *work,
                     void (*some)(void *context, size_t start, size_t count, void *scratch))
{
    const struct lines *l = work->l;
    tape_parallel_lines(tape, &(struct parallel_lines){ l->extent ? l->count : 0, l->extent,
                                                        3 * l->extent * sizeof(double), some,
                                                        (void *)work });
}

/* The inner products of all lines. */
static struct node *line_products(struct tape *tape, struct line_work *work, struct node *c,
                                  struct node *y, int dim)
{
    const struct lines *l = work->l;
    int64_t shape[TENSOR_MAX_RANK];
    memcpy(shape, y->shape, sizeof shape);
    if (y->rank) shape[dim] = 1;
    struct node *node =
        node_new(tape, &dot_primitive, y->dtype, y->rank, shape, 2, (struct node *[]){ c, y }, l);
    if (!lines_are_unread(tape, c, l)) (void)node_values(tape, c);
    (void)node_values(tape, y);
    (void)node_need_errors(tape, node);
    if (tape_failed(tape)) return tape_failure(tape);
    if (!l->extent) {
        memset(node->value, 0, node->n * sizeof *node->value);
        if (node->error) memset(node->error, 0, node->n * sizeof *node->error);
    }
    work->mean = node;
    if (tape_is_model(tape) && l->extent) model_all_lines(tape, node, c, y, l);
    else do_lines(tape, work, some_products);
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

/* y (c - t) with its bound, `step` apart; the bound on t is `et`. `v`: the elements of c, from the line's first one on. */
VECTORIZED static void bounded_centre(double *restrict out, double *restrict error,
                                      const struct node *y, const struct node *c, const double *v,
                                      double t, double et, double unit, double tiny, size_t first,
                                      size_t n, size_t step)
{
    const double *ey = readable(y->error, y->value), *ec = readable(c->error, y->value);
    for (size_t k = 0, at = first; k < n; k++, at += step) {
        double x = v[at - first], of_x = c->error ? ec[at] : c->relative * fabs(x) + c->absolute;
        double size = fabs(y->value[at]), d = x - t, z = y->value[at] * d;
        double ed = (fabs(x) < INFINITY ? of_x : 0) + et + unit * fabs(d);
        double bound = size * ed + finite_error(y, ey, at) * (fabs(d) + ed) + unit * fabs(z);
        bound = bound * (1 + 0x1p-40) + tiny;
        bound = bound >= 0 ? bound : INFINITY;
        out[at] = z;
        error[at] = fabs(z) < INFINITY ? bound : 0;
    }
}

static void centre_line(const struct tape *tape, struct node *out, const struct node *y,
                        const struct node *c, const double *v, const struct node *mean,
                        const struct lines *l, size_t line)
{
    double t = mean->value[line];
    size_t first = line_element(l, line, 0);
    if (out->error) {
        bounded_centre(out->value, out->error, y, c, v, t, node_error(mean, line), tape->unit,
                       tape->tiny, first, l->extent, l->step);
        return;
    }
    for (size_t k = 0, at = first; k < l->extent; k++, at += l->step)
        out->value[at] = tape_round(tape, y->value[at] * tape_round(tape, v[k * l->step] - t));
}

static void some_centred(void *context, size_t start, size_t count, void *scratch)
{
    const struct line_work *w = context;
    for (size_t line = start; line < start + count; line++) {
        const double *v = line_values(w->c, w->l, line, scratch);
        if (w->top && w->shifted[line].is_finite)
            centre_shifted(w->out, &w->shifted[line], w->y, w->c, v, w->l, line, w->top[line]);
        else centre_line(w->tape, w->out, w->y, w->c, v, w->mean, w->l, line);
    }
}

struct node *node_softmax_gradient(struct tape *tape, struct node *y, struct node *cotangent,
                                   int dim, const size_t *top)
{
    struct lines *l = tape_allocate(tape, 1, sizeof *l);
    if (tape_failed(tape)) return tape_failure(tape);
    *l = lines_along(y, dim);
    if (tape->arithmetic != BENCH_REFERENCE) top = NULL;
    struct line_work work = { .tape = tape, .c = cotangent, .y = y, .l = l, .top = top };
    if (top) work.shifted = tape_allocate(tape, l->count, sizeof *work.shifted);
    struct node *mean = line_products(tape, &work, cotangent, y, dim);
    if (dim == y->rank - 1) tape_returned(tape, mean); /* PyTorch has it in the dtype there */
    struct node *out = node_new(tape, &centred_primitive, y->dtype, y->rank, y->shape, 3,
                                (struct node *[]){ y, cotangent, mean }, l);
    (void)node_need_errors(tape, out);
    if (tape_failed(tape)) return tape_failure(tape);
    out->tracked = mean->tracked = false;
    work.out = out;
    do_lines(tape, &work, some_centred);
    model_stages(tape, out);
    return out;
}
