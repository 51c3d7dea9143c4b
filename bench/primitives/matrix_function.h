/* What functions of square matrices have in common: the node, balls of the whole matrix. */
#ifndef PROBE_BENCH_PRIMITIVES_MATRIX_FUNCTION_H
#define PROBE_BENCH_PRIMITIVES_MATRIX_FUNCTION_H

#include <arb_mat.h>

#include "bench/tape/enclosure.h"
#include "bench/tape/tape.h"

/* The node of a function of a, which must be (batch, n, n); NULL after a failure. */
struct node *matrix_function_node(struct tape *tape, const struct primitive *primitive,
                                  struct node *a, int rank, const int64_t *shape,
                                  const void *parameters);

/* Nothing is known in double: the balls decide. A model has 64 roundings of each element, and of 1. */
void matrix_function_unbounded(struct tape *tape, struct node *node);

/* Balls of the elements of matrix `batch` of a, into `out`, which has its size. */
void matrix_enclose_all(struct enclosure *enclosure, arb_mat_t out, struct node *a, size_t batch);

/* Element i of the node, whose matrix has been evaluated; the others are remembered. */
void matrix_keep_all(struct enclosure *enclosure, arb_ptr ball, struct node *node, size_t i,
                     arb_mat_t matrix);

/* 0: the function cannot be evaluated at this precision. */
typedef int matrix_ball_function(arb_mat_t out, const arb_mat_t in, slong precision);

/* Element i of f of its matrix, as a ball. The work is n^3 (enclosure->work). */
void matrix_function_enclose(struct enclosure *enclosure, void *ball, struct node *node, size_t i,
                             matrix_ball_function *f);

#endif
