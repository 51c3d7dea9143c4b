/* Graphs are made, written and let go one by one, so that memory holds one rank at a time. */
#include "graph/job.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/file.h"
#include "core/memory.h"
#include "graph/communication.h"
#include "graph/database.h"
#include "graph/merge.h"
#include "graph/page_file.h"
#include "graph/vis_file.h"

struct running {
    const struct graph_job *job;
    struct graph_counts *counts;
    struct database *database;
    struct graph_page page;                /* when job->formats has GRAPH_HTML */
    struct communications *communications; /* of the step that is being made; NULL: one rank */
    struct database_config config;
    unsigned *ranks, *steps; /* distinct, of the graphs that were made */
};

/* ---- names ---------------------------------------------------------------------------------------- */

/* Where a graph stands among those of the run. */
struct graph_place {
    unsigned step, rank;
    unsigned merged; /* of merged ranks: its number in its step */
};

bool graph_job_compares(const struct graph_job *job)
{
    return job->parallel ? job->bench_plan != NULL : job->plan->tasks[0].bench != NULL;
}

/* "compare_rank0_20261122101500.vis" */
static struct status result_path(char path[PATH_MAX], const struct graph_job *job,
                                 const struct graph_place *at, const char *suffix)
{
    char step[32] = "", place[32] = "";
    if (at && job->plan->kind == FOLDER_STEPS)
        (void)snprintf(step, sizeof step, "step%u_", at->step);
    if (at && job->parallel) (void)snprintf(place, sizeof place, "merged%u_", at->merged);
    else if (at && job->plan->kind != FOLDER_RANK)
        (void)snprintf(place, sizeof place, "rank%u_", at->rank);
    const char *verb = graph_job_compares(job) ? "compare" : "build";
    int length = snprintf(path, PATH_MAX, "%s/%s_%s%s%s.%s", job->output, verb, step, place,
                          job->stamp.text, suffix);
    if (length > 0 && length < PATH_MAX) return status_ok();
    return status_error(STATUS_BAD_ARGUMENT, "'%s' is too long a path",
                        file_shown(job->output).text);
}

/* ---- what came out ---------------------------------------------------------------------------------- */

/* Is the index of a node one that an engineer would look at? */
static bool is_suspicious(const struct graph *graph, uint32_t node, enum generation generation)
{
    const struct node_index *index = &graph->index[node];
    if (!index->known || graph->npu.model.nodes[node].type == NODE_COLLECTION) return false;
    if (generation == GENERATION_3) return index->judged >= 1;
    switch (graph_kind(graph)) {
    case DUMP_STATISTICS: return index->judged > 0.4;
    case DUMP_TENSOR: return index->judged > 0.1;
    case DUMP_MD5: return index->judged < 1;
    default: return false;
    }
}

static void note_suspicious(struct graph_counts *counts, const struct graph *graph,
                            const struct graph_place *at, uint32_t node)
{
    if (!counts->suspicious++) {
        struct name_slice name = model_name(&graph->npu.model, node);
        (void)snprintf(counts->first_suspicious, sizeof counts->first_suspicious, "%.*s",
                       (int)name.length, name.text);
        text_tidy(counts->first_suspicious);
        counts->first_step = at->step;
        counts->first_rank = at->rank;
    }
}

/* Leaves in the order of execution come before the modules that they are in. */
static void count_nodes(struct running *r, const struct graph *graph, const struct graph_place *at)
{
    const struct model *model = &graph->npu.model;
    struct graph_counts *counts = r->counts;
    counts->graphs++;
    counts->by_hand += graph->by_hand;
    for (uint32_t node = model_deepest_first(model, model->root); node != NODE_NONE;
         node = model_after_children(model, node)) {
        bool matched = graph->compared && graph->npu.match[node] != NODE_NONE;
        counts->nodes++;
        counts->matched += matched;
        counts->met += matched && node != model->root && model->nodes[node].type != NODE_COLLECTION;
        counts->overflowing += graph_overflow(graph, false, node) != OVERFLOW_NONE;
        if (graph->compared && is_suspicious(graph, node, r->job->options.generation))
            note_suspicious(counts, graph, at, node);
    }
}

/* ---- graphs ------------------------------------------------------------------------------------------- */

static void add_number(unsigned *numbers, size_t *count, unsigned number)
{
    for (size_t i = 0; i < *count; i++)
        if (numbers[i] == number) return;
    numbers[(*count)++] = number;
}

static void note_config(struct running *r, const struct graph *graph, const struct graph_place *at)
{
    uint32_t pages = graph_micro_steps(graph);
    r->config.kind = graph_kind(graph);
    if (pages > r->config.micro_steps) r->config.micro_steps = pages;
    add_number(r->ranks, &r->config.n_ranks, at->rank);
    add_number(r->steps, &r->config.n_steps, at->step);
}

static struct status write_graph(struct running *r, const struct graph *graph,
                                 const struct graph_place *at)
{
    char path[PATH_MAX];
    const struct graph_options *o = &r->job->options;
    if (r->job->formats & GRAPH_VIS) {
        TRY(result_path(path, r->job, at, "vis"));
        TRY(vis_file_write(path, graph, o->overflow_check, o->generation));
    }
    if (r->database) TRY(database_add(r->database, graph, at->step, at->rank));
    return r->page.page ? graph_page_add(&r->page, graph, at->step, at->rank) : status_ok();
}

/* Count and write a graph that has been opened, and close it. */
static struct status finish_graph(struct running *r, struct graph *graph,
                                  const struct graph_place *at)
{
    note_config(r, graph, at);
    count_nodes(r, graph, at);
    struct status status = write_graph(r, graph, at);
    graph_close(graph);
    return status;
}

static void warn_of_unknown(const struct graph_side *side, const char *folder,
                            struct warnings warnings)
{
    uint32_t count = side->model.unknown_types;
    if (count)
        warn(warnings, "%s: %u name%s of no known kind in construct.json and taken for modules",
             file_shown(folder).text, count, count == 1 ? " is" : "s are");
}

static struct status make_graph(bool *made, struct running *r, const struct graph_task *task,
                                struct warnings warnings)
{
    struct graph graph;
    TRY(graph_open(&graph, task->npu, task->bench, &r->job->options));
    *made = true;
    warn_of_unknown(&graph.npu, task->npu, warnings);
    if (task->bench) warn_of_unknown(&graph.bench, task->bench, warnings);
    graph.communications = r->communications;
    graph.rank = task->rank;
    graph.folders[0] = task->npu;
    graph.folders[1] = task->bench;
    return finish_graph(r, &graph, &(struct graph_place){ task->step, task->rank, 0 });
}

/* Of a rank that cannot be used there are no calls; making its graph says why. */
static struct status collect_communications(struct running *r, const struct graph_task *task)
{
    struct graph graph;
    struct graph_options options = r->job->options;
    options.communications_only = true;
    if (!dump_may_communicate(task->npu, options.file_policy) &&
        !(task->bench && dump_may_communicate(task->bench, options.file_policy)))
        return status_ok();
    struct status status = graph_open(&graph, task->npu, task->bench, &options);
    if (status.code) return status.code == STATUS_BAD_INPUT ? status_ok() : status;
    status = communications_add(r->communications, &graph, task->rank);
    graph_close(&graph);
    return status;
}

/* Links go to ranks that come later, so the calls of all ranks of a step are read before its first
 * graph is made. */
static struct status find_communications(struct running *r, size_t first)
{
    const struct graph_plan *plan = r->job->plan;
    size_t end = first;
    communications_release(r->communications);
    r->communications = NULL;
    while (end < plan->count && plan->tasks[end].step == plan->tasks[first].step) end++;
    if (end - first < 2) return status_ok();
    TRY(communications_create(&r->communications));
    for (size_t i = first; i < end; i++) TRY(collect_communications(r, &plan->tasks[i]));
    return communications_match(r->communications);
}

/* A rank whose files cannot be used costs its own graph. */
static struct status make_graphs(struct running *r, struct warnings warnings)
{
    const struct graph_plan *plan = r->job->plan;
    struct status first = status_ok();
    for (size_t i = 0; i < plan->count; i++) {
        bool made = false;
        if (!i || plan->tasks[i].step != plan->tasks[i - 1].step) TRY(find_communications(r, i));
        struct status status = make_graph(&made, r, &plan->tasks[i], warnings);
        if (status.code && (made || status.code != STATUS_BAD_INPUT || plan->count == 1))
            return status;
        if (!status.code) continue;
        if (!first.code) first = status;
        r->counts->failed++;
        warn(warnings, "%s; it is left out", status.text);
    }
    return r->counts->graphs ? status_ok() : first;
}

/* ---- merged ranks --------------------------------------------------------------------------------------- */

/* The tasks of a step: `count` from `first`. */
static size_t find_step(size_t *first, const struct graph_plan *plan, unsigned step)
{
    size_t end;
    *first = 0;
    while (*first < plan->count && plan->tasks[*first].step != step) ++*first;
    for (end = *first; end < plan->count && plan->tasks[end].step == step; end++) continue;
    return end - *first;
}

/* Merge one side of a step. */
static struct status merge_side(struct merged_ranks *out, const struct graph_plan *plan,
                                unsigned step, const struct parallel_layout *layout,
                                struct file_policy policy)
{
    size_t first, count = find_step(&first, plan, step);
    if (count != layout->rank_size)
        return status_error(
            STATUS_BAD_INPUT,
            "'parallel_merge' speaks of %u ranks, but there are %zu folders of ranks",
            layout->rank_size, count);
    struct rank_folder *folders = memory_allocate(count * sizeof *folders);
    if (!folders) return status_no_memory(count * sizeof *folders);
    for (size_t i = 0; i < count; i++)
        folders[i] =
            (struct rank_folder){ plan->tasks[first + i].rank, plan->tasks[first + i].npu };
    struct status status = merged_ranks_open(out, folders, layout, policy);
    memory_release(folders);
    return status;
}

static struct status finish_merged(struct running *r, unsigned step, struct merged_ranks *npu,
                                   struct merged_ranks *bench)
{
    struct graph graph;
    if (r->job->bench_plan && npu->count != bench->count)
        return status_error(
            STATUS_BAD_INPUT,
            "merged, the NPU has %u graphs and Bench has %u: their data parallelism "
            "differs",
            npu->count, bench->count);
    for (uint32_t i = 0; i < npu->count; i++) {
        const struct graph_place at = { step, npu->items[i].rank, i };
        TRY(graph_open_merged(&graph, &npu->items[i], bench->count ? &bench->items[i] : NULL,
                              &r->job->options));
        graph.rank = at.rank;
        TRY(finish_graph(r, &graph, &at));
    }
    return status_ok();
}

static struct status merge_step(struct running *r, unsigned step)
{
    const struct graph_job *job = r->job;
    struct merged_ranks npu, bench = { .items = NULL };
    struct file_policy policy = job->options.file_policy;
    TRY(merge_side(&npu, job->plan, step, &job->parallel->npu, policy));
    struct status status = status_ok();
    if (job->bench_plan)
        status = merge_side(&bench, job->bench_plan, step, &job->parallel->bench, policy);
    if (!status.code) status = finish_merged(r, step, &npu, &bench);
    merged_ranks_close(&npu);
    merged_ranks_close(&bench);
    return status;
}

/* Steps that both sides have. */
static struct status merge_steps(struct running *r)
{
    const struct graph_plan *plan = r->job->plan;
    size_t first;
    for (size_t i = 0; i < plan->count; i++) {
        unsigned step = plan->tasks[i].step;
        if (i && plan->tasks[i - 1].step == step) continue;
        if (r->job->bench_plan && !find_step(&first, r->job->bench_plan, step)) continue;
        TRY(merge_step(r, step));
    }
    return r->counts->graphs ? status_ok()
                             : status_error(STATUS_BAD_INPUT, "the sides have no step in common");
}

/* ---- the files ------------------------------------------------------------------------------------------ */

/* The files that hold all graphs. */
static struct status open_files(struct running *r)
{
    char path[PATH_MAX];
    if (r->job->formats & GRAPH_DATABASE) {
        TRY(result_path(path, r->job, NULL, "vis.db"));
        TRY(database_create(&r->database, path, r->job->options.generation));
    }
    if (!(r->job->formats & GRAPH_HTML)) return status_ok();
    TRY(result_path(path, r->job, NULL, "html"));
    return graph_page_create(&r->page, path);
}

static struct status finish_files(struct running *r)
{
    const struct graph_options *o = &r->job->options;
    struct database *database = r->database;
    r->database = NULL;
    if (database) TRY(database_finish(database, &r->config));
    return r->page.page ? graph_page_finish(&r->page, o->overflow_check, o->generation)
                        : status_ok();
}

static struct status run(struct running *r, struct warnings warnings)
{
    size_t bytes = (r->job->plan->count + 1) * sizeof *r->ranks;
    r->ranks = memory_allocate(bytes);
    r->steps = memory_allocate(bytes);
    if (!r->ranks || !r->steps) return status_no_memory(bytes);
    r->config = (struct database_config){ .compared = graph_job_compares(r->job),
                                          .overflow_check = r->job->options.overflow_check,
                                          .generation = r->job->options.generation,
                                          .ranks = r->ranks,
                                          .steps = r->steps };
    TRY(file_make_directories(r->job->output));
    TRY(open_files(r));
    TRY(r->job->parallel ? merge_steps(r) : make_graphs(r, warnings));
    return finish_files(r);
}

struct status graph_job_run(struct graph_counts *out, const struct graph_job *job,
                            struct warnings warnings)
{
    struct running r = { .job = job, .counts = out };
    *out = (struct graph_counts){ .graphs = 0 };
    struct status status = run(&r, warnings);
    database_abandon(r.database);
    graph_page_discard(&r.page);
    communications_release(r.communications);
    memory_release(r.ranks);
    memory_release(r.steps);
    return status;
}
