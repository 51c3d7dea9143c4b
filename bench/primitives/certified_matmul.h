/* Values and bounds of batched matrix products, in the reference and in models of kernels, and the pieces that the
 * convolution shares. */
#ifndef PROBE_BENCH_PRIMITIVES_CERTIFIED_MATMUL_H
#define PROBE_BENCH_PRIMITIVES_CERTIFIED_MATMUL_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include "bench/arithmetic/dot.h"
#include "bench/tape/tape.h"

/* The sizes of a product (m, k) times (k, n) for each of a batch, or with transposed operands. */
struct matmul {
    bool transpose_a, transpose_b;
    size_t batch, m, n, k;
    double *norms; /* of the lines of all matrices of a, then of b, once they are known; or NULL */
};

static inline size_t a_element(const struct matmul *p, const struct node *a, size_t batch,
                               size_t row, size_t l)
{
    size_t base = a->shape[0] == 1 ? 0 : batch * p->m * p->k;
    return base + (p->transpose_a ? l * p->m + row : row * p->k + l);
}

static inline size_t b_element(const struct matmul *p, const struct node *b, size_t batch, size_t l,
                               size_t column)
{
    size_t base = b->shape[0] == 1 ? 0 : batch * p->k * p->n;
    return base + (p->transpose_b ? column * p->k + l : l * p->n + column);
}

/* Make the values and bounds of `node`, the product of a and b. The values of a model may be those that the reference
 * or the other model has made; p->norms is set. */
void matmul_certify(struct tape *tape, struct node *node, struct node *a, struct node *b,
                    struct matmul *p);

/* In z, one product: by definition, what is not finite there. BLAS may skip or reorder non-finite terms.
 *
 *   z     rows `step` elements apart: those of the product from first_row on, and columns alike
 *   x, y  the operands of the whole product
 */
void matmul_repair(double *z, size_t step, const double *x, const double *y, const struct matmul *p,
                   size_t first_row, size_t rows, size_t first_column, size_t columns);

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
