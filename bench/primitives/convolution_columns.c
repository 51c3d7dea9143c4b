/* A table of the pixels that each tap reads. */
#include "bench/primitives/convolution_columns.h"

/* Along dimension d: the pixel that output index o reads at tap index k, or -1 in the padding. */
static int64_t pixel_along(const struct convolution_geometry *g, int d, int64_t o, int64_t k)
{
    int64_t i = o * g->stride[d] - g->padding[d] + k * g->dilation[d];
    return i >= 0 && i < g->x[2 + d] ? i : -1;
}

/* Input positions read at one tap by all output points, or -1 in the padding. */
static void map_tap(int64_t *pixel, const struct convolution_geometry *g, int64_t tap)
{
    const int64_t *x = g->x + 2, *y = g->y + 2, *w = g->w + 2;
    const int64_t k[3] = { tap / w[2] / w[1], tap / w[2] % w[1], tap % w[2] };
    for (int64_t a = 0; a < y[0]; a++)
        for (int64_t b = 0; b < y[1]; b++) {
            int64_t i = pixel_along(g, 0, a, k[0]), j = pixel_along(g, 1, b, k[1]);
            int64_t row = i < 0 || j < 0 ? -1 : (i * x[1] + j) * x[2];
            for (int64_t c = 0; c < y[2]; c++) {
                int64_t column = pixel_along(g, 2, c, k[2]);
                *pixel++ = row < 0 || column < 0 ? -1 : row + column;
            }
        }
}

int64_t *convolution_pixel_map(struct tape *tape, const struct convolution *c)
{
    int64_t *map = tape_allocate(tape, c->taps * c->points, sizeof *map);
    for (size_t tap = 0; map && tap < c->taps; tap++)
        map_tap(map + tap * c->points, &c->g, (int64_t)tap);
    return map;
}

bool convolution_reads_floats(const struct node *x)
{
    return x->source && !x->value && !x->integer && !x->deferral && x->dtype == DT_F32;
}
