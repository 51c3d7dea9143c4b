/* Opens the sides of a graph, matches and measures them. */
#include "graph/graph.h"

#include <limits.h>
#include <stdio.h>

#include "compare/dumps/dump_reader.h"
#include "compare/dumps/layer_mapping.h"
#include "core/memory.h"
#include "graph/merge.h"

/* Where a side comes from: the folder of a rank, or ranks that were merged. */
struct side_source {
    const char *folder;         /* for messages, where the side is merged */
    struct merged_rank *merged; /* NULL: the folder */
    char path[PATH_MAX];        /* of dump.json in the folder */
};

struct pairing_job {
    struct graph *graph;
    const struct side_source *npu, *bench;
    const struct graph_options *options;
};

static struct status match_graph(const struct pairing_job *job, const struct dump_pair *dumps)
{
    const struct graph_options *o = job->options;
    uint32_t *bench_entry = NULL;
    struct status status = status_ok();
    if (o->rule == MATCH_MAPPED)
        status = layer_mapping_match(&bench_entry, o->layers, dumps, job->npu->path,
                                     job->bench->path, o->file_policy);
    const struct match_request request = { .rule = job->npu->merged ? MATCH_MERGED : o->rule,
                                           .bench_entry = bench_entry };
    if (!status.code) status = match_nodes(&job->graph->npu, &job->graph->bench, &request);
    memory_release(bench_entry);
    if (status.code || !o->by_hand) return status;
    struct graph *g = job->graph;
    g->by_hand_of = memory_allocate(g->npu.model.n_nodes * sizeof *g->by_hand_of);
    if (!g->by_hand_of) return status_no_memory(g->npu.model.n_nodes);
    return match_file_apply(&g->by_hand, g->by_hand_of, o->by_hand, &g->npu, &g->bench);
}

static struct status open_side(struct graph_side *out, const struct side_source *source,
                               const struct dump_rows *rows, const struct graph_options *options)
{
    return source->merged ? graph_side_take(out, &source->merged->parts, rows)
                          : graph_side_open(out, source->folder, rows, options->file_policy);
}

/* Both dumps are read: the hierarchies decide which rows stand against each other. */
static struct status pair(struct pairing *out, const struct dump_pair *dumps, void *context)
{
    const struct pairing_job *job = context;
    const struct graph_options *o = job->options;
    struct graph *g = job->graph;

    if (dumps->npu->framework != dumps->bench->framework && o->rule != MATCH_MAPPED)
        return status_error(STATUS_BAD_INPUT,
                            "'%s' and '%s' are of different frameworks, whose names only a layer "
                            "mapping (-lm) brings together",
                            job->npu->folder, job->bench->folder);
    TRY(open_side(&g->npu, job->npu, dumps->npu, o));
    TRY(open_side(&g->bench, job->bench, dumps->bench, o));
    TRY(match_graph(job, dumps));
    return match_rows(out, &g->npu, &g->bench, o->communications_only ? "Distributed." : "");
}

static struct status make_source(struct side_source *out, const char *folder)
{
    *out = (struct side_source){ .folder = folder };
    int length = snprintf(out->path, sizeof out->path, "%s/dump.json", folder);
    if (length > 0 && length < PATH_MAX) return status_ok();
    return status_error(STATUS_BAD_INPUT, "'%s' is too long a path", file_shown(folder).text);
}

/* "the merged ranks from 3" */
static void make_merged_source(struct side_source *out, struct merged_rank *merged)
{
    *out = (struct side_source){ .folder = out->path, .merged = merged };
    (void)snprintf(out->path, sizeof out->path, "the merged ranks from %u", merged->rank);
}

static struct dump_source source_text(const struct side_source *source)
{
    if (!source->merged) return (struct dump_source){ .text = NULL };
    const struct csv_buffer *text = &source->merged->parts.dump;
    return (struct dump_source){ text->data, text->length };
}

/* Without a record, Bench nodes at the top level are in the micro step of their partners, or, without one, in
 * that of their trailing number, and all below them with them. Parents come before what is below them. */
static void settle_bench_micro_steps(struct graph *graph)
{
    struct model *model = &graph->bench.model;
    if (graph->npu.model.records_micro_steps) return;
    for (uint32_t node = model->root; node != NODE_NONE; node = model_after(model, node)) {
        uint32_t parent = model->nodes[node].parent, partner = graph->bench.match[node];
        struct name_slice number = name_part_from_end(model_name(model, node), 1);
        unsigned step = 0;
        if (node != model->root && parent != model->root) step = model->nodes[parent].micro_step;
        else if (partner != NODE_NONE) step = graph->npu.model.nodes[partner].micro_step;
        else if (!name_read_number(number, &step)) step = 0;
        model->nodes[node].micro_step = step;
    }
}

static struct status compare(struct graph *graph, const struct side_source *npu,
                             const struct side_source *bench, const struct graph_options *options)
{
    struct pairing_job job = { graph, npu, bench, options };
    struct comparison_request request = {
        .npu_path = npu->path,
        .bench_path = bench->path,
        .npu_text = source_text(npu),
        .bench_text = source_text(bench),
        .stack_path = "", /* each side reads its own */
        .generation = options->generation,
        .file_policy = options->file_policy,
        .threads = options->threads,
        .pair = pair,
        .pair_context = &job,
        .any_shape = npu->merged != NULL,
        .watch = options->watch,
    };
    TRY(comparison_run(&graph->comparison, &request));
    graph->compared = true;
    settle_bench_micro_steps(graph);
    graph->index = memory_allocate(graph->npu.model.n_nodes * sizeof *graph->index);
    if (!graph->index) return status_no_memory(graph->npu.model.n_nodes * sizeof *graph->index);
    precision_compute(graph->index, &graph->npu, &graph->comparison);
    return status_ok();
}

static struct status build(struct graph *graph, const struct side_source *source,
                           const struct graph_options *options)
{
    struct dump_source text = source_text(source);
    TRY(text.text ? dump_rows_read(&graph->rows, source->path, text.text, text.bytes)
                  : dump_rows_open(&graph->rows, source->path, options->file_policy));
    return open_side(&graph->npu, source, &graph->rows, options);
}

static struct status find_overflows(uint8_t **out, const struct graph_side *side)
{
    *out = memory_allocate(side->model.n_nodes);
    if (!*out) return status_no_memory(side->model.n_nodes);
    for (uint32_t node = 0; node < side->model.n_nodes; node++)
        (*out)[node] = (uint8_t)overflow_of_node(side, node);
    return status_ok();
}

static struct status open_parts(struct graph *graph, const struct side_source *npu,
                                const struct side_source *bench,
                                const struct graph_options *options)
{
    TRY(bench ? compare(graph, npu, bench, options) : build(graph, npu, options));
    if (!options->overflow_check) return status_ok();
    TRY(find_overflows(&graph->overflow[false], &graph->npu));
    return graph->compared ? find_overflows(&graph->overflow[true], &graph->bench) : status_ok();
}

static struct status open_sources(struct graph *out, const struct side_source *npu,
                                  const struct side_source *bench,
                                  const struct graph_options *options)
{
    *out = (struct graph){ .watch = options->watch };
    struct status status = open_parts(out, npu, bench, options);
    if (status.code) graph_close(out);
    return status;
}

struct status graph_open(struct graph *out, const char *npu_folder, const char *bench_folder,
                         const struct graph_options *options)
{
    struct side_source npu, bench;
    *out = (struct graph){ .compared = false };
    TRY(make_source(&npu, npu_folder));
    if (bench_folder) TRY(make_source(&bench, bench_folder));
    return open_sources(out, &npu, bench_folder ? &bench : NULL, options);
}

struct status graph_open_merged(struct graph *out, struct merged_rank *npu,
                                struct merged_rank *bench, const struct graph_options *options)
{
    struct side_source npu_source, bench_source;
    make_merged_source(&npu_source, npu);
    if (bench) make_merged_source(&bench_source, bench);
    return open_sources(out, &npu_source, bench ? &bench_source : NULL, options);
}

void graph_close(struct graph *graph)
{
    memory_release(graph->index);
    memory_release(graph->by_hand_of);
    memory_release(graph->overflow[false]);
    memory_release(graph->overflow[true]);
    graph_side_close(&graph->npu);
    graph_side_close(&graph->bench);
    if (graph->compared) comparison_release(&graph->comparison);
    else dump_rows_close(&graph->rows);
    *graph = (struct graph){ .compared = false };
}

struct status graph_check_watch(const struct graph *graph, size_t node)
{
    enum { NODES_BETWEEN = 256 };
    const struct comparison_watch *watch = &graph->watch;
    if (node % NODES_BETWEEN || !watch->go_on) return status_ok();
    if (watch->go_on(watch->context, node, graph->npu.model.n_nodes)) return status_ok();
    return status_error(STATUS_INTERRUPTED, "interrupted");
}

enum dump_kind graph_kind(const struct graph *graph) { return graph->npu.rows->kind; }

enum overflow_level graph_overflow(const struct graph *graph, bool bench, uint32_t node)
{
    const uint8_t *levels = graph->overflow[bench];
    return levels ? (enum overflow_level)levels[node] : OVERFLOW_NONE;
}

uint32_t graph_micro_steps(const struct graph *graph) { return graph->npu.model.micro_steps; }

uint32_t graph_micro_step(const struct graph *graph, bool bench, uint32_t node)
{
    return (bench ? &graph->bench : &graph->npu)->model.nodes[node].micro_step;
}
