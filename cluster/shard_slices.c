/* From where a shard begins to where the next one does, dump by dump. */
#include "cluster/shard_slices.h"

#include "cluster/job_paths.h"

/* Where the calls of a shard end: behind the last of them. */
static struct plan_shard end_of(const struct plan *plan, size_t shard)
{
    if (shard + 1 < plan->n_shards) return plan->shards[shard + 1];
    return (struct plan_shard){ .dump = plan->n_dumps };
}

struct status shard_slices_list(struct shard_slices *out, struct arena *arena,
                                const struct plan *plan, size_t shard)
{
    const struct plan_shard *begin = &plan->shards[shard], end = end_of(plan, shard);
    size_t most = end.dump - begin->dump + 1;
    *out = (struct shard_slices){ .items = arena_allocate_zeroed(arena, most, sizeof *out->items) };
    if (!out->items) return status_no_memory(most * sizeof *out->items);
    for (size_t d = begin->dump; d < plan->n_dumps && d <= end.dump; d++) {
        const struct plan_dump *dump = &plan->dumps[d];
        const struct position_range calls = { d == begin->dump ? begin->call : 0,
                                              d == end.dump ? end.call : dump->calls };
        if (dump->refused || calls.first >= calls.end) continue;
        const char *told = path_join(arena, plan->root, dump->path);
        if (!told) return status_no_memory(0);
        out->items[out->count++] = (struct shard_slice){ .dump = d,
                                                         .slice = { .calls = calls,
                                                                    .left_out = dump->left_out,
                                                                    .n_left_out = dump->n_left_out,
                                                                    .digest = dump->digest,
                                                                    .told_path = told } };
    }
    return status_ok();
}

static struct status place_dump(struct dump_place *out, struct arena *arena,
                                const struct plan_dump *dump, const char *root)
{
    *out = (struct dump_place){ .path = path_join(arena, root, dump->path),
                                .folder = dump->folder,
                                .step = -1,
                                .rank = -1,
                                .bytes = dump->bytes };
    return out->path ? status_ok() : status_no_memory(0);
}

struct status shard_slices_tree(struct dump_tree *out, struct arena *arena, const struct plan *plan,
                                const struct shard_slices *slices, const char *root)
{
    struct dump_place *places = arena_allocate_zeroed(arena, slices->count, sizeof *places);
    if (!places) return status_no_memory(slices->count * sizeof *places);
    for (size_t i = 0; i < slices->count; i++) {
        const struct shard_slice *item = &slices->items[i];
        TRY(place_dump(&places[i], arena, &plan->dumps[item->dump], root));
        places[i].slice = &item->slice;
    }
    *out = (struct dump_tree){ .items = places, .count = slices->count, .all = slices->count };
    return status_ok();
}

struct status plan_tree(struct dump_tree *out, struct arena *arena, const struct plan *plan,
                        const char *root)
{
    struct dump_place *places = arena_allocate_zeroed(arena, plan->n_dumps, sizeof *places);
    if (!places) return status_no_memory(plan->n_dumps * sizeof *places);
    for (size_t i = 0; i < plan->n_dumps; i++)
        TRY(place_dump(&places[i], arena, &plan->dumps[i], root));
    *out = (struct dump_tree){ .items = places, .count = plan->n_dumps, .all = plan->n_dumps };
    return status_ok();
}
