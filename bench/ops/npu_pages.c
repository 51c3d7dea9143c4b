#include "bench/ops/npu_pages.h"

#include "bench/primitives/gather.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/view.h"

struct node *paged_rows(struct call *call, struct node *cache, const struct node *table, int64_t b,
                        int64_t first, int64_t count, int64_t heads)
{
    struct tape *tape = call->tape;
    int64_t *map = tape_allocate(tape, (size_t)count + 1, sizeof *map);
    int64_t size = cache->shape[1], row = size ? (int64_t)cache->n / cache->shape[0] / size : 0;
    if (!map) return cache;
    for (int64_t j = 0; j < count; j++) {
        int64_t at = (first + j) / size, page;
        if (!call_require(call, at < table->shape[1], "sequence %lld has no page %lld",
                          (long long)b, (long long)at))
            return cache;
        page = table->integer[b * table->shape[1] + at];
        if (!call_require(call, page >= 0 && page < cache->shape[0], "page %lld of %lld",
                          (long long)page, (long long)cache->shape[0]))
            return cache;
        map[j] = page * size + (first + j) % size;
    }
    int64_t shape[3] = { count, heads, row / heads };
    return node_gather_rows(tape, cache, 3, shape, (size_t)row, map, 0);
}

bool is_cache(struct call *call, const struct node *cache, const struct node *table, int64_t heads)
{
    bool fits = cache->n && (cache->rank == 4 || cache->rank == 3) && heads >= 1 &&
                table->integer && table->rank == 2;
    if (fits && cache->rank == 4) fits = cache->shape[2] == heads;
    if (fits && cache->rank == 3) fits = cache->shape[2] % heads == 0;
    return call_require(call, fits,
                        "a cache (pages, size, heads, width) and a table of pages are needed");
}

struct node *heads_first(struct tape *tape, struct node *x)
{
    x = node_transpose(tape, x, 0, 1);
    return node_reshape(tape, x, 4, (int64_t[]){ 1, x->shape[0], x->shape[1], x->shape[2] });
}

struct node *rows_first(struct tape *tape, struct node *x)
{
    if (tape_failed(tape)) return tape_failure(tape);
    x = node_reshape(tape, x, 3, (int64_t[]){ x->shape[1], x->shape[2], x->shape[3] });
    return node_transpose(tape, x, 0, 1);
}
