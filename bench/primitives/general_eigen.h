/* Eigenvalues and eigenvectors of square matrices that need not be symmetric. */
#ifndef PROBE_BENCH_PRIMITIVES_GENERAL_EIGEN_H
#define PROBE_BENCH_PRIMITIVES_GENERAL_EIGEN_H

#include "bench/tape/tape.h"

/* Of real or complex a (batch, n, n): complex eigenvalues (batch, n), and in *vectors (NULL: not wanted) a complex node (batch, n,
 * n) whose columns are eigenvectors of norm 1.
 *
 * Order and phases are open. Where `aim_values` (batch, n) is given, a device's answer, each of its values is met by the
 * nearest eigenvalue that is not taken yet; vectors have the phases that bring them nearest to the columns of `aim_vectors`
 * (batch, n, n). Either is complex or NULL: LAPACK's order and phases. Gradients of vectors are those of a result that does not depend
 * on phases. Nothing is known (infinite bounds) of the vectors of eigenvalues that the residuals do not separate.
 *
 * Failure (STATUS_SKIP) where an element is not finite. */
struct node *node_general_eigenvalues(struct tape *tape, struct node *a, struct node *aim_values,
                                      struct node *aim_vectors, struct node **vectors);

#endif
