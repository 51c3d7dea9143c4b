/* Each call is read once for its group; what it is numbered by and met with follows from sorting. */
#include "compare/collectives/meetings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/growing.h"
#include "core/memory.h"

struct collecting {
    struct meetings *meetings;
    struct arena arena; /* of the call at hand */
    uint32_t *counts;   /* by series: calls of this rank so far; owned */
    size_t counts_room;
};

/* "group name", or a place that no other call has. */
static struct status series_of(uint32_t *out, struct collecting *c, const struct rank_dump *rank,
                               const struct attendance *call)
{
    struct collective collective;
    struct status status =
        collective_read(&collective, &c->arena, rank->dump, rank->rank, call->position, call->rule);
    const char *key;

    if (status.code && status.code != STATUS_SKIP) return status;
    if (status.code) key = arena_format(&c->arena, "rank %zu call %zu", call->rank, call->position);
    else key = arena_format(&c->arena, "%s\n%s", collective.group, call->rule->meets);
    if (!key) return status_no_memory(0);
    return text_table_add(out, NULL, &c->meetings->series, key, strlen(key));
}

static struct status add_call(struct collecting *c, const struct rank_dump *rank,
                              struct attendance call)
{
    struct meetings *meetings = c->meetings;
    TRY(series_of(&call.series, c, rank, &call));
    TRY(array_make_zeroed_room(&c->counts, &c->counts_room, call.series, sizeof *c->counts));
    call.number = c->counts[call.series]++;
    TRY(array_make_room(&meetings->items, &meetings->room, meetings->count,
                        sizeof *meetings->items));
    meetings->items[meetings->count++] = call;
    return status_ok();
}

static struct status add_rank(struct collecting *c, const struct rank_dump *rank, size_t index)
{
    struct api_case name;
    if (c->counts) memset(c->counts, 0, c->counts_room * sizeof *c->counts);
    for (size_t i = 0; i < dump_count(rank->dump); i++) {
        arena_reset(&c->arena);
        TRY(dump_read_name(&name, &c->arena, rank->dump, i));
        const struct collective_rule *rule =
            collective_rule_of(&name, dump_header(rank->dump)->framework);
        if (!rule) continue;
        TRY(add_call(c, rank, (struct attendance){ .rank = index, .position = i, .rule = rule }));
    }
    return status_ok();
}

static int compare_calls(const void *a, const void *b)
{
    const struct attendance *x = a, *y = b;
    if (x->series != y->series) return x->series < y->series ? -1 : 1;
    if (x->number != y->number) return x->number < y->number ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

struct status meetings_find(struct meetings *out, const struct rank_dump *ranks, size_t n_ranks)
{
    struct collecting c = { .meetings = out };
    *out = (struct meetings){ .items = NULL };
    struct status status = text_table_create(&out->series);
    for (size_t r = 0; !status.code && r < n_ranks; r++) status = add_rank(&c, &ranks[r], r);
    if (out->count) qsort(out->items, out->count, sizeof *out->items, compare_calls);
    arena_release(&c.arena);
    memory_release(c.counts);
    return status;
}

void meetings_release(struct meetings *meetings)
{
    if (meetings->series.slots) text_table_release(&meetings->series);
    memory_release(meetings->items);
    *meetings = (struct meetings){ .items = NULL };
}

size_t meeting_size(const struct meetings *meetings, size_t first)
{
    const struct attendance *items = meetings->items;
    size_t end = first + 1;
    while (end < meetings->count && items[end].series == items[first].series &&
           items[end].number == items[first].number)
        end++;
    return end - first;
}
