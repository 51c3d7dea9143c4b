/* Convolutions over up to three spatial dimensions. */
#ifndef PROBE_BENCH_PRIMITIVES_CONVOLUTION_H
#define PROBE_BENCH_PRIMITIVES_CONVOLUTION_H

#include "bench/tape/tape.h"

/* Cross-correlation over up to three spatial dimensions, and its two adjoints. */
enum convolution_role { CONVOLVE, CONVOLVE_INPUT_ADJOINT, CONVOLVE_WEIGHT_ADJOINT };
struct convolution_geometry {
    int64_t stride[3], padding[3], dilation[3]; /* spatial; unused leading ones 1, 0, 1 */
    int64_t groups;
    /* The full problem, all 5-D: x (n, c, d, h, w), w (k, c/groups, kd, kh, kw), y (n, k, ...) */
    int64_t x[5], w[5], y[5];
};
/* CONVOLVE: a = x, b = w -> y. INPUT_ADJOINT: a = y, b = w -> x. WEIGHT_ADJOINT: a = x, b = y -> w.
 * Shapes of the nodes are 5-D as in the geometry. */
struct node *node_convolution(struct tape *tape, enum convolution_role role, struct node *a,
                              struct node *b, const struct convolution_geometry *geometry);

#endif
