/* Distances and similarities of vectors, and the losses built on them. */
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
#include "bench/primitives/compose.h"
#include "bench/primitives/composed_functions.h"
#include "bench/primitives/cotangent.h"
#include "bench/primitives/extremum.h"
#include "bench/primitives/gather.h"
#include "bench/primitives/integral.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/reduce.h"
#include "bench/primitives/selection.h"
#include "bench/primitives/stated_gradient.h"
#include "bench/primitives/unary.h"
#include "bench/primitives/vector_norm.h"
#include "bench/primitives/view.h"
#include "bench/tape/broadcast.h"

static struct node *real_argument(struct call *call, const char *name)
{
    return node_to_real(call->tape, call_tensor(call, name));
}

static enum dtype pair_dtype(struct call *call, const char *first, const char *second)
{
    struct node *pair[2] = { call_tensor(call, first), call_tensor(call, second) };
    return call_float_type(call, pair, 2);
}

/* ---- norms of differences -------------------------------------------------------------------- */

/* The elements of x whose norm is no number: what compares it may take either branch. */
static struct node *in_rows_of_nan(struct tape *tape, struct node *x, double order, uint32_t dims)
{
    struct node *norm = node_vector_norm(tape, node_detach(tape, x), order, dims, true);
    struct node *each = node_broadcast(tape, norm, x->rank, x->shape);
    return node_compare(tape, COMPARE_NE, each, each);
}

/* ||a - b + eps||_p over the last dimension. Differences of integers wrap around. */
static struct node *pairwise(struct call *call, struct node *a, struct node *b, double p,
                             double eps, bool keepdim)
{
    struct tape *tape = call->tape;
    enum dtype dtype = call_result_type(call, (struct node *[]){ a, b }, 2);
    struct node *d =
        node_offset(tape, node_to_real(tape, node_subtract_as(tape, dtype, a, b)), eps);
    uint32_t last = d->rank ? 1u << (d->rank - 1) : 0;
    d = node_model_any_slope(tape, d, in_rows_of_nan(tape, d, p, last));
    return node_vector_norm(tape, d, p, last, keepdim);
}

static void pairwise_distance(struct call *call)
{
    struct node *y = pairwise(call, call_tensor(call, "x1"), call_tensor(call, "x2"),
                              call_real(call, "p"), call_real(call, "eps"),
                              call_bool(call, "keepdim"));
    call_return_typed(call, y, dtype_component(pair_dtype(call, "x1", "x2")));
}

/* ||input - other||_p over everything. */
static void dist(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *d =
        node_subtract(tape, real_argument(call, "input"), real_argument(call, "other"));
    call_return_typed(call, node_vector_norm(tape, d, call_real(call, "p"), all_dims(d), false),
                      dtype_component(pair_dtype(call, "input", "other")));
}

/* Each of several largest components takes the whole cotangent. */
static void largest_backward(struct tape *tape, struct node *node, struct node *cotangent,
                             const void *parameters)
{
    struct node *d = node->inputs[1], *size = node_apply(tape, "abs", d);
    struct node *largest = node_to_real(tape, node_compare(tape, COMPARE_EQ, size, node));
    largest = node_model_extremum(tape, largest, size, node, false);
    (void)parameters;
    gradient_pass(tape, d, cotangent, node_multiply(tape, node_apply(tape, "sign", d), largest));
}

struct given_norm {
    double p;
    struct node *y;
};

/* The gradient of a norm by its value y that a call is given: c sign(d) (|d| / y)^(p - 1), 0 where d or y is. */
static void given_backward(struct tape *tape, struct node *node, struct node *cotangent,
                           const void *parameters)
{
    const struct given_norm *given = parameters;
    struct node *d = node->inputs[1], *size = node_apply(tape, "abs", d),
                *zero = node_scalar(tape, 0);
    struct node *share = node_divide(tape, given->p == 2 ? d : size, given->y);
    struct node *slope = given->p == 2 ? share : node_apply(tape, "sign", d);
    if (given->p != 1 && given->p != 2)
        slope = node_multiply(tape, slope,
                              node_apply2(tape, "pow", share, node_scalar(tape, given->p - 1)));
    slope = node_select(tape, node_compare(tape, COMPARE_EQ, given->y, zero), zero, slope);
    gradient_pass(tape, d, cotangent,
                  node_select(tape, node_compare(tape, COMPARE_EQ, d, zero), zero, slope));
}

/* The norm y over the last dimension of d with that gradient by `given`. */
static struct node *with_given(struct tape *tape, struct node *y, struct node *given,
                               struct node *d, double p)
{
    struct given_norm *parameters = tape_allocate(tape, 1, sizeof *parameters);
    int64_t kept[TENSOR_MAX_RANK];
    if (!parameters || tape_failed(tape)) return y;
    memcpy(kept, d->shape, sizeof kept);
    kept[d->rank - 1] = 1;
    *parameters = (struct given_norm){ p, node_reshape(tape, given, d->rank, kept) };
    y = node_stated_gradient(tape, node_reshape(tape, y, d->rank, kept), 1, &d, given_backward,
                             parameters);
    return node_reshape(tape, y, d->rank - 1, d->shape);
}

/* The norm over the last dimension as cdist and pdist differentiate it; their gradients as operators are given the norm as the
 * argument `saved`. */
static struct node *distance_norm(struct call *call, struct node *d, const char *saved)
{
    struct tape *tape = call->tape;
    double p = call_real(call, "p");
    uint32_t last = 1u << (d->rank - 1);
    struct node *y = node_vector_norm(tape, d, p, last, true);
    if (p == INFINITY) y = node_stated_gradient(tape, y, 1, &d, largest_backward, NULL);
    else if (p > 0 && strstr(call->op->name, "_backward"))
        return with_given(tape, y, call_tensor(call, saved), d, p);
    return node_reshape(tape, y, d->rank - 1, d->shape);
}

enum { MOST_POINTS_WITHOUT_PRODUCT = 25 };

/* Does PyTorch form |a|^2 + |b|^2 - 2 a b, a product of matrices, for a distance of P and R points? */
static bool is_by_product(struct call *call, const struct node *a, const struct node *b)
{
    if (!strcmp(call->op->name, "_euclidean_dist")) return true;
    if (!strcmp(call->op->name, "_cdist_backward")) return false; /* the distances are given */
    const struct value *mode = call_value(call, "compute_mode");
    bool is_text = mode->kind == VALUE_STRING, is_number = mode->kind == VALUE_INT;
    if (is_text ? !strcmp(mode->string, "use_mm_for_euclid_dist") : is_number && mode->integer == 1)
        return true;
    if (is_text ? !strncmp(mode->string, "donot", 5) : is_number && mode->integer == 2)
        return false;
    return a->shape[a->rank - 2] > MOST_POINTS_WITHOUT_PRODUCT ||
           b->shape[b->rank - 2] > MOST_POINTS_WITHOUT_PRODUCT;
}

/* With r = c / y, 0 where y is: a sum_j r_ij - r b, which cancels, and b sum_i r_ij - r^T a. */
static void product_backward(struct tape *tape, struct node *node, struct node *cotangent,
                             const void *parameters)
{
    struct node *a = node->inputs[1], *b = node->inputs[2], *zero = node_scalar(tape, 0);
    struct node *y = (struct node *)parameters;
    struct node *ratio = node_select(tape, node_compare(tape, COMPARE_EQ, y, zero), zero,
                                     node_divide(tape, cotangent, y));
    int row = y->rank - 2, column = y->rank - 1;
    struct node *turned = node_transpose(tape, ratio, row, column);
    struct node *sides[2][3] = { { a, ratio, b }, { b, turned, a } };
    for (int k = 0; k < 2; k++) {
        struct node *sums = node_sum(tape, sides[k][1], 1u << column, true);
        struct node *all = node_multiply(tape, node_detach(tape, sides[k][0]), sums);
        struct node *products = compose_matmul(tape, sides[k][1], node_detach(tape, sides[k][2]));
        gradient_pass(tape, sides[k][0], node_subtract(tape, all, products), NULL);
    }
}

/* sqrt(max(|a|^2 + |b|^2 - 2 a b, 0)) for rows a and b; no gradient. */
static struct node *by_product(struct tape *tape, struct node *a, struct node *b)
{
    a = node_detach(tape, a);
    b = node_detach(tape, b);
    struct node *aa = node_sum(tape, node_multiply(tape, a, a), 1u << (a->rank - 1), true);
    struct node *bb = node_sum(tape, node_multiply(tape, b, b), 1u << (b->rank - 1), true);
    struct node *ab = compose_matmul(tape, a, node_transpose(tape, b, b->rank - 2, b->rank - 1));
    struct node *squares = node_add(tape, aa, node_transpose(tape, bb, bb->rank - 2, bb->rank - 1));
    squares = node_subtract(tape, squares, node_scale(tape, ab, 2));
    return node_apply(tape, "sqrt", node_positive_part(tape, squares));
}

static bool are_lists_of_points(struct call *call, const struct node *a, const struct node *b)
{
    return call_require(call,
                        a->rank >= 2 && b->rank >= 2 && a->rank < TENSOR_MAX_RANK &&
                            b->rank < TENSOR_MAX_RANK &&
                            a->shape[a->rank - 1] == b->shape[b->rank - 1],
                        "cdist takes two lists of points of one dimension");
}

/* Differences of all pairs of rows of a (..., P, M) and b (..., R, M): (..., P, R, M). */
static struct node *differences(struct tape *tape, struct node *a, struct node *b)
{
    int64_t shape[TENSOR_MAX_RANK];
    memcpy(shape, a->shape, sizeof shape);
    shape[a->rank] = a->shape[a->rank - 1];
    shape[a->rank - 1] = 1;
    struct node *rows = node_reshape(tape, a, a->rank + 1, shape);
    memcpy(shape, b->shape, sizeof shape);
    shape[b->rank] = b->shape[b->rank - 1];
    shape[b->rank - 1] = b->shape[b->rank - 2];
    shape[b->rank - 2] = 1;
    return node_subtract(tape, rows, node_reshape(tape, b, b->rank + 1, shape));
}

/* Where nothing is known of x in a model: its formulas differ by more than rounding. */
static struct node *unknown_elements(struct tape *tape, const struct node *x)
{
    struct node *unknown = node_new_integer(tape, DT_BOOL, x->rank, x->shape);
    for (size_t i = 0; !tape_failed(tape) && i < x->n; i++)
        unknown->integer[i] = isinf(node_error(x, i)) != 0;
    return unknown;
}

static void cdist(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *a = real_argument(call, "x1"), *b = real_argument(call, "x2");
    if (!are_lists_of_points(call, a, b)) return;
    struct node *d = differences(tape, a, b), *y = distance_norm(call, d, "cdist");
    if (tape_is_model(tape) && call_real(call, "p") == 2 && is_by_product(call, a, b)) {
        struct node *either = node_model_either(tape, y, by_product(tape, a, b));
        y = !strcmp(call->op->name, "_euclidean_dist")
                ? node_stated_gradient(tape, either, 2, (struct node *[]){ a, b }, product_backward,
                                       either)
                : with_given(tape, either, either, d, 2);
        y = node_model_any_slope(tape, y, unknown_elements(tape, either));
    }
    call_return_typed(call, y, pair_dtype(call, "x1", "x2"));
}

/* The pairs i < j of the rows of an (N, M) input. */
static void pdist(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = real_argument(call, "input");
    if (!call_require(call, x->rank == 2, "pdist takes a matrix")) return;
    int64_t n = x->shape[0], m = x->shape[1], pairs = n > 1 ? n * (n - 1) / 2 : 0;
    int64_t shape[2] = { pairs, m };
    int64_t *first = tape_allocate(tape, (size_t)pairs, sizeof *first);
    int64_t *second = tape_allocate(tape, (size_t)pairs, sizeof *second);
    if (tape_failed(tape)) return;
    for (int64_t i = 0, k = 0; i < n; i++)
        for (int64_t j = i + 1; j < n; j++, k++) {
            first[k] = i;
            second[k] = j;
        }
    struct node *a = node_gather_rows(tape, x, 2, shape, (size_t)m, first, 0);
    struct node *d =
        node_subtract(tape, a, node_gather_rows(tape, x, 2, shape, (size_t)m, second, 0));
    call_return_typed(call, distance_norm(call, d, "pdist"), x->dtype);
}

/* The gradients: of cdist toward its first points, by the distances given: those of a product of matrices may be far from the points'. */
static void cdist_backward(struct call *call)
{
    call_return_gradients(call, cdist, (const char *const[]){ "x1", NULL });
}

static void pdist_backward(struct call *call)
{
    call_return_gradients(call, pdist, (const char *const[]){ "input", NULL });
}

/* ---- normalising ----------------------------------------------------------------------------------- */

/* max(norm, eps), whose cotangent passes where the norm is at least eps. */
static struct node *floored(struct tape *tape, struct node *norm, struct node *eps)
{
    return node_select(tape, node_compare(tape, COMPARE_LT, norm, eps), eps, norm);
}

/* input / max(||input||_p, eps) */
static void normalize(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = real_argument(call, "input");
    int64_t dims[TENSOR_MAX_RANK];
    uint32_t mask = 0;
    int count = call_ints(call, "dim", dims, TENSOR_MAX_RANK);
    for (int i = 0; i < count; i++) mask |= 1u << wrap_dim(call, dims[i], x->rank);
    if (x->n == 0) {
        call_return(call, x);
        return;
    }
    struct node *norm = node_vector_norm(tape, x, call_real(call, "p"), mask & all_dims(x), true);
    struct node *eps = node_scalar(tape, call_real(call, "eps"));
    call_return_typed(call, node_divide(tape, x, floored(tape, norm, eps)), x->dtype);
}

struct renormed {
    double p, most;
    uint32_t dims;
};

/* x |x|^(p - 2), which over norm^(p - 1) is the slope of the norm, by norm_backward's formulas. */
static struct node *norm_share(struct tape *tape, struct node *x, double p)
{
    struct node *zero = node_scalar(tape, 0), *size = node_apply(tape, "abs", x);
    if (p == 2) return x;
    struct node *factor = p > 2 ? x : node_apply(tape, "sign", x);
    struct node *power = node_apply2(tape, "pow", size, node_scalar(tape, p > 2 ? p - 2 : p - 1));
    return node_select(tape, node_compare(tape, COMPARE_EQ, x, zero), zero,
                       node_multiply(tape, factor, power));
}

/* As PyTorch's kernels have it, where steps round: x c and the above in the dtype, and all else in float. With r = 1 / (norm + 1e-7) and n' the
 * slope of the norm, most r (c - r n' sum x c), or c where the norm is no more than `most`. */
static void renorm_backward(struct tape *tape, struct node *node, struct node *cotangent,
                            const void *parameters)
{
    const struct renormed *of = parameters;
    struct node *x = node->inputs[1], *product = node_multiply(tape, x, cotangent);
    struct node *share = norm_share(tape, x, of->p);
    const struct node *before = tape->newest;
    struct node *norm = node_vector_norm(tape, node_detach(tape, x), of->p, of->dims, true);
    struct node *inverse = node_apply(tape, "reciprocal", node_offset(tape, norm, 1e-7));
    struct node *power = node_apply2(tape, "pow", norm, node_scalar(tape, of->p - 1));
    struct node *slope = node_divide(tape, share, power);
    struct node *across = node_multiply(tape, slope, node_sum(tape, product, of->dims, true));
    struct node *rest = node_subtract(tape, cotangent, node_multiply(tape, inverse, across));
    struct node *over = node_compare(tape, COMPARE_GT, norm, node_scalar(tape, of->most));
    struct node *flow = node_multiply(tape, node_scale(tape, inverse, of->most), rest);
    flow = node_select(tape, over, flow, cotangent);
    tape_one_kernel(tape, before, flow);
    tape_accumulate(tape, x, flow);
}

/* Slices along dim whose norm exceeds maxnorm, scaled by maxnorm / (norm + 1e-7). */
static void renorm(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = real_argument(call, "input");
    int dim = call_dim(call, "dim", x->rank);
    double most = call_real(call, "maxnorm");
    uint32_t others = all_dims(x) & ~(1u << dim);
    double order = call_real(call, "p");
    x = node_model_any_slope(tape, x, in_rows_of_nan(tape, x, order, others));
    const struct node *before = tape->newest;
    struct node *norm = node_vector_norm(tape, x, order, others, true);
    struct node *scale = node_divide(tape, node_scalar(tape, most), node_offset(tape, norm, 1e-7));
    struct node *over = node_compare(tape, COMPARE_GT, norm, node_scalar(tape, most));
    tape_one_kernel(tape, before, scale);
    scale = node_select(tape, over, scale, node_scalar(tape, 1));
    struct node *y = node_multiply(tape, x, scale);
    struct renormed *kept = tape_allocate(tape, 1, sizeof *kept);
    if (kept && composes_values(tape) && order > 1 && isfinite(order) && !x->imaginary) {
        *kept = (struct renormed){ order, most, others };
        y = node_stated_gradient(tape, y, 1, &x, renorm_backward, kept);
    }
    call_return_typed(call, y, x->dtype);
}

/* x c / (the floored norm): PyTorch differentiates the norm as if the floored one were it. */
static void floored_backward(struct tape *tape, struct node *node, struct node *cotangent,
                             const void *parameters)
{
    struct node *x = node->inputs[1];
    (void)parameters;
    gradient_pass(tape, x, node_divide(tape, cotangent, node), x);
}

/* x / norm with the norm at least eps. */
static struct node *direction(struct tape *tape, struct node *x, int dim, struct node *eps)
{
    struct node *norm =
        floored(tape, node_vector_norm(tape, x, 2, x->rank ? 1u << dim : 0, true), eps);
    norm = node_stated_gradient(tape, norm, 1, &x, floored_backward, NULL);
    return node_divide(tape, x, norm);
}

static void cosine_similarity(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *a = real_argument(call, "x1"), *b = real_argument(call, "x2");
    int64_t shape[TENSOR_MAX_RANK];
    int rank = 0;
    if (!call_require(call, shape_broadcast(&rank, shape, a->rank, a->shape, b->rank, b->shape),
                      "the shapes do not broadcast"))
        return;
    a = node_broadcast(tape, a, rank, shape);
    b = node_broadcast(tape, b, rank, shape);
    int dim = call_dim(call, "dim", rank);
    struct node *eps = node_scalar(tape, call_real(call, "eps"));
    struct node *product =
        node_multiply(tape, direction(tape, a, dim, eps), direction(tape, b, dim, eps));
    struct node *y = rank ? node_sum(tape, product, 1u << dim, false) : product;
    call_return_typed(call, y, pair_dtype(call, "x1", "x2"));
}

/* ---- losses ------------------------------------------------------------------------------------------ */

/* 1 - cos for target 1, max(0, cos - margin) for -1. */
static void cosine_embedding_loss(struct call *call)
{
    const double least =
        (double)1e-12f; /* PyTorch's constant is float32's, of float64 tensors, too */
    struct tape *tape = call->tape;
    struct node *a = real_argument(call, "input1"), *b = real_argument(call, "input2");
    struct node *t = call_tensor(call, "target"), *zero = node_scalar(tape, 0);
    if (!call_require(call, a->rank == t->rank + 1,
                      "the target must have one dimension less than the inputs"))
        return;
    uint32_t dims = 1u << t->rank;
    struct node *product = node_sum(tape, node_multiply(tape, a, b), dims, false);
    struct node *size1 =
        node_offset(tape, node_sum(tape, node_multiply(tape, a, a), dims, false), least);
    struct node *size2 =
        node_offset(tape, node_sum(tape, node_multiply(tape, b, b), dims, false), least);
    struct node *cosine =
        node_divide(tape, product, node_apply(tape, "sqrt", node_multiply(tape, size1, size2)));
    struct node *near = node_subtract(tape, node_scalar(tape, 1), cosine);
    struct node *far =
        node_positive_part(tape, node_offset(tape, cosine, -call_real(call, "margin")));
    struct node *loss =
        node_select(tape, node_compare(tape, COMPARE_EQ, t, node_scalar(tape, 1)), near, zero);
    loss = node_add(
        tape, loss,
        node_select(tape, node_compare(tape, COMPARE_EQ, t, node_scalar(tape, -1)), far, zero));
    call_return_typed(call, loss_reduced(call, loss), pair_dtype(call, "input1", "input2"));
}

/* Of equal distances each takes half the cotangent. */
static void nearer_backward(struct tape *tape, struct node *node, struct node *cotangent,
                            const void *parameters)
{
    struct node *a = node->inputs[1], *b = node->inputs[2], *one = node_scalar(tape, 1);
    struct node *tie = node_select(tape, node_compare(tape, COMPARE_EQ, a, b),
                                   node_scalar(tape, 0.5), node_scalar(tape, 0));
    struct node *share = node_select(tape, node_compare(tape, COMPARE_LT, a, b), one, tie);
    (void)parameters;
    gradient_pass(tape, a, cotangent, share);
    gradient_pass(tape, b, cotangent, node_subtract(tape, one, share));
}

/* max(0, margin + d(anchor, positive) - d(anchor, negative)); with swap the negative is also
 * measured from the positive. */
static void triplet_margin_loss(struct call *call)
{
    struct tape *tape = call->tape;
    bool with_distance = call->op->detail != 0;
    struct node *anchor = call_tensor(call, "anchor"), *positive = call_tensor(call, "positive");
    struct node *negative = call_tensor(call, "negative");
    if (!call_require(call, !with_distance || call_is_none(call, "distance_function"),
                      "a distance function given by the program cannot be recomputed"))
        return;
    double p = with_distance ? 2 : call_real(call, "p"),
           eps = with_distance ? 1e-6 : call_real(call, "eps");
    struct node *near = pairwise(call, anchor, positive, p, eps, false);
    struct node *far = pairwise(call, anchor, negative, p, eps, false);
    if (call_bool(call, "swap")) {
        struct node *other = pairwise(call, positive, negative, p, eps, false);
        struct node *least =
            node_select(tape, node_compare(tape, COMPARE_LE, far, other), far, other);
        struct node *nearer = node_stated_gradient(tape, least, 2, (struct node *[]){ far, other },
                                                   nearer_backward, NULL);
        far = node_model_choice(tape, nearer, far, other);
    }
    struct node *margin = node_scalar(tape, call_real(call, "margin"));
    struct node *z = node_add(tape, node_subtract(tape, near, far), margin);
    /* Kernels also add the margin first, PyTorch's where there is no function. */
    if (tape_is_model(tape)) z = node_model_error(tape, z, node_add(tape, near, margin), 2);
    if (composes_values(tape) && !with_distance)
        z = node_subtract(tape, node_add(tape, near, margin), far);
    call_return_typed(call, loss_reduced(call, node_positive_part(tape, z)),
                      dtype_component(pair_dtype(call, "anchor", "positive")));
}

/* clang-format off */
#define LEGACY ", bool? size_average=None, bool? reduce=None, str reduction='mean'"
#define THREE "(Tensor anchor, Tensor positive, Tensor negative"
const struct op ops_distance[] = {
    { "pairwise_distance", FUNCTIONAL | TORCH, "(Tensor x1, Tensor x2, float p=2.0, float eps=1e-06, bool keepdim=False)", pairwise_distance, 0, 0, NULL },
    { "cdist", TORCH, "(Tensor x1, Tensor x2, float p=2.0, Any compute_mode=None)", cdist, OP_ONE_NODE, 0, NULL },
    { "_cdist_forward", ATEN, "(Tensor x1, Tensor x2, float p, int? compute_mode)", cdist, OP_ONE_NODE, 0, NULL },
    { "_cdist_backward", ATEN, "(Tensor grad, Tensor x1, Tensor x2, float p, Tensor cdist)", cdist_backward, OP_NO_GRADIENT, 0, NULL },
    { "_euclidean_dist", ATEN, "(Tensor x1, Tensor x2, *, float p=2.0)", cdist, OP_ONE_NODE, 0, NULL },
    { "_pdist_forward", ATEN, "(Tensor input, float p=2)", pdist, OP_ONE_NODE, 0, NULL },
    { "_pdist_backward", ATEN, "(Tensor grad, Tensor input, float p, Tensor pdist)", pdist_backward, OP_NO_GRADIENT, 0, NULL },
    { "pdist", FUNCTIONAL | TORCH, "(Tensor input, float p=2)", pdist, OP_ONE_NODE, 0, NULL },
    { "dist", TENSOR | TORCH, "(Tensor input, Tensor other, Scalar p=2)", dist, OP_ONE_NODE, 0, NULL },
    { "normalize", FUNCTIONAL, "(Tensor input, float p=2.0, int[1] dim=1, float eps=1e-12)", normalize, 0, 0, NULL },
    { "renorm", TENSOR | TORCH, "(Tensor input, float p, int dim, float maxnorm)", renorm, OP_ONE_NODE, 0, NULL },
    { "cosine_similarity", FUNCTIONAL | TORCH, "(Tensor x1, Tensor x2, int dim=1, float eps=1e-08)", cosine_similarity, 0, 0, NULL },
    { "cosine_embedding_loss", FUNCTIONAL, "(Tensor input1, Tensor input2, Tensor target, float margin=0" LEGACY ")", cosine_embedding_loss, 0, 0, NULL },
    { "cosine_embedding_loss", TORCH, "(Tensor input1, Tensor input2, Tensor target, float margin=0, int reduction=0)", cosine_embedding_loss, 0, 0, NULL },
    { "triplet_margin_loss", FUNCTIONAL, THREE ", float margin=1.0, float p=2, float eps=1e-06, bool swap=False" LEGACY ")", triplet_margin_loss, 0, 0, NULL },
    { "triplet_margin_loss", TORCH, THREE ", float margin=1.0, float p=2, float eps=1e-06, bool swap=False, int reduction=0)", triplet_margin_loss, 0, 0, NULL },
    { "triplet_margin_with_distance_loss", FUNCTIONAL, THREE ", *, Any distance_function=None, float margin=1.0, bool swap=False, str reduction='mean')", triplet_margin_loss, 0, 1, NULL },
};
/* clang-format on */
OP_TABLE_END(distance);
