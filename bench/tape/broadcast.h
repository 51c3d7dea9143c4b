/* Broadcasting of pointwise primitives.
 *
 * Shapes are broadcast by walking rows: dimensions that all operands traverse alike are merged,
 * and the innermost one is handed to a row function with a step of 0 or 1 per operand, which
 * compilers vectorise.
 */
#ifndef PROBE_BENCH_TAPE_BROADCAST_H
#define PROBE_BENCH_TAPE_BROADCAST_H

#include "bench/tape/tape.h"

/* Broadcast shape of two shapes; false when they do not fit. */
bool shape_broadcast(int *rank, int64_t *shape, int rank_a, const int64_t *a, int rank_b,
                     const int64_t *b);

/* Dense row-major strides of a shape. */
void shape_strides(int64_t *stride, int rank, const int64_t *shape);

enum { BROADCAST_OPERANDS = 3 };

struct walk {
    int operands;
    int rank;
    int64_t shape[TENSOR_MAX_RANK + 1];
    int64_t stride[BROADCAST_OPERANDS][TENSOR_MAX_RANK + 1];
};

/* Row of `count` elements starting at output element `out`; operand k is at offset[k] and moves
 * by step[k] (0 or 1) per element. */
typedef void row_function(void *context, size_t out, size_t count, const size_t *offset,
                          const int64_t *step);

/* Broadcast all operands to the shape of the result; false (and a failure) when they do not fit. */
bool walk_open(struct walk *walk, struct tape *tape, int operands, struct node *const *nodes,
               int *rank, int64_t *shape);

/* The walk over a shape that all operands broadcast to. */
void walk_over(struct walk *walk, int operands, struct node *const *nodes, int rank,
               const int64_t *shape);

/* Call `row` for all `n` elements of the result. */
void walk_rows(const struct walk *walk, size_t n, row_function *row, void *context);

/* The same for the elements from `start` to `end` - 1: the first and the last row may be parts of rows. */
void walk_part(const struct walk *walk, size_t start, size_t end, row_function *row, void *context);

/* Offset of the element of an operand that broadcasts to output element i. */
size_t broadcast_offset(const struct node *out, const struct node *operand, size_t i);

#endif
