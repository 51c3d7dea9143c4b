/* x[index] and x[index] = value, and their functional names. */
#include <string.h>

#include "bench/call/op.h"
#include "bench/ops/indexing.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/gather.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/overwrite.h"
#include "bench/primitives/view.h"
#include "bench/tape/broadcast.h"

/* The recorded shape of output 0, or NULL. */
static const struct tensor_record *recorded_output(const struct call *call)
{
    const struct value *outputs = &call->api_case->outputs;
    if (outputs->kind != VALUE_LIST || !outputs->list.count) return NULL;
    const struct value *first = &outputs->list.items[0];
    return first->kind == VALUE_TENSOR ? first->tensor.record : NULL;
}

static bool has_shape(const struct indexing *indexing, const struct tensor_record *record)
{
    return record->rank == indexing->rank &&
           !memcmp(record->shape, indexing->shape, (size_t)indexing->rank * sizeof *record->shape);
}

/* Does `value` broadcast to the indexed shape, extents of 1 in front not counting? */
static bool value_broadcasts(const struct node *value, const struct indexing *indexing)
{
    for (int d = 1; d <= value->rank; d++) {
        int64_t extent = value->shape[value->rank - d];
        int own = indexing->rank - d;
        if (extent != 1 && (own < 0 || indexing->shape[own] != extent)) return false;
    }
    return true;
}

/* Resolve the index. A dump writes the tuple of x[0, 2] and the list of x[[0, 2]] alike;
 * the list is meant when the tuple does not fit x, the recorded result or the value
 * assigned. */
static bool resolve(struct indexing *out, struct call *call, const struct node *x,
                    const struct value *index, const struct node *assigned)
{
    char why[160], other_why[160];
    struct indexing other;
    const struct tensor_record *record = assigned ? NULL : recorded_output(call);

    if (!call_require(call, x->dtype != DT_NONE, "a number cannot be indexed")) return false;
    if (index->kind != VALUE_LIST) {
        if (indexing_open(out, call, x, index, 1, false, why, sizeof why)) return true;
        call_fail(call, "%s", *why ? why : "the index cannot be resolved");
        return false;
    }
    bool fits =
        indexing_open(out, call, x, index->list.items, index->list.count, false, why, sizeof why);
    bool agrees = fits && (!record || has_shape(out, record)) &&
                  (!assigned || value_broadcasts(assigned, out));
    if (!agrees && !tape_failed(call->tape) &&
        indexing_open(&other, call, x, index, 1, false, other_why, sizeof other_why) &&
        (!fits || ((!record || has_shape(&other, record)) &&
                   (!assigned || value_broadcasts(assigned, &other))))) {
        *out = other;
        return true;
    }
    if (!fits) call_fail(call, "%s", *why ? why : "the index cannot be resolved");
    return fits;
}

static void return_indexed(struct call *call, struct node *x, const struct indexing *indexing)
{
    struct node *y = indexing->is_view
                         ? node_view(call->tape, x, indexing->rank, indexing->shape,
                                     indexing->stride, indexing->offset)
                         : node_gather_rows(call->tape, x, indexing->rank, indexing->shape,
                                            indexing->row, indexing->map, 0);
    call_return(call, y);
}

static void getitem(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    struct indexing indexing;
    if (resolve(&indexing, call, x, call_value(call, "index"), NULL))
        return_indexed(call, x, &indexing);
}

/* The value in x's dtype and the indexed shape, extents of 1 in front dropped. */
static struct node *assigned_value(struct call *call, const struct node *x, struct node *value,
                                   const struct indexing *indexing)
{
    int drop = value->rank > indexing->rank ? value->rank - indexing->rank : 0;
    if (!call_require(call, value_broadcasts(value, indexing),
                      "the value does not broadcast to what is assigned"))
        return value;
    value = node_reshape(call->tape, value, value->rank - drop, value->shape + drop);
    return node_broadcast(call->tape, node_cast(call->tape, value, x->dtype), indexing->rank,
                          indexing->shape);
}

static void return_assigned(struct call *call, struct node *x, struct node *value,
                            struct indexing *indexing, bool accumulate)
{
    struct tape *tape = call->tape;
    value = assigned_value(call, x, value, indexing);
    if (tape_failed(tape) || !indexing_need_map(indexing, call, x)) return;
    if (!accumulate) {
        call_return_typed(call, overwritten(call, x, value, indexing->row, indexing->map),
                          x->dtype);
        return;
    }
    call_return_typed(call, added_rows(call, x, value, indexing->row, indexing->map), x->dtype);
}

/* x[index] = value as a function: the new x. */
static void setitem(struct call *call)
{
    struct node *x = call_tensor(call, "input"), *value = call_tensor(call, "value");
    struct indexing indexing;
    if (resolve(&indexing, call, x, call_value(call, "index"), value))
        return_assigned(call, x, value, &indexing, false);
}

/* aten::index and index_put: a list of tensors, None for a whole dimension. */
static bool resolve_list(struct indexing *out, struct call *call, const struct node *x)
{
    const struct value *indices = call_value(call, "indices");
    char why[160];
    if (!call_require(call, x->dtype != DT_NONE, "a number cannot be indexed")) return false;
    bool listed = indices->kind == VALUE_LIST;
    if (indexing_open(out, call, x, listed ? indices->list.items : indices,
                      listed ? indices->list.count : 1, true, why, sizeof why))
        return true;
    call_fail(call, "%s", *why ? why : "the index cannot be resolved");
    return false;
}

static void index_list(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    struct indexing indexing;
    if (resolve_list(&indexing, call, x)) return_indexed(call, x, &indexing);
}

static void index_put(struct call *call)
{
    struct node *x = call_tensor(call, "input"), *values = call_tensor(call, "values");
    struct indexing indexing;
    if (resolve_list(&indexing, call, x))
        return_assigned(call, x, values, &indexing, call_bool(call, "accumulate"));
}

/* ---- scatters into a view ----------------------------------------------------------- */

/* x with the elements of a strided view replaced by src. */
static void return_replaced(struct call *call, struct node *x, struct indexing *view)
{
    struct node *src = call_tensor(call, "src");
    if (!call_require(call,
                      src->rank == view->rank && !memcmp(src->shape, view->shape,
                                                         (size_t)view->rank * sizeof *view->shape),
                      "src does not have the shape of what it replaces"))
        return;
    view->is_view = true;
    if (!tape_failed(call->tape) && indexing_need_map(view, call, x))
        call_return(call, node_overwrite(call->tape, x, node_cast(call->tape, src, x->dtype),
                                         view->row, view->map, NULL));
}

static void select_scatter(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    struct indexing view = { .rank = 0 };
    int dim = call_dim(call, "dim", x->rank);
    int64_t stride[TENSOR_MAX_RANK], index = call_int(call, "index");

    if (!call_require(call, x->rank && index >= -x->shape[dim] && index < x->shape[dim],
                      "index %lld is out of range", (long long)index))
        return;
    shape_strides(stride, x->rank, x->shape);
    view.offset = (index < 0 ? index + x->shape[dim] : index) * stride[dim];
    for (int d = 0; d < x->rank; d++) {
        if (d == dim) continue;
        view.shape[view.rank] = x->shape[d];
        view.stride[view.rank++] = stride[d];
    }
    return_replaced(call, x, &view);
}

static void slice_scatter(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    struct indexing view = { .rank = x->rank };
    int dim = call_dim(call, "dim", x->rank);
    struct slice slice;

    if (!slice_argument(&slice, call, x, dim)) return;
    memcpy(view.shape, x->shape, sizeof view.shape);
    shape_strides(view.stride, x->rank, x->shape);
    view.shape[dim] = slice.count;
    view.offset = slice.count ? slice.start * view.stride[dim] : 0;
    view.stride[dim] *= slice.step;
    return_replaced(call, x, &view);
}

/* Is every position of the map different and inside n elements? */
static bool map_is_injective(struct call *call, const int64_t *map, size_t entries, size_t n)
{
    unsigned char *seen = tape_allocate(call->tape, n, 1);
    if (!seen) return false;
    memset(seen, 0, n);
    for (size_t i = 0; i < entries; i++) {
        if (map[i] < 0 || map[i] >= (int64_t)n || seen[map[i]]) return false;
        seen[map[i]] = 1;
    }
    return true;
}

static void as_strided_scatter(struct call *call)
{
    struct node *x = call_tensor(call, "input"), *src = call_tensor(call, "src");
    struct indexing view = { .rank = 0 };
    view.rank = call_ints(call, "size", view.shape, TENSOR_MAX_RANK);
    if (!call_require(call, call_ints(call, "stride", view.stride, TENSOR_MAX_RANK) == view.rank,
                      "size and stride differ in length"))
        return;
    view.offset = call_is_none(call, "storage_offset") ? 0 : call_int(call, "storage_offset");
    int64_t reach = view.offset;
    for (int d = 0; d < view.rank; d++) {
        int64_t step;
        if (view.shape[d] < 0 || view.stride[d] < 0) call_fail(call, "a negative size or stride");
        else if (view.shape[d] &&
                 (__builtin_mul_overflow(view.shape[d] - 1, view.stride[d], &step) ||
                  __builtin_add_overflow(reach, step, &reach)))
            reach = INT64_MAX;
    }
    if (!call_require(call, view.offset >= 0 && reach < (int64_t)x->n,
                      "the view reaches outside its tensor"))
        return;
    if (!call_require(call,
                      src->rank == view.rank &&
                          !memcmp(src->shape, view.shape, (size_t)view.rank * sizeof *view.shape),
                      "src does not have the shape of what it replaces"))
        return;
    if (tape_failed(call->tape) || !indexing_need_map(&view, call, x)) return;
    if (!call_require(call, map_is_injective(call, view.map, src->n / view.row, x->n / view.row),
                      "the view writes outside its tensor or one element twice"))
        return;
    return_replaced(call, x, &view);
}

/* clang-format off */
const struct op ops_getitem[] = {
    { "__getitem__", TENSOR, "(Tensor input, Any index)", getitem, OP_ONE_NODE, 0, NULL },
    { "__setitem__", TENSOR, "(Tensor input, Any index, Tensor value)", setitem, 0, 0, NULL },
    { "index|_unsafe_index", ATEN | TORCH, "(Tensor input, Any indices)", index_list, OP_ONE_NODE, 0, NULL },
    { "index_put|_unsafe_index_put|_index_put_impl", TENSOR | TORCH | ATEN, "(Tensor input, Any indices, Tensor values, bool accumulate=False, ...)", index_put, OP_ONE_NODE, 0, NULL },
    { "select_scatter", TENSOR | TORCH | ATEN, "(Tensor input, Tensor src, int dim, int index)", select_scatter, OP_ONE_NODE, 0, NULL },
    { "slice_scatter", TENSOR | TORCH | ATEN, "(Tensor input, Tensor src, int dim=0, int? start=None, int? end=None, int step=1)", slice_scatter, OP_ONE_NODE, 0, NULL },
    { "as_strided_scatter", TENSOR | TORCH | ATEN, "(Tensor input, Tensor src, int[] size, int[] stride, int? storage_offset=None)", as_strided_scatter, OP_ONE_NODE, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(getitem);
