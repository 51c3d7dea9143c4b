/* Indices resolved to positions.
 *
 * Basic items (ints, slices, None, Ellipsis) make a strided view of x; tensor indices then
 * choose along some of its dimensions. As in PyTorch their broadcast shape stands where
 * they stand when those dimensions are neighbours, and in front otherwise; an int is basic
 * indexing and separates nothing.
 */
#include "bench/ops/indexing.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "bench/call/op.h"
#include "bench/ops/integers.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/gather.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/overwrite.h"
#include "bench/tape/broadcast.h"

/* ---- items to a view ---------------------------------------------------------------- */

/* The view so far: its dimensions, and the index that chooses along each, or NULL. */
struct resolver {
    struct call *call;
    const struct node *x;
    int own;  /* dimensions of x passed */
    int rank; /* dimensions of the view made */
    int64_t shape[INDEXING_MOST], stride[INDEXING_MOST], offset;
    struct node *chosen[INDEXING_MOST];
    int64_t own_stride[TENSOR_MAX_RANK];
    char *why;
    size_t why_bytes;
};

static bool refuse(struct resolver *resolver, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool refuse(struct resolver *resolver, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(resolver->why, resolver->why_bytes, format, arguments);
    va_end(arguments);
    return false;
}

static bool room(struct resolver *resolver, int dims)
{
    if (resolver->own + dims > resolver->x->rank)
        return refuse(resolver, "too many indices for %d dimensions", resolver->x->rank);
    if (resolver->rank + dims >= INDEXING_MOST) return refuse(resolver, "too many dimensions");
    return true;
}

/* Dimension of the view with `extent` and `stride`; chosen may be NULL. */
static bool add_dimension(struct resolver *resolver, int64_t extent, int64_t stride,
                          struct node *chosen)
{
    if (resolver->rank >= INDEXING_MOST) return refuse(resolver, "too many dimensions");
    resolver->shape[resolver->rank] = extent;
    resolver->stride[resolver->rank] = stride;
    resolver->chosen[resolver->rank++] = chosen;
    return true;
}

static bool whole_dimension(struct resolver *resolver)
{
    if (!room(resolver, 1)) return false;
    resolver->own++;
    return add_dimension(resolver, resolver->x->shape[resolver->own - 1],
                         resolver->own_stride[resolver->own - 1], NULL);
}

static bool take_int(struct resolver *resolver, int64_t index)
{
    if (!room(resolver, 1)) return false;
    int64_t extent = resolver->x->shape[resolver->own];
    if (index < -extent || index >= extent)
        return refuse(resolver, "index %lld is out of range for dimension %d of size %lld",
                      (long long)index, resolver->own, (long long)extent);
    resolver->offset += (index < 0 ? index + extent : index) * resolver->own_stride[resolver->own];
    resolver->own++;
    return true;
}

/* A slice's part: an int, an integer tensor of one element, or None. */
static bool slice_part(struct resolver *resolver, const struct value *part, int64_t fallback,
                       int64_t *out)
{
    *out = fallback;
    if (part->kind == VALUE_NONE) return true;
    if (part->kind == VALUE_INT) *out = part->integer;
    else if (part->kind == VALUE_TENSOR) {
        struct node *node = call_node(resolver->call, part);
        if (!node->integer || node->n != 1)
            return refuse(resolver, "a slice bound is a tensor that is not one integer");
        *out = node->integer[0];
    } else {
        return refuse(resolver, "a slice of something else than ints");
    }
    return true;
}

static bool take_slice(struct resolver *resolver, const struct value *slice)
{
    int64_t start, end, step;
    if (!room(resolver, 1)) return false;
    int64_t extent = resolver->x->shape[resolver->own],
            stride = resolver->own_stride[resolver->own];
    if (slice->list.count != 3) return refuse(resolver, "a slice of %zu parts", slice->list.count);
    if (!slice_part(resolver, &slice->list.items[0], 0, &start) ||
        !slice_part(resolver, &slice->list.items[1], extent, &end) ||
        !slice_part(resolver, &slice->list.items[2], 1, &step))
        return false;
    if (step < 1) return refuse(resolver, "a slice with step %lld", (long long)step);
    if (start < 0) start += extent;
    if (end < 0) end += extent;
    start = start < 0 ? 0 : start > extent ? extent : start;
    end = end < start ? start : end > extent ? extent : end;
    int64_t length = (end - start) / step + ((end - start) % step != 0);
    if (length) resolver->offset += start * stride;
    resolver->own++;
    return add_dimension(resolver, length, stride * (step < extent ? step : 1),
                         NULL); /* never that long */
}

/* A bool tensor covers its own rank of dimensions and becomes an index for each. */
static bool take_mask(struct resolver *resolver, const struct node *mask)
{
    struct tape *tape = resolver->call->tape;
    int64_t count = 0;
    if (!room(resolver, mask->rank)) return false;
    for (int d = 0; d < mask->rank; d++)
        if (mask->shape[d] != resolver->x->shape[resolver->own + d])
            return refuse(resolver, "a mask of %lld for dimension %d of size %lld",
                          (long long)mask->shape[d], resolver->own + d,
                          (long long)resolver->x->shape[resolver->own + d]);
    for (size_t i = 0; i < mask->n; i++) count += mask->integer[i] != 0;
    int columns = mask->rank ? mask->rank : 1;
    struct node *index[TENSOR_MAX_RANK];
    for (int d = 0; d < columns; d++) index[d] = node_new_integer(tape, DT_I64, 1, &count);
    if (tape_failed(tape)) return refuse(resolver, "no memory for a mask");
    int64_t at = 0;
    for (size_t i = 0; i < mask->n; i++) {
        if (!mask->integer[i]) continue;
        size_t rest = i;
        for (int d = mask->rank - 1; d >= 0; d--) {
            index[d]->integer[at] = (int64_t)(rest % (size_t)mask->shape[d]);
            rest /= (size_t)mask->shape[d];
        }
        if (!mask->rank) index[0]->integer[at] = 0;
        at++;
    }
    if (!mask->rank) return add_dimension(resolver, 1, 0, index[0]);
    for (int d = 0; d < columns; d++, resolver->own++)
        if (!add_dimension(resolver, resolver->x->shape[resolver->own],
                           resolver->own_stride[resolver->own], index[d]))
            return false;
    return true;
}

static bool take_tensor(struct resolver *resolver, struct node *index)
{
    if (!index->integer) return refuse(resolver, "an index must be an integer or bool tensor");
    if (index->dtype == DT_BOOL || index->dtype == DT_U8) return take_mask(resolver, index);
    if (!index->rank) return take_int(resolver, index->integer[0]);
    if (!room(resolver, 1)) return false;
    resolver->own++;
    return add_dimension(resolver, resolver->x->shape[resolver->own - 1],
                         resolver->own_stride[resolver->own - 1], index);
}

/* A nested list of ints or bools as an integer or bool node. */
static bool list_index(struct resolver *resolver, const struct value *list, struct node **out)
{
    int64_t shape[TENSOR_MAX_RANK];
    int rank = 0;
    size_t n = 1;
    const struct value *at = list;

    for (; value_is_sequence(at); at = &at->list.items[0]) {
        if (rank == TENSOR_MAX_RANK)
            return refuse(resolver, "an index list of too many dimensions");
        shape[rank++] = (int64_t)at->list.count;
        n *= at->list.count;
        if (!at->list.count) break;
    }
    bool is_bool = n && at->kind == VALUE_BOOL;
    struct node *node =
        node_new_integer(resolver->call->tape, is_bool ? DT_BOOL : DT_I64, rank, shape);
    if (tape_failed(resolver->call->tape)) return refuse(resolver, "no memory for an index");
    for (size_t i = 0; i < n; i++) {
        size_t rest = i, block = n;
        const struct value *item = list;
        for (int d = 0; d < rank; d++) {
            if (!value_is_sequence(item) || (int64_t)item->list.count != shape[d])
                return refuse(resolver, "an index list that is ragged");
            block /= (size_t)shape[d];
            item = &item->list.items[rest / block];
            rest %= block;
        }
        if (item->kind == VALUE_TENSOR) {
            struct node *one = call_node(resolver->call, item);
            if (!one->integer || one->n != 1) return refuse(resolver, "an index list of tensors");
            node->integer[i] = one->integer[0];
        } else if (item->kind == VALUE_INT || item->kind == VALUE_BOOL) {
            node->integer[i] = item->kind == VALUE_INT ? item->integer : item->boolean;
        } else {
            return refuse(resolver, "an index list of something else than ints");
        }
    }
    *out = node;
    return true;
}

/* How many dimensions of x an item covers. */
static int covered(const struct value *item, bool none_is_all)
{
    if (item->kind == VALUE_NONE) return none_is_all;
    if (item->kind == VALUE_ELLIPSIS || item->kind == VALUE_BOOL) return 0;
    if (item->kind == VALUE_TENSOR && item->tensor.tensor &&
        (item->tensor.tensor->dtype == DT_BOOL || item->tensor.tensor->dtype == DT_U8))
        return item->tensor.tensor->rank;
    if (item->kind == VALUE_LIST) { /* a list of bools is a mask */
        int depth = 0;
        const struct value *at = item;
        for (; value_is_sequence(at) && at->list.count; at = &at->list.items[0]) depth++;
        return at->kind == VALUE_BOOL ? depth : 1;
    }
    return 1;
}

static bool take_item(struct resolver *resolver, const struct value *item, bool none_is_all)
{
    struct node *index = NULL;
    switch (item->kind) {
    case VALUE_INT: return take_int(resolver, item->integer);
    case VALUE_SLICE: return take_slice(resolver, item);
    case VALUE_NONE:
        return none_is_all ? whole_dimension(resolver) : add_dimension(resolver, 1, 0, NULL);
    case VALUE_BOOL:
        index = node_integer_constant(resolver->call->tape, DT_BOOL, item->boolean, 0, NULL);
        return take_mask(resolver, index);
    case VALUE_TENSOR: return take_tensor(resolver, call_node(resolver->call, item));
    case VALUE_LIST:
    case VALUE_SIZE: return list_index(resolver, item, &index) && take_tensor(resolver, index);
    default: return refuse(resolver, "an index of a type that is not understood");
    }
}

static bool is_wide_mask(const struct value *item)
{
    return (item->kind == VALUE_TENSOR || item->kind == VALUE_LIST) && covered(item, false) > 1;
}

/* PyTorch counts a mask of several dimensions as one while it places the items behind it: an int or
 * a slice there falls on a dimension that the mask covers, where NumPy's falls behind the mask. */
static bool is_misplaced(const struct value *item, bool none_is_all)
{
    switch (item->kind) {
    case VALUE_INT: return true;
    case VALUE_NONE: return !none_is_all;
    case VALUE_TENSOR: return item->tensor.tensor && item->tensor.tensor->rank == 0;
    case VALUE_SLICE:
        for (size_t k = 0; k < item->list.count; k++)
            if (item->list.items[k].kind != VALUE_NONE) return true;
        return false;
    default: return false;
    }
}

static bool take_items(struct resolver *resolver, const struct value *items, size_t count,
                       bool none_is_all)
{
    int total = 0;
    bool ellipsis = false, behind = false; /* a wide mask */
    for (size_t i = 0; i < count; i++) total += covered(&items[i], none_is_all);
    for (size_t i = 0; i < count; i++) {
        if (behind && is_misplaced(&items[i], none_is_all))
            return refuse(resolver, "an item behind a mask of several dimensions");
        behind = behind || is_wide_mask(&items[i]);
        if (items[i].kind != VALUE_ELLIPSIS) {
            if (!take_item(resolver, &items[i], none_is_all)) return false;
            continue;
        }
        if (ellipsis) return refuse(resolver, "two ellipses in one index");
        ellipsis = true;
        for (int k = resolver->x->rank - total; k > 0; k--)
            if (!whole_dimension(resolver)) return false;
    }
    while (resolver->own < resolver->x->rank)
        if (!whole_dimension(resolver)) return false;
    return !tape_failed(resolver->call->tape);
}

/* ---- positions ---------------------------------------------------------------------- */

/* Offsets of the elements of a strided block, row-major. */
static int64_t *block_offsets(struct tape *tape, int rank, const int64_t *shape,
                              const int64_t *stride, size_t *n)
{
    *n = 1;
    for (int d = 0; d < rank; d++) *n *= (size_t)shape[d];
    int64_t *out = tape_allocate(tape, *n, sizeof *out);
    if (!out) return NULL;
    for (size_t i = 0; i < *n; i++) {
        size_t rest = i;
        out[i] = 0;
        for (int d = rank - 1; d >= 0; d--) {
            out[i] += (int64_t)(rest % (size_t)shape[d]) * stride[d];
            rest /= (size_t)shape[d];
        }
    }
    return out;
}

/* Where the chosen dimensions lie, for each element of their broadcast shape. */
static int64_t *chosen_offsets(struct resolver *resolver, int rank, const int64_t *shape, size_t *n)
{
    struct tape *tape = resolver->call->tape;
    *n = 1;
    for (int d = 0; d < rank; d++) *n *= (size_t)shape[d];
    int64_t *out = tape_allocate(tape, *n, sizeof *out);
    if (!out) return NULL;
    memset(out, 0, *n * sizeof *out);
    for (int k = 0; k < resolver->rank; k++) {
        if (!resolver->chosen[k]) continue;
        struct node *index = node_broadcast(tape, resolver->chosen[k], rank, shape);
        if (tape_failed(tape)) return NULL;
        for (size_t i = 0; i < *n; i++) {
            int64_t at = index->integer[i];
            if (at < -resolver->shape[k] || at >= resolver->shape[k]) {
                (void)refuse(resolver, "index %lld is out of range for a dimension of size %lld",
                             (long long)at, (long long)resolver->shape[k]);
                return NULL;
            }
            out[i] += (at < 0 ? at + resolver->shape[k] : at) * resolver->stride[k];
        }
    }
    return out;
}

/* The widest run of whole trailing dimensions that all positions are multiples of. */
static size_t row_of(const struct resolver *resolver, int *trailing)
{
    int64_t row = 1;
    int d = resolver->rank - 1;
    for (; d >= 0 && !resolver->chosen[d]; d--) {
        if (resolver->shape[d] == 1) continue;
        if (resolver->stride[d] != row || resolver->shape[d] == 0) break;
        row *= resolver->shape[d];
    }
    bool fits = resolver->offset % row == 0 && resolver->x->n % (size_t)row == 0;
    for (int k = 0; k <= d; k++) fits = fits && resolver->stride[k] % row == 0;
    *trailing = fits ? resolver->rank - 1 - d : 0;
    return fits ? (size_t)row : 1;
}

/* Result dimensions and map when tensors choose along some dimensions. */
static bool choose(struct indexing *out, struct resolver *resolver)
{
    struct tape *tape = resolver->call->tape;
    int64_t together[TENSOR_MAX_RANK], shape[INDEXING_MOST], stride[INDEXING_MOST];
    int wide = 0, first = -1, last = -1, trailing;
    bool adjacent = true;
    size_t lead, middle, tail;

    for (int k = 0; k < resolver->rank; k++) {
        if (!resolver->chosen[k]) continue;
        if (first < 0) first = k;
        else if (last != k - 1) adjacent = false;
        last = k;
        if (!shape_broadcast(&wide, together, wide, together, resolver->chosen[k]->rank,
                             resolver->chosen[k]->shape))
            return refuse(resolver, "the index tensors do not broadcast");
    }
    out->row = row_of(resolver, &trailing);
    int kept = 0, split = 0;
    for (int k = 0; k < resolver->rank; k++) {
        if (k == first && adjacent) split = kept;
        if (resolver->chosen[k]) continue;
        shape[kept] = resolver->shape[k];
        stride[kept++] = resolver->stride[k];
    }
    if (kept + wide > TENSOR_MAX_RANK)
        return refuse(resolver, "a result of %d dimensions", kept + wide);
    out->rank = kept + wide;
    memcpy(out->shape, shape, (size_t)split * sizeof *shape);
    if (wide) memcpy(out->shape + split, together, (size_t)wide * sizeof *together);
    memcpy(out->shape + split + wide, shape + split, (size_t)(kept - split) * sizeof *shape);

    int64_t *before = block_offsets(tape, split, shape, stride, &lead);
    int64_t *chosen = chosen_offsets(resolver, wide, together, &middle);
    int64_t *after =
        block_offsets(tape, kept - split - trailing, shape + split, stride + split, &tail);
    if (!before || !chosen || !after) return false;
    out->map = tape_allocate(tape, lead * middle * tail, sizeof *out->map);
    if (!out->map) return false;
    size_t at = 0;
    for (size_t a = 0; a < lead; a++)
        for (size_t b = 0; b < middle; b++)
            for (size_t c = 0; c < tail; c++)
                out->map[at++] = (resolver->offset + before[a] + chosen[b] + after[c]) /
                                 (int64_t)out->row;
    return true;
}

bool indexing_open(struct indexing *out, struct call *call, const struct node *x,
                   const struct value *items, size_t count, bool none_is_all, char *why,
                   size_t why_bytes)
{
    struct resolver resolver = { .call = call, .x = x, .why = why, .why_bytes = why_bytes };
    bool chooses = false;

    *why = '\0';
    memset(out, 0, sizeof *out);
    shape_strides(resolver.own_stride, x->rank, x->shape);
    if (!take_items(&resolver, items, count, none_is_all)) return false;
    for (int k = 0; k < resolver.rank; k++) chooses = chooses || resolver.chosen[k];
    if (chooses) return choose(out, &resolver);
    if (resolver.rank > TENSOR_MAX_RANK)
        return refuse(&resolver, "a result of %d dimensions", resolver.rank);
    out->is_view = true;
    out->rank = resolver.rank;
    out->row = 1;
    out->offset = resolver.offset;
    memcpy(out->shape, resolver.shape, (size_t)resolver.rank * sizeof *out->shape);
    memcpy(out->stride, resolver.stride, (size_t)resolver.rank * sizeof *out->stride);
    return true;
}

bool indexing_need_map(struct indexing *indexing, struct call *call, const struct node *x)
{
    struct resolver resolver = {
        .call = call, .x = x, .rank = indexing->rank, .offset = indexing->offset
    };
    int trailing;
    size_t n;

    if (indexing->map) return true;
    memcpy(resolver.shape, indexing->shape, sizeof indexing->shape);
    memcpy(resolver.stride, indexing->stride, sizeof indexing->stride);
    indexing->row = row_of(&resolver, &trailing);
    indexing->map =
        block_offsets(call->tape, indexing->rank - trailing, indexing->shape, indexing->stride, &n);
    if (!indexing->map) return false;
    for (size_t i = 0; i < n; i++)
        indexing->map[i] = (indexing->map[i] + indexing->offset) / (int64_t)indexing->row;
    return true;
}

/* ---- maps of the scatter APIs ------------------------------------------------------- */

bool slice_argument(struct slice *out, struct call *call, const struct node *x, int dim)
{
    int64_t extent = x->rank ? x->shape[dim] : 0, step = call_int(call, "step");
    int64_t start = call_is_none(call, "start") ? 0 : call_int(call, "start");
    int64_t end = call_is_none(call, "end") ? extent : call_int(call, "end");

    if (!call_require(call, step >= 1 && x->rank, "a slice needs a dimension and a positive step"))
        return false;
    if (start < 0) start += extent;
    if (end < 0) end += extent;
    start = start < 0 ? 0 : start > extent ? extent : start;
    end = end < start ? start : end > extent ? extent : end;
    out->start = start;
    out->count = (end - start) / step + ((end - start) % step != 0);
    out->step = step < extent ? step : 1; /* a longer step is never taken */
    return true;
}

static bool is_in_range(struct call *call, int64_t k, int64_t extent, int dim)
{
    return call_require(call, k >= 0 && k < extent,
                        "index %lld is out of range for dimension %d of size %lld", (long long)k,
                        dim, (long long)extent);
}

int64_t *scatter_map(struct call *call, const struct node *index, int rank, const int64_t *shape,
                     int dim)
{
    int64_t stride[TENSOR_MAX_RANK], at[TENSOR_MAX_RANK] = { 0 };

    if (!call_require(
            call, index->integer && (index->rank == rank || !index->n || index->rank + rank <= 1),
            "the index must hold integers and have the %d dimensions of the tensor", rank))
        return NULL;
    for (int d = 0; d < index->rank && d < rank; d++)
        if (!call_require(call, d == dim || index->shape[d] <= shape[d] || !index->n,
                          "the index is larger than the tensor in dimension %d", d))
            return NULL;
    int64_t *map = tape_allocate(call->tape, index->n, sizeof *map), base = 0;
    int64_t extent = rank ? shape[dim] : 1;
    if (!map) return NULL;
    shape_strides(stride, rank, shape);
    for (size_t i = 0; i < index->n; i++) {
        int64_t k = index->integer[i];
        if (!is_in_range(call, k, extent, dim)) return NULL;
        map[i] = rank ? base + k * stride[dim] : 0;
        for (int d = index->rank - 1; d >= 0 && rank; d--) { /* base skips dim */
            if (d != dim) base += stride[d];
            if (++at[d] < index->shape[d]) break;
            if (d != dim) base -= stride[d] * index->shape[d];
            at[d] = 0;
        }
    }
    return map;
}

int64_t *dimension_map(struct call *call, const struct node *x, int dim, const struct node *index,
                       size_t *row)
{
    size_t outer = 1;
    int64_t extent = x->rank ? x->shape[dim] : 1;

    *row = 1;
    if (!call_require(call,
                      index->integer && index->rank <= 1 && x->dtype != DT_NONE &&
                          (x->rank || index->n == 1),
                      "a tensor and a vector of integers are needed"))
        return NULL;
    for (int d = 0; d < x->rank; d++)
        if (d < dim) outer *= (size_t)x->shape[d];
        else if (d > dim) *row *= (size_t)x->shape[d];
    int64_t *map = tape_allocate(call->tape, outer * index->n, sizeof *map);
    if (!map) return NULL;
    for (size_t i = 0; i < index->n; i++) {
        int64_t k = index->integer[i];
        if (!is_in_range(call, k, extent, dim)) return NULL;
        for (size_t o = 0; o < outer; o++) map[o * index->n + i] = (int64_t)o * extent + k;
    }
    if (!*row) *row = 1;
    return map;
}

/* ---- overwriting with a choice ------------------------------------------------------ */

/* The largest gap between row i of v and row `to` of what the device returned. */
static long double row_distance(const struct node *v, size_t i, const struct node *got, size_t to,
                                size_t row)
{
    long double most = 0;
    for (size_t k = 0; k < row; k++) {
        long double have = node_element(v, i * row + k), want = node_element(got, to * row + k);
        long double gap = fabsl(have - want);
        if (have == want || (isnan(have) && isnan(want))) gap = 0;
        if (!(gap <= most)) most = isnan(gap) ? INFINITY : gap;
    }
    return most;
}

struct node *overwritten(struct call *call, struct node *x, struct node *v, size_t row,
                         const int64_t *map)
{
    struct tape *tape = call->tape;
    if (tape_failed(tape)) return tape_failure(tape);
    size_t entries = v->n / row, rows = x->n / row;
    int64_t *writer = overwrite_writers(tape, rows, map, entries);
    bool several = false;

    if (!writer) return x;
    for (size_t i = 0; i < entries && !several; i++)
        several = map[i] >= 0 && writer[map[i]] != (int64_t)i;
    struct node *got = several && !x->imaginary ? call_device_numbers(call, 0, x->n) : NULL;
    if (got) {
        long double *best = tape_allocate(tape, rows, sizeof *best);
        if (!best) return x;
        if (!v->integer) (void)node_values(tape, v);
        for (size_t j = 0; j < rows; j++) best[j] = INFINITY;
        for (size_t i = 0; i < entries; i++) {
            if (map[i] < 0) continue;
            long double distance = row_distance(v, i, got, (size_t)map[i], row);
            if (distance > best[map[i]]) continue;
            best[map[i]] = distance;
            writer[map[i]] = (int64_t)i;
        }
    }
    return node_overwrite(tape, x, v, row, map, writer);
}

/* ---- adding --------------------------------------------------------------------------------- */

/* A kernel adds self and its sources in any order, and the model has to see all of them in one sum. */
static struct node *sum_with_self(struct tape *tape, struct node *x, struct node *source,
                                  size_t row, const int64_t *map)
{
    size_t own = x->n / row, others = source->n / row;
    int64_t flat_x[1] = { (int64_t)x->n }, flat_source[1] = { (int64_t)source->n };
    int64_t *targets = tape_allocate(tape, own + others, sizeof *targets);
    if (tape_failed(tape)) return tape_failure(tape);
    for (size_t i = 0; i < own; i++) targets[i] = (int64_t)i;
    memcpy(targets + own, map, others * sizeof *map);
    struct node *parts[2] = { node_reshape(tape, x, 1, flat_x),
                              node_reshape(tape, source, 1, flat_source) };
    return node_scatter_add_rows(tape, node_concatenate(tape, parts, 2, 0), x->rank, x->shape, row,
                                 targets);
}

struct node *added_rows(struct call *call, struct node *x, struct node *source, size_t row,
                        const int64_t *map)
{
    struct tape *tape = call->tape;
    bool plain = !x->imaginary && !source->imaginary && !x->integer;
    if (tape_is_model(tape) && plain)
        return sum_with_self(tape, x, node_to_real(tape, source), row, map);
    return node_add_as(tape, x->dtype, x,
                       node_scatter_add_rows(tape, source, x->rank, x->shape, row, map));
}
