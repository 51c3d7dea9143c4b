/* Queues are chains through one array, because a node waits in one of them at most. */
#include "graph/name_queues.h"

#include <string.h>

#include "core/memory.h"

struct status name_queues_create(struct name_queues *out, uint32_t n_nodes)
{
    size_t bytes = ((size_t)n_nodes + 1) * sizeof *out->next;
    *out = (struct name_queues){ .next = memory_allocate(bytes) };
    struct status status = out->next ? text_table_create(&out->names) : status_no_memory(bytes);
    if (status.code) name_queues_release(out);
    return status;
}

void name_queues_release(struct name_queues *queues)
{
    if (queues->names.slots) text_table_release(&queues->names);
    memory_release(queues->first);
    memory_release(queues->last);
    memory_release(queues->next);
    *queues = (struct name_queues){ .next = NULL };
}

static struct status make_room(struct name_queues *q)
{
    if (q->names.count <= q->room) return status_ok();
    size_t room = q->room ? 2 * (size_t)q->names.count : 1024, bytes = room * sizeof *q->first;
    uint32_t *first = memory_resize(q->first, bytes);
    if (first) q->first = first;
    uint32_t *last = first ? memory_resize(q->last, bytes) : NULL;
    if (!last) return status_no_memory(bytes);
    q->last = last;
    memset(first + q->room, 0xff, (room - q->room) * sizeof *first);
    q->room = (uint32_t)room;
    return status_ok();
}

struct status name_queues_push(struct name_queues *queues, const char *name, size_t length,
                               uint32_t node)
{
    uint32_t number;
    TRY(text_table_add(&number, NULL, &queues->names, name, length));
    TRY(make_room(queues));
    queues->next[node] = NODE_NONE;
    if (queues->first[number] == NODE_NONE) queues->first[number] = node;
    else queues->next[queues->last[number]] = node;
    queues->last[number] = node;
    return status_ok();
}

uint32_t name_queues_pop(struct name_queues *queues, const char *name, size_t length)
{
    uint32_t number = text_table_find(&queues->names, name, length);
    if (number == TEXT_NONE || queues->first[number] == NODE_NONE) return NODE_NONE;
    uint32_t node = queues->first[number];
    queues->first[number] = queues->next[node];
    return node;
}

void name_queues_clear(struct name_queues *queues, const char *name, size_t length)
{
    uint32_t number = text_table_find(&queues->names, name, length);
    if (number != TEXT_NONE) queues->first[number] = NODE_NONE;
}
