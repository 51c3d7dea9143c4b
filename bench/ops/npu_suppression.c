/* Boxes that turned boxes and upright ones share, and those left of many that overlap: by op-plugin's documentation
 * and the references of torch_npu's tests, non_max_suppression_v4 by TensorFlow's.
 */
#include <math.h>

#include "bench/call/op.h"
#include "bench/ops/operands.h"
#include "bench/ops/suppression.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/gather.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/turned_boxes.h"
#include "bench/primitives/view.h"

/* ---- turned boxes -------------------------------------------------------------------------------------------- */

/* Are the rows of `boxes` finite, with sides that are not negative? */
static bool have_sides(struct call *call, struct node *boxes)
{
    const double *value = node_values(call->tape, boxes);
    for (size_t i = 0; !tape_failed(call->tape) && i < boxes->n; i++)
        if (!call_require(call, isfinite(value[i]) && (value[i] >= 0 || (i % 5 & ~1u) != 2),
                          "box %zu has a negative or no finite side", i / 5))
            return false;
    return !tape_failed(call->tape);
}

static bool are_turned_boxes(struct call *call, struct node *const *x)
{
    bool fits = true;
    for (int k = 0; k < 2; k++)
        fits = fits && x[k]->rank == 3 && x[k]->shape[2] == 5 && !x[k]->integer &&
               x[k]->shape[0] == x[0]->shape[0];
    return call_require(call, fits, "boxes (batch, n, 5) and (batch, m, 5) are needed") &&
           call_require(call, !call_bool(call, "trans"),
                        "only boxes of a centre, sides and an angle are followed here") &&
           have_sides(call, x[0]) && have_sides(call, x[1]);
}

static void rotated_overlaps(struct call *call)
{
    struct node *x[2] = { call_tensor(call, "self"), call_tensor(call, "query_boxes") };
    if (!are_turned_boxes(call, x)) return;
    call_return_typed(call, node_turned_boxes_shared(call->tape, x[0], x[1]), x[0]->dtype);
}

/* Width times height of boxes (batch, n, 5), as a column (batch, n, 1) or a row (batch, 1, n). */
static struct node *turned_area(struct tape *tape, struct node *boxes, bool column)
{
    struct node *area = node_multiply(tape, node_slice(tape, boxes, 2, 2, 1, 1),
                                      node_slice(tape, boxes, 2, 3, 1, 1));
    return column ? area : node_transpose(tape, area, 1, 2);
}

/* What is shared over what both cover. */
static void rotated_iou(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x[2] = { call_tensor(call, "self"), call_tensor(call, "query_boxes") };
    if (!are_turned_boxes(call, x) ||
        !call_require(call,
                      call_bool(call, "is_cross") && call_int(call, "mode") == 0 &&
                          call_real(call, "v_threshold") == 0 &&
                          call_real(call, "e_threshold") == 0,
                      "only every box with every other, by their union and without thresholds, is "
                      "followed here"))
        return;
    struct node *shared = node_turned_boxes_shared(tape, x[0], x[1]);
    struct node *both =
        node_add(tape, turned_area(tape, x[0], true), turned_area(tape, x[1], false));
    call_return_typed(call, node_divide(tape, shared, node_subtract(tape, both, shared)),
                      x[0]->dtype);
}

/* ---- suppression --------------------------------------------------------------------------------------------- */

/* The positions of the boxes that are left, in their order, and how many. */
static void return_left(struct call *call, struct suppression *s, int count_rank)
{
    struct tape *tape = call->tape;
    struct device_list device = { .n = 0 };
    device.at = call_device_integer_list(call, 0, &device.n);
    int64_t *left = tape_allocate(tape, (size_t)s->candidates, sizeof *left);
    if (tape_failed(tape)) return;
    int64_t count = suppression_select(s, device, left);
    struct node *selected = node_new_integer(tape, DT_I32, 1, &count);
    for (int64_t i = 0; !tape_failed(tape) && i < count; i++) selected->integer[i] = left[i];
    call_return(call, selected);
    call_return(call, node_integer_constant(tape, DT_I32, count, count_rank, (int64_t[]){ 1 }));
}

static double turned_overlap(const double *a, const double *b, double *slack)
{
    struct turned_box x = turned_box_of(a), y = turned_box_of(b);
    /* Kernels move both to their middle first. */
    for (int d = 0; d < 2; d++) {
        x.centre[d] -= y.centre[d];
        y.centre[d] = 0;
    }
    double error, shared = turned_boxes_shared_area(&x, &y, &error),
                  whole = x.size[0] * x.size[1] + y.size[0] * y.size[1] - shared;
    *slack = 0;
    if (!(whole > 0)) return 0;
    *slack = 16 * 0x1p-24 * (turned_boxes_sensitivity(&x, &y) / whole + 1);
    return shared / whole;
}

/* [x1, y1, x2, y2, angle against the clock], as the first boxes of a centre. */
static void centre_boxes(double *out, const double *row)
{
    for (int d = 0; d < 2; d++) {
        out[d] = (row[d] + row[d + 2]) / 2;
        out[d + 2] = row[d + 2] - row[d];
    }
    out[4] = -row[4];
}

static void nms_rotated(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *boxes = call_tensor(call, "dets"), *scores = call_tensor(call, "scores");
    int64_t most = call_int(call, "max_output_size"), mode = call_int(call, "mode");
    if (!call_require(call,
                      boxes->rank == 2 && boxes->shape[1] == 5 && !boxes->integer &&
                          scores->rank == 1 && scores->shape[0] == boxes->shape[0] &&
                          !scores->integer && (mode == 0 || mode == 1),
                      "boxes (n, 5) and as many scores are needed"))
        return;
    const double *value = node_values(tape, boxes);
    double *rows = tape_allocate(tape, boxes->n, sizeof *rows);
    if (tape_failed(tape)) return;
    for (size_t i = 0; i < boxes->n; i += 5) {
        if (mode) centre_boxes(rows + i, value + i);
        for (size_t k = i; !mode && k < i + 5; k++) rows[k] = value[k];
        if (!call_require(call, rows[i + 2] >= 0 && rows[i + 3] >= 0, "box %zu has a negative side",
                          i / 5))
            return;
    }
    struct suppression s = { rows,
                             5,
                             turned_overlap,
                             call_real(call, "iou_threshold"),
                             NULL,
                             0,
                             most < 0 ? INT64_MAX : most };
    if (suppression_order(call, &s, scores, call_real(call, "scores_threshold")))
        return_left(call, &s, 1);
}

/* Of two boxes by any two opposite corners. */
static double upright_overlap(const double *a, const double *b, double *slack)
{
    double shared = 1, own[2] = { 1, 1 };
    for (int d = 0; d < 2; d++) {
        double low[2] = { fmin(a[d], a[d + 2]), fmin(b[d], b[d + 2]) },
               high[2] = { fmax(a[d], a[d + 2]), fmax(b[d], b[d + 2]) };
        shared *= fmax(fmin(high[0], high[1]) - fmax(low[0], low[1]), 0);
        for (int k = 0; k < 2; k++) own[k] *= high[k] - low[k];
    }
    *slack = 0;
    if (!(own[0] > 0) || !(own[1] > 0)) return 0;
    /* One rounding for each difference, product and sum, and one of the quotient. */
    *slack = 16 * 0x1p-24;
    return shared / (own[0] + own[1] - shared);
}

static void nms_v4(struct call *call)
{
    struct node *boxes = call_tensor(call, "boxes"), *scores = call_tensor(call, "scores");
    int64_t most = call_int(call, "max_output_size");
    if (!call_require(call,
                      boxes->rank == 2 && boxes->shape[1] == 4 && !boxes->integer &&
                          scores->rank == 1 && scores->shape[0] == boxes->shape[0] &&
                          !scores->integer && most >= 0,
                      "boxes (n, 4) and as many scores are needed") ||
        !call_require(call, !call_bool(call, "pad_to_max_output_size"),
                      "a result that is filled up to its size is not followed here"))
        return;
    struct suppression s = { node_values(call->tape, boxes),
                             4,
                             upright_overlap,
                             call_real(call, "iou_threshold"),
                             NULL,
                             0,
                             most };
    if (suppression_order(call, &s, scores, call_real(call, "scores_threshold")))
        return_left(call, &s, 0);
}

/* Shared area over union of boxes by their corners, in float16: after roundings of the coordinates by `unit` of
 * themselves. */
static double half_overlap_of(const double *a, const double *b, double unit, double *slack)
{
    double shared = 1, around = 0, own[2] = { 1, 1 }, error[2] = { 0, 0 }, far = 0;
    for (int k = 0; k < 4; k++) far = fmax(far, fmax(fabs(a[k]), fabs(b[k])));
    for (int d = 0; d < 2; d++) {
        double side = fmax(fmin(a[d + 2], b[d + 2]) - fmax(a[d], b[d]), 0), step = 2 * unit * far;
        around = around * side + shared * step + around * step;
        shared *= side;
        double sides[2] = { fmax(a[d + 2] - a[d], 0), fmax(b[d + 2] - b[d], 0) };
        for (int k = 0; k < 2; k++) {
            error[k] = error[k] * sides[k] + own[k] * step + error[k] * step;
            own[k] *= sides[k];
        }
    }
    double whole = own[0] + own[1] - shared;
    *slack = 16 * 0x1p-11;
    if (!(whole > 0)) return 0;
    *slack += (2 * around + error[0] + error[1]) / whole;
    return shared / whole;
}

static double half_overlap(const double *a, const double *b, double *slack)
{
    return half_overlap_of(a, b, 0, slack);
}

static double rounded_overlap(const double *a, const double *b, double *slack)
{
    return half_overlap_of(a, b, 0x1p-11, slack);
}

/* Boxes in the order given, whose first is left, each with whether it is: torch_npu sorts by no score. float32 is computed
 * in float16, and the boxes may come back so. */
static void nms_with_mask(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input");
    if (!call_require(call, x->rank == 2 && x->shape[1] >= 5 && !x->integer,
                      "boxes (n, 5), corners and a score, are needed"))
        return;
    int64_t n = x->shape[0], count = 0, width = x->shape[1];
    const double *rows = node_values(tape, x);
    struct node *boxes = node_new_real(tape, x->dtype, 2, (int64_t[]){ n, 5 }),
                *position = node_new_integer(tape, DT_I32, 1, &n),
                *mask = node_new_integer(tape, DT_U8, 1, &n),
                *given = call_device_numbers(call, 0, 5 * (size_t)n),
                *left_there = call_device_numbers(call, 2, (size_t)n);
    int64_t *left = tape_allocate(tape, (size_t)n + 1, sizeof *left);
    if (tape_failed(tape)) return;
    struct suppression s = { rows,
                             (int)width,
                             x->dtype == DT_F16 ? half_overlap : rounded_overlap,
                             call_real(call, "iou_threshold"),
                             NULL,
                             n,
                             n };
    bool rounded = given && !given->integer;
    for (int64_t i = 0; i < n; i++) {
        for (int k = 0; k < 5; k++) {
            double own = boxes->value[5 * i + k] = rows[width * i + k];
            rounded = rounded && given->value[5 * i + k] == number_as_compared(own, DT_F16);
        }
        bool has = left_there && node_element(left_there, (size_t)i) != 0;
        mask->integer[i] = suppression_leaves(&s, i, left, count, has, left_there != NULL);
        if (mask->integer[i]) left[count++] = i;
        position->integer[i] = i;
    }
    call_return_typed(call, rounded ? given : boxes, x->dtype);
    call_return(call, position);
    call_return(call, mask);
}

/* ---- of many classes ------------------------------------------------------------------------------------------- */

struct batch_nms {
    struct call *call;
    struct node *boxes,
        *scores; /* (batch, n, q, 4): q is 1 or the number of classes; (batch, n, classes) */
    int64_t n, classes, q, total;
    double least, threshold;
    int64_t most;             /* of a class */
    struct node *found[3];    /* the device's boxes, scores and classes, or NULL */
    int64_t *map[2], *chosen; /* of each result: the box, the score and its class; -1 for none */
};

static const double *box_of(const struct batch_nms *b, int64_t item, int64_t i, int64_t class)
{
    int64_t own = b->q == 1 ? 0 : class;
    return b->boxes->value + 4 * ((item * b->n + i) * b->q + own);
}

/* What the device lists for an item of the batch, as numbers i classes + class, -1 for what is none of ours. */
static struct device_list listed(const struct batch_nms *b, int64_t item)
{
    struct device_list list = { NULL, 0 };
    if (!b->found[0] || !b->found[1] || !b->found[2]) return list;
    int64_t *at = tape_allocate(b->call->tape, (size_t)b->total, sizeof *at);
    if (!at) return list;
    for (int64_t k = 0; k < b->total; k++) {
        size_t row = (size_t)(item * b->total + k);
        long double class = node_element(b->found[2], row), score = node_element(b->found[1], row);
        at[k] = -1;
        for (int64_t i = 0; at[k] < 0 && class >= 0 && class < (long double)b->classes && i < b->n;
             i++) {
            int64_t c = (int64_t) class;
            const double *box = box_of(b, item, i, c);
            bool same = b->scores->value[(item * b->n + i) * b->classes + c] == score;
            for (size_t d = 0; same && d < 4; d++)
                same = node_element(b->found[0], 4 * row + d) == box[d];
            if (same) at[k] = i * b->classes + c;
        }
    }
    return (struct device_list){ at, (size_t)b->total };
}

/* Those of one class that are left, put behind the `count` of `kept`; the new count. */
static int64_t keep_class(const struct batch_nms *b, int64_t item, int64_t class,
                          struct device_list all, struct sort_item *kept, int64_t count)
{
    struct tape *tape = b->call->tape;
    struct node *scores =
        node_slice(tape, node_slice(tape, b->scores, 0, item, 1, 1), 2, class, 1, 1);
    double *rows = tape_allocate(tape, 4 * (size_t)b->n, sizeof *rows);
    int64_t *left = tape_allocate(tape, (size_t)b->n, sizeof *left),
            *own = tape_allocate(tape, all.n + 1, sizeof *own), valid = 0;
    if (tape_failed(tape)) return count;
    for (int64_t i = 0; i < 4 * b->n; i++) rows[i] = box_of(b, item, i / 4, class)[i % 4];
    for (size_t k = 0; k < all.n; k++)
        own[k] = all.at[k] >= 0 && all.at[k] % b->classes == class ? all.at[k] / b->classes : -1;
    struct suppression s = {
        rows,         4,    b->boxes->dtype == DT_F16 ? half_overlap : rounded_overlap,
        b->threshold, NULL, 0,
        b->most
    };
    if (!suppression_order(b->call, &s, scores, b->least)) return count;
    for (int64_t i = 0; i < s.candidates; i++) {
        const double *box = rows + 4 * s.order[i].position;
        if (box[2] > box[0] && box[3] > box[1]) s.order[valid++] = s.order[i];
    }
    s.candidates = valid;
    int64_t found = suppression_select(
        &s, (struct device_list){ all.at ? own : NULL, all.at ? all.n : 0 }, left);
    for (int64_t i = 0; i < found; i++)
        kept[count++] = (struct sort_item){ ~sort_key_real(scores->value[left[i]]),
                                            left[i] * b->classes + class };
    return count;
}

/* The results of an item of the batch; their number. */
static int64_t keep_item(const struct batch_nms *b, int64_t item)
{
    struct tape *tape = b->call->tape;
    struct device_list all = listed(b, item);
    size_t room = (size_t)(b->n * b->classes);
    struct sort_item *kept = tape_allocate(tape, 2 * room + 1, sizeof *kept);
    int64_t count = 0;
    for (int64_t c = 0; !tape_failed(tape) && c < b->classes; c++)
        count = keep_class(b, item, c, all, kept, count);
    if (tape_failed(tape)) return 0;
    sort_items(kept, kept + room, (size_t)count);
    suppression_settle(kept, count, all);
    for (int64_t k = 0; k < b->total; k++) {
        int64_t at = item * b->total + k, one = k < count ? kept[k].position : -1;
        int64_t i = one / b->classes, c = one % b->classes;
        b->map[0][at] = one < 0 ? -1 : (item * b->n + i) * b->q + (b->q == 1 ? 0 : c);
        b->map[1][at] = one < 0 ? -1 : (item * b->n + i) * b->classes + c;
        b->chosen[at] = one < 0 ? 0 : c;
    }
    return count < b->total ? count : b->total;
}

/* Does the call have boxes and scores that fit, and no window that they are cut at? */
static bool read_batch(struct batch_nms *b)
{
    struct call *call = b->call;
    struct node *boxes = call_tensor(call, "self"), *scores = call_tensor(call, "scores");
    bool transposed = call_bool(call, "transpose_box");
    b->most = call_int(call, "max_size_per_class");
    b->total = call_int(call, "max_total_size");
    b->least = call_real(call, "score_threshold");
    b->threshold = call_real(call, "iou_threshold");
    if (!call_require(call, !call_bool(call, "change_coordinate_frame"),
                      "a change of coordinates is not followed here") ||
        !call_require(call,
                      boxes->rank == 4 && scores->rank == 3 && !boxes->integer &&
                          !scores->integer && boxes->n && scores->n &&
                          boxes->shape[0] == scores->shape[0] && b->most >= 0 && b->total >= 0 &&
                          b->total <= INT32_MAX,
                      "boxes (batch, n, q, 4) and scores (batch, n, classes) are needed"))
        return false;
    if (transposed) boxes = node_permute(call->tape, boxes, (int[]){ 0, 3, 1, 2 });
    b->boxes = boxes;
    b->scores = scores;
    b->n = scores->shape[1];
    b->classes = scores->shape[2];
    b->q = boxes->shape[2];
    (void)node_values(call->tape, boxes);
    (void)node_values(call->tape, scores);
    return call_require(
        call, boxes->shape[1] == b->n && boxes->shape[3] == 4 && (b->q == 1 || b->q == b->classes),
        "boxes (batch, n, q, 4) and scores (batch, n, classes) are needed");
}

/* Of each class up to `most`, and of all classes the best `total`. */
static void batch_nms(struct call *call)
{
    struct tape *tape = call->tape;
    struct batch_nms b = { .call = call };
    if (!read_batch(&b)) return;
    int64_t items = b.scores->shape[0], shape[3] = { items, b.total, 4 };
    size_t results = (size_t)(items * b.total);
    for (size_t k = 0; k < 3; k++)
        b.found[k] = call_device_numbers(call, k, k ? results : 4 * results);
    for (int k = 0; k < 2; k++) b.map[k] = tape_allocate(tape, results + 1, sizeof *b.map[k]);
    b.chosen = tape_allocate(tape, results + 1, sizeof *b.chosen);
    struct node *classes = node_new_real(tape, b.boxes->dtype, 2, shape),
                *count = node_new_integer(tape, DT_I32, 1, shape);
    for (int64_t i = 0; !tape_failed(tape) && i < items; i++) count->integer[i] = keep_item(&b, i);
    if (tape_failed(tape)) return;
    for (size_t i = 0; i < results; i++) classes->value[i] = (double)b.chosen[i];
    call_return(call, node_gather_rows(tape, b.boxes, 3, shape, 4, b.map[0], 0));
    call_return(call, node_gather(tape, b.scores, 2, shape, b.map[1], 0));
    call_return(call, classes);
    call_return(call, count);
}

/* clang-format off */
#define PAIRS "(Tensor self, Tensor query_boxes, bool trans=False"
const struct op ops_npu_suppression[] = {
    { "npu_rotated_overlaps", NPU, PAIRS ")", rotated_overlaps, OP_NO_GRADIENT, 0, NULL },
    { "npu_rotated_iou", NPU, PAIRS ", int mode=0, bool is_cross=True, float v_threshold=0.0, float e_threshold=0.0)", rotated_iou, OP_NO_GRADIENT, 0, NULL },
    { "npu_nms_rotated", NPU, "(Tensor dets, Tensor scores, float iou_threshold, float scores_threshold=0, int max_output_size=-1, int mode=0)", nms_rotated, OP_NO_GRADIENT, 0, NULL },
    { "npu_nms_v4", NPU, "(Tensor boxes, Tensor scores, Scalar max_output_size, Tensor iou_threshold, Tensor scores_threshold, bool pad_to_max_output_size=False)", nms_v4, OP_NO_GRADIENT, 0, NULL },
    { "npu_nms_with_mask", NPU, "(Tensor input, Scalar iou_threshold)", nms_with_mask, OP_NO_GRADIENT, 0, NULL },
    { "npu_batch_nms", NPU, "(Tensor self, Tensor scores, float score_threshold, float iou_threshold, int max_size_per_class, int max_total_size, bool change_coordinate_frame=False, bool transpose_box=False)", batch_nms, OP_NO_GRADIENT, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(npu_suppression);
