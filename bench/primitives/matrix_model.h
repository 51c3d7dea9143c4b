/* How far off a plain kernel's functions of square matrices are, to first order (Higham, Accuracy and Stability,
 * ch. 9, 10 and 14).
 *
 * Elimination computes the factors of A + E with |E| <= n u |L||U|, row exchanges undone, and each triangular
 * solve that follows does as much again. What a function makes of E follows from its derivative:
 *
 *   inverse      -X E X
 *   solution     -X E x of A x = b, the inverse not being formed
 *   determinant  det(A) trace(X E)
 *   Cholesky     L phi(L^-1 E L^-T), phi the lower triangle with half the diagonal
 *
 * Kernels eliminate in A or in A^T: LAPACK wants columns, and of a matrix whose rows lie in memory one after the other they are those of
 * A^T (PyTorch's solve, inv and det). Pivots, growth and E are others then, and the larger E counts.
 *
 * In the worst case magnitudes are multiplied, in the root mean square the squares of independent elements. Where the largest
 * row sum of |X E| reaches 1/2, A + E may be nearly singular and no first order holds: nothing is known of an inverse, and a Cholesky
 * factor is followed column by column. The determinant is linear in every row, and by Hadamard's inequality |det(A + E) - det(A)| <= prod (|a_i| + |e_i|) -
 * prod |a_i|, of the norms of rows (Bhatia, Matrix Analysis, section VI.1, has its like). */
#ifndef PROBE_BENCH_PRIMITIVES_MATRIX_MODEL_H
#define PROBE_BENCH_PRIMITIVES_MATRIX_MODEL_H

#include "bench/tape/tape.h"

/* Factors side by side as elimination leaves them, with the rows exchanged (`pivot` NULL: none). */
struct lu_factors {
    const double *factors;
    const size_t *pivot;
};

/* One matrix of order n: A with its own errors, starting at element `first`; its elimination, and that of A^T (no factors: there is none);
 * its inverse. */
struct factored {
    const struct node *a;
    size_t first, n;
    struct lu_factors own, turned;
    const double *inverse;
};

/* Errors of the elements of the inverse, which is finite; of the determinant of that `size`, also where there is no inverse; of the Cholesky
 * factor, whose inverse `inverse` is and which the own factor is. Failure is the tape's. */
void matrix_model_inverse(struct tape *tape, double *error, const struct factored *m);
double matrix_model_determinant(struct tape *tape, const struct factored *m, double size);
void matrix_model_cholesky(struct tape *tape, double *error, const struct factored *m);

/* The solution x (n, columns) of A x = b, of A^T x = b where `turned`, and its errors. */
struct solved {
    const double *x;
    size_t columns;
    bool turned;
};
void matrix_model_solution(struct tape *tape, double *error, const struct factored *m,
                           const struct solved *solved);

/* Errors of the symmetric gradient (S + S^T) / 2, S = L^-T Phi L^-1, through the factor that the own factor is, and of the two solves; `slope` is
 * Phi = phi(L^T G), `gradient` S. The kernel's factor is L (I + M), M = phi(L^-1 E L^-T), so with X = L^-1, to first order,
 * S is off by X^T (phi(M^T L^T G) - M^T Phi - Phi M) X: no product of L and its inverse, as errors of L's elements alone would have. */
void matrix_model_cholesky_gradient(struct tape *tape, double *error, const struct factored *m,
                                    const double *slope, const double *gradient);

/* Errors of the factors side by side, rows exchanged by `pivot`, from a walk through the elimination of the matrix of order n of `a`
 * that starts at element `first`: no derivative of the factors is needed, and each element has the growth that it saw. Infinite
 * where an error may have chosen another pivot. */
void matrix_model_lu(struct tape *tape, double *error, const struct node *a, size_t first, size_t n,
                     const size_t *pivot);

#endif
