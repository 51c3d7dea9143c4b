/* Entries are copied from the dumps as they stand there, with the numbers of merged statistics put in
 * their place, so that everything that reads dumps reads merged ones. */
#include "graph/merge_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/shortest.h"
#include "formats/json_write.h"
#include "graph/build.h"

struct writing {
    struct side_parts *out;
    struct merge_forest *forest;
    bool first_entry, first_stack;
};

static struct status put(struct csv_buffer *out, const char *text)
{
    return csv_append_bytes(out, text, strlen(text));
}

/* ---- numbers in their place -------------------------------------------------------------------- */

/* A statistic as JSON has it. */
static struct status put_statistic(struct csv_buffer *out, const struct dump_rows *rows,
                                   struct row_value value)
{
    if (value.kind == VALUE_IS_REAL && isnan(value.real)) return put(out, "NaN");
    if (value.kind == VALUE_IS_REAL && isinf(value.real))
        return put(out, value.real < 0 ? "-Infinity" : "Infinity");
    if (value.kind == VALUE_IS_NONE) return put(out, "null");
    return row_value_append(out, rows, value);
}

static bool statistic_of_key(enum row_statistic *out, const struct json_slice *key)
{
    static const char *const keys[ROW_STATISTICS] = { "Max", "Min", "Mean", "Norm" };
    for (enum row_statistic s = 0; s < ROW_STATISTICS; s++) {
        if (!json_slice_is(key, keys[s])) continue;
        *out = s;
        return true;
    }
    return false;
}

/* Text of a dump that is being copied: up to `at` is done. */
struct copying {
    struct csv_buffer *out;
    const struct merge_rank *rank;
    const char *at;
};

static struct status copy_to(struct copying *c, const char *end)
{
    TRY(csv_append_bytes(c->out, c->at, (size_t)(end - c->at)));
    c->at = end;
    return status_ok();
}

/* Copy to the end of a row's record, with its statistics as they are now. */
static struct status copy_changed_row(struct copying *c, uint32_t row)
{
    struct json record;
    struct json_slice key;
    enum row_statistic s;
    if (!row_record(&record, c->rank->side, row) || !json_enter_object(&record)) return status_ok();
    while (json_object_next(&record, &key)) {
        enum json_kind kind;
        if (!json_peek(&record, &kind)) break;
        const char *begin = record.at;
        if (!json_skip(&record)) break;
        if (!statistic_of_key(&s, &key)) continue;
        TRY(copy_to(c, begin));
        TRY(put_statistic(c->out, c->rank->rows, dump_row_statistic(&c->rank->rows->rows[row], s)));
        c->at = record.at;
    }
    return status_ok();
}

static int by_place(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Changed rows of a range whose records lie in a part of the text, as pairs of place and row. */
static size_t list_changed(uint64_t (*out)[2], const struct merge_rank *rank, struct row_range rows,
                           uint64_t begin, uint64_t end)
{
    size_t count = 0;
    for (uint32_t row = rows.first; row < rows.first + rows.count; row++) {
        uint64_t place = rank->rows->places[row];
        if (!rank->changed[row] || place < begin || place >= end) continue;
        if (out) memcpy(out[count], (uint64_t[2]){ place, row }, sizeof *out);
        count++;
    }
    return count;
}

/* Copy from `begin` to `end` of a rank's dump, in which rows of a node may have changed. */
static struct status copy_part(struct csv_buffer *out, const struct merge_rank *rank,
                               struct row_range rows, const char *begin, const char *end)
{
    const char *text = rank->side->dump.data;
    struct copying c = { out, rank, begin };
    uint64_t from = (uint64_t)(begin - text), to = (uint64_t)(end - text);
    size_t count = list_changed(NULL, rank, rows, from, to);
    if (!count) return copy_to(&c, end);
    uint64_t(*changed)[2] = memory_allocate(count * sizeof *changed);
    if (!changed) return status_no_memory(count * sizeof *changed);
    (void)list_changed(changed, rank, rows, from, to);
    qsort(changed, count, sizeof *changed, by_place);
    struct status status = status_ok();
    for (size_t i = 0; !status.code && i < count; i++) {
        status = copy_to(&c, text + changed[i][0]);
        if (!status.code) status = copy_changed_row(&c, (uint32_t)changed[i][1]);
    }
    memory_release(changed);
    return status.code ? status : copy_to(&c, end);
}

/* ---- entries ----------------------------------------------------------------------------------- */

/* Where a node's rows come from: its record in a dump. */
struct source {
    const struct merge_rank *rank;
    struct row_range rows;
    struct json record; /* at the record; start NULL: it has none */
};

static struct source source_of(const struct writing *w, uint32_t node)
{
    const struct merge_node *n = &w->forest->nodes[node];
    struct source s = { .rank = &w->forest->ranks[n->rank], .record.start = NULL };
    if (n->origin == NODE_NONE) return s;
    uint64_t place = s.rank->places[n->origin];
    const struct graph_side *side = s.rank->side;
    if (place == PLACE_NONE) return s;
    s.rows = node_rows(side, n->origin);
    json_open(&s.record, (const char *)side->dump.data + place, side->dump.bytes - place);
    return s;
}

static struct status copy_record(struct csv_buffer *out, const struct source *s)
{
    struct json record = s->record;
    const char *begin = record.at;
    (void)json_skip(&record);
    return copy_part(out, s->rank, s->rows, begin, record.at);
}

/* Copy the members of a record that are outputs, or those that are none. */
static struct status copy_members(struct csv_buffer *out, const struct source *s, bool outputs,
                                  bool *first)
{
    struct json record = s->record;
    struct json_slice key;
    enum json_kind kind;
    if (!record.start || !json_peek(&record, &kind) || kind != JSON_OBJECT) return status_ok();
    if (!json_enter_object(&record)) return status_ok();
    while (json_object_next(&record, &key) && json_peek(&record, &kind)) {
        const char *begin = record.at;
        if (!json_skip(&record)) break;
        if (json_slice_is(&key, "output") != outputs) continue;
        TRY(put(out, *first ? "\"" : ", \""));
        TRY(csv_append_bytes(out, key.text, key.bytes));
        TRY(put(out, "\": "));
        TRY(copy_part(out, s->rank, s->rows, begin, record.at));
        *first = false;
    }
    return status_ok();
}

static struct status write_entry(struct writing *w, uint32_t node)
{
    struct csv_buffer *out = &w->out->dump;
    const struct merge_node *n = &w->forest->nodes[node];
    struct source inputs = source_of(w, n->inputs), outputs = source_of(w, n->outputs);
    struct name_slice name = merge_name(w->forest, node);
    bool first = true;
    if (!inputs.record.start && !outputs.record.start) return status_ok();
    TRY(put(out, w->first_entry ? "\n" : ",\n"));
    w->first_entry = false;
    TRY(json_append_string(out, name.text, name.length));
    TRY(put(out, ": "));
    if (n->inputs == n->outputs) return copy_record(out, &inputs);
    TRY(put(out, "{"));
    TRY(copy_members(out, &inputs, false, &first));
    TRY(copy_members(out, &outputs, true, &first));
    return put(out, "}");
}

static struct status write_stack(struct writing *w, uint32_t node)
{
    struct csv_buffer *out = &w->out->stacks;
    const struct merge_node *n = &w->forest->nodes[node];
    const struct graph_side *side = w->forest->ranks[n->rank].side;
    struct name_slice name = merge_name(w->forest, node), first = merge_first_name(w->forest, node);
    struct json frames;
    if (n->origin == NODE_NONE || !side->stacks) return status_ok();
    if (!stacks_find(&frames, side->stacks, first.text, first.length)) return status_ok();
    const char *begin = frames.at;
    if (!json_skip(&frames)) return status_ok();
    TRY(put(out, w->first_stack ? "\n" : ",\n"));
    w->first_stack = false;
    TRY(json_append_string(out, name.text, name.length));
    TRY(put(out, ": "));
    return csv_append_bytes(out, begin, (size_t)(frames.at - begin));
}

/* ---- the model --------------------------------------------------------------------------------- */

/* A name that no node of the model has: with the number of its rank, when the plain one is taken. */
static struct status take_name(uint32_t *number, struct writing *w, uint32_t node)
{
    struct model *model = &w->out->model;
    struct merge_forest *f = w->forest;
    for (;;) {
        uint32_t nodes = model->n_nodes;
        struct name_slice name = merge_name(f, node);
        TRY(model_add(number, model, name.text, name.length));
        if (model->n_nodes > nodes) return status_ok();
        TRY(merge_mark_rank(f, node));
        if (name_slices_equal(merge_name(f, node), name))
            return status_error(STATUS_BAD_INPUT, "two ranks have nodes of the name '%.80s'",
                                name.text);
    }
}

/* ["...", "..."] */
static struct status write_notes(struct writing *w, uint32_t node, uint32_t number)
{
    struct csv_buffer list = { 0 };
    const struct merge_forest *f = w->forest;
    struct status status = put(&list, "[");
    for (uint32_t i = f->nodes[node].first_note; !status.code && i != NOTE_END;
         i = f->notes[i].next) {
        size_t length;
        const char *text = text_table_get(&f->names, f->notes[i].text, &length);
        if (i != f->nodes[node].first_note) status = put(&list, ", ");
        if (!status.code) status = json_append_string(&list, text, length);
    }
    if (!status.code) status = put(&list, "]");
    if (!status.code)
        status =
            text_table_add(&w->out->note_of[number], NULL, &w->out->notes, list.data, list.length);
    csv_buffer_release(&list);
    return status;
}

static struct status write_node(struct writing *w, uint32_t node, uint32_t *of)
{
    struct model *model = &w->out->model;
    const struct model_node *source = &w->forest->tree.nodes[node];
    TRY(take_name(&of[node], w, node));
    struct model_node *made = &model->nodes[of[node]];
    made->type = source->type;
    made->repair = source->repair;
    made->micro_step = source->micro_step;
    model_attach(model, of[source->parent], of[node]);
    TRY(write_entry(w, node));
    TRY(write_stack(w, node));
    return status_ok();
}

static struct status write_nodes(struct writing *w, uint32_t root, uint32_t *of)
{
    const struct model *tree = &w->forest->tree;
    of[root] = w->out->model.root;
    for (uint32_t node = model_after_below(tree, root, root); node != NODE_NONE;
         node = model_after_below(tree, root, node))
        TRY(write_node(w, node, of));
    size_t bytes = w->out->model.n_nodes * sizeof *w->out->note_of;
    w->out->note_of = memory_allocate(bytes);
    if (!w->out->note_of) return status_no_memory(bytes);
    memset(w->out->note_of, 0xff, bytes);
    for (uint32_t node = root; node != NODE_NONE; node = model_after_below(tree, root, node))
        if (w->forest->nodes[node].first_note != NOTE_END) TRY(write_notes(w, node, of[node]));
    return status_ok();
}

/* ---- the texts --------------------------------------------------------------------------------- */

static struct status write_head(struct writing *w, const struct merge_rank *first)
{
    struct csv_buffer *out = &w->out->dump;
    const char *folder = first->side->data_folder;
    TRY(put(out, "{\"task\": \"statistics\", \"framework\": "));
    TRY(put(out, first->rows->framework == FRAMEWORK_MINDSPORE ? "\"mindspore\"" : "\"pytorch\""));
    TRY(put(out, ", \"dump_data_dir\": "));
    TRY(*folder ? json_append_string(out, folder, strlen(folder)) : put(out, "null"));
    TRY(put(out, ", \"data\": {"));
    return put(&w->out->stacks, "{");
}

static struct status write_all(struct writing *w, uint32_t rank, uint32_t *of)
{
    TRY(write_head(w, &w->forest->ranks[rank]));
    TRY(write_nodes(w, w->forest->roots[rank], of));
    model_number_micro_steps(&w->out->model, &w->forest->ranks[rank].side->model);
    TRY(put(&w->out->dump, "}}\n"));
    return put(&w->out->stacks, "}\n");
}

struct status merge_text_write(struct side_parts *out, struct merge_forest *forest, uint32_t rank)
{
    struct writing w = { .out = out, .forest = forest, .first_entry = true, .first_stack = true };
    struct text_table names = { 0 };
    *out = (struct side_parts){ .note_of = NULL };
    TRY(text_table_create(&names));
    TRY(model_create(&out->model, &names));
    TRY(text_table_create(&out->notes));
    uint32_t *of = memory_allocate(forest->tree.n_nodes * sizeof *of);
    struct status status = of ? write_all(&w, rank, of)
                              : status_no_memory(forest->tree.n_nodes * sizeof *of);
    memory_release(of);
    return status;
}
