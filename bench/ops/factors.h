/* What the families of factorizations share. */
#ifndef PROBE_BENCH_OPS_FACTORS_H
#define PROBE_BENCH_OPS_FACTORS_H

#include "bench/call/op.h"

/* Argument `name` as a batch of matrices. */
struct node *call_batch(struct call *call, const char *name);

/* y (batch, ...) as a result with the leading dimensions and the dtype of `like`. */
void call_return_batch(struct call *call, struct node *y, const struct node *like);

/* The same of real numbers: singular values of complex matrices. */
void call_return_real_batch(struct call *call, struct node *y, const struct node *like);

/* A result that was not asked for: no elements. */
void call_return_empty(struct call *call, enum dtype dtype);

/* Flat output k of the device as a batch of rows x columns, complex as a is, or its adjoint if asked; NULL when it is none. */
struct node *call_device_batch(struct call *call, size_t k, const struct node *a, int64_t rows,
                               int64_t columns, bool adjoint);

/* The elements of the square of order k in front of such an output, or of its adjoint if asked, of complex a embedded (bench/primitives/
 * complex_embedding.h). */
const double *call_device_square(struct call *call, size_t output, const struct node *a,
                                 int64_t rows, int64_t columns, int64_t k, bool adjoint);

/* H_1 ... H_k C with H_j = I - tau_j v_j v_j^H, or with `backwards` the adjoint, H_k^H ... H_1^H C. v_j is column j of `input`
 * (batch, m, n) below its diagonal, with a one upon it. */
struct node *call_reflected(struct call *call, struct node *input, struct node *tau, struct node *c,
                            bool backwards);

/* Return what torch.linalg.eig, or without `vectors` eigvals, makes of `input`; and what torch.linalg.lstsq makes of `input` and the
 * argument of the other name, with its rcond and driver. */
void call_general_eigen(struct call *call, bool vectors);
void call_least_squares(struct call *call, const char *right);

/* L and U of matrices x packed as LAPACK does, (batch, m, n), and the exchanges of rows, (batch, min(m, n)); `wanted` as for node_lu. */
struct node *call_factors_packed(struct call *call, struct node *x, struct node **pivots,
                                 const int64_t *wanted);

/* Return the factors, and pivots as the call's flat output `output`, that aten's solvers keep of the argument `name`. */
struct node *call_return_factors_used(struct call *call, const char *name, size_t output);

#endif
