/* Index maps: elements or whole rows gathered, and scattered with addition. */
#ifndef PROBE_BENCH_PRIMITIVES_GATHER_H
#define PROBE_BENCH_PRIMITIVES_GATHER_H

#include "bench/tape/tape.h"

/* out[i] = map[i] < 0 ? fill : x[map[i]]; map has the n of `shape`, in the tape's arena. */
struct node *node_gather(struct tape *tape, struct node *x, int rank, const int64_t *shape,
                         const int64_t *map, double fill);

/* out[j] = sum of x[i] over map[i] == j (negative: dropped), added in order of i. */
struct node *node_scatter_add(struct tape *tape, struct node *x, int rank, const int64_t *shape,
                              const int64_t *map);

/* The same for whole rows of `row` consecutive elements: the map has one entry, the number of a
 * row, for each row of the result (gather) or of x (scatter_add). */
struct node *node_gather_rows(struct tape *tape, struct node *x, int rank, const int64_t *shape,
                              size_t row, const int64_t *map, double fill);
struct node *node_scatter_add_rows(struct tape *tape, struct node *x, int rank,
                                   const int64_t *shape, size_t row, const int64_t *map);

/* Is every entry of the map less than `rows` (negative ones name no row)? False after a failure
 * that names the first one which is not. */
bool map_fits(struct tape *tape, const int64_t *map, size_t entries, size_t rows);

/* torch.index_select: positions `index` (integers, 0 <= index < extent) along dim. */
struct node *node_index_select(struct tape *tape, struct node *x, int dim, struct node *index);

/* Elements of x at positions `index` (int64, same rank) along dim: torch.gather, tracked. */
struct node *node_take_along(struct tape *tape, struct node *x, int dim, struct node *index);

#endif
