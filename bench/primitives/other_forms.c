/* Compositions of the primitives that the usual forms replace. */
#include "bench/primitives/other_forms.h"

#include "bench/primitives/binary.h"
#include "bench/primitives/integral.h"
#include "bench/primitives/reduce.h"
#include "bench/primitives/selection.h"
#include "bench/primitives/unary.h"

struct node *one_pass_squares(struct tape *tape, struct node *x, struct node *mean, uint32_t dims)
{
    double count = 1;
    for (int d = 0; d < x->rank; d++)
        if (dims >> d & 1) count *= (double)x->shape[d];
    struct node *second =
        node_scale(tape, node_sum(tape, node_multiply(tape, x, x), dims, true), 1 / count);
    struct node *spread = node_subtract(tape, second, node_multiply(tape, mean, mean));
    struct node *zero = node_scalar(tape, 0);
    spread = node_select(tape, node_compare(tape, COMPARE_GT, spread, zero), spread, zero);
    return node_scale(tape, spread, count);
}

static struct node *plain_sum(struct tape *tape, struct node *e, int dim)
{
    return node_sum(tape, e, e->rank ? 1u << dim : 0, true);
}

struct node *plain_softmax(struct tape *tape, struct node *x, int dim)
{
    struct node *e = node_apply(tape, "exp", x);
    return node_divide(tape, e, plain_sum(tape, e, dim));
}

struct node *plain_logsumexp(struct tape *tape, struct node *x, int dim)
{
    return node_apply(tape, "log", plain_sum(tape, node_apply(tape, "exp", x), dim));
}

struct node *plain_log_softmax(struct tape *tape, struct node *x, int dim)
{
    return node_subtract(tape, x, plain_logsumexp(tape, x, dim));
}
