/* Nodes that wait in line by a name: the k-th of a name on one side meets the k-th on the other.
 */
#ifndef PROBE_GRAPH_NAME_QUEUES_H
#define PROBE_GRAPH_NAME_QUEUES_H

#include "graph/model.h"

/* All zeros: none; end with name_queues_release. */
struct name_queues {
    struct text_table names;
    uint32_t *first, *last; /* by name; `first` is NODE_NONE where nobody waits */
    uint32_t room;
    uint32_t *next; /* by node */
};

/* Queues for nodes of a model with `n_nodes` nodes; a node waits in one of them at a time. */
struct status name_queues_create(struct name_queues *out, uint32_t n_nodes);
void name_queues_release(struct name_queues *queues);

struct status name_queues_push(struct name_queues *queues, const char *name, size_t length,
                               uint32_t node);

/* The node that has waited longest for this name; NODE_NONE. */
uint32_t name_queues_pop(struct name_queues *queues, const char *name, size_t length);

/* Nobody waits for this name any more. */
void name_queues_clear(struct name_queues *queues, const char *name, size_t length);

#endif
