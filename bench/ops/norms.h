/* Norms of matrices, for the families that need them inside. */
#ifndef PROBE_BENCH_OPS_NORMS_H
#define PROBE_BENCH_OPS_NORMS_H

#include "bench/call/op.h"

/* The norm of the matrices in dimensions row and column of x: `order` is "fro", "nuc" or one of 1, -1, 2, -2, inf and
 * -inf; any other fails the call. Shape (batch...), with extents of 1 in place of the two if `keepdim`. */
struct node *matrix_norm_of(struct call *call, struct node *x, const struct value *order, int row,
                            int column, bool keepdim);

#endif
