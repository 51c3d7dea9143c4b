/* Matching of nodes, from the root down, so that what a node's ancestors match is known. */
#include "graph/match.h"

#include <string.h>

#include "core/memory.h"
#include "graph/name_queues.h"

/* ---- rows of two nodes -------------------------------------------------------------------- */

static struct json_slice record_type(const struct graph_side *side, uint32_t row)
{
    struct json record;
    struct json_slice key, type = { NULL, 0, false };
    enum json_kind kind;
    if (!row_record(&record, side, row) || !json_enter_object(&record)) return type;
    while (json_object_next(&record, &key) && json_peek(&record, &kind)) {
        if (kind == JSON_STRING && json_slice_is(&key, "type")) {
            (void)json_string(&record, &type);
            break;
        }
        if (!json_skip(&record)) break;
    }
    return type;
}

struct row_pair {
    const struct graph_side *npu, *bench;
    uint32_t npu_row, bench_row;
};

static bool shapes_equal(const struct row_pair *p)
{
    return !strcmp(dump_text(p->npu->rows, p->npu->rows->rows[p->npu_row].shape),
                   dump_text(p->bench->rows, p->bench->rows->rows[p->bench_row].shape));
}

static bool types_equal(const struct row_pair *p)
{
    struct json_slice a = record_type(p->npu, p->npu_row), b = record_type(p->bench, p->bench_row);
    if (!a.text || !b.text) return !a.text && !b.text;
    return a.bytes == b.bytes && !memcmp(a.text, b.text, a.bytes);
}

/* The next row of a node from `row` on that is shown with its inputs or outputs. */
static uint32_t next_shown(const struct graph_side *side, struct row_range range, uint32_t row,
                           bool outputs)
{
    while (row < range.first + range.count && row_is_shown_as_output(side, row) != outputs) row++;
    return row;
}

/* Do the rows of two nodes fit, inputs with inputs and outputs with outputs? Exact: their numbers
 * and types too; otherwise shapes, as far as the shorter list goes. */
static bool rows_fit(const struct graph_side *npu, uint32_t npu_node,
                     const struct graph_side *bench, uint32_t bench_node, bool exact)
{
    struct row_range a = node_rows(npu, npu_node), b = node_rows(bench, bench_node);
    for (int outputs = 0; outputs < 2; outputs++) {
        struct row_pair p = { npu, bench, next_shown(npu, a, a.first, outputs),
                              next_shown(bench, b, b.first, outputs) };
        for (;;) {
            bool has_npu = p.npu_row < a.first + a.count,
                 has_bench = p.bench_row < b.first + b.count;
            if (!has_npu || !has_bench) {
                if (exact && has_npu != has_bench) return false;
                break;
            }
            if (!shapes_equal(&p) || (exact && !types_equal(&p))) return false;
            p.npu_row = next_shown(npu, a, p.npu_row + 1, outputs);
            p.bench_row = next_shown(bench, b, p.bench_row + 1, outputs);
        }
    }
    return true;
}

/* ---- nodes -------------------------------------------------------------------------------- */

struct matching {
    struct graph_side *npu, *bench;
    const struct match_request *request;
    bool *same_path; /* by NPU node: it and all its ancestors have the names of Bench nodes */
    struct name_queues
        calls; /* of fuzzy matching: those of one module of Bench, without counters */
};

static void join(struct matching *m, uint32_t npu, uint32_t bench)
{
    if (m->bench->match[bench] != NODE_NONE) return; /* a mapping may name a node twice */
    m->npu->match[npu] = bench;
    m->bench->match[bench] = npu;
}

static uint32_t bench_of_name(const struct matching *m, uint32_t npu)
{
    struct name_slice name = model_name(&m->npu->model, npu);
    return model_find(&m->bench->model, name.text, name.length);
}

static void match_exact(struct matching *m, uint32_t npu, uint32_t bench)
{
    const struct model_node *n = &m->npu->model.nodes[npu];
    if (bench == NODE_NONE) return;
    uint32_t parent = bench_of_name(m, n->parent);
    m->same_path[npu] = m->same_path[n->parent] && m->bench->model.nodes[bench].parent == parent;
    if (m->same_path[npu] && rows_fit(m->npu, npu, m->bench, bench, true)) join(m, npu, bench);
}

/* The Bench node of the entry that the mapping gives an NPU node, or of the same name. */
static void match_mapped(struct matching *m, uint32_t npu)
{
    uint32_t entry = m->npu->entry_of[npu], bench = bench_of_name(m, npu);
    uint32_t mapped = entry == ENTRY_NONE ? ROW_NONE : m->request->bench_entry[entry];
    if (mapped != ROW_NONE) {
        size_t length;
        const char *name = dump_entry_name(m->bench->rows, mapped, &length);
        bench = model_find(&m->bench->model, name, length);
    }
    if (bench != NODE_NONE) join(m, npu, bench);
}

/* ---- calls without counters ----------------------------------------------------------------- */

/* Take "_rank3", which calls of merged ranks have, from a name; its new length. */
static size_t drop_rank(char *name, size_t length)
{
    static const char word[] = "_rank";
    char *at = memmem(name, length, word, sizeof word - 1);
    char *digits = at ? at + sizeof word - 1 : NULL, *end = digits;
    while (end && end < name + length && *end >= '0' && *end <= '9') end++;
    if (end == digits) return length;
    memmove(at, end, (size_t)(name + length - end));
    return length - (size_t)(end - at);
}

static size_t name_without_counter(char buffer[NAME_BUFFER], const struct matching *m,
                                   struct name_slice name)
{
    if (name.length >= NAME_BUFFER) return 0;
    memcpy(buffer, name.text, name.length);
    size_t length = name_drop_counter(buffer, name.length);
    return m->request->rule == MATCH_MERGED ? drop_rank(buffer, length) : length;
}

/* Do two nodes that a fuzzy rule brings together fit? */
static bool fits_fuzzily(const struct matching *m, uint32_t npu, uint32_t bench)
{
    return m->request->rule == MATCH_MERGED || rows_fit(m->npu, npu, m->bench, bench, false);
}

/* Line up the calls of a Bench module, or forget those that are left. */
static struct status line_up_calls(struct matching *m, uint32_t module, bool forget)
{
    char buffer[NAME_BUFFER];
    const struct model *model = &m->bench->model;
    for (uint32_t child = model->nodes[module].first_child; child != NODE_NONE;
         child = model->nodes[child].next) {
        if (model->nodes[child].type != NODE_CALL) continue;
        size_t length = name_without_counter(buffer, m, model_name(model, child));
        if (forget) name_queues_clear(&m->calls, buffer, length);
        else TRY(name_queues_push(&m->calls, buffer, length, child));
    }
    return status_ok();
}

/* The k-th call of a name inside of the one module with the k-th inside of the other. */
static struct status match_calls(struct matching *m, uint32_t npu, uint32_t bench)
{
    char buffer[NAME_BUFFER];
    const struct model *model = &m->npu->model;
    TRY(line_up_calls(m, bench, false));
    for (uint32_t child = model->nodes[npu].first_child; child != NODE_NONE;
         child = model->nodes[child].next) {
        if (model->nodes[child].type != NODE_CALL) continue;
        size_t length = name_without_counter(buffer, m, model_name(model, child));
        uint32_t partner = name_queues_pop(&m->calls, buffer, length);
        if (partner != NODE_NONE && fits_fuzzily(m, child, partner)) join(m, child, partner);
    }
    return line_up_calls(m, bench, true); /* the names serve the next module */
}

static struct status match_fuzzy(struct matching *m, uint32_t npu, uint32_t bench)
{
    if (m->npu->model.nodes[npu].type == NODE_CALL) return status_ok();
    if (bench == NODE_NONE || m->bench->model.nodes[bench].type == NODE_CALL) return status_ok();
    if (!fits_fuzzily(m, npu, bench)) return status_ok();
    join(m, npu, bench);
    return match_calls(m, npu, bench);
}

/* ---- the walk ------------------------------------------------------------------------------- */

static struct status match_node(struct matching *m, uint32_t npu)
{
    switch (m->request->rule) {
    case MATCH_EXACT: match_exact(m, npu, bench_of_name(m, npu)); return status_ok();
    case MATCH_MAPPED: match_mapped(m, npu); return status_ok();
    default: return match_fuzzy(m, npu, bench_of_name(m, npu));
    }
}

static struct status match_all(struct matching *m)
{
    const struct model *model = &m->npu->model;
    m->same_path = memory_allocate_zeroed(model->n_nodes, sizeof *m->same_path);
    if (!m->same_path) return status_no_memory(model->n_nodes);
    TRY(name_queues_create(&m->calls, m->bench->model.n_nodes));
    m->same_path[model->root] = true;
    join(m, model->root, m->bench->model.root);
    if (m->request->rule == MATCH_FUZZY || m->request->rule == MATCH_MERGED)
        TRY(match_calls(m, model->root, m->bench->model.root));
    for (uint32_t node = model_after(model, model->root); node != NODE_NONE;
         node = model_after(model, node))
        TRY(match_node(m, node));
    return status_ok();
}

struct status match_nodes(struct graph_side *npu, struct graph_side *bench,
                          const struct match_request *request)
{
    struct matching m = { .npu = npu, .bench = bench, .request = request };
    struct status status = match_all(&m);
    name_queues_release(&m.calls);
    memory_release(m.same_path);
    return status;
}

/* ---- rows ----------------------------------------------------------------------------------- */

/* The rows of a node that are in one state, one after the other. */
static uint32_t next_in_state(const struct graph_side *side, struct row_range range, uint32_t row,
                              enum row_state state)
{
    while (row < range.first + range.count && side->rows->rows[row].state != state) row++;
    return row;
}

static void pair_in_state(struct pairing *out, const struct graph_side *npu, uint32_t npu_node,
                          const struct graph_side *bench, enum row_state state)
{
    struct row_range a = node_rows(npu, npu_node), b = node_rows(bench, npu->match[npu_node]);
    uint32_t n = next_in_state(npu, a, a.first, state), k = next_in_state(bench, b, b.first, state);
    while (n < a.first + a.count && k < b.first + b.count) {
        pairing_join(out, n, k);
        n = next_in_state(npu, a, n + 1, state);
        k = next_in_state(bench, b, k + 1, state);
    }
}

struct status match_rows(struct pairing *out, const struct graph_side *npu,
                         const struct graph_side *bench, const char *prefix)
{
    const struct dump_pair dumps = { .npu = npu->rows, .bench = bench->rows };
    TRY(pairing_start(out, &dumps));
    for (uint32_t node = 0; node < npu->model.n_nodes; node++) {
        if (npu->match[node] == NODE_NONE) continue;
        if (*prefix && !name_starts_with(model_name(&npu->model, node), prefix)) continue;
        for (enum row_state state = 0; state < ROW_STATES; state++)
            pair_in_state(out, npu, node, bench, state);
    }
    return status_ok();
}
