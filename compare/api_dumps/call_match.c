/* Calls that certainly belong together are anchors, found range by range; the gaps between them are cut
 * into groups where that costs least. */
#include "compare/api_dumps/call_match.h"

#include <string.h>

#include "compare/api_dumps/align.h"
#include "core/growing.h"
#include "core/memory.h"

#define NONE SIZE_MAX

/* Calls first..end of both steps. */
struct range {
    size_t origin, origin_end, target, target_end;
};

/* One attribute within a range. */
struct tally {
    size_t origin, target; /* how often */
    size_t first;          /* its first call of the origin */
};

struct matching {
    const struct api_step *origin, *target;
    size_t *target_of;     /* by call of the origin: its anchor, or NONE */
    struct tally *tallies; /* by attribute; all zeros between ranges */
    struct range *ranges;  /* that are still to be split */
    size_t n_ranges, ranges_room;
};

/* ---- anchors ---------------------------------------------------------------------------- */

static struct status push_range(struct matching *matching, struct range range)
{
    if (range.origin == range.origin_end || range.target == range.target_end) return status_ok();
    TRY(array_make_room(&matching->ranges, &matching->ranges_room, matching->n_ranges,
                        sizeof *matching->ranges));
    matching->ranges[matching->n_ranges++] = range;
    return status_ok();
}

/* Is the attribute of call `a` a better anchor than that of `b`? Calls of the origin. */
static bool is_better(const struct matching *matching, const struct api_call *a,
                      const struct api_call *b)
{
    if (a->kind != b->kind) return a->kind < b->kind;
    if (a->ratio != b->ratio) return a->ratio < b->ratio;
    return matching->tallies[a->attribute].origin > matching->tallies[b->attribute].origin;
}

/* The first call of the best attribute of a range; NULL when there is no anchor. */
static const struct api_call *choose(struct matching *matching, const struct range *range)
{
    const struct api_call *best = NULL, *calls = matching->origin->calls;

    for (size_t i = range->origin; i < range->origin_end; i++) {
        struct tally *tally = &matching->tallies[calls[i].attribute];
        if (!tally->origin++) tally->first = i;
    }
    for (size_t i = range->target; i < range->target_end; i++)
        matching->tallies[matching->target->calls[i].attribute].target++;
    for (size_t i = range->origin; i < range->origin_end; i++) {
        const struct tally *tally = &matching->tallies[calls[i].attribute];
        if (tally->first == i && tally->origin == tally->target &&
            (!best || is_better(matching, &calls[i], best)))
            best = &calls[i];
    }
    for (size_t i = range->origin; i < range->origin_end; i++)
        matching->tallies[calls[i].attribute] = (struct tally){ 0 };
    for (size_t i = range->target; i < range->target_end; i++)
        matching->tallies[matching->target->calls[i].attribute] = (struct tally){ 0 };
    return best;
}

/* Pair the calls of the best attribute in order and leave the gaps to be split. */
static struct status split_range(struct matching *matching, struct range range)
{
    const struct api_call *best = choose(matching, &range);
    struct range gap = range;

    if (!best) return status_ok();
    uint32_t attribute = best->attribute;
    size_t j = range.target;
    for (size_t i = range.origin; i < range.origin_end; i++) {
        if (matching->origin->calls[i].attribute != attribute) continue;
        while (matching->target->calls[j].attribute != attribute) j++;
        matching->target_of[i] = j;
        gap.origin_end = i;
        gap.target_end = j;
        TRY(push_range(matching, gap));
        gap.origin = i + 1;
        gap.target = ++j;
    }
    gap.origin_end = range.origin_end;
    gap.target_end = range.target_end;
    return push_range(matching, gap);
}

static struct status find_anchors(struct matching *matching)
{
    struct range all = { 0, matching->origin->count, 0, matching->target->count };
    TRY(push_range(matching, all));
    while (matching->n_ranges) TRY(split_range(matching, matching->ranges[--matching->n_ranges]));
    return status_ok();
}

/* ---- gaps ------------------------------------------------------------------------------- */

/* The calls beside a boundary, NULL at the ends of the gap. */
struct boundary {
    const struct api_call *before, *behind;
};

struct gap {
    const struct api_step *origin, *target;
    struct range range;
    uint32_t no_shapes; /* the number of an empty list of shapes */
};

static struct boundary boundary_at(const struct api_step *step, size_t first, size_t end, size_t i)
{
    return (struct boundary){ .before = i ? &step->calls[first + i - 1] : NULL,
                              .behind = first + i < end ? &step->calls[first + i] : NULL };
}

/* Levenshtein's distance by the length of the longer; 1 for two empty names. */
static double name_distance(const struct api_call *a, const struct api_call *b)
{
    enum { LONGEST = 128 }; /* of what is looked at; names of APIs have some 20 letters */
    size_t row[LONGEST + 1];
    const char *x = a ? a->name : "", *y = b ? b->name : "";
    size_t n = strnlen(x, LONGEST), m = strnlen(y, LONGEST);

    if (!n || !m) return 1;
    if (a->name_id == b->name_id) return 0;
    for (size_t j = 0; j <= m; j++) row[j] = j;
    for (size_t i = 0; i < n; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < m; j++) {
            size_t best = diagonal + (x[i] != y[j]);
            if (row[j + 1] + 1 < best) best = row[j + 1] + 1;
            if (row[j] + 1 < best) best = row[j] + 1;
            diagonal = row[j + 1];
            row[j + 1] = best;
        }
    }
    return (double)row[m] / (double)(n > m ? n : m);
}

static double boundary_cost(void *context, bool *matched, size_t a, size_t b)
{
    const struct gap *gap = context;
    struct boundary x = boundary_at(gap->origin, gap->range.origin, gap->range.origin_end, a);
    struct boundary y = boundary_at(gap->target, gap->range.target, gap->range.target_end, b);
    uint32_t x_out = x.before ? x.before->outputs_id : gap->no_shapes;
    uint32_t y_out = y.before ? y.before->outputs_id : gap->no_shapes;
    uint32_t x_in = x.behind ? x.behind->inputs_id : gap->no_shapes;
    uint32_t y_in = y.behind ? y.behind->inputs_id : gap->no_shapes;

    *matched = x_out == y_out && x_in == y_in;
    if (!*matched) return 1;
    return (name_distance(x.before, y.before) + name_distance(x.behind, y.behind)) / 2 / 20;
}

static void add_group(struct call_groups *out, struct range range)
{
    struct call_group group = { range.origin, range.origin_end - range.origin, range.target,
                                range.target_end - range.target };
    if (group.n_origin || group.n_target) out->items[out->count++] = group;
}

/* Cut a gap at the boundaries that are aligned. */
static struct status cut_gap(struct call_groups *out, struct arena *arena,
                             const struct matching *matching, struct range range,
                             uint32_t no_shapes)
{
    size_t n_origin = range.origin_end - range.origin, n_target = range.target_end - range.target;
    struct gap gap = { matching->origin, matching->target, range, no_shapes };
    struct align_pair *cuts;
    size_t n_cuts;

    if (!n_origin || !n_target) {
        add_group(out, range);
        return status_ok();
    }
    TRY(align(&cuts, &n_cuts, arena, n_origin + 1, n_target + 1, boundary_cost, &gap));
    for (size_t i = 0; i < n_cuts; i++) {
        struct range group = range;
        group.origin_end = gap.range.origin + cuts[i].a;
        group.target_end = gap.range.target + cuts[i].b;
        add_group(out, group);
        range.origin = group.origin_end;
        range.target = group.target_end;
    }
    add_group(out, range);
    return status_ok();
}

/* ---- all of it -------------------------------------------------------------------------- */

static struct status collect(struct call_groups *out, struct arena *arena,
                             const struct matching *matching, uint32_t no_shapes)
{
    struct range gap = { 0 };
    for (size_t i = 0; i < matching->origin->count; i++) {
        size_t j = matching->target_of[i];
        if (j == NONE) continue;
        gap.origin_end = i;
        gap.target_end = j;
        TRY(cut_gap(out, arena, matching, gap, no_shapes));
        add_group(out, (struct range){ i, i + 1, j, j + 1 });
        gap.origin = i + 1;
        gap.target = j + 1;
    }
    gap.origin_end = matching->origin->count;
    gap.target_end = matching->target->count;
    return cut_gap(out, arena, matching, gap, no_shapes);
}

/* Numbers of attributes are numbers of texts: the largest is enough for a table of them. */
static size_t count_attributes(const struct api_step *step)
{
    size_t most = 0;
    for (size_t i = 0; i < step->count; i++)
        if (step->calls[i].attribute >= most) most = step->calls[i].attribute + (size_t)1;
    return most;
}

struct status call_match(struct call_groups *out, struct arena *arena,
                         const struct api_step *origin, const struct api_step *target,
                         uint32_t no_shapes)
{
    struct matching matching = { .origin = origin, .target = target };
    size_t attributes = count_attributes(origin), others = count_attributes(target);

    if (others > attributes) attributes = others;
    out->count = 0;
    out->items = arena_allocate_array(arena, origin->count + target->count, sizeof *out->items);
    matching.target_of = arena_allocate_array(arena, origin->count, sizeof *matching.target_of);
    matching.tallies = memory_allocate_zeroed(attributes + 1, sizeof *matching.tallies);
    struct status status = out->items && matching.target_of && matching.tallies
                               ? status_ok()
                               : status_no_memory(attributes * sizeof *matching.tallies);
    for (size_t i = 0; !status.code && i < origin->count; i++) matching.target_of[i] = NONE;
    if (!status.code) status = find_anchors(&matching);
    if (!status.code) status = collect(out, arena, &matching, no_shapes);
    memory_release(matching.tallies);
    memory_release(matching.ranges);
    return status;
}
