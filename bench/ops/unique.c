/* Distinct elements: unique and unique_consecutive. */
#include <string.h>

#include "bench/call/op.h"
#include "bench/primitives/gather.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/sorting.h"
#include "bench/primitives/view.h"

/* The slices x[.., i, ..] along a dimension, compared element by element; with no dimension
 * the elements of x. */
struct slices {
    struct node *x; /* the dimension first */
    size_t count, width;
};

/* Equal as ==: NaN differs from itself. */
static bool equal_slices(const struct slices *slices, size_t a, size_t b)
{
    for (size_t k = 0; k < slices->width; k++) {
        size_t i = a * slices->width + k, j = b * slices->width + k;
        if (slices->x->integer ? slices->x->integer[i] != slices->x->integer[j]
                               : !(slices->x->value[i] == slices->x->value[j]))
            return false;
    }
    return true;
}

/* Positions of slices in order: sorted by their first elements, then every run of equal ones by the
 * next, until the slices differ or end. items has room for twice the count. */
static void sort_slices(const struct slices *slices, struct sort_item *items, bool *starts_run)
{
    bool open = slices->count > 1;
    for (size_t i = 0; i < slices->count; i++) starts_run[i] = i == 0;
    for (size_t k = 0; k < slices->width && open; k++) {
        open = false;
        for (size_t first = 0, end; first < slices->count; first = end) {
            for (end = first + 1; end < slices->count && !starts_run[end];) end++;
            if (end - first == 1) continue;
            for (size_t i = first; i < end; i++)
                items[i].key = sort_key(slices->x, (size_t)items[i].position * slices->width + k);
            sort_items(items + first, items + slices->count, end - first);
            for (size_t i = first + 1; i < end; i++) {
                starts_run[i] = items[i].key != items[i - 1].key;
                open = open || !starts_run[i];
            }
        }
    }
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
    if (!call_require(call, !x->imaginary && (whole || x->rank),
                      "unique of such a tensor is not supported"))
        return;
    if (!flat->integer) (void)node_values(tape, flat);
    if (tape_failed(tape)) return;
    struct slices slices = { flat, (size_t)flat->shape[0], 0 };
    slices.width = slices.count ? flat->n / slices.count : 1;
    struct sort_item *order = tape_allocate(tape, 2 * slices.count, sizeof *order);
    bool *starts_run = tape_allocate(tape, slices.count, sizeof *starts_run);
    struct node *inverse = whole ? node_new_integer(tape, DT_I64, x->rank, x->shape)
                                 : node_new_integer(tape, DT_I64, 1, flat->shape);
    int64_t *kept = tape_allocate(tape, slices.count, sizeof *kept), found = 0;
    int64_t *counts = tape_allocate(tape, slices.count, sizeof *counts);
    if (tape_failed(tape)) return;
    for (size_t i = 0; i < slices.count; i++) order[i].position = (int64_t)i;
    if (!consecutive) sort_slices(&slices, order, starts_run);
    for (size_t i = 0; i < slices.count; i++) {
        int64_t at = order[i].position;
        if (!i || !equal_slices(&slices, (size_t)order[i - 1].position, (size_t)at)) {
            kept[found] = at;
            counts[found++] = 0;
        }
        counts[found - 1]++;
        inverse->integer[at] = found - 1;
    }
    memcpy(shape, flat->shape, sizeof shape);
    shape[0] = found;
    struct node *values = node_gather_rows(tape, flat, flat->rank, shape, slices.width, kept, 0);
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
