/* Rows replaced by rows of another value. */
#ifndef PROBE_BENCH_PRIMITIVES_OVERWRITE_H
#define PROBE_BENCH_PRIMITIVES_OVERWRITE_H

#include "bench/tape/tape.h"

/* x with row map[i] replaced by row i of v (negative: dropped). Where several meet, `writer`
 * says which row of v each row of x holds in the end (-1: its own); NULL: the last one. As in
 * PyTorch, each row of v gets the cotangent of its target, replaced ones too. */
struct node *node_overwrite(struct tape *tape, struct node *x, struct node *v, size_t row,
                            const int64_t *map, const int64_t *writer);

/* The writers of `rows` rows when the last of `entries` wins. NULL after a failure. */
int64_t *overwrite_writers(struct tape *tape, size_t rows, const int64_t *map, size_t entries);

#endif
