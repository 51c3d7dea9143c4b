/* Softmax and logsumexp as primitives over lines, from the sums of exponentials.h. log1p has condition number <= 1 for arguments
 * >= 0. Inputs that are off by at most e per line move every softmax by at most expm1(2 e) relative.
 */
#include "bench/primitives/softmax.h"

#include <math.h>

#include "bench/arithmetic/rounding.h"
#include "bench/arithmetic/vector_math.h"
#include "bench/primitives/alias.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/chain_rule.h"
#include "bench/primitives/composed_functions.h"
#include "bench/primitives/exponentials.h"
#include "bench/primitives/lines.h"
#include "bench/primitives/other_forms.h"
#include "bench/primitives/reduce.h"
#include "bench/primitives/softmax_gradient.h"
#include "bench/primitives/softmax_model.h"
#include "bench/tape/bounds.h"
#include "bench/tape/enclosure.h"
#include "core/vectorize.h"

/* ---- softmax ----------------------------------------------------------------------------------- */

static void softmax_enclose(struct enclosure *enclosure, void *ball, struct node *node, size_t i)
{
    const struct exponentials *l = node->parameters;
    struct node *x = node->inputs[0];
    size_t line = line_of(&l->lines, i);
    arb_t sum, top;
    if (node_value_at(x, i) == -INFINITY) {
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
    const struct exponential_work *w = context;
    const struct exponentials *l = w->l;
    (void)room;
    for (size_t line = start; line < start + count; line++) {
        double m = exponentials_largest(l, w->x, line),
               total = tape_round(w->tape, 1 + w->sums->value[line]);
        normalise_line(w->node->value + line_element(&l->lines, line, 0), l->lines.extent,
                       l->lines.step, total, isfinite(m) ? 0 : NAN, tape_is_single(w->tape));
    }
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
    const struct exponential_work *w = context;
    const struct exponentials *l = w->l;
    const struct exponential_model model = exponential_model_of(w->tape);
    struct node *node = w->node;
    (void)room;
    for (size_t line = start; line < start + count; line++) {
        size_t first = line_element(&l->lines, line, 0);
        double e = l->input ? l->input[line] : 0;
        const struct softmax_bounds bounds = {
            .model = l->total ? &model : NULL,
            .m = exponentials_largest(l, w->x, line),
            .relative = l->total ? modelled_share_of_total(w->tape, l->total[line])
                                 : node->relative,
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
    const struct exponential_work work = { tape, node, x, sums, l };
    exponentials_each_line(&work, normalise_some);
    if (!tape_is_reference(tape)) return;
    node->relative = 2 * exponentials_error(l) + 8 * UNIT_ROUNDOFF;
    node->absolute = 4 * tape->tiny;
    if (!l->input && !l->total) return;
    if (node_need_errors(tape, node)) exponentials_each_line(&work, bound_some);
}

static void exponentiate_some(void *context, size_t start, size_t count, void *room)
{
    const struct exponential_work *w = context;
    const struct lines *lines = &w->l->lines;
    double *e = room, *elements = e + lines->extent;
    for (size_t line = start; line < start + count; line++) {
        size_t first = line_element(lines, line, 0);
        exponentials_of(w->tape, e, line_values(w->x, lines, line, elements), lines->extent,
                        lines->step, exponentials_largest(w->l, w->x, line));
        for (size_t k = 0; k < lines->extent; k++) w->node->value[first + k * lines->step] = e[k];
    }
}

struct node *node_softmax_of_sums(struct tape *tape, struct node *x, struct node *sums)
{
    const struct exponentials *l = sums->parameters;
    struct node *node = node_new(tape, &softmax_primitive, x->dtype, x->rank, x->shape, 2,
                                 (struct node *[]){ x, sums }, l);
    if (tape_failed(tape)) return tape_failure(tape);
    exponentials_each_line(&(struct exponential_work){ tape, node, x, sums, l }, exponentiate_some);
    normalise(tape, node, x, sums, l);
    model_stages(tape, node);
    return node;
}

/* As PyTorch's kernel for other dimensions than the last has it: exponentials lie in the output, in its dtype, until they are divided by
 * their sum, which was formed before. */
static struct node *softmax_steps(struct tape *tape, struct node *x, struct node *sums, int dim)
{
    const struct node *before = tape->newest;
    struct node *largest = exponentials_tops(tape, sums);
    struct node *shifted = node_subtract(tape, x, largest), *e = node_apply(tape, "exp", shifted);
    struct node *total = node_sum(tape, node_apply(tape, "exp", shifted), 1u << dim, true);
    struct node *y = node_divide(tape, e, total);
    tape_one_kernel(tape, before, y);
    tape_returned(tape, e);
    return y;
}

struct node *node_softmax(struct tape *tape, struct node *x, int dim)
{
    x = node_to_real(tape, x);
    if (tape_has_form(tape, FORM_NO_MAXIMUM)) return plain_softmax(tape, x, dim);
    struct node *inputs[2] = { x, x };
    struct node *node =
        node_new(tape, &softmax_primitive, x->dtype, x->rank, x->shape, 2, inputs, NULL);
    if (tape_failed(tape)) return tape_failure(tape);
    struct node *sums = exponentials_sum(tape, x, dim, node->value);
    if (tape_failed(tape)) return tape_failure(tape);
    node->inputs[1] = sums;
    node->parameters = sums->parameters;
    normalise(tape, node, x, sums, sums->parameters);
    model_stages(tape, node);
    if (!composes(tape) || dim >= x->rank - 1) return node;
    return node_as_steps(tape, node, softmax_steps(tape, x, sums, dim), "softmax");
}

/* ---- logsumexp -------------------------------------------------------------------------------------- */

/* The error of m + log(total) in a kernel: that of the total, the function's, the sum's rounding. */
static double modelled_logsumexp(const struct tape *tape, double total, double log, double y)
{
    double function = tape->unit * modelled_logarithm(tape) * log, sum = tape->unit * fabs(y);
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
                                        : node_softmax_of_sums(tape, x, node->inputs[1]);
    y = node_model_error(tape, y, node_multiply(tape, y, node),
                         1); /* exp(x - the rounded output) */
    if (composes(tape))
        y = node_as_steps(tape, y, node_apply(tape, "exp", node_subtract(tape, x, node)),
                          "logsumexp");
    tape_accumulate(tape, x, node_multiply(tape, y, cotangent));
}

static const struct primitive logsumexp_primitive = { "logsumexp", logsumexp_backward,
                                                      logsumexp_enclose, NULL };

struct node *node_logsumexp(struct tape *tape, struct node *x, int dim)
{
    x = node_to_real(tape, x);
    if (tape_has_form(tape, FORM_NO_MAXIMUM)) return plain_logsumexp(tape, x, dim);
    struct node *sums = exponentials_sum(tape, x, dim, NULL);
    if (tape_failed(tape)) return tape_failure(tape);
    const struct exponentials *l = sums->parameters;
    struct node *node = node_new(tape, &logsumexp_primitive, x->dtype, x->rank, sums->shape, 2,
                                 (struct node *[]){ x, sums }, l);
    (void)node_need_errors(tape, node);
    for (size_t line = 0; line < sums->n && !tape_failed(tape); line++) {
        double m = exponentials_largest(l, x, line),
               log = tape_round(tape, scalar_log1p(sums->value[line]));
        double y = isfinite(m) ? tape_round(tape, m + log) : m;
        node->value[line] = y;
        if (!node->error) continue;
        double bound = (exponentials_error(l) + 4 * UNIT_ROUNDOFF) * log + UNIT_ROUNDOFF * fabs(y) +
                       (double)l->lines.extent * 0x1p-1072;
        if (l->total) bound = modelled_logsumexp(tape, l->total[line], log, y);
        if (l->input) bound += l->input[line];
        node->error[line] = isfinite(y) ? bound * (1 + 0x1p-40) : 0;
    }
    model_stages(tape, node);
    if (!composes(tape)) return node;
    struct node *largest = exponentials_tops(tape, sums);
    struct node *steps =
        node_add(tape, plain_logsumexp(tape, node_subtract(tape, x, largest), dim), largest);
    return node_as_steps(tape, node, steps, "logsumexp");
}
