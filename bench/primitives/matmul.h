/* Batched matrix products, certified, and the pieces that the convolution shares. */
#ifndef PROBE_BENCH_PRIMITIVES_MATMUL_H
#define PROBE_BENCH_PRIMITIVES_MATMUL_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include "bench/arithmetic/dot.h"
#include "bench/tape/tape.h"

/* C[b] = op(A[b]) op(B[b]) for 3-D nodes (batch, rows, columns), where op transposes if asked; a
 * batch of 1 is repeated. Complex nodes alike; integral ones wrap in their common dtype. */
struct node *node_matmul(struct tape *tape, struct node *a, bool transpose_a, struct node *b,
                         bool transpose_b);

/* In a model: how much of unit * sum|a||b| the roundings of a dot product of k terms make. The
 * products round too where there is no fused multiply-add. */
static inline double dot_growth(const struct tape *tape, size_t k)
{
    if (tape->arithmetic == BENCH_MODEL_TYPICAL) return sqrt((double)k) / 3 + 0.6;
    return (double)k;
}

/* Elements of an input tensor with at most 24 significand bits: products of two are exact. */
bool node_is_narrow(const struct node *x);

/* Recompute what is open in a product (bench/arithmetic/dot.h). *scratch is NULL at first and
 * serves all products of one size. */
void matmul_recompute(struct tape *tape, double **scratch, const struct dot_matrix *c);

#endif
