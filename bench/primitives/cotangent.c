/* Passing cotangents on: accumulation, and the sums that undo a broadcast. */
#include "bench/primitives/cotangent.h"

#include "bench/primitives/binary.h"
#include "bench/primitives/complex_parts.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/reduce.h"

void tape_accumulate(struct tape *tape, struct node *node, struct node *cotangent)
{
    if (tape_failed(tape)) return;
    if (cotangent->imaginary) { /* the two components are two real values */
        if (node->imaginary)
            tape_accumulate(tape, node->imaginary, node_imaginary_part(tape, cotangent));
        cotangent = node_real_part(tape, cotangent);
    }
    if (!node->tracked) return;
    if (node->n != cotangent->n) {
        tape_fail(tape, STATUS_INTERNAL, "a cotangent of %zu elements for a value of %zu",
                  cotangent->n, node->n);
        return;
    }
    tape_returned(tape, cotangent);
    node->cotangent = node->cotangent ? node_add(tape, node->cotangent, cotangent) : cotangent;
    tape_returned(tape, node->cotangent);
}

/* The dimensions along which node_broadcast has repeated a value of that shape. */
static uint32_t repeated_dims(const struct node *x, int rank, const int64_t *shape)
{
    uint32_t dims = 0;
    int extra = x->rank - rank;
    for (int d = 0; d < x->rank; d++)
        if (d < extra || (shape[d - extra] == 1 && x->shape[d] != 1)) dims |= 1u << d;
    return dims;
}

struct node *node_sum_to_shape(struct tape *tape, struct node *x, int rank, const int64_t *shape)
{
    if (tape_failed(tape)) return tape_failure(tape);
    uint32_t dims = repeated_dims(x, rank, shape);
    if (dims) x = node_sum(tape, x, dims, true);
    return node_reshape(tape, x, rank, shape);
}

struct node *node_sum_sizes_to_shape(struct tape *tape, struct node *x, int rank,
                                     const int64_t *shape)
{
    if (tape_failed(tape)) return tape_failure(tape);
    uint32_t dims = repeated_dims(x, rank, shape);
    return node_reshape(tape, dims ? node_sum_sizes(tape, x, dims) : x, rank, shape);
}

void gradient_pass(struct tape *tape, struct node *x, struct node *cotangent, struct node *factor)
{
    if (!x->tracked) return;
    struct node *flow = factor ? node_multiply(tape, cotangent, factor) : cotangent;
    tape_accumulate(tape, x, node_sum_to_shape(tape, flow, x->rank, x->shape));
}

/* The cotangent of a node, zero when none has come. */
static struct node *cotangent_of(struct tape *tape, const struct node *node)
{
    if (node->cotangent) return node->cotangent;
    return node_constant(tape, DT_F64, 0, node->rank, node->shape);
}

struct node *node_gradient(struct tape *tape, struct node *node)
{
    struct node *im = node->imaginary;
    if (!node->cotangent && !(im && im->cotangent)) return NULL;
    struct node *gradient = node_real_part(tape, cotangent_of(tape, node));
    if (im) /* the two components of a complex argument are two real values */
        gradient = node_complex(tape, gradient, node_real_part(tape, cotangent_of(tape, im)));
    return node_reshape(tape, gradient, node->rank, node->shape);
}
