/* Parts of a tensor: slices, selections, splits, strided windows, reinterpreted elements.
 *
 * Inputs arrive dense, so a view is a value of its own: views of one storage do not see
 * each other, and as_strided counts from the first element of its argument.
 */
#include <string.h>

#include "bench/call/op.h"
#include "bench/ops/indexing.h"
#include "bench/ops/pullback.h"
#include "bench/primitives/alias.h"
#include "bench/primitives/complex_parts.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/view.h"
#include "bench/tape/broadcast.h"

/* a / b rounded up, b positive; a + b may not be representable. */
static int64_t ceil_divide(int64_t a, int64_t b) { return a / b + (a % b > 0); }

/* ---- parts ------------------------------------------------------------------------------- */

static void narrow(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    int dim = call_dim(call, "dim", x->rank);
    int64_t start = call_int(call, "start"), length = call_int(call, "length");
    int64_t extent = x->rank ? x->shape[dim] : 0;

    if (start < 0) start += extent;
    if (!call_require(call,
                      start >= 0 && length >= 0 && start <= extent && length <= extent - start,
                      "start %lld and length %lld reach outside %lld elements", (long long)start,
                      (long long)length, (long long)extent))
        return;
    call_return(call, node_slice(call->tape, x, dim, start, length, 1));
}

/* x without dimension dim, at position index of it. */
static struct node *selected(struct call *call, struct node *x, int dim, int64_t index)
{
    int64_t shape[TENSOR_MAX_RANK];
    int rank = 0;
    if (!call_require(call, x->rank && index >= -x->shape[dim] && index < x->shape[dim],
                      "index %lld is out of range", (long long)index))
        return x;
    x = node_slice(call->tape, x, dim, index < 0 ? index + x->shape[dim] : index, 1, 1);
    for (int d = 0; d < x->rank; d++)
        if (d != dim) shape[rank++] = x->shape[d];
    return node_reshape(call->tape, x, rank, shape);
}

static void select_one(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    call_return(call, selected(call, x, call_dim(call, "dim", x->rank), call_int(call, "index")));
}

/* torch.ops.aten.slice */
static void sliced(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    int dim = call_dim(call, "dim", x->rank);
    struct slice slice;

    if (slice_argument(&slice, call, x, dim))
        call_return(call, node_slice(call->tape, x, dim, slice.start, slice.count, slice.step));
}

static void unbind(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    int dim = call_dim(call, "dim", x->rank);
    if (!call_require(call, x->rank, "a scalar has no dimension to unbind")) return;
    for (int64_t i = 0; x->rank && i < x->shape[dim] && !tape_failed(call->tape); i++)
        call_return(call, selected(call, x, dim, i));
}

/* Return the parts of x between consecutive bounds along dim. */
static void return_parts(struct call *call, struct node *x, int dim, int64_t count,
                         int64_t (*bound)(const void *context, int64_t k), const void *context)
{
    if (!call_require(call, x->rank, "a scalar cannot be split")) return;
    int64_t extent = x->shape[dim];
    for (int64_t k = 0; k < count && !tape_failed(call->tape); k++) {
        int64_t from = bound(context, k), to = bound(context, k + 1);
        from = from < extent ? from : extent;
        to = to < extent ? to : extent;
        call_return(call, node_slice(call->tape, x, dim, from, to > from ? to - from : 0, 1));
    }
}

/* k parts of a size; beyond the range of int64_t, as far as that goes. */
static int64_t multiple(const void *context, int64_t k)
{
    int64_t bound;
    return __builtin_mul_overflow(*(const int64_t *)context, k, &bound) ? INT64_MAX : bound;
}

static int64_t listed(const void *context, int64_t k) { return ((const int64_t *)context)[k]; }

/* The first extent % count parts are one longer. */
static int64_t balanced(const void *context, int64_t k)
{
    const int64_t *extent_count = context;
    int64_t longer = extent_count[0] % extent_count[1];
    return extent_count[0] / extent_count[1] * k + (k < longer ? k : longer);
}

/* The ints of argument `name`, which may be a list or an integer tensor, as an array. */
static int64_t *int_list(struct call *call, const char *name, size_t *count)
{
    const struct value *value = call_value(call, name);
    struct node *node = value->kind == VALUE_TENSOR ? call_node(call, value) : NULL;
    *count = node ? node->n : value_is_sequence(value) ? value->list.count : 0;
    int64_t *out = tape_allocate(call->tape, *count + 2, sizeof *out);
    if (!out) return NULL;
    for (size_t i = 0; i < *count; i++) {
        if (node) {
            out[i] = node->integer ? node->integer[i] : 0;
            continue;
        }
        const struct value *item = &value->list.items[i];
        if (item->kind != VALUE_INT) call_fail(call, "'%s' must be integers", name);
        else out[i] = item->integer;
    }
    return out;
}

static void split_sizes(struct call *call, struct node *x, int dim, const char *name)
{
    size_t count;
    int64_t *sizes = int_list(call, name, &count), total = 0;
    if (!sizes) return;
    for (size_t i = 0; i <= count; i++) { /* sizes -> bounds */
        int64_t size = i < count ? sizes[i] : 0;
        sizes[i] = total;
        if (!call_require(call, size >= 0 && !__builtin_add_overflow(total, size, &total),
                          "split sizes must not be negative"))
            return;
    }
    if (!call_require(call, !x->rank || total == x->shape[dim],
                      "the split sizes add up to %lld, not to %lld", (long long)total,
                      (long long)x->shape[dim]))
        return;
    return_parts(call, x, dim, (int64_t)count, listed, sizes);
}

/* text: the parameter that has the size or the sizes. */
static void split(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    int dim = call_dim(call, "dim", x->rank);

    if (value_is_sequence(call_value(call, call->op->text))) {
        split_sizes(call, x, dim, call->op->text);
        return;
    }
    int64_t size = call_int(call, call->op->text), extent = x->rank ? x->shape[dim] : 0;
    if (!call_require(call, size >= 0 && (size != 0 || extent == 0), "a split size of %lld",
                      (long long)size))
        return;
    return_parts(call, x, dim, extent ? ceil_divide(extent, size) : 1, multiple, &size);
}

static void chunk(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    int dim = call_dim(call, "dim", x->rank);
    int64_t chunks = call_int(call, "chunks"), extent = x->rank ? x->shape[dim] : 0;

    if (!call_require(call, chunks >= 1, "%lld chunks", (long long)chunks)) return;
    int64_t size = ceil_divide(extent, chunks);
    /* An empty dimension still gives the number of chunks that was asked for. */
    return_parts(call, x, dim, size ? ceil_divide(extent, size) : chunks, multiple, &size);
}

static void split_at(struct call *call, struct node *x, int dim, const char *name)
{
    size_t count;
    int64_t *indices = int_list(call, name, &count);
    if (!indices) return;
    int64_t extent = x->rank ? x->shape[dim] : 0;
    memmove(indices + 1, indices, count * sizeof *indices);
    indices[0] = 0;
    for (size_t i = 1; i <= count; i++) {
        if (indices[i] < 0) indices[i] += extent;
        if (indices[i] < 0) indices[i] = 0;
    }
    indices[count + 1] = extent;
    int64_t *bounds = tape_allocate(call->tape, count + 2, sizeof *bounds);
    if (!bounds) return;
    memcpy(bounds, indices, (count + 2) * sizeof *bounds);
    return_parts(call, x, dim, (int64_t)count + 1, listed, bounds);
}

/* tensor_split and its fixed-dimension forms: detail 1 horizontal, 2 vertical, 3 depth. */
static void tensor_split(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    const char *name = call->op->text;
    int form = (int)call->op->detail;
    const struct value *value = call_value(call, name);

    if (!call_require(call, x->rank >= (form > 1 ? form : 1), "too few dimensions to split"))
        return;
    int dim = form == 0   ? call_dim(call, "dim", x->rank)
              : form == 1 ? x->rank > 1
              : form == 2 ? 0
                          : 2;
    bool sections =
        value->kind == VALUE_INT ||
        (value->kind == VALUE_TENSOR && value->tensor.tensor && !value->tensor.tensor->rank);
    if (!sections) {
        split_at(call, x, dim, name);
        return;
    }
    int64_t context[2] = { x->shape[dim], call_int(call, name) };
    if (context[1] < 1 || (form && context[0] % context[1]))
        call_fail(call, "%lld elements do not split into %lld sections", (long long)context[0],
                  (long long)context[1]);
    else return_parts(call, x, dim, context[1], balanced, context);
}

/* ---- strided views ------------------------------------------------------------------ */

static struct node *unfolded(struct call *call, struct node *x, int dim)
{
    int64_t shape[TENSOR_MAX_RANK + 1], stride[TENSOR_MAX_RANK + 1];
    int64_t size = call_int(call, "size"), step = call_int(call, "step");
    int64_t extent = x->rank ? x->shape[dim] : 1;

    if (!call_require(call, size >= 0 && size <= extent && step >= 1 && x->rank < TENSOR_MAX_RANK,
                      "windows of %lld with step %lld do not fit %lld elements", (long long)size,
                      (long long)step, (long long)extent))
        return x;
    memcpy(shape, x->shape, (size_t)x->rank * sizeof *shape);
    shape_strides(stride, x->rank, x->shape);
    int64_t own = x->rank ? stride[dim] : 1;
    shape[x->rank] = size;
    stride[x->rank] = own;
    if (x->rank) {
        shape[dim] = (extent - size) / step + 1;
        stride[dim] = own * (step <= extent ? step : 1); /* a longer step is never taken */
    }
    return node_view(call->tape, x, x->rank + 1, shape, stride, 0);
}

static void unfold(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    call_return(call, unfolded(call, x, call_dim(call, "dimension", x->rank)));
}

static void as_strided(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    int64_t shape[TENSOR_MAX_RANK], stride[TENSOR_MAX_RANK];
    int rank = call_ints(call, "size", shape, TENSOR_MAX_RANK);
    if (!call_require(call, call_ints(call, "stride", stride, TENSOR_MAX_RANK) == rank,
                      "size and stride differ in length"))
        return;
    int64_t offset = call_is_none(call, "storage_offset") ? 0 : call_int(call, "storage_offset");
    call_return(call, node_view(call->tape, x, rank, shape, stride, offset));
}

/* The bits of each element as another dtype of the same or a dividing width. */
static void view_dtype(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = node_detach(tape, call_tensor(call, "input"));
    enum dtype dtype = call_dtype(call, "dtype");
    size_t from = dtype_info(x->dtype)->bytes, to = dtype_info(dtype)->bytes;
    int64_t shape[TENSOR_MAX_RANK];

    memcpy(shape, x->shape, sizeof shape);
    bool whole = dtype != DT_NONE && !dtype_is_complex(dtype) && !x->imaginary;
    if (whole && from != to) {
        int64_t last = x->rank ? shape[x->rank - 1] : 1;
        whole = x->rank > 0 && (size_t)last * from % to == 0;
        if (whole) shape[x->rank - 1] = (int64_t)((size_t)last * from / to);
    }
    if (!call_require(call, whole, "these elements cannot be viewed as another dtype")) return;
    struct node *node = dtype_is_integral(dtype) ? node_new_integer(tape, dtype, x->rank, shape)
                                                 : node_new_real(tape, dtype, x->rank, shape);
    unsigned char *bytes = tape_allocate(tape, x->n, from);
    const double *value = x->integer ? NULL : node_values(tape, x);
    if (tape_failed(tape)) return;
    if (x->integer) dtype_from_int64(bytes, x->dtype, x->integer, x->n);
    else dtype_from_double(bytes, x->dtype, value, x->n);
    if (node->integer) dtype_to_int64(node->integer, bytes, dtype, node->n);
    else dtype_to_double(node->value, bytes, dtype, node->n);
    call_return(call, node);
}

static void view_as_real(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input");
    int64_t shape[TENSOR_MAX_RANK + 1];
    if (!call_require(call, x->imaginary, "view_as_real takes complex tensors")) return;
    struct node *parts[2] = { node_real_part(tape, x), node_imaginary_part(tape, x) };
    memcpy(shape, x->shape, (size_t)x->rank * sizeof *shape);
    shape[x->rank] = 1;
    for (int k = 0; k < 2; k++) parts[k] = node_reshape(tape, parts[k], x->rank + 1, shape);
    call_return(call, node_concatenate(tape, parts, 2, x->rank));
}

static void view_as_complex(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    if (!call_require(call, x->rank && x->shape[x->rank - 1] == 2 && !x->integer,
                      "the last dimension must hold the two parts"))
        return;
    call_return(call, node_complex(call->tape, selected(call, x, x->rank - 1, 0),
                                   selected(call, x, x->rank - 1, 1)));
}

/* resize_ to no more elements than there are; new ones would be uninitialised. */
static void resize(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input");
    int64_t shape[TENSOR_MAX_RANK], n = 1;
    int rank;

    if (call->op->detail) {
        struct node *other = call_tensor(call, "the_template");
        rank = other->rank;
        memcpy(shape, other->shape, sizeof shape);
    } else {
        rank = call_ints(call, "size", shape, TENSOR_MAX_RANK);
    }
    for (int d = 0; d < rank; d++)
        if (shape[d] < 0 || __builtin_mul_overflow(n, shape[d], &n)) n = INT64_MAX;
    if (!call_require(call, n <= (int64_t)x->n,
                      "the added elements of a larger size have no defined value"))
        return;
    x = node_slice(tape, node_reshape(tape, x, 1, (int64_t[]){ (int64_t)x->n }), 0, 0, n, 1);
    call_return(call, node_reshape(tape, x, rank, shape));
}

/* ---- gradients as operators of aten: linear in an input of which the sizes are given ---------- */

static void select_backward(struct call *call)
{
    struct node *gradient = call_tensor(call, "grad_output");
    struct node *x = call_tracked_zero(call, "input_sizes", gradient);
    struct node *y = selected(call, x, call_dim(call, "dim", x->rank), call_int(call, "index"));
    call_return(call, call_gradient(call, y, gradient, x));
}

static void slice_backward(struct call *call)
{
    struct node *gradient = call_tensor(call, "grad_output");
    struct node *x = call_tracked_zero(call, "input_sizes", gradient);
    int dim = call_dim(call, "dim", x->rank);
    struct slice slice;
    if (!slice_argument(&slice, call, x, dim)) return;
    struct node *y = node_slice(call->tape, x, dim, slice.start, slice.count, slice.step);
    call_return(call, call_gradient(call, y, gradient, x));
}

static void unfold_backward(struct call *call)
{
    struct node *gradient = call_tensor(call, "grad_in");
    struct node *x = call_tracked_zero(call, "input_sizes", gradient);
    struct node *y = unfolded(call, x, call_dim(call, "dim", x->rank));
    call_return(call, call_gradient(call, y, gradient, x));
}

/* clang-format off */
const struct op ops_parts[] = {
    { "view", ANYWHERE | ATEN, "(Tensor input, ScalarType dtype)", view_dtype, OP_NO_GRADIENT, 0, NULL },
    { "narrow|narrow_copy", TENSOR | TORCH, "(Tensor input, int dim, int start, int length)", narrow, OP_ONE_NODE, 0, NULL },
    { "select|select_copy", TENSOR | TORCH | ATEN, "(Tensor input, int dim, int index)", select_one, OP_ONE_NODE, 0, NULL },
    { "slice|slice_copy", ATEN | TORCH, "(Tensor input, int dim=0, int? start=None, int? end=None, int step=1)", sliced, OP_ONE_NODE, 0, NULL },
    { "unbind|unbind_copy", TENSOR | TORCH | ATEN, "(Tensor input, int dim=0)", unbind, OP_ONE_NODE, 0, NULL },
    { "split|unsafe_split|split_copy", TENSOR | TORCH | ATEN, "(Tensor input, int[1] split_size, int dim=0)", split, OP_ONE_NODE, 0, "split_size" },
    { "split|unsafe_split", TENSOR | TORCH, "(Tensor input, int[1] split_size_or_sections, int dim=0)", split, OP_ONE_NODE, 0, "split_size_or_sections" },
    { "split_with_sizes|unsafe_split_with_sizes", TENSOR | TORCH | ATEN, "(Tensor input, int[] split_sizes, int dim=0)", split, OP_ONE_NODE, 0, "split_sizes" },
    { "chunk|unsafe_chunk", TENSOR | TORCH, "(Tensor input, int chunks, int dim=0)", chunk, OP_ONE_NODE, 0, NULL },
    { "tensor_split", TENSOR | TORCH, "(Tensor input, Any indices_or_sections, int dim=0)", tensor_split, 0, 0, "indices_or_sections" },
    { "tensor_split", TENSOR | TORCH, "(Tensor input, Any indices, int dim=0)", tensor_split, 0, 0, "indices" },
    { "tensor_split", TENSOR | TORCH, "(Tensor input, Any sections, int dim=0)", tensor_split, 0, 0, "sections" },
    { "tensor_split", TENSOR | TORCH, "(Tensor input, Any tensor_indices_or_sections, int dim=0)", tensor_split, 0, 0, "tensor_indices_or_sections" },
    { "hsplit", TENSOR | TORCH, "(Tensor input, Any indices_or_sections)", tensor_split, 0, 1, "indices_or_sections" },
    { "vsplit", TENSOR | TORCH, "(Tensor input, Any indices_or_sections)", tensor_split, 0, 2, "indices_or_sections" },
    { "dsplit", TENSOR | TORCH, "(Tensor input, Any indices_or_sections)", tensor_split, 0, 3, "indices_or_sections" },
    { "unfold", TENSOR, "(Tensor input, int dimension, int size, int step)", unfold, OP_ONE_NODE, 0, NULL },
    { "as_strided", TENSOR | TORCH | ATEN, "(Tensor input, int[] size, int[] stride, int? storage_offset=None)", as_strided, OP_ONE_NODE, 0, NULL },
    { "view_as_real", TENSOR | TORCH, "(Tensor input)", view_as_real, OP_ONE_NODE, 0, NULL },
    { "view_as_complex", TENSOR | TORCH, "(Tensor input)", view_as_complex, OP_ONE_NODE, 0, NULL },
    { "resize_|resize", TENSOR, "(Tensor input, *int[] size)", resize, OP_NO_GRADIENT, 0, NULL },
    { "resize_as_|resize_as", TENSOR | TORCH, "(Tensor input, Tensor the_template)", resize, 0, 1, NULL },
    { "unfold_copy", TORCH, "(Tensor input, int dimension, int size, int step)", unfold, OP_ONE_NODE, 0, NULL },
    { "select_backward", ATEN, "(Tensor grad_output, int[] input_sizes, int dim, int index)", select_backward, OP_NO_GRADIENT, 0, NULL },
    { "slice_backward", ATEN, "(Tensor grad_output, int[] input_sizes, int dim, int start, int end, int step)", slice_backward, OP_NO_GRADIENT, 0, NULL },
    { "unfold_backward", ATEN, "(Tensor grad_in, int[] input_sizes, int dim, int size, int step)", unfold_backward, OP_NO_GRADIENT | OP_ADDS, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(parts);
