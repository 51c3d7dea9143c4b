/* Distinct elements: unique and unique_consecutive. */
#include <string.h>

#include "bench/call/op.h"
#include "bench/primitives/sorting.h"

/* The slices x[.., i, ..] along a dimension, compared element by element; with no dimension
 * the elements of x. */
struct slices {
    struct node *x; /* the dimension first */
    size_t count, width;
};

static int compare_slices(const struct slices *s, size_t a, size_t b)
{
    for (size_t k = 0; k < s->width; k++) {
        uint64_t x = sort_key(s->x, a * s->width + k), y = sort_key(s->x, b * s->width + k);
        if (x != y) return x < y ? -1 : 1;
    }
    return 0;
}

/* Equal as ==: NaN differs from itself. */
static bool equal_slices(const struct slices *s, size_t a, size_t b)
{
    for (size_t k = 0; k < s->width; k++) {
        size_t i = a * s->width + k, j = b * s->width + k;
        if (s->x->integer ? s->x->integer[i] != s->x->integer[j]
                          : !(s->x->value[i] == s->x->value[j]))
            return false;
    }
    return true;
}

/* Positions of slices in order: a merge sort with compare_slices. */
static void sort_slices(const struct slices *s, size_t *order, size_t *scratch)
{
    size_t n = s->count, *from = order, *to = scratch;
    for (size_t i = 0; i < n; i++) order[i] = i;
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t i = 0; i < n; i += 2 * width) {
            size_t a = i, b = i + width < n ? i + width : n, at = i;
            size_t middle = b, end = i + 2 * width < n ? i + 2 * width : n;
            while (a < middle && b < end)
                to[at++] = compare_slices(s, from[b], from[a]) < 0 ? from[b++] : from[a++];
            while (a < middle) to[at++] = from[a++];
            while (b < end) to[at++] = from[b++];
        }
        size_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != order) memcpy(order, from, n * sizeof *order);
}

static void order_elements(const struct slices *s, struct tape *tape, size_t *order,
                           size_t *scratch)
{
    if (s->width != 1) {
        sort_slices(s, order, scratch);
        return;
    }
    struct sort_item *items = tape_allocate(tape, 2 * s->count, sizeof *items);
    if (!items) return;
    for (size_t i = 0; i < s->count; i++)
        items[i] = (struct sort_item){ sort_key(s->x, i), (int64_t)i };
    sort_items(items, items + s->count, s->count);
    for (size_t i = 0; i < s->count; i++) order[i] = (size_t)items[i].position;
}

/* unique; detail 1: only neighbours are compared (unique_consecutive). */
static void unique(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input");
    bool whole = call_is_none(call, "dim"), consecutive = call->op->detail != 0;
    int dim = whole ? 0 : call_dim(call, "dim", x->rank);
    int64_t shape[TENSOR_MAX_RANK];

    struct node *flat = whole ? node_reshape(tape, x, 1, (int64_t[]){ (int64_t)x->n }) : x;
    if (!whole && x->rank) flat = node_transpose(tape, x, 0, dim);
    if (x->imaginary || (!whole && !x->rank))
        call_fail(call, "unique of such a tensor is not supported");
    if (!flat->integer) (void)node_values(tape, flat);
    if (tape_failed(tape)) return;
    struct slices s = { flat, (size_t)flat->shape[0], 0 };
    s.width = s.count ? flat->n / s.count : 1;
    size_t *order = tape_allocate(tape, 2 * s.count, sizeof *order);
    struct node *inverse = whole ? node_new_integer(tape, DT_I64, x->rank, x->shape)
                                 : node_new_integer(tape, DT_I64, 1, flat->shape);
    int64_t *kept = tape_allocate(tape, s.count, sizeof *kept), found = 0;
    int64_t *counts = tape_allocate(tape, s.count, sizeof *counts);
    if (tape_failed(tape)) return;
    if (consecutive)
        for (size_t i = 0; i < s.count; i++) order[i] = i;
    else order_elements(&s, tape, order, order + s.count);
    if (tape_failed(tape)) return;
    for (size_t i = 0; i < s.count; i++) {
        if (!i || !equal_slices(&s, order[i - 1], order[i])) {
            kept[found] = (int64_t)order[i];
            counts[found++] = 0;
        }
        counts[found - 1]++;
        inverse->integer[order[i]] = found - 1;
    }
    memcpy(shape, flat->shape, sizeof shape);
    shape[0] = found;
    struct node *values = node_gather_rows(tape, flat, flat->rank, shape, s.width, kept, 0);
    if (!whole) values = node_transpose(tape, values, 0, dim);
    call_return(call, values);
    if (call_bool(call, "return_inverse")) call_return(call, inverse);
    if (!call_bool(call, "return_counts")) return;
    struct node *count = node_new_integer(tape, DT_I64, 1, &found);
    if (tape_failed(tape)) return;
    memcpy(count->integer, counts, (size_t)found * sizeof *counts);
    call_return(call, count);
}

/* clang-format off */
const struct op ops_unique[] = {
    { "unique", TENSOR | TORCH, "(Tensor input, bool sorted=True, bool return_inverse=False, bool return_counts=False, int? dim=None)", unique, OP_NO_GRADIENT, 0, NULL },
    { "unique_consecutive", TENSOR | TORCH, "(Tensor input, bool return_inverse=False, bool return_counts=False, int? dim=None)", unique, OP_NO_GRADIENT, 1, NULL },
};
/* clang-format on */
OP_TABLE_END(unique);
