/* Communications of ranks that are one make an event. Events are followed from those that nothing leads
 * to, each behind all that lead to it (Kahn 1962), and know whether a difference leads to them. */
#include "compare/ranks/first_difference.h"

#include <stdio.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "core/file.h"
#include "core/growing.h"
#include "core/memory.h"
#include "core/text_table.h"
#include "core/whole_file.h"
#include "formats/json_tree.h"

#define NONE SIZE_MAX

static struct status add_found(struct found_entries *out, size_t rank, size_t entry)
{
    TRY(array_make_room(&out->items, &out->room, out->count, sizeof *out->items));
    out->items[out->count++] = (struct found_entry){ rank, entry };
    return status_ok();
}

static bool computes_another(const struct flow_entry *entry)
{
    return entry->kind == ENTRY_COMPUTES && entry->differs;
}

/* ---- before the first and behind the last communication --------------------------------- */

/* The first computation that differs among entries begin..end. */
static struct status find_first(struct found_entries *out, const struct rank_flow *ranks,
                                size_t rank, size_t begin, size_t end)
{
    for (size_t i = begin; i < end; i++)
        if (computes_another(&ranks[rank].entries[i])) return add_found(out, rank, i);
    return status_ok();
}

static struct status find_before(struct found_entries *out, const struct rank_flow *ranks, size_t n)
{
    for (size_t r = 0; r < n; r++) {
        size_t end = 0;
        while (end < ranks[r].count && ranks[r].entries[end].kind != ENTRY_COMMUNICATES) end++;
        TRY(find_first(out, ranks, r, 0, end));
    }
    return status_ok();
}

static struct status find_behind(struct found_entries *out, const struct rank_flow *ranks, size_t n)
{
    for (size_t r = 0; r < n; r++) {
        size_t begin = ranks[r].count;
        while (begin && ranks[r].entries[begin - 1].kind != ENTRY_COMMUNICATES) begin--;
        TRY(find_first(out, ranks, r, begin, ranks[r].count));
    }
    return status_ok();
}

/* ---- communications --------------------------------------------------------------------- */

/* A communication of one rank: a part of an event that ranks have in common. */
struct node {
    size_t rank, entry;
    size_t begin; /* of the entries since the communication before it */
    size_t event;
    size_t next;  /* of the same rank; NONE at its last */
    bool differs; /* it, or a computation since the one before */
};

struct event {
    size_t waits; /* for this many nodes before it */
    bool differs;
    bool follows; /* another that differs leads to it */
    bool done;
    size_t first_node; /* of a list; NONE at its end */
};

struct chains {
    struct node *nodes;
    size_t *same_event; /* by node: the next of its event */
    size_t n_nodes;
    struct event *events;
    size_t n_events;
    size_t *ready; /* events that wait for nothing, in the order in which they came to that */
};

static size_t count_communications(const struct rank_flow *ranks, size_t n)
{
    size_t count = 0;
    for (size_t r = 0; r < n; r++)
        for (size_t i = 0; i < ranks[r].count; i++)
            count += ranks[r].entries[i].kind == ENTRY_COMMUNICATES;
    return count;
}

/* The event of a channel; a call that meets nobody is one of its own. */
static struct status event_of(size_t *event, struct chains *chains, struct text_table *channels,
                              const char *channel, size_t *by_channel)
{
    uint32_t number;
    bool added = true;

    if (channel) TRY(text_table_add(&number, &added, channels, channel, strlen(channel)));
    if (added) {
        chains->events[chains->n_events] = (struct event){ .first_node = NONE };
        *event = chains->n_events++;
        if (channel) by_channel[number] = *event;
    } else {
        *event = by_channel[number];
    }
    return status_ok();
}

static struct status add_node(struct chains *chains, struct text_table *channels,
                              size_t *by_channel, const struct rank_flow *ranks, struct node node)
{
    const struct rank_flow *flow = &ranks[node.rank];
    size_t here = chains->n_nodes++;

    TRY(event_of(&node.event, chains, channels, flow->entries[node.entry].channel, by_channel));
    node.next = NONE;
    node.differs = flow->entries[node.entry].differs;
    for (size_t i = node.begin; i < node.entry; i++)
        node.differs |= computes_another(&flow->entries[i]);
    struct event *event = &chains->events[node.event];
    event->differs |= node.differs;
    chains->same_event[here] = event->first_node;
    event->first_node = here;
    chains->nodes[here] = node;
    return status_ok();
}

static struct status make_nodes(struct chains *chains, struct text_table *channels,
                                size_t *by_channel, const struct rank_flow *ranks, size_t n)
{
    for (size_t r = 0; r < n; r++) {
        size_t before = NONE, begin = 0;
        for (size_t i = 0; i < ranks[r].count; i++) {
            if (ranks[r].entries[i].kind != ENTRY_COMMUNICATES) continue;
            size_t here = chains->n_nodes;
            TRY(add_node(chains, channels, by_channel, ranks,
                         (struct node){ .rank = r, .entry = i, .begin = begin }));
            if (before != NONE) {
                chains->nodes[before].next = here;
                chains->events[chains->nodes[here].event].waits++;
            }
            before = here;
            begin = i + 1;
        }
    }
    return status_ok();
}

/* What follows an event in its ranks knows whether a difference leads to it. */
static void pass_on(struct chains *chains, size_t event, size_t *n_ready)
{
    struct event *here = &chains->events[event];

    here->done = true;
    for (size_t i = here->first_node; i != NONE; i = chains->same_event[i]) {
        size_t next = chains->nodes[i].next;
        if (next == NONE) continue;
        size_t behind = chains->nodes[next].event;
        struct event *event_behind = &chains->events[behind];
        if (event_behind->done) continue;
        event_behind->follows |= here->differs || here->follows;
        if (event_behind->waits && !--event_behind->waits) chains->ready[(*n_ready)++] = behind;
    }
}

/* All events, each behind those that lead to it. Ranks that disagree about the order would wait for each
 * other: then the first that waits goes on. */
static void follow(struct chains *chains)
{
    size_t n_ready = 0, at = 0, stuck = 0;

    for (size_t i = 0; i < chains->n_events; i++)
        if (!chains->events[i].waits) chains->ready[n_ready++] = i;
    for (size_t done = 0; done < chains->n_events;) {
        size_t event;
        if (at < n_ready) {
            event = chains->ready[at++];
        } else {
            while (chains->events[stuck].done) stuck++;
            event = stuck;
            chains->events[event].waits = 0;
        }
        if (chains->events[event].done) continue;
        pass_on(chains, event, &n_ready);
        done++;
    }
}

/* The differences of the events that nothing leads to. */
static struct status collect(struct found_entries *out, const struct chains *chains,
                             const struct rank_flow *ranks)
{
    for (size_t i = 0; i < chains->n_nodes; i++) {
        const struct node *node = &chains->nodes[i];
        const struct event *event = &chains->events[node->event];
        if (!node->differs || !event->differs || event->follows) continue;
        const struct flow_entry *entries = ranks[node->rank].entries;
        for (size_t k = node->begin; k < node->entry; k++)
            if (computes_another(&entries[k])) TRY(add_found(out, node->rank, k));
        if (entries[node->entry].differs) TRY(add_found(out, node->rank, node->entry));
    }
    return status_ok();
}

static struct status find_at(struct found_entries *out, const struct rank_flow *ranks, size_t n)
{
    size_t count = count_communications(ranks, n) + 1;
    struct chains chains = {
        .nodes = memory_allocate_zeroed(count, sizeof *chains.nodes),
        .same_event = memory_allocate_zeroed(count, sizeof *chains.same_event),
        .events = memory_allocate_zeroed(count, sizeof *chains.events),
        .ready = memory_allocate_zeroed(count, sizeof *chains.ready),
    };
    size_t *by_channel = memory_allocate_zeroed(count, sizeof *by_channel);
    struct text_table channels = { 0 };

    struct status status = chains.nodes && chains.same_event && chains.events && chains.ready &&
                                   by_channel
                               ? text_table_create(&channels)
                               : status_no_memory(count * sizeof *chains.nodes);
    if (!status.code) status = make_nodes(&chains, &channels, by_channel, ranks, n);
    if (!status.code) {
        follow(&chains);
        status = collect(out, &chains, ranks);
    }
    text_table_release(&channels);
    memory_release(by_channel);
    memory_release(chains.nodes);
    memory_release(chains.same_event);
    memory_release(chains.events);
    memory_release(chains.ready);
    return status;
}

struct status first_difference_find(struct found_entries *out, const struct rank_flow *ranks,
                                    size_t n_ranks)
{
    *out = (struct found_entries){ 0 };
    TRY(find_before(out, ranks, n_ranks));
    if (!out->count) TRY(find_at(out, ranks, n_ranks));
    if (!out->count) TRY(find_behind(out, ranks, n_ranks));
    return status_ok();
}

/* ---- the report ------------------------------------------------------------------------- */

/* The record of an entry, as it stands in the file of its rank. */
static struct status read_record(cJSON **out, const struct rank_flow *flow,
                                 const struct flow_entry *entry)
{
    struct file file = FILE_NONE;
    size_t got = 0;
    char *text = memory_allocate(entry->bytes + 1);

    if (!text) return status_no_memory(entry->bytes);
    struct status status = file_open_read(&file, flow->path, FILES_TRUSTED);
    if (!status.code) status = file_read_at(&got, &file, text, entry->bytes, entry->place);
    if (!status.code) status = json_tree_parse(out, NULL, text, got);
    (void)file_close(&file);
    memory_release(text);
    return status;
}

/* What is shown of a row. */
static bool add_row(cJSON *rows, const cJSON *item)
{
    static const char *const shown[] = { "NPU max",   "NPU min",   "NPU mean",   "NPU l2norm",
                                         "Bench max", "Bench min", "Bench mean", "Bench l2norm",
                                         "NPU MD5",   "BENCH MD5" };
    const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(item, "NPU Name"));
    cJSON *row = cJSON_AddObjectToObject(rows, name ? name : "");
    if (!row) return false;
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        const cJSON *value = cJSON_GetObjectItemCaseSensitive(item, shown[i]);
        cJSON *copy = value ? cJSON_Duplicate(value, true) : NULL;
        if (value && (!copy || !cJSON_AddItemToObject(row, shown[i], copy))) return false;
    }
    return true;
}

static bool add_rows(cJSON *object, const cJSON *record)
{
    cJSON *info = cJSON_AddObjectToObject(object, "data_info");
    cJSON *input = info ? cJSON_AddObjectToObject(info, "input") : NULL;
    cJSON *output = input ? cJSON_AddObjectToObject(info, "output") : NULL;
    const cJSON *items = cJSON_GetObjectItemCaseSensitive(record, "op_items"), *item;
    const char *stack = NULL;
    bool added = output != NULL;

    cJSON_ArrayForEach(item, items)
    {
        const char *state = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(item, "state"));
        bool is_output = state && !strcmp(state, "output");
        const char *own =
            cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(item, "NPU_Stack_Info"));
        if (own && !stack) stack = own;
        if (added) added = add_row(is_output ? output : input, item);
    }
    return added && cJSON_AddStringToObject(object, "stack_info", stack ? stack : "N/A");
}

static struct status add_entry(cJSON *list, const struct rank_flow *flow,
                               const struct flow_entry *entry)
{
    cJSON *record = NULL, *object = cJSON_CreateObject();

    if (!object || !cJSON_AddItemToArray(list, object)) {
        cJSON_Delete(object);
        return status_no_memory(0);
    }
    if (!cJSON_AddStringToObject(object, "op_name", entry->name)) return status_no_memory(0);
    TRY(read_record(&record, flow, entry));
    bool added = add_rows(object, record);
    cJSON_Delete(record);
    return added ? status_ok() : status_no_memory(0);
}

static struct status add_ranks(cJSON *root, const struct found_entries *found,
                               const struct rank_flow *ranks)
{
    cJSON *list = NULL;
    for (size_t i = 0; i < found->count; i++) {
        const struct rank_flow *flow = &ranks[found->items[i].rank];
        char name[40];
        if (!i || found->items[i - 1].rank != found->items[i].rank) {
            (void)snprintf(name, sizeof name, "rank_%lld", (long long)flow->rank);
            list = cJSON_AddArrayToObject(root, name);
            if (!list) return status_no_memory(0);
        }
        TRY(add_entry(list, flow, &flow->entries[found->items[i].entry]));
    }
    return status_ok();
}

struct status first_difference_write(const char *path, const struct found_entries *found,
                                     const struct rank_flow *ranks)
{
    cJSON *root = cJSON_CreateObject();

    struct status status = root ? add_ranks(root, found, ranks) : status_no_memory(0);
    char *text = status.code ? NULL : cJSON_Print(root);
    cJSON_Delete(root);
    if (!status.code && !text) status = status_no_memory(0);
    if (!status.code) status = whole_file_write(path, text, strlen(text), READERS_GROUP);
    cJSON_free(text);
    return status;
}
