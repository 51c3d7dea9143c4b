/* The sizes of a batch of matrix products, and where the elements of its operands are. */
#ifndef PROBE_BENCH_PRIMITIVES_MATMUL_SIZES_H
#define PROBE_BENCH_PRIMITIVES_MATMUL_SIZES_H

#include <stdbool.h>
#include <stddef.h>

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

#endif
