/* Leading dimensions folded into a batch, and back. */
#include "bench/ops/matrices.h"

#include "bench/primitives/binary.h"
#include "bench/primitives/complex_functions.h"
#include "bench/primitives/complex_parts.h"
#include "bench/primitives/matrix.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/view.h"

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

/* One triangle and its mirror, the real parts or, with `sign` -1, the imaginary parts, whose diagonal is 0. */
static struct node *mirrored(struct tape *tape, struct node *a, int side, double sign)
{
    struct node *beside = node_triangle(tape, a, side, side);
    return node_add(tape, sign < 0 ? beside : node_triangle(tape, a, side, 0),
                    node_scale(tape, node_transpose(tape, beside, 1, 2), sign));
}

struct node *hermitian_of_triangle(struct tape *tape, struct node *a, bool upper)
{
    int side = upper ? 1 : -1;
    if (!a->imaginary) return mirrored(tape, a, side, 1);
    return node_complex(tape, mirrored(tape, node_real_part(tape, a), side, 1),
                        mirrored(tape, node_imaginary_part(tape, a), side, -1));
}

struct node *adjoint_of(struct tape *tape, struct node *x)
{
    if (tape_failed(tape)) return tape_failure(tape);
    return node_conjugate(tape, node_transpose(tape, x, x->rank - 2, x->rank - 1));
}

struct node *ones_on_diagonal(struct tape *tape, int64_t rows, int64_t columns)
{
    struct node *eye = node_constant(tape, DT_NONE, 0, 3, (int64_t[]){ 1, rows, columns });
    for (int64_t i = 0; !tape_failed(tape) && i < rows && i < columns; i++)
        eye->value[i * columns + i] = 1;
    return eye;
}

bool call_require_real_diagonals(struct call *call, struct node *a)
{
    if (tape_failed(call->tape) || !a->imaginary) return !tape_failed(call->tape);
    const double *im = node_values(call->tape, a->imaginary);
    size_t rows = (size_t)a->shape[1], columns = (size_t)a->shape[2];
    for (size_t i = 0; !tape_failed(call->tape) && i < a->n; i++)
        if (i / columns % rows == i % columns &&
            !call_require(call, im[i] == 0, "the diagonal of a Hermitian factor is real"))
            return false;
    return !tape_failed(call->tape);
}
