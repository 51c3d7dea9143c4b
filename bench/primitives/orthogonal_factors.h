/* A = Q R with orthonormal columns of Q and an upper triangle R. */
#ifndef PROBE_BENCH_PRIMITIVES_ORTHOGONAL_FACTORS_H
#define PROBE_BENCH_PRIMITIVES_ORTHOGONAL_FACTORS_H

#include "bench/tape/tape.h"

/* What a device returned, shaped as the results, or NULL: `q` decides the signs of Q's columns and, among all bases, the
 * columns that complete it; where there is no q, `r` decides the signs of R's rows. */
struct qr_aim {
    const double *q, *r;
};

/* Of real or complex a (batch, m, n) with m >= n > 0, its columns independent: the node of Q (batch, m, columns), columns n or
 * m, and in *r that of R (batch, n, n). Without an aim the signs are LAPACK's. What is aimed at for complex a is embedded (bench/primitives/
 * complex_embedding.h); R's diagonal has the phases of that of the aim's r, and is positive without one. Failure (STATUS_SKIP) where an element is not finite
 * or a column depends on those before it. */
struct node *node_qr(struct tape *tape, struct node *a, size_t columns, const struct qr_aim *aim,
                     struct node **r);

#endif
