/* Factorizations of dense row-major matrices by LAPACK (the part of OpenBLAS that knows it), in double.
 *
 * They are good to a few n u of the matrix (LAPACK Users' Guide, ch. 4); callers that need bounds take them from the
 * residuals of what they get. Scratch comes from the arena; the elements are finite. Errors: no memory, or an
 * iteration that does not end (STATUS_SKIP). */
#ifndef PROBE_BENCH_ARITHMETIC_LAPACK_H
#define PROBE_BENCH_ARITHMETIC_LAPACK_H

#include <stdbool.h>
#include <stddef.h>

#include "core/arena.h"
#include "core/status.h"

/* Symmetric a (n, n), n > 0: ascending eigenvalues; row j of `vectors` (n, n) is the eigenvector of value j. */
struct status lapack_eigenvectors(double *values, double *vectors, const double *a, size_t n,
                                  struct arena *arena);

/* a (m, n), m, n > 0: descending singular values (min(m, n)); row j of `left` (all of m with `full`, else min(m, n) rows of
 * length m) and of `right` (likewise of n) are the singular vectors of value j. */
struct status lapack_singular_vectors(double *values, double *left, double *right, const double *a,
                                      size_t m, size_t n, bool full, struct arena *arena);

/* Any a (n, n), n > 0, its columns one after the other, lost: eigenvalues; row j of `vectors` (n, n) is an eigenvector of value j of
 * norm 1. */
struct status lapack_general_eigenvectors(double _Complex *values, double _Complex *vectors,
                                          double _Complex *a, size_t n, struct arena *arena);

/* Any a (n, n), n > 0, its columns one after the other: becomes D^-1 A D, rows and columns in another order perhaps, as LAPACK balances it
 * before it looks for eigenvalues (Parlett and Reinsch, Balancing a matrix for calculation of eigenvalues and eigenvectors, 1969);
 * `scale` gets the diagonal of D, powers of 2, by the rows of a as given. */
struct status lapack_balance(double *scale, double _Complex *a, size_t n, struct arena *arena);

/* a (m, n) = q r by Householder's reflections, m, n > 0: q (m, columns) with orthonormal columns, columns >= min(m, n)
 * and at most m; the upper trapezoid r (min(m, n), n). */
struct status lapack_qr(double *q, double *r, const double *a, size_t m, size_t n, size_t columns,
                        struct arena *arena);

#endif
