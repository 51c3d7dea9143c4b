/* Norms and extrema along dimensions: compositions with stated gradients. */
#include "bench/vector_norm.h"

#include "bench/complex_functions.h"
#include "bench/functions.h"
#include "bench/gradient.h"

/* Drop the reduced dimensions of a keepdim result. */
static struct node *squeezed(struct graph *g, struct node *x, uint32_t dims, bool keepdim)
{
    int64_t shape[TENSOR_MAX_RANK];
    int rank = 0;
    if (keepdim) return x;
    for (int d = 0; d < x->rank; d++)
        if (!(dims >> d & 1)) shape[rank++] = x->shape[d];
    return node_reshape(g, x, rank, shape);
}

/* ---- extrema ---------------------------------------------------------------------------------- */

/* c / (number of equal ones) where x equals the result. */
static void extremum_backward(struct graph *g, struct node *node, struct node *cotangent,
                              const void *parameters)
{
    const uint32_t *dims = parameters;
    struct node *x = node->inputs[1];
    struct node *same = node_to_real(g, node_compare(g, COMPARE_EQ, x, node));
    struct node *count = node_sum(g, same, *dims, true);
    gradient_pass(g, x, node_divide(g, cotangent, count), same);
}

/* The extremum of integers along one dimension after the other, dims kept. */
static struct node *extremum_value(struct graph *g, struct node *x, uint32_t dims, int sign)
{
    for (int d = 0; d < x->rank && !graph_failed(g); d++) {
        if (!(dims >> d & 1)) continue;
        if (x->shape[d] == 0) {
            graph_fail(g, STATUS_SKIP, "an extremum over no elements");
            return x;
        }
        x = node_take_along(g, x, d, node_arg_extremum(g, x, d, sign));
    }
    return x;
}

struct node *node_extremum(struct graph *graph, struct node *x, uint32_t dims, bool keepdim,
                           int sign)
{
    uint32_t *kept = graph_allocate(graph, 1, sizeof *kept);
    struct node *y = extremum_value(graph, x, dims, sign);
    if (graph_failed(graph)) return y;
    *kept = dims;
    if (!x->integer && y != x)
        y = node_stated_gradient(graph, y, 1, &x, extremum_backward, kept);
    return squeezed(graph, y, dims, keepdim);
}

/* ---- norms -------------------------------------------------------------------------------------- */

/* x c / norm, 0 where the norm is 0. */
static void euclidean_backward(struct graph *g, struct node *node, struct node *cotangent,
                               const void *parameters)
{
    struct node *zero = node_scalar(g, 0);
    struct node *share = node_select(g, node_compare(g, COMPARE_EQ, node, zero), zero,
                                     node_divide(g, cotangent, node));
    (void)parameters;
    for (int k = 1; k < node->input_count; k++) gradient_pass(g, node->inputs[k], share, node->inputs[k]);
}

static struct node *euclidean(struct graph *g, struct node *x, uint32_t dims)
{
    struct node *parts[2] = { node_real_part(g, x), node_imaginary_part(g, x) };
    struct node *square = node_apply(g, "square", parts[0]);
    if (x->imaginary) square = node_add(g, square, node_apply(g, "square", parts[1]));
    struct node *y = node_apply(g, "sqrt", node_sum(g, square, dims, true));
    return node_stated_gradient(g, y, x->imaginary ? 2 : 1, parts, euclidean_backward, NULL);
}

/* sign(a) |a|^(p-1) c / norm^(p-1), with 0 where a or the norm is 0. */
static void power_backward(struct graph *g, struct node *node, struct node *cotangent,
                           const void *parameters)
{
    const double *p = parameters;
    struct node *a = node->inputs[1], *zero = node_scalar(g, 0);
    struct node *ratio = node_divide(g, a, node);
    struct node *slope = node_apply2(g, "pow", ratio, node_scalar(g, *p - 1));
    struct node *flat = node_compare(g, COMPARE_EQ, node_multiply(g, a, node), zero);
    gradient_pass(g, a, cotangent, node_select(g, flat, zero, slope));
}

static struct node *power_norm(struct graph *g, struct node *x, double p, uint32_t dims)
{
    struct node *a = node_magnitude(g, x);
    double *kept = graph_allocate(g, 1, sizeof *kept);
    struct node *sum = node_sum(g, node_apply2(g, "pow", a, node_scalar(g, p)), dims, true);
    struct node *root = node_divide(g, node_scalar(g, 1), node_scalar(g, p));
    struct node *y = node_apply2(g, "pow", sum, root);
    if (!kept) return y;
    *kept = p;
    return node_stated_gradient(g, y, 1, &a, power_backward, kept);
}

struct node *node_vector_norm(struct graph *graph, struct node *x, double p, uint32_t dims,
                              bool keepdim)
{
    struct node *y;
    x = node_to_real(graph, x);
    for (int d = 0; d < x->rank; d++) /* of nothing every norm is 0 */
        if (isinf(p) && (dims >> d & 1) && x->shape[d] == 0) p = 1;
    if (p == 2) y = euclidean(graph, x, dims);
    else if (p == 1) y = node_sum(graph, node_magnitude(graph, x), dims, true);
    else if (isinf(p)) y = node_extremum(graph, node_magnitude(graph, x), dims, true, p > 0 ? 1 : -1);
    else if (p == 0) {
        struct node *nonzero = node_compare(graph, COMPARE_NE, node_magnitude(graph, x),
                                            node_scalar(graph, 0));
        struct node *real = node_real_part(graph, x);
        struct node *flag = node_with_dtype(graph, node_to_real(graph, nonzero), x->dtype);
        y = node_sum(graph, node_flat(graph, flag, 1, &real), dims, true);
    } else
        y = power_norm(graph, x, p, dims);
    return squeezed(graph, y, dims, keepdim);
}
