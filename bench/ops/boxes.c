/* Boxes in torch_npu: how far they overlap, and coordinates coded against anchors; by their documentation (op-plugin,
 * docs/context) and its examples. And in MindSpore, whose corners are pixels that belong to a box: by its public kernels for CPUs and GPUs
 * (kernel/iou_cpu_kernel.cc, check_valid_cpu_kernel.cc, cuda_ops/iou_impl.cu, check_valid_impl.cu). */
#include <math.h>
#include <string.h>

#include "bench/call/dimensions.h"
#include "bench/call/op.h"
#include "bench/ops/boxes.h"
#include "bench/ops/operands.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/integral.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/selection.h"
#include "bench/primitives/unary.h"
#include "bench/primitives/view.h"

/* ---- pairs of boxes ----------------------------------------------------------------------------------------- */

struct node *box_larger(struct tape *tape, struct node *a, struct node *b)
{
    return node_select(tape, node_compare(tape, COMPARE_GE, a, b), a, b);
}

struct node *box_smaller(struct tape *tape, struct node *a, struct node *b)
{
    return node_select(tape, node_compare(tape, COMPARE_LE, a, b), a, b);
}

/* Coordinate `k` of boxes (n, 4) as a column, or as a row. */
static struct node *coordinate(struct tape *tape, struct node *boxes, int k, bool column)
{
    int64_t n = boxes->shape[0], shape[2] = { column ? n : 1, column ? 1 : n };
    return node_reshape(tape, node_slice(tape, boxes, 1, k, 1, 1), 2, shape);
}

/* Of boxes [x1, y1, x2, y2]. */
static struct corners corners_of(struct tape *tape, struct node *boxes, bool column)
{
    struct corners c;
    for (int d = 0; d < 2; d++) {
        c.low[d] = coordinate(tape, boxes, d, column);
        c.high[d] = coordinate(tape, boxes, d + 2, column);
        c.size[d] = node_subtract(tape, c.high[d], c.low[d]);
    }
    return c;
}

struct node *box_shared(struct tape *tape, const struct corners *a, const struct corners *b, int d)
{
    return node_positive_part(tape, node_subtract(tape, box_smaller(tape, a->high[d], b->high[d]),
                                                  box_larger(tape, a->low[d], b->low[d])));
}

static struct node *area(struct tape *tape, const struct corners *c)
{
    return node_multiply(tape, c->size[0], c->size[1]);
}

/* What the overlap is divided by: the union, or (mode 1) the area of the second box. */
static struct node *whole(struct tape *tape, const struct corners *a, const struct corners *b,
                          struct node *overlap, int64_t mode)
{
    if (mode == 1) return area(tape, b);
    return node_subtract(tape, node_add(tape, area(tape, a), area(tape, b)), overlap);
}

static bool are_boxes(struct call *call, const struct node *x, const char *name)
{
    return call_require(call, x->rank == 2 && !x->integer && !x->imaginary && x->shape[1] == 4,
                        "%s is a matrix of boxes with four numbers each", name);
}

/* overlap / (union + 0.001) of every ground truth (rows) with every box (columns); detail 1: 0.001 above, too. */
static void iou(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *boxes = call_tensor(call, "bboxes"), *truth = call_tensor(call, "gtboxes");
    int64_t mode = call_int(call, "mode");
    if (!are_boxes(call, boxes, "bboxes") || !are_boxes(call, truth, "gtboxes") ||
        !call_require(call, mode == 0 || mode == 1, "the mode is 0 (union) or 1 (ground truth)"))
        return;
    struct corners a = corners_of(tape, boxes, false), b = corners_of(tape, truth, true);
    struct node *overlap =
        node_multiply(tape, box_shared(tape, &a, &b, 0), box_shared(tape, &a, &b, 1));
    struct node *below = node_offset(tape, whole(tape, &a, &b, overlap, mode), 0.001);
    if (call->op->detail) overlap = node_offset(tape, overlap, 0.001);
    call_return_typed(call, node_divide(tape, overlap, below), boxes->dtype);
}

/* ---- of pixels -------------------------------------------------------------------------------------------------- */

/* high - low + 1 */
static struct node *pixels(struct tape *tape, struct node *low, struct node *high)
{
    return node_offset(tape, node_subtract(tape, high, low), 1);
}

/* overlap / (union + 1e-10), or over the area of the ground truth, of every ground truth (rows) with every anchor (columns). */
static void iou_of_pixels(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *anchors = call_tensor(call, "anchor_boxes"),
                *truth = call_tensor(call, "gt_boxes"), *both[2] = { NULL, NULL }, *overlap = NULL;
    bool of_union = !strcmp(call_string(call, "mode"), "iou");
    if (!are_boxes(call, anchors, "anchor_boxes") || !are_boxes(call, truth, "gt_boxes") ||
        !call_require(call, of_union || !strcmp(call_string(call, "mode"), "iof"),
                      "the mode is iou or iof") ||
        !call_require(call, anchors->dtype != DT_F16 && truth->dtype != DT_F16,
                      "which steps round to float16, devices do not say"))
        return;
    for (int d = 0; d < 2; d++) {
        struct node *low[2], *high[2];
        for (int k = 0; k < 2; k++) {
            struct node *boxes = k ? truth : anchors;
            low[k] = coordinate(tape, boxes, d, k);
            high[k] = coordinate(tape, boxes, d + 2, k);
            struct node *size = pixels(tape, low[k], high[k]);
            both[k] = both[k] ? node_multiply(tape, both[k], size) : size;
        }
        struct node *shared = node_positive_part(
            tape,
            pixels(tape, box_larger(tape, low[0], low[1]), box_smaller(tape, high[0], high[1])));
        overlap = overlap ? node_multiply(tape, overlap, shared) : shared;
    }
    struct node *below = both[1];
    if (of_union) below = node_subtract(tape, node_add(tape, both[0], both[1]), overlap);
    call_return_typed(call, node_divide(tape, overlap, node_offset(tape, below, 1e-10)),
                      anchors->dtype);
}

/* Does a box lie in the image of metas (height, width, ratio): from 0 to height ratio - 1 and width ratio - 1? How the product is rounded differs,
 * and Ascend's kernel is not published: of a box that ends between that and the edge itself the device decides. */
static void check_valid(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *boxes = call_tensor(call, "bboxes"), *metas = call_tensor(call, "img_metas");
    if (!are_boxes(call, boxes, "bboxes") ||
        !call_require(call, !metas->integer && !metas->imaginary && metas->n == 3,
                      "img_metas are the height and width of the image and a ratio"))
        return;
    struct node *valid = node_new_integer(tape, DT_BOOL, 1, boxes->shape),
                *device = call_device_numbers(call, 0, (size_t)boxes->shape[0]);
    const double *box = node_values(tape, boxes), *meta = node_values(tape, metas);
    if (tape_failed(tape)) return;
    for (size_t i = 0; i < valid->n; i++) {
        bool inside = true, outside = false;
        for (int d = 0; d < 2; d++) {
            double low = box[4 * i + (size_t)d], high = box[4 * i + 2 + (size_t)d],
                   edge = meta[1 - d] * meta[2];
            bool exact = number_as_compared(edge, boxes->dtype) == edge &&
                         number_as_compared(edge - 1, boxes->dtype) == edge - 1;
            double slack = exact ? 0 : dtype_ulp(boxes->dtype, edge);
            inside &= low >= 0 && high <= edge - 1 - slack;
            outside |= !(low >= 0) || !(high <= edge + slack);
            valid->integer[i] = (d == 0 || valid->integer[i]) && low >= 0 && high <= edge - 1;
        }
        if (device && device->integer && !inside && !outside)
            valid->integer[i] = device->integer[i];
    }
    call_return(call, valid);
}

/* ---- coded against anchors ------------------------------------------------------------------------------------ */

static const char *const means[4] = { "means0", "means1", "means2", "means3" };
static const char *const stds[4] = { "stds0", "stds1", "stds2", "stds3" };

static struct node *joined(struct tape *tape, struct node *const *parts)
{
    return node_concatenate(tape, (struct node *[]){ parts[0], parts[1], parts[2], parts[3] }, 4,
                            1);
}

/* Centre and extent of boxes [x1, y1, x2, y2] whose corners are pixels that belong to them. */
static void centre_of(struct tape *tape, struct node *boxes, int d, struct node **centre,
                      struct node **size)
{
    struct node *low = coordinate(tape, boxes, d, true),
                *high = coordinate(tape, boxes, d + 2, true);
    *centre = node_scale(tape, node_add(tape, low, high), 0.5);
    *size = node_offset(tape, node_subtract(tape, high, low), 1);
}

/* ((centre difference / anchor extent, log of the ratio of extents) - mean) / std. */
static void bounding_box_encode(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *anchors = call_tensor(call, "anchor_box"),
                *truth = call_tensor(call, "ground_truth_box"), *delta[4];
    if (!are_boxes(call, anchors, "anchor_box") || !are_boxes(call, truth, "ground_truth_box") ||
        !call_require(call, anchors->shape[0] == truth->shape[0],
                      "as many anchors as ground truths are needed"))
        return;
    for (int d = 0; d < 2; d++) {
        struct node *from, *to, *size, *wanted;
        centre_of(tape, anchors, d, &from, &size);
        centre_of(tape, truth, d, &to, &wanted);
        delta[d] = node_divide(tape, node_subtract(tape, to, from), size);
        delta[d + 2] = node_apply(tape, "log", node_divide(tape, wanted, size));
    }
    for (int k = 0; k < 4; k++)
        delta[k] = node_divide(tape, node_offset(tape, delta[k], -call_real(call, means[k])),
                               node_scalar(tape, call_real(call, stds[k])));
    call_return_typed(call, joined(tape, delta), anchors->dtype);
}

static struct node *clamped(struct tape *tape, struct node *x, double low, double high)
{
    return box_larger(tape, box_smaller(tape, x, node_scalar(tape, high)), node_scalar(tape, low));
}

/* The inverse, the extents' logarithms no larger than wh_ratio_clip's and the corners within the image. */
static void bounding_box_decode(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *rois = call_tensor(call, "rois"), *deltas = call_tensor(call, "deltas"),
                *corner[4];
    int64_t image[2];
    double clip = fabs(log(call_real(call, "wh_ratio_clip")));
    if (!are_boxes(call, rois, "rois") || !are_boxes(call, deltas, "deltas") ||
        !call_require(call, rois->shape[0] == deltas->shape[0],
                      "as many rois as deltas are needed") ||
        !call_require(call,
                      call_ints(call, "max_shape", image, 2) == 2 && clip >= 0 && isfinite(clip),
                      "max_shape is the height and width of the image, wh_ratio_clip positive"))
        return;
    for (int d = 0; d < 2; d++) {
        struct node *centre, *size, *shift[2];
        centre_of(tape, rois, d, &centre, &size);
        for (int k = 0; k < 2; k++)
            shift[k] = node_offset(tape,
                                   node_scale(tape, coordinate(tape, deltas, d + 2 * k, true),
                                              call_real(call, stds[d + 2 * k])),
                                   call_real(call, means[d + 2 * k]));
        struct node *wide = node_multiply(
            tape, size, node_apply(tape, "exp", clamped(tape, shift[1], -clip, clip)));
        struct node *middle = node_add(tape, centre, node_multiply(tape, size, shift[0]));
        struct node *half = node_offset(tape, node_scale(tape, wide, 0.5), -0.5);
        double most = (double)(image[1 - d] - 1);
        corner[d] = clamped(tape, node_subtract(tape, middle, half), 0, most);
        corner[d + 2] = clamped(tape, node_add(tape, middle, half), 0, most);
    }
    call_return_typed(call, joined(tape, corner), rois->dtype);
}

/* clang-format off */
#define CODED "float means0, float means1, float means2, float means3, float stds0, float stds1, float stds2, float stds3"
const struct op ops_boxes[] = {
    { "npu_iou", NPU, "(Tensor bboxes, Tensor gtboxes, int mode=0)", iou, OP_NO_GRADIENT, 1, NULL },
    { "npu_ptiou", NPU, "(Tensor bboxes, Tensor gtboxes, int mode=0)", iou, OP_NO_GRADIENT, 0, NULL },
    { "iou", MINDSPORE, "(Tensor anchor_boxes, Tensor gt_boxes, str mode)", iou_of_pixels, OP_NO_GRADIENT, 0, NULL },
    { "check_valid", MINDSPORE, "(Tensor bboxes, Tensor img_metas)", check_valid, OP_NO_GRADIENT, 0, NULL },
    { "npu_bounding_box_encode", NPU, "(Tensor anchor_box, Tensor ground_truth_box, " CODED ")", bounding_box_encode, OP_NO_GRADIENT, 0, NULL },
    { "npu_bounding_box_decode", NPU, "(Tensor rois, Tensor deltas, " CODED ", int[] max_shape, float wh_ratio_clip)", bounding_box_decode, OP_NO_GRADIENT, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(boxes);
