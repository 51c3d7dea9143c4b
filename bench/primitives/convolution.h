/* Convolutions over up to three spatial dimensions. */
#ifndef PROBE_BENCH_PRIMITIVES_CONVOLUTION_H
#define PROBE_BENCH_PRIMITIVES_CONVOLUTION_H

#include "bench/primitives/convolution_sizes.h"
#include "bench/tape/tape.h"

/* CONVOLVE: a = x, b = w -> y. INPUT_ADJOINT: a = y, b = w -> x. WEIGHT_ADJOINT: a = x, b = y -> w.
 * Shapes of the nodes are 5-D as in the geometry. */
struct node *node_convolution(struct tape *tape, enum convolution_role role, struct node *a,
                              struct node *b, const struct convolution_geometry *geometry);

#endif
