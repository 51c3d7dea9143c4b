/* Functions of square matrices as primitives: inverse, determinant, Cholesky and LU factors,
 * exponential. Operands are 3-D (batch, n, n).
 *
 * Values come from the plain algorithms in double. The inverse carries the residual bound
 * |X - A^-1| <= |X| |I - A X| / (1 - ||I - A X||) (Higham, Accuracy and Stability, ch. 14); the others
 * carry none and are decided element by element by balls, a whole matrix at a time. Gradients are compositions of inverses and products.
 */
#ifndef PROBE_BENCH_PRIMITIVES_MATRIX_H
#define PROBE_BENCH_PRIMITIVES_MATRIX_H

#include "bench/tape/tape.h"

/* Real or complex. The Cholesky factor is the lower one and reads the lower triangle, of complex a including the diagonal's
 * imaginary parts, which are 0. */
struct node *node_inverse(struct tape *tape, struct node *a);
struct node *node_cholesky(struct tape *tape, struct node *a);

/* In a model: A^-1 B, of A^T where `turned`, with the errors of a kernel that solves with the factors of A; `inverse` is that of a model, which knows where
 * nothing is known. (batch, n, n) and (batch, n, m), real. */
struct node *node_solved(struct tape *tape, struct node *a, struct node *inverse, struct node *b,
                         bool turned);
struct node *node_matrix_exponential(struct tape *tape, struct node *a);

/* Real only; bench/primitives/complex_matrix.h has those of complex matrices. */
struct node *node_determinant(struct tape *tape, struct node *a); /* (batch) */

/* L and U packed as LAPACK does; *pivots gets the 1-based row exchanges, int32 (batch, n). `wanted` (batch, n), or NULL: exchanges
 * that a kernel made; each is taken where its pivot is the column's largest within the roundings of that kernel. */
struct node *node_lu(struct tape *tape, struct node *a, struct node **pivots,
                     const int64_t *wanted);

/* How far what elimination leaves of the matrix of `a` that starts at element `first` may be off in a kernel of its dtype: 16 n roundings of
 * the largest element. */
double pivot_slack(const struct node *a, size_t first);

/* Lower (sign < 0: keep column - row <= offset) or upper (column - row >= offset) triangle of the
 * last two dimensions, the rest zero. */
struct node *node_triangle(struct tape *tape, struct node *a, int sign, int64_t offset);

/* P^T X of X (batch, n, m): its rows exchanged back. pivot[b n + k] is the row, from 0, that row k was exchanged with. */
struct node *node_exchanged_back(struct tape *tape, struct node *x, const size_t *pivot);

#endif
