/* Complex matrices as real ones: moves of elements and signs. */
#include "bench/primitives/complex_embedding.h"

#include "bench/primitives/binary.h"
#include "bench/primitives/complex_parts.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/view.h"

struct node *node_embedding(struct tape *tape, struct node *a)
{
    if (tape_failed(tape)) return tape_failure(tape);
    if (!a->imaginary) return a;
    if (a->rank != 3) {
        tape_fail(tape, STATUS_SKIP, "a batch of matrices is needed");
        return tape_failure(tape);
    }
    int64_t m = a->shape[1], n = a->shape[2];
    int64_t parted[5] = { a->shape[0], m, 1, n, 1 }, whole[3] = { a->shape[0], 2 * m, 2 * n };
    struct node *re = node_reshape(tape, node_real_part(tape, a), 5, parted);
    struct node *im = node_reshape(tape, node_imaginary_part(tape, a), 5, parted);
    struct node *upper[2] = { re, node_negate(tape, im) }, *lower[2] = { im, re };
    struct node *rows[2] = { node_concatenate(tape, upper, 2, 4),
                             node_concatenate(tape, lower, 2, 4) };
    return node_reshape(tape, node_concatenate(tape, rows, 2, 2), 3, whole);
}

struct node *node_of_embedding(struct tape *tape, struct node *embedding)
{
    if (tape_failed(tape)) return tape_failure(tape);
    int64_t m = embedding->shape[1] / 2, n = embedding->shape[2] / 2;
    struct node *even = node_slice(tape, embedding, 2, 0, n, 2);
    return node_complex(tape, node_slice(tape, even, 1, 0, m, 2),
                        node_slice(tape, even, 1, 1, m, 2));
}

struct node *node_by_embedding(struct tape *tape, struct node *a,
                               struct node *(*f)(struct tape *, struct node *))
{
    return node_of_embedding(tape, f(tape, node_embedding(tape, a)));
}

struct node *node_stacked_parts(struct tape *tape, struct node *x)
{
    if (!x->imaginary) return x;
    struct node *parts[2] = { node_real_part(tape, x), node_imaginary_part(tape, x) };
    return node_concatenate(tape, parts, 2, 0);
}

struct node *node_of_stacked_parts(struct tape *tape, struct node *stacked)
{
    if (tape_failed(tape)) return tape_failure(tape);
    int64_t half = stacked->shape[0] / 2;
    return node_complex(tape, node_slice(tape, stacked, 0, 0, half, 1),
                        node_slice(tape, stacked, 0, half, half, 1));
}
