/* Distinct elements: unique and unique_consecutive, and MindSpore's unique. */
#include <math.h>
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

/* Distinct values, sorted by key, and where the first of each is. */
struct distinct {
    struct sort_item *items;
    size_t count;
};

static size_t place_of_key(const struct distinct *distinct, uint64_t key)
{
    size_t low = 0, high = distinct->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (distinct->items[middle].key < key) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* The order in which the device lists the distinct values, `order[place] = position`; false where it lists others. */
static bool listed_by_device(struct call *call, const struct distinct *distinct, size_t listed,
                             int64_t *order)
{
    struct node *device = call_device_numbers(call, 0, listed);
    if (!device) return false;
    for (size_t i = 0; i < distinct->count; i++) order[i] = -1;
    for (size_t i = 0; i < distinct->count; i++) {
        uint64_t key = sort_key(device, i);
        size_t place = place_of_key(distinct, key);
        if (place == distinct->count || distinct->items[place].key != key || order[place] >= 0)
            return false;
        order[place] = (int64_t)i;
    }
    return true;
}

/* Of `found` distinct elements, those of x at `kept` with their counts and their numbers in `inverse`: in the order of the device. */
static void list_as_device(struct call *call, struct node *x, int64_t *kept, int64_t *counts,
                           size_t found, struct node *inverse)
{
    struct tape *tape = call->tape;
    struct sort_item *items = tape_allocate(tape, found, sizeof *items);
    int64_t *order = tape_allocate(tape, 3 * found, sizeof *order);
    if (tape_failed(tape)) return;
    for (size_t i = 0; i < found; i++)
        items[i] = (struct sort_item){ sort_key(x, (size_t)kept[i]), kept[i] };
    if (!listed_by_device(call, &(struct distinct){ items, found }, found, order)) return;
    int64_t *old_kept = order + found, *old_counts = old_kept + found;
    memcpy(old_kept, kept, found * sizeof *kept);
    memcpy(old_counts, counts, found * sizeof *counts);
    for (size_t i = 0; i < found; i++) {
        kept[order[i]] = old_kept[i];
        counts[order[i]] = old_counts[i];
    }
    for (size_t i = 0; i < inverse->n; i++) inverse->integer[i] = order[inverse->integer[i]];
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
    if (whole && !consecutive && !call_bool(call, "sorted")) /* that of a hash table, say */
        list_as_device(call, flat, kept, counts, (size_t)found, inverse);
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

/* ---- MindSpore's ------------------------------------------------------------------------------------- */

/* The distinct elements, in an order that is not published: the device's where it lists each once; and where each element
 * of x is among them. detail 1: filled up with pad_num to the length of x. */
static void unique_in_any_order(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "x");
    bool pads = call->op->detail;
    int64_t flat[1] = { (int64_t)x->n };
    if (!call_require(call, !x->imaginary, "unique of such a tensor is not supported")) return;
    x = node_reshape(tape, x, 1, flat);
    if (!x->integer) (void)node_values(tape, x);
    struct sort_item *items = tape_allocate(tape, 2 * x->n + 1, sizeof *items);
    int64_t *order = tape_allocate(tape, x->n + 1, sizeof *order),
            *map = tape_allocate(tape, x->n + 1, sizeof *map);
    struct node *places = node_new_integer(tape, DT_I32, 1, flat);
    if (tape_failed(tape)) return;
    for (size_t i = 0; i < x->n; i++) {
        if (!call_require(call, x->integer || !isnan(x->value[i]), "NaN is equal to nothing"))
            return;
        items[i] = (struct sort_item){ sort_key(x, i), (int64_t)i };
    }
    sort_items(items, items + x->n, x->n);
    struct distinct distinct = { items, 0 };
    for (size_t i = 0; i < x->n; i++) {
        size_t last = distinct.count;
        bool begins = !last || items[i].key != items[last - 1].key;
        places->integer[items[i].position] = (int64_t)(begins ? last : last - 1);
        if (begins) items[distinct.count++] = items[i];
    }
    if (!listed_by_device(call, &distinct, pads ? x->n : distinct.count, order))
        for (size_t i = 0; i < distinct.count; i++) order[i] = (int64_t)i;
    for (size_t i = 0; i < distinct.count; i++) map[order[i]] = items[i].position;
    for (size_t i = distinct.count; i < x->n; i++) map[i] = -1;
    for (size_t i = 0; i < x->n; i++) places->integer[i] = order[places->integer[i]];
    if (!pads) flat[0] = (int64_t)distinct.count;
    struct node *y = x->integer ? node_new_integer(tape, x->dtype, 1, flat)
                                : node_new_real(tape, x->dtype, 1, flat);
    for (size_t i = 0; !tape_failed(tape) && i < y->n; i++)
        if (y->integer) y->integer[i] = map[i] < 0 ? call_int(call, "pad_num") : x->integer[map[i]];
        else y->value[i] = map[i] < 0 ? call_real(call, "pad_num") : x->value[map[i]];
    call_return(call, y);
    call_return(call, places);
}

/* clang-format off */
const struct op ops_unique[] = {
    { "unique", TENSOR | TORCH, "(Tensor input, bool sorted=True, bool return_inverse=False, bool return_counts=False, int? dim=None)", unique, OP_NO_GRADIENT, 0, NULL },
    { "unique_consecutive", TENSOR | TORCH, "(Tensor input, bool return_inverse=False, bool return_counts=False, int? dim=None)", unique, OP_NO_GRADIENT, 1, NULL },
    { "unique", MINDSPORE, "(Tensor x)", unique_in_any_order, OP_NO_GRADIENT, 0, NULL },
    { "unique_with_pad", MINDSPORE, "(Tensor x, Scalar pad_num)", unique_in_any_order, OP_NO_GRADIENT, 1, NULL },
};
/* clang-format on */
OP_TABLE_END(unique);
