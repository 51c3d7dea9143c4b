/* Singular values and vectors. */
#ifndef PROBE_BENCH_PRIMITIVES_SINGULAR_VECTORS_H
#define PROBE_BENCH_PRIMITIVES_SINGULAR_VECTORS_H

#include "bench/tape/tape.h"

/* Of real or complex a (batch, m, n), k = min(m, n): descending singular values (batch, k). */
struct node *node_singular_values(struct tape *tape, struct node *a);

/* What is wanted besides, and where it goes. */
struct singular_vectors {
    bool full;   /* complete bases, of m and of n vectors */
    bool hidden; /* not returned: a kernel's gradient may be that of other vectors of the groups */
    /* Shaped as u and v, of complex a as their embeddings (bench/primitives/complex_embedding.h): a device's
     * answer, or NULL. */
    const double *aim_u, *aim_v;
    struct node *u, *v; /* set: vectors as columns (batch, m, m or k), (batch, n, n or k) */
};

/* The same with the vectors. Values that a kernel in a's dtype cannot tell apart form a group (bench/primitives/
 * vector_groups.h) and share a subspace; the vectors of a group are the nearest basis of it to what is aimed at
 * (bench/primitives/nearest_basis.h), left and right ones in step, but for the values that are as good as 0: there,
 * and for what completes a basis, left and right are free of each other. Failure (STATUS_SKIP) where an
 * element is not finite. */
struct node *node_singular(struct tape *tape, struct node *a, struct singular_vectors *vectors);

#endif
