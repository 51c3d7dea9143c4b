/* Two positions tie when their elements have one sort key: equal values, zeros of either sign, NaN
 * and NaN. */
#include "bench/ops/settling.h"

#include <string.h>

#include "bench/primitives/lines.h"
#include "bench/primitives/sorting.h"

struct tie {
    const struct node *x, *own;
    struct lines from, at; /* of x and of the positions */
    bool prefix;
};

static struct tie tie_of(const struct node *x, int dim, const struct node *own, bool prefix)
{
    return (struct tie){ x, own, lines_along(x, dim), lines_along(own, dim), prefix };
}

/* Does entry i of a device's positions hold the same value as ours? */
static bool same_value(void *context, size_t i, int64_t position)
{
    const struct tie *tie = context;
    size_t step = tie->at.step, place = i / step % tie->at.extent;
    if (position < 0 || (size_t)position >= tie->from.extent) return false;
    if (tie->prefix && (size_t)position > place) return false;
    size_t line = i / (step * tie->at.extent) * step + i % step;
    size_t start = line_start(&tie->from, line);
    return sort_key(tie->x, start + (size_t)position * tie->from.step) ==
           sort_key(tie->x, start + (size_t)tie->own->integer[i] * tie->from.step);
}

static struct node *settled(struct call *call, size_t output, struct node *x, int dim,
                            struct node *own, bool prefix)
{
    if (!x->integer) (void)node_values(call->tape, x);
    struct tie tie = tie_of(x, dim, own, prefix);
    return call_settled_indices(call, output, own, same_value, &tie);
}

struct node *settled_positions(struct call *call, size_t output, struct node *x, int dim,
                               struct node *own)
{
    return settled(call, output, x, dim, own, false);
}

struct node *settled_prefix_positions(struct call *call, size_t output, struct node *x, int dim,
                                      struct node *own)
{
    return settled(call, output, x, dim, own, true);
}

struct node *settled_order(struct call *call, size_t output, struct node *x, int dim,
                           struct node *own)
{
    struct node *taken = settled(call, output, x, dim, own, false);
    size_t extent = x->rank ? (size_t)x->shape[dim] : 1;
    return taken == own || positions_are_distinct(call->tape, taken, dim, extent) ? taken : own;
}

bool positions_tie(const struct node *x, int dim, const struct node *own, const struct node *theirs)
{
    struct tie tie = tie_of(x, dim, own, false);
    for (size_t i = 0; i < own->n; i++)
        if (theirs->integer[i] != own->integer[i] && !same_value(&tie, i, theirs->integer[i]))
            return false;
    return true;
}

bool positions_are_distinct(struct tape *tape, const struct node *positions, int dim, size_t extent)
{
    struct lines lines = lines_along(positions, dim);
    size_t *seen = tape_allocate(tape, extent, sizeof *seen);
    if (!seen) return false;
    memset(seen, 0, extent * sizeof *seen);
    for (size_t line = 0; line < lines.count; line++)
        for (size_t k = 0; k < lines.extent; k++) {
            int64_t at = positions->integer[line_start(&lines, line) + k * lines.step];
            if (at < 0 || (size_t)at >= extent || seen[at] == line + 1) return false;
            seen[at] = line + 1;
        }
    return true;
}
