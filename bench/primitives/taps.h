/* Sparse linear maps along one dimension: window sums, averages and interpolation.
 *
 *     y[.., o, ..] = sum over taps t of output o:  weight[t] * x[.., index[t], ..]
 *
 * The taps of output o are first[o] .. first[o + 1] - 1. The adjoint of such a map is one
 * again.
 */
#ifndef PROBE_BENCH_PRIMITIVES_TAPS_H
#define PROBE_BENCH_PRIMITIVES_TAPS_H

#include <arb.h>

#include "bench/tape/tape.h"

struct taps {
    size_t inputs, outputs;
    const size_t *first, *index;
    const double *weight; /* NULL: all 1 */
    double weight_error;  /* |weight[t] - exact| <= weight_error for all t */
    /* The exact weight of tap t as a ball; NULL: the doubles are exact. */
    void (*exact)(arb_t weight, const void *context, size_t t, slong precision);
    const void *context;
    const size_t *origin;    /* of an adjoint: its tap t is tap origin[t] of the original */
    struct taps *transposed; /* the adjoint, made on first use */
};

/* Taps with weight 1 of the windows [start[o], end[o]). NULL after a failure. */
struct taps *taps_windows(struct tape *tape, size_t inputs, size_t outputs, const int64_t *start,
                          const int64_t *end);

/* y = map of x along dim (x->shape[dim] == taps->inputs). x is real or complex. */
struct node *node_taps(struct tape *tape, struct node *x, int dim, struct taps *taps);

#endif
