/* scatter and its reductions.
 *
 * A reduction sees, for each element of the result, the elements that meet there: self's
 * own (when it is included or nothing else comes) and those of src. They are laid out as
 * one list, self first, with a map from list to result.
 */
#include <math.h>
#include <string.h>

#include "bench/call/op.h"
#include "bench/ops/indexing.h"
#include "bench/ops/scattering.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/gather.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/product.h"
#include "bench/primitives/stated_gradient.h"
#include "bench/primitives/view.h"
#include "bench/tape/broadcast.h"

static enum scatter_reduction read_reduction(struct call *call)
{
    static const struct {
        const char *name;
        enum scatter_reduction kind;
    } names[] = {
        { "sum", SCATTER_SUM },   { "add", SCATTER_SUM },       { "mean", SCATTER_MEAN },
        { "prod", SCATTER_PROD }, { "multiply", SCATTER_PROD }, { "amax", SCATTER_AMAX },
        { "amin", SCATTER_AMIN },
    };
    const char *name = call_string(call, "reduce");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i].name, name)) return names[i].kind;
    call_fail(call, "the reduction '%s' is not known", name);
    return SCATTER_NONE;
}

/* What meets where. */
struct meeting {
    struct node *x, *list; /* self; self and src as one vector */
    int64_t *map;          /* place in the result of each item of the list, or -1 */
    size_t most;           /* items at the fullest place */
    int64_t *count;        /* items at each place */
};

static bool meet(struct meeting *meeting, struct call *call, struct node *x, struct node *src,
                 const int64_t *map, bool include_self)
{
    struct tape *tape = call->tape;
    struct node *parts[2] = { node_reshape(tape, x, 1, (int64_t[]){ (int64_t)x->n }),
                              node_reshape(tape, src, 1, (int64_t[]){ (int64_t)src->n }) };
    meeting->x = x;
    meeting->list = node_concatenate(tape, parts, 2, 0);
    meeting->map = tape_allocate(tape, x->n + src->n, sizeof *meeting->map);
    meeting->count = tape_allocate(tape, x->n, sizeof *meeting->count);
    meeting->most = 0;
    if (tape_failed(tape)) return false;
    memset(meeting->count, 0, x->n * sizeof *meeting->count);
    for (size_t i = 0; i < src->n; i++) meeting->count[map[i]]++;
    for (size_t j = 0; j < x->n; j++) {
        bool own = include_self || !meeting->count[j];
        meeting->map[j] = own ? (int64_t)j : -1;
        meeting->count[j] += own;
        if ((size_t)meeting->count[j] > meeting->most) meeting->most = (size_t)meeting->count[j];
    }
    memcpy(meeting->map + x->n, map, src->n * sizeof *map);
    return true;
}

/* Integers: one pass over the list. */
static struct node *integer_reduction(struct call *call, const struct meeting *meeting,
                                      enum scatter_reduction kind)
{
    struct node *out = node_new_integer(call->tape, DT_I64, meeting->x->rank, meeting->x->shape);
    bool *seen = tape_allocate(call->tape, out->n, sizeof *seen);
    if (tape_failed(call->tape)) return tape_failure(call->tape);
    memset(seen, 0, out->n * sizeof *seen);
    for (size_t i = 0; i < meeting->list->n; i++) {
        int64_t v = meeting->list->integer[i], j = meeting->map[i];
        if (j < 0) continue;
        int64_t *y = &out->integer[j];
        if (!seen[j]) *y = v;
        else if (kind == SCATTER_PROD) *y = (int64_t)((uint64_t)*y * (uint64_t)v);
        else if (kind == SCATTER_AMAX) *y = v > *y ? v : *y;
        else if (kind == SCATTER_AMIN) *y = v < *y ? v : *y;
        else *y = (int64_t)((uint64_t)*y + (uint64_t)v);
        seen[j] = true;
    }
    for (size_t j = 0; kind == SCATTER_MEAN && j < out->n; j++) { /* rounded down */
        int64_t sum = out->integer[j], n = meeting->count[j];
        out->integer[j] = sum / n - (sum % n < 0);
    }
    return node_to_integer(call->tape, out, meeting->x->dtype);
}

/* Products by places side by side, filled up with ones, so that zeros have
 * right gradients. */
static struct node *product(struct call *call, const struct meeting *meeting)
{
    struct tape *tape = call->tape;
    int64_t shape[2] = { (int64_t)meeting->x->n, (int64_t)meeting->most };
    size_t total;
    if (!call_require(call,
                      !__builtin_mul_overflow(meeting->x->n, meeting->most, &total) &&
                          total <= (size_t)1 << 28,
                      "%zu elements meet at one place; a product of so many is not supported",
                      meeting->most))
        return meeting->x;
    int64_t *places = tape_allocate(tape, total, sizeof *places);
    int64_t *next = tape_allocate(tape, meeting->x->n, sizeof *next);
    if (!places || !next) return meeting->x;
    for (size_t i = 0; i < total; i++) places[i] = -1;
    memset(next, 0, meeting->x->n * sizeof *next);
    for (size_t i = 0; i < meeting->list->n; i++)
        if (meeting->map[i] >= 0)
            places[meeting->map[i] * shape[1] + next[meeting->map[i]]++] = (int64_t)i;
    struct node *factors = node_gather(tape, meeting->list, 2, shape, places, 1);
    return node_reshape(tape, node_product(tape, factors, 2, false), meeting->x->rank,
                        meeting->x->shape);
}

/* The extremum of each place; NaN wins. Its gradient is shared by all that equal it, where
 * PyTorch counts self's element too when it equals the extremum without being included. */
static struct node *extremum(struct call *call, const struct meeting *meeting, int sign)
{
    struct tape *tape = call->tape;
    const double *v = node_values(tape, meeting->list);
    int64_t *best = tape_allocate(tape, meeting->x->n, sizeof *best);
    int64_t n = (int64_t)meeting->list->n;
    struct node *share = node_new_real(tape, DT_NONE, 1, &n),
                *ties = node_new_real(tape, DT_NONE, 1, &n);
    if (tape_failed(tape)) return meeting->x;
    for (size_t j = 0; j < meeting->x->n; j++) best[j] = -1;
    for (size_t i = 0; i < meeting->list->n; i++) {
        if (meeting->map[i] < 0) continue;
        int64_t *b = &best[meeting->map[i]];
        if (*b < 0 || (!isnan(v[*b]) && (isnan(v[i]) || sign * v[i] > sign * v[*b])))
            *b = (int64_t)i;
    }
    double *equal = tape_allocate(tape, meeting->x->n, sizeof *equal);
    if (!equal) return meeting->x;
    memset(equal, 0, meeting->x->n * sizeof *equal);
    for (size_t i = 0; i < meeting->list->n; i++) {
        int64_t place = meeting->map[i] >= 0 ? meeting->map[i] : (int64_t)i;
        if (v[i] == v[best[place]]) equal[place]++;
    }
    for (size_t i = 0; i < meeting->list->n; i++) {
        bool ties_here = meeting->map[i] >= 0 && v[i] == v[best[meeting->map[i]]];
        share->value[i] = ties_here;
        ties->value[i] = ties_here ? equal[meeting->map[i]] : 1;
    }
    struct node *value =
        node_gather(tape, meeting->list, meeting->x->rank, meeting->x->shape, best, 0);
    struct node *weighted = node_multiply(tape, meeting->list, node_divide(tape, share, ties));
    return node_straight_through(
        tape, value,
        node_scatter_add(tape, weighted, meeting->x->rank, meeting->x->shape, meeting->map));
}

struct node *scatter_reduced(struct call *call, struct node *x, struct node *src,
                             const int64_t *map, enum scatter_reduction kind, bool include_self)
{
    struct tape *tape = call->tape;
    struct meeting meeting;
    if (tape_failed(tape) || !meet(&meeting, call, x, src, map, include_self)) return x;
    if (meeting.list->integer) return integer_reduction(call, &meeting, kind);
    if (kind == SCATTER_PROD) return product(call, &meeting);
    if (kind == SCATTER_AMAX || kind == SCATTER_AMIN)
        return extremum(call, &meeting, kind == SCATTER_AMAX ? 1 : -1);
    struct node *sum = node_scatter_add(tape, meeting.list, x->rank, x->shape, meeting.map);
    if (kind == SCATTER_SUM) return sum;
    struct node *count = node_new_real(tape, DT_NONE, x->rank, x->shape);
    for (size_t j = 0; !tape_failed(tape) && j < x->n; j++)
        count->value[j] = (double)(meeting.count[j] ? meeting.count[j] : 1);
    return node_divide(tape, sum, count);
}

/* src cut to the index's shape, in x's dtype. */
static struct node *matching_source(struct call *call, const struct node *x,
                                    const struct node *index, struct node *src)
{
    struct tape *tape = call->tape;
    int64_t stride[TENSOR_MAX_RANK];
    src = node_cast(tape, src, x->dtype);
    if (!index->n)
        return node_slice(tape, node_reshape(tape, src, 1, (int64_t[]){ (int64_t)src->n }), 0, 0, 0,
                          1);
    if (src->rank != index->rank) {
        if (src->n == 1 && index->n == 1) return node_reshape(tape, src, index->rank, index->shape);
        call_fail(call, "index and src differ in their number of dimensions");
        return tape_failure(call->tape);
    }
    for (int d = 0; d < src->rank; d++)
        if (!call_require(call, index->shape[d] <= src->shape[d], "the index is larger than src"))
            return src;
    shape_strides(stride, src->rank, src->shape);
    return node_view(tape, src, src->rank, index->shape, stride, 0);
}

/* scatter(dim, index, src) and scatter(dim, index, value): text names the parameter. With
 * reduce="add" or "multiply" what is there already takes part. */
static void scatter(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input"), *index = call_tensor(call, "index");
    struct node *src = call_tensor(call, call->op->text);
    int dim = call_dim(call, "dim", x->rank);
    int64_t *map = scatter_map(call, index, x->rank, x->shape, dim);

    if (!map) return;
    if (src->dtype == DT_NONE || (call_value(call, call->op->text)->kind != VALUE_TENSOR))
        src = node_broadcast(tape, node_cast(tape, src, x->dtype), index->rank, index->shape);
    src = matching_source(call, x, index, src);
    bool reduces = !call_is_none(call, "reduce");
    struct node *y = reduces ? scatter_reduced(call, x, src, map, read_reduction(call), true)
                             : overwritten(call, x, src, 1, map);
    call_return_typed(call, y, x->dtype);
}

static void scatter_add(struct call *call)
{
    struct node *x = call_tensor(call, "input"), *index = call_tensor(call, "index");
    struct node *src = call_tensor(call, "src");
    int64_t *map = scatter_map(call, index, x->rank, x->shape, call_dim(call, "dim", x->rank));
    if (!map) return;
    src = matching_source(call, x, index, src);
    call_return_typed(call, scatter_reduced(call, x, src, map, SCATTER_SUM, true), x->dtype);
}

static void scatter_reduce(struct call *call)
{
    struct node *x = call_tensor(call, "input"), *index = call_tensor(call, "index");
    struct node *src = call_tensor(call, "src");
    int64_t *map = scatter_map(call, index, x->rank, x->shape, call_dim(call, "dim", x->rank));
    enum scatter_reduction kind = read_reduction(call);
    if (!map) return;
    src = matching_source(call, x, index, src);
    call_return_typed(
        call, scatter_reduced(call, x, src, map, kind, call_bool(call, "include_self")), x->dtype);
}

static void index_reduce(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input"), *index = call_tensor(call, "index");
    struct node *source = node_cast(tape, call_tensor(call, "source"), x->dtype);
    int dim = call_dim(call, "dim", x->rank);
    enum scatter_reduction kind = read_reduction(call);
    size_t row;
    int64_t *rows = dimension_map(call, x, dim, index, &row);
    if (!rows) return;
    bool fits = source->rank == x->rank;
    for (int d = 0; fits && d < x->rank; d++)
        fits = source->shape[d] == (d == dim ? (int64_t)index->n : x->shape[d]);
    int64_t *map = tape_allocate(tape, source->n, sizeof *map);
    if (!call_require(call, fits, "the source does not have the shape that the index asks for"))
        return;
    for (size_t i = 0; i < source->n; i++)
        map[i] = rows[i / row] * (int64_t)row + (int64_t)(i % row);
    call_return_typed(call,
                      scatter_reduced(call, x, source, map, kind, call_bool(call, "include_self")),
                      x->dtype);
}

/* clang-format off */
const struct op ops_scatter[] = {
    { "scatter", TENSOR | TORCH | ATEN, "(Tensor input, int dim, Tensor index, Tensor src, *, str? reduce=None)", scatter, OP_ONE_NODE, 0, "src" },
    { "scatter", TENSOR | TORCH | ATEN, "(Tensor input, int dim, Tensor index, *, Scalar value, str? reduce=None)", scatter, OP_ONE_NODE, 0, "value" },
    { "scatter_add", TENSOR | TORCH | ATEN, "(Tensor input, int dim, Tensor index, Tensor src)", scatter_add, OP_ONE_NODE, 0, NULL },
    { "scatter_reduce", TENSOR | TORCH | ATEN, "(Tensor input, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True)", scatter_reduce, OP_ONE_NODE, 0, NULL },
    { "index_reduce", TENSOR | TORCH | ATEN, "(Tensor input, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True)", index_reduce, OP_ONE_NODE, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(scatter);
