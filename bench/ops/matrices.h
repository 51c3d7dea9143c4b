/* What the families of linear algebra share: matrices as batches of three dimensions. */
#ifndef PROBE_BENCH_OPS_MATRICES_H
#define PROBE_BENCH_OPS_MATRICES_H

#include "bench/call/op.h"

/* x as (batch, rows, columns) of its last two dimensions. */
struct node *call_matrices(struct call *call, struct node *x);

/* y (batch, ...) with the leading dimensions of `like` in place of the batch. */
struct node *with_leading_of(struct tape *tape, struct node *y, const struct node *like);

/* What one triangle of a batch of square matrices says of symmetric or Hermitian ones. */
struct node *hermitian_of_triangle(struct tape *tape, struct node *a, bool upper);

/* The conjugate transpose of the last two dimensions. */
struct node *adjoint_of(struct tape *tape, struct node *x);

/* Are the diagonals of a batch of matrices real? Kernels read the real parts, or divide by the whole: where an imaginary part is not 0, the call
 * is a SKIP and the answer false. */
bool call_require_real_diagonals(struct call *call, struct node *a);

/* Ones on the diagonal of (1, rows, columns). */
struct node *ones_on_diagonal(struct tape *tape, int64_t rows, int64_t columns);

/* Return the solution of A X = B, or X A = B without `left`, an argument of the call. (bench/ops/linalg.c) */
void call_return_solution(struct call *call, struct node *a, struct node *b);

/* Return the info of a factorization of `like`, none where rounding decides it: `factor`, whose last two dimensions have what the
 * algorithm divides by on their diagonal, has some there that is nothing beside its largest element. (bench/ops/linalg.c) */
void call_return_info(struct call *call, const struct node *like, struct node *factor);

#endif
