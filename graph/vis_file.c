/* The .vis file is written node by node through one buffer, so that memory does not grow with it. */
#include "graph/vis_file.h"

#include <stdio.h>
#include <string.h>

#include "core/new_file.h"
#include "formats/json_write.h"
#include "graph/communication.h"
#include "graph/config_text.h"
#include "graph/row_text.h"

enum { FLUSH_BYTES = 1 << 20, NODE_INDENT = 12 };

struct writing {
    struct new_file file;
    struct csv_buffer text;
    const struct graph *graph;
};

static struct status put(struct writing *w, const char *text)
{
    return csv_append_bytes(&w->text, text, strlen(text));
}

static struct status put_string(struct writing *w, const char *string)
{
    return json_append_string(&w->text, string, strlen(string));
}

static struct status put_name(struct writing *w, const struct model *model, uint32_t node)
{
    struct name_slice name = model_name(model, node);
    return json_append_string(&w->text, name.text, name.length);
}

static struct status put_number(struct writing *w, const char *format, double value)
{
    char text[64];
    return csv_append_bytes(&w->text, text, (size_t)snprintf(text, sizeof text, format, value));
}

static struct status flush(struct writing *w, size_t most)
{
    if (w->text.length < most) return status_ok();
    TRY(file_write_all(&w->file.file, w->text.data, w->text.length));
    csv_buffer_clear(&w->text);
    return status_ok();
}

/* ---- nodes ------------------------------------------------------------------------------------ */

/* One side while its nodes are written. */
struct side_writing {
    struct writing *w;
    const struct graph_side *side, *other; /* `other` is NULL for a built graph */
    bool bench;
    unsigned depth; /* of the graph object: 0 at the top of the file, 1 inside of it */
    struct row_writer rows;
};

/* A line end and four blanks a level. */
static struct status put_indent(struct side_writing *s, unsigned level)
{
    static const char blanks[] = "\n                        ";
    size_t length = 1 + 4 * (size_t)(level + s->depth);
    return csv_append_bytes(&s->w->text, blanks,
                            length < sizeof blanks ? length : sizeof blanks - 1);
}

static struct status put_line(struct side_writing *s, unsigned level, const char *key)
{
    TRY(put_indent(s, level));
    TRY(put_string(s->w, key));
    return put(s->w, ": ");
}

static const char *repair_text(enum node_repair repair)
{
    static const char *const texts[] = {
        [REPAIR_NONE] = NULL,
        [REPAIR_MISSING_PARENT] = "construct.json names no parent of this node; it is shown at the "
                                  "top level",
        [REPAIR_CIRCLE] = "construct.json makes this node its own ancestor; it is shown at the top "
                          "level",
    };
    return texts[repair];
}

static struct status put_suggestions(struct side_writing *s, uint32_t node)
{
    const char *text = repair_text((enum node_repair)s->side->model.nodes[node].repair);
    TRY(put_line(s, 3, "suggestions"));
    if (!text) return put(s->w, "{},");
    TRY(put(s->w, "{\"text\": "));
    TRY(put_string(s->w, text));
    return put(s->w, "},");
}

static struct status put_data(struct side_writing *s, uint32_t node)
{
    const struct graph *graph = s->w->graph;
    const char *level = overflow_level_name(graph_overflow(graph, s->bench, node));
    bool indexed = !s->bench && graph->index && graph->index[node].known;
    TRY(put_line(s, 3, "data"));
    TRY(put(s->w, "{"));
    if (indexed) {
        TRY(put(s->w, "\"precision_index\": "));
        TRY(put_number(s->w, "%.17g", graph->index[node].value));
        if (graph_kind(graph) == DUMP_MD5)
            TRY(put(s->w, graph->index[node].value == 1 ? ", \"Result\": \"pass\""
                                                        : ", \"Result\": \"Different\""));
    }
    if (level) {
        TRY(put(s->w, indexed ? ", \"overflow_level\": " : "\"overflow_level\": "));
        TRY(put_string(s->w, level));
    }
    return put(s->w, "}");
}

/* Only of calls that meet others. */
static struct status put_communication(struct side_writing *s, uint32_t node)
{
    struct csv_buffer met = { 0 };
    struct status status = communications_append(&met, s->w->graph, s->bench, node);
    if (!status.code && met.length) status = put_line(s, 3, "matched_distributed");
    if (!status.code) status = csv_append_bytes(&s->w->text, met.data ? met.data : "", met.length);
    if (!status.code && met.length) status = put(s->w, ",");
    csv_buffer_release(&met);
    return status;
}

/* Only where statistics of ranks were merged. */
static struct status put_merge_notes(struct side_writing *s, uint32_t node)
{
    size_t length;
    const char *notes = node_merge_notes(s->side, node, &length);
    if (!notes) return status_ok();
    TRY(put_line(s, 3, "parallel_merge_info"));
    TRY(csv_append_bytes(&s->w->text, notes, length));
    return put(s->w, ",");
}

static struct status put_node(struct side_writing *s, uint32_t node)
{
    struct writing *w = s->w;
    const struct model *model = &s->side->model;
    unsigned rows = NODE_INDENT + 4 + 4 * s->depth;

    TRY(put_indent(s, 2));
    TRY(put_name(w, model, node));
    TRY(put(w, ": {"));
    TRY(put_line(s, 3, "id"));
    TRY(put_name(w, model, node));
    TRY(put(w, ","));
    TRY(put_line(s, 3, "node_type"));
    TRY(put_number(w, "%g,", model->nodes[node].type));
    TRY(put_line(s, 3, "input_data"));
    TRY(row_writer_append(&w->text, &s->rows, node, false, rows));
    TRY(put(w, ","));
    TRY(put_line(s, 3, "output_data"));
    TRY(row_writer_append(&w->text, &s->rows, node, true, rows));
    TRY(put(w, ","));
    TRY(put_line(s, 3, "upnode"));
    if (node == model->root) TRY(put(w, "\"None\""));
    else TRY(put_name(w, model, model->nodes[node].parent));
    TRY(put(w, ","));
    TRY(put_line(s, 3, "subnodes"));
    TRY(children_append(&w->text, model, node));
    TRY(put(w, ","));
    TRY(put_line(s, 3, "matched_node_link"));
    if (s->other) TRY(partner_path_append(&w->text, s->side, s->other, node));
    else TRY(put(w, "[]"));
    TRY(put(w, ","));
    TRY(put_suggestions(s, node));
    TRY(put_line(s, 3, "stack_info"));
    TRY(stack_append(&w->text, s->side, node));
    TRY(put(w, ","));
    if (node != model->root && model->nodes[node].parent == model->root) {
        TRY(put_line(s, 3, "micro_step_id"));
        TRY(put_number(w, "%.0f,", graph_micro_step(w->graph, s->bench, node)));
    }
    TRY(put_communication(s, node));
    TRY(put_merge_notes(s, node));
    TRY(put_data(s, node));
    return put_indent(s, 2);
}

static struct status put_nodes(struct side_writing *s)
{
    const struct model *model = &s->side->model;
    TRY(put_line(s, 1, "root"));
    TRY(put_name(s->w, model, model->root));
    TRY(put(s->w, ","));
    TRY(put_line(s, 1, "dump_data_dir"));
    TRY(put_string(s->w, s->side->data_folder));
    TRY(put(s->w, ","));
    TRY(put_line(s, 1, "node"));
    TRY(put(s->w, "{"));
    size_t written = 0;
    for (uint32_t node = model->root; node != NODE_NONE; node = model_after(model, node)) {
        TRY(graph_check_watch(s->w->graph, written++));
        if (node != model->root) TRY(put(s->w, ","));
        TRY(put_node(s, node));
        TRY(put(s->w, "}"));
        TRY(flush(s->w, FLUSH_BYTES));
    }
    return put(s->w, "}");
}

static struct status put_side(struct writing *w, bool bench)
{
    const struct graph *graph = w->graph;
    bool compared = graph->compared;
    struct side_writing s = { .w = w,
                              .side = bench ? &graph->bench : &graph->npu,
                              .other = !compared ? NULL
                                       : bench   ? &graph->npu
                                                 : &graph->bench,
                              .bench = bench,
                              .depth = compared };
    row_writer_open(&s.rows, s.side, compared && !bench ? &graph->comparison : NULL,
                    compared && graph_kind(graph) == DUMP_MD5);
    struct status status = put_nodes(&s);
    row_writer_close(&s.rows);
    return status;
}

/* ---- the file ----------------------------------------------------------------------------------- */

static struct status put_comparison(struct writing *w, enum generation generation)
{
    struct csv_buffer tips = { 0 };
    TRY(put(w, "\n    \"NPU\": {"));
    TRY(put_side(w, false));
    TRY(put(w, "\n    },\n    \"Bench\": {"));
    TRY(put_side(w, true));
    TRY(put(w, "\n    },\n    \"ToolTip\": "));
    struct status status = tool_tips_append(&tips, graph_kind(w->graph));
    if (!status.code) status = json_append_string(&w->text, tips.data, tips.length);
    csv_buffer_release(&tips);
    if (status.code) return status;
    TRY(put(w, ",\n    \"Colors\": "));
    TRY(colours_append(&w->text, graph_kind(w->graph), generation));
    TRY(put(w, ",\n    \"task\": "));
    return put_string(w, task_name(graph_kind(w->graph)));
}

static struct status put_graph(struct writing *w, bool overflow_check, enum generation generation)
{
    TRY(put(w, "{"));
    TRY(w->graph->compared ? put_comparison(w, generation) : put_side(w, false));
    if (graph_micro_steps(w->graph)) {
        TRY(put(w, ",\n    \"MicroSteps\": "));
        TRY(put_number(w, "%.0f", graph_micro_steps(w->graph)));
    }
    TRY(put(w, ",\n    \"OverflowCheck\": "));
    TRY(put(w, overflow_check ? "true" : "false"));
    TRY(put(w, "\n}\n"));
    return flush(w, 0);
}

struct status vis_file_write(const char *path, const struct graph *graph, bool overflow_check,
                             enum generation generation)
{
    struct writing w = { .file = NEW_FILE_NONE, .graph = graph };
    TRY(new_file_create(&w.file, path));
    struct status status = put_graph(&w, overflow_check, generation);
    csv_buffer_release(&w.text);
    return new_file_end(&w.file, status);
}
