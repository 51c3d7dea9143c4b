/* Overlaps of pairs of boxes that losses of detectors are made of, boxes turned by an angle, the cells that answer for
 * boxes, and anchors; by op-plugin's documentation, its examples and the references of torch_npu's tests. */
#include <math.h>

#include "bench/call/op.h"
#include "bench/ops/boxes.h"
#include "bench/ops/operands.h"
#include "bench/primitives/alias.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/integral.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/selection.h"
#include "bench/primitives/stated_gradient.h"
#include "bench/primitives/unary.h"
#include "bench/primitives/view.h"

/* ---- pairs of boxes ------------------------------------------------------------------------------------------- */

enum overlap { OVERLAP_GENERAL, OVERLAP_DISTANCE, OVERLAP_COMPLETE };

/* Row k of boxes (4, n), as (1, n). */
static struct node *row(struct tape *tape, struct node *boxes, int k)
{
    return node_slice(tape, boxes, 0, k, 1, 1);
}

/* Of columns [x1, y1, x2, y2], or `centred` [centre x, centre y, width, height]. */
static struct corners columns_of(struct tape *tape, struct node *boxes, bool centred)
{
    struct corners c;
    for (int d = 0; d < 2; d++) {
        c.low[d] = row(tape, boxes, d);
        c.high[d] = row(tape, boxes, d + 2);
        if (centred) {
            struct node *half = node_scale(tape, c.high[d], 0.5);
            c.high[d] = node_add(tape, c.low[d], half);
            c.low[d] = node_subtract(tape, c.low[d], half);
        }
        c.size[d] = node_subtract(tape, c.high[d], c.low[d]);
    }
    return c;
}

/* The extent of what encloses both boxes in direction d. */
static struct node *enclosing(struct tape *tape, const struct corners *a, const struct corners *b,
                              int d)
{
    return node_subtract(tape, box_larger(tape, a->high[d], b->high[d]),
                         box_smaller(tape, a->low[d], b->low[d]));
}

static struct node *squared(struct tape *tape, struct node *x) { return node_multiply(tape, x, x); }

/* The square of the distance of the centres over that of the diagonal of what encloses both. */
static struct node *centre_distance(struct tape *tape, const struct corners *a,
                                    const struct corners *b, double eps)
{
    struct node *distance = node_scalar(tape, 0), *diagonal = node_scalar(tape, eps);
    for (int d = 0; d < 2; d++) {
        struct node *shift = node_subtract(tape, node_add(tape, b->low[d], b->high[d]),
                                           node_add(tape, a->low[d], a->high[d]));
        distance = node_add(tape, distance, squared(tape, node_scale(tape, shift, 0.5)));
        diagonal = node_add(tape, diagonal, squared(tape, enclosing(tape, a, b, d)));
    }
    return node_divide(tape, distance, diagonal);
}

/* v v / (1 + eps - iou + v) with v = (2 / pi (angle of one box's sides - the other's))^2. The factor v / (...) has no
 * gradient of its own. */
static struct node *shape_difference(struct tape *tape, const struct corners *a,
                                     const struct corners *b, struct node *iou, double eps)
{
    struct node *angle[2];
    const struct corners *box[2] = { a, b };
    for (int k = 0; k < 2; k++)
        angle[k] = node_apply(tape, "atan", node_divide(tape, box[k]->size[0], box[k]->size[1]));
    struct node *turn = node_divide(tape, node_subtract(tape, angle[1], angle[0]), node_pi(tape));
    struct node *v = squared(tape, node_scale(tape, turn, 2));
    struct node *below = node_add(tape, node_subtract(tape, node_scalar(tape, 1 + eps), iou), v);
    struct node *factor = node_divide(tape, v, below);
    struct node *value = node_multiply(tape, v, factor);
    return node_straight_through(tape, value, node_multiply(tape, v, node_detach(tape, factor)));
}

/* Of every box with its ground truth: iou less the part of the enclosing box that neither fills (general), less the
 * distance of the centres (distance), less that and the difference of shapes (complete). */
static void pair_overlap(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *boxes = call_tensor(call, "self"), *truth = call_tensor(call, "gtboxes");
    enum overlap kind = (enum overlap)call->op->detail;
    double eps = kind == OVERLAP_GENERAL ? 1e-16 : 1e-9;
    if (!call_require(call,
                      boxes->rank == 2 && truth->rank == 2 && boxes->shape[0] == 4 &&
                          truth->shape[0] == 4 && boxes->shape[1] == truth->shape[1] &&
                          !boxes->integer && !truth->integer && boxes->n,
                      "four rows of floats, and as many boxes as ground truths, are needed") ||
        !call_require(call, !call_bool(call, "is_cross") && call_int(call, "mode") == 0,
                      "only pairs, by their union, are followed here"))
        return;
    bool centred = call_bool(call, "trans");
    struct corners a = columns_of(tape, boxes, centred), b = columns_of(tape, truth, centred);
    if (kind != OVERLAP_GENERAL) {
        a.size[1] = node_offset(tape, a.size[1], eps);
        b.size[1] = node_offset(tape, b.size[1], eps);
    }
    struct node *overlap =
        node_multiply(tape, box_shared(tape, &a, &b, 0), box_shared(tape, &a, &b, 1));
    struct node *both = node_add(tape, node_multiply(tape, a.size[0], a.size[1]),
                                 node_multiply(tape, b.size[0], b.size[1]));
    struct node *whole = node_offset(tape, node_subtract(tape, both, overlap), eps);
    struct node *y = node_divide(tape, overlap, whole), *iou = y;
    if (kind == OVERLAP_GENERAL) {
        struct node *outer =
            node_multiply(tape, enclosing(tape, &a, &b, 0), enclosing(tape, &a, &b, 1));
        y = node_subtract(tape, y, node_divide(tape, node_subtract(tape, outer, whole), outer));
        y = node_transpose(tape, y, 0, 1);
    } else {
        y = node_subtract(tape, y, centre_distance(tape, &a, &b, eps));
        if (kind == OVERLAP_COMPLETE)
            y = node_subtract(tape, y, shape_difference(tape, &a, &b, iou, eps));
    }
    call_return_typed(call, y, boxes->dtype);
}

/* ---- turned boxes ----------------------------------------------------------------------------------------------- */

/* Number k of boxes (batch, 5, n). */
static struct node *number(struct tape *tape, struct node *boxes, int k)
{
    return node_slice(tape, boxes, 1, k, 1, 1);
}

static bool are_turned_boxes(struct call *call, struct node *const *x, struct node *weight)
{
    bool fits = true, plain = weight->n == 5;
    for (int k = 0; k < 2; k++)
        fits = fits && x[k]->rank == 3 && x[k]->shape[1] == 5 && !x[k]->integer &&
               x[k]->shape[0] == x[0]->shape[0] && x[k]->shape[2] == x[0]->shape[2];
    const double *value = weight->integer ? NULL : node_values(call->tape, weight);
    for (size_t i = 0; plain && value && i < weight->n; i++) plain = value[i] == 1;
    return call_require(call, fits, "boxes (batch, 5, n) and as many others are needed") &&
           call_require(call, plain && value, "only weights of 1 are followed here");
}

/* Centre and extent in direction d of boxes [x1, y1, x2, y2, angle]. */
static void turned_centre(struct tape *tape, struct node *boxes, int d, struct node **centre,
                          struct node **size)
{
    struct node *low = number(tape, boxes, d), *high = number(tape, boxes, d + 2);
    *centre = node_scale(tape, node_add(tape, low, high), 0.5);
    *size = node_subtract(tape, high, low);
}

static struct node *tangent(struct tape *tape, struct node *degrees)
{
    return node_apply(tape, "tan", node_apply(tape, "deg2rad", degrees));
}

/* (centre difference / extent of the anchor, logarithm of the ratio of extents, difference of the tangents). */
static void rotated_box_encode(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x[2] = { call_tensor(call, "self"), call_tensor(call, "gt_bboxes") }, *part[5];
    if (!are_turned_boxes(call, x, call_tensor(call, "weight"))) return;
    for (int d = 0; d < 2; d++) {
        struct node *centre[2], *size[2];
        for (int k = 0; k < 2; k++) turned_centre(tape, x[k], d, &centre[k], &size[k]);
        part[d] = node_divide(tape, node_subtract(tape, centre[1], centre[0]), size[0]);
        part[d + 2] = node_apply(tape, "log", node_divide(tape, size[1], size[0]));
    }
    part[4] = node_subtract(tape, tangent(tape, number(tape, x[1], 4)),
                            tangent(tape, number(tape, x[0], 4)));
    call_return_typed(call, node_concatenate(tape, part, 5, 1), x[0]->dtype);
}

/* The inverse. */
static void rotated_box_decode(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x[2] = { call_tensor(call, "self"), call_tensor(call, "deltas") }, *part[5];
    if (!are_turned_boxes(call, x, call_tensor(call, "weight"))) return;
    for (int d = 0; d < 2; d++) {
        struct node *centre, *size;
        turned_centre(tape, x[0], d, &centre, &size);
        centre = node_add(tape, centre, node_multiply(tape, size, number(tape, x[1], d)));
        size = node_multiply(tape, size, node_apply(tape, "exp", number(tape, x[1], d + 2)));
        size = node_scale(tape, size, 0.5);
        part[d] = node_subtract(tape, centre, size);
        part[d + 2] = node_add(tape, centre, size);
    }
    struct node *sum = node_add(tape, tangent(tape, number(tape, x[0], 4)), number(tape, x[1], 4));
    part[4] = node_apply(tape, "rad2deg", node_apply(tape, "atan", sum));
    call_return_typed(call, node_concatenate(tape, part, 5, 1), x[0]->dtype);
}

/* ---- cells of a feature map --------------------------------------------------------------------------------------- */

/* 1 for each of the num_base_anchors anchors of a cell in which the centre of a box lies: cells (height, width), in x
 * stride[0] wide and in y stride[1] high, from centres rounded to float32. */
static void anchor_response_flags(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *boxes = call_tensor(call, "self");
    int64_t map[2], stride[2], anchors = call_int(call, "num_base_anchors");
    if (!call_require(call, boxes->rank == 2 && boxes->shape[1] == 4 && !boxes->integer,
                      "boxes (n, 4) are needed") ||
        !call_require(call,
                      call_ints(call, "featmap_size", map, 2) == 2 &&
                          call_ints(call, "stride", stride, 2) == 2 && map[0] >= 1 && map[1] >= 1 &&
                          map[0] <= 65536 && map[1] <= 65536 && stride[0] >= 1 && stride[1] >= 1 &&
                          anchors >= 1 && anchors <= 1024,
                      "a feature map, its stride and a number of anchors are needed"))
        return;
    int64_t shape[1] = { map[0] * map[1] * anchors };
    const double *value = node_values(tape, boxes);
    struct node *flags = node_new_integer(tape, DT_U8, 1, shape);
    if (tape_failed(tape)) return;
    for (size_t i = 0; i < flags->n; i++) flags->integer[i] = 0;
    for (int64_t i = 0; i < boxes->shape[0]; i++) {
        double at[2];
        for (int d = 0; d < 2; d++)
            at[d] = floor((double)((float)(value[4 * i + d] + value[4 * i + d + 2]) * 0.5f /
                                   (float)stride[d]));
        double cell = at[1] * (double)map[1] + at[0];
        if (!call_require(call, cell >= 0 && cell < (double)(map[0] * map[1]),
                          "the centre of box %lld is outside of the map", (long long)i))
            return;
        for (int64_t k = 0; k < anchors; k++) flags->integer[(int64_t)cell * anchors + k] = 1;
    }
    call_return(call, flags);
}

/* ---- anchors ------------------------------------------------------------------------------------------------------ */

/* x within low and high. */
static struct node *clamped(struct tape *tape, struct node *x, double low, double high)
{
    x = box_larger(tape, x, node_scalar(tape, low));
    return isfinite(high) ? box_smaller(tape, x, node_scalar(tape, high)) : x;
}

/* Boxes against their anchors as mmdetection codes them for YOLO: centres in cells from the anchor's on, within the cell,
 * and logarithms of the ratio of extents. */
static void yolo_boxes_encode(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x[2] = { call_tensor(call, "self"), call_tensor(call, "gt_bboxes") }, *part[4];
    struct node *stride = call_tensor(call, "stride");
    const double eps = 1e-6;
    if (!call_require(call,
                      x[0]->rank == 2 && x[1]->rank == 2 && x[0]->shape[1] == 4 &&
                          x[1]->shape[1] == 4 && x[0]->shape[0] == x[1]->shape[0] &&
                          !x[0]->integer && !x[1]->integer && stride->rank == 1 &&
                          stride->shape[0] == x[0]->shape[0],
                      "boxes (n, 4), as many anchors and their strides are needed"))
        return;
    int64_t column[2] = { stride->shape[0], 1 };
    stride = node_reshape(tape, node_to_real(tape, stride), 2, column);
    for (int d = 0; d < 2; d++) {
        struct node *centre[2], *size[2];
        for (int k = 0; k < 2; k++) {
            struct node *low = node_slice(tape, x[k], 1, d, 1, 1),
                        *high = node_slice(tape, x[k], 1, d + 2, 1, 1);
            centre[k] = node_scale(tape, node_add(tape, low, high), 0.5);
            size[k] = node_subtract(tape, high, low);
        }
        struct node *shift = node_divide(tape, node_subtract(tape, centre[1], centre[0]), stride);
        part[d] = clamped(tape, node_offset(tape, shift, 0.5), eps, 1 - eps);
        part[d + 2] = node_apply(tape, "log",
                                 clamped(tape, node_divide(tape, size[1], size[0]), eps, INFINITY));
    }
    call_return_typed(call, node_concatenate(tape, part, 4, 1), x[0]->dtype);
}

/* mmdetection's GridAssigner: of boxes that answer for an object, those that overlap it by more than pos_iou_thr belong to
 * the object that they overlap most, and then, of objects in their order that overlap any box by more than min_pos_iou,
 * all boxes that overlap it as much as its best one does (gt_max_assign_all), or that one. Belonging to object k is k + 1. */
static void grid_assign_positive(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "self"), *overlaps = call_tensor(call, "overlaps"),
                *answers = call_tensor(call, "box_responsible_flags"),
                *most = call_tensor(call, "max_overlaps"),
                *object = call_tensor(call, "argmax_overlaps"),
                *most_of = call_tensor(call, "gt_max_overlaps"),
                *best_of = call_tensor(call, "gt_argmax_overlaps");
    double threshold = call_real(call, "pos_iou_thr"), least = call_real(call, "min_pos_iou");
    int64_t n = (int64_t)x->n, count = call_int(call, "num_gts");
    bool all = call_bool(call, "gt_max_assign_all");
    if (!call_require(call,
                      x->rank == 1 && !x->integer && overlaps->rank == 2 && !overlaps->integer &&
                          overlaps->shape[1] == n && answers->integer && answers->n == x->n &&
                          !most->integer && most->n == x->n && object->integer &&
                          object->n == x->n && !most_of->integer && best_of->integer &&
                          (int64_t)most_of->n >= overlaps->shape[0] &&
                          (int64_t)best_of->n >= overlaps->shape[0],
                      "boxes (n) and their overlaps with objects (k, n) are needed"))
        return;
    const double *assigned = node_values(tape, x), *overlap = node_values(tape, overlaps),
                 *top = node_values(tape, most), *top_of = node_values(tape, most_of);
    struct node *y = node_new_real(tape, x->dtype, 1, x->shape);
    if (tape_failed(tape)) return;
    for (int64_t i = 0; i < n; i++) {
        bool belongs = top[i] > number_as_compared(threshold, most->dtype) && answers->integer[i];
        y->value[i] = belongs ? (double)(object->integer[i] + 1) : assigned[i];
    }
    for (int64_t k = 0; k < overlaps->shape[0] && k < count; k++) {
        if (!(top_of[k] > number_as_compared(least, most_of->dtype))) continue;
        for (int64_t i = 0; i < n; i++)
            if (answers->integer[i] &&
                (all ? overlap[k * n + i] == top_of[k] : i == best_of->integer[k]))
                y->value[i] = (double)(k + 1);
    }
    call_return_typed(call, y, x->dtype);
}

/* clang-format off */
#define PAIR "(Tensor self, Tensor gtboxes, bool trans=False, bool is_cross=False, int mode=0"
const struct op ops_npu_boxes[] = {
    { "npu_giou", NPU, PAIR ")", pair_overlap, OP_ONE_NODE, OVERLAP_GENERAL, NULL },
    { "npu_diou", NPU, PAIR ")", pair_overlap, OP_ONE_NODE, OVERLAP_DISTANCE, NULL },
    { "npu_ciou", NPU, PAIR ", bool atan_sub_flag=False)", pair_overlap, OP_ONE_NODE, OVERLAP_COMPLETE, NULL },
    { "npu_rotated_box_encode", NPU, "(Tensor self, Tensor gt_bboxes, Tensor weight)", rotated_box_encode, OP_NO_GRADIENT, 0, NULL },
    { "npu_rotated_box_decode", NPU, "(Tensor self, Tensor deltas, Tensor weight)", rotated_box_decode, OP_NO_GRADIENT, 0, NULL },
    { "npu_yolo_boxes_encode", NPU, "(Tensor self, Tensor gt_bboxes, Tensor stride, bool performance_mode=False)", yolo_boxes_encode, OP_NO_GRADIENT, 0, NULL },
    { "npu_grid_assign_positive", NPU, "(Tensor self, Tensor overlaps, Tensor box_responsible_flags, Tensor max_overlaps, Tensor argmax_overlaps, Tensor gt_max_overlaps, Tensor gt_argmax_overlaps, Tensor num_gts, float pos_iou_thr, float min_pos_iou, bool gt_max_assign_all)", grid_assign_positive, OP_NO_GRADIENT, 0, NULL },
    { "npu_anchor_response_flags", NPU, "(Tensor self, int[2] featmap_size, int[2] stride, int num_base_anchors)", anchor_response_flags, OP_NO_GRADIENT, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(npu_boxes);
