/* Norms of vectors along dimensions, with PyTorch's gradients at zeros and ties. */
#ifndef PROBE_BENCH_PRIMITIVES_VECTOR_NORM_H
#define PROBE_BENCH_PRIMITIVES_VECTOR_NORM_H

#include "bench/tape/tape.h"

/* (sum |x|^p)^(1/p) over dims; p = inf, -inf: the largest, smallest |x|; p = 0: how many are not
 * 0. Zero where the norm is 0, the gradient of a positive p is 0. Of equal largest entries each
 * takes its share. */
struct node *node_vector_norm(struct tape *tape, struct node *x, double p, uint32_t dims,
                              bool keepdim);

#endif
