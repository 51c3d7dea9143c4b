/* What a convolution over up to three spatial dimensions is, and where its elements are. */
#ifndef PROBE_BENCH_PRIMITIVES_CONVOLUTION_SIZES_H
#define PROBE_BENCH_PRIMITIVES_CONVOLUTION_SIZES_H

#include <stddef.h>
#include <stdint.h>

/* Cross-correlation over up to three spatial dimensions, and its two adjoints. */
enum convolution_role { CONVOLVE, CONVOLVE_INPUT_ADJOINT, CONVOLVE_WEIGHT_ADJOINT };
struct convolution_geometry {
    int64_t stride[3], padding[3], dilation[3]; /* spatial; unused leading ones 1, 0, 1 */
    int64_t groups;
    /* The full problem, all 5-D: x (n, c, d, h, w), w (k, c/groups, kd, kh, kw), y (n, k, ...) */
    int64_t x[5], w[5], y[5];
};

struct convolution {
    enum convolution_role role;
    struct convolution_geometry g;
    size_t images, groups;
    size_t channels, filters; /* per group */
    size_t taps;              /* kernel positions */
    size_t points;            /* output positions of one image */
    size_t pixels;            /* input positions of one image and channel */
    /* Once they are known, of exact operands: norms of the lines of W, of the adjoint of W those of Y, and of the other factor, for
     * each image and group; and of an adjoint of the input the sums of the magnitudes that are folded. Or NULL. */
    double *first_norms, *second_norms, *magnitudes;
};

static inline size_t depth_of(const struct convolution *c) { return c->channels * c->taps; }

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

#endif
