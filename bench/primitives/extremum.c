/* Largest and smallest elements along dimensions. */
#include "bench/primitives/extremum.h"

#include <math.h>
#include <string.h>

#include "bench/primitives/alias.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/chain_rule.h"
#include "bench/primitives/gather.h"
#include "bench/primitives/lines.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/reduce.h"
#include "bench/primitives/stated_gradient.h"

/* Does the element at `at` take the place of the best one so far? */
static bool beats(const struct node *x, size_t at, size_t best, int sign)
{
    if (x->integer)
        return sign > 0 ? x->integer[at] > x->integer[best] : x->integer[at] < x->integer[best];
    double new = x->value[at], old = x->value[best];
    return !isnan(old) && (isnan(new) || (sign > 0 ? new > old : new < old));
}

struct node *node_arg_extremum(struct tape *tape, struct node *x, int dim, int sign)
{
    int64_t shape[TENSOR_MAX_RANK];

    if (tape_failed(tape)) return tape_failure(tape);
    struct lines lines = lines_along(x, dim);
    memcpy(shape, x->shape, sizeof shape);
    if (x->rank) shape[dim] = 1;
    struct node *node = node_new_integer(tape, DT_I64, x->rank, shape);
    if (!x->integer) (void)node_values(tape, x);
    if (tape_failed(tape)) return tape_failure(tape);
    for (size_t l = 0; l < node->n; l++) {
        size_t first = line_start(&lines, l), best = 0;
        for (size_t k = 1; k < lines.extent; k++)
            if (beats(x, first + k * lines.step, first + best * lines.step, sign)) best = k;
        node->integer[l] = (int64_t)best;
    }
    return node;
}

/* Which lines of x an element of y, the extremum over `dims` that are kept, belongs to: its index for element i of x. */
static size_t extremum_line(const struct node *x, const struct node *y, size_t i)
{
    size_t index = 0, step = 1;
    for (int d = x->rank; d-- > 0;) {
        size_t extent = (size_t)x->shape[d], at = i % extent;
        i /= extent;
        if (y->shape[d] == 1) continue;
        index += at * step;
        step *= extent;
    }
    return index;
}

struct node *node_model_extremum(struct tape *tape, struct node *share, struct node *x,
                                 struct node *y, bool divided)
{
    if (!tape_is_model(tape) || tape_failed(tape) || node_is_exact(x)) return share;
    const double *size = node_values(tape, x), *most = node_values(tape, y);
    (void)node_values(tape, share);
    struct node *out = node_alias(tape, share, share->dtype);
    double *error = tape_allocate(tape, x->n, sizeof *error);
    size_t *near = tape_allocate(tape, y->n, sizeof *near);
    if (tape_failed(tape) || share->n != x->n) return share;
    memset(near, 0, y->n * sizeof *near);
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < x->n; i++) {
            size_t line = extremum_line(x, y, i);
            double whole = divided ? (double)near[line] : 1;
            /* The worst of the errors, whichever of the two models asks: a jump has no mean. */
            double reach = 4 * (node_error(x, i) + node_error(y, line));
            bool is_near = fabs(size[i] - most[line]) <= reach;
            if (pass == 0) near[line] += is_near;
            else error[i] = is_near && near[line] > 1 ? whole : node_error(share, i);
        }
    out->error = error;
    return out;
}

/* c / (number of equal ones) where x equals the result. */
static void extremum_backward(struct tape *tape, struct node *node, struct node *cotangent,
                              const void *parameters)
{
    const uint32_t *dims = parameters;
    struct node *x = node->inputs[1];
    struct node *same = node_to_real(tape, node_compare(tape, COMPARE_EQ, x, node));
    struct node *count = node_sum(tape, same, *dims, true);
    gradient_pass(tape, x, node_divide(tape, cotangent, count),
                  node_model_extremum(tape, same, x, node, true));
}

/* The extremum along one dimension after the other, dims kept. */
static struct node *extremum_value(struct tape *tape, struct node *x, uint32_t dims, int sign)
{
    for (int d = 0; d < x->rank && !tape_failed(tape); d++) {
        if (!(dims >> d & 1)) continue;
        if (x->shape[d] == 0) {
            tape_fail(tape, STATUS_SKIP, "there is no extremum of an empty dimension");
            return tape_failure(tape);
        }
        x = node_take_along(tape, x, d, node_arg_extremum(tape, x, d, sign));
    }
    return x;
}

struct node *node_extremum(struct tape *tape, struct node *x, uint32_t dims, bool keepdim, int sign)
{
    uint32_t *kept = tape_allocate(tape, 1, sizeof *kept);
    struct node *y = extremum_value(tape, x, dims, sign);
    if (tape_failed(tape)) return tape_failure(tape);
    *kept = dims;
    if (!x->integer && y != x) y = node_stated_gradient(tape, y, 1, &x, extremum_backward, kept);
    return keepdim ? y : node_squeeze(tape, y, dims);
}

struct node *node_extremum_detached(struct tape *tape, struct node *x, uint32_t dims, int sign)
{
    struct node *detached = node_detach(tape, node_to_real(tape, x));
    return node_detach(tape, extremum_value(tape, detached, dims, sign));
}
