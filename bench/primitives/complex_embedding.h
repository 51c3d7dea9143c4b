/* Complex matrices as real ones of twice the extents: an element x + iy becomes the block [[x, -y], [y, x]].
 *
 * Sums, products and adjoints of complex matrices are those of the real ones, and so is what they determine. Triangles whose
 * diagonal is real stay triangles, so that Cholesky factors and QR factors with a positive diagonal, which are unique,
 * are embedded, too. An eigenvalue or singular value is there twice, its vector v as the basis v, iv of a subspace; the polar factor
 * of an embedded matrix is embedded. */
#ifndef PROBE_BENCH_PRIMITIVES_COMPLEX_EMBEDDING_H
#define PROBE_BENCH_PRIMITIVES_COMPLEX_EMBEDDING_H

#include "bench/tape/tape.h"

/* Of complex a (batch, m, n) the real node (batch, 2 m, 2 n); a real node is returned as it is. */
struct node *node_embedding(struct tape *tape, struct node *a);

/* The complex node (batch, m, n) of an embedding (batch, 2 m, 2 n); only its even columns are read. */
struct node *node_of_embedding(struct tape *tape, struct node *embedding);

/* The same values with the real parts of a batch in front and the imaginary ones behind, (2 batch, ...), for primitives that are
 * functions of all of them; and back. A real node is returned as it is by the first. */
struct node *node_stacked_parts(struct tape *tape, struct node *x);
struct node *node_of_stacked_parts(struct tape *tape, struct node *stacked);

/* f(a) for an f of real matrices that embeddings commute with. */
struct node *node_by_embedding(struct tape *tape, struct node *a,
                               struct node *(*f)(struct tape *, struct node *));

#endif
