/* Of all orthonormal bases of a subspace, or of one of its subspaces, the nearest to given vectors.
 *
 * Where a factorization leaves a basis open (the sign of an eigenvector, the vectors of an eigenvalue that is there twice,
 * those that complete a basis), the right answer next to the device's is the one to compare with. For the projector P on
 * the subspace and vectors Y it is the unitary polar factor of P Y: no other orthonormal basis in the subspace is
 * nearer to Y in the Frobenius norm (Fan and Hoffman 1955; the orthogonal Procrustes problem). */
#ifndef PROBE_BENCH_PRIMITIVES_NEAREST_BASIS_H
#define PROBE_BENCH_PRIMITIVES_NEAREST_BASIS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/arena.h"
#include "core/status.h"

/* Vectors are rows of length n.
 *
 *   x (k, n)     computed, nearly orthonormal vectors near an exact subspace of k dimensions
 *   turn         bound on the Frobenius norm of what of x lies outside of it
 *   y (wanted, n)  the vectors aimed at, wanted <= k
 *   z            the nearest basis (wanted, n)
 *   error        bound on the Frobenius norm of z - the exact one; INFINITY when nothing is proven
 *   embedded     the subspace is that of an embedded complex one (bench/primitives/complex_embedding.h), and so are the
 *                bases: vectors 2j and 2j + 1 are v and iv. k and wanted are even; y may be NULL, near no basis
 *   near         set: is Y near enough to a basis that it has a nearest one (singular values of X Y^T above
 *                1/2)? Otherwise z is what x has for its first `wanted` vectors, where embedded a basis made of x. */
struct basis_aim {
    const double *x, *y;
    size_t n, k, wanted;
    double turn;
    bool embedded;
};
struct status nearest_basis(double *z, double *error, bool *near, const struct basis_aim *aim,
                            struct arena *arena);

/* Bound on the Frobenius norm of X X^T - I for k rows of length n, roundings included. Scratch: k * k. */
double basis_defect(const double *x, size_t k, size_t n, double *scratch);

#endif
