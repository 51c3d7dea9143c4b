/* Order: sort, argsort, topk, kthvalue; searchsorted, bucketize, isin.
 *
 * Where values tie, any order of their positions is right: the device's is taken when it
 * leads to the same values and names no position twice.
 */
#include <math.h>
#include <string.h>

#include "bench/call/op.h"
#include "bench/ops/indexing.h"
#include "bench/ops/settling.h"
#include "bench/primitives/alias.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/gather.h"
#include "bench/primitives/lines.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/sorting.h"
#include "bench/primitives/view.h"

/* ---- positions along a dimension ---------------------------------------------------- */

/* Elements of x at `positions` along dim (x's shape but along dim). */
static struct node *at_positions(struct call *call, struct node *x, int dim, struct node *positions)
{
    int64_t *map = scatter_map(call, positions, x->rank, x->shape, dim);
    return map ? node_gather(call->tape, x, positions->rank, positions->shape, map, 0) : x;
}

static bool are_equal(const struct node *x, size_t i, size_t k)
{
    if (x->integer) return x->integer[i] == x->integer[k];
    return x->value[i] == x->value[k] || (isnan(x->value[i]) && isnan(x->value[k]));
}

/* In a model: x, of whose equal elements nothing tells which came first when the values alone are returned, so that their slopes are
 * open. `positions` sort the lines along dim. */
static struct node *open_where_equal(struct tape *tape, struct node *x, int dim,
                                     const struct node *positions)
{
    if (!tape_is_model(tape) || tape_failed(tape) || !x->tracked) return x;
    (void)node_values(tape, x);
    struct lines lines = lines_along(x, dim);
    struct node *lost = node_new_integer(tape, DT_BOOL, x->rank, x->shape);
    if (tape_failed(tape)) return x;
    memset(lost->integer, 0, lost->n * sizeof *lost->integer);
    for (size_t l = 0; l < lines.count; l++)
        for (size_t k = 1; k < lines.extent; k++) {
            size_t place = line_element(&lines, l, k);
            size_t a = line_element(&lines, l, (size_t)positions->integer[place - lines.step]);
            size_t b = line_element(&lines, l, (size_t)positions->integer[place]);
            if (are_equal(x, a, b)) lost->integer[a] = lost->integer[b] = 1;
        }
    return node_model_any_slope(tape, x, lost);
}

/* sort; argsort (text "argsort") returns the positions alone, msort (text "msort") the
 * values. */
static void sort(struct call *call)
{
    const char *kind = call->op->text;
    struct node *x = call_tensor(call, "input");
    bool msort = kind && !strcmp(kind, "msort");
    if (msort && !x->rank) {
        call_return(call, x);
        return;
    }
    int dim = msort ? 0 : call_dim(call, "dim", x->rank);
    if (!call_require(call, !x->imaginary, "complex numbers have no order")) return;
    bool descending = !msort && call_bool(call, "descending");
    struct node *positions = sort_positions(call->tape, x, dim, descending);
    if (!msort && !call_bool(call, "stable"))
        positions = settled_order(call, kind ? 0 : 1, x, dim, positions);
    if (msort) x = open_where_equal(call->tape, x, dim, positions);
    if (!kind || msort) call_return(call, at_positions(call, x, dim, positions));
    if (!msort) call_return(call, positions);
}

/* The first k of the sorted positions, along dim. */
static struct node *first_positions(struct call *call, struct node *x, int dim, int64_t k,
                                    bool largest)
{
    struct node *all = sort_positions(call->tape, x, dim, largest);
    struct node *part = x->rank ? node_slice(call->tape, all, dim, 0, k, 1) : all;
    return part;
}

/* With sorted=False the order is the device's: its positions, when they hold the same
 * values in some order. */
static struct node *any_order(struct call *call, struct node *x, struct node *own, int dim)
{
    struct tape *tape = call->tape;
    struct node *theirs = call_device_integers(call, 1, own);
    if (!theirs) return own;
    struct lines from = lines_along(x, dim), at = lines_along(own, dim);
    struct sort_item *items = tape_allocate(tape, 3 * at.extent, sizeof *items);
    if (!items || !positions_are_distinct(tape, theirs, dim, from.extent)) return own;
    for (size_t l = 0; l < at.count; l++) {
        const struct node *sides[2] = { own, theirs };
        for (int side = 0; side < 2; side++) {
            for (size_t k = 0; k < at.extent; k++) {
                int64_t position = sides[side]->integer[line_start(&at, l) + k * at.step];
                size_t element = line_start(&from, l) + (size_t)position * from.step;
                items[(size_t)side * at.extent + k] = (struct sort_item){ sort_key(x, element), 0 };
            }
            sort_items(items + (size_t)side * at.extent, items + 2 * at.extent, at.extent);
        }
        if (memcmp(items, items + at.extent, at.extent * sizeof *items)) return own;
    }
    return theirs;
}

static void topk(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    int dim = call_dim(call, "dim", x->rank);
    int64_t k = call_int(call, "k"), extent = x->rank ? x->shape[dim] : 1;

    if (!call_require(call, k >= 0 && k <= extent && !x->imaginary, "the top %lld of %lld elements",
                      (long long)k, (long long)extent))
        return;
    struct node *positions = first_positions(call, x, dim, k, call_bool(call, "largest"));
    positions = call_bool(call, "sorted") ? settled_order(call, 1, x, dim, positions)
                                          : any_order(call, x, positions, dim);
    call_return(call, at_positions(call, x, dim, positions));
    call_return(call, positions);
}

static void kthvalue(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input");
    int dim = call_dim(call, "dim", x->rank);
    int64_t k = call_int(call, "k"), extent = x->rank ? x->shape[dim] : 1, shape[TENSOR_MAX_RANK];

    if (!call_require(call, k >= 1 && k <= extent, "element %lld of %lld", (long long)k,
                      (long long)extent))
        return;
    struct node *positions = sort_positions(tape, x, dim, false);
    if (x->rank) positions = node_slice(tape, positions, dim, k - 1, 1, 1);
    positions = settled_order(call, 1, x, dim, positions);
    struct node *values = at_positions(call, x, dim, positions);
    if (!call_bool(call, "keepdim")) {
        int rank = 0;
        for (int d = 0; d < x->rank; d++)
            if (d != dim) shape[rank++] = x->shape[d];
        values = node_reshape(tape, values, rank, shape);
        positions = node_reshape(tape, positions, rank, shape);
    }
    call_return(call, values);
    call_return(call, positions);
}

/* ---- searching ---------------------------------------------------------------------- */

static int compare_elements(const struct node *a, size_t i, const struct node *b, size_t k,
                            bool *unordered)
{
    if (a->integer && b->integer)
        return (a->integer[i] > b->integer[k]) - (a->integer[i] < b->integer[k]);
    double x = a->integer ? (double)a->integer[i] : a->value[i];
    double y = b->integer ? (double)b->integer[k] : b->value[k];
    *unordered = isnan(x) || isnan(y);
    return (x > y) - (x < y);
}

/* First position of the run [start, start + n) whose element is not below (right: above)
 * the value, as PyTorch's bisection finds it; `sorter` permutes the run. */
static int64_t bisect(const struct node *run, size_t start, size_t n, const int64_t *sorter,
                      const struct node *value, size_t i, bool right)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        size_t at = start + (sorter ? (size_t)sorter[start + middle] : middle);
        bool unordered = false;
        int order = compare_elements(run, at, value, i, &unordered);
        if (!unordered && (right ? order > 0 : order >= 0)) high = middle;
        else low = middle + 1;
    }
    return (int64_t)low;
}

static void search(struct call *call, struct node *run, struct node *value, struct node *sorter,
                   bool right)
{
    struct tape *tape = call->tape;
    (void)node_values(tape, run);
    (void)node_values(tape, value);
    bool one_run = run->rank <= 1;
    if (!one_run) {
        bool fits = run->rank == value->rank;
        for (int d = 0; fits && d + 1 < run->rank; d++) fits = run->shape[d] == value->shape[d];
        if (!call_require(call, fits,
                          "the boundaries and the values differ in shape but for the last extent"))
            return;
    }
    if (!call_require(call, !sorter || (sorter->n == run->n && sorter->integer),
                      "the sorter does not have the shape of the boundaries"))
        return;
    struct node *out = node_new_integer(tape, call_bool(call, "out_int32") ? DT_I32 : DT_I64,
                                        value->rank, value->shape);
    if (tape_failed(tape)) return;
    size_t extent = run->rank ? (size_t)run->shape[run->rank - 1] : 1;
    size_t per_run = one_run ? value->n : (size_t)value->shape[value->rank - 1];
    for (size_t i = 0; sorter && i < sorter->n; i++)
        if (!call_require(call, sorter->integer[i] >= 0 && (size_t)sorter->integer[i] < extent,
                          "the sorter's index %lld is out of range", (long long)sorter->integer[i]))
            return;
    for (size_t i = 0; i < value->n; i++)
        out->integer[i] = bisect(run, one_run ? 0 : i / per_run * extent, extent,
                                 sorter ? sorter->integer : NULL, value, i, right);
    call_return(call, out);
}

static void searchsorted(struct call *call)
{
    const char *side = call_string(call, "side");
    bool right = call_bool(call, "right") || !strcmp(side, "right");
    search(call, call_tensor(call, "sorted_sequence"), call_tensor(call, "input"),
           call_optional_tensor(call, "sorter"), right);
}

static void bucketize(struct call *call)
{
    search(call, call_tensor(call, "boundaries"), call_tensor(call, "input"), NULL,
           call_bool(call, "right"));
}

/* elements == any of test_elements; NaN equals nothing. */
static void isin(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "elements"), *set = call_tensor(call, "test_elements");
    bool invert = call_bool(call, "invert");
    if (x->integer != NULL && set->integer == NULL) x = node_to_real(tape, x);
    if (set->integer != NULL && x->integer == NULL) set = node_to_real(tape, set);
    struct sort_item *items = tape_allocate(tape, 2 * set->n, sizeof *items);
    struct node *out = node_new_integer(tape, DT_BOOL, x->rank, x->shape);
    if (!x->integer) (void)node_values(tape, x), (void)node_values(tape, set);
    if (tape_failed(tape)) return;
    for (size_t i = 0; i < set->n; i++)
        items[i] = (struct sort_item){ sort_key(set, i), (int64_t)i };
    sort_items(items, items + set->n, set->n);
    for (size_t i = 0; i < x->n; i++) {
        uint64_t key = sort_key(x, i);
        size_t low = 0, high = set->n;
        while (low < high) {
            size_t middle = low + (high - low) / 2;
            if (items[middle].key < key) low = middle + 1;
            else high = middle;
        }
        bool nan = !x->integer && isnan(x->value[i]);
        out->integer[i] = (low < set->n && items[low].key == key && !nan) != invert;
    }
    call_return(call, out);
}

/* clang-format off */
const struct op ops_sort[] = {
    { "sort", TENSOR | TORCH | ATEN, "(Tensor input, int dim=-1, bool descending=False, bool stable=False)", sort, OP_ONE_NODE, 0, NULL },
    { "sort", TENSOR | TORCH | ATEN, "(Tensor input, *, bool? stable=None, int dim=-1, bool descending=False)", sort, OP_ONE_NODE, 0, NULL },
    { "argsort", TENSOR | TORCH | ATEN, "(Tensor input, int dim=-1, bool descending=False, bool stable=False)", sort, OP_NO_GRADIENT, 0, "argsort" },
    { "msort", TENSOR | TORCH | ATEN, "(Tensor input)", sort, OP_ONE_NODE, 0, "msort" },
    { "topk", TENSOR | TORCH | ATEN, "(Tensor input, int k, int dim=-1, bool largest=True, bool sorted=True)", topk, OP_ONE_NODE, 0, NULL },
    { "kthvalue", TENSOR | TORCH | ATEN, "(Tensor input, int k, int dim=-1, bool keepdim=False)", kthvalue, OP_ONE_NODE, 0, NULL },
    { "searchsorted", TORCH | TENSOR | ATEN, "(Tensor sorted_sequence, Tensor input, *, bool out_int32=False, bool right=False, str? side=None, Tensor? sorter=None)", searchsorted, OP_NO_GRADIENT, 0, NULL },
    { "bucketize", TORCH | TENSOR | ATEN, "(Tensor input, Tensor boundaries, *, bool out_int32=False, bool right=False)", bucketize, OP_NO_GRADIENT, 0, NULL },
    { "isin", TORCH | ATEN, "(Tensor elements, Tensor test_elements, *, bool assume_unique=False, bool invert=False)", isin, OP_NO_GRADIENT, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(sort);
