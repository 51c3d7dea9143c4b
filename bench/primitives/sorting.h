/* Stable sorting of positions by value, with PyTorch's order: NaN is largest, both zeros
 * alike. */
#ifndef PROBE_BENCH_PRIMITIVES_SORTING_H
#define PROBE_BENCH_PRIMITIVES_SORTING_H

#include <stdint.h>

#include "bench/primitives/lines.h"
#include "bench/tape/tape.h"

struct sort_item {
    uint64_t key;
    int64_t position;
};

/* Keys whose unsigned order is the order of the values. */
uint64_t sort_key_real(double x);
uint64_t sort_key_integer(int64_t x);

/* The key of every NaN, and of no other real number. */
#define SORT_KEY_NAN UINT64_MAX

/* The key of element i of a real (values read) or integral node. */
static inline uint64_t sort_key(const struct node *x, size_t i)
{
    return x->integer ? sort_key_integer(x->integer[i]) : sort_key_real(x->value[i]);
}

/* Sort by key, equal keys in their present order. scratch has n items. */
void sort_items(struct sort_item *items, struct sort_item *scratch, size_t n);

/* The positions 0 ..< lines->extent of one line of x (a real node's values read), sorted, with the
 * keys they were sorted by: ~key when descending. `items` has room for twice the extent. */
void sort_line(struct sort_item *items, const struct node *x, const struct lines *lines,
               size_t line, bool descending);

/* int64 node of x's shape: the positions along dim that sort each line. */
struct node *sort_positions(struct tape *tape, struct node *x, int dim, bool descending);

#endif
