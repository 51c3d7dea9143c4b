/* Products over dimensions. */
#ifndef PROBE_BENCH_PRIMITIVES_PRODUCT_H
#define PROBE_BENCH_PRIMITIVES_PRODUCT_H

#include "bench/tape/tape.h"

/* Over the dimensions whose bit is set in `dims` (all ones: every dimension). Integers wrap; no
 * intermediate product leaves the range of double. x is real or integral. */
struct node *node_product(struct tape *tape, struct node *x, uint32_t dims, bool keepdim);

#endif
