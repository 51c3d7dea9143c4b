/* Sizes are tried from below: small calls cost little, and a failure that comes and goes with the
 * size (the tail of a tile) is found at its smallest. */
#include "shrink/reductions.h"
#include "variation/axes.h"

/* The best call with another size of the axis. *done: it fails too, and is the best one now. */
static struct status try_side(bool *done, struct search *search, const struct axis *axis,
                              int64_t size, enum axis_side side, bool wraps)
{
    struct api_case c;
    bool any = true;
    *done = false;
    TRY(search_copy(&c, search));
    struct status status = axis_resize(&c, search->trial_arena, axis, size, side);
    if (status.code == STATUS_SKIP) return status_ok();
    TRY(status);
    if (wraps) axis_wrap_indices(&any, &c, axis->size, size);
    return any ? search_try(done, search, &c) : status_ok();
}

/* The first elements, the last ones, the first with the indices brought into range. */
static struct status try_size(bool *done, struct search *search, struct axis *axis, int64_t size)
{
    *done = false;
    TRY(try_side(done, search, axis, size, SIDE_FRONT, false));
    if (!*done) TRY(try_side(done, search, axis, size, SIDE_BACK, false));
    if (!*done) TRY(try_side(done, search, axis, size, SIDE_FRONT, true));
    if (!*done) return status_ok();
    for (size_t i = 0; i < axis->slots.count; i++)
        axis->slots.items[i].size = axis->slots.items[i].size * size / axis->size;
    axis->size = size;
    return status_ok();
}

/* The smallest size: doubling from 1 to the first that fails, then between that and the last that
 * does not. */
static struct status reduce_axis(bool *changed, struct search *search, struct axis *axis)
{
    int64_t passes = 0, size;
    bool done = false;
    for (size = 1; size < axis->size && !done; size *= 2) {
        TRY(try_size(&done, search, axis, size));
        if (search_is_over(search)) break;
        if (!done) passes = size;
    }
    *changed |= done;
    while (axis->size - passes > 1 && !search_is_over(search)) {
        int64_t middle = passes + (axis->size - passes) / 2;
        TRY(try_size(&done, search, axis, middle));
        if (!done) passes = middle;
        *changed |= done;
    }
    return status_ok();
}

/* The axis of a slot as the call is now. */
static struct status find_axis(struct axis *out, bool *found, const struct search *search,
                               const struct slot *slot, enum axis_probe probe)
{
    struct slots now;
    *found = false;
    slots_list(&now, &search->best);
    for (size_t i = 0; i < now.count; i++)
        if (slot_is_same(&now.items[i], slot))
            return axis_find(out, found, &search->best, &now, i, probe);
    return status_ok();
}

/* The axis of a slot, as growing tells what belongs to it; where that gains nothing as cutting does, and
 * then all equal extents. */
static struct status reduce_slot(bool *changed, struct search *search, const struct slot *slot,
                                 struct slots *covered)
{
    static const enum axis_probe probes[] = { PROBE_GROW, PROBE_CUT, PROBE_ALL };
    bool reduced = false;
    for (size_t p = 0; p < sizeof probes / sizeof *probes && !reduced && !search_is_over(search);
         p++) {
        struct axis axis;
        bool found;
        TRY(find_axis(&axis, &found, search, slot, probes[p]));
        if (found) TRY(reduce_axis(&reduced, search, &axis));
        for (size_t i = 0; found && i < axis.slots.count && covered->count < AXIS_SLOTS; i++)
            covered->items[covered->count++] = axis.slots.items[i];
    }
    *changed |= reduced;
    return status_ok();
}

struct status reduce_dimensions(bool *changed, struct search *search)
{
    struct slots slots, covered = { .count = 0 };
    slots_list(&slots, &search->best);
    for (size_t s = 0; s < slots.count; s++) {
        bool is_covered = slots.items[s].integer;
        for (size_t i = 0; i < covered.count; i++)
            is_covered |= slot_is_same(&covered.items[i], &slots.items[s]);
        if (!is_covered) TRY(reduce_slot(changed, search, &slots.items[s], &covered));
    }
    return status_ok();
}
