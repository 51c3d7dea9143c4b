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

struct node *stencil_sum(const struct sampled *s, const struct stencil *stencil)
{
    struct node *sum = NULL;
    int total = 1;
    for (int d = 0; d < s->dims; d++) total *= stencil->taps;
    for (int k = 0; k < total; k++) {
        int64_t *index[STENCIL_MOST_DIMS];
        struct node *weight = NULL;
        for (int d = 0, rest = k; d < s->dims; d++, rest /= stencil->taps) {
            struct node *own = stencil->weight[d][rest % stencil->taps];
            weight = weight ? node_multiply(s->tape, weight, own) : own;
            index[d] = stencil->index[d][rest % stencil->taps];
        }
        struct node *term =
            node_multiply(s->tape, stencil_gathered(s, index), stencil_over_channels(s, weight));
        sum = sum ? node_add(s->tape, sum, term) : term;
    }
    return sum ? sum : s->x;
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
    if (stencil->taps == 3)
        stencil->weight[d][2] = tap_beyond(tape, at, cell, borders, width, stencil->index[d][2]);
}
