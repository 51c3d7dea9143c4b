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

/* y with the errors of its lines, each of which has another of `other` beside it (NULL: none). */
static struct node *with_line_errors(struct tape *tape, struct node *y, const double *other,
                                     int64_t length, double roundings)
{
    size_t n = (size_t)length;
    const double *value = node_values(tape, y);
    struct node *out = node_alias(tape, y, y->dtype);
    double *error = tape_allocate(tape, y->n, sizeof *error);
    if (tape_failed(tape)) return y;
    for (size_t i = 0; i < y->n; i++) {
        size_t first = i - i % n;
        if (i == first)
            error[i] =
                roundings * tape->unit *
                sqrt(mean_square(value + first, n) + mean_square(other ? other + first : NULL, n));
        else error[i] = error[first];
    }
    for (size_t i = 0; i < y->n; i++)
        error[i] = isfinite(value[i]) ? fmax(error[i], node_error(y, i)) : node_error(y, i);
    out->error = error;
    return out;
}

struct node *node_model_line_error(struct tape *tape, struct node *y, struct node *partner,
                                   int64_t length, double roundings)
{
    if (!tape_is_model(tape) || tape_failed(tape) || length < 1) return y;
    const double *other = partner ? node_values(tape, partner) : NULL;
    return with_line_errors(tape, y, other, length, roundings);
}

struct line {
    int64_t length;
    double roundings;
    bool is_complex; /* real parts before imaginary ones */
};

static void line_slope_backward(struct tape *tape, struct node *node, struct node *cotangent)
{
    const struct line *line = node->parameters;
    double *other = NULL;
    if (line->is_complex) {
        size_t half = cotangent->n / 2;
        const double *value = node_values(tape, cotangent);
        other = tape_allocate(tape, cotangent->n, sizeof *other);
        if (tape_failed(tape)) return;
        memcpy(other, value + half, half * sizeof *other);
        memcpy(other + half, value, half * sizeof *other);
    }
    tape_accumulate(tape, node->inputs[0],
                    with_line_errors(tape, cotangent, other, line->length, line->roundings));
}

static const struct primitive line_slope = { "a slope with the error of its line",
                                             line_slope_backward, input_enclose, input_pair };

struct node *node_model_line_slope(struct tape *tape, struct node *x, int64_t length,
                                   double roundings)
{
    if (!tape_is_model(tape) || tape_failed(tape) || !x->tracked || length < 1 || !x->n) return x;
    struct line *line = tape_allocate(tape, 1, sizeof *line);
    if (!line) return x;
    *line = (struct line){ length, roundings, x->imaginary != NULL };
    struct node *stacked = node_stacked_parts(tape, x);
    stacked = node_sharing(tape, &line_slope, stacked, 1, &stacked, line);
    return line->is_complex ? node_of_stacked_parts(tape, stacked) : stacked;
}
