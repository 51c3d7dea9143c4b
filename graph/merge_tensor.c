/* A share of a tensor is found by the place of its node: the partners of a node are the nodes that have
 * its name in the partners of its rank. */
#include "graph/merge_tensor.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "compare/dumps/statistics.h"
#include "core/memory.h"
#include "core/shortest.h"
#include "graph/communication_record.h"

struct tensor_merge {
    struct merge_forest *forest;
    uint32_t root, count;
    const uint32_t *partner;
    uint32_t *shares;       /* of the node that is looked at: itself and its partners */
    struct csv_buffer note; /* scratch */
};

static const struct model_node *node_at(const struct tensor_merge *m, uint32_t node)
{
    return &m->forest->tree.nodes[node];
}

static bool name_has(const struct tensor_merge *m, uint32_t node, const char *word)
{
    struct name_slice name = merge_name(m->forest, node);
    return memmem(name.text, name.length, word, strlen(word)) != NULL;
}

static bool has_notes(const struct tensor_merge *m, uint32_t node)
{
    return m->forest->nodes[node].first_note != NOTE_END;
}

/* ---- partners ---------------------------------------------------------------------------------- */

static uint32_t partner_node(const struct tensor_merge *m, uint32_t node, uint32_t i)
{
    const struct merge_forest *f = m->forest;
    return merge_find(f, m->partner[f->nodes[node].rank * m->count + i], merge_first_name(f, node));
}

/* Does the partner stand where the node does? Their parents are partners, or both are the roots. */
static bool stands_alike(const struct tensor_merge *m, uint32_t node, uint32_t partner, uint32_t i)
{
    uint32_t parent = node_at(m, node)->parent, other = node_at(m, partner)->parent;
    if (parent == NODE_NONE || other == NODE_NONE) return parent == other;
    return partner_node(m, parent, i) == other;
}

static bool find_shares(struct tensor_merge *m, uint32_t node)
{
    m->shares[0] = node;
    for (uint32_t i = 1; i < m->count; i++) {
        m->shares[i] = partner_node(m, node, i);
        if (m->shares[i] == NODE_NONE || !stands_alike(m, node, m->shares[i], i)) return false;
    }
    return true;
}

/* ---- statistics -------------------------------------------------------------------------------- */

/* A row of the first share with the rows of the others. */
struct shared_row {
    struct merge_rank *owner;
    uint32_t row;
    bool outputs;
};

static const struct dump_row *share_row(const struct tensor_merge *m, const struct shared_row *r,
                                        uint32_t i, const struct dump_rows **rows)
{
    struct merge_rank *owner;
    if (!i) {
        *rows = r->owner->rows;
        return &(*rows)->rows[r->row];
    }
    (void)merge_rows(&owner, m->forest, m->shares[i], r->outputs);
    uint32_t row = merge_partner_row(m->forest, m->shares[0], r->row, m->shares[i], r->outputs);
    *rows = owner->rows;
    return row != ROW_MISSING && merge_row_is_numeric(*rows, row) ? &(*rows)->rows[row] : NULL;
}

static bool all_shares_have(const struct tensor_merge *m, const struct shared_row *r)
{
    const struct dump_rows *rows;
    for (uint32_t i = 1; i < m->count; i++)
        if (!share_row(m, r, i, &rows)) return false;
    return true;
}

static bool shares_differ(const struct tensor_merge *m, const struct shared_row *r)
{
    const struct dump_rows *rows;
    for (uint32_t i = 1; i < m->count; i++) {
        const struct dump_row *other = share_row(m, r, i, &rows);
        if (!merge_rows_equal(r->owner->rows, r->row, rows, (uint32_t)(other - rows->rows), true))
            return true;
    }
    return false;
}

static double add_up(enum row_statistic s, double sum, double value)
{
    switch (s) {
    case STATISTIC_MAX: return isnan(value) || value > sum ? value : sum;
    case STATISTIC_MIN: return isnan(value) || value < sum ? value : sum;
    case STATISTIC_MEAN: return sum + value;
    default: return sum + value * value;
    }
}

/* The statistic of the whole from those of the shares; false when one of them has none. */
static bool merge_statistic(double *out, bool *integers, const struct tensor_merge *m,
                            const struct shared_row *r, enum row_statistic s)
{
    const struct dump_rows *rows;
    double value = 0;
    *integers = true;
    for (uint32_t i = 0; i < m->count; i++) {
        const struct dump_row *row = share_row(m, r, i, &rows);
        if (!row_value_number(&value, rows, dump_row_statistic(row, s))) return false;
        *integers &= row->statistic_kind[s] == VALUE_IS_INTEGER;
        if (i) *out = add_up(s, *out, value);
        else *out = s == STATISTIC_L2NORM ? value * value : value;
    }
    if (s == STATISTIC_MEAN) *out /= m->count;
    if (s == STATISTIC_L2NORM) *out = sqrt(*out);
    *integers &= s <= STATISTIC_MIN;
    return true;
}

static struct status note_append(struct tensor_merge *m, const char *text)
{
    return csv_append_bytes(&m->note, text, strlen(text));
}

/* "input.0 Max: max(1.5, 2.0) = 2.0" */
static struct status note_statistic(struct tensor_merge *m, const struct shared_row *r,
                                    enum row_statistic s)
{
    static const char *const formulas[ROW_STATISTICS] = { "Max: max(", "Min: min(", "Mean: mean(",
                                                          "Norm: root of sum of squares(" };
    const struct dump_rows *rows = r->owner->rows;
    const char *place = dump_text(rows, rows->rows[r->row].suffix);
    csv_buffer_clear(&m->note);
    TRY(note_append(m, *place == '.' ? place + 1 : place));
    TRY(note_append(m, " "));
    TRY(note_append(m, formulas[s]));
    for (uint32_t i = 0; i < m->count; i++) {
        const struct dump_row *row = share_row(m, r, i, &rows);
        if (i) TRY(note_append(m, ", "));
        TRY(row_value_append(&m->note, rows, dump_row_statistic(row, s)));
    }
    return note_append(m, ") = ");
}

static void set_statistic(struct merge_rank *owner, uint32_t row, enum row_statistic s,
                          double value, bool integer)
{
    struct dump_row *r = &owner->rows->rows[row];
    r->statistic_kind[s] = integer ? VALUE_IS_INTEGER : VALUE_IS_REAL;
    if (integer) r->statistic[s].integer = (int64_t)value;
    else r->statistic[s].real = value;
    owner->changed[row] = true;
}

static struct status merge_row(struct tensor_merge *m, uint32_t node, const struct shared_row *r)
{
    for (enum row_statistic s = 0; s < ROW_STATISTICS; s++) {
        double value = 0;
        bool integers;
        if (!merge_statistic(&value, &integers, m, r, s)) continue;
        TRY(note_statistic(m, r, s));
        set_statistic(r->owner, r->row, s, value, integers);
        TRY(row_value_append(&m->note, r->owner->rows,
                             dump_row_statistic(&r->owner->rows->rows[r->row], s)));
        TRY(merge_add_note(m->forest, node, m->note.data, m->note.length));
    }
    return status_ok();
}

/* ---- nodes ------------------------------------------------------------------------------------- */

/* "of the ranks 0, 1" */
static struct status note_ranks(struct tensor_merge *m, uint32_t node)
{
    char number[16];
    const struct merge_forest *f = m->forest;
    csv_buffer_clear(&m->note);
    TRY(note_append(m, "merged from the shares of the ranks "));
    for (uint32_t i = 0; i < m->count; i++) {
        (void)snprintf(number, sizeof number, "%s%u", i ? ", " : "",
                       f->ranks[f->nodes[m->shares[i]].rank].rank);
        TRY(note_append(m, number));
    }
    return merge_add_note(m->forest, node, m->note.data, m->note.length);
}

/* Which rows are left as they are. */
struct whole_rows {
    bool first_input, outputs, bias;
};

static bool is_whole(const struct whole_rows *whole, const struct shared_row *r)
{
    const struct dump_rows *rows = r->owner->rows;
    const char *place = dump_text(rows, rows->rows[r->row].suffix);
    if (r->outputs) return whole->outputs;
    return (whole->first_input && !strcmp(place, ".input.0")) ||
           (whole->bias && !strcmp(place, ".parameters.bias"));
}

/* Merge the inputs or the outputs of a node whose shares have been found; *any when there was something
 * to merge, which a note says before the first. */
static struct status merge_rows_of(bool *any, struct tensor_merge *m, uint32_t node, bool outputs,
                                   bool equal_too, const struct whole_rows *whole)
{
    struct shared_row r = { .outputs = outputs };
    struct row_range range = merge_rows(&r.owner, m->forest, node, outputs);
    for (r.row = range.first; r.row < range.first + range.count; r.row++) {
        if (row_is_shown_as_output(r.owner->side, r.row) != outputs) continue;
        if (!merge_row_is_numeric(r.owner->rows, r.row) || !all_shares_have(m, &r)) continue;
        if (!equal_too && !shares_differ(m, &r)) continue;
        if (!*any) TRY(note_ranks(m, node));
        *any = true;
        if (!is_whole(whole, &r)) TRY(merge_row(m, node, &r));
    }
    return status_ok();
}

static struct status merge_node(struct tensor_merge *m, uint32_t node, bool equal_too,
                                const struct whole_rows *whole)
{
    bool any = false;
    if (!find_shares(m, node)) return status_ok();
    TRY(merge_rows_of(&any, m, node, false, equal_too, whole));
    return merge_rows_of(&any, m, node, true, equal_too, whole);
}

/* ---- sums over the ranks ------------------------------------------------------------------------ */

/* The class of a module: "Module.a.fc.RowParallelLinear.forward.0". */
static bool class_is(const struct tensor_merge *m, uint32_t node, const char *word,
                     enum name_direction direction)
{
    struct name_slice name = merge_name(m->forest, node), class = name_part_from_end(name, 3);
    return node_at(m, node)->type == NODE_MODULE && name_part_count(name) >= 4 &&
           name_direction(name) == direction && name_is_number(name_part_from_end(name, 1)) &&
           memmem(class.text, class.length, word, strlen(word));
}

/* Row `nth` of what a node takes or gives; ROW_MISSING. */
static uint32_t nth_row(struct merge_rank **owner, const struct tensor_merge *m, uint32_t node,
                        bool outputs, unsigned nth)
{
    struct row_range range = merge_rows(owner, m->forest, node, outputs);
    for (uint32_t row = range.first; row < range.first + range.count; row++)
        if (row_is_shown_as_output((*owner)->side, row) == outputs && !nth--) return row;
    return ROW_MISSING;
}

/* A call that sums what the ranks hold; all_reduce does so in its first argument, the others take it as
 * their second. */
static bool is_reduction(const struct tensor_merge *m, uint32_t node, unsigned *argument)
{
    *argument = name_has(m, node, "all_reduce") ? 0 : 1;
    return *argument == 0 || name_has(m, node, "_reduce_scatter_base") ||
           name_has(m, node, "reduce_scatter_tensor");
}

/* Does the reduction sum what the product gave? */
static bool sums_up(const struct tensor_merge *m, uint32_t product, uint32_t reduction,
                    unsigned argument)
{
    struct merge_rank *a, *b;
    uint32_t given = nth_row(&a, m, product, true, 0);
    uint32_t taken = nth_row(&b, m, reduction, false, argument);
    return given != ROW_MISSING && taken != ROW_MISSING &&
           merge_rows_equal(a->rows, given, b->rows, taken, false);
}

/* The first output of the product becomes that of the reduction. */
static struct status take_sum(struct tensor_merge *m, uint32_t product, uint32_t reduction)
{
    struct merge_rank *a, *b;
    uint32_t to = nth_row(&a, m, product, true, 0), from = nth_row(&b, m, reduction, true, 0);
    struct name_slice name = merge_name(m->forest, reduction);
    if (to == ROW_MISSING || from == ROW_MISSING) return status_ok();
    for (enum row_statistic s = 0; s < ROW_STATISTICS; s++) {
        a->rows->rows[to].statistic[s] = b->rows->rows[from].statistic[s];
        a->rows->rows[to].statistic_kind[s] = b->rows->rows[from].statistic_kind[s];
    }
    a->changed[to] = true;
    csv_buffer_clear(&m->note);
    TRY(note_append(m, "output.0 is what the ranks give in sum: "));
    TRY(csv_append_bytes(&m->note, name.text, name.length));
    return merge_add_note(m->forest, product, m->note.data, m->note.length);
}

/* The reduction in the module of a product that sums what it gave; each is used once. */
static uint32_t find_reduction(const struct tensor_merge *m, uint32_t module, uint32_t product)
{
    unsigned argument;
    for (uint32_t child = node_at(m, module)->first_child; child != NODE_NONE;
         child = node_at(m, child)->next)
        if (is_reduction(m, child, &argument) && !m->forest->nodes[child].claimed &&
            sums_up(m, product, child, argument))
            return child;
    return NODE_NONE;
}

/* Products of a linear layer that is split along what it sums over: a forward one by rows, a backward
 * one by columns. */
static struct status merge_products(struct tensor_merge *m, uint32_t module)
{
    static const struct whole_rows none = { .outputs = false };
    if (!class_is(m, module, "RowParallelLinear", DIRECTION_FORWARD) &&
        !class_is(m, module, "ColumnParallelLinear", DIRECTION_BACKWARD))
        return status_ok();
    for (uint32_t child = node_at(m, module)->first_child; child != NODE_NONE;
         child = node_at(m, child)->next) {
        bool any = false;
        uint32_t reduction = name_has(m, child, "matmul") ? find_reduction(m, module, child)
                                                          : NODE_NONE;
        if (reduction == NODE_NONE) continue;
        m->forest->nodes[reduction].claimed = true;
        if (find_shares(m, child)) TRY(merge_rows_of(&any, m, child, false, false, &none));
        TRY(take_sum(m, child, reduction));
    }
    return status_ok();
}

/* ---- all nodes --------------------------------------------------------------------------------- */

static bool is_merged(const struct tensor_merge *m, uint32_t node)
{
    uint32_t parent = node_at(m, node)->parent;
    if (parent == NODE_NONE || node_at(m, parent)->type != NODE_MODULE) return false;
    struct name_slice above = merge_name(m->forest, parent), name = merge_name(m->forest, node);
    if (name_slice_is(above, "clip_grad") || name_slice_is(above, "optimizer")) return false;
    return !name_starts_with(name, "Distributed") && !has_notes(m, node);
}

static struct status merge_differing(struct tensor_merge *m)
{
    static const struct whole_rows none = { .outputs = false };
    const struct model *tree = &m->forest->tree;
    for (uint32_t node = m->root; node != NODE_NONE;
         node = model_after_below(tree, m->root, node)) {
        if (!is_merged(m, node)) continue;
        TRY(merge_products(m, node));
        TRY(merge_node(m, node, false, &none));
    }
    return status_ok();
}

/* ---- pairs of linear layers ---------------------------------------------------------------------- */

/* The last sibling behind a column-parallel layer that is row-parallel. */
static uint32_t find_row_parallel(const struct tensor_merge *m, uint32_t column)
{
    uint32_t found = NODE_NONE;
    for (uint32_t at = node_at(m, column)->next; at != NODE_NONE; at = node_at(m, at)->next)
        if (name_has(m, at, "RowParallelLinear")) found = at;
    return found;
}

static struct whole_rows rows_left_whole(const struct tensor_merge *m, uint32_t node,
                                         uint32_t column, uint32_t row)
{
    bool product = name_has(m, node, "matmul");
    uint32_t parent = node_at(m, node)->parent;
    bool of_column = node == column || (product && parent == column);
    bool of_row = node == row || (product && parent == row);
    return (struct whole_rows){ .first_input = of_column, .outputs = of_row, .bias = of_row };
}

/* Between the two layers every rank holds its own share, though statistics may be equal by chance. */
static struct status merge_pair(struct tensor_merge *m, uint32_t column, uint32_t row)
{
    const struct model *tree = &m->forest->tree;
    for (uint32_t top = column;; top = node_at(m, top)->next) {
        for (uint32_t node = top; node != NODE_NONE; node = model_after_below(tree, top, node)) {
            struct whole_rows whole = rows_left_whole(m, node, column, row);
            if (has_notes(m, node) || name_starts_with(merge_name(m->forest, node), "Distributed"))
                continue;
            TRY(merge_node(m, node, true, &whole));
        }
        if (top == row) return status_ok();
    }
}

static struct status merge_pairs(struct tensor_merge *m)
{
    const struct model *tree = &m->forest->tree;
    for (uint32_t node = m->root; node != NODE_NONE;
         node = model_after_below(tree, m->root, node)) {
        if (has_notes(m, node)) continue;
        if (!class_is(m, node, "ColumnParallelLinear", DIRECTION_FORWARD)) continue;
        uint32_t row = find_row_parallel(m, node);
        if (row != NODE_NONE) TRY(merge_pair(m, node, row));
    }
    return status_ok();
}

struct status merge_tensor(struct merge_forest *forest, const uint32_t *trees, uint32_t count,
                           const uint32_t *partner)
{
    struct tensor_merge m = {
        .forest = forest, .root = forest->roots[trees[0]], .count = count, .partner = partner
    };
    m.shares = memory_allocate(count * sizeof *m.shares);
    if (!m.shares) return status_no_memory(count * sizeof *m.shares);
    struct status status = merge_differing(&m);
    if (!status.code) status = merge_pairs(&m);
    memory_release(m.shares);
    csv_buffer_release(&m.note);
    return status;
}
