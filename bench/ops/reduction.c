/* Sums, means, products, moments, truth and counts over dimensions. */
#include <math.h>
#include <string.h>

#include "bench/call/op.h"
#include "bench/ops/operands.h"
#include "bench/ops/pullback.h"
#include "bench/ops/reduction_arguments.h"
#include "bench/primitives/alias.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/complex_functions.h"
#include "bench/primitives/complex_parts.h"
#include "bench/primitives/composed_functions.h"
#include "bench/primitives/cotangent.h"
#include "bench/primitives/integral.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/other_forms.h"
#include "bench/primitives/product.h"
#include "bench/primitives/reduce.h"
#include "bench/primitives/selection.h"
#include "bench/primitives/softmax.h"
#include "bench/primitives/squares.h"
#include "bench/primitives/stated_gradient.h"
#include "bench/primitives/unary.h"
#include "bench/primitives/updated_moments.h"
#include "bench/primitives/view.h"

struct reduced reduced_argument(struct call *call)
{
    struct reduced reduction = { call_tensor(call, "input"), 0, false, 1 };
    reduction.dims = call_dims(call, "dim", reduction.x);
    reduction.keepdim = call_bool(call, "keepdim");
    for (int d = 0; d < reduction.x->rank; d++)
        if (reduction.dims >> d & 1) reduction.count *= (double)reduction.x->shape[d];
    return reduction;
}

struct node *reduced_shape(struct tape *tape, struct node *y, const struct reduced *reduction)
{
    int64_t shape[TENSOR_MAX_RANK];
    int rank = 0;
    if (reduction->keepdim || tape_failed(tape)) return y;
    for (int d = 0; d < y->rank; d++)
        if (!(reduction->dims >> d & 1)) shape[rank++] = y->shape[d];
    return node_reshape(tape, y, rank, shape);
}

/* ---- sums -------------------------------------------------------------------------------------- */

/* Sums and products of integers are int64 unless a dtype is given. */
static enum dtype sum_dtype(struct call *call, const struct node *x)
{
    enum dtype dtype = call_dtype(call, "dtype");
    return dtype != DT_NONE ? dtype : x->integer ? DT_I64 : x->dtype;
}

static void sum(struct call *call)
{
    struct reduced reduction = reduced_argument(call);
    enum dtype dtype = sum_dtype(call, reduction.x);
    struct node *x = node_cast_operand(call->tape, reduction.x, dtype);
    call_return_typed(call, node_sum(call->tape, x, reduction.dims, reduction.keepdim), dtype);
}

/* What a kernel's c y / x is off by, where x is not 0: each of `count` factors of y and the quotient by 3 and 8 roundings. */
struct quotient {
    struct node *size; /* |y / x| */
    double count;
};

static void quotient_backward(struct tape *tape, struct node *node, struct node *cotangent,
                              const void *parameters)
{
    const struct quotient *quotient = parameters;
    const struct node *x = node->inputs[1];
    struct node *none = node_constant(tape, DT_NONE, 0, x->rank, x->shape);
    struct node *size = node_multiply(tape, node_apply(tape, "abs", cotangent), quotient->size);
    none = node_model_error(tape, none, size, 3 * quotient->count + 8);
    for (int k = 1; k <= 2; k++) tape_accumulate(tape, node->inputs[k], none);
}

/* In a model: the product y of complex x, whose gradient kernels form by dividing it. y itself otherwise. */
static struct node *with_quotients(struct tape *tape, struct node *y, struct node *x)
{
    struct quotient *quotient = tape_is_model(tape) ? tape_allocate(tape, 1, sizeof *quotient)
                                                    : NULL;
    if (!quotient || tape_failed(tape)) return y;
    struct node *zero = node_scalar(tape, 0), *size = node_magnitude(tape, x);
    struct node *share = node_divide(tape, node_magnitude(tape, y), size);
    share = node_select(tape, node_compare(tape, COMPARE_EQ, size, zero), zero, share);
    *quotient = (struct quotient){ node_detach(tape, share), (double)x->n / (double)y->n };
    return node_with_more_gradient(tape, y, x, quotient_backward, quotient);
}

/* A complex product over one dimension or all, by halving. */
static struct node *complex_product(struct tape *tape, struct node *x,
                                    const struct reduced *reduction)
{
    int64_t flat[1] = { -1 }, shape[TENSOR_MAX_RANK];
    int dim = 0;
    struct node *y = x;
    if (tape_failed(tape)) return tape_failure(tape);
    if (reduction->dims == all_dims(x)) y = node_reshape(tape, x, 1, flat);
    else
        while (!(reduction->dims >> dim & 1)) dim++;
    memcpy(shape, x->shape, sizeof shape);
    for (int d = 0; d < x->rank; d++)
        if (reduction->dims >> d & 1) shape[d] = 1;
    if (y->shape[dim] == 0) {
        struct node *re = node_real_part(tape, x), *im = node_imaginary_part(tape, x);
        struct node *one = node_constant(tape, re->dtype, 1, x->rank, shape);
        struct node *zero = node_constant(tape, im->dtype, 0, x->rank, shape);
        one = node_complex(tape, node_flat(tape, one, 1, &re), node_flat(tape, zero, 1, &im));
        return reduced_shape(tape, one, reduction);
    }
    while (!tape_failed(tape) && y->shape[dim] > 1) {
        int64_t half = y->shape[dim] / 2, rest = y->shape[dim] % 2;
        struct node *parts[2] = { node_multiply(tape, node_slice(tape, y, dim, 0, half, 1),
                                                node_slice(tape, y, dim, half, half, 1)),
                                  NULL };
        if (rest) parts[1] = node_slice(tape, y, dim, 2 * half, 1, 1);
        y = rest ? node_concatenate(tape, parts, 2, dim) : parts[0];
    }
    y = with_quotients(tape, node_reshape(tape, y, x->rank, shape), x);
    return reduced_shape(tape, y, reduction);
}

static void product(struct call *call)
{
    struct reduced reduction = reduced_argument(call);
    enum dtype dtype = sum_dtype(call, reduction.x);
    struct node *x = node_cast_operand(call->tape, reduction.x, dtype);
    struct node *y = x->imaginary ? complex_product(call->tape, x, &reduction)
                                  : node_product(call->tape, x, reduction.dims, reduction.keepdim);
    call_return_typed(call, y, dtype);
}

static struct node *without_nan(struct tape *tape, struct node *x)
{
    return x->integer ? x : node_select(tape, node_isnan(tape, x), node_scalar(tape, 0), x);
}

static void nansum(struct call *call)
{
    struct reduced reduction = reduced_argument(call);
    enum dtype dtype = sum_dtype(call, reduction.x);
    struct node *x = without_nan(call->tape, node_cast_operand(call->tape, reduction.x, dtype));
    call_return_typed(call, node_sum(call->tape, x, reduction.dims, reduction.keepdim), dtype);
}

static void mean(struct call *call)
{
    struct reduced reduction = reduced_argument(call);
    enum dtype dtype = call_dtype(call, "dtype");
    if (!call_require(call, dtype != DT_NONE || !reduction.x->integer,
                      "the mean of integers needs a dtype"))
        return;
    if (dtype == DT_NONE) dtype = reduction.x->dtype;
    struct node *x = node_cast_operand(call->tape, reduction.x, dtype);
    call_return_typed(call, node_mean(call->tape, x, reduction.dims, reduction.keepdim), dtype);
}

static void nanmean(struct call *call)
{
    struct tape *tape = call->tape;
    struct reduced reduction = reduced_argument(call);
    enum dtype dtype = sum_dtype(call, reduction.x);
    struct node *nan = node_isnan(tape, reduction.x), *x = reduction.x;
    struct node *count = node_to_real(tape, node_not(tape, nan));
    if (tape_is_model(tape) && node_is_real(x)) { /* of none 0 times infinity, or 0 */
        struct node *none = node_compare(
            tape, COMPARE_EQ, node_sum(tape, count, reduction.dims, true), node_scalar(tape, 0));
        x = node_model_any_slope(tape, x, node_and(tape, nan, none));
    }
    struct node *total = node_sum(tape, without_nan(tape, x), reduction.dims, reduction.keepdim);
    call_return_typed(
        call, node_divide(tape, total, node_sum(tape, count, reduction.dims, reduction.keepdim)),
        dtype);
}

/* The vjp of broadcasting as an API. */
static void sum_to_size(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    int64_t shape[TENSOR_MAX_RANK];
    int rank = call_ints(call, "size", shape, TENSOR_MAX_RANK);
    bool fits = rank <= x->rank;
    for (int d = 0; d < rank && fits; d++) {
        int64_t extent = x->shape[d + x->rank - rank];
        fits = shape[d] == 1 || shape[d] == extent;
    }
    if (!call_require(call, fits, "the input does not broadcast from that size")) return;
    struct node *y = node_sum_to_shape(call->tape, x, rank, shape);
    if (!rank && x->integer)
        y = node_cast(call->tape, y, DT_I64); /* to a number by sum(), always */
    call_return(call, y);
}

static void trace(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input");
    if (!call_require(call, x->rank == 2, "trace takes a matrix")) return;
    int64_t count = x->shape[0] < x->shape[1] ? x->shape[0] : x->shape[1], stride = x->shape[1] + 1;
    struct node *y = node_sum(tape, node_view(tape, x, 1, &count, &stride, 0), 1, false);
    call_return_typed(call, y, x->integer ? DT_I64 : x->dtype);
}

/* ---- logsumexp -------------------------------------------------------------------------------- */

/* In a model: lines of `count` elements, whose slopes are open where one of the line is infinity: exp(x - y) is 0 for what is finite, and
 * exp(x - max) over its sum is NaN everywhere. */
static struct node *open_beside_infinity(struct tape *tape, struct node *lines, size_t count)
{
    if (!tape_is_model(tape) || !lines->tracked || lines->imaginary || !count) return lines;
    const double *x = node_values(tape, lines);
    struct node *lost = node_new_integer(tape, DT_BOOL, lines->rank, lines->shape);
    for (size_t first = 0; !tape_failed(tape) && first < lines->n; first += count) {
        bool endless = false;
        for (size_t i = first; i < first + count; i++) endless |= x[i] == INFINITY;
        for (size_t i = first; i < first + count; i++) lost->integer[i] = endless;
    }
    return node_model_any_slope(tape, lines, lost);
}

static void logsumexp(struct call *call)
{
    struct tape *tape = call->tape;
    struct reduced reduction = reduced_argument(call);
    enum dtype dtype = call_float_type(call, &reduction.x, 1);
    int order[TENSOR_MAX_RANK], kept = 0, at;
    int64_t shape[TENSOR_MAX_RANK];
    if (tape_failed(tape)) return;
    struct node *x = node_to_real(tape, reduction.x);
    /* The reduced dimensions last, then as one. */
    for (int d = 0; d < x->rank; d++)
        if (!(reduction.dims >> d & 1)) order[kept++] = d;
    at = kept;
    for (int d = 0; d < x->rank; d++)
        if (reduction.dims >> d & 1) order[at++] = d;
    for (int d = 0; d < kept; d++) shape[d] = x->shape[order[d]];
    shape[kept] = (int64_t)reduction.count;
    struct node *lines = node_reshape(tape, node_permute(tape, x, order), kept + 1, shape);
    lines = open_beside_infinity(tape, lines, (size_t)reduction.count);
    struct node *y = node_logsumexp(tape, lines, kept);
    memcpy(shape, x->shape, sizeof shape);
    for (int d = 0; d < x->rank; d++)
        if (reduction.dims >> d & 1) shape[d] = 1;
    y = reduced_shape(tape, node_reshape(tape, y, x->rank, shape), &reduction);
    call_return_typed(call, y, dtype);
}

/* ---- moments ------------------------------------------------------------------------------------ */

struct moments {
    struct reduced r;
    struct node *real; /* real part of the input */
    bool whole;        /* no dimensions were given */
    double freedom;    /* elements less the correction; the divisor, where it is positive */
    bool with_mean;
};

/* var(x, unbiased), var(x, dim, unbiased, keepdim), var(x, dim, *, correction, keepdim): a bool in
 * the place of dim is unbiased. */
static bool moment_arguments(struct call *call, struct moments *moments)
{
    const struct value *dim = call_value(call, "dim"), *unbiased = call_value(call, "unbiased");
    double correction = 1;
    moments->r =
        (struct reduced){ node_to_real(call->tape, call_tensor(call, "input")), 0, false, 1 };
    if (dim->kind == VALUE_BOOL) {
        correction = dim->boolean ? 1 : 0;
        moments->r.dims = all_dims(moments->r.x);
    } else {
        moments->r.dims = call_dims(call, "dim", moments->r.x);
    }
    moments->whole = moments->r.x->rank == 0 || dim->kind == VALUE_BOOL || dim->kind == VALUE_NONE;
    if (unbiased->kind != VALUE_NONE) correction = call_real(call, "unbiased") != 0;
    if (!call_is_none(call, "correction")) correction = call_real(call, "correction");
    moments->r.keepdim = call_bool(call, "keepdim");
    for (int d = 0; d < moments->r.x->rank; d++)
        if (moments->r.dims >> d & 1) moments->r.count *= (double)moments->r.x->shape[d];
    moments->freedom = moments->r.count - correction;
    return !tape_failed(call->tape);
}

/* 2 (x - mean) c / freedom: the mean's own share sums to nothing. Of a whole tensor without freedom
 * PyTorch has infinity times c, for the real part. */
static void variance_backward(struct tape *tape, struct node *node, struct node *cotangent,
                              const void *parameters)
{
    const struct moments *moments = parameters;
    struct node *x = node->inputs[1];
    if (moments->freedom == 0 && moments->whole) {
        bool imaginary = moments->r.x->imaginary && x != moments->real;
        struct node *endless = node_multiply(tape, cotangent, node_scalar(tape, INFINITY));
        struct node *all = node_constant(tape, DT_NONE, imaginary ? 0 : 1, x->rank, x->shape);
        gradient_pass(tape, x, imaginary ? node_detach(tape, all) : endless, all);
        return;
    }
    struct node *scale = composes(tape) /* autograd's number */
                             ? node_scale(tape, cotangent, 2 / moments->freedom)
                             : node_divide(tape, node_scale(tape, cotangent, 2),
                                           node_scalar(tape, moments->freedom));
    gradient_pass(tape, x, scale,
                  node_subtract(tape, x, node_mean(tape, x, moments->r.dims, true)));
}

/* The sum of squared deviations of one real component over the divisor, dims kept. In a model, and where the call returns it,
 * also the mean. */
static struct node *variance_of(struct tape *tape, struct node *x, const struct moments *moments,
                                struct node **out)
{
    bool one_pass = tape_has_form(tape, FORM_ONE_PASS), model = tape_is_model(tape);
    struct node *mean = NULL, *total;
    if (one_pass || model || moments->with_mean) mean = node_mean(tape, x, moments->r.dims, true);
    total = node_sum_of_squared_deviations(tape, x, model ? node_detach(tape, mean) : mean,
                                           moments->r.dims);
    if (one_pass) total = one_pass_squares(tape, x, mean, moments->r.dims);
    if (model) { /* all terms share the error of the mean */
        mean = updated_mean(tape, mean, total, moments->r.count);
        struct node *shared = node_subtract(tape, mean, node_detach(tape, mean));
        struct node *squares = node_apply(tape, "square", shared);
        total = node_add(tape, updated_total(tape, total, mean, moments->r.count),
                         node_scale(tape, squares, 2 * moments->r.count));
    }
    *out = mean;
    struct node *y = node_divide(tape, total, node_scalar(tape, fmax(moments->freedom, 0)));
    return node_stated_gradient(tape, y, 1, &x, variance_backward, moments);
}

/* c / (2 y), and 0 where y is 0. */
static void root_backward(struct tape *tape, struct node *node, struct node *cotangent,
                          const void *parameters)
{
    struct node *zero = node_scalar(tape, 0);
    struct node *slope = node_divide(tape, node_scalar(tape, 0.5), node);
    if (tape_is_model(
            tape)) { /* a kernel's y need not come out as 0: anything up to its error, and less */
        enum { LESS = 64 };
        struct node *none = node_constant(tape, DT_NONE, 0, node->rank, node->shape),
                    *steep = node_constant(tape, DT_NONE, 0, node->rank, node->shape);
        (void)node_values(tape, node);
        for (size_t i = 0; i < node->n && !tape_failed(tape); i++) {
            double error = node_error(node, i);
            bool underflows = tape->wide &&
                              error < 0x1p-500; /* a root of what double has no number for */
            steep->value[i] = error > 0 ? underflows ? INFINITY : fmin(LESS / error, 0x1p100) : 0;
        }
        zero = node_model_error(tape, none, steep, 1 / tape->unit);
    }
    (void)parameters;
    struct node *at_zero = node_compare(tape, COMPARE_EQ, node, zero);
    if (composes_values(tape))
        tape_accumulate(tape, node->inputs[1],
                        node_select(tape, at_zero, zero,
                                    node_divide(tape, cotangent, node_scale(tape, node, 2))));
    else gradient_pass(tape, node->inputs[1], cotangent, node_select(tape, at_zero, zero, slope));
}

enum { VARIANCE, DEVIATION, WITH_MEAN = 2 };

/* var, std, var_mean, std_mean. detail: the enumeration above. */
static void moments(struct call *call)
{
    struct tape *tape = call->tape;
    struct moments *m = tape_allocate(tape, 1, sizeof *m);
    if (!m || !moment_arguments(call, m)) return;
    struct node *x = m->r.x;
    const struct node *before = tape->newest;
    m->real = node_real_part(tape, x);
    m->with_mean = call->op->detail & WITH_MEAN;
    struct node *mean, *other;
    struct node *y = variance_of(tape, m->real, m, &mean);
    if (x->imaginary) {
        y = node_add(tape, y, variance_of(tape, node_imaginary_part(tape, x), m, &other));
        if (m->with_mean) mean = node_complex(tape, mean, other);
    }
    if (call->op->detail & DEVIATION) {
        struct node *variance = y;
        y = node_apply(tape, "sqrt", variance);
        y = node_stated_gradient(tape, y, 1, &variance, root_backward, NULL);
    }
    tape_one_kernel(tape, before, y);
    if (m->with_mean && !x->imaginary) tape_returned(tape, mean);
    enum dtype real = x->imaginary ? x->dtype == DT_C128 ? DT_F64 : DT_F32 : x->dtype;
    call_return_typed(call, reduced_shape(tape, y, &m->r), real);
    if (m->with_mean) call_return_typed(call, reduced_shape(tape, mean, &m->r), x->dtype);
}

/* ---- truth and counts ----------------------------------------------------------------------------- */

/* any (detail 0) and all (1), as sums of bools; of uint8 they are uint8. */
static void truth(struct call *call)
{
    struct tape *tape = call->tape;
    struct reduced reduction = reduced_argument(call);
    struct node *flag = node_to_integer(tape, reduction.x, DT_BOOL);
    if (call->op->detail) flag = node_not(tape, flag);
    struct node *count = node_sum(tape, flag, reduction.dims, reduction.keepdim);
    struct node *y = node_to_integer(tape, count, DT_BOOL);
    if (call->op->detail) y = node_not(tape, y);
    call_return_typed(call, y, reduction.x->dtype == DT_U8 ? DT_U8 : DT_BOOL);
}

static void count_nonzero(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input");
    uint32_t dims = call_dims(call, "dim", x);
    call_return(call, node_sum(tape, node_to_integer(tape, x, DT_BOOL), dims, false));
}

/* clang-format off */
#define DIMS "(Tensor input, int[]? dim=None, bool keepdim=False, *, ScalarType? dtype=None)"
#define MOMENTS "(Tensor input, Any dim=None, Any unbiased=None, bool keepdim=False, *, Any correction=None)"
const struct op ops_reduction[] = {
    { "sum", TENSOR | TORCH, DIMS, sum, OP_ONE_NODE | OP_CASTS_FIRST, 0, NULL },
    { "nansum", TENSOR | TORCH, DIMS, nansum, OP_ONE_NODE | OP_CASTS_FIRST, 0, NULL },
    { "mean", TENSOR | TORCH, DIMS, mean, OP_ONE_NODE | OP_CASTS_FIRST, 0, NULL },
    { "nanmean", TENSOR | TORCH, DIMS, nanmean, 0, 0, NULL },
    { "prod", TENSOR | TORCH, "(Tensor input, int? dim=None, bool keepdim=False, *, ScalarType? dtype=None)", product, OP_ONE_NODE | OP_CASTS_FIRST, 0, NULL },
    { "logsumexp", TENSOR | TORCH, "(Tensor input, int[] dim, bool keepdim=False)", logsumexp, OP_ONE_NODE, 0, NULL },
    { "sum_to_size", TENSOR, "(Tensor input, *int[] size)", sum_to_size, 0, 0, NULL },
    { "trace", TENSOR | TORCH, "(Tensor input)", trace, OP_ONE_NODE, 0, NULL },
    { "var", TENSOR | TORCH, MOMENTS, moments, OP_ONE_NODE, VARIANCE, NULL },
    { "std", TENSOR | TORCH, MOMENTS, moments, OP_ONE_NODE, DEVIATION, NULL },
    { "var_mean", TORCH, MOMENTS, moments, OP_ONE_NODE, VARIANCE | WITH_MEAN, NULL },
    { "std_mean", TORCH, MOMENTS, moments, OP_ONE_NODE, DEVIATION | WITH_MEAN, NULL },
    { "any", TENSOR | TORCH, "(Tensor input, int[]? dim=None, bool keepdim=False)", truth, OP_NO_GRADIENT, 0, NULL },
    { "all", TENSOR | TORCH, "(Tensor input, int[]? dim=None, bool keepdim=False)", truth, OP_NO_GRADIENT, 1, NULL },
    { "count_nonzero", TENSOR | TORCH, "(Tensor input, int[]? dim=None)", count_nonzero, OP_NO_GRADIENT, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(reduction);
