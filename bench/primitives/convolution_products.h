/* The values and bounds of a convolution. */
#ifndef PROBE_BENCH_PRIMITIVES_CONVOLUTION_PRODUCTS_H
#define PROBE_BENCH_PRIMITIVES_CONVOLUTION_PRODUCTS_H

#include "bench/primitives/convolution_sizes.h"
#include "bench/tape/tape.h"

/* Make the values and bounds of `node`, a step without elements, whose inputs are those of its role. Failure is the tape's. */
void convolution_evaluate(struct tape *tape, struct node *node, struct convolution *c);

/* Input positions that the taps, one after the other, read at all output points, or -1 in the padding. NULL after a failure. */
int64_t *convolution_pixel_map(struct tape *tape, const struct convolution *c);

/* Is X an input tensor of floats, which is read where it is? As doubles it would be twice as large, all of it. */
bool convolution_reads_floats(const struct node *x);

#endif
