/* Determinants and LU factors of complex matrices (batch, n, n), which real matrices of twice the order do not have
 * (bench/primitives/complex_embedding.h). Values by elimination in double, decided element by element by balls; the pivot of a
 * column has the largest |re| + |im|, as LAPACK's. */
#ifndef PROBE_BENCH_PRIMITIVES_COMPLEX_MATRIX_H
#define PROBE_BENCH_PRIMITIVES_COMPLEX_MATRIX_H

#include "bench/tape/tape.h"

/* (batch) */
struct node *node_complex_determinant(struct tape *tape, struct node *a);

/* L and U packed as LAPACK does; *pivots gets the 1-based row exchanges, int32 (batch, n). */
struct node *node_complex_lu(struct tape *tape, struct node *a, struct node **pivots);

#endif
