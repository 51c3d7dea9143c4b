/* The numbers of the nodes that the page knows are places in the walk from the root down, so that the
 * descendants of a node are the numbers behind it. */
#include "graph/page_file.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/memory.h"
#include "graph/communication.h"
#include "graph/config_text.h"
#include "graph/row_text.h"
#include "pages/json_out.h"

/* ---- one side ------------------------------------------------------------------------------------- */

struct side_page {
    struct graph_page *page;
    const struct graph *graph;
    const struct graph_side *side, *other; /* `other` is NULL for a built graph */
    bool bench;
    uint32_t n;              /* nodes below the root, and the root */
    uint32_t *node_at;       /* by number: the node */
    uint32_t *number;        /* by node; NODE_NONE where the root does not reach it */
    uint32_t *other_number;  /* by node of the other side */
    struct csv_buffer bytes; /* of the block in the making */
    struct text_table stacks;
};

static struct status number_nodes(uint32_t **number, uint32_t **node_at, uint32_t *n,
                                  const struct model *model)
{
    size_t bytes = ((size_t)model->n_nodes + 1) * sizeof **number;
    *number = memory_allocate(bytes);
    if (node_at) *node_at = memory_allocate(bytes);
    if (!*number || (node_at && !*node_at)) return status_no_memory(bytes);
    memset(*number, 0xff, bytes);
    *n = 0;
    for (uint32_t node = model->root; node != NODE_NONE; node = model_after(model, node)) {
        (*number)[node] = *n;
        if (node_at) (*node_at)[*n] = node;
        ++*n;
    }
    return status_ok();
}

static struct status put_u32(struct side_page *s, uint32_t value)
{
    const unsigned char bytes[] = { (unsigned char)value, (unsigned char)(value >> 8),
                                    (unsigned char)(value >> 16), (unsigned char)(value >> 24) };
    return csv_append_bytes(&s->bytes, (const char *)bytes, sizeof bytes);
}

static struct status end_block(struct side_page *s, const char *key)
{
    uint32_t number;
    TRY(page_add_block(s->page->page, &number, s->bytes.data ? s->bytes.data : "",
                       s->bytes.length));
    json_out_format(&s->page->meta, ",\"%s\":%u", key, number);
    csv_buffer_clear(&s->bytes);
    return s->page->meta.status;
}

static struct status add_names(struct side_page *s)
{
    for (uint32_t i = 0; i < s->n; i++) {
        struct name_slice name = model_name(&s->side->model, s->node_at[i]);
        TRY(csv_append_bytes(&s->bytes, name.text, name.length));
        TRY(csv_append_bytes(&s->bytes, "", 1));
    }
    return end_block(s, "names");
}

/* ---- numbers of nodes ------------------------------------------------------------------------------- */

typedef uint32_t node_number(const struct side_page *s, uint32_t node);

static uint32_t parent_of(const struct side_page *s, uint32_t node)
{
    return node == s->side->model.root ? UINT32_MAX : s->number[s->side->model.nodes[node].parent];
}

static uint32_t partner_of(const struct side_page *s, uint32_t node)
{
    uint32_t partner = s->other ? s->side->match[node] : NODE_NONE;
    return partner == NODE_NONE ? UINT32_MAX : s->other_number[partner];
}

static uint32_t micro_step_of(const struct side_page *s, uint32_t node)
{
    return graph_micro_step(s->graph, s->bench, node);
}

static uint32_t index_bits(const struct side_page *s, uint32_t node)
{
    const struct node_index *index = s->bench || !s->graph->index ? NULL : &s->graph->index[node];
    bool shown = index && index->known && s->side->match[node] != NODE_NONE;
    float value = shown ? (float)index->judged : NAN;
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static struct status put_all(struct side_page *s, node_number *of)
{
    for (uint32_t i = 0; i < s->n; i++) TRY(put_u32(s, of(s, s->node_at[i])));
    return status_ok();
}

/* Places in the order in which calls and modules end. */
static struct status put_places(struct side_page *s)
{
    const struct model *model = &s->side->model;
    uint32_t *place = memory_allocate(((size_t)s->n + 1) * sizeof *place), next = 0;
    if (!place) return status_no_memory(s->n * sizeof *place);
    for (uint32_t node = model_deepest_first(model, model->root); node != NODE_NONE;
         node = model_after_children(model, node))
        place[s->number[node]] = next++;
    struct status status = status_ok();
    for (uint32_t i = 0; !status.code && i < s->n; i++) status = put_u32(s, place[i]);
    memory_release(place);
    return status;
}

static struct status put_stacks(struct side_page *s)
{
    struct csv_buffer text = { 0 };
    struct status status = status_ok();
    for (uint32_t i = 0; !status.code && i < s->n; i++) {
        uint32_t number = UINT32_MAX;
        csv_buffer_clear(&text);
        status = stack_append(&text, s->side, s->node_at[i]);
        if (!status.code && text.length > 2)
            status = text_table_add(&number, NULL, &s->stacks, text.data, text.length);
        if (!status.code) status = put_u32(s, number);
    }
    csv_buffer_release(&text);
    return status;
}

static struct status put_byte(struct side_page *s, unsigned value)
{
    char byte = (char)value;
    return csv_append_bytes(&s->bytes, &byte, 1);
}

static struct status add_nodes(struct side_page *s)
{
    const struct model_node *nodes = s->side->model.nodes;
    TRY(put_all(s, parent_of));
    TRY(put_all(s, partner_of));
    TRY(put_places(s));
    TRY(put_stacks(s));
    TRY(put_all(s, micro_step_of));
    TRY(put_all(s, index_bits));
    for (uint32_t i = 0; i < s->n; i++) TRY(put_byte(s, nodes[s->node_at[i]].type));
    for (uint32_t i = 0; i < s->n; i++) TRY(put_byte(s, nodes[s->node_at[i]].repair));
    for (uint32_t i = 0; i < s->n; i++)
        TRY(put_byte(s, graph_overflow(s->graph, s->bench, s->node_at[i])));
    return end_block(s, "nodes");
}

static struct status add_stacks(struct side_page *s)
{
    for (uint32_t i = 0; i < s->stacks.count; i++) {
        size_t length;
        const char *text = text_table_get(&s->stacks, i, &length);
        TRY(csv_append_bytes(&s->bytes, text, length));
        TRY(csv_append_bytes(&s->bytes, "", 1));
    }
    return end_block(s, "stacks");
}

static struct status add_rows(struct side_page *s)
{
    struct row_writer rows;
    struct status status = status_ok();
    uint32_t number;
    row_writer_open(&rows, s->side, s->graph->compared && !s->bench ? &s->graph->comparison : NULL,
                    s->graph->compared && graph_kind(s->graph) == DUMP_MD5);
    text_out_string(&s->page->meta, ",\"rows\":[");
    for (uint32_t i = 0; !status.code && i < s->n; i++) {
        status = graph_check_watch(s->graph, i);
        for (int outputs = 0; !status.code && outputs < 2; outputs++) {
            status = row_writer_append(&s->bytes, &rows, s->node_at[i], outputs, 0);
            if (!status.code) status = csv_append_bytes(&s->bytes, "", 1);
        }
        if (status.code || ((i + 1) % GRAPH_PAGE_ROWS && i + 1 < s->n)) continue;
        status = page_add_block(s->page->page, &number, s->bytes.data, s->bytes.length);
        json_out_format(&s->page->meta, i < GRAPH_PAGE_ROWS ? "%u" : ",%u", number);
        csv_buffer_clear(&s->bytes);
    }
    text_out_string(&s->page->meta, "]");
    row_writer_close(&rows);
    return status.code ? status : s->page->meta.status;
}

/* Of the calls that meet others, none of most graphs: then there is no block. */
static struct status add_communications(struct side_page *s)
{
    struct csv_buffer met = { 0 };
    struct status status = status_ok();
    char key[32];
    for (uint32_t i = 0; !status.code && i < s->n; i++) {
        csv_buffer_clear(&met);
        status = communications_append(&met, s->graph, s->bench, s->node_at[i]);
        if (status.code || !met.length) continue;
        int length = snprintf(key, sizeof key, "%s\"%u\":", s->bytes.length ? "," : "{", i);
        status = csv_append_bytes(&s->bytes, key, (size_t)length);
        if (!status.code) status = csv_append_bytes(&s->bytes, met.data, met.length);
    }
    csv_buffer_release(&met);
    if (status.code || !s->bytes.length) return status;
    TRY(csv_append_bytes(&s->bytes, "}", 1));
    return end_block(s, "communications");
}

/* What was merged into nodes; only of merged ranks. */
static struct status add_merges(struct side_page *s)
{
    char key[32];
    for (uint32_t i = 0; s->side->merge_note_of && i < s->n; i++) {
        size_t length;
        const char *notes = node_merge_notes(s->side, s->node_at[i], &length);
        if (!notes) continue;
        int bytes = snprintf(key, sizeof key, "%s\"%u\":", s->bytes.length ? "," : "{", i);
        TRY(csv_append_bytes(&s->bytes, key, (size_t)bytes));
        TRY(csv_append_bytes(&s->bytes, notes, length));
    }
    if (!s->bytes.length) return status_ok();
    TRY(csv_append_bytes(&s->bytes, "}", 1));
    return end_block(s, "merges");
}

static struct status describe_side(struct side_page *s)
{
    const char *folder = s->graph->folders[s->bench] ? s->graph->folders[s->bench] : "";
    json_out_format(&s->page->meta, ",\"%s\":{\"count\":%u,\"folder\":", s->bench ? "bench" : "npu",
                    s->n);
    json_out_string(&s->page->meta, folder, strlen(folder));
    TRY(add_names(s));
    TRY(add_nodes(s));
    TRY(add_stacks(s));
    TRY(add_communications(s));
    TRY(add_merges(s));
    TRY(add_rows(s));
    text_out_string(&s->page->meta, "}");
    return s->page->meta.status;
}

static struct status add_side(struct graph_page *page, const struct graph *graph, bool bench)
{
    struct side_page s = { .page = page,
                           .graph = graph,
                           .side = bench ? &graph->bench : &graph->npu,
                           .other = !graph->compared ? NULL
                                    : bench          ? &graph->npu
                                                     : &graph->bench,
                           .bench = bench };
    uint32_t ignored;
    struct status status = text_table_create(&s.stacks);
    if (!status.code) status = number_nodes(&s.number, &s.node_at, &s.n, &s.side->model);
    if (!status.code && s.other)
        status = number_nodes(&s.other_number, NULL, &ignored, &s.other->model);
    if (!status.code) status = describe_side(&s);
    if (s.stacks.slots) text_table_release(&s.stacks);
    memory_release(s.node_at);
    memory_release(s.number);
    memory_release(s.other_number);
    csv_buffer_release(&s.bytes);
    return status;
}

/* ---- the page ------------------------------------------------------------------------------------------ */

struct status graph_page_create(struct graph_page *out, const char *path)
{
    const struct embedded_file *template = page_template("graph.html");
    *out = (struct graph_page){ .meta = { .status.code = STATUS_OK } };
    if (!template) return status_error(STATUS_INTERNAL, "the page is not part of this program");
    out->page = memory_allocate_zeroed(1, sizeof *out->page);
    if (!out->page) return status_no_memory(sizeof *out->page);
    struct status status = page_open(out->page, path, template);
    json_out_format(&out->meta,
                    "{\"format\":1,\"program\":\"probe-ut %s\",\"rows_nodes\":%d,"
                    "\"graphs\":[",
                    PROBE_VERSION, GRAPH_PAGE_ROWS);
    if (status.code) graph_page_discard(out);
    return status;
}

/* The numbers of NPU nodes that were matched by a file; none without one. */
static void describe_by_hand(struct graph_page *page, const struct graph *graph)
{
    const struct model *model = &graph->npu.model;
    uint32_t number = 0, count = 0;
    if (!graph->by_hand_of) return;
    text_out_string(&page->meta, ",\"by_hand\":[");
    for (uint32_t node = model->root; node != NODE_NONE; node = model_after(model, node), number++)
        if (graph->by_hand_of[node]) json_out_format(&page->meta, count++ ? ",%u" : "%u", number);
    text_out_string(&page->meta, "]");
}

struct status graph_page_add(struct graph_page *page, const struct graph *graph, unsigned step,
                             unsigned rank)
{
    page->compared = graph->compared;
    page->kind = graph_kind(graph);
    json_out_format(&page->meta, "%s{\"step\":%u,\"rank\":%u,\"micro_steps\":%u",
                    page->graphs++ ? "," : "", step, rank, graph_micro_steps(graph));
    describe_by_hand(page, graph);
    TRY(add_side(page, graph, false));
    if (graph->compared) TRY(add_side(page, graph, true));
    text_out_string(&page->meta, "}");
    return page->meta.status;
}

static struct status describe_page(struct graph_page *page, bool overflow_check,
                                   enum generation generation)
{
    struct csv_buffer text = { 0 };
    json_out_format(&page->meta,
                    "],\"compared\":%s,\"overflow\":%s,\"task\":\"%s\",\"generation\":%d",
                    page->compared ? "true" : "false", overflow_check ? "true" : "false",
                    task_name(page->kind), (int)generation + 1);
    struct status status = colours_append(&text, page->kind, generation);
    if (!status.code) {
        text_out_string(&page->meta, ",\"colours\":");
        text_out_bytes(&page->meta, text.data, text.length);
        csv_buffer_clear(&text);
        status = tool_tips_append(&text, page->kind);
    }
    if (!status.code) {
        text_out_string(&page->meta, ",\"tips\":");
        text_out_bytes(&page->meta, text.data, text.length);
    }
    text_out_string(&page->meta, "}");
    csv_buffer_release(&text);
    return status.code ? status : page->meta.status;
}

struct status graph_page_finish(struct graph_page *page, bool overflow_check,
                                enum generation generation)
{
    struct status status = describe_page(page, overflow_check, generation);
    if (!status.code)
        status = page_finish(page->page, page->meta.text.data, page->meta.text.length);
    graph_page_discard(page);
    return status;
}

void graph_page_discard(struct graph_page *page)
{
    if (page->page) page_discard(page->page);
    memory_release(page->page);
    csv_buffer_release(&page->meta.text);
    *page = (struct graph_page){ .page = NULL };
}
