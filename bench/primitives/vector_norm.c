/* Norms and extrema along dimensions: compositions with stated gradients. */
#include "bench/primitives/vector_norm.h"

#include "bench/primitives/alias.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/chain_rule.h"
#include "bench/primitives/complex_functions.h"
#include "bench/primitives/complex_parts.h"
#include "bench/primitives/composed_functions.h"
#include "bench/primitives/extremum.h"
#include "bench/primitives/integral.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/reduce.h"
#include "bench/primitives/squares.h"
#include "bench/primitives/stated_gradient.h"
#include "bench/primitives/unary.h"
#include "bench/tape/deviation.h"

/* The same as autograd composes it: c (x / norm), with the other formula x (c / norm). */
static void euclidean_steps_backward(struct tape *tape, struct node *node, struct node *cotangent)
{
    struct node *zero = node_scalar(tape, 0), *is_zero = node_compare(tape, COMPARE_EQ, node, zero);
    bool other = tape->deviation && tape->deviation->other_formulas;
    for (int k = 1; k < node->input_count; k++) {
        struct node *x = node->inputs[k];
        struct node *share = node_divide(tape, other ? cotangent : x, node);
        share = node_select(tape, is_zero, zero, share);
        gradient_pass(tape, x, other ? x : cotangent, share);
    }
}

/* x c / norm, 0 where the norm is 0. */
static void euclidean_backward(struct tape *tape, struct node *node, struct node *cotangent,
                               const void *parameters)
{
    (void)parameters;
    if (composes(tape)) {
        euclidean_steps_backward(tape, node, cotangent);
        return;
    }
    struct node *zero = node_scalar(tape, 0);
    struct node *share = node_select(tape, node_compare(tape, COMPARE_EQ, node, zero), zero,
                                     node_divide(tape, cotangent, node));
    for (int k = 1; k < node->input_count; k++)
        gradient_pass(tape, node->inputs[k], share, node->inputs[k]);
}

static struct node *euclidean(struct tape *tape, struct node *x, uint32_t dims)
{
    struct node *parts[2] = { x, NULL };
    struct node *total;
    if (x->imaginary) {
        parts[0] = node_real_part(tape, x);
        parts[1] = node_imaginary_part(tape, x);
        struct node *square = node_apply(tape, "square", parts[0]);
        square = node_add(tape, square, node_apply(tape, "square", parts[1]));
        total = node_sum(tape, square, dims, true);
    } else {
        total = node_sum_of_squares(tape, x, dims);
    }
    struct node *y = node_apply(tape, "sqrt", total);
    return node_stated_gradient(tape, y, x->imaginary ? 2 : 1, parts, euclidean_backward, NULL);
}

static struct node *power(struct tape *tape, struct node *x, double p)
{
    return node_apply2(tape, "pow", x, node_scalar(tape, p));
}

/* The same as autograd composes it, of a >= 0: a^(p-1) (c / norm^(p-1)), where p > 2 with a a^(p-2); (a^(p-1) c) norm^(1-p) for p < 1. */
static void power_steps_backward(struct tape *tape, struct node *node, struct node *cotangent,
                                 double p)
{
    struct node *a = node->inputs[1], *zero = node_scalar(tape, 0);
    struct node *scaled = p > 2 ? node_multiply(tape, a, power(tape, a, p - 2))
                                : power(tape, a, p - 1);
    scaled = node_select(tape, node_compare(tape, COMPARE_EQ, a, zero), zero, scaled);
    if (p < 1) {
        scaled = node_multiply(tape, scaled, node_broadcast(tape, cotangent, a->rank, a->shape));
        gradient_pass(tape, a, power(tape, node, 1 - p), scaled);
        return;
    }
    struct node *share = node_divide(tape, cotangent, power(tape, node, p - 1));
    share = node_select(tape, node_compare(tape, COMPARE_EQ, node, zero), zero, share);
    gradient_pass(tape, a, share, scaled);
}

/* sign(a) |a|^(p-1) c / norm^(p-1), with 0 where a or the norm is 0. */
static void power_backward(struct tape *tape, struct node *node, struct node *cotangent,
                           const void *parameters)
{
    const double *p = parameters;
    struct node *a = node->inputs[1], *zero = node_scalar(tape, 0);
    if (composes(tape)) {
        power_steps_backward(tape, node, cotangent, *p);
        return;
    }
    struct node *ratio = node_divide(tape, a, node);
    struct node *slope = node_apply2(tape, "pow", ratio, node_scalar(tape, *p - 1));
    slope = node_select(tape, node_compare(tape, COMPARE_EQ, node, zero), zero, slope);
    slope = node_select(tape, node_compare(tape, COMPARE_EQ, a, zero), zero, slope);
    gradient_pass(tape, a, cotangent, slope);
}

/* a^p with p above 0; in a model 0 is without error where a is 0, as in every kernel: nothing would be known of a root of it. */
static struct node *power_of_magnitude(struct tape *tape, struct node *a, double p)
{
    struct node *y = power(tape, a, p), *zero = node_scalar(tape, 0);
    if (!tape_is_model(tape) || !(p > 0)) return y;
    return node_select(tape, node_compare(tape, COMPARE_EQ, a, zero), zero, y);
}

static struct node *power_norm(struct tape *tape, struct node *x, double p, uint32_t dims)
{
    struct node *a = node_magnitude(tape, x);
    double *kept = tape_allocate(tape, 1, sizeof *kept);
    struct node *sum = node_sum(tape, power_of_magnitude(tape, a, p), dims, true);
    struct node *root = node_divide(tape, node_scalar(tape, 1), node_scalar(tape, p));
    struct node *y = node_apply2(tape, "pow", sum, root);
    if (!kept) return y;
    *kept = p;
    return node_stated_gradient(tape, y, 1, &a, power_backward, kept);
}

struct node *node_vector_norm(struct tape *tape, struct node *x, double p, uint32_t dims,
                              bool keepdim)
{
    struct node *y;
    const struct node *before = tape->newest;
    x = node_to_real(tape, x);
    for (int d = 0; d < x->rank; d++) /* of nothing every norm is 0 */
        if (isinf(p) && (dims >> d & 1) && x->shape[d] == 0) p = 1;
    if (p == 2) y = euclidean(tape, x, dims);
    else if (p == 1) y = node_sum(tape, node_magnitude(tape, x), dims, true);
    else if (isinf(p)) y = node_extremum(tape, node_magnitude(tape, x), dims, true, p > 0 ? 1 : -1);
    else if (p == 0) {
        struct node *nonzero =
            node_compare(tape, COMPARE_NE, node_magnitude(tape, x), node_scalar(tape, 0));
        struct node *real = node_real_part(tape, x);
        struct node *flag = node_with_dtype(tape, node_to_real(tape, nonzero), x->dtype);
        y = node_sum(tape, node_flat(tape, flag, 1, &real), dims, true);
    } else y = power_norm(tape, x, p, dims);
    tape_one_kernel(tape, before, y);
    return keepdim ? y : node_squeeze(tape, y, dims);
}
