/* Halves and neighbouring pairs of a dimension. */
#include "bench/ops/npu_halves.h"

#include <string.h>

#include "bench/primitives/binary.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/view.h"

bool halves(struct call *call, struct node *x, int dim, struct node **first, struct node **second)
{
    int64_t extent = x->rank ? x->shape[dim] : 1;
    if (!call_require(call, extent % 2 == 0, "dimension %d has odd extent %lld", dim,
                      (long long)extent))
        return false;
    *first = node_slice(call->tape, x, dim, 0, extent / 2, 1);
    *second = node_slice(call->tape, x, dim, extent / 2, extent / 2, 1);
    return true;
}

/* The last dimension of x as pairs: one dimension more. */
static struct node *as_pairs(struct call *call, struct node *x)
{
    int64_t shape[TENSOR_MAX_RANK];
    if (!call_require(call,
                      x->rank >= 1 && x->rank != TENSOR_MAX_RANK && x->shape[x->rank - 1] % 2 == 0,
                      "the last of %d dimensions does not divide into pairs", x->rank))
        return tape_failure(call->tape);
    memcpy(shape, x->shape, sizeof shape);
    shape[x->rank - 1] = x->shape[x->rank - 1] / 2;
    shape[x->rank] = 2;
    return node_reshape(call->tape, x, x->rank + 1, shape);
}

static struct node *turned_pairs(struct call *call, struct node *x)
{
    struct tape *tape = call->tape;
    struct node *split = as_pairs(call, x);
    if (tape_failed(tape)) return x;
    struct node *parts[2] = { node_negate(tape, node_slice(tape, split, x->rank, 1, 1, 1)),
                              node_slice(tape, split, x->rank, 0, 1, 1) };
    return node_reshape(tape, node_concatenate(tape, parts, 2, x->rank), x->rank, x->shape);
}

static struct node *turned_halves(struct call *call, struct node *x)
{
    struct tape *tape = call->tape;
    struct node *a, *b;
    if (!halves(call, x, x->rank ? x->rank - 1 : 0, &a, &b)) return x;
    struct node *parts[2] = { node_negate(tape, b), a };
    return node_concatenate(tape, parts, 2, x->rank - 1);
}

struct node *rotated(struct call *call, struct node *x, struct node *cosine, struct node *sine,
                     bool pairs)
{
    struct tape *tape = call->tape;
    struct node *turned = pairs ? turned_pairs(call, x) : turned_halves(call, x);
    struct node *y =
        node_add(tape, node_multiply(tape, cosine, x), node_multiply(tape, sine, turned));
    (void)call_require(call, tape_failed(tape) || y->n == x->n,
                       "cosines and sines of a larger shape than what they turn");
    return y;
}

struct node *pairs_to_halves(struct call *call, struct node *x)
{
    struct tape *tape = call->tape;
    struct node *split = as_pairs(call, x);
    if (tape_failed(tape)) return x;
    return node_reshape(tape, node_transpose(tape, split, x->rank - 1, x->rank), x->rank, x->shape);
}

struct node *doubled(struct tape *tape, struct node *x, bool pairs)
{
    struct node *parts[2] = { x, x };
    if (!pairs || tape_failed(tape)) return node_concatenate(tape, parts, 2, x->rank - 1);
    int64_t shape[TENSOR_MAX_RANK];
    memcpy(shape, x->shape, sizeof shape);
    shape[x->rank] = 1;
    parts[0] = parts[1] = node_reshape(tape, x, x->rank + 1, shape);
    shape[x->rank - 1] *= 2;
    return node_reshape(tape, node_concatenate(tape, parts, 2, x->rank), x->rank, shape);
}
