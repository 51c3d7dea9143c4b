/* The columns of an image that a convolution multiplies: where their elements are. */
#ifndef PROBE_BENCH_PRIMITIVES_CONVOLUTION_COLUMNS_H
#define PROBE_BENCH_PRIMITIVES_CONVOLUTION_COLUMNS_H

#include <stdbool.h>
#include <stdint.h>

#include "bench/primitives/convolution_sizes.h"
#include "bench/tape/tape.h"

/* Input positions that the taps, one after the other, read at all output points, or -1 in the padding. NULL after a failure. */
int64_t *convolution_pixel_map(struct tape *tape, const struct convolution *c);

/* Is X an input tensor of floats, which is read where it is? As doubles it would be twice as large, all of it. */
bool convolution_reads_floats(const struct node *x);

#endif
