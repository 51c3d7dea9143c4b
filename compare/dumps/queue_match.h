/* Matching in order: the greedy walk over two sequences that fuzzy matching and the first generation use.
 *
 * Two queues take one item from each side per step. The newest NPU item is tried against the waiting Bench
 * items, oldest first, then against the newest, then the waiting NPU items, oldest first, against the newest
 * Bench item; a hit empties both queues up to it. The walk stops when one side has nothing left while
 * the other waits. Waiting items are found by their keys, so that no step searches a queue.
 */
#ifndef PROBE_COMPARE_DUMPS_QUEUE_MATCH_H
#define PROBE_COMPARE_DUMPS_QUEUE_MATCH_H

#include <stdint.h>

#include "core/status.h"

#define ITEM_NONE UINT32_MAX /* no partner; the key of an item that waits but meets nothing */

/* The keys of a side's items, below some `n_keys`. */
struct queue_side {
    const uint32_t *key;
    uint32_t count;
};

/* Which keys meet: key k those of partner[first[k]] up to, not with, partner[first[k + 1]]; k is a partner
 * of each of them, too. Without a list equal keys meet. */
struct key_partners {
    const uint32_t *first, *partner;
};

/* bench_of: by NPU item, its partner or ITEM_NONE. */
struct status queues_match(uint32_t *bench_of, const struct queue_side *npu,
                           const struct queue_side *bench, uint32_t n_keys,
                           const struct key_partners *partners);

#endif
