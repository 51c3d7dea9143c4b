/* The values and bounds of a convolution. */
#ifndef PROBE_BENCH_PRIMITIVES_CONVOLUTION_PRODUCTS_H
#define PROBE_BENCH_PRIMITIVES_CONVOLUTION_PRODUCTS_H

#include "bench/primitives/convolution_sizes.h"
#include "bench/tape/tape.h"

/* Make the values and bounds of `node`, a step without elements, whose inputs are those of its role. Failure is the tape's. */
void convolution_evaluate(struct tape *tape, struct node *node, struct convolution *c);

#endif
