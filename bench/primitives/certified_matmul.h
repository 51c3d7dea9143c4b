/* Values and bounds of batched matrix products, in the reference and in models of kernels. */
#ifndef PROBE_BENCH_PRIMITIVES_CERTIFIED_MATMUL_H
#define PROBE_BENCH_PRIMITIVES_CERTIFIED_MATMUL_H

#include "bench/primitives/matmul_sizes.h"
#include "bench/tape/tape.h"

/* Make the values and bounds of `node`, the product of a and b. The values of a model may be those that the reference
 * or the other model has made; p->norms is set. */
void matmul_certify(struct tape *tape, struct node *node, struct node *a, struct node *b,
                    struct matmul *p);

#endif
