/* Boxes that turned boxes and upright ones share, and those left of many that overlap: by op-plugin's documentation
 * and the references of torch_npu's tests, non_max_suppression_v4 by TensorFlow's.
 */
#include <math.h>

#include "bench/call/op.h"
#include "bench/ops/operands.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/sorting.h"
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

/* Boxes by falling score, of which one is left that overlaps none of those left before it by more than `threshold`. */
struct suppression {
    const double *boxes; /* rows of `numbers` */
    int numbers;
    /* Shared area over union of two rows; a kernel's may be off by *slack. */
    double (*overlap)(const double *a, const double *b, double *slack);
    double threshold;
    struct sort_item *order; /* the candidates, best first */
    int64_t candidates, most;
    int count_rank; /* of the count that is returned */
};

/* Where in the device's list a box stands; behind it when it does not. */
static int64_t device_place(const int64_t *list, size_t n, int64_t box)
{
    size_t at = 0;
    while (at < n && list[at] != box) at++;
    return (int64_t)at;
}

/* Boxes of equal scores in the device's order, which is as good as that of their positions. */
static void settle_equal_scores(struct sort_item *items, int64_t count, const int64_t *list,
                                size_t n)
{
    for (int64_t i = 1; list && i < count; i++) {
        struct sort_item item = items[i];
        int64_t at = i, place = device_place(list, n, item.position);
        for (; at > 0 && items[at - 1].key == item.key &&
               device_place(list, n, items[at - 1].position) > place;
             at--)
            items[at] = items[at - 1];
        items[at] = item;
    }
}

/* Is the box left? Where rounding decides, the device's answer is as good as any. */
static bool is_left(const struct suppression *s, int64_t box, const int64_t *left, int64_t count,
                    bool device_has, bool asked)
{
    bool keep = true;
    for (int64_t k = 0; k < count; k++) {
        double slack,
            iou = s->overlap(s->boxes + s->numbers * box, s->boxes + s->numbers * left[k], &slack);
        if (iou > s->threshold + slack) return false;
        if (iou > s->threshold - slack) keep = asked ? device_has : keep && iou <= s->threshold;
    }
    return keep;
}

/* The positions of the boxes that are left, in their order, and how many. */
static void return_left(struct call *call, struct suppression *s)
{
    struct tape *tape = call->tape;
    size_t listed = 0;
    const int64_t *list = call_device_integer_list(call, 0, &listed);
    int64_t *left = tape_allocate(tape, (size_t)s->candidates, sizeof *left), count = 0;
    if (tape_failed(tape)) return;
    settle_equal_scores(s->order, s->candidates, list, listed);
    for (int64_t i = 0; i < s->candidates && count < s->most; i++) {
        int64_t box = s->order[i].position;
        bool has = list && device_place(list, listed, box) < (int64_t)listed;
        if (is_left(s, box, left, count, has, list != NULL)) left[count++] = box;
    }
    struct node *selected = node_new_integer(tape, DT_I32, 1, &count);
    for (int64_t i = 0; !tape_failed(tape) && i < count; i++) selected->integer[i] = left[i];
    call_return(call, selected);
    call_return(call, node_integer_constant(tape, DT_I32, count, s->count_rank, (int64_t[]){ 1 }));
}

/* The boxes of s->boxes whose score is above the least, best first, equal ones by position. */
static bool order_candidates(struct call *call, struct suppression *s, struct node *scores,
                             double least)
{
    struct tape *tape = call->tape;
    const double *score = node_values(tape, scores);
    s->order = tape_allocate(tape, 2 * scores->n, sizeof *s->order);
    if (tape_failed(tape)) return false;
    s->candidates = 0;
    least = number_as_compared(least, scores->dtype);
    for (size_t i = 0; i < scores->n; i++) {
        if (!call_require(call, !isnan(score[i]), "the order of NaN is open")) return false;
        if (score[i] > least)
            s->order[s->candidates++] = (struct sort_item){ ~sort_key_real(score[i]), (int64_t)i };
    }
    sort_items(s->order, s->order + scores->n, (size_t)s->candidates);
    return true;
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
                             most < 0 ? INT64_MAX : most,
                             1 };
    if (order_candidates(call, &s, scores, call_real(call, "scores_threshold")))
        return_left(call, &s);
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
                             most,
                             0 };
    if (order_candidates(call, &s, scores, call_real(call, "scores_threshold")))
        return_left(call, &s);
}

/* clang-format off */
#define PAIRS "(Tensor self, Tensor query_boxes, bool trans=False"
const struct op ops_npu_suppression[] = {
    { "npu_rotated_overlaps", NPU, PAIRS ")", rotated_overlaps, OP_NO_GRADIENT, 0, NULL },
    { "npu_rotated_iou", NPU, PAIRS ", int mode=0, bool is_cross=True, float v_threshold=0.0, float e_threshold=0.0)", rotated_iou, OP_NO_GRADIENT, 0, NULL },
    { "npu_nms_rotated", NPU, "(Tensor dets, Tensor scores, float iou_threshold, float scores_threshold=0, int max_output_size=-1, int mode=0)", nms_rotated, OP_NO_GRADIENT, 0, NULL },
    { "npu_nms_v4", NPU, "(Tensor boxes, Tensor scores, Scalar max_output_size, Tensor iou_threshold, Tensor scores_threshold, bool pad_to_max_output_size=False)", nms_v4, OP_NO_GRADIENT, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(npu_suppression);
