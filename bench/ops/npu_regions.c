/* Regions of feature maps, pooled: by the documentation of torch_npu, its examples and the published reference of CANN's
 * operator. Regions are given by their corners in the image; a cell's samples lie evenly in it. Their ends are taken as
 * they are (mode 0, as Detectron does), a pixel farther (1), or all corners half a pixel lower (2 and 3, as mmcv does);
 * regions of the first two kinds are 1 wide at least.
 */
#include <math.h>

#include "bench/call/op.h"
#include "bench/ops/pullback.h"
#include "bench/primitives/alias.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/gather.h"
#include "bench/primitives/integral.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/reduce.h"
#include "bench/primitives/selection.h"
#include "bench/primitives/view.h"

enum end_mode { END_PLAIN, END_ONE_FARTHER, END_SHIFTED };
enum { MOST_SAMPLES = 64 };

struct regions {
    struct call *call;
    struct tape *tape;
    struct node *rois; /* (n, 5): image, x0, y0, x1, y1 */
    int64_t image[4];  /* batch, channels, height, width */
    int64_t pooled[2]; /* height, width */
    int64_t samples;   /* of a cell, in each direction; 0: as many as the cell is wide */
    double scale;
    enum end_mode mode;
};

/* The samples of every region in direction d (0: y): (n, pooled * most) places. */
struct samples {
    int64_t most;           /* of a cell; regions with fewer leave the rest out */
    struct node *count;     /* of a cell of each region, (n, 1) */
    struct node *weight[2]; /* of the rows or columns beside each place */
    int64_t *index[2];      /* -1: outside of the map, or left out */
};

static struct node *corner(const struct regions *r, int k)
{
    return node_slice(r->tape, r->rois, 1, k, 1, 1);
}

/* Where regions begin in direction d, and how far they reach, (n, 1) each. */
static void extent_of(const struct regions *r, int d, struct node **start, struct node **length)
{
    struct tape *tape = r->tape;
    struct node *end = node_scale(tape, corner(r, 4 - d), r->scale);
    *start = node_scale(tape, corner(r, 2 - d), r->scale);
    if (r->mode == END_ONE_FARTHER) end = node_offset(tape, end, r->scale);
    *length = node_subtract(tape, end, *start);
    if (r->mode == END_SHIFTED) {
        *start = node_offset(tape, *start, -0.5);
        return;
    }
    struct node *one = node_scalar(tape, 1);
    *length = node_select(tape, node_compare(tape, COMPARE_GE, *length, one), *length, one);
}

/* How many samples a cell takes: as many as it is wide, where the call leaves that open. */
static bool count_samples(const struct regions *r, struct node *cell, struct samples *out)
{
    const double *width = node_values(r->tape, cell);
    out->count = node_new_real(r->tape, DT_NONE, 2, cell->shape);
    out->most = 0;
    if (tape_failed(r->tape)) return false;
    for (size_t i = 0; i < cell->n; i++) {
        double near = nearbyint(width[i]), count = ceil(width[i]);
        /* A cell exactly as wide as a number of pixels is so in a kernel too: it comes of sums and products that are exact
         * there, and one division. One of next to no width may be of none. */
        if (!call_require(r->call,
                          r->samples > 0 || width[i] == near ||
                              fabs(width[i] - near) > 0x1p-20 * fabs(near) + 0x1p-126,
                          "the number of samples in a cell depends on rounding"))
            return false;
        if (r->samples > 0) count = (double)r->samples;
        if (!call_require(r->call, count <= MOST_SAMPLES, "more than %d samples in a cell",
                          MOST_SAMPLES))
            return false;
        out->count->value[i] = fmax(count, 0);
        out->most = count > (double)out->most ? (int64_t)count : out->most;
    }
    return call_require(r->call, out->most >= 1, "no region has samples");
}

/* In units of a cell: (k + 1/2) / count for sample k of each, (n, pooled * most). */
static struct node *cell_steps(const struct regions *r, int d, const struct samples *s)
{
    struct tape *tape = r->tape;
    int64_t n = s->count->shape[0], of_cell[3] = { n, r->pooled[d], s->most };
    struct node *half = node_new_real(tape, DT_NONE, 3, (int64_t[]){ 1, 1, s->most }),
                *cell = node_new_real(tape, DT_NONE, 3, (int64_t[]){ 1, r->pooled[d], 1 });
    struct node *count = node_new_real(tape, DT_NONE, 3, (int64_t[]){ n, 1, 1 });
    if (tape_failed(tape)) return tape_failure(tape);
    for (int64_t k = 0; k < s->most; k++) half->value[k] = (double)k + 0.5;
    for (int64_t k = 0; k < r->pooled[d]; k++) cell->value[k] = (double)k;
    for (int64_t k = 0; k < n; k++) count->value[k] = fmax(s->count->value[k], 1);
    struct node *steps = node_add(tape, cell, node_divide(tape, half, count));
    steps = node_broadcast(tape, steps, 3, of_cell);
    return node_reshape(tape, steps, 2, (int64_t[]){ n, r->pooled[d] * s->most });
}

/* The rows or columns beside each place, start (n, 1) + step, and their weights. A sample beyond the map by more than 1 is 0; nearer it is
 * that of the border. */
static bool find_neighbours(const struct regions *r, int d, struct node *start, struct node *step,
                            struct samples *out)
{
    struct tape *tape = r->tape;
    struct node *at = node_add(tape, start, step);
    const double *place = node_values(tape, at), *from = node_values(tape, start),
                 *by = node_values(tape, step);
    struct node *low = node_new_real(tape, DT_NONE, 2, at->shape),
                *inner = node_new_integer(tape, DT_BOOL, 2, at->shape);
    for (int k = 0; k < 2; k++) out->index[k] = tape_allocate(tape, at->n, sizeof(int64_t));
    if (tape_failed(tape)) return false;
    double size = (double)r->image[2 + d];
    for (size_t i = 0; i < at->n; i++) {
        int64_t row = (int64_t)i / at->shape[1], k = (int64_t)i % out->most;
        double rounding = 16 * 0x1p-24 * (size + 1 + fabs(from[row]) + fabs(by[i]));
        bool taken = (double)k < out->count->value[row];
        if (!call_require(r->call,
                          !taken || (isfinite(place[i]) && fabs(place[i] + 1) > rounding &&
                                     fabs(place[i] - size) > rounding),
                          "a sample lies where the map ends, within rounding"))
            return false;
        bool outside = !taken || place[i] < -1 || place[i] > size;
        double below = floor(fmin(fmax(place[i], 0), size - 1));
        inner->integer[i] = place[i] > 0 && place[i] < size - 1;
        low->value[i] = inner->integer[i] ? below : 0;
        out->index[0][i] = outside ? -1 : (int64_t)below;
        out->index[1][i] = outside ? -1 : (int64_t)fmin(below + 1, size - 1);
    }
    out->weight[1] = node_select(tape, inner, node_subtract(tape, at, low), node_scalar(tape, 0));
    out->weight[0] = node_subtract(tape, node_scalar(tape, 1), out->weight[1]);
    return !tape_failed(tape);
}

static bool find_samples(const struct regions *r, int d, struct samples *out)
{
    struct tape *tape = r->tape;
    struct node *start, *length;
    extent_of(r, d, &start, &length);
    struct node *cell = node_divide(tape, length, node_scalar(tape, (double)r->pooled[d]));
    if (!count_samples(r, cell, out)) return false;
    struct node *steps = node_multiply(tape, cell_steps(r, d, out), cell);
    return find_neighbours(r, d, start, steps, out);
}

/* Which image each region is of, -1 where there is none of that number. */
static bool find_images(const struct regions *r, int64_t *image)
{
    const double *rows = node_values(r->tape, r->rois);
    for (int64_t i = 0; !tape_failed(r->tape) && i < r->rois->shape[0]; i++) {
        double number = trunc(rows[5 * i]);
        image[i] = number >= 0 && number < (double)r->image[0] ? (int64_t)number : -1;
    }
    return !tape_failed(r->tape);
}

/* Map entries of the inputs on side `a` in y and `b` in x of every sample: (n, channels, rows, columns). */
static void map_inputs(const struct regions *r, const struct samples *s, int a, int b,
                       const int64_t *image, int64_t *map)
{
    int64_t rows = r->pooled[0] * s[0].most, columns = r->pooled[1] * s[1].most;
    for (int64_t i = 0; i < r->rois->shape[0]; i++)
        for (int64_t c = 0; c < r->image[1]; c++) {
            int64_t plane = (image[i] * r->image[1] + c) * r->image[2];
            for (int64_t y = 0; y < rows; y++)
                for (int64_t x = 0; x < columns; x++) {
                    int64_t row = s[0].index[a][i * rows + y],
                            column = s[1].index[b][i * columns + x];
                    *map++ = row < 0 || column < 0 || image[i] < 0
                                 ? -1
                                 : (plane + row) * r->image[3] + column;
                }
        }
}

/* The mean of the samples of each cell; 0 where there are none. */
static struct node *region_align(const struct regions *r, struct node *x)
{
    struct tape *tape = r->tape;
    struct samples s[2];
    int64_t n = r->rois->shape[0], *image = tape_allocate(tape, (size_t)n, sizeof *image);
    if (!image || !find_images(r, image)) return x;
    for (int d = 0; d < 2; d++)
        if (!find_samples(r, d, &s[d])) return x;
    int64_t rows = r->pooled[0] * s[0].most, columns = r->pooled[1] * s[1].most;
    int64_t shape[4] = { n, r->image[1], rows, columns };
    struct node *sum = NULL;
    for (int k = 0; k < 4; k++) {
        int64_t along[4] = { n, 1, rows, 1 }, across[4] = { n, 1, 1, columns };
        int64_t *map = tape_allocate(tape, (size_t)(n * r->image[1] * rows * columns), sizeof *map);
        if (!map) return x;
        map_inputs(r, s, k / 2, k % 2, image, map);
        struct node *weight = node_multiply(tape, node_reshape(tape, s[0].weight[k / 2], 4, along),
                                            node_reshape(tape, s[1].weight[k % 2], 4, across));
        struct node *term = node_multiply(tape, node_gather(tape, x, 4, shape, map, 0), weight);
        sum = sum ? node_add(tape, sum, term) : term;
    }
    int64_t cells[6] = { n, r->image[1], r->pooled[0], s[0].most, r->pooled[1], s[1].most };
    int64_t each[4] = { n, 1, 1, 1 };
    sum = node_sum(tape, node_reshape(tape, sum, 6, cells), 1u << 3 | 1u << 5, false);
    struct node *count = node_multiply(tape, s[0].count, s[1].count), *one = node_scalar(tape, 1);
    count = node_select(tape, node_compare(tape, COMPARE_GE, count, one), count, one);
    return node_divide(tape, sum, node_reshape(tape, count, 4, each));
}

/* The regions' part of the arguments. */
static bool read_regions(struct call *call, struct regions *r)
{
    r->call = call;
    r->tape = call->tape;
    r->rois = node_detach(call->tape, call_tensor(call, "rois"));
    r->scale = call_real(call, "spatial_scale");
    r->samples = call_int(call, "sample_num");
    int64_t mode = call_is_none(call, "roi_end_mode") ? -1 : call_int(call, "roi_end_mode");
    r->mode = mode > 1 ? END_SHIFTED : (enum end_mode)mode;
    r->pooled[0] = call_int(call, "pooled_height");
    r->pooled[1] = call_int(call, "pooled_width");
    return call_require(call,
                        r->rois->rank == 2 && r->rois->shape[1] == 5 && !r->rois->integer &&
                            r->rois->shape[0] >= 1 && r->pooled[0] >= 1 && r->pooled[1] >= 1 &&
                            r->pooled[0] <= 1024 && r->pooled[1] <= 1024 &&
                            r->samples <= MOST_SAMPLES && r->scale > 0,
                        "regions (n, 5) and how they are pooled are needed") &&
           call_require(call, mode >= 0 && mode <= 3, "roi_end_mode must be 0, 1, 2 or 3");
}

static void roi_align(struct call *call)
{
    struct regions r;
    struct node *x = call_tensor(call, "self");
    if (!read_regions(call, &r) ||
        !call_require(call, x->rank == 4 && !x->integer && x->n, "a map (n, c, h, w) is needed"))
        return;
    for (int d = 0; d < 4; d++) r.image[d] = x->shape[d];
    call_return_typed(call, region_align(&r, x), x->dtype);
}

/* The gradient for a map of shape xdiff_shape. It is linear in the map, whose values do not matter. */
static void roi_align_backward(struct call *call)
{
    struct regions r;
    struct tape *tape = call->tape;
    struct node *grad = call_tensor(call, "self");
    if (!read_regions(call, &r) ||
        !call_require(call,
                      call_ints(call, "xdiff_shape", r.image, 4) == 4 && r.image[0] >= 1 &&
                          r.image[1] >= 1 && r.image[2] >= 1 && r.image[3] >= 1,
                      "the shape (n, c, h, w) of the map is needed") ||
        !call_require(call,
                      grad->rank == 4 && !grad->integer && grad->shape[0] == r.rois->shape[0] &&
                          grad->shape[1] == r.image[1] && grad->shape[2] == r.pooled[0] &&
                          grad->shape[3] == r.pooled[1],
                      "a gradient of the regions' shape is needed"))
        return;
    struct node *x = node_tracked_zero(tape, grad->dtype, 4, r.image);
    call_return_typed(call, call_gradient(call, region_align(&r, x), grad, x), grad->dtype);
}

/* clang-format off */
const struct op ops_npu_regions[] = {
    { "npu_roi_align", NPU, "(Tensor self, Tensor rois, float spatial_scale, int pooled_height, int pooled_width, int sample_num, int roi_end_mode)", roi_align, OP_ONE_NODE, 0, NULL },
    { "npu_roi_alignbk", NPU, "(Tensor self, Tensor rois, int[] xdiff_shape, int pooled_width, int pooled_height, float spatial_scale, int sample_num, int? roi_end_mode=None)", roi_align_backward, OP_NO_GRADIENT, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(npu_regions);
