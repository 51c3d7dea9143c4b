/* Errors that are a share of the mean square of a line. */
#include "bench/primitives/line_errors.h"

#include <math.h>
#include <string.h>

#include "bench/primitives/alias.h"
#include "bench/primitives/chain_rule.h"
#include "bench/primitives/complex_embedding.h"
#include "bench/tape/enclosure.h"

static double mean_square(const double *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; x && i < n; i++) sum += x[i] * x[i];
    return sum / (double)n;
}

/* ---- equal errors ---------------------------------------------------------------------------------------------- */

/* The mean square of the errors that n elements come with. */
static double mean_square_error(struct tape *tape, struct node *x, size_t first, size_t n)
{
    double sum = 0;
    if (!x || !node_values(tape, x) || x->n < first + n) return 0;
    for (size_t i = first; i < first + n; i++) sum += node_error(x, i) * node_error(x, i);
    return sum / (double)n;
}

/* The largest divisor of n that divides the places of all elements of a line but those that are no more than its smallest errors. */
static size_t common_step(const double *y, const double *other, const double *error, size_t n)
{
    static const double negligible = 16;
    double least = error[0];
    size_t step = n;
    for (size_t i = 1; i < n; i++) least = fmin(least, error[i]);
    for (size_t i = 1; i < n && step > 1; i++) {
        double size = other ? hypot(y[i], other[i]) : fabs(y[i]);
        if (size <= negligible * least) continue;
        for (size_t rest = i; rest;) { /* Euclid */
            size_t next = step % rest;
            step = rest;
            rest = next;
        }
    }
    return step;
}

/* ---- forward --------------------------------------------------------------------------------------------------- */

/* y with the errors of its lines, each of which has another of `other` beside it (NULL: none). `period`: after how many elements of y those of
 * lines->re begin again. */
static struct node *with_line_errors(struct tape *tape, struct node *y, const double *other,
                                     const struct transformed_lines *lines, size_t period)
{
    size_t n = (size_t)lines->length;
    const double *value = node_values(tape, y);
    struct node *out = node_alias(tape, y, y->dtype);
    double *error = tape_allocate(tape, y->n, sizeof *error);
    if (tape_failed(tape)) return y;
    for (size_t first = 0; first < y->n; first += n) {
        const double *line = value + first, *beside = other ? other + first : NULL;
        double own = lines->roundings * tape->unit *
                     sqrt(mean_square(line, n) + mean_square(beside, n));
        for (size_t i = first; i < first + n; i++)
            error[i] = isfinite(value[i]) ? fmax(own, node_error(y, i)) : node_error(y, i);
        size_t step = tape_is_typical(tape) ? common_step(line, beside, error + first, n) : 1;
        if (step == 1) continue;
        double given = sqrt((double)n * (mean_square_error(tape, lines->re, first % period, n) +
                                         mean_square_error(tape, lines->im, first % period, n)));
        for (size_t i = first; i < first + n; i += step)
            error[i] = fmax(error[i], sqrt((double)step) * hypot(own, given));
    }
    out->error = error;
    return out;
}

struct node *node_model_line_error(struct tape *tape, struct node *y, struct node *partner,
                                   const struct transformed_lines *lines)
{
    if (!tape_is_model(tape) || tape_failed(tape) || lines->length < 1 || !y->n) return y;
    const double *other = partner ? node_values(tape, partner) : NULL;
    return with_line_errors(tape, y, other, lines, y->n);
}

/* ---- backward -------------------------------------------------------------------------------------------------- */

struct line_slope {
    struct transformed_lines lines; /* the cotangents of the transforms, once they have come */
    bool is_complex;                /* real parts before imaginary ones */
};

static void slope_backward(struct tape *tape, struct node *node, struct node *cotangent)
{
    const struct line_slope *slope = node->parameters;
    double *other = NULL;
    size_t period = cotangent->n;
    if (slope->is_complex) {
        period /= 2;
        const double *value = node_values(tape, cotangent);
        other = tape_allocate(tape, cotangent->n, sizeof *other);
        if (tape_failed(tape)) return;
        memcpy(other, value + period, period * sizeof *other);
        memcpy(other + period, value, period * sizeof *other);
    }
    tape_accumulate(tape, node->inputs[0],
                    with_line_errors(tape, cotangent, other, &slope->lines, period));
}

static const struct primitive slope_primitive = { "a slope with the error of its line",
                                                  slope_backward, input_enclose, input_pair };

struct node *node_model_line_slope(struct tape *tape, struct node *x,
                                   const struct transformed_lines *lines, struct line_slope **slope)
{
    *slope = NULL;
    if (!tape_is_model(tape) || tape_failed(tape) || !x->tracked || lines->length < 1 || !x->n)
        return x;
    *slope = tape_allocate(tape, 1, sizeof **slope);
    if (!*slope) return x;
    **slope = (struct line_slope){ { lines->length, lines->roundings, NULL, NULL },
                                   x->imaginary != NULL };
    struct node *stacked = node_stacked_parts(tape, x);
    stacked = node_sharing(tape, &slope_primitive, stacked, 1, &stacked, *slope);
    return (*slope)->is_complex ? node_of_stacked_parts(tape, stacked) : stacked;
}

static void real_cotangent_backward(struct tape *tape, struct node *node, struct node *cotangent)
{
    ((struct line_slope *)node->state)->lines.re = cotangent;
    tape_accumulate(tape, node->inputs[0], cotangent);
}

static void imaginary_cotangent_backward(struct tape *tape, struct node *node,
                                         struct node *cotangent)
{
    ((struct line_slope *)node->state)->lines.im = cotangent;
    tape_accumulate(tape, node->inputs[0], cotangent);
}

static const struct primitive cotangent_primitives[] = {
    { "real parts of lines", real_cotangent_backward, input_enclose, input_pair },
    { "imaginary parts of lines", imaginary_cotangent_backward, input_enclose, input_pair },
};

struct node *node_model_line_cotangent(struct tape *tape, struct node *y, struct line_slope *slope,
                                       int part)
{
    if (!slope || tape_failed(tape)) return y;
    struct node *out = node_sharing(tape, &cotangent_primitives[part], y, 1, &y, NULL);
    if (!tape_failed(tape)) out->state = slope;
    return out;
}
