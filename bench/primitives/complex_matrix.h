/* Determinants and LU factors of complex matrices (batch, n, n), which real matrices of twice the order do not have
 * (bench/primitives/complex_embedding.h). Values by elimination in double, decided element by element by balls; the pivot of a
 * column has the largest |re| + |im|, as LAPACK's. */
#ifndef PROBE_BENCH_PRIMITIVES_COMPLEX_MATRIX_H
#define PROBE_BENCH_PRIMITIVES_COMPLEX_MATRIX_H

#include "bench/tape/tape.h"

/* (batch) */
struct node *node_complex_determinant(struct tape *tape, struct node *a);

/* Elimination without exchanges, by blocks on the diagonal: A = L U with the identity in L's blocks, packed as LU is, which is
 * lower triangular but for U's blocks. `steps` (batch, n) says of each column whether it is a block of its own, the first or
 * the second of one of order 2. NULL: all by themselves, and a column whose pivot is as good as 0 has none: zeros in L and U's
 * diagonal. No gradient. */
enum block_step { STEP_SINGLE, STEP_FIRST, STEP_SECOND, STEP_NONE };
struct node *node_block_factors(struct tape *tape, struct node *a, const unsigned char *steps);

/* L and U packed as LAPACK does; *pivots gets the 1-based row exchanges, int32 (batch, n). `wanted` as for node_lu. */
struct node *node_complex_lu(struct tape *tape, struct node *a, struct node **pivots,
                             const int64_t *wanted);

#endif
