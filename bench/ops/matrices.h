/* What the families of linear algebra share: matrices as batches of three dimensions. */
#ifndef PROBE_BENCH_OPS_MATRICES_H
#define PROBE_BENCH_OPS_MATRICES_H

#include "bench/call/op.h"

/* x as (batch, rows, columns) of its last two dimensions. */
struct node *call_matrices(struct call *call, struct node *x);

/* y (batch, ...) with the leading dimensions of `like` in place of the batch. */
struct node *with_leading_of(struct tape *tape, struct node *y, const struct node *like);

/* Factors, determinants and singular values of complex matrices are not computed. */
void call_refuse_complex(struct call *call, const struct node *x);

/* Ones on the diagonal of (1, rows, columns). */
struct node *ones_on_diagonal(struct tape *tape, int64_t rows, int64_t columns);

#endif
