/* Sets of dimensions as bit masks: bit d stands for dimension d. */
#ifndef PROBE_BENCH_CALL_DIMENSIONS_H
#define PROBE_BENCH_CALL_DIMENSIONS_H

#include "bench/tape/tape.h"

_Static_assert(TENSOR_MAX_RANK < 32, "a mask has a bit for each dimension");

static inline uint32_t all_dims(const struct node *x) { return (1u << x->rank) - 1; }

/* One dimension; none for rank 0. */
static inline uint32_t one_dim(const struct node *x, int dim) { return x->rank ? 1u << dim : 0; }

/* The last `count` dimensions, at most all of them. */
static inline uint32_t last_dims(const struct node *x, int count)
{
    return ((1u << count) - 1) << (x->rank - count);
}

#endif
