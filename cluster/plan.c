/* The costs of all calls (cluster/dump_costs.h), cut (cluster/shards.h), as a plan. */
#include "cluster/plan.h"

#include <string.h>

#include "cluster/dump_costs.h"
#include "cluster/shards.h"
#include "core/memory.h"
#include "runner/environment.h"

struct planning {
    const struct plan_request *request;
    struct plan *plan;
    struct arena *arena;      /* of the plan */
    struct dump_costs *costs; /* by dump; owned */
};

/* ---- dumps ------------------------------------------------------------------------------ */

/* The rest of a path behind its root. */
static const char *below(const char *path, const char *root)
{
    size_t length = strlen(root);
    if (strncmp(path, root, length) != 0) return path;
    return path + length + strspn(path + length, "/");
}

static struct status copy_left_out(struct plan_dump *dump, struct arena *arena,
                                   const struct dump_costs *costs)
{
    struct position_range *copy = arena_allocate_array(arena, costs->n_left_out, sizeof *copy);
    if (!copy) return status_no_memory(costs->n_left_out * sizeof *copy);
    if (costs->n_left_out) memcpy(copy, costs->left_out, costs->n_left_out * sizeof *copy);
    dump->left_out = copy;
    dump->n_left_out = costs->n_left_out;
    return status_ok();
}

static struct status take_dump(struct plan_dump *dump, struct planning *p, size_t place)
{
    const struct run_options *options = p->request->options;
    const struct dump_place *at = &p->request->tree->items[place];
    const struct dump_costs *costs = &p->costs[place];
    *dump = (struct plan_dump){ .path = below(at->path, options->api_info),
                                .folder = p->request->single ? "" : at->folder,
                                .bytes = at->bytes,
                                .digest = costs->digest,
                                .calls = costs->calls,
                                .checked = costs->checked };
    if (!costs->status.code) return copy_left_out(dump, p->arena, costs);
    warn(options->warnings, "%s", costs->status.text);
    dump->refused = arena_copy_string(p->arena, costs->status.text);
    return dump->refused ? status_ok() : status_no_memory(0);
}

static struct status take_dumps(struct planning *p)
{
    struct plan *plan = p->plan;
    size_t count = p->request->tree->count;
    plan->dumps = arena_allocate_zeroed(p->arena, count, sizeof *plan->dumps);
    if (!plan->dumps) return status_no_memory(count * sizeof *plan->dumps);
    for (; plan->n_dumps < count; plan->n_dumps++)
        TRY(take_dump(&plan->dumps[plan->n_dumps], p, plan->n_dumps));
    return status_ok();
}

/* ---- shards ----------------------------------------------------------------------------- */

static struct status cut(struct shards *out, const struct planning *p)
{
    const struct plan_request *request = p->request;
    size_t count = p->plan->n_dumps;
    struct shard_dump *dumps = memory_allocate_zeroed(count, sizeof *dumps);
    if (!dumps) return status_no_memory(count * sizeof *dumps);
    for (size_t i = 0; i < count; i++)
        dumps[i] = (struct shard_dump){ p->costs[i].seconds, p->costs[i].checked };
    struct status status = request->shards
                               ? shards_cut_count(out, dumps, count, request->shards)
                               : shards_cut_seconds(out, dumps, count, request->shard_seconds);
    memory_release(dumps);
    return status;
}

/* Calls from one place up to another. */
static size_t count_calls(const struct planning *p, struct shard_place from, struct shard_place to)
{
    size_t calls = 0;
    for (size_t d = from.dump; d < p->plan->n_dumps && d <= to.dump; d++)
        calls += (d == to.dump ? to.call : p->costs[d].checked) - (d == from.dump ? from.call : 0);
    return calls;
}

/* The first shard begins with the first call of all, checked or not: every dump belongs to a shard and has
 * its files. */
static struct plan_shard first_shard(const struct plan *plan)
{
    struct plan_shard shard = { .dump = 0 };
    while (plan->dumps[shard.dump].refused) shard.dump++;
    return shard;
}

static struct status take_shards(struct planning *p, const struct shards *shards)
{
    struct plan *plan = p->plan;
    if (shards->count > PLAN_SHARDS_MOST)
        return status_error(STATUS_BAD_ARGUMENT,
                            "these would be %zu shards, and at most %d are made", shards->count,
                            PLAN_SHARDS_MOST);
    plan->shards = arena_allocate_zeroed(p->arena, shards->count, sizeof *plan->shards);
    if (!plan->shards) return status_no_memory(shards->count * sizeof *plan->shards);
    for (size_t i = 0; i < shards->count; i++) {
        const struct shard_place *start = &shards->starts[i];
        const size_t *positions = p->costs[start->dump].positions;
        struct plan_shard *shard = &plan->shards[plan->n_shards++];
        if (!i) *shard = first_shard(plan);
        else
            *shard =
                (struct plan_shard){ .dump = start->dump,
                                     .call = positions ? positions[start->call] : start->call };
        shard->calls = count_calls(p, start[0], start[1]);
        shard->seconds = shards->seconds[i];
    }
    return status_ok();
}

static struct status cut_shards(struct planning *p)
{
    struct shards shards = { .starts = NULL };
    struct status status = cut(&shards, p);
    if (!status.code && !shards.count)
        status = status_error(STATUS_BAD_ARGUMENT, "there is no call to check in '%s'",
                              file_shown(p->request->options->api_info).text);
    if (!status.code) status = take_shards(p, &shards);
    shards_release(&shards);
    return status;
}

/* ---- all of it -------------------------------------------------------------------------- */

static struct status make(struct planning *p)
{
    const struct plan_request *request = p->request;
    const struct dump_costs_request costs = { .options = request->options,
                                              .tree = request->tree,
                                              .single = request->single,
                                              .model = request->model,
                                              .threads = (size_t)environment_cores() };
    TRY(dump_costs_read(&p->costs, &costs));
    TRY(take_dumps(p));
    return cut_shards(p);
}

struct status plan_make(struct plan *out, struct arena *arena, const struct plan_request *request)
{
    struct planning p = { .request = request, .plan = out, .arena = arena };
    struct status status = make(&p);
    dump_costs_release(p.costs, request->tree->count);
    return status;
}
