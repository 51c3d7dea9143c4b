/* Losses over classes: cross entropy and negative log likelihood. */
#include <math.h>
#include <string.h>

#include "bench/call/op.h"
#include "bench/ops/loss_reduction.h"
#include "bench/ops/operands.h"
#include "bench/ops/pullback.h"
#include "bench/primitives/alias.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/gather.h"
#include "bench/primitives/integral.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/reduce.h"
#include "bench/primitives/selection.h"
#include "bench/primitives/softmax.h"
#include "bench/primitives/unary.h"

/* The problem with the class dimension found: input (C) or (N, C, d1, ...), target without it.
 * Positions that are ignored have class 0 here and weight 0. */
struct classes {
    struct node *x;
    int dim;
    struct node *target;  /* int64, input's shape with extent 1 at dim */
    struct node *weights; /* real, the same shape: the weight of each target, 0 where ignored */
    bool uniform;         /* no weights given */
};

static bool read_targets(struct call *call, struct classes *classes, const struct node *target,
                         const double *weight, int64_t ignored)
{
    struct tape *tape = call->tape;
    int64_t shape[TENSOR_MAX_RANK], extent = classes->x->shape[classes->dim];
    memcpy(shape, classes->x->shape, sizeof shape);
    shape[classes->dim] = 1;
    classes->target = node_new_integer(tape, DT_I64, classes->x->rank, shape);
    classes->weights = node_new_real(tape, DT_NONE, classes->x->rank, shape);
    if (!call_require(call, classes->target->n == target->n, "%zu targets for %zu predictions",
                      target->n, classes->target->n))
        return false;
    if (!extent && target->n) { /* an ignored target stands at class 0 */
        call_fail(call, "no classes for %zu targets", target->n);
        return false;
    }
    for (size_t i = 0; i < target->n; i++) {
        int64_t k = target->integer[i];
        bool skip = k == ignored;
        if (!call_require(call, skip || (k >= 0 && k < extent),
                          "target %lld is not one of %lld classes", (long long)k,
                          (long long)extent))
            return false;
        classes->target->integer[i] = skip ? 0 : k;
        classes->weights->value[i] = skip ? 0 : weight ? weight[k] : 1;
    }
    return true;
}

static bool open_classes(struct call *call, struct classes *classes)
{
    struct tape *tape = call->tape;
    classes->x = node_to_real(tape, call_tensor(call, "input"));
    classes->dim = classes->x->rank > 1;
    struct node *target = call_tensor(call, "target");
    struct node *weight = call_optional_tensor(call, "weight");
    if (!call_require(call, classes->x->rank != 0 && target->integer,
                      "the input needs a class dimension and the target class numbers"))
        return false;
    if (!call_require(call, !weight || weight->n == (size_t)classes->x->shape[classes->dim],
                      "%zu weights for %lld classes", weight->n,
                      (long long)classes->x->shape[classes->dim]))
        return false;
    classes->uniform = weight == NULL;
    return read_targets(call, classes, target, weight ? node_values(tape, weight) : NULL,
                        call_int(call, "ignore_index"));
}

/* "none": per target; "sum"; "mean": over the sum of weights. */
static struct node *reduce_by_weight(struct call *call, struct classes *classes, struct node *loss)
{
    struct tape *tape = call->tape;
    enum loss_reduction reduction = loss_reduction(call);
    if (reduction == LOSS_NONE) {
        int64_t shape[TENSOR_MAX_RANK];
        int rank = 0;
        for (int d = 0; d < classes->x->rank; d++)
            if (d != classes->dim) shape[rank++] = classes->x->shape[d];
        return node_reshape(tape, loss, rank, shape);
    }
    struct node *sum = node_sum(tape, loss, all_dims(loss), false);
    if (reduction == LOSS_SUM) return sum;
    return node_divide(tape, sum,
                       node_sum(tape, classes->weights, all_dims(classes->weights), false));
}

/* Values of ignored positions must not spread infinities or NaN. */
static struct node *weighted(struct tape *tape, struct classes *classes, struct node *value)
{
    struct node *ignored = node_compare(tape, COMPARE_EQ, classes->weights, node_scalar(tape, 0));
    struct node *product = classes->uniform ? value : node_multiply(tape, value, classes->weights);
    return node_select(tape, ignored, node_scalar(tape, 0), product);
}

/* The loss of each target, of the input's shape with extent 1 at the class dimension. */
static struct node *target_losses(struct call *call, struct classes *classes)
{
    struct tape *tape = call->tape;
    struct node *picked = node_take_along(tape, classes->x, classes->dim, classes->target);
    return weighted(tape, classes, node_negate(tape, picked));
}

static void nll_loss(struct call *call)
{
    struct classes classes;
    if (!open_classes(call, &classes)) return;
    struct node *loss = target_losses(call, &classes);
    call_return_typed(call, reduce_by_weight(call, &classes, loss), classes.x->dtype);
}

/* aten's nll_loss_forward: with the sum of the weights; 0 where nothing is reduced. */
static void nll_loss_forward(struct call *call)
{
    struct tape *tape = call->tape;
    struct classes classes;
    nll_loss(call);
    if (tape_failed(tape) || !open_classes(call, &classes)) return;
    struct node *total = node_sum(tape, classes.weights, all_dims(classes.weights), false);
    if (loss_reduction(call) == LOSS_NONE) total = node_constant(tape, DT_NONE, 0, 0, NULL);
    call_return_typed(call, total, classes.x->dtype);
}

/* Its gradient, the mean's by the sum of weights that the forward returned. */
static void nll_loss_backward(struct call *call)
{
    struct tape *tape = call->tape;
    struct classes classes;
    if (!open_classes(call, &classes)) return;
    struct node *x = classes.x = node_tracked(tape, classes.x);
    struct node *loss = target_losses(call, &classes);
    if (loss_reduction(call) == LOSS_MEAN)
        loss = node_divide(tape, node_sum(tape, loss, all_dims(loss), false),
                           node_reshape(tape, call_tensor(call, "total_weight"), 0, NULL));
    else loss = reduce_by_weight(call, &classes, loss);
    call_return(call, call_gradient(call, loss, call_tensor(call, "grad_output"), x));
}

/* Sum over the class dimension of weight * value. */
static struct node *class_sum(struct call *call, struct classes *classes, struct node *value)
{
    struct tape *tape = call->tape;
    struct node *weight = call_optional_tensor(call, "weight");
    if (weight) {
        int64_t shape[TENSOR_MAX_RANK];
        for (int d = 0; d < classes->x->rank; d++) shape[d] = 1;
        shape[classes->dim] = classes->x->shape[classes->dim];
        value = node_multiply(tape, value, node_reshape(tape, weight, classes->x->rank, shape));
    }
    return node_sum(tape, value, 1u << classes->dim, true);
}

/* Targets are probabilities of the input's shape. */
static void cross_entropy_of_probabilities(struct call *call, struct node *target)
{
    struct tape *tape = call->tape;
    struct classes classes = { .x = node_to_real(tape, call_tensor(call, "input")) };
    classes.dim = classes.x->rank > 1;
    double smoothing = call_real(call, "label_smoothing"),
           extent = (double)classes.x->shape[classes.dim];
    if (!call_require(call, classes.x->rank == target->rank && classes.x->n == target->n,
                      "probabilities must have the shape of the input"))
        return;
    if (smoothing > 0)
        target = node_offset(tape, node_scale(tape, target, 1 - smoothing), smoothing / extent);
    struct node *log = node_log_softmax(tape, classes.x, classes.dim);
    struct node *loss =
        class_sum(call, &classes, node_negate(tape, node_multiply(tape, log, target)));
    enum loss_reduction reduction = loss_reduction(call);
    int64_t shape[TENSOR_MAX_RANK];
    int rank = 0;
    for (int d = 0; d < classes.x->rank; d++)
        if (d != classes.dim) shape[rank++] = classes.x->shape[d];
    struct node *flat = node_reshape(tape, loss, rank, shape);
    struct node *y = flat;
    if (reduction != LOSS_NONE) y = node_sum(tape, flat, all_dims(flat), false);
    if (reduction == LOSS_MEAN) /* over positions, not over classes */
        y = node_divide(tape, y, node_scalar(tape, (double)classes.x->n / extent));
    call_return_typed(call, y, classes.x->dtype);
}

/* (1 - s) nll + s / C sum_c w_c (-log p_c), both divided by the targets' weights for "mean". */
static struct node *smoothed(struct call *call, struct classes *classes, struct node *log,
                             double smoothing)
{
    struct tape *tape = call->tape;
    double share = smoothing / (double)classes->x->shape[classes->dim];
    struct node *nll =
        weighted(tape, classes,
                 node_negate(tape, node_take_along(tape, log, classes->dim, classes->target)));
    struct node *ignored = node_compare(tape, COMPARE_EQ, classes->weights, node_scalar(tape, 0));
    struct node *smooth = node_negate(tape, class_sum(call, classes, log));
    smooth = node_select(tape, ignored, node_scalar(tape, 0), smooth);
    struct node *loss =
        node_add(tape, node_scale(tape, nll, 1 - smoothing), node_scale(tape, smooth, share));
    return reduce_by_weight(call, classes, loss);
}

/* nll_loss of MindSpore: the inputs are the logarithms. */
static void smoothed_nll_loss(struct call *call)
{
    struct classes classes;
    double smoothing = call_real(call, "label_smoothing");
    if (smoothing == 0) {
        nll_loss(call);
        return;
    }
    if (!open_classes(call, &classes)) return;
    call_return_typed(call, smoothed(call, &classes, classes.x, smoothing), classes.x->dtype);
}

static void cross_entropy(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *target = call_tensor(call, "target");
    double smoothing = call_real(call, "label_smoothing");
    struct classes classes;
    if (!target->integer) {
        cross_entropy_of_probabilities(call, target);
        return;
    }
    if (!open_classes(call, &classes)) return;
    struct node *loss;
    if (smoothing > 0) {
        struct node *log = node_log_softmax(tape, classes.x, classes.dim);
        loss = smoothed(call, &classes, log, smoothing);
    } else {
        struct node *log = node_log_softmax_at(tape, classes.x, classes.dim, classes.target);
        loss = reduce_by_weight(call, &classes, weighted(tape, &classes, node_negate(tape, log)));
    }
    call_return_typed(call, loss, classes.x->dtype);
}

/* torch_npu's: with the logarithms of the probabilities, and two results that only a z loss has. The gradient goes
 * through the loss alone. */
static void npu_cross_entropy_loss(struct call *call)
{
    struct node *x = call_tensor(call, "input"), *target = call_tensor(call, "target");
    if (!call_require(call,
                      call_real(call, "lse_square_scale_for_zloss") == 0 &&
                          !call_bool(call, "return_zloss"),
                      "the z loss is not followed here") ||
        !call_require(call, x->rank == 2 && target->rank == 1 && target->integer,
                      "the input is (samples, classes), the target a class for each"))
        return;
    cross_entropy(call);
    call_return_typed(call, node_log_softmax(call->tape, node_detach(call->tape, x), 1), x->dtype);
    call_return_none(call);
    call_return_none(call);
}

/* ---- margins over classes ------------------------------------------------------------------- */

/* Rows (samples) and columns (classes) of an input (C) or (N, C). */
static bool matrix_input(struct call *call, struct node **x, int64_t *rows, int64_t *columns)
{
    *x = node_to_real(call->tape, call_tensor(call, "input"));
    if (!call_require(call, (*x)->rank <= 2, "the input must be a vector or a matrix of scores"))
        return false;
    *rows = (*x)->rank == 2 ? (*x)->shape[0] : 1;
    *columns = (*x)->rank ? (*x)->shape[(*x)->rank - 1] : 1;
    return true;
}

static void return_per_row(struct call *call, const struct node *x, struct node *loss)
{
    if (x->rank < 2) loss = node_reshape(call->tape, loss, 0, NULL);
    call_return_typed(call, loss_reduced(call, loss), x->dtype);
}

/* sum over j != y of max(0, margin - x_y + x_j)^p w_y / C; p is 1 or 2. */
static void multi_margin_loss(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x, *target = call_tensor(call, "target"), *zero = node_scalar(tape, 0);
    struct node *weight = call_optional_tensor(call, "weight");
    int64_t rows, columns;
    if (!matrix_input(call, &x, &rows, &columns)) return;
    int64_t shape[2] = { rows, columns }, column[2] = { rows, 1 };
    struct node *y = node_reshape(tape, node_cast(tape, target, DT_I64), 2, column);
    struct node *matrix = node_reshape(tape, x, 2, shape);
    struct node *own = node_take_along(tape, matrix, 1, y);
    struct node *class = node_new_integer(tape, DT_I64, 1, &columns);
    if (tape_failed(tape)) return;
    for (int64_t k = 0; k < columns; k++) class->integer[k] = k;
    struct node *z = node_add(
        tape, node_subtract(tape, node_scalar(tape, call_real(call, "margin")), own), matrix);
    if (call_int(call, "p") == 1 &&
        call_real(call, "margin") > 0) /* the target's own is the margin */
        z = node_model_choice(tape, z, z, zero);
    struct node *counts = node_and(tape, node_compare(tape, COMPARE_GT, z, zero),
                                   node_compare(tape, COMPARE_NE, class, y));
    if (call_int(call, "p") == 2) z = node_apply(tape, "square", z);
    struct node *loss = node_select(tape, counts, z, zero);
    if (weight)
        loss = node_multiply(
            tape, loss,
            node_reshape(tape, node_take_along(tape, weight, 0, node_reshape(tape, y, 1, &rows)), 2,
                         column));
    loss = node_divide(tape, node_sum(tape, loss, 2, false), node_scalar(tape, (double)columns));
    return_per_row(call, x, loss);
}

/* The (target, other) pairs of one row: `list` has the targets, ended by -1. */
static size_t margin_pairs(int64_t *own, int64_t *other, int64_t *row_of, const int64_t *list,
                           int64_t row, int64_t columns, char *is_target)
{
    size_t count = 0;
    int64_t targets = 0;
    memset(is_target, 0, (size_t)columns);
    while (targets < columns && list[targets] >= 0) is_target[list[targets++]] = 1;
    for (int64_t t = 0; t < targets; t++)
        for (int64_t k = 0; k < columns; k++) {
            if (is_target[k]) continue;
            if (own) {
                own[count] = row * columns + list[t];
                other[count] = row * columns + k;
                row_of[count] = row;
            }
            count++;
        }
    return count;
}

/* sum over targets y and other classes k of max(0, 1 - (x_y - x_k)) / C */
static void multilabel_margin_loss(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x, *target = call_tensor(call, "target"), *zero = node_scalar(tape, 0);
    int64_t rows, columns, *maps[3] = { NULL };
    size_t pairs = 0;
    if (!matrix_input(call, &x, &rows, &columns)) return;
    char *is_target = tape_allocate(tape, (size_t)columns + 1, 1);
    if (!call_require(call, target->integer && target->n == x->n,
                      "the target must have the shape of the input"))
        return;
    for (size_t i = 0; i < target->n; i++)
        if (!call_require(call, target->integer[i] >= -1 && target->integer[i] < columns,
                          "target %lld is not a class", (long long)target->integer[i]))
            return;
    for (int64_t r = 0; r < rows; r++)
        pairs +=
            margin_pairs(NULL, NULL, NULL, target->integer + r * columns, r, columns, is_target);
    for (int k = 0; k < 3; k++) maps[k] = tape_allocate(tape, pairs, sizeof *maps[k]);
    if (tape_failed(tape)) return;
    pairs = 0;
    for (int64_t r = 0; r < rows; r++)
        pairs += margin_pairs(maps[0] + pairs, maps[1] + pairs, maps[2] + pairs,
                              target->integer + r * columns, r, columns, is_target);
    int64_t count = (int64_t)pairs;
    struct node *z = node_subtract(tape, node_gather(tape, x, 1, &count, maps[1], 0),
                                   node_gather(tape, x, 1, &count, maps[0], 0));
    z = node_offset(tape, z, 1);
    z = node_model_choice(tape, z, z, zero);
    z = node_model_choice(tape, node_select(tape, node_compare(tape, COMPARE_GT, z, zero), z, zero),
                          z, zero);
    struct node *loss = node_scatter_add(tape, z, 1, &rows, maps[2]);
    return_per_row(call, x, node_divide(tape, loss, node_scalar(tape, (double)columns)));
}

/* ---- operators of aten ---------------------------------------------------------------------- */

static const char *const of_input[] = { "input", NULL };

static void multi_margin_loss_backward(struct call *call)
{
    call_return_gradients(call, multi_margin_loss, of_input);
}

/* With a mask of the classes that are targets, in the input's dtype. */
static void multilabel_margin_loss_forward(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input"), *target = call_tensor(call, "target");
    multilabel_margin_loss(call);
    struct node *mask = node_constant(tape, x->dtype, 0, target->rank, target->shape);
    if (tape_failed(tape)) return;
    size_t columns = target->rank ? (size_t)target->shape[target->rank - 1] : 1;
    for (size_t first = 0; first < target->n; first += columns)
        for (size_t k = 0; k < columns && target->integer[first + k] >= 0; k++)
            mask->value[first + (size_t)target->integer[first + k]] = 1;
    call_return(call, mask);
}

static void multilabel_margin_loss_backward(struct call *call)
{
    call_return_gradients(call, multilabel_margin_loss, of_input);
}

/* clang-format off */
#define LEGACY ", bool? size_average=None"
const struct op ops_loss_class[] = {
    { "nll_loss", FUNCTIONAL, "(Tensor input, Tensor target, Tensor? weight=None" LEGACY ", int ignore_index=-100, bool? reduce=None, str reduction='mean')", nll_loss, OP_ONE_NODE, 0, NULL },
    { "nll_loss", MINDSPORE, "(Tensor input, Tensor target, Tensor? weight, int ignore_index, str reduction, float label_smoothing)", smoothed_nll_loss, 0, 0, NULL },
    { "nll_loss|nll_loss2d", TORCH, "(Tensor input, Tensor target, Tensor? weight=None, int reduction=0, int ignore_index=-100)", nll_loss, OP_ONE_NODE, 0, NULL },
    { "cross_entropy", FUNCTIONAL, "(Tensor input, Tensor target, Tensor? weight=None" LEGACY ", int ignore_index=-100, bool? reduce=None, str reduction='mean', float label_smoothing=0.0)", cross_entropy, 0, 0, NULL },
    { "cross_entropy_loss", TORCH, "(Tensor input, Tensor target, Tensor? weight=None, int reduction=0, int ignore_index=-100, float label_smoothing=0.0)", cross_entropy, 0, 0, NULL },
    { "multi_margin_loss", FUNCTIONAL, "(Tensor input, Tensor target, int p=1, float margin=1.0, Tensor? weight=None" LEGACY ", bool? reduce=None, str reduction='mean')", multi_margin_loss, OP_ONE_NODE, 0, NULL },
    { "multilabel_margin_loss", FUNCTIONAL, "(Tensor input, Tensor target" LEGACY ", bool? reduce=None, str reduction='mean')", multilabel_margin_loss, OP_ONE_NODE, 0, NULL },
    /* aten */
    { "nll_loss|nll_loss2d|nll_loss_nd", ATEN, "(Tensor input, Tensor target, Tensor? weight=None, int reduction=1, int ignore_index=-100)", nll_loss, OP_ONE_NODE, 0, NULL },
    { "nll_loss_forward|nll_loss2d_forward", ATEN, "(Tensor input, Tensor target, Tensor? weight, int reduction, int ignore_index)", nll_loss_forward, OP_ONE_NODE, 0, NULL },
    { "nll_loss_backward|nll_loss2d_backward", ATEN, "(Tensor grad_output, Tensor input, Tensor target, Tensor? weight, int reduction, int ignore_index, Tensor total_weight)", nll_loss_backward, OP_NO_GRADIENT, 0, NULL },
    { "multi_margin_loss", ATEN, "(Tensor input, Tensor target, Scalar p=1, Scalar margin=1, Tensor? weight=None, int reduction=1)", multi_margin_loss, OP_ONE_NODE, 0, NULL },
    { "multi_margin_loss_backward", ATEN, "(Tensor grad_output, Tensor input, Tensor target, Scalar p, Scalar margin, Tensor? weight=None, int reduction=1)", multi_margin_loss_backward, OP_NO_GRADIENT, 0, NULL },
    { "multilabel_margin_loss", ATEN, "(Tensor input, Tensor target, int reduction=1)", multilabel_margin_loss, OP_ONE_NODE, 0, NULL },
    { "multilabel_margin_loss_forward", ATEN, "(Tensor input, Tensor target, int reduction)", multilabel_margin_loss_forward, OP_ONE_NODE, 0, NULL },
    { "multilabel_margin_loss_backward", ATEN, "(Tensor grad_output, Tensor input, Tensor target, int reduction, Tensor is_target)", multilabel_margin_loss_backward, OP_NO_GRADIENT, 0, NULL },
    { "npu_cross_entropy_loss", NPU, "(Tensor input, Tensor target, Tensor? weight=None, str reduction='mean', int ignore_index=-100, float label_smoothing=0.0, float lse_square_scale_for_zloss=0.0, bool return_zloss=False)", npu_cross_entropy_loss, OP_ONE_NODE, 0, NULL },
    { "cross_entropy_loss", ATEN, "(Tensor input, Tensor target, Tensor? weight=None, int reduction=1, int ignore_index=-100, float label_smoothing=0.0)", cross_entropy, 0, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(loss_class);
