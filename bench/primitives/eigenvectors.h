/* Eigenvalues and orthonormal eigenvectors of symmetric and Hermitian matrices. */
#ifndef PROBE_BENCH_PRIMITIVES_EIGENVECTORS_H
#define PROBE_BENCH_PRIMITIVES_EIGENVECTORS_H

#include "bench/tape/tape.h"

/* Of symmetric or Hermitian a (batch, n, n), both triangles given: ascending eigenvalues (batch, n), and in *vectors (NULL: not
 * wanted) a node (batch, n, n) with the eigenvectors as columns.
 *
 * Eigenvalues that a kernel in a's dtype cannot tell apart form a group (closer than 16 sqrt(n) roundings of the
 * norm), and the vectors of a group are the basis of its subspace that lies nearest to the columns of `aim`
 * (batch, n, n), a device's answer, or to those that LAPACK finds (aim NULL, or far from any basis). A group of one has
 * so the sign that the device chose, of complex a the phase; the `aim` of complex a is embedded (batch, 2 n, 2 n;
 * bench/primitives/complex_embedding.h). Gradients of complex vectors are those of a result that does not depend on phases.
 *
 * Failure (STATUS_SKIP) where an element is not finite. */
struct node *node_eigenvalues(struct tape *tape, struct node *a, const double *aim,
                              struct node **vectors);

#endif
