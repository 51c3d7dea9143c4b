/* Which inputs the outputs of a sparse linear map have, and with what weights (bench/primitives/taps.h). */
#ifndef PROBE_BENCH_PRIMITIVES_TAP_LISTS_H
#define PROBE_BENCH_PRIMITIVES_TAP_LISTS_H

#include <arb.h>
#include <stddef.h>

/* How far off a kernel's weights are. It forms those of an output from a place that it has rounded, so all of them are off by their
 * slopes times one error, and each by roundings of its own. Slopes may differ on both sides of a place. */
struct tap_places {
    const double *error;    /* of the place of each output, at worst, in units */
    const double *slope[2]; /* of each tap's weight, below its place and above */
    const double *rounding; /* of each tap's weight, at worst, in units */
    double typical_error,
        typical_rounding; /* what these are in the root mean square, over their worst */
};

struct taps {
    size_t inputs, outputs;
    const size_t *first, *index;
    const double *weight;            /* NULL: all 1 */
    double weight_error;             /* |weight[t] - exact| <= weight_error for all t */
    const struct tap_places *places; /* in a model, of weights; else NULL */
    /* How many elements each input is the sum of already, over other dimensions, and, of the adjoint, will be: a kernel may add
     * all of them in a row. */
    double summed, summed_by_adjoint;
    /* The exact weight of tap t as a ball; NULL: the doubles are exact. */
    void (*exact)(arb_t weight, const void *context, size_t t, slong precision);
    const void *context;
    const size_t *
        origin; /* of an adjoint: its tap t is tap origin[t] of the original, whose places and slopes it has */
    struct taps *transposed; /* the adjoint, made on first use */
};

#endif
