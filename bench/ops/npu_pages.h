/* Rows of keys and values in pages of a cache: position j of sequence b lies in page table[b][j / size], row j mod size. */
#ifndef PROBE_BENCH_OPS_NPU_PAGES_H
#define PROBE_BENCH_OPS_NPU_PAGES_H

#include "bench/call/op.h"

/* Is it a cache (pages, size, heads, width), or with the last two in one, of so many heads, with its pages named by a
 * table (sequences, pages of each)? False fails the call. */
bool is_cache(struct call *call, const struct node *cache, const struct node *table, int64_t heads);

/* Rows first ..< first + count of sequence b, (count, heads, width). */
struct node *paged_rows(struct call *call, struct node *cache, const struct node *table, int64_t b,
                        int64_t first, int64_t count, int64_t heads);

/* (T, N, D) -> (1, N, T, D), and back. */
struct node *heads_first(struct tape *tape, struct node *x);
struct node *rows_first(struct tape *tape, struct node *x);

#endif
