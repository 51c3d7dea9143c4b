/* Position-sensitive pooling of regions (npu_ps_roi_pooling; Dai et al., R-FCN, 2016), by the test of op-plugin (test_ps_roi_pooling.py) and CANN's kernel
 * (impl/p_s_r_o_i_pooling_v2.py).
 *
 * Cell (i, j) of group_size x group_size in a region is the mean of channel (c group_size + i) group_size + j over the pixels that the cell
 * touches. Corners are rounded to pixels, the second one lies one pixel farther, and a region is 0.1 wide at least, all in units of the map.
 *
 * A kernel takes floor and ceil of k width / group_size + start in the dtype of the map. In the last cell of nearly every region that is a whole
 * number but for rounding, which decides there whether a row or column of pixels counts: what the device's result fits best is taken, and without
 * one the whole number. */
#include <math.h>

#include "bench/call/op.h"
#include "bench/primitives/alias.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/complex_functions.h"
#include "bench/primitives/gather.h"
#include "bench/primitives/reduce.h"

enum { MOST_GATHERED = 50000000 };

/* Pixels first <= i < end of a cell in one direction, where rounding leaves it open the other ends. */
struct span {
    int64_t first[2], end[2]; /* [0]: taken without a device */
};

struct pooling {
    struct call *call;
    const struct node *rois; /* (batch, 5, each) */
    int64_t image[4];        /* batch, channels, height, width */
    int64_t regions, group, channels;
    double scale, unit; /* spatial_scale; of the roundings of a kernel */
    const double *x, *device;
};

static double roi_value(const struct pooling *p, const double *rois, int64_t region, int k)
{
    int64_t each = p->rois->shape[2];
    return rois[(region / each * 5 + k) * each + region % each];
}

/* ---- cells ------------------------------------------------------------------------------------------------------- */

static int64_t clipped(double at, int64_t size) { return (int64_t)fmin(fmax(at, 0), (double)size); }

/* Cell k of a region from pixel `low` to `high`, in a map of `size`. */
static bool span_of(const struct pooling *p, double low, double high, int64_t k, int64_t size,
                    struct span *out)
{
    double start = floor(low + 0.5) * p->scale, end = (floor(high + 0.5) + 1) * p->scale;
    double width = fmax(end - start, 0.1) / (double)p->group, from = (double)k * width + start,
           to = (double)(k + 1) * width + start;
    double slack = p->unit * (2 * start + end + 3 * (to - start) + to); /* of six steps */
    if (!call_require(p->call, low >= 0 && high >= 0 && slack < 0.5 && to < 0x1p31,
                      "a region from %g to %g is not followed here", low, high))
        return false;
    double near = nearbyint(from), far = nearbyint(to);
    bool open = fabs(from - near) <= slack, ends_open = fabs(to - far) <= slack;
    out->first[0] = clipped(open ? near : floor(from), size);
    out->first[1] = clipped(open ? near - 1 : floor(from), size);
    out->end[0] = clipped(ends_open ? far : ceil(to), size);
    out->end[1] = clipped(ends_open ? far + 1 : ceil(to), size);
    return true;
}

static double mean_of(const double *plane, int64_t columns, const int64_t rectangle[4])
{
    double sum = 0, area = (double)((rectangle[1] - rectangle[0]) * (rectangle[3] - rectangle[2]));
    if (rectangle[1] <= rectangle[0] || rectangle[3] <= rectangle[2]) return 0;
    for (int64_t i = rectangle[0]; i < rectangle[1]; i++)
        for (int64_t j = rectangle[2]; j < rectangle[3]; j++) sum += plane[i * columns + j];
    return sum / area;
}

static const double *plane_of(const struct pooling *p, int64_t image, int64_t channel, int64_t cell)
{
    int64_t place = image * p->image[1] + channel * p->group * p->group + cell;
    return p->x + place * p->image[2] * p->image[3];
}

/* rows.first, rows.end, columns.first, columns.end: of 16 choices that which fits the device best in all channels. */
static void choose(const struct pooling *p, const struct span s[2], int64_t region, int64_t image,
                   int64_t cell, int64_t rectangle[4])
{
    double least = INFINITY;
    for (int k = 0; k < (p->device ? 16 : 1); k++) {
        const int64_t one[4] = { s[0].first[k & 1], s[0].end[k >> 1 & 1], s[1].first[k >> 2 & 1],
                                 s[1].end[k >> 3] };
        double off = 0;
        for (int64_t c = 0; p->device && c < p->channels; c++) {
            double want = mean_of(plane_of(p, image, c, cell), p->image[3], one),
                   got = p->device[(region * p->channels + c) * p->group * p->group + cell];
            off += isnan(want) && isnan(got) ? 0 : fabs(want - got);
        }
        if (k && !(off < least)) continue;
        least = isnan(off) ? INFINITY : off;
        for (int i = 0; i < 4; i++) rectangle[i] = one[i];
    }
}

/* ---- the mean ---------------------------------------------------------------------------------------------------- */

/* The pixels of every cell, (regions, group^2, 4), and of how many pixels the largest is; -1 after a failure. */
static int64_t find_cells(struct pooling *p, const double *rois, int64_t *rectangles,
                          int64_t *images)
{
    int64_t most = 1;
    for (int64_t r = 0; r < p->regions; r++) {
        double number = trunc(roi_value(p, rois, r, 0));
        bool exists = number >= 0 && number < (double)p->image[0];
        images[r] = exists ? (int64_t)number : 0;
        for (int64_t cell = 0; cell < p->group * p->group; cell++) {
            int64_t *own = rectangles + (r * p->group * p->group + cell) * 4;
            struct span s[2];
            for (int d = 0; d < 2; d++)
                if (!span_of(p, roi_value(p, rois, r, 2 - d), roi_value(p, rois, r, 4 - d),
                             d == 0 ? cell / p->group : cell % p->group, p->image[2 + d], &s[d]))
                    return -1;
            choose(p, s, r, images[r], cell, own);
            if (own[1] <= own[0] || own[3] <= own[2]) continue;
            if (!call_require(p->call, exists, "a region of image %g of %lld", number,
                              (long long)p->image[0]))
                return -1;
            int64_t area = (own[1] - own[0]) * (own[3] - own[2]);
            most = area > most ? area : most;
        }
    }
    return most;
}

/* Places of the pixels of every result, -1 behind the last, and how many there are (1 where there is none). */
static void map_pixels(const struct pooling *p, const int64_t *rectangles, const int64_t *images,
                       int64_t most, int64_t *map, double *area)
{
    int64_t cells = p->group * p->group;
    for (int64_t r = 0; r < p->regions; r++)
        for (int64_t c = 0; c < p->channels; c++)
            for (int64_t cell = 0; cell < cells; cell++, area++) {
                const int64_t *own = rectangles + (r * cells + cell) * 4;
                int64_t first = plane_of(p, images[r], c, cell) - p->x, count = 0;
                for (int64_t i = own[0]; i < own[1]; i++)
                    for (int64_t j = own[2]; j < own[3]; j++)
                        map[count++] = first + i * p->image[3] + j;
                *area = count ? (double)count : 1;
                while (count < most) map[count++] = -1;
                map += most;
            }
}

static void ps_roi_pooling(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "x"), *rois = call_tensor(call, "rois");
    struct pooling p = { .call = call,
                         .rois = rois,
                         .group = call_int(call, "group_size"),
                         .channels = call_int(call, "output_dim"),
                         .scale = (double)(float)call_real(call, "spatial_scale"),
                         .unit = dtype_ulp(x->dtype == DT_F16 ? DT_F16 : DT_F32, 1) / 2 };
    if (!call_require(call,
                      x->rank == 4 && !x->integer && !x->imaginary && rois->rank == 3 &&
                          rois->shape[1] == 5 && !rois->integer && p.scale > 0,
                      "a map (n, c, h, w) and regions (n, 5, each) are needed") ||
        !call_require(
            call,
            p.group >= 1 && p.group < 128 && p.channels >= 1 && x->n && rois->n &&
                p.channels <= x->shape[1] && x->shape[1] == p.channels * p.group * p.group,
            "the map has a channel for each cell of each of %lld results", (long long)p.channels))
        return;
    p.regions = rois->shape[0] * rois->shape[2];
    for (int d = 0; d < 4; d++) p.image[d] = x->shape[d];
    int64_t cells = p.group * p.group, results = p.regions * p.channels * cells;
    struct node *device = call_device_numbers(call, 0, (size_t)results);
    const double *corner = node_values(tape, rois);
    p.x = node_values(tape, x);
    p.device = device && !device->integer ? device->value : NULL;
    int64_t *rectangles = tape_allocate(tape, (size_t)(p.regions * cells * 4), sizeof *rectangles),
            *images = tape_allocate(tape, (size_t)p.regions, sizeof *images);
    if (tape_failed(tape)) return;
    int64_t most = find_cells(&p, corner, rectangles, images);
    if (most < 0 || !call_require(call, most <= MOST_GATHERED / results,
                                  "cells of up to %lld pixels are too large", (long long)most))
        return;
    int64_t shape[5] = { p.regions, p.channels, p.group, p.group, most };
    int64_t *map = tape_allocate(tape, (size_t)(results * most), sizeof *map);
    struct node *area = node_new_real(tape, DT_NONE, 4, shape);
    if (tape_failed(tape)) return;
    map_pixels(&p, rectangles, images, most, map, area->value);
    struct node *pixels = node_gather(tape, x, 5, shape, map, 0),
                *sum = node_sum(tape, pixels, 1u << 4, false);
    if (x->dtype == DT_F16) { /* added in float16 */
        struct node *sizes = node_sum(tape, node_magnitude(tape, pixels), 1u << 4, false);
        double steps = tape_is_typical(tape) ? 4 * sqrt((double)most) : (double)most;
        sum = node_model_error(tape, sum, sizes, steps * p.unit / 0x1p-24);
    }
    call_return_typed(call, node_divide(tape, sum, area), x->dtype);
}

/* clang-format off */
const struct op ops_npu_position_regions[] = {
    { "npu_ps_roi_pooling", NPU, "(Tensor x, Tensor rois, float spatial_scale, int group_size, int output_dim)", ps_roi_pooling, OP_ONE_NODE, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(npu_position_regions);
