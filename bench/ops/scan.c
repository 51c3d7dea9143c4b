/* Scans, differences and trapezoids along a dimension. */
#include <math.h>
#include <string.h>

#include "bench/call/op.h"
#include "bench/ops/integers.h"
#include "bench/ops/pullback.h"
#include "bench/ops/settling.h"
#include "bench/primitives/alias.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/complex_functions.h"
#include "bench/primitives/complex_parts.h"
#include "bench/primitives/cotangent.h"
#include "bench/primitives/gather.h"
#include "bench/primitives/integral.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/reduce.h"
#include "bench/primitives/scan.h"
#include "bench/primitives/selection.h"
#include "bench/primitives/stated_gradient.h"
#include "bench/primitives/unary.h"
#include "bench/primitives/view.h"
#include "bench/tape/deviation.h"
#include "bench/tape/promotion.h"

static enum dtype scan_dtype(struct call *call, const struct node *x)
{
    enum dtype dtype = call_dtype(call, "dtype");
    return dtype != DT_NONE ? dtype : x->integer ? DT_I64 : x->dtype;
}

static void cumsum(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    enum dtype dtype = scan_dtype(call, x);
    int dim = call_dim(call, "dim", x->rank);
    struct node *y =
        node_cumulative_sum(call->tape, node_cast_operand(call->tape, x, dtype), dim, false);
    call_return_typed(call, node_staged_cotangent(call->tape, y, x->dtype), dtype);
}

/* The gradient that kernels have for complex products: sums of c y from the end, over x. */
struct quotients {
    struct node *products, *divisors; /* |y|, and |x|, or infinity for 0, which is no divisor */
    int dim;
    double roundings;
};

static void quotients_backward(struct tape *tape, struct node *node, struct node *cotangent,
                               const void *parameters)
{
    const struct quotients *q = parameters;
    const struct node *x = node->inputs[1];
    struct node *terms = node_multiply(tape, node_apply(tape, "abs", cotangent), q->products);
    struct node *sums = node_cumulative_sum(tape, terms, q->dim, true);
    struct node *none = node_constant(tape, DT_NONE, 0, x->rank, x->shape);
    none = node_model_error(tape, none, node_divide(tape, sums, q->divisors), q->roundings);
    for (int k = 1; k <= 2; k++) tape_accumulate(tape, node->inputs[k], none);
}

/* In a model: the products y of complex x along a dimension of n elements, up to n of them in each, with the errors of such a gradient:
 * 3 roundings for a complex product, n for the sum, 8 for the quotient. y itself otherwise. */
static struct node *with_quotients(struct tape *tape, struct node *y, struct node *x, int dim)
{
    struct quotients *q = tape_is_model(tape) && x->imaginary ? tape_allocate(tape, 1, sizeof *q)
                                                              : NULL;
    if (!q || tape_failed(tape) || !x->rank) return y;
    struct node *size = node_detach(tape, node_magnitude(tape, x)), *zero = node_scalar(tape, 0);
    struct node *divisors = node_select(tape, node_compare(tape, COMPARE_EQ, size, zero),
                                        node_scalar(tape, INFINITY), size);
    *q = (struct quotients){ node_detach(tape, node_magnitude(tape, y)), divisors, dim,
                             4 * (double)x->shape[dim] + 8 };
    return node_with_more_gradient(tape, y, x, quotients_backward, q);
}

static void cumprod(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input");
    enum dtype dtype = scan_dtype(call, x);
    int dim = call_dim(call, "dim", x->rank);
    enum dtype own = x->dtype;
    x = node_cast_operand(tape, x, dtype);
    struct node *y = with_quotients(tape, node_cumulative_product(tape, x, dim), x, dim);
    call_return_typed(call, node_staged_cotangent(tape, y, own), dtype);
}

static void logcumsumexp(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    int dim = call_dim(call, "dim", x->rank);
    call_return_typed(call, node_cumulative_logsumexp(call->tape, x, dim),
                      call_float_type(call, &x, 1));
}

/* ---- cummax, cummin ---------------------------------------------------------------------------- */

/* detail: the sign. Values and indices; the gradient goes to the index. */
static void cumulative_extremum(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input");
    int dim = call_dim(call, "dim", x->rank);
    struct node *own = node_cumulative_arg_extremum(tape, x, dim, (int)call->op->detail);
    struct node *index = settled_prefix_positions(call, 1, x, dim, own);
    call_return_typed(call, node_take_along(tape, x, dim, index), x->dtype);
    call_return(call, index);
}

/* ---- differences -------------------------------------------------------------------------------- */

static int64_t unlike(int64_t a, int64_t b) { return a != b; }

/* Elements start, start + 1, ... up to `drop` fewer than all. */
static struct node *part(struct tape *tape, struct node *x, int dim, int64_t start)
{
    return node_slice(tape, x, dim, start, x->shape[dim] - 1, 1);
}

static struct node *differences(struct tape *tape, struct node *x, int dim)
{
    struct node *high = part(tape, x, dim, 1), *low = part(tape, x, dim, 0);
    if (x->integer)
        return node_integer_binary(tape, x->dtype, x->dtype == DT_BOOL ? unlike : wrapping_subtract,
                                   high, low);
    return node_subtract(tape, high, low);
}

/* In the typical model: y, the n-th difference of x, with what the roundings of the differences between make together. Neighbours share them, so
 * that one of the k-th goes into n - k + 1 results with the binomial coefficients of n - k, and the sum of their squares is not 2^(n - k). */
static struct node *model_of_repeated(struct tape *tape, struct node *x, struct node *y, int dim,
                                      int64_t n)
{
    if (!tape_is_typical(tape) || n < 2 || x->integer) return y;
    x = node_detach(tape, x);
    struct node *squares =
        NULL; /* of the errors of the differences so far, by the orders that are left */
    for (int64_t k = 1; k < n && !tape_failed(tape) && x->shape[dim] > 1; k++) {
        x = differences(tape, x, dim);
        struct node *one = node_multiply(tape, x, x);
        double choose = 1;
        int64_t left = n - k, length = y->shape[dim];
        for (int64_t j = 0; j <= left; j++) {
            struct node *term =
                node_scale(tape, node_slice(tape, one, dim, j, length, 1), choose * choose / 3);
            squares = squares ? node_add(tape, squares, term) : term;
            choose *= (double)(left - j) / (double)(j + 1);
        }
    }
    if (!squares) return y;
    return node_model_error(tape, y, node_apply(tape, "sqrt", squares), 4);
}

/* The same of the parts of a complex one. */
static struct node *model_of_differences(struct tape *tape, struct node *x, struct node *y, int dim,
                                         int64_t n)
{
    if (!y->imaginary) return model_of_repeated(tape, x, y, dim, n);
    if (!tape_is_typical(tape) || n < 2) return y;
    struct node *re =
        model_of_repeated(tape, node_real_part(tape, x), node_real_part(tape, y), dim, n);
    struct node *im =
        model_of_repeated(tape, node_imaginary_part(tape, x), node_imaginary_part(tape, y), dim, n);
    return node_with_dtype(tape, node_complex(tape, re, im), y->dtype);
}

static void diff(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *parts[3], *x = call_tensor(call, "input");
    int64_t n = call_int(call, "n");
    if (!call_require(call, x->rank != 0, "diff takes at least one dimension")) return;
    if (n == 0) { /* the input itself, without what is put before and behind it */
        call_return(call, node_alias(tape, x, x->dtype));
        return;
    }
    int dim = call_dim(call, "dim", x->rank), count = 0;
    if (!call_is_none(call, "prepend")) parts[count++] = call_tensor(call, "prepend");
    parts[count++] = x;
    if (!call_is_none(call, "append")) parts[count++] = call_tensor(call, "append");
    enum dtype dtype = call_result_type(call, parts, count);
    for (int k = 0; k < count; k++) parts[k] = node_cast(tape, parts[k], dtype);
    struct node *y = count > 1 ? node_concatenate(tape, parts, count, dim) : parts[0];
    struct node *whole = y;
    for (int64_t k = 0; k < n && !tape_failed(tape) && y->shape[dim] > 0; k++)
        y = differences(tape, y, dim);
    if (!tape_failed(tape) && y->n) y = model_of_differences(tape, whole, y, dim, n);
    call_return_typed(call, y, dtype);
}

/* ---- trapezoids --------------------------------------------------------------------------------------- */

/* The widths of the intervals: differences of x along dim (a vector lies along dim), or dx. */
static struct node *widths(struct call *call, const struct node *y, int dim)
{
    struct tape *tape = call->tape;
    if (call_is_none(call, "x")) {
        struct node *dx = call_optional_tensor(call, "dx");
        return dx ? dx : node_scalar(tape, 1);
    }
    struct node *x = call_tensor(call, "x");
    int64_t shape[TENSOR_MAX_RANK];
    if (x->rank == 1) {
        for (int d = 0; d < y->rank; d++) shape[d] = d == dim ? x->shape[0] : 1;
        x = node_reshape(tape, x, y->rank, shape);
    }
    if (x->rank < y->rank) { /* missing dimensions lead */
        int lead = y->rank - x->rank;
        for (int d = 0; d < y->rank; d++) shape[d] = d < lead ? 1 : x->shape[d - lead];
        x = node_reshape(tape, x, y->rank, shape);
    }
    if (!call_require(call, x->rank == y->rank && x->shape[dim] == y->shape[dim],
                      "x and y differ along the dimension"))
        return x;
    return differences(tape, x, dim);
}

/* Twice the integral for a constant width, from one sum. */
static struct node *sum_less_ends(struct tape *tape, struct node *y, int dim, struct node *width)
{
    bool deviates = tape->deviation && tape->deviation->other_formulas;
    if (!tape_is_model(tape) && !deviates) return y;
    int64_t last = y->shape[dim] - 1;
    struct node *ends =
        node_add(tape, node_slice(tape, y, dim, 0, 1, 1), node_slice(tape, y, dim, last, 1, 1));
    struct node *sum = node_scale(tape, node_sum(tape, y, 1u << dim, false), 2);
    return node_multiply(tape, node_subtract(tape, sum, node_sum(tape, ends, 1u << dim, false)),
                         width);
}

/* The integral over dim (detail 0) or up to each point (1). */
static void trapezoid(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *given = call_tensor(call, "y"), *y = node_to_real(tape, given);
    int dim = call_dim(call, "dim", y->rank);
    enum dtype dtype = call_float_type(call, &given, 1);
    int64_t shape[TENSOR_MAX_RANK];
    if (!call_require(call, y->rank != 0, "a trapezoid takes at least one dimension")) return;
    if (!call_is_none(call, "x"))
        dtype = call_float_type(call, (struct node *[]){ given, call_tensor(call, "x") }, 2);
    if (y->shape[dim] == 0 && call->op->detail) {
        call_return_typed(call, y, dtype);
        return;
    }
    if (y->shape[dim] == 0) {
        int rank = 0;
        for (int d = 0; d < y->rank; d++)
            if (d != dim) shape[rank++] = y->shape[d];
        struct node *zero = node_constant(tape, given->dtype, 0, rank, shape);
        if (!given->integer && !given->imaginary) zero = node_flat(tape, zero, 1, &given);
        call_return_typed(call, zero, given->dtype);
        return;
    }
    struct node *pair =
        node_add_as(tape, given->dtype, part(tape, given, dim, 1), part(tape, given, dim, 0));
    struct node *width = widths(call, y, dim);
    pair = node_model_narrow_step(tape, pair, pair->dtype, dtype);
    width = node_model_narrow_step(tape, width, width->dtype, dtype);
    struct node *area =
        node_multiply_as(tape, dtype_promote(pair->dtype, width->dtype), pair, width);
    area = node_to_real(tape, area); /* of integers that wrapped until here */
    struct node *total = call->op->detail ? node_cumulative_sum(tape, area, dim, false)
                                          : node_sum(tape, area, 1u << dim, false);
    if (call_is_none(call, "x") &&
        !call->op->detail) /* kernels: (sum of all - (first + last) / 2) dx */
        total = node_model_either(tape, total, sum_less_ends(tape, y, dim, width));
    call_return_typed(call, node_scale(tape, total, 0.5), dtype);
}

/* clang-format off */
#define ALONG "(Tensor input, int dim, *, ScalarType? dtype=None)"
#define TRAPEZOID "(Tensor y, Tensor? x=None, *, Any dx=None, int dim=-1)"
const struct op ops_scan[] = {
    { "cumsum", TENSOR | TORCH, ALONG, cumsum, OP_ONE_NODE | OP_CASTS_FIRST, 0, NULL },
    { "cumprod", TENSOR | TORCH, ALONG, cumprod, OP_ONE_NODE | OP_CASTS_FIRST, 0, NULL },
    { "logcumsumexp", TENSOR | TORCH, "(Tensor input, int dim)", logcumsumexp, OP_ONE_NODE, 0, NULL },
    { "cummax", TENSOR | TORCH, "(Tensor input, int dim)", cumulative_extremum, OP_ONE_NODE, 1, NULL },
    { "cummin", TENSOR | TORCH, "(Tensor input, int dim)", cumulative_extremum, OP_ONE_NODE, -1, NULL },
    { "diff", TENSOR | TORCH, "(Tensor input, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None)", diff, 0, 0, NULL },
    { "trapezoid|trapz", TORCH, TRAPEZOID, trapezoid, 0, 0, NULL },
    { "cumulative_trapezoid", TORCH, TRAPEZOID, trapezoid, 0, 1, NULL },
};
/* clang-format on */
OP_TABLE_END(scan);
