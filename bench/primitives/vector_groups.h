/* What eigenvectors and singular vectors share: values that a kernel cannot tell apart as groups, how far a computed
 * subspace turns, and the errors of a plain kernel.
 *
 * A backward stable kernel finds the vectors of A + E with ||E|| <= 8 n u ||A||_F (LAPACK's own tests, LAPACK Working
 * Note 41, take n ulp ||A|| times a threshold of 20 to 50 for a fault), in the root mean square over the elements
 * of E, which the roundings of n orthogonal transformations make, 5 u ||A||_F / sqrt(n) and what deflation takes for
 * zero, 2 u ||A||_2. A kernel in float64 is compared with a reference that was found in double as well, where balls are
 * too many: twice that. To first order the vector of group c moves by sum_i x_i (x_i^T E x_c) / (gap between i and c); of two
 * vectors alone the angle has tan 2t = 2 |E_ic| / (gap + E_ii - E_cc). */
#ifndef PROBE_BENCH_PRIMITIVES_VECTOR_GROUPS_H
#define PROBE_BENCH_PRIMITIVES_VECTOR_GROUPS_H

#include "bench/tape/tape.h"

/* What is known of a matrix before it is factorized. Both are rounded up. */
struct group_matrix {
    double frobenius, /* ||A||_F, not 0 */
        input;        /* the Frobenius norm of the errors of its elements */
};

/* `count` elements of `a` from `first` on. `what` is looked for, as a SKIP says when an element is not finite. */
struct status group_matrix_measure(struct group_matrix *out, const struct node *a, size_t first,
                                   size_t count, const char *what);

/* Values closer than this form a group. `norm` is the largest magnitude among n values. */
double group_distance(const struct tape *tape, enum dtype dtype, size_t n, double norm);

/* End of the group of sorted values that starts at `start`; `in_twos`: of as many more as make its length even. */
size_t group_end(const double *values, size_t n, size_t start, double distance, bool in_twos);

/* Mask (1, n, n) of the pairs 2j, 2j + 1 of vectors of an embedded matrix (bench/primitives/complex_embedding.h). */
struct node *group_twins(struct tape *tape, int64_t n);

/* ||E|| of a model's kernel; in the root mean square an element of E in any orthonormal basis. */
double group_backward_error(const struct tape *tape, size_t n, double frobenius, double largest);

/* By how much a vector turns toward another across a gap, in a model: e is what the matrix is off between the two. Values move, too: in the
 * worst case the gap is 2 e narrower, and typically hardly by more than 3 e. 1, any direction, where nothing is left of it. */
double group_turn(const struct tape *tape, double e, double gap);

/* What LAPACK's iteration for singular values takes for zero, over the larger value beside it. */
double group_dropped(const struct tape *tape);

/* `error` (n) has for each element of the vectors of a group the square of what turns to vectors outside make of it; it becomes the error. With angles t
 * toward these, what is left of the vectors themselves is sqrt(1 - t^2), which is 1 - t^2 / 2 at most as far off as t^2 is; `turned`
 * is t^2, `z` (count, n) the group. */
void group_model_second_order(const struct tape *tape, double *error, size_t n, double turned,
                              const double *z, size_t count);

/* Errors of an element x of a vector of length n, one of `count` in its group, that are not E's: of its normalization,
 * of the products that make it of reflections, and in float64 of the reference's turn within the group. */
double group_forward_error(const struct tape *tape, size_t n, size_t count, double x);

/* The bases that values with cotangents were computed with: of matrices (batch, m, n), k values, left and right vectors as columns. */
struct group_bases {
    struct node *values, *cotangent, *left,
        *right;             /* (batch, k) twice, (batch, m, k or more), (batch, n, k or more) */
    const double *distance; /* within a group, for each matrix */
    bool embedded,
        singular; /* singular: vectors of values that are as good as 0 are free of each other */
};

/* In a model: L diag(g) R^T, the gradient of values whose vectors are not returned, with what other vectors of the groups make of it.
 * Where the cotangents of a group differ by 2 d at most, orthonormal vectors of its subspace make between -d and d times the product of
 * the norms of a row of L and a row of R there. `gradient` itself otherwise. */
struct node *group_model_any_basis(struct tape *tape, struct node *gradient,
                                   const struct group_bases *bases);

#endif
