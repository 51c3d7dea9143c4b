/* The sizes of a convolution, where its elements are, and the values and bounds of one. */
#ifndef PROBE_BENCH_PRIMITIVES_CONVOLUTION_PRODUCTS_H
#define PROBE_BENCH_PRIMITIVES_CONVOLUTION_PRODUCTS_H

#include "bench/primitives/convolution.h"

struct convolution {
    enum convolution_role role;
    struct convolution_geometry g;
    size_t images, groups;
    size_t channels, filters; /* per group */
    size_t taps;              /* kernel positions */
    size_t points;            /* output positions of one image */
    size_t pixels;            /* input positions of one image and channel */
};

/* The three arrays of one image and group inside their tensors. */
static inline size_t x_start(const struct convolution *c, size_t image, size_t group)
{
    return (image * c->groups + group) * c->channels * c->pixels;
}

static inline size_t y_start(const struct convolution *c, size_t image, size_t group)
{
    return (image * c->groups + group) * c->filters * c->points;
}

static inline size_t w_start(const struct convolution *c, size_t group)
{
    return group * c->filters * c->channels * c->taps;
}

/* Make the values and bounds of `node`, whose inputs are those of its role. Failure is the tape's. */
void convolution_evaluate(struct tape *tape, struct node *node, const struct convolution *c);

#endif
