/* Ranks by a tolerance, and pseudo-inverses of them. */
#ifndef PROBE_BENCH_OPS_PSEUDO_INVERSE_H
#define PROBE_BENCH_OPS_PSEUDO_INVERSE_H

#include "bench/call/op.h"

/* The limit of singular values that count, as a share of the largest and absolute. */
struct rank_tolerance {
    double relative, absolute;
};

/* PyTorch's limit where none is given: max(rows, columns) eps of the largest. */
double default_rank_tolerance(const struct node *x);

/* How many of the k singular values, the largest first, are above the limit raised by `margin` of the largest? */
int64_t count_above(const double *values, size_t k, struct rank_tolerance tolerance, double margin);

/* The limits of the arguments of these names, numbers or tensors that broadcast with the batch, for each matrix of *x, which is broadcast with
 * them. Without the relative one it is `usual` where the absolute one is not above 0. NULL after a failure. */
const struct rank_tolerance *call_rank_tolerances(struct call *call, struct node **x,
                                                  const char *relative, const char *absolute,
                                                  double usual);

/* The same limit for each of `batches` matrices; NULL after a failure. */
const struct rank_tolerance *rank_tolerances_all(struct tape *tape, int64_t batches,
                                                 struct rank_tolerance tolerance);

/* The rank of each matrix of a batch by its tolerance. A kernel knows singular values to max(rows, columns) roundings of the largest (backward stable;
 * Golub and Van Loan, Matrix Computations, 8.6), or, where it estimates them, to a `factor`: where one lies as close to the limit as
 * that the call is a SKIP. NULL after a failure. */
const int64_t *call_ranks(struct call *call, struct node *a,
                          const struct rank_tolerance *tolerances);

/* The same, where ranks are results: of those that the errors of the values allow, and a kernel that estimates them to a `factor`, the
 * device's, its flat output `output`. */
const int64_t *call_settled_ranks(struct call *call, size_t output, struct node *a,
                                  const struct rank_tolerance *tolerances, double factor);

/* The Moore-Penrose inverse of the matrix of that rank nearest to each of a batch, V S^-1 U^H; of full rank (A^H A)^-1 A^H or A^H (A
 * A^H)^-1. Its gradient is PyTorch's for a matrix of constant rank (Golub and Pereyra, 1973), toward `given`, in whose place a stands. */
struct node *pseudo_inverse_of_rank(struct tape *tape, struct node *a, const int64_t *ranks,
                                    struct node *given);

#endif
