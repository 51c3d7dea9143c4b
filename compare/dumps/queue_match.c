/* The queues are ranges of the two sequences; each key has the chain of its items, whose head moves past
 * those that no longer wait. */
#include "compare/dumps/queue_match.h"

#include <stdbool.h>
#include <string.h>

#include "core/memory.h"

/* One queue: items from..to are waiting. first[key] and next[item] chain the items of a key in order. */
struct queue {
    struct queue_side side;
    uint32_t *first, *next;
    uint32_t from, to;
};

static void queue_release(struct queue *queue)
{
    memory_release(queue->first);
    memory_release(queue->next);
}

static struct status queue_make(struct queue *out, const struct queue_side *side, uint32_t n_keys)
{
    size_t keys = ((size_t)n_keys + 1) * sizeof *out->first;
    size_t items = ((size_t)side->count + 1) * sizeof *out->next;

    *out = (struct queue){ .side = *side,
                           .first = memory_allocate(keys),
                           .next = memory_allocate(items) };
    if (!out->first || !out->next) {
        queue_release(out);
        return status_no_memory(keys + items);
    }
    memset(out->first, 0xff, keys);
    for (uint32_t item = side->count; item-- > 0;) {
        uint32_t key = side->key[item];
        if (key == ITEM_NONE) continue;
        out->next[item] = out->first[key];
        out->first[key] = item;
    }
    return status_ok();
}

static bool queue_take(struct queue *queue)
{
    if (queue->to == queue->side.count) return false;
    queue->to++;
    return true;
}

/* The oldest waiting item of a key. */
static uint32_t oldest_of_key(struct queue *queue, uint32_t key)
{
    uint32_t *first = &queue->first[key];
    while (*first != ITEM_NONE && *first < queue->from) *first = queue->next[*first];
    return *first < queue->to ? *first : ITEM_NONE;
}

/* The oldest waiting item that a key meets. */
static uint32_t oldest_partner(struct queue *queue, uint32_t key,
                               const struct key_partners *partners)
{
    uint32_t oldest = ITEM_NONE;

    if (key == ITEM_NONE) return ITEM_NONE;
    if (!partners) return oldest_of_key(queue, key);
    for (uint32_t i = partners->first[key]; i < partners->first[key + 1]; i++) {
        uint32_t item = oldest_of_key(queue, partners->partner[i]);
        if (item < oldest) oldest = item;
    }
    return oldest;
}

/* One step's hit. All other pairs of waiting items have been tried before. */
static bool find_hit(uint32_t *npu, uint32_t *bench, struct queue *n, struct queue *b,
                     const struct key_partners *partners)
{
    *npu = n->to - 1;
    *bench = oldest_partner(b, n->side.key[*npu], partners);
    if (*bench != ITEM_NONE) return true;
    *bench = b->to - 1;
    *npu = oldest_partner(n, b->side.key[*bench], partners);
    return *npu != ITEM_NONE;
}

static void walk(uint32_t *bench_of, struct queue *n, struct queue *b,
                 const struct key_partners *partners)
{
    uint32_t npu, bench;

    for (;;) {
        bool took_npu = queue_take(n), took_bench = queue_take(b);
        if (!took_npu && !took_bench) return;
        if (n->from == n->to || b->from == b->to) return; /* one side has nothing left */
        if (!find_hit(&npu, &bench, n, b, partners)) continue;
        bench_of[npu] = bench;
        n->from = npu + 1;
        b->from = bench + 1;
    }
}

struct status queues_match(uint32_t *bench_of, const struct queue_side *npu,
                           const struct queue_side *bench, uint32_t n_keys,
                           const struct key_partners *partners)
{
    struct queue n, b;

    memset(bench_of, 0xff, npu->count * sizeof *bench_of);
    TRY(queue_make(&n, npu, n_keys));
    struct status status = queue_make(&b, bench, n_keys);
    if (!status.code) {
        walk(bench_of, &n, &b, partners);
        queue_release(&b);
    }
    queue_release(&n);
    return status;
}
