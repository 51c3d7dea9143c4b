/* Recorded groups are taken when they are a whole division of the ranks; a dump of which only a part
 * communicates falls back to the order. */
#include "graph/parallel_groups.h"

#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "graph/communication_record.h"

/* ---- by the order of the dimensions ------------------------------------------------------------ */

static struct status allocate_groups(struct rank_groups *out, const struct parallel_layout *layout,
                                     unsigned size)
{
    out->size = size;
    out->count = layout->rank_size / size;
    out->ranks = memory_allocate(layout->rank_size * sizeof *out->ranks);
    return out->ranks ? status_ok() : status_no_memory(layout->rank_size * sizeof *out->ranks);
}

static int by_number(const void *a, const void *b)
{
    unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
    return (x > y) - (x < y);
}

/* The k-th smallest number of a rank stands for k. */
static struct status groups_by_order(struct rank_groups *out, const struct parallel_layout *layout,
                                     const struct rank_side *ranks, enum parallel_dimension across)
{
    unsigned n = layout->rank_size, *sorted = memory_allocate(n * sizeof *sorted);
    if (!sorted) return status_no_memory(n * sizeof *sorted);
    for (unsigned i = 0; i < n; i++) sorted[i] = ranks[i].rank;
    qsort(sorted, n, sizeof *sorted, by_number);
    struct status status = allocate_groups(out, layout, parallel_size(layout, across));
    for (unsigned i = 0; !status.code && i < n; i++)
        out->ranks[i] = sorted[parallel_rank(layout, across, i / out->size, i % out->size)];
    memory_release(sorted);
    return status;
}

/* ---- as recorded ------------------------------------------------------------------------------- */

/* The index of a rank among the sides, or rank_size. */
static unsigned index_of_rank(const struct parallel_layout *layout, const struct rank_side *ranks,
                              int64_t rank)
{
    unsigned i = 0;
    while (i < layout->rank_size && ranks[i].rank != rank) i++;
    return i;
}

/* A call of a rank that is looked at; true ends the search. */
typedef bool looks_at(void *context, struct name_slice name,
                      const struct communication_arguments *arguments);

static struct status look_at_calls(const struct graph_side *side, looks_at *look, void *context)
{
    uint64_t *places;
    TRY(side_find_records(&places, side, communication_prefix));
    for (uint32_t node = 0; node < side->model.n_nodes; node++) {
        struct communication_arguments arguments;
        struct json record;
        if (places[node] == PLACE_NONE) continue;
        json_open(&record, (const char *)side->dump.data + places[node],
                  side->dump.bytes - places[node]);
        communication_arguments_read(&arguments, record);
        if (look(context, model_name(&side->model, node), &arguments)) break;
    }
    memory_release(places);
    return status_ok();
}

/* ---- tensors ----------------------------------------------------------------------------------- */

struct reduction {
    unsigned size;             /* wanted */
    struct json_slice members; /* found; text NULL: none */
};

static size_t count_members(struct json_slice text)
{
    struct json members;
    int64_t rank;
    size_t count = 0;
    group_members_open(&members, text);
    while (group_members_next(&rank, &members)) count++;
    return count;
}

static bool look_at_reduction(void *context, struct name_slice name,
                              const struct communication_arguments *arguments)
{
    struct reduction *reduction = context;
    bool reduces = memmem(name.text, name.length, "reduce_scatter", 14) ||
                   memmem(name.text, name.length, "all_reduce", 10);
    if (!reduces || !arguments->members.text) return false;
    if (count_members(arguments->members) != reduction->size) return false;
    reduction->members = arguments->members;
    return true;
}

/* Put the group that rank `i` names behind those that are known; *whole is false when it has a rank
 * of another group, or one that has no dump. */
static void add_group(struct rank_groups *out, unsigned *filled, bool *whole, bool *taken,
                      const struct parallel_layout *layout, const struct rank_side *ranks,
                      struct json_slice text)
{
    struct json members;
    int64_t rank;
    group_members_open(&members, text);
    while (group_members_next(&rank, &members)) {
        unsigned at = index_of_rank(layout, ranks, rank);
        if (at == layout->rank_size || taken[at]) {
            *whole = false;
            return;
        }
        taken[at] = true;
        out->ranks[(*filled)++] = (unsigned)rank;
    }
}

static struct status recorded_reductions(bool *whole, struct rank_groups *out,
                                         const struct parallel_layout *layout,
                                         const struct rank_side *ranks, bool *taken)
{
    unsigned filled = 0;
    *whole = true;
    for (unsigned i = 0; *whole && i < layout->rank_size; i++) {
        struct reduction found = { .size = layout->tp };
        if (taken[i]) continue;
        TRY(look_at_calls(ranks[i].side, look_at_reduction, &found));
        if (!found.members.text) *whole = false;
        else add_group(out, &filled, whole, taken, layout, ranks, found.members);
    }
    return status_ok();
}

/* ---- pipelines --------------------------------------------------------------------------------- */

struct sending {
    unsigned rank;
    int64_t peer; /* found; -1: none */
};

static struct status look_at_operation(void *context, const struct batch_operation *operation)
{
    struct sending *sending = context;
    bool sends = name_slice_is(name_slice_of(operation->name.text, operation->name.bytes), "isend");
    if (sends && sending->peer < 0 && operation->peer != sending->rank)
        sending->peer = operation->peer;
    return status_ok();
}

static bool look_at_sending(void *context, struct name_slice name,
                            const struct communication_arguments *arguments)
{
    struct sending *sending = context;
    struct name_slice call = name_part(name, 1);
    if (name_slice_is(call, "batch_isend_irecv"))
        (void)batch_operations_walk(arguments, look_at_operation, sending);
    else if ((name_slice_is(call, "send") || name_slice_is(call, "isend")) &&
             arguments->has[ARGUMENT_DST])
        sending->peer = arguments->rank[ARGUMENT_DST];
    return sending->peer >= 0;
}

/* The peers that ranks send to first, as indices; rank_size: none. */
static struct status find_peers(unsigned *peer, const struct parallel_layout *layout,
                                const struct rank_side *ranks)
{
    for (unsigned i = 0; i < layout->rank_size; i++) {
        struct sending found = { ranks[i].rank, -1 };
        TRY(look_at_calls(ranks[i].side, look_at_sending, &found));
        peer[i] = index_of_rank(layout, ranks, found.peer);
    }
    return status_ok();
}

/* Chains from each rank that is in none yet, lowest first; the last stage sends back, or nowhere. */
static bool chain_ranks(struct rank_groups *out, bool *taken, const unsigned *peer,
                        const struct parallel_layout *layout, const struct rank_side *ranks)
{
    unsigned filled = 0;
    for (unsigned i = 0; i < layout->rank_size; i++) {
        unsigned length = 0;
        if (taken[i]) continue;
        for (unsigned at = i; at < layout->rank_size && !taken[at]; at = peer[at], length++) {
            taken[at] = true;
            out->ranks[filled++] = ranks[at].rank;
        }
        if (length != layout->pp) return false;
    }
    return true;
}

static struct status recorded_pipelines(bool *whole, struct rank_groups *out,
                                        const struct parallel_layout *layout,
                                        const struct rank_side *ranks, bool *taken)
{
    unsigned *peer = memory_allocate(layout->rank_size * sizeof *peer);
    *whole = false;
    if (!peer) return status_no_memory(layout->rank_size * sizeof *peer);
    struct status status = find_peers(peer, layout, ranks);
    if (!status.code) *whole = chain_ranks(out, taken, peer, layout, ranks);
    memory_release(peer);
    return status;
}

/* ---- both -------------------------------------------------------------------------------------- */

typedef struct status recorded_groups(bool *whole, struct rank_groups *out,
                                      const struct parallel_layout *layout,
                                      const struct rank_side *ranks, bool *taken);

static struct status find_groups(struct rank_groups *out, const struct parallel_layout *layout,
                                 const struct rank_side *ranks, enum parallel_dimension across,
                                 recorded_groups *recorded)
{
    bool whole = false, *taken = memory_allocate_zeroed(layout->rank_size, sizeof *taken);
    *out = (struct rank_groups){ .ranks = NULL };
    if (!taken) return status_no_memory(layout->rank_size);
    struct status status = allocate_groups(out, layout, parallel_size(layout, across));
    if (!status.code && out->size > 1) status = recorded(&whole, out, layout, ranks, taken);
    memory_release(taken);
    if (!status.code && !whole) {
        rank_groups_release(out);
        status = groups_by_order(out, layout, ranks, across);
    }
    if (status.code) rank_groups_release(out);
    return status;
}

struct status tensor_groups(struct rank_groups *out, const struct parallel_layout *layout,
                            const struct rank_side *ranks)
{
    return find_groups(out, layout, ranks, PARALLEL_TENSOR, recorded_reductions);
}

struct status pipeline_groups(struct rank_groups *out, const struct parallel_layout *layout,
                              const struct rank_side *ranks)
{
    return find_groups(out, layout, ranks, PARALLEL_PIPELINE, recorded_pipelines);
}

void rank_groups_release(struct rank_groups *groups)
{
    memory_release(groups->ranks);
    *groups = (struct rank_groups){ .ranks = NULL };
}
