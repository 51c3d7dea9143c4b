/* Diagonals and triangles of matrices. */
#include <string.h>

#include "bench/ops/operands.h"
#include "bench/ops/pullback.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/overwrite.h"
#include "bench/primitives/selection.h"
#include "bench/primitives/view.h"
#include "bench/tape/broadcast.h"
#include "core/checked.h"

/* An argument that counts diagonals; far outside any matrix one is as good as another. */
static int64_t diagonal_number(struct call *call, const char *name)
{
    const int64_t far = INT64_C(1) << 40;
    int64_t number = call_int(call, name);
    return number > far ? far : number < -far ? -far : number;
}

/* The extent of diagonal `offset` of rows x columns. */
static int64_t diagonal_length(int64_t rows, int64_t columns, int64_t offset)
{
    int64_t length = offset >= 0 ? (rows < columns - offset ? rows : columns - offset)
                                 : (rows + offset < columns ? rows + offset : columns);
    return length > 0 ? length : 0;
}

/* A diagonal as a view: shape and stride without dim1 and dim2, the diagonal last. */
struct diagonal {
    int rank;
    int64_t shape[TENSOR_MAX_RANK], stride[TENSOR_MAX_RANK], offset;
};

static bool diagonal_view(struct diagonal *out, struct call *call, const struct node *x,
                          int64_t offset, int64_t dim1, int64_t dim2)
{
    int64_t stride[TENSOR_MAX_RANK];
    int first = wrap_dim(call, dim1, x->rank), second = wrap_dim(call, dim2, x->rank);

    if (!call_require(call, x->rank >= 2 && first != second,
                      "a diagonal needs two different dimensions"))
        return false;
    shape_strides(stride, x->rank, x->shape);
    *out = (struct diagonal){ .rank = 0 };
    for (int d = 0; d < x->rank; d++) {
        if (d == first || d == second) continue;
        out->shape[out->rank] = x->shape[d];
        out->stride[out->rank++] = stride[d];
    }
    int64_t length = diagonal_length(x->shape[first], x->shape[second], offset);
    out->shape[out->rank] = length;
    out->stride[out->rank++] = stride[first] + stride[second];
    if (length) out->offset = offset >= 0 ? offset * stride[second] : -offset * stride[first];
    return !tape_failed(call->tape);
}

static struct node *diagonal_of(struct call *call, struct node *x, int64_t offset, int64_t dim1,
                                int64_t dim2)
{
    struct diagonal view;
    if (!diagonal_view(&view, call, x, offset, dim1, dim2)) return x;
    return node_view(call->tape, x, view.rank, view.shape, view.stride, view.offset);
}

static void diagonal(struct call *call)
{
    call_return(call, diagonal_of(call, call_tensor(call, "input"), diagonal_number(call, "offset"),
                                  call_int(call, "dim1"), call_int(call, "dim2")));
}

static void diagonal_backward(struct call *call)
{
    struct node *gradient = call_tensor(call, "grad_output");
    struct node *x = call_tracked_zero(call, "input_sizes", gradient);
    struct node *y = diagonal_of(call, x, diagonal_number(call, "offset"), call_int(call, "dim1"),
                                 call_int(call, "dim2"));
    call_return(call, call_gradient(call, y, gradient, x));
}

/* x's last dimension on diagonal `offset` of new dimensions dim1 and dim2. */
static struct node *embedded(struct call *call, struct node *x, int64_t offset, int64_t dim1,
                             int64_t dim2)
{
    int64_t shape[TENSOR_MAX_RANK + 1], stride[TENSOR_MAX_RANK + 1], own[TENSOR_MAX_RANK];
    int first = wrap_dim(call, dim1, x->rank + 1), second = wrap_dim(call, dim2, x->rank + 1);

    if (!call_require(call, x->rank && x->rank < TENSOR_MAX_RANK && first != second,
                      "no diagonal can be made of %d dimensions", x->rank))
        return x;
    int64_t length = x->shape[x->rank - 1], side = length + (offset < 0 ? -offset : offset);
    for (int d = 0, from = 0; d <= x->rank; d++)
        shape[d] = d == first || d == second ? side : x->shape[from++];
    size_t n;
    if (!call_require(call, shape_elements(&n, x->rank + 1, shape),
                      "diagonal %lld makes the result too large", (long long)offset))
        return x;
    shape_strides(stride, x->rank + 1, shape);
    for (int d = 0, from = 0; d <= x->rank; d++)
        if (d != first && d != second) own[from++] = stride[d];
    own[x->rank - 1] = stride[first] + stride[second];
    return node_place(call->tape, x, NULL, x->rank + 1, shape, own,
                      offset >= 0 ? offset * stride[second] : -offset * stride[first]);
}

static void diag_embed(struct call *call)
{
    call_return(call, embedded(call, call_tensor(call, "input"), diagonal_number(call, "offset"),
                               call_int(call, "dim1"), call_int(call, "dim2")));
}

/* diag: the diagonal of a matrix, the matrix of a vector. diagflat (detail 1): the latter,
 * of all elements. */
static void diag(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    int64_t offset = diagonal_number(call, call->op->text);
    if (call->op->detail) x = node_reshape(call->tape, x, 1, (int64_t[]){ (int64_t)x->n });
    if (!call_require(call, x->rank == 1 || x->rank == 2,
                      "a vector or a matrix is needed, not %d dimensions", x->rank))
        return;
    call_return(call, x->rank == 2 ? diagonal_of(call, x, offset, 0, 1)
                                   : embedded(call, x, offset, 0, 1));
}

/* Map entries that lead elements of the diagonal to their places in x. */
static int64_t *diagonal_map(struct call *call, const struct diagonal *view, size_t n)
{
    int64_t *map = tape_allocate(call->tape, n, sizeof *map);
    for (size_t i = 0; map && i < n; i++) {
        size_t rest = i;
        map[i] = view->offset;
        for (int d = view->rank - 1; d >= 0; d--) {
            map[i] += (int64_t)(rest % (size_t)view->shape[d]) * view->stride[d];
            rest /= (size_t)view->shape[d];
        }
    }
    return map;
}

static void diagonal_scatter(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input"), *src = call_tensor(call, "src");
    struct diagonal view;
    if (!diagonal_view(&view, call, x, diagonal_number(call, "offset"), call_int(call, "dim1"),
                       call_int(call, "dim2")))
        return;
    src = node_cast(tape, node_broadcast(tape, src, view.rank, view.shape), x->dtype);
    int64_t *map = diagonal_map(call, &view, src->n);
    if (map) call_return(call, node_overwrite(tape, x, src, 1, map, NULL));
}

/* fill_diagonal_: with `wrap`, a tall matrix gets further diagonals after a gap of
 * one row. */
static void fill_diagonal(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input");
    bool wrap = call_bool(call, "wrap");
    int64_t least = x->rank ? x->shape[0] : 0, stride[TENSOR_MAX_RANK], step = 0;

    if (!call_require(call, x->rank >= 2, "a diagonal needs at least 2 dimensions")) return;
    shape_strides(stride, x->rank, x->shape);
    for (int d = 0; d < x->rank; d++) {
        least = x->shape[d] < least ? x->shape[d] : least;
        if (!call_require(call, x->rank <= 2 || x->shape[d] == x->shape[0],
                          "all dimensions must have one extent"))
            return;
        step += stride[d];
    }
    int64_t count = least;
    if (wrap && x->rank == 2 && x->shape[0] > x->shape[1] + 1)
        count = ((int64_t)x->n + step - 1) / step;
    int64_t *map = tape_allocate(tape, (size_t)count, sizeof *map);
    if (!map) return;
    for (int64_t i = 0; i < count; i++) map[i] = i * step;
    struct node *value = node_cast(tape, call_node(call, call_value(call, "fill_value")), x->dtype);
    call_return(call,
                node_overwrite(tape, x, node_broadcast(tape, value, 1, &count), 1, map, NULL));
}

/* tril (detail 1) and triu (-1): what lies past the diagonal is zero. */
static void triangle(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input");
    int64_t diagonal_at = diagonal_number(call, "diagonal");

    if (!call_require(call, x->rank >= 2, "a matrix or a batch of matrices is needed")) return;
    int64_t rows = x->shape[x->rank - 2], columns = x->shape[x->rank - 1];
    struct node *keep = call->op->detail > 0
                            ? node_band(tape, rows, columns, diagonal_at, INT64_MAX)
                            : node_band(tape, rows, columns, INT64_MAX, -diagonal_at);
    struct node *zero = x->integer ? node_integer_constant(tape, x->dtype, 0, 0, NULL)
                                   : node_constant(tape, x->dtype, 0, 0, NULL);
    call_return(call, node_select(tape, keep, x, zero));
}

/* tril_indices (detail 1) and triu_indices (-1): rows and columns of the triangle's
 * elements. */
static void triangle_indices(struct call *call)
{
    int64_t rows = call_int(call, "row"), columns = call_int(call, "col"), count = 0, at = 0;
    int64_t offset = diagonal_number(call, "offset");
    enum dtype dtype = call_dtype(call, "dtype");

    if (!call_require(call, rows >= 0 && columns >= 0 && rows <= INT32_MAX && columns <= INT32_MAX,
                      "a triangle of %lld by %lld", (long long)rows, (long long)columns))
        return;
    bool lower = call->op->detail > 0;
    for (int pass = 0; pass < 2; pass++) {
        struct node *out = pass ? node_new_integer(call->tape, dtype == DT_NONE ? DT_I64 : dtype, 2,
                                                   (int64_t[]){ 2, count })
                                : NULL;
        if (pass && tape_failed(call->tape)) return;
        for (int64_t r = 0; r < rows; r++) {
            int64_t from = lower ? 0 : r + offset, to = lower ? r + offset + 1 : columns;
            from = from < 0 ? 0 : from;
            to = to > columns ? columns : to;
            if (from >= to) continue;
            if (!pass) count += to - from;
            for (int64_t c = from; pass && c < to; c++, at++) {
                out->integer[at] = r;
                out->integer[count + at] = c;
            }
        }
        if (pass) call_return(call, out);
    }
}

/* clang-format off */
const struct op ops_diagonal[] = {
    { "diagonal|diagonal_copy", TENSOR | TORCH | ATEN, "(Tensor input, int offset=0, int dim1=0, int dim2=1)", diagonal, OP_ONE_NODE, 0, NULL },
    { "linalg.diagonal", TORCH, "(Tensor input, *, int offset=0, int dim1=-2, int dim2=-1)", diagonal, OP_ONE_NODE, 0, NULL },
    { "diag_embed", TENSOR | TORCH | ATEN, "(Tensor input, int offset=0, int dim1=-2, int dim2=-1)", diag_embed, OP_ONE_NODE, 0, NULL },
    { "diag", TENSOR | TORCH | ATEN, "(Tensor input, int diagonal=0)", diag, OP_ONE_NODE, 0, "diagonal" },
    { "diagflat", TENSOR | TORCH, "(Tensor input, int offset=0)", diag, OP_ONE_NODE, 1, "offset" },
    { "diagonal_scatter", TENSOR | TORCH, "(Tensor input, Tensor src, int offset=0, int dim1=0, int dim2=1)", diagonal_scatter, OP_ONE_NODE, 0, NULL },
    { "fill_diagonal", TENSOR, "(Tensor input, Scalar fill_value, bool wrap=False)", fill_diagonal, OP_ONE_NODE, 0, NULL },
    { "tril", TENSOR | TORCH | ATEN, "(Tensor input, int diagonal=0)", triangle, OP_ONE_NODE, 1, NULL },
    { "triu", TENSOR | TORCH | ATEN, "(Tensor input, int diagonal=0)", triangle, OP_ONE_NODE, -1, NULL },
    { "tril_indices", TORCH, "(int row, int col, int offset=0, *, ScalarType? dtype=None)", triangle_indices, OP_NO_GRADIENT, 1, NULL },
    { "triu_indices", TORCH, "(int row, int col, int offset=0, *, ScalarType? dtype=None)", triangle_indices, OP_NO_GRADIENT, -1, NULL },
    { "diagonal_backward", ATEN, "(Tensor grad_output, int[] input_sizes, int offset, int dim1, int dim2)", diagonal_backward, OP_NO_GRADIENT, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(diagonal);
