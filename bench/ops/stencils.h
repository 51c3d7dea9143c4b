/* Sums over the inputs around given places: over all combinations of a few taps along each spatial dimension, of the
 * input there times the product of the taps' weights, which are functions of the place. Outside of the input is 0.
 */
#ifndef PROBE_BENCH_OPS_STENCILS_H
#define PROBE_BENCH_OPS_STENCILS_H

#include "bench/tape/tape.h"

enum { STENCIL_MOST_DIMS = 3, STENCIL_MOST_TAPS = 4 };

/* An input (batch, channels, spatial dimensions), sampled at `points` places for each item of the batch. */
struct sampled {
    struct tape *tape;
    struct node *x;
    int dims;                        /* spatial */
    int64_t size[STENCIL_MOST_DIMS]; /* of the input, first spatial dimension first */
    size_t batch, channels, points;
    int rank;
    int64_t shape[STENCIL_MOST_DIMS + 2]; /* of the result: (batch, channels, places) */
};

/* Per dimension: `taps` weights and indices around each place, (batch, points). */
struct stencil {
    int taps;
    struct node *weight[STENCIL_MOST_DIMS][STENCIL_MOST_TAPS];
    int64_t *index[STENCIL_MOST_DIMS][STENCIL_MOST_TAPS];
    /* In a model of linear sampling: how far into its cell a place lies, which is the weight of one tap and 1 less it that of the other,
     * and the places that may lie in two cells; else NULL. */
    struct node *into[STENCIL_MOST_DIMS], *borders[STENCIL_MOST_DIMS];
};

/* The index of a place, far outside when the place is no number or too large. */
int64_t stencil_index(double at);

/* x at the indices index[dim][point]: a node of the result's shape. */
struct node *stencil_gathered(const struct sampled *s, int64_t *const *index);

/* (batch, points) -> (batch, 1, result's spatial shape). */
struct node *stencil_over_channels(const struct sampled *s, struct node *w);

struct node *stencil_sum(const struct sampled *s, const struct stencil *stencil);

/* The cell of each place and how far into it the place lies. */
struct node *stencil_cell(const struct sampled *s, struct node *at, struct node **cell);

/* The taps of linear sampling along dimension d at places `at`. Kernels compute these with an error of up to `width`,
 * so that a model knows no slope where one of the places `unclipped` is so close to an input's, where the slope jumps,
 * and has the inputs of both cells. */
void stencil_linear(const struct sampled *s, struct stencil *stencil, int d, struct node *at,
                    const double *unclipped, double width);

#endif
