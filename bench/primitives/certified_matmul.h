/* Values and bounds of batched matrix products, in the reference and in models of kernels, and the pieces that the
 * convolution shares. */
#ifndef PROBE_BENCH_PRIMITIVES_CERTIFIED_MATMUL_H
#define PROBE_BENCH_PRIMITIVES_CERTIFIED_MATMUL_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include "bench/arithmetic/dot_matrix.h"
#include "bench/primitives/matmul_sizes.h"
#include "bench/tape/tape.h"

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

#endif
