/* Losses that compare an input with a target element by element, then reduce.
 *
 * Each is written so that nothing cancels that need not: the cross entropy of a logit is
 * (1 - t) softplus(x) + w t softplus(-x), whose terms are not negative.
 */
#include <math.h>
#include <string.h>

#include "bench/call/op.h"
#include "bench/ops/integers.h"
#include "bench/ops/loss_reduction.h"
#include "bench/ops/operands.h"
#include "bench/ops/pullback.h"
#include "bench/primitives/alias.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/complex_functions.h"
#include "bench/primitives/composed_functions.h"
#include "bench/primitives/cotangent.h"
#include "bench/primitives/integral.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/reduce.h"
#include "bench/primitives/selection.h"
#include "bench/primitives/stated_gradient.h"
#include "bench/primitives/unary.h"

/* Input, target and the dtype of the result. */
struct pair {
    struct node *x, *t;
    enum dtype dtype;
};

static struct pair pair_of(struct call *call, const char *first, const char *second)
{
    struct pair pair = { call_tensor(call, first), call_tensor(call, second), DT_NONE };
    pair.dtype = call_float_type(call, (struct node *[]){ pair.x, pair.t }, 2);
    pair.x = node_to_real(call->tape, pair.x);
    pair.t = node_to_real(call->tape, pair.t);
    return pair;
}

static struct node *number(struct call *call, const char *name)
{
    return node_scalar(call->tape, call_real(call, name));
}

static struct node *one_less(struct tape *tape, struct node *x)
{
    return node_subtract(tape, node_scalar(tape, 1), x);
}

static struct node *times_weight(struct call *call, struct node *loss)
{
    struct node *weight = call_optional_tensor(call, "weight");
    return weight ? node_multiply(call->tape, loss, weight) : loss;
}

/* ---- distances of input and target --------------------------------------------------------------- */

static void mse_loss(struct call *call)
{
    struct pair pair = pair_of(call, "input", "target");
    struct node *d = node_subtract(call->tape, pair.x, pair.t);
    call_return_typed(call, loss_reduced(call, node_apply(call->tape, "square", d)), pair.dtype);
}

static int64_t distance(int64_t a, int64_t b)
{
    int64_t difference = wrapping_subtract(a, b);
    return difference < 0 ? wrapping_negate(difference) : difference;
}

/* |input - target|; of integers, which have no mean, an integer. */
static void l1_loss(struct call *call)
{
    struct operands operands = two_operands(call, "input", "target");
    if (operands.integral) {
        struct node *d =
            node_integer_binary(call->tape, operands.dtype, distance, operands.a, operands.b);
        if (call_require(call, loss_reduction(call) != LOSS_MEAN,
                         "the mean of integers needs a dtype"))
            call_return_typed(call, loss_reduced(call, d),
                              loss_reduction(call) == LOSS_SUM ? DT_I64 : operands.dtype);
        return;
    }
    struct pair pair = pair_of(call, "input", "target");
    struct node *d = node_magnitude(call->tape, node_subtract(call->tape, pair.x, pair.t));
    call_return_typed(call, loss_reduced(call, d), dtype_component(pair.dtype));
}

/* sign(d) toward d. In a model: where d is 0, any slope between those of the two sides. A kernel that asks for d < width before it asks for
 * d = 0 has one of them there. */
static void distance_backward(struct tape *tape, struct node *node, struct node *cotangent,
                              const void *parameters)
{
    struct node *d = node->inputs[1], *slope = node_apply(tape, "sign", d);
    struct node *kinks =
        node_to_real(tape, node_compare(tape, COMPARE_EQ, d, node_scalar(tape, 0)));
    double roundings = (tape_is_typical(tape) ? 4 : 1) / tape->unit;
    (void)parameters;
    gradient_pass(tape, d, cotangent, node_model_error(tape, slope, kinks, roundings));
}

/* How a kernel that rounds between its steps differentiates a loss and its mean in one: the number that a mean divides by. */
static double mean_count(struct call *call, const struct node *loss)
{
    return loss_reduction(call) == LOSS_MEAN ? (double)loss->n : 1;
}

struct huber_steps {
    double width, share; /* 1 / the number of elements of a mean */
};

/* PyTorch's kernel: (share d) c, with the width of d's sign in place of a d beyond it. */
static void huber_steps_backward(struct tape *tape, struct node *node, struct node *cotangent,
                                 const void *parameters)
{
    const struct huber_steps *steps = parameters;
    struct node *x = node->inputs[1], *t = node->inputs[2];
    struct node *d = node_subtract(tape, node_detach(tape, x), node_detach(tape, t));
    struct node *width = node_scalar(tape, steps->width);
    struct node *beyond = node_compare(tape, COMPARE_GE, node_apply(tape, "abs", d), width);
    struct node *edge = node_multiply(tape, node_apply(tape, "sign", d), width);
    struct node *slope = node_select(tape, beyond, edge, d);
    if (steps->share != 1) slope = node_multiply(tape, slope, node_scalar(tape, steps->share));
    slope = node_multiply(tape, slope, cotangent);
    gradient_pass(tape, x, slope, NULL);
    gradient_pass(tape, t, node_negate(tape, slope), NULL);
}

/* d^2 / (2 width) within the width, scale (|d| - width / 2) beyond; smooth_l1: scale 1 and the
 * parabola divided by the width; huber: the whole multiplied by it. */
static void smooth_loss(struct call *call)
{
    struct tape *tape = call->tape;
    bool huber = call->op->detail != 0;
    struct pair pair = pair_of(call, "input", "target");
    double width = call_real(call, huber ? "delta" : "beta");
    struct node *d = node_model_any_slope_at_nan(tape, node_subtract(tape, pair.x, pair.t));
    struct node *size = node_apply(tape, "abs", d);
    if (width == 0 && !huber) {
        size = node_stated_gradient(tape, size, 1, &d, distance_backward, NULL);
        call_return_typed(call, loss_reduced(call, size), pair.dtype);
        return;
    }
    struct node *limit = node_scalar(tape, width);
    struct node *inside = node_compare(tape, huber ? COMPARE_LE : COMPARE_LT, size, limit);
    /* Zero where the line counts: the parabola of an infinite difference has no gradient there. */
    struct node *near = node_select(tape, inside, d, node_scalar(tape, 0));
    struct node *parabola = node_scale(tape, node_apply(tape, "square", near), 0.5);
    struct node *line = node_subtract(tape, size, node_scalar(tape, 0.5 * width));
    if (huber) line = node_multiply(tape, line, limit);
    else parabola = node_divide(tape, parabola, limit);
    struct node *loss = node_select(tape, inside, parabola, line), *y = loss_reduced(call, loss);
    struct huber_steps *steps = tape_allocate(tape, 1, sizeof *steps);
    if (huber && composes(tape) && steps && loss->n) {
        *steps = (struct huber_steps){ width, 1 / mean_count(call, loss) };
        y = node_stated_gradient(tape, y, 2, (struct node *[]){ pair.x, pair.t },
                                 huber_steps_backward, steps);
    }
    call_return_typed(call, y, pair.dtype);
}

/* ---- binary cross entropy -------------------------------------------------------------------------- */

/* PyTorch's: (x - t) / max(x (1 - x), float32's 1e-12) toward x, log(1 - x) - log(x) toward t. */
static void binary_backward(struct tape *tape, struct node *node, struct node *cotangent,
                            const void *parameters)
{
    struct node *x = node->inputs[1], *t = node->inputs[2],
                *least = node_scalar(tape, (double)1e-12f);
    (void)parameters;
    if (x->tracked) {
        struct node *spread = node_multiply(tape, x, one_less(tape, x));
        spread = node_select(tape, node_compare(tape, COMPARE_LT, spread, least), least, spread);
        gradient_pass(tape, x, cotangent, node_divide(tape, node_subtract(tape, x, t), spread));
    }
    if (t->tracked)
        gradient_pass(tape, t, cotangent,
                      node_subtract(tape, node_apply(tape, "log1p", node_negate(tape, x)),
                                    node_apply(tape, "log", x)));
}

/* -(t log x + (1 - t) log(1 - x)), the logarithms at least -100. */
static void binary_cross_entropy(struct call *call)
{
    struct tape *tape = call->tape;
    struct pair pair = pair_of(call, "input", "target");
    struct node *least = node_scalar(tape, -100);
    struct node *yes = node_apply(tape, "log", pair.x),
                *no = node_apply(tape, "log1p", node_negate(tape, pair.x));
    yes = node_select(tape, node_compare(tape, COMPARE_LT, yes, least), least, yes);
    no = node_select(tape, node_compare(tape, COMPARE_LT, no, least), least, no);
    struct node *loss = node_add(tape, node_multiply(tape, pair.t, yes),
                                 node_multiply(tape, one_less(tape, pair.t), no));
    loss = node_stated_gradient(tape, node_negate(tape, loss), 2,
                                (struct node *[]){ pair.x, pair.t }, binary_backward, NULL);
    call_return_typed(call, loss_reduced(call, times_weight(call, loss)), pair.dtype);
}

/* (sigmoid(x) - t) c toward x; toward t -x c, by frameworks the difference of two softplus. */
static void logits_backward(struct tape *tape, struct node *node, struct node *cotangent,
                            const void *parameters)
{
    struct node *x = node->inputs[1], *t = node->inputs[2];
    struct node *one = node_constant(tape, DT_NONE, 1, x->rank, x->shape);
    (void)parameters;
    if (x->tracked) {
        struct node *slope = node_subtract(tape, node_apply(tape, "sigmoid", x), t);
        /* (1 - t) sigmoid(x) - t sigmoid(-x), say: absolute errors, 7 t sigmoid(-x) for the other function, typically a quarter,
         * and three roundings, but together at most 8, typically 3 / 4 */
        double roundings = tape_is_typical(tape) ? 3 : 8;
        gradient_pass(tape, x, cotangent, node_model_error(tape, slope, one, roundings));
    }
    if (t->tracked) {
        struct node *slope = node_subtract(tape, node_apply(tape, "softplus", node_negate(tape, x)),
                                           node_apply(tape, "softplus", x));
        gradient_pass(tape, t, cotangent, node_model_error(tape, slope, x, 2));
    }
}

/* The formula that kernels use, which cancels where the loss is small and whose gradient is sigmoid(x) - t:
 * (1 - t) x + (1 + (w - 1) t) (max(-x, 0) + log(1 + exp(-|x|))). */
static struct node *published_logits_loss(struct tape *tape, struct node *x, struct node *t,
                                          struct node *positive)
{
    struct node *one = node_constant(tape, DT_NONE, 1, x->rank, x->shape);
    struct node *y = node_apply(tape, "softplus", node_negate(tape, x));
    /* 7 of one exponential in a sum of 1 and that, which is rounded: 3.5 and 1 */
    y = node_model_error(tape, y, one, 5);
    if (positive)
        y = node_multiply(
            tape, y, node_offset(tape, node_multiply(tape, node_offset(tape, positive, -1), t), 1));
    /* (1 - t) x + max(-x, 0), or x - t x: at most three roundings of what is no larger than x for t from 0 to 1 */
    y = node_model_error(tape, node_add(tape, node_multiply(tape, one_less(tape, t), x), y), x,
                         positive ? 8 : 4);
    if (!positive)
        return node_stated_gradient(tape, y, 2, (struct node *[]){ x, t }, logits_backward, NULL);
    /* The gradient is (sigmoid(x) - t) c, w t for t: that of softplus(x) - t x. */
    struct node *yes = positive ? node_multiply(tape, positive, t) : t;
    struct node *all = positive ? node_add(tape, yes, one_less(tape, t)) : one;
    /* v + 1 - t, where the sum is rounded before what it is left with may be small */
    if (positive) all = node_model_error(tape, all, node_offset(tape, yes, 1), 1);
    struct node *other = node_subtract(tape,
                                       node_multiply(tape, all, node_apply(tape, "softplus", x)),
                                       node_multiply(tape, yes, x));
    return node_model_either(tape, y, other);
}

struct logits_steps {
    struct node *positive, *weight; /* or NULL */
    double count;                   /* of the elements of a mean, else 1 */
};

/* What goes to x: of the cotangent and the slope, with weights, the mean at its end. */
static void pass_logits(struct tape *tape, const struct logits_steps *steps, struct node *x,
                        struct node *cotangent, struct node *slope)
{
    slope = node_multiply(tape, slope, cotangent);
    if (steps->weight) slope = node_multiply(tape, slope, steps->weight);
    if (steps->count != 1) slope = node_divide(tape, slope, node_scalar(tape, steps->count));
    gradient_pass(tape, x, slope, NULL);
}

/* As autograd composes it: c (sigmoid(x) - t), and -c x to t; with weights w, and v = w t, c ((v + 1 - t) sigmoid(x) - v), and
 * c (log sigmoid(-x) - w log sigmoid(x)). */
static void logits_steps_backward(struct tape *tape, struct node *node, struct node *cotangent,
                                  const void *parameters)
{
    const struct logits_steps *steps = parameters;
    struct node *x = node->inputs[1], *t = node->inputs[2], *minus = node_negate(tape, x);
    struct node *positive = steps->positive;
    if (t->tracked && positive) {
        struct node *yes = node_multiply(tape, node_apply(tape, "logsigmoid", x), positive);
        struct node *no = node_apply(tape, "logsigmoid", minus);
        pass_logits(tape, steps, t, cotangent, node_subtract(tape, no, yes));
    } else if (t->tracked) pass_logits(tape, steps, t, cotangent, minus);
    if (!x->tracked) return;
    struct node *sigmoid = node_apply(tape, "sigmoid", x), *yes = t;
    if (positive) {
        yes = node_multiply(tape, positive, t);
        struct node *all = node_subtract(tape, node_offset(tape, yes, 1), t);
        sigmoid = node_multiply(tape, all, sigmoid);
    }
    pass_logits(tape, steps, x, cotangent, node_subtract(tape, sigmoid, yes));
}

/* (1 - t) x + m + log(exp(-m) + exp(-x - m)) with m = max(-x, 0); with weights (1 - t) x + (1 + (w - 1) t) (log(...) + m). */
static struct node *logits_loss_by_steps(struct tape *tape, struct node *loss, struct node *x,
                                         struct node *t, struct node *positive)
{
    struct node *zero = node_scalar(tape, 0), *minus = node_negate(tape, x);
    struct node *most = node_select(tape, node_compare(tape, COMPARE_LT, minus, zero), zero, minus);
    struct node *sum = node_add(tape, node_apply(tape, "exp", node_negate(tape, most)),
                                node_apply(tape, "exp", node_subtract(tape, minus, most)));
    struct node *log = node_apply(tape, "log", sum), *y = node_multiply(tape, one_less(tape, t), x);
    if (positive) {
        struct node *weight = node_multiply(tape, node_offset(tape, positive, -1), t);
        y = node_add(tape, y,
                     node_multiply(tape, node_offset(tape, weight, 1), node_add(tape, log, most)));
    } else y = node_add(tape, node_add(tape, y, most), log);
    return node_as_steps(tape, loss, y, "binary_cross_entropy_with_logits");
}

static void binary_cross_entropy_with_logits(struct call *call)
{
    struct tape *tape = call->tape;
    struct pair pair = pair_of(call, "input", "target");
    struct node *positive = call_optional_tensor(call, "pos_weight");
    struct node *yes =
        node_multiply(tape, pair.t, node_apply(tape, "softplus", node_negate(tape, pair.x)));
    if (positive) yes = node_multiply(tape, yes, positive);
    struct node *no =
        node_multiply(tape, one_less(tape, pair.t), node_apply(tape, "softplus", pair.x));
    struct node *loss = node_add(tape, yes, no);
    if (tape_is_model(tape)) {
        struct node *published = published_logits_loss(tape, pair.x, pair.t, positive);
        loss = positive ? node_model_either(tape, published, loss) : published;
    }
    if (composes(tape)) loss = logits_loss_by_steps(tape, loss, pair.x, pair.t, positive);
    struct node *weight = call_optional_tensor(call, "weight");
    struct node *y = loss_reduced(call, times_weight(call, loss));
    bool flat = !(positive && positive->tracked) && !(weight && weight->tracked) &&
                pair.x->n == loss->n && pair.t->n == loss->n;
    struct logits_steps *steps = tape_allocate(tape, 1, sizeof *steps);
    if (composes(tape) && flat && steps && loss->n) {
        *steps = (struct logits_steps){ positive, weight, mean_count(call, loss) };
        y = node_stated_gradient(tape, y, 2, (struct node *[]){ pair.x, pair.t },
                                 logits_steps_backward, steps);
    }
    call_return_typed(call, y, pair.dtype);
}

/* ---- divergences ------------------------------------------------------------------------------------- */

/* t (log t - x), or exp(t) (t - x) for logarithmic targets. "batchmean" divides the sum by the
 * first dimension. */
static void kl_div(struct call *call)
{
    struct tape *tape = call->tape;
    struct pair pair = pair_of(call, "input", "target");
    struct node *loss;
    if (call_bool(call, "log_target"))
        loss = node_multiply(tape, node_apply(tape, "exp", pair.t),
                             node_subtract(tape, pair.t, pair.x));
    else
        loss = node_subtract(tape, node_apply2(tape, "xlogy", pair.t, pair.t),
                             node_multiply(tape, pair.t, pair.x));
    if (strcmp(call_string(call, "reduction"), "batchmean") != 0) {
        call_return_typed(call, loss_reduced(call, loss), pair.dtype);
        return;
    }
    struct node *sum = node_sum(tape, loss, all_dims(loss), false);
    double batch = pair.x->rank ? (double)pair.x->shape[0] : 1;
    call_return_typed(call, node_divide(tape, sum, node_scalar(tape, batch)), pair.dtype);
}

/* exp(x) - t x, or x - t log(x + eps); with Stirling's term for t > 1 when full. */
static void poisson_nll_loss(struct call *call)
{
    struct tape *tape = call->tape;
    struct pair pair = pair_of(call, "input", "target");
    struct node *loss;
    if (call_bool(call, "log_input"))
        loss = node_subtract(tape, node_apply(tape, "exp", pair.x),
                             node_multiply(tape, pair.t, pair.x));
    else {
        struct node *log = node_apply(tape, "log", node_add(tape, pair.x, number(call, "eps")));
        loss = node_subtract(tape, pair.x, node_multiply(tape, pair.t, log));
    }
    if (call_bool(call, "full")) {
        struct node *above = node_compare(tape, COMPARE_GT, pair.t, node_scalar(tape, 1));
        struct node *sane = node_select(tape, above, pair.t, node_scalar(tape, 2));
        struct node *stirling = node_subtract(tape, node_apply2(tape, "xlogy", sane, sane), sane);
        struct node *circle = node_multiply(tape, node_scale(tape, node_pi(tape), 2), sane);
        stirling = node_add(tape, stirling, node_scale(tape, node_apply(tape, "log", circle), 0.5));
        loss = node_add(tape, loss, node_select(tape, above, stirling, node_scalar(tape, 0)));
    }
    call_return_typed(call, loss_reduced(call, loss), pair.dtype);
}

/* The cotangent passes as if nothing had been clamped. */
static void unclamped_backward(struct tape *tape, struct node *node, struct node *cotangent,
                               const void *parameters)
{
    (void)parameters;
    gradient_pass(tape, node->inputs[1], cotangent, NULL);
}

/* (log v + (x - t)^2 / v) / 2, v at least eps. v may lack the last dimension of x. */
static void gaussian_nll_loss(struct call *call)
{
    struct tape *tape = call->tape;
    struct pair pair = pair_of(call, "input", "target");
    struct node *v = node_to_real(tape, call_tensor(call, "var")), *eps = number(call, "eps");
    int64_t shape[TENSOR_MAX_RANK];
    if (v->rank + 1 == pair.x->rank) {
        memcpy(shape, v->shape, sizeof shape);
        shape[v->rank] = 1;
        v = node_reshape(tape, v, v->rank + 1, shape);
    }
    struct node *clamped = node_select(tape, node_compare(tape, COMPARE_LT, v, eps), eps, v);
    v = node_stated_gradient(tape, clamped, 1, &v, unclamped_backward, NULL);
    struct node *d = node_subtract(tape, pair.x, pair.t);
    struct node *loss = node_divide(tape, node_apply(tape, "square", d), v);
    loss = node_scale(tape, node_add(tape, node_apply(tape, "log", v), loss), 0.5);
    if (call_bool(call, "full"))
        loss = node_add(
            tape, loss,
            node_scale(tape, node_apply(tape, "log", node_scale(tape, node_pi(tape), 2)), 0.5));
    call_return_typed(call, loss_reduced(call, loss), pair.dtype);
}

/* ---- margins ---------------------------------------------------------------------------------------------- */

/* The same in the dtype of an integral x: PyTorch makes the margin one of its numbers. */
static void hinge_embedding_loss_of_integers(struct call *call, struct node *x, struct node *target)
{
    struct tape *tape = call->tape;
    struct node *margin = node_to_integer(tape, number(call, "margin"), x->dtype);
    struct node *zero = node_integer_constant(tape, x->dtype, 0, 0, NULL);
    struct node *hinge = clamp_integers(
        tape, x->dtype, node_integer_binary(tape, x->dtype, wrapping_subtract, margin, x), zero,
        NULL);
    struct node *is_far = node_compare(tape, COMPARE_NE, target, node_scalar(tape, 1)),
                *is_near = node_compare(tape, COMPARE_NE, target, node_scalar(tape, -1));
    struct node *loss = node_integer_binary(tape, x->dtype, wrapping_add,
                                            node_select(tape, is_far, hinge, zero),
                                            node_select(tape, is_near, x, zero));
    enum loss_reduction reduction = loss_reduction(call);
    if (call_require(call, reduction != LOSS_MEAN, "the mean of integers needs a dtype"))
        call_return_typed(call, loss_reduced(call, loss),
                          reduction == LOSS_SUM ? DT_I64 : x->dtype);
}

/* x for target 1, max(0, margin - x) for target -1 (both for any other), in the dtype of x. */
static void hinge_embedding_loss(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input");
    if (x->integer) {
        hinge_embedding_loss_of_integers(call, x, call_tensor(call, "target"));
        return;
    }
    struct pair pair = pair_of(call, "input", "target");
    struct node *zero = node_scalar(tape, 0), *one = node_scalar(tape, 1),
                *less = node_scalar(tape, -1);
    pair.x = node_model_any_slope_at_nan(tape, pair.x);
    struct node *hinge =
        node_positive_part(tape, node_subtract(tape, number(call, "margin"), pair.x));
    struct node *far = node_select(tape, node_compare(tape, COMPARE_NE, pair.t, one), hinge, zero);
    struct node *near =
        node_select(tape, node_compare(tape, COMPARE_NE, pair.t, less), pair.x, zero);
    call_return_typed(call, loss_reduced(call, node_add(tape, far, near)), x->dtype);
}

/* max(0, margin - t (x1 - x2)). Differences and products of integers wrap around. */
static void margin_ranking_loss(struct call *call)
{
    struct tape *tape = call->tape;
    struct pair pair = pair_of(call, "input1", "target");
    struct node *x[2] = { call_tensor(call, "input1"), call_tensor(call, "input2") };
    struct node *d = node_subtract_as(tape, call_result_type(call, x, 2), x[0], x[1]);
    struct node *t = node_negate_as(tape, call_tensor(call, "target"));
    struct node *product =
        node_multiply_as(tape, call_result_type(call, (struct node *[]){ t, d }, 2), t, d);
    struct node *z = node_add(tape, number(call, "margin"), node_to_real(tape, product));
    call_return_typed(call, loss_reduced(call, node_positive_part(tape, z)), pair.dtype);
}

/* log(1 + exp(-t x)); a kernel may round the sum, as PyTorch 1.13 does. */
static void soft_margin_loss(struct call *call)
{
    struct tape *tape = call->tape;
    struct pair pair = pair_of(call, "input", "target");
    struct node *z = node_negate(tape, node_multiply(tape, pair.t, pair.x));
    struct node *loss = node_apply(tape, "softplus", z);
    if (tape_is_model(tape) && !tape_failed(tape))
        loss = node_model_error(tape, loss,
                                node_constant(tape, DT_NONE, 1, loss->rank, loss->shape), 1);
    call_return_typed(call, loss_reduced(call, loss), pair.dtype);
}

/* The mean over the last dimension of the binary cross entropies of logits. */
static void multilabel_soft_margin_loss(struct call *call)
{
    struct tape *tape = call->tape;
    struct pair pair = pair_of(call, "input", "target");
    struct node *yes =
        node_multiply(tape, pair.t, node_apply(tape, "softplus", node_negate(tape, pair.x)));
    struct node *no =
        node_multiply(tape, one_less(tape, pair.t), node_apply(tape, "softplus", pair.x));
    struct node *loss = times_weight(call, node_add(tape, yes, no));
    /* PyTorch's classes are those of the input, also where it is broadcast. */
    int dim = pair.x->rank - 1;
    if (dim >= 0 && dim < loss->rank)
        loss = node_divide(tape, node_sum(tape, loss, 1u << dim, false),
                           node_scalar(tape, (double)pair.x->shape[dim]));
    call_return_typed(call, loss_reduced(call, loss), pair.dtype);
}

/* ---- gradients as operators of aten ------------------------------------------------------------------------ */

static const char *const of_input[] = { "input", NULL };

static void mse_loss_backward(struct call *call)
{
    call_return_gradients(call, mse_loss, of_input);
}

static void smooth_loss_backward(struct call *call)
{
    call_return_gradients(call, smooth_loss, of_input);
}

static void binary_cross_entropy_backward(struct call *call)
{
    call_return_gradients(call, binary_cross_entropy, of_input);
}

static void soft_margin_loss_backward(struct call *call)
{
    call_return_gradients(call, soft_margin_loss, of_input);
}

/* The functions of the torch module reduce nothing by default: PyTorch's argument parser reads the
 * default at::Reduction::Mean of their signatures as 0. */
/* clang-format off */
#define LEGACY ", bool? size_average=None, bool? reduce=None, str reduction='mean'"
#define PAIR "(Tensor input, Tensor target"
#define GRADIENT(name, arguments, function, detail) \
    { name, ATEN, "(Tensor grad_output, Tensor input, Tensor target, " arguments ")", function, OP_NO_GRADIENT, detail, NULL }
const struct op ops_loss[] = {
    { "mse_loss", FUNCTIONAL, PAIR LEGACY ")", mse_loss, OP_ONE_NODE, 0, NULL },
    { "l1_loss", FUNCTIONAL, PAIR LEGACY ")", l1_loss, 0, 0, NULL },
    { "smooth_l1_loss", FUNCTIONAL, PAIR LEGACY ", float beta=1.0)", smooth_loss, OP_ONE_NODE, 0, NULL },
    { "huber_loss", FUNCTIONAL, PAIR ", str reduction='mean', float delta=1.0)", smooth_loss, OP_ONE_NODE, 1, NULL },
    { "binary_cross_entropy", FUNCTIONAL, PAIR ", Tensor? weight=None" LEGACY ")", binary_cross_entropy, OP_ONE_NODE, 0, NULL },
    { "binary_cross_entropy_with_logits", FUNCTIONAL, PAIR ", Tensor? weight=None" LEGACY ", Tensor? pos_weight=None)", binary_cross_entropy_with_logits, OP_ONE_NODE, 0, NULL },
    { "binary_cross_entropy_with_logits", ATEN, PAIR ", Tensor? weight=None, Tensor? pos_weight=None, int reduction=1)", binary_cross_entropy_with_logits, OP_ONE_NODE, 0, NULL },
    { "binary_cross_entropy_with_logits", TORCH, PAIR ", Tensor? weight=None, Tensor? pos_weight=None, int reduction=0)", binary_cross_entropy_with_logits, OP_ONE_NODE, 0, NULL },
    { "kl_div", FUNCTIONAL, PAIR LEGACY ", bool log_target=False)", kl_div, 0, 0, NULL },
    { "kl_div", ATEN, PAIR ", int reduction=1, *, bool log_target=False)", kl_div, 0, 0, NULL },
    { "kl_div", TORCH, PAIR ", int reduction=0, *, bool log_target=False)", kl_div, 0, 0, NULL },
    { "poisson_nll_loss", FUNCTIONAL, PAIR ", bool log_input=True, bool full=False, bool? size_average=None, float eps=1e-08, bool? reduce=None, str reduction='mean')", poisson_nll_loss, 0, 0, NULL },
    { "poisson_nll_loss", TORCH, PAIR ", bool log_input, bool full, float eps, int reduction)", poisson_nll_loss, 0, 0, NULL },
    { "gaussian_nll_loss", FUNCTIONAL, PAIR ", Tensor var, bool full=False, float eps=1e-06, str reduction='mean')", gaussian_nll_loss, 0, 0, NULL },
    { "hinge_embedding_loss", FUNCTIONAL, PAIR ", float margin=1.0" LEGACY ")", hinge_embedding_loss, 0, 0, NULL },
    { "hinge_embedding_loss", ATEN, PAIR ", float margin=1.0, int reduction=1)", hinge_embedding_loss, 0, 0, NULL },
    { "hinge_embedding_loss", TORCH, PAIR ", float margin=1.0, int reduction=0)", hinge_embedding_loss, 0, 0, NULL },
    { "margin_ranking_loss", FUNCTIONAL, "(Tensor input1, Tensor input2, Tensor target, float margin=0" LEGACY ")", margin_ranking_loss, 0, 0, NULL },
    { "margin_ranking_loss", ATEN, "(Tensor input1, Tensor input2, Tensor target, float margin=0, int reduction=1)", margin_ranking_loss, 0, 0, NULL },
    { "margin_ranking_loss", TORCH, "(Tensor input1, Tensor input2, Tensor target, float margin=0, int reduction=0)", margin_ranking_loss, 0, 0, NULL },
    { "soft_margin_loss", FUNCTIONAL, PAIR LEGACY ")", soft_margin_loss, OP_ONE_NODE, 0, NULL },
    { "multilabel_soft_margin_loss", FUNCTIONAL, PAIR ", Tensor? weight=None" LEGACY ")", multilabel_soft_margin_loss, 0, 0, NULL },
    /* aten */
    { "mse_loss", ATEN, PAIR ", int reduction=1)", mse_loss, OP_ONE_NODE, 0, NULL },
    { "l1_loss", ATEN, PAIR ", int reduction=1)", l1_loss, 0, 0, NULL },
    { "smooth_l1_loss", ATEN, PAIR ", int reduction=1, float beta=1.0)", smooth_loss, OP_ONE_NODE, 0, NULL },
    { "huber_loss", ATEN, PAIR ", int reduction=1, float delta=1.0)", smooth_loss, OP_ONE_NODE, 1, NULL },
    { "binary_cross_entropy", ATEN, PAIR ", Tensor? weight=None, int reduction=1)", binary_cross_entropy, OP_ONE_NODE, 0, NULL },
    { "soft_margin_loss", ATEN, PAIR ", int reduction=1)", soft_margin_loss, OP_ONE_NODE, 0, NULL },
    GRADIENT("mse_loss_backward", "int reduction", mse_loss_backward, 0),
    GRADIENT("smooth_l1_loss_backward", "int reduction, float beta", smooth_loss_backward, 0),
    GRADIENT("huber_loss_backward", "int reduction, float delta", smooth_loss_backward, 1),
    GRADIENT("binary_cross_entropy_backward", "Tensor? weight=None, int reduction=1", binary_cross_entropy_backward, 0),
    GRADIENT("soft_margin_loss_backward", "int reduction", soft_margin_loss_backward, 0),
};
/* clang-format on */
OP_TABLE_END(loss);
