/* Batched matrix products. */
#ifndef PROBE_BENCH_PRIMITIVES_MATMUL_H
#define PROBE_BENCH_PRIMITIVES_MATMUL_H

#include <stdbool.h>

#include "bench/tape/tape.h"

/* C[b] = op(A[b]) op(B[b]) for 3-D nodes (batch, rows, columns), where op transposes if asked; a
 * batch of 1 is repeated. Complex nodes alike; integral ones wrap in their common dtype. */
struct node *node_matmul(struct tape *tape, struct node *a, bool transpose_a, struct node *b,
                         bool transpose_b);

#endif
