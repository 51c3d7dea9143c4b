/* The sum S' is a node of its own, so that balls of many elements of a line share it. Bounds, with u the unit roundoff and
 * exact inputs: a difference d = x - m is off by u |d|, so exp(d) is off by (|d| + 2) u relative, at most (spread + 2) u where
 * exp(d) > 0; sums of positive terms keep that, TwoSum adds 2 u.
 */
#include "bench/primitives/exponentials.h"

#include <math.h>
#include <string.h>

#include "bench/arithmetic/rounding.h"
#include "bench/arithmetic/vector_math.h"
#include "bench/primitives/softmax_model.h"
#include "bench/tape/bounds.h"
#include "bench/tape/deviation.h"
#include "bench/tape/enclosure.h"
#include "core/vectorize.h"

/* x's shape with an extent of 1 along dim. */
static void shape_of_lines(int64_t *shape, const struct node *x, int dim)
{
    memcpy(shape, x->shape, sizeof x->shape);
    if (x->rank) shape[dim] = 1;
}

double exponentials_error(const struct exponentials *l) { return (l->spread + 6) * UNIT_ROUNDOFF; }

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
        if (k == l->top[line] || node_value_at(x, at) == -INFINITY) continue;
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

/* `v`: the elements of a line, from its first one on. */
static size_t top_of_line(const struct exponentials *l, const double *v)
{
    size_t best = 0, step = l->lines.step;
    double most;
    if (step == 1 && largest_of(&most, v, l->lines.extent)) {
        while (v[best] != most) best++;
        return best;
    }
    for (size_t k = 1; k < l->lines.extent && !isnan(v[best * step]); k++)
        if (isnan(v[k * step]) || v[k * step] > v[best * step]) best = k;
    return best;
}

void exponentials_of(const struct tape *tape, double *out, const double *x, size_t n, size_t stride,
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

/* S' of one line with the elements `v`, and its spread. `e` is room for exp(x - m) of its elements; with `out`, they are kept
 * there. */
static double sum_of_others(const struct tape *tape, double *spread, double *out, double *e,
                            const struct exponentials *l, const double *v, size_t line)
{
    size_t first = line_element(&l->lines, line, 0);
    double m = v[l->top[line] * l->lines.step];

    exponentials_of(tape, e, v, l->lines.extent, l->lines.step, m);
    *spread = farthest(v, l->lines.extent, l->lines.step, m);
    for (size_t k = 0; out && l->lines.step > 1 && k < l->lines.extent; k++)
        out[first + k * l->lines.step] = e[k];
    return sum_but(tape, e, l->lines.extent, l->top[line]);
}

static void set_bounds_of_sums(struct node *node, const struct exponentials *l)
{
    for (size_t line = 0; line < node->n; line++) {
        double relative = l->total ? l->total[line] : exponentials_error(l);
        if (l->input)
            relative += l->input[line] < 0.25 ? expm1(2 * l->input[line]) * 1.01 : INFINITY;
        node->error[line] = relative * node->value[line] + (double)l->lines.extent * 0x1p-1073;
        if (!(node->error[line] >= 0)) node->error[line] = INFINITY;
    }
}

void exponentials_each_line(const struct exponential_work *work,
                            void (*some)(void *context, size_t start, size_t count, void *scratch))
{
    const struct lines *lines = &work->l->lines;
    tape_parallel_lines(work->tape, &(struct parallel_lines){
                                        lines->extent ? lines->count : 0, lines->extent,
                                        2 * lines->extent * sizeof(double), some, (void *)work });
}

static double largest_input(const struct exponentials *l, const struct node *x, size_t line)
{
    double largest = 0;
    for (size_t k = 0; k < l->lines.extent; k++)
        largest = fmax(largest, node_error(x, line_element(&l->lines, line, k)));
    return largest;
}

/* `spread`: that of each line; with `out`, exp(x - m) of all elements is kept there. */
struct sum_work {
    struct exponential_work lines;
    double *out, *spread;
};

/* Where the exponentials of a line are made. */
static double *line_room(const struct sum_work *w, size_t line, double *room)
{
    const struct lines *lines = &w->lines.l->lines;
    return w->out && lines->step == 1 ? w->out + line_element(lines, line, 0) : room;
}

/* `e` and `elements`: room for a line each. */
static void sum_line(const struct sum_work *work, size_t line, double *e, double *elements)
{
    const struct exponential_work *w = &work->lines;
    const struct exponentials *l = w->l;
    const double *v = line_values(w->x, &l->lines, line, elements);
    l->top[line] = top_of_line(l, v);
    w->node->value[line] = sum_of_others(w->tape, &work->spread[line], work->out, e, l, v, line);
    if (l->input) l->input[line] = largest_input(l, w->x, line);
}

static void some_sums(void *context, size_t start, size_t count, void *room)
{
    const struct sum_work *w = context;
    double *elements = (double *)room + w->lines.l->lines.extent;
    for (size_t line = start; line < start + count; line++)
        sum_line(w, line, line_room(w, line, room), elements);
}

/* In a model, whose lines are summed side by side: with what a kernel's sums are off by. */
static void sum_modelled_lines(const struct sum_work *work)
{
    const struct exponential_work *w = &work->lines;
    struct tape *tape = w->tape;
    const struct exponentials *l = w->l;
    double *room = tape_allocate(tape, l->lines.extent, sizeof *room);
    struct exponential_lines modelled = { 0 };
    exponential_lines_open(&modelled, tape, l->lines.extent, w->node->n);
    for (size_t line = 0; line < w->node->n && !tape_failed(tape); line++) {
        double *e = line_room(work, line, room);
        const double *x = w->x->value + line_element(&l->lines, line, 0);
        sum_line(work, line, e, NULL); /* models have read x */
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
    const struct sum_work work = { { tape, node, x, NULL, l }, out, spread };
    if (!spread) return;
    if (l->total) sum_modelled_lines(&work);
    else exponentials_each_line(&work.lines, some_sums);
    for (size_t line = 0; line < node->n && !tape_failed(tape); line++)
        l->spread = fmax(l->spread, spread[line]);
    arena_rewind(tape->arena, before);
}

struct node *exponentials_sum(struct tape *tape, struct node *x, int dim, double *out)
{
    int64_t shape[TENSOR_MAX_RANK];
    struct exponentials *l = tape_allocate(tape, 1, sizeof *l);

    if (tape_failed(tape)) return tape_failure(tape);
    *l = (struct exponentials){ .dim = dim, .lines = lines_along(x, dim) };
    if (!lines_are_unread(tape, x, &l->lines)) (void)node_values(tape, x);
    if (tape_failed(tape)) return tape_failure(tape);
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

double exponentials_largest(const struct exponentials *l, const struct node *x, size_t line)
{
    return l->lines.extent ? node_value_at(x, line_element(&l->lines, line, l->top[line]))
                           : -INFINITY;
}

struct node *exponentials_tops(struct tape *tape, const struct node *sums)
{
    const struct node *x = sums->inputs[0];
    const struct exponentials *l = sums->parameters;
    struct node *tops = node_new_real(tape, x->dtype, sums->rank, sums->shape);
    if (l->input) (void)node_need_errors(tape, tops);
    for (size_t line = 0; line < tops->n && !tape_failed(tape); line++) {
        tops->value[line] = exponentials_largest(l, x, line);
        if (tops->error) tops->error[line] = l->input[line];
    }
    return tops;
}
