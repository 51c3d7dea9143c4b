/* Sparse linear maps along one dimension: window sums and interpolation.
 *
 *     y[.., o, ..] = sum over taps t of output o:  weight[t] * x[.., index[t], ..]
 *
 * The taps of output o are first[o] .. first[o + 1] - 1. The adjoint of such a map is one
 * again.
 */
#ifndef PROBE_BENCH_PRIMITIVES_TAPS_H
#define PROBE_BENCH_PRIMITIVES_TAPS_H

#include "bench/primitives/tap_lists.h"
#include "bench/tape/tape.h"

/* Taps with weight 1 of the windows [start[o], end[o]). NULL after a failure. */
struct taps *taps_windows(struct tape *tape, size_t inputs, size_t outputs, const int64_t *start,
                          const int64_t *end);

/* y = map of x along dim (x->shape[dim] == taps->inputs). x is real or complex. */
struct node *node_taps(struct tape *tape, struct node *x, int dim, struct taps *taps);

#endif
