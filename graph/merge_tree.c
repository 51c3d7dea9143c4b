/* The forest and what its parts ask of it. */
#include "graph/merge_tree.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "compare/dumps/statistics.h"
#include "core/dtype.h"
#include "core/growing.h"
#include "core/memory.h"

/* ---- nodes ------------------------------------------------------------------------------------- */

/* The key of a name of a rank; its length, 0 when it does not fit. */
static size_t make_key(char key[NAME_BUFFER + 16], uint32_t rank, struct name_slice name)
{
    if (name.length >= NAME_BUFFER) return 0;
    int prefix = snprintf(key, 16, "%u ", rank);
    memcpy(key + prefix, name.text, name.length);
    return (size_t)prefix + name.length;
}

static struct status add_node(uint32_t *node, struct merge_forest *f, uint32_t rank,
                              struct name_slice name)
{
    char key[NAME_BUFFER + 16];
    size_t length = make_key(key, rank, name);
    TRY(model_add(node, &f->tree, key, length));
    TRY(array_make_room(&f->nodes, &f->node_room, *node, sizeof *f->nodes));
    f->nodes[*node] = (struct merge_node){ .rank = rank,
                                           .origin = NODE_NONE,
                                           .inputs = *node,
                                           .outputs = *node,
                                           .first_note = NOTE_END,
                                           .last_note = NOTE_END };
    return text_table_add(&f->nodes[*node].name, NULL, &f->names, name.text, name.length);
}

struct status merge_add(uint32_t *node, struct merge_forest *forest, uint32_t rank,
                        enum node_type type, const char *name)
{
    struct name_slice slice = name_slice_of(name, strlen(name));
    *node = NODE_NONE;
    if (merge_find(forest, rank, slice) != NODE_NONE) return status_ok();
    TRY(add_node(node, forest, rank, slice));
    forest->tree.nodes[*node].type = (uint8_t)type;
    return status_ok();
}

/* Parents come before their children in the walk, so their nodes are there. */
static struct status add_rank(struct merge_forest *f, uint32_t rank)
{
    const struct model *model = &f->ranks[rank].side->model;
    uint32_t *of = memory_allocate(model->n_nodes * sizeof *of);
    struct status status = of ? status_ok() : status_no_memory(model->n_nodes * sizeof *of);
    for (uint32_t from = model->root; !status.code && from != NODE_NONE;
         from = model_after(model, from)) {
        const struct model_node *source = &model->nodes[from];
        status = add_node(&of[from], f, rank, model_name(model, from));
        if (status.code) break;
        struct model_node *node = &f->tree.nodes[of[from]];
        node->type = source->type;
        node->repair = source->repair;
        node->micro_step = source->micro_step;
        f->nodes[of[from]].origin = from;
        if (from == model->root) continue;
        if (source->previous != NODE_NONE)
            f->nodes[of[from]].position = f->nodes[of[source->previous]].position + 1;
        model_attach(&f->tree, of[source->parent], of[from]);
    }
    if (!status.code) f->roots[rank] = of[model->root];
    memory_release(of);
    return status;
}

struct status merge_forest_open(struct merge_forest *out, struct merge_rank *ranks,
                                uint32_t n_ranks)
{
    struct text_table names = { 0 };
    *out = (struct merge_forest){ .ranks = ranks, .n_ranks = n_ranks };
    out->roots = memory_allocate(n_ranks * sizeof *out->roots);
    if (!out->roots) return status_no_memory(n_ranks * sizeof *out->roots);
    TRY(text_table_create(&out->names));
    TRY(text_table_create(&names));
    TRY(model_create(&out->tree, &names));
    for (uint32_t rank = 0; rank < n_ranks; rank++) TRY(add_rank(out, rank));
    return status_ok();
}

void merge_forest_close(struct merge_forest *forest)
{
    if (forest->names.slots) text_table_release(&forest->names);
    model_close(&forest->tree);
    memory_release(forest->roots);
    memory_release(forest->nodes);
    memory_release(forest->notes);
    *forest = (struct merge_forest){ .ranks = NULL };
}

/* ---- names ------------------------------------------------------------------------------------- */

uint32_t merge_find(const struct merge_forest *forest, uint32_t rank, struct name_slice name)
{
    char key[NAME_BUFFER + 16];
    size_t length = make_key(key, rank, name);
    return length ? model_find(&forest->tree, key, length) : NODE_NONE;
}

struct name_slice merge_name(const struct merge_forest *forest, uint32_t node)
{
    size_t length;
    const char *text = text_table_get(&forest->names, forest->nodes[node].name, &length);
    return name_slice_of(text, length);
}

struct name_slice merge_first_name(const struct merge_forest *forest, uint32_t node)
{
    struct name_slice key = model_name(&forest->tree, node);
    const char *blank = memchr(key.text, ' ', key.length);
    return name_slice_of(blank + 1, key.length - (size_t)(blank + 1 - key.text));
}

struct status merge_rename(struct merge_forest *forest, uint32_t node, const char *name,
                           size_t length)
{
    return text_table_add(&forest->nodes[node].name, NULL, &forest->names, name, length);
}

struct status merge_mark_rank(struct merge_forest *forest, uint32_t node)
{
    char name[NAME_BUFFER + 32];
    struct name_slice old = merge_name(forest, node), part = name_part(old, 1);
    if (old.length >= NAME_BUFFER - 32 || !part.length) return status_ok();
    size_t before = (size_t)(part.text - old.text) + part.length;
    int length = snprintf(name, sizeof name, "%.*s_rank%u%.*s", (int)before, old.text,
                          forest->ranks[forest->nodes[node].rank].rank, (int)(old.length - before),
                          old.text + before);
    return merge_rename(forest, node, name, (size_t)length);
}

struct status merge_add_note(struct merge_forest *forest, uint32_t node, const char *text,
                             size_t length)
{
    struct merge_node *n = &forest->nodes[node];
    TRY(array_make_room(&forest->notes, &forest->note_room, forest->n_notes,
                        sizeof *forest->notes));
    uint32_t number = (uint32_t)forest->n_notes;
    forest->notes[number].next = NOTE_END;
    TRY(text_table_add(&forest->notes[number].text, NULL, &forest->names, text, length));
    if (n->first_note == NOTE_END) n->first_note = number;
    else forest->notes[n->last_note].next = number;
    n->last_note = number;
    forest->n_notes++;
    return status_ok();
}

/* ---- rows -------------------------------------------------------------------------------------- */

struct row_range merge_rows(struct merge_rank **owner, const struct merge_forest *forest,
                            uint32_t node, bool outputs)
{
    const struct merge_node *n = &forest->nodes[node];
    const struct merge_node *source = &forest->nodes[outputs ? n->outputs : n->inputs];
    *owner = &forest->ranks[source->rank];
    if (source->origin == NODE_NONE) return (struct row_range){ 0, 0 };
    return node_rows((*owner)->side, source->origin);
}

static const char *row_place(const struct dump_rows *rows, uint32_t row)
{
    return dump_text(rows, rows->rows[row].suffix);
}

uint32_t merge_partner_row(const struct merge_forest *forest, uint32_t node, uint32_t row,
                           uint32_t other, bool outputs)
{
    struct merge_rank *a, *b;
    struct row_range own = merge_rows(&a, forest, node, outputs);
    struct row_range range = merge_rows(&b, forest, other, outputs);
    const char *place = row_place(a->rows, row);
    /* As a rule it is the row with the same number. */
    uint32_t guess = range.first + (row - own.first);
    if (guess < range.first + range.count && !strcmp(row_place(b->rows, guess), place))
        return guess;
    for (uint32_t i = range.first; i < range.first + range.count; i++)
        if (!strcmp(row_place(b->rows, i), place)) return i;
    return ROW_MISSING;
}

/* PyTorch's spelling, or MindSpore's, which begins with a capital. */
static enum dtype dtype_of_row(const struct dump_rows *rows, uint32_t row)
{
    char name[32];
    const char *text = dump_text(rows, rows->rows[row].dtype);
    if (strlen(text) >= sizeof name) return DT_NONE;
    for (size_t i = 0; i <= strlen(text); i++)
        name[i] = text[i] >= 'A' && text[i] <= 'Z' ? (char)(text[i] + 32) : text[i];
    return dtype_from_name(name);
}

bool merge_row_is_numeric(const struct dump_rows *rows, uint32_t row)
{
    if (!rows->rows[row].is_tensor) return false;
    enum dtype dtype = dtype_of_row(rows, row);
    return dtype_is_float(dtype) || (dtype_is_integral(dtype) && dtype != DT_BOOL);
}

static bool nearly_equal(double a, double b)
{
    enum { PARTS = 1000000 };
    double off = fabs(a - b);
    if (isnan(off)) return isnan(a) && isnan(b);
    if (isinf(off)) return isinf(a) && isinf(b);
    return off < (a == 0 ? 1 : fabs(a)) / PARTS;
}

bool merge_rows_equal(const struct dump_rows *a, uint32_t row_a, const struct dump_rows *b,
                      uint32_t row_b, bool nearly)
{
    for (enum row_statistic s = 0; s < ROW_STATISTICS; s++) {
        double x, y;
        bool rounded = nearly && s >= STATISTIC_MEAN;
        if (!row_value_number(&x, a, dump_row_statistic(&a->rows[row_a], s)) ||
            !row_value_number(&y, b, dump_row_statistic(&b->rows[row_b], s)))
            continue;
        if (rounded ? !nearly_equal(x, y) : x != y) return false;
    }
    return true;
}
