/* Sums over the inputs around given places. */
#include "bench/ops/stencils.h"

#include <math.h>
#include <string.h>

#include "bench/primitives/alias.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/gather.h"
#include "bench/primitives/movement.h"

int64_t stencil_index(double at) { return at > -0x1p31 && at < 0x1p31 ? (int64_t)at : -100; }

struct node *stencil_gathered(const struct sampled *s, int64_t *const *index)
{
    size_t per_item = s->channels * s->points, plane = 1;
    int64_t *map = tape_allocate(s->tape, s->batch * per_item, sizeof *map);
    int64_t *place = tape_allocate(s->tape, s->points, sizeof *place);
    if (!map || !place) return s->x;
    for (int d = 0; d < s->dims; d++) plane *= (size_t)s->size[d];
    for (size_t b = 0; b < s->batch; b++) {
        for (size_t p = 0; p < s->points; p++) {
            place[p] = 0;
            for (int d = 0; d < s->dims && place[p] >= 0; d++) {
                int64_t i = index[d][b * s->points + p];
                place[p] = i < 0 || i >= s->size[d] ? -1 : place[p] * s->size[d] + i;
            }
        }
        for (size_t c = 0; c < s->channels; c++)
            for (size_t p = 0; p < s->points; p++)
                map[b * per_item + c * s->points + p] =
                    place[p] < 0 ? -1 : (int64_t)((b * s->channels + c) * plane) + place[p];
    }
    return node_gather(s->tape, s->x, s->rank, s->shape, map, 0);
}

struct node *stencil_over_channels(const struct sampled *s, struct node *w)
{
    int64_t shape[STENCIL_MOST_DIMS + 2];
    memcpy(shape, s->shape, sizeof shape);
    shape[1] = 1;
    return node_reshape(s->tape, w, s->rank, shape);
}

enum { MOST_INPUTS = 4 * 4 * 4 };

/* The weights of the taps by dimension. */
struct weights {
    struct node *of[STENCIL_MOST_DIMS][STENCIL_MOST_TAPS];
};

/* The inputs times their weights; the number of an input has the tap along the first dimension as its lowest digit. */
static struct node *weighted_sum(const struct sampled *s, const struct weights *weights, int taps,
                                 struct node *const *input, int count)
{
    struct node *sum = NULL;
    for (int k = 0; k < count; k++) {
        struct node *weight = NULL;
        for (int d = 0, rest = k; d < s->dims; d++, rest /= taps) {
            struct node *own = weights->of[d][rest % taps];
            weight = weight ? node_multiply(s->tape, weight, own) : own;
        }
        struct node *term = node_multiply(s->tape, input[k], stencil_over_channels(s, weight));
        sum = sum ? node_add(s->tape, sum, term) : term;
    }
    return sum ? sum : s->x;
}

/* ---- errors that the weights of a place share ---- */

/* What linear sampling is made of. */
struct linear {
    const struct sampled *s;
    const struct stencil *stencil;
    const double *into[STENCIL_MOST_DIMS];
    const double *input[MOST_INPUTS];
};

/* The derivative of element i by the place along dimension `of`, or, with `of` -1, the sum of the magnitudes of its inputs. */
static double slope_along(const struct linear *l, int of, size_t i, size_t place)
{
    double sum = 0;
    for (int corner = 0; corner < 1 << l->s->dims; corner++) {
        double weight = 1;
        int k = 0;
        for (int d = 0, digit = 1; d < l->s->dims; d++, digit *= l->stencil->taps) {
            int beyond = corner >> d & 1;
            double t = l->into[d][place];
            k += beyond * digit;
            if (d == of) weight *= beyond ? 1 : -1;
            else if (of >= 0) weight *= beyond ? t : 1 - t;
        }
        sum += weight * (of < 0 ? fabs(l->input[k][i]) : l->input[k][i]);
    }
    return sum;
}

/* The error of element i, whose weights have the errors `own` makes of their roundings and those of the place. */
static double shared_error(const struct linear *l, double own, size_t i, size_t place)
{
    const struct sampled *s = l->s;
    double error = own, before = 0, both = 0;
    for (int d = 0; d < s->dims; d++) {
        double off = node_error(l->stencil->into[d], place);
        error = tape_join(s->tape, error, fabs(slope_along(l, d, i, place)) * off);
        both += before * off; /* of two dimensions together */
        before += off;
    }
    error += both * slope_along(l, -1, i, place);
    return error >= 0 ? error : INFINITY;
}

/* In a model: y, whose errors have the weights of a place as t and 1 - t with one error: it is multiplied by what the inputs differ by,
 * not by each of them. Where a place may lie in either of two cells they are as they were. */
static struct node *with_shared_errors(const struct sampled *s, const struct stencil *stencil,
                                       struct node *y, struct node *const *input, int count)
{
    struct tape *tape = s->tape;
    struct weights exact;
    struct linear l = { .s = s, .stencil = stencil };
    for (int d = 0; d < s->dims; d++) {
        struct node *t = node_detach(tape, stencil->into[d]);
        exact.of[d][0] = node_subtract(tape, node_scalar(tape, 1), t);
        exact.of[d][1] = t;
        exact.of[d][2] = stencil->weight[d][2];
        l.into[d] = node_values(tape, t);
    }
    for (int k = 0; k < count; k++) l.input[k] = node_values(tape, input[k]);
    struct node *own = weighted_sum(s, &exact, stencil->taps, input, count);
    struct node *out = node_alias(tape, y, y->dtype);
    double *error = tape_allocate(tape, y->n, sizeof *error);
    (void)node_values(tape, own);
    (void)node_values(tape, out);
    if (tape_failed(tape)) return y;
    for (size_t i = 0; i < y->n; i++) {
        size_t place = i / (s->channels * s->points) * s->points + i % s->points;
        bool open = false;
        for (int d = 0; d < s->dims; d++) open |= stencil->borders[d]->integer[place] != 0;
        error[i] = open || !isfinite(y->value[i]) ? node_error(y, i)
                                                  : shared_error(&l, node_error(own, i), i, place);
    }
    out->error = error;
    return out;
}

/* ---- sums ---- */

struct node *stencil_sum(const struct sampled *s, const struct stencil *stencil)
{
    struct node *input[MOST_INPUTS];
    struct weights weights;
    int count = 1;
    memcpy(weights.of, stencil->weight, sizeof weights.of);
    for (int d = 0; d < s->dims; d++) count *= stencil->taps;
    for (int k = 0; k < count; k++) {
        int64_t *index[STENCIL_MOST_DIMS];
        for (int d = 0, rest = k; d < s->dims; d++, rest /= stencil->taps)
            index[d] = stencil->index[d][rest % stencil->taps];
        input[k] = stencil_gathered(s, index);
    }
    struct node *y = weighted_sum(s, &weights, stencil->taps, input, count);
    bool shared = stencil->into[0] && !tape_failed(s->tape);
    return shared ? with_shared_errors(s, stencil, y, input, count) : y;
}

struct node *stencil_cell(const struct sampled *s, struct node *at, struct node **cell)
{
    *cell = node_new_real(s->tape, DT_NONE, 2, at->shape);
    const double *value = node_values(s->tape, at);
    if (tape_failed(s->tape)) return tape_failure(s->tape);
    for (size_t i = 0; i < at->n; i++) (*cell)->value[i] = floor(value[i]);
    return node_subtract(s->tape, at, *cell);
}

/* Which places are within rounding of an input's. */
static void mark_borders(struct node *borders, const double *at, int64_t size, double width)
{
    for (size_t i = 0; i < borders->n; i++)
        borders->integer[i] = at[i] > -1 - width && at[i] < (double)size + width &&
                              fabs(at[i] - nearbyint(at[i])) <= width;
}

/* The third tap: where a place is within rounding of a border, a kernel may find it in the cell beyond, with a weight
 * of that much. */
static struct node *tap_beyond(struct tape *tape, const struct node *at, const struct node *cell,
                               const struct node *borders, double width, int64_t *index)
{
    struct node *weight = node_new_real(tape, DT_NONE, at->rank, at->shape);
    if (!node_need_errors(tape, weight)) return tape_failure(tape);
    for (size_t i = 0; i < at->n; i++) {
        bool lower = at->value[i] - cell->value[i] < 0.5;
        weight->value[i] = 0;
        weight->error[i] = borders->integer[i] ? width : 0;
        index[i] = borders->integer[i] ? stencil_index(cell->value[i]) + (lower ? -1 : 2) : -100;
    }
    return weight;
}

void stencil_linear(const struct sampled *s, struct stencil *stencil, int d, struct node *at,
                    const double *unclipped, double width)
{
    struct tape *tape = s->tape;
    struct node *cell, *borders = node_new_integer(tape, DT_BOOL, 2, at->shape);
    stencil->taps = tape_is_model(tape) ? 3 : 2;
    for (int k = 0; k < stencil->taps; k++) {
        stencil->weight[d][k] = at;
        stencil->index[d][k] = tape_allocate(tape, at->n, sizeof(int64_t));
    }
    if (tape_failed(tape)) return;
    mark_borders(borders, unclipped, s->size[d], width);
    at = node_model_unknown_slope(tape, at, borders);
    struct node *into = stencil_cell(s, at, &cell);
    if (tape_failed(tape)) return;
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < at->n; i++)
            stencil->index[d][k][i] = stencil_index(cell->value[i]) + k;
    stencil->weight[d][0] = node_subtract(tape, node_scalar(tape, 1), into);
    stencil->weight[d][1] = into;
    if (stencil->taps != 3) return;
    stencil->weight[d][2] = tap_beyond(tape, at, cell, borders, width, stencil->index[d][2]);
    stencil->into[d] = into;
    stencil->borders[d] = borders;
}
