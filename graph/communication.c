/* Every call has a key that the calls it meets can tell: "rank group name #number" or
 * "rank name peer #number". Collecting writes keys, matching looks them up, so that the time grows with
 * the number of calls and of members that they list. */
#include "graph/communication.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/growing.h"
#include "core/memory.h"
#include "core/shortest.h"
#include "formats/json_write.h"
#include "graph/communication_record.h"

/* ---- kinds of calls --------------------------------------------------------------------------- */

enum pattern { POINT_TO_POINT, ROOTED, COLLECTIVE };
enum traffic { SENDS, RECEIVES, SENDS_AND_RECEIVES };

static const char *const traffic_names[] = { "send", "receive", "send_receive" };

/* The kind of a call by the second part of its name. `traffic` is that of a rooted call's root. */
static const struct call_kind {
    const char *name, *partner;
    enum pattern pattern;
    enum rank_argument keyword, position; /* of the peer or the root: the first that is there */
    enum traffic traffic;
} kinds[] = {
    { "send", "recv", POINT_TO_POINT, ARGUMENT_DST, ARGUMENT_NONE, SENDS },
    { "isend", "irecv", POINT_TO_POINT, ARGUMENT_DST, ARGUMENT_NONE, SENDS },
    { "recv", "send", POINT_TO_POINT, ARGUMENT_SRC, ARGUMENT_NONE, RECEIVES },
    { "irecv", "isend", POINT_TO_POINT, ARGUMENT_SRC, ARGUMENT_NONE, RECEIVES },
    { "broadcast", "broadcast", ROOTED, ARGUMENT_SRC, ARGUMENT_SECOND, SENDS },
    { "scatter", "scatter", ROOTED, ARGUMENT_SRC, ARGUMENT_NONE, SENDS },
    { "gather", "gather", ROOTED, ARGUMENT_DST, ARGUMENT_NONE, RECEIVES },
    { "reduce", "reduce", ROOTED, ARGUMENT_DST, ARGUMENT_SECOND, RECEIVES },
};
static const struct call_kind other_kind = {
    "", "", COLLECTIVE, ARGUMENT_NONE, ARGUMENT_NONE, SENDS_AND_RECEIVES
};
static const char batch_name[] = "batch_isend_irecv";

static const struct call_kind *kind_of(struct name_slice name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (name_slice_is(name, kinds[i].name)) return &kinds[i];
    return &other_kind;
}

/* The peer of a call, or the root of its group; false when the call does not say. */
static bool rank_of_call(int64_t *rank, const struct call_kind *kind,
                         const struct communication_arguments *arguments)
{
    enum rank_argument which = arguments->has[kind->keyword] ? kind->keyword : kind->position;
    *rank = arguments->rank[which];
    return arguments->has[which];
}

/* ---- what is known ------------------------------------------------------------------------------ */

#define LINK_END UINT32_MAX

struct link {
    uint32_t to, next; /* operations; links */
    enum traffic traffic;
};

/* One operation of a call; a batch has several. */
struct operation {
    uint32_t call;
    const struct call_kind *kind;
    bool is_root;     /* of ROOTED */
    bool checked;     /* the outputs have to be equal: of POINT_TO_POINT outside of batches */
    uint32_t meets;   /* text: the partner's key, or the own key without its rank */
    uint32_t members; /* text: JSON list of the group's ranks; TEXT_NONE */
    uint32_t output;  /* text: dtype, shape, statistics of the first output; TEXT_NONE */
    uint32_t first_link, last_link;
};

struct call {
    unsigned rank;
    uint32_t index;        /* text */
    uint32_t first, count; /* operations; several of a batch */
};

struct communication_side {
    struct text_table names; /* "rank name" of each call */
    struct text_table keys;  /* of each operation */
    struct text_table texts;
    struct text_table series; /* keys without numbers */
    struct call *calls;
    struct operation *operations;
    uint32_t *counts; /* by series: calls so far */
    struct link *links;
    uint32_t n_links;
    size_t call_room, operation_room, count_room, link_room;
};

struct communications {
    struct communication_side side[2]; /* NPU, Bench */
};

struct status communications_create(struct communications **out)
{
    struct communications *all = memory_allocate_zeroed(1, sizeof *all);
    struct status status = all ? status_ok() : status_no_memory(sizeof *all);
    for (int bench = 0; !status.code && bench < 2; bench++) {
        struct communication_side *s = &all->side[bench];
        struct text_table *tables[] = { &s->names, &s->keys, &s->texts, &s->series };
        for (size_t i = 0; !status.code && i < sizeof tables / sizeof *tables; i++)
            status = text_table_create(tables[i]);
    }
    if (status.code) {
        communications_release(all);
        all = NULL;
    }
    *out = all;
    return status;
}

void communications_release(struct communications *all)
{
    if (!all) return;
    for (int bench = 0; bench < 2; bench++) {
        struct communication_side *s = &all->side[bench];
        struct text_table *tables[] = { &s->names, &s->keys, &s->texts, &s->series };
        for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
            if (tables[i]->slots) text_table_release(tables[i]);
        memory_release(s->calls);
        memory_release(s->operations);
        memory_release(s->counts);
        memory_release(s->links);
    }
    memory_release(all);
}

/* ---- collecting ---------------------------------------------------------------------------------- */

/* A rank while its calls are added. */
struct collecting {
    struct communication_side *to;
    const struct graph *graph;
    const struct graph_side *side;
    bool bench;
    unsigned rank;
    uint64_t *places;       /* by node: its record in the dump; PLACE_NONE */
    struct operation batch; /* of the batch that is read: what its operations have in common */
    struct csv_buffer key;  /* scratch, as are the next */
    struct csv_buffer text;
};

static struct status print(struct csv_buffer *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static struct status print(struct csv_buffer *out, const char *format, ...)
{
    char text[64];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return csv_append_bytes(out, text, (size_t)length);
}

static struct status append_decoded(struct csv_buffer *out, struct json_slice text)
{
    char *decoded = memory_allocate(text.bytes + 1);
    if (!decoded) return status_no_memory(text.bytes + 1);
    struct status status = csv_append_bytes(out, decoded, json_slice_decode_into(decoded, &text));
    memory_release(decoded);
    return status;
}

static struct status add_text(uint32_t *number, struct communication_side *to,
                              const struct csv_buffer *text)
{
    return text_table_add(number, NULL, &to->texts, text->data ? text->data : "", text->length);
}

/* The running number, from 0, of the series whose name is in c->key. */
static struct status count_in_series(uint32_t *number, struct collecting *c)
{
    struct communication_side *to = c->to;
    uint32_t series;
    bool added;
    TRY(text_table_add(&series, &added, &to->series, c->key.data, c->key.length));
    TRY(array_make_room(&to->counts, &to->count_room, series, sizeof *to->counts));
    if (added) to->counts[series] = 0;
    *number = to->counts[series]++;
    return status_ok();
}

/* An operation of the call that was added last, whose key is in c->key. Keys of strange dumps may be
 * equal; the first has it. */
static struct status add_operation(struct collecting *c, const struct operation *operation)
{
    struct communication_side *to = c->to;
    uint32_t number;
    bool added;
    TRY(text_table_add(&number, &added, &to->keys, c->key.data, c->key.length));
    if (!added) return status_ok();
    TRY(array_make_room(&to->operations, &to->operation_room, number, sizeof *to->operations));
    to->operations[number] = *operation;
    to->operations[number].first_link = to->operations[number].last_link = LINK_END;
    to->calls[operation->call].count++;
    return status_ok();
}

/* ---- point to point --------------------------------------------------------------------------------- */

/* Both keys of an operation: its own in c->key, its partner's in c->text. `group` is "" outside of
 * batches. */
static struct status make_peer_keys(struct collecting *c, const struct call_kind *kind,
                                    int64_t peer, struct json_slice group)
{
    uint32_t number;
    csv_buffer_clear(&c->key);
    csv_buffer_clear(&c->text);
    TRY(print(&c->key, "%u %s %lld ", c->rank, kind->name, (long long)peer));
    TRY(append_decoded(&c->key, group));
    TRY(count_in_series(&number, c));
    TRY(print(&c->key, " #%u", number));
    TRY(print(&c->text, "%lld %s %u ", (long long)peer, kind->partner, c->rank));
    TRY(append_decoded(&c->text, group));
    return print(&c->text, " #%u", number);
}

/* Dtype, shape and statistics of a node's first output as one text. */
static struct status read_output(uint32_t *out, struct collecting *c, uint32_t node)
{
    struct row_range rows = node_rows(c->side, node);
    const struct dump_rows *dump = c->side->rows;
    uint32_t at = rows.first, end = rows.first + rows.count;

    *out = TEXT_NONE;
    while (at < end && dump->rows[at].state != STATE_OUTPUT) at++;
    if (at == end) return status_ok();
    const struct dump_row *row = &dump->rows[at];
    csv_buffer_clear(&c->text);
    TRY(print(&c->text, "%.60s ", dump_text(dump, row->dtype)));
    TRY(csv_append_bytes(&c->text, dump_text(dump, row->shape),
                         strlen(dump_text(dump, row->shape))));
    for (enum row_statistic s = 0; s < ROW_STATISTICS; s++) {
        TRY(csv_append_bytes(&c->text, " ", 1));
        TRY(row_value_append(&c->text, dump, dump_row_statistic(row, s)));
    }
    return add_text(out, c->to, &c->text);
}

static struct status add_point_to_point(struct collecting *c, struct operation operation,
                                        const struct communication_arguments *arguments,
                                        uint32_t node)
{
    static const struct json_slice no_group = { "", 0, false };
    int64_t peer;
    if (!rank_of_call(&peer, operation.kind, arguments)) return status_ok();
    TRY(read_output(&operation.output, c, node));
    TRY(make_peer_keys(c, operation.kind, peer, no_group));
    TRY(add_text(&operation.meets, c->to, &c->text));
    operation.checked = true;
    return add_operation(c, &operation);
}

static struct status add_batched(void *context, const struct batch_operation *batched)
{
    struct collecting *c = context;
    struct operation operation = c->batch;
    operation.kind = kind_of(name_slice_of(batched->name.text, batched->name.bytes));
    if (operation.kind->pattern != POINT_TO_POINT) return status_ok();
    TRY(make_peer_keys(c, operation.kind, batched->peer, batched->group_id));
    TRY(csv_append_bytes(&c->key, " batch", 6));
    TRY(csv_append_bytes(&c->text, " batch", 6));
    TRY(add_text(&operation.meets, c->to, &c->text));
    return add_operation(c, &operation);
}

/* ---- collectives ------------------------------------------------------------------------------------ */

static struct status add_collective(struct collecting *c, struct operation operation,
                                    const struct communication_arguments *arguments,
                                    struct name_slice name)
{
    int64_t root;
    uint32_t number;
    if (!arguments->group_id.text || !arguments->members.text) return status_ok();
    csv_buffer_clear(&c->key);
    TRY(print(&c->key, "%u ", c->rank));
    size_t own = c->key.length;
    TRY(append_decoded(&c->key, arguments->group_id));
    TRY(csv_append_bytes(&c->key, " ", 1));
    TRY(csv_append_bytes(&c->key, name.text, name.length));
    TRY(count_in_series(&number, c));
    TRY(print(&c->key, " #%u", number));
    TRY(text_table_add(&operation.meets, NULL, &c->to->texts, c->key.data + own,
                       c->key.length - own));
    TRY(text_table_add(&operation.members, NULL, &c->to->texts, arguments->members.text,
                       arguments->members.bytes));
    operation.is_root = rank_of_call(&root, operation.kind, arguments) && root == c->rank;
    return add_operation(c, &operation);
}

/* ---- calls ----------------------------------------------------------------------------------------- */

static struct status index_text(struct collecting *c, uint32_t node)
{
    const struct graph *graph = c->graph;
    const struct node_index *index = c->bench || !graph->index ? NULL : &graph->index[node];
    char number[SHORTEST_BYTES];
    const char *text = "Nan", *level = overflow_level_name(graph_overflow(graph, c->bench, node));
    if (graph->overflow[c->bench]) {
        if (level) text = level;
    } else if (index && index->known) {
        (void)shortest_double(number, index->value);
        text = index->value == 0 ? "0" : index->value == 1 ? "1" : number;
    }
    csv_buffer_clear(&c->text);
    return csv_append_bytes(&c->text, text, strlen(text));
}

static struct status start_call(struct collecting *c, uint32_t node)
{
    struct communication_side *to = c->to;
    struct name_slice name = model_name(&c->side->model, node);
    uint32_t number;
    csv_buffer_clear(&c->key);
    TRY(print(&c->key, "%u ", c->rank));
    TRY(csv_append_bytes(&c->key, name.text, name.length));
    TRY(text_table_add(&number, NULL, &to->names, c->key.data, c->key.length));
    TRY(array_make_room(&to->calls, &to->call_room, number, sizeof *to->calls));
    TRY(index_text(c, node));
    to->calls[number] = (struct call){ .rank = c->rank, .first = to->keys.count };
    return add_text(&to->calls[number].index, to, &c->text);
}

static struct status add_call(struct collecting *c, uint32_t node)
{
    struct name_slice name = name_part(model_name(&c->side->model, node), 1);
    struct communication_arguments arguments;
    struct json record;

    TRY(start_call(c, node));
    uint32_t call = c->to->names.count - 1;
    struct operation operation = {
        .call = call, .kind = kind_of(name), .members = TEXT_NONE, .output = TEXT_NONE
    };
    json_open(&record, (const char *)c->side->dump.data + c->places[node],
              c->side->dump.bytes - c->places[node]);
    communication_arguments_read(&arguments, record);
    if (name_slice_is(name, batch_name)) {
        c->batch = operation;
        return batch_operations_walk(&arguments, add_batched, c);
    }
    if (operation.kind->pattern == POINT_TO_POINT)
        return add_point_to_point(c, operation, &arguments, node);
    return add_collective(c, operation, &arguments, name);
}

/* In the order of construct.json, as running numbers count. */
static struct status add_calls(struct collecting *c)
{
    TRY(side_find_records(&c->places, c->side, communication_prefix));
    for (uint32_t node = 0; node < c->side->model.n_nodes; node++)
        if (c->places[node] != PLACE_NONE) TRY(add_call(c, node));
    return status_ok();
}

struct status communications_add(struct communications *all, const struct graph *graph,
                                 unsigned rank)
{
    struct status status = status_ok();
    for (int bench = 0; !status.code && bench <= graph->compared; bench++) {
        struct collecting c = { .to = &all->side[bench],
                                .graph = graph,
                                .side = bench ? &graph->bench : &graph->npu,
                                .bench = bench,
                                .rank = rank };
        status = add_calls(&c);
        memory_release(c.places);
        csv_buffer_release(&c.key);
        csv_buffer_release(&c.text);
    }
    return status;
}

bool dump_may_communicate(const char *folder, struct file_policy policy)
{
    static const char word[] = "\"Distributed.";
    char path[PATH_MAX];
    struct file file;
    struct file_map map;
    int length = snprintf(path, sizeof path, "%s/dump.json", folder);
    if (length < 0 || length >= PATH_MAX || file_open_read(&file, path, policy).code) return false;
    struct status status = file_map(&map, &file);
    (void)file_close(&file);
    if (status.code) return false;
    bool found = memmem(map.data, map.bytes, word, sizeof word - 1) != NULL;
    file_unmap(&map);
    return found;
}

/* ---- matching --------------------------------------------------------------------------------------- */

struct matching {
    struct communication_side *side;
    uint32_t *met; /* by operation: the last one that met it, to meet each once */
    struct csv_buffer key;
};

static struct status add_link(struct communication_side *s, uint32_t from, uint32_t to,
                              enum traffic traffic)
{
    struct operation *o = &s->operations[from];
    TRY(array_make_room(&s->links, &s->link_room, s->n_links, sizeof *s->links));
    s->links[s->n_links] = (struct link){ to, LINK_END, traffic };
    if (o->last_link == LINK_END) o->first_link = s->n_links;
    else s->links[o->last_link].next = s->n_links;
    o->last_link = s->n_links++;
    return status_ok();
}

static struct status match_point_to_point(struct matching *m, uint32_t from)
{
    struct communication_side *s = m->side;
    const struct operation *o = &s->operations[from];
    size_t length;
    const char *key = text_table_get(&s->texts, o->meets, &length);
    uint32_t to = text_table_find(&s->keys, key, length);
    if (to == TEXT_NONE || to == from) return status_ok();
    if (o->checked && (o->output == TEXT_NONE || o->output != s->operations[to].output))
        return status_ok();
    return add_link(s, from, to, o->kind->traffic);
}

static struct status meet_member(struct matching *m, uint32_t from, int64_t member)
{
    static const enum traffic opposite[] = { RECEIVES, SENDS, SENDS_AND_RECEIVES };
    struct communication_side *s = m->side;
    const struct operation *o = &s->operations[from];
    size_t length;
    const char *key = text_table_get(&s->texts, o->meets, &length);

    csv_buffer_clear(&m->key);
    TRY(print(&m->key, "%lld ", (long long)member));
    TRY(csv_append_bytes(&m->key, key, length));
    uint32_t to = text_table_find(&s->keys, m->key.data, m->key.length);
    if (to == TEXT_NONE || to == from || m->met[to] == from) return status_ok();
    m->met[to] = from;
    enum traffic traffic = o->kind->traffic;
    if (o->kind->pattern == ROOTED) TRY(add_link(s, to, from, opposite[traffic]));
    return add_link(s, from, to, traffic);
}

static struct status match_collective(struct matching *m, uint32_t from)
{
    const struct operation *o = &m->side->operations[from];
    struct json members;
    int64_t member;
    size_t length;
    if (o->kind->pattern == ROOTED && !o->is_root) return status_ok();
    const char *text = text_table_get(&m->side->texts, o->members, &length);
    group_members_open(&members, (struct json_slice){ text, length, false });
    while (group_members_next(&member, &members)) TRY(meet_member(m, from, member));
    return status_ok();
}

static struct status match_side(struct matching *m)
{
    uint32_t count = m->side->keys.count;
    m->met = memory_allocate(((size_t)count + 1) * sizeof *m->met);
    if (!m->met) return status_no_memory(count * sizeof *m->met);
    memset(m->met, 0xff, count * sizeof *m->met);
    for (uint32_t i = 0; i < count; i++)
        TRY(m->side->operations[i].kind->pattern == POINT_TO_POINT ? match_point_to_point(m, i)
                                                                   : match_collective(m, i));
    return status_ok();
}

struct status communications_match(struct communications *all)
{
    struct status status = status_ok();
    for (int bench = 0; !status.code && bench < 2; bench++) {
        struct matching m = { .side = &all->side[bench] };
        status = match_side(&m);
        memory_release(m.met);
        csv_buffer_release(&m.key);
    }
    return status;
}

/* ---- texts ------------------------------------------------------------------------------------------- */

/* "1": ["0.25", "Distributed.all_reduce.0.forward"] */
static struct status append_partner(struct csv_buffer *out, const struct communication_side *s,
                                    uint32_t operation)
{
    uint32_t number = s->operations[operation].call;
    const struct call *call = &s->calls[number];
    size_t length, index_length;
    const char *name = text_table_get(&s->names, number, &length);
    const char *index = text_table_get(&s->texts, call->index, &index_length);
    size_t rank = (size_t)((const char *)memchr(name, ' ', length) - name);

    TRY(print(out, "\"%u\": [", call->rank));
    TRY(json_append_string(out, index, index_length));
    TRY(csv_append_bytes(out, ", ", 2));
    TRY(json_append_string(out, name + rank + 1, length - rank - 1));
    return csv_append_bytes(out, "]", 1);
}

static struct status append_operation(struct csv_buffer *out, const struct communication_side *s,
                                      const struct operation *o)
{
    TRY(print(out, "{\"communications_type\": \"%s\", \"nodes_info\": {",
              traffic_names[s->links[o->first_link].traffic]));
    for (uint32_t link = o->first_link; link != LINK_END; link = s->links[link].next) {
        if (link != o->first_link) TRY(csv_append_bytes(out, ", ", 2));
        TRY(append_partner(out, s, s->links[link].to));
    }
    return csv_append_bytes(out, "}}", 2);
}

static struct status append_batch(struct csv_buffer *out, const struct communication_side *s,
                                  const struct call *call)
{
    size_t before = out->length;
    for (uint32_t i = call->first; i < call->first + call->count; i++) {
        if (s->operations[i].first_link == LINK_END) continue;
        TRY(csv_append_bytes(out, out->length == before ? "[" : ", ",
                             out->length == before ? 1 : 2));
        TRY(append_operation(out, s, &s->operations[i]));
    }
    return out->length == before ? status_ok() : csv_append_bytes(out, "]", 1);
}

static struct status append_call(struct csv_buffer *out, const struct communication_side *s,
                                 const struct call *call)
{
    if (call->count > 1) return append_batch(out, s, call);
    if (!call->count || s->operations[call->first].first_link == LINK_END) return status_ok();
    return append_operation(out, s, &s->operations[call->first]);
}

struct status communications_append(struct csv_buffer *out, const struct graph *graph, bool bench,
                                    uint32_t node)
{
    struct csv_buffer key = { 0 };
    struct name_slice name = model_name(bench ? &graph->bench.model : &graph->npu.model, node);
    if (!graph->communications || !name_starts_with(name, communication_prefix)) return status_ok();
    const struct communication_side *s = &graph->communications->side[bench];
    struct status status = print(&key, "%u ", graph->rank);
    if (!status.code) status = csv_append_bytes(&key, name.text, name.length);
    if (!status.code) {
        uint32_t call = text_table_find(&s->names, key.data, key.length);
        if (call != TEXT_NONE) status = append_call(out, s, &s->calls[call]);
    }
    csv_buffer_release(&key);
    return status;
}
