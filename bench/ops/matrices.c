/* Leading dimensions folded into a batch, and back. */
#include "bench/ops/matrices.h"

#include "bench/primitives/movement.h"

struct node *call_matrices(struct call *call, struct node *x)
{
    if (!call_require(call, x->rank >= 2, "%s needs at least two dimensions", call->api_case->api))
        return x;
    int64_t shape[3] = { 1, x->shape[x->rank - 2], x->shape[x->rank - 1] };
    for (int d = 0; d < x->rank - 2; d++) shape[0] *= x->shape[d];
    return node_reshape(call->tape, x, 3, shape);
}

struct node *with_leading_of(struct tape *tape, struct node *y, const struct node *like)
{
    int64_t shape[TENSOR_MAX_RANK];
    int rank = 0;
    if (tape_failed(tape)) return tape_failure(tape);
    for (int d = 0; d < like->rank - 2; d++) shape[rank++] = like->shape[d];
    for (int d = 1; d < y->rank; d++) shape[rank++] = y->shape[d];
    return node_reshape(tape, y, rank, shape);
}

void call_refuse_complex(struct call *call, const struct node *x)
{
    if (!call_require(call, !x->imaginary, "%s of complex matrices is not in the catalogue",
                      call->api_case->api))
        return;
}

struct node *ones_on_diagonal(struct tape *tape, int64_t rows, int64_t columns)
{
    struct node *eye = node_constant(tape, DT_NONE, 0, 3, (int64_t[]){ 1, rows, columns });
    for (int64_t i = 0; !tape_failed(tape) && i < rows && i < columns; i++)
        eye->value[i * columns + i] = 1;
    return eye;
}
