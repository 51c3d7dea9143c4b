/* Every dump is opened as a run would open it, for its calls and their costs, which are kept as four bytes a
 * call; then the calls are cut (cluster/shards.h). Dumps that are one file (hard links) are read once. */
#include "cluster/plan.h"

#include <string.h>
#include <sys/stat.h>

#include "cluster/cost.h"
#include "cluster/shards.h"
#include "core/clock.h"
#include "core/memory.h"
#include "report/progress.h"
#include "runner/call_selection.h"
#include "runner/run_inputs.h"
#include "standards/profile.h"

/* What was read of a dump: the calls that are checked. */
struct dump_costs {
    float *seconds;    /* of each; owned unless shared */
    size_t *positions; /* in the dump; owned likewise; NULL: all are checked */
    bool is_read, shared;
    dev_t device;
    ino_t inode;
    uint64_t digest;
    size_t calls, checked;
};

struct planning {
    const struct plan_request *request;
    struct plan *plan;
    struct arena *arena;  /* of the plan */
    struct arena scratch; /* of a call */
    struct cost_estimator estimator;
    struct call_set *met;     /* with -f over several dumps */
    struct dump_costs *costs; /* by dump; owned */
    size_t checked;
};

/* ---- one dump --------------------------------------------------------------------------- */

static struct status estimate_call(float *out, struct planning *p, const struct run_inputs *inputs,
                                   size_t position)
{
    struct api_case c;
    enum row_cause cause;
    struct status status = dump_read_case(&c, &p->scratch, inputs->dump, position);
    if (status.code && status.code != STATUS_SKIP) return status;
    bool tried = !status.code && !api_lists_admit(&cause, &inputs->lists, &c).code;
    c.framework = inputs->framework;
    *out = (float)(tried ? cost_call_seconds(&p->estimator, &c)
                         : cost_skipped_seconds(&p->estimator.model));
    arena_reset(&p->scratch);
    return status_ok();
}

/* Costs of the calls that a run would check. */
static struct status measure_calls(struct dump_costs *costs, struct planning *p,
                                   struct run_inputs *inputs)
{
    struct call_order *order = &inputs->order;
    costs->calls = dump_count(inputs->dump);
    costs->checked = order->count;
    costs->digest = dump_digest(inputs->dump);
    costs->is_read = true;
    costs->seconds = memory_allocate(order->count * sizeof *costs->seconds);
    if (!costs->seconds) return status_no_memory(order->count * sizeof *costs->seconds);
    for (size_t i = 0; i < order->count; i++)
        TRY(estimate_call(&costs->seconds[i], p, inputs, order->positions[i]));
    if (costs->checked == costs->calls) return status_ok();
    costs->positions = order->positions;
    order->positions = NULL;
    order->count = 0;
    return status_ok();
}

/* Add a call that -f leaves out; calls between it and the last one of which nobody asks do not part them. */
static void add_left_out(struct plan_dump *dump, struct position_range *ranges, size_t position,
                         bool joins)
{
    if (joins) ranges[dump->n_left_out - 1].end = position + 1;
    else ranges[dump->n_left_out++] = (struct position_range){ position, position + 1 };
}

/* Those of `all`, the calls without -f, that `kept` has not. Both ascend. */
static struct status list_left_out(struct plan_dump *dump, struct arena *arena,
                                   const struct call_order *all, const struct call_order *kept)
{
    struct position_range *ranges = memory_allocate_zeroed(all->count, sizeof *ranges);
    bool joins = false;
    if (!ranges) return status_no_memory(all->count * sizeof *ranges);
    for (size_t i = 0, k = 0; i < all->count; i++) {
        bool is_kept = k < kept->count && kept->positions[k] == all->positions[i];
        if (is_kept) k++;
        else add_left_out(dump, ranges, all->positions[i], joins);
        joins = !is_kept;
    }
    struct position_range *copy = arena_allocate_array(arena, dump->n_left_out, sizeof *copy);
    if (copy && dump->n_left_out) memcpy(copy, ranges, dump->n_left_out * sizeof *copy);
    memory_release(ranges);
    dump->left_out = copy;
    return copy ? status_ok() : status_no_memory(dump->n_left_out * sizeof *copy);
}

/* With -f: which of the calls that would be checked without it are not. */
static struct status note_duplicates(struct plan_dump *dump, struct planning *p,
                                     const struct run_inputs *inputs)
{
    const struct call_scope scope = { .framework = inputs->framework,
                                      .listed_only =
                                          profile_rules(inputs->profile)->listed_names_only,
                                      .is_one_of_many = true };
    struct call_order all;
    if (!p->request->options->filter_api) return status_ok();
    struct status status = call_selection_make(&all, inputs->dump, inputs->path, &inputs->lists,
                                               &scope, (struct warnings){ NULL, NULL });
    if (!status.code) status = list_left_out(dump, p->arena, &all, &inputs->order);
    memory_release(all.positions);
    return status;
}

static struct status read_dump(struct planning *p, size_t place)
{
    const struct dump_place *at = &p->request->tree->items[place];
    struct plan_dump *dump = &p->plan->dumps[place];
    struct run_options options = *p->request->options;
    struct run_inputs inputs;
    options.api_info = at->path;
    if (!p->request->single) options.folder = at->folder;
    struct status status = run_inputs_open(&inputs, &options, p->met);
    if (!status.code) status = note_duplicates(dump, p, &inputs);
    if (!status.code) status = measure_calls(&p->costs[place], p, &inputs);
    run_inputs_close(&inputs);
    return status;
}

/* ---- all dumps -------------------------------------------------------------------------- */

/* A dump before this one that is the same file; what -f leaves out of a dump depends on those before it. */
static const struct dump_costs *find_same(const struct planning *p, size_t place)
{
    const struct dump_costs *costs = &p->costs[place];
    for (size_t i = place; i-- && !p->met;) {
        const struct dump_costs *other = &p->costs[i];
        if (other->is_read && costs->inode && other->inode == costs->inode &&
            other->device == costs->device)
            return other;
    }
    return NULL;
}

static void note_file(struct dump_costs *costs, const char *path)
{
    struct stat info;
    if (stat(path, &info)) return;
    costs->device = info.st_dev;
    costs->inode = info.st_ino;
}

static struct status refuse(struct planning *p, size_t place, struct status why)
{
    struct plan_dump *dump = &p->plan->dumps[place];
    if (why.code != STATUS_BAD_INPUT || p->request->single) return why;
    dump->refused = arena_copy_string(p->arena, why.text);
    warn(p->request->options->warnings, "%s", why.text);
    return dump->refused ? status_ok() : status_no_memory(0);
}

/* The rest of a path behind its root. */
static const char *below(const char *path, const char *root)
{
    size_t length = strlen(root);
    if (strncmp(path, root, length) != 0) return path;
    return path + length + strspn(path + length, "/");
}

static struct status add_dump(struct planning *p, size_t place)
{
    const struct dump_place *at = &p->request->tree->items[place];
    struct plan_dump *dump = &p->plan->dumps[place];
    struct dump_costs *costs = &p->costs[place];
    dump->folder = p->request->single ? "" : at->folder;
    dump->path = below(at->path, p->request->options->api_info);
    dump->bytes = at->bytes;
    note_file(costs, at->path);
    const struct dump_costs *same = find_same(p, place);
    if (same) {
        *costs = *same;
        costs->shared = true;
        dump->left_out = p->plan->dumps[same - p->costs].left_out;
        dump->n_left_out = p->plan->dumps[same - p->costs].n_left_out;
    } else {
        struct status status = read_dump(p, place);
        if (status.code) return refuse(p, place, status);
    }
    dump->digest = costs->digest;
    dump->calls = costs->calls;
    dump->checked = costs->checked;
    p->checked += costs->checked;
    return status_ok();
}

static struct status read_dumps(struct planning *p)
{
    const struct dump_tree *tree = p->request->tree;
    struct progress progress;
    progress_start(&progress, stderr, !p->request->options->no_progress, tree->count, 0, 0,
                   clock_seconds());
    progress.unit = "dumps";
    progress.unjudged = true;
    struct status status = status_ok();
    for (size_t i = 0; i < tree->count && !status.code; i++) {
        status = add_dump(p, i);
        progress_count(&progress, false);
        progress_show(&progress, clock_seconds());
    }
    progress_end(&progress);
    return status;
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
    if (!p->checked)
        return status_error(STATUS_BAD_ARGUMENT, "there is no call to check in '%s'",
                            file_shown(p->request->options->api_info).text);
    struct status status = cut(&shards, p);
    if (!status.code) status = take_shards(p, &shards);
    shards_release(&shards);
    return status;
}

/* ---- all of it -------------------------------------------------------------------------- */

static struct status make(struct planning *p)
{
    const struct dump_tree *tree = p->request->tree;
    p->plan->n_dumps = tree->count;
    p->plan->dumps = arena_allocate_zeroed(p->arena, tree->count, sizeof *p->plan->dumps);
    p->costs = memory_allocate_zeroed(tree->count, sizeof *p->costs);
    if (!p->plan->dumps || !p->costs) return status_no_memory(tree->count * sizeof *p->costs);
    if (p->request->options->filter_api && !p->request->single) TRY(call_set_create(&p->met));
    TRY(read_dumps(p));
    return cut_shards(p);
}

static void release_costs(struct planning *p)
{
    for (size_t i = 0; p->costs && i < p->plan->n_dumps; i++) {
        if (p->costs[i].shared) continue;
        memory_release(p->costs[i].seconds);
        memory_release(p->costs[i].positions);
    }
    memory_release(p->costs);
}

struct status plan_make(struct plan *out, struct arena *arena, const struct plan_request *request)
{
    struct planning p = { .request = request, .plan = out, .arena = arena };
    TRY(cost_estimator_open(&p.estimator, request->model));
    struct status status = make(&p);
    release_costs(&p);
    call_set_release(p.met);
    arena_release(&p.scratch);
    cost_estimator_close(&p.estimator);
    return status;
}
