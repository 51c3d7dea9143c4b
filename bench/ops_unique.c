/* Distinct elements and counting: unique, unique_consecutive, bincount, histc, histogram. */
#include <math.h>
#include <string.h>

#include "bench/op.h"
#include "bench/sorting.h"

/* ---- distinct elements ------------------------------------------------------------------------- */

/* The slices x[.., i, ..] along a dimension, compared element by element; with no dimension the
 * elements of x. */
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
        if (s->x->integer ? s->x->integer[i] != s->x->integer[j] : !(s->x->value[i] == s->x->value[j]))
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

static void order_elements(const struct slices *s, struct graph *graph, size_t *order, size_t *scratch)
{
    if (s->width != 1) {
        sort_slices(s, order, scratch);
        return;
    }
    struct sort_item *items = graph_allocate(graph, 2 * s->count, sizeof *items);
    if (!items) return;
    for (size_t i = 0; i < s->count; i++)
        items[i] = (struct sort_item){ sort_key(s->x, i), (int64_t)i };
    sort_items(items, items + s->count, s->count);
    for (size_t i = 0; i < s->count; i++) order[i] = (size_t)items[i].position;
}

/* unique; detail 1: only neighbours are compared (unique_consecutive). */
static void unique(struct call *call)
{
    struct graph *g = call->graph;
    struct node *x = call_tensor(call, "input");
    bool whole = call_is_none(call, "dim"), consecutive = call->op->detail != 0;
    int dim = whole ? 0 : call_dim(call, "dim", x->rank);
    int64_t shape[TENSOR_MAX_RANK];

    struct node *flat = whole ? node_reshape(g, x, 1, (int64_t[]){ (int64_t)x->n }) : x;
    if (!whole && x->rank) flat = node_transpose(g, x, 0, dim);
    if (x->imaginary || (!whole && !x->rank)) call_fail(call, "unique of such a tensor is not supported");
    if (!flat->integer) (void)node_values(g, flat);
    if (graph_failed(g)) return;
    struct slices s = { flat, (size_t)flat->shape[0], 0 };
    s.width = s.count ? flat->n / s.count : 1;
    size_t *order = graph_allocate(g, 2 * s.count, sizeof *order);
    struct node *inverse = whole ? node_new_integer(g, DT_I64, x->rank, x->shape)
                                 : node_new_integer(g, DT_I64, 1, flat->shape);
    int64_t *kept = graph_allocate(g, s.count, sizeof *kept), found = 0;
    int64_t *counts = graph_allocate(g, s.count, sizeof *counts);
    if (graph_failed(g)) return;
    if (consecutive)
        for (size_t i = 0; i < s.count; i++) order[i] = i;
    else
        order_elements(&s, g, order, order + s.count);
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
    struct node *values = node_gather_rows(g, flat, flat->rank, shape, s.width, kept, 0);
    if (!whole) values = node_transpose(g, values, 0, dim);
    call_return(call, values);
    if (call_bool(call, "return_inverse")) call_return(call, inverse);
    if (!call_bool(call, "return_counts")) return;
    struct node *count = node_new_integer(g, DT_I64, 1, &found);
    if (graph_failed(g)) return;
    memcpy(count->integer, counts, (size_t)found * sizeof *counts);
    call_return(call, count);
}

/* ---- counting ------------------------------------------------------------------------------------- */

static void bincount(struct call *call)
{
    struct graph *g = call->graph;
    struct node *x = call_tensor(call, "input"), *weights = call_optional_tensor(call, "weights");
    int64_t bins = call_int(call, "minlength");

    if (!x->integer || x->rank != 1 || (weights && weights->n != x->n)) {
        call_fail(call, "a vector of integers is needed, and weights of its length");
        return;
    }
    for (size_t i = 0; i < x->n; i++) {
        if (x->integer[i] < 0) call_fail(call, "negative numbers are not counted");
        if (x->integer[i] >= bins) bins = x->integer[i] + 1;
    }
    if (weights) {
        enum dtype dtype = weights->dtype == DT_F32 ? DT_F32 : DT_F64;
        struct node *sum = node_scatter_add(g, node_to_real(g, weights), 1, &bins, x->integer);
        call_return_typed(call, sum, dtype);
        return;
    }
    struct node *out = node_new_integer(g, DT_I64, 1, &bins);
    if (graph_failed(g)) return;
    memset(out->integer, 0, out->n * sizeof *out->integer);
    for (size_t i = 0; i < x->n; i++) out->integer[x->integer[i]]++;
    call_return(call, out);
}

/* Equal bins from low to high. An element that lies within rounding of an edge may be counted
 * on either side. */
struct bins {
    double low, high;
    int64_t count;
};

/* The bin of x, or -1. *other gets the bin beyond a near edge, else the same. */
static int64_t bin_of(const struct bins *bins, double x, double unit, int64_t *other)
{
    *other = -1;
    if (!(x >= bins->low && x <= bins->high)) return -1;
    double place = (x - bins->low) / (bins->high - bins->low) * (double)bins->count;
    int64_t bin = (int64_t)place;
    bin = bin >= bins->count ? bins->count - 1 : bin;
    double edge = rint(place), reach = 8 * unit * (double)bins->count *
                  fmax(1, fmax(fabs(bins->low), fabs(bins->high)) / (bins->high - bins->low));
    *other = bin;
    if (fabs(place - edge) <= reach && edge > 0 && edge < (double)bins->count)
        *other = (int64_t)edge == bin ? bin - 1 : (int64_t)edge;
    return bin;
}

/* Counts of the device that differ only by elements at edges. */
static bool counts_agree(const double *got, const double *sure, const double *maybe, const double *own,
                         int64_t count)
{
    double total = 0, wanted = 0;
    for (int64_t k = 0; k < count; k++) {
        if (!(got[k] >= sure[k] && got[k] <= sure[k] + maybe[k])) return false;
        total += got[k];
        wanted += own[k];
    }
    return total == wanted;
}

/* Take the device's counts where they are as right as ours. */
static void settle_counts(struct call *call, double *own, const double *sure, const double *maybe,
                          int64_t count)
{
    const struct tensor *got = call_device_output(call, 0);
    struct tensor dense;
    if (!got || tensor_elements(got) != (size_t)count || dtype_is_complex(got->dtype) ||
        tensor_densify(&dense, call->graph->arena, got).code)
        return;
    double *theirs = graph_allocate(call->graph, (size_t)count, sizeof *theirs);
    if (!theirs) return;
    dtype_to_double(theirs, dense.data, dense.dtype, (size_t)count);
    if (counts_agree(theirs, sure, maybe, own, count)) memcpy(own, theirs, (size_t)count * sizeof *own);
}

/* Range of the finite x, when low == high asks for it. */
static bool find_range(struct call *call, const double *x, size_t n, double *low, double *high)
{
    if (*low == *high) {
        if (n) *low = *high = x[0];
        for (size_t i = 0; i < n; i++) {
            if (!isfinite(x[i])) call_fail(call, "the range of the data is not finite");
            if (x[i] < *low) *low = x[i];
            if (x[i] > *high) *high = x[i];
        }
    }
    if (*low == *high) {
        *low -= 1;
        *high += 1;
    }
    if (!(*low < *high) || !isfinite(*low) || !isfinite(*high)) call_fail(call, "min must be below max");
    return !graph_failed(call->graph);
}

/* Counts of x in equal bins, weights optional, settled when unweighted. */
static struct node *equal_bins(struct call *call, struct node *x, const struct bins *bins,
                               struct node *weights)
{
    struct graph *g = call->graph;
    size_t n = (size_t)bins->count;
    double *sure = graph_allocate(g, 2 * n, sizeof *sure), *maybe = sure ? sure + n : NULL;
    int64_t *map = graph_allocate(g, x->n, sizeof *map);
    struct node *out = node_constant(g, DT_NONE, 0, 1, &bins->count);
    double unit = dtype_is_float(x->dtype) ? dtype_ulp(x->dtype, 1) : UNIT_ROUNDOFF;

    if (graph_failed(g)) return out;
    memset(sure, 0, 2 * n * sizeof *sure);
    for (size_t i = 0; i < x->n; i++) {
        int64_t other;
        map[i] = bin_of(bins, x->value[i], unit, &other);
        if (map[i] < 0) continue;
        out->value[map[i]]++;
        if (other == map[i]) {
            sure[map[i]]++;
        } else {
            maybe[map[i]]++;
            maybe[other]++;
        }
    }
    if (weights)
        return node_scatter_add(g, node_reshape(g, node_detach(g, weights), 1, (int64_t[]){ (int64_t)x->n }),
                                1, &bins->count, map);
    settle_counts(call, out->value, sure, maybe, bins->count);
    return out;
}

static void histc(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    struct bins bins = { call_real(call, "min"), call_real(call, "max"), call_int(call, "bins") };
    if (bins.count < 1 || bins.count > INT32_MAX) {
        call_fail(call, "%lld bins", (long long)bins.count);
        return;
    }
    const double *value = node_values(call->graph, x);
    if (graph_failed(call->graph) || !find_range(call, value, x->n, &bins.low, &bins.high)) return;
    call_return_typed(call, equal_bins(call, x, &bins, NULL), x->dtype);
}

/* Counts between given edges, the last bin closed. */
static struct node *edged_bins(struct call *call, struct node *x, struct node *edges, struct node *weights)
{
    struct graph *g = call->graph;
    int64_t count = (int64_t)edges->n - 1;
    const double *edge = node_values(g, edges), *value = node_values(g, x);
    int64_t *map = graph_allocate(g, x->n, sizeof *map);
    if (count < 0 || edges->rank != 1) call_fail(call, "the bins must be a vector of edges");
    if (graph_failed(g)) return x;
    for (size_t i = 0; i < x->n; i++) {
        size_t low = 0, high = edges->n;
        while (low < high) { /* first edge above x */
            size_t middle = low + (high - low) / 2;
            if (edge[middle] > value[i]) high = middle;
            else low = middle + 1;
        }
        map[i] = (int64_t)low - 1;
        if (map[i] == count && value[i] == edge[count]) map[i]--;
        if (map[i] >= count || isnan(value[i])) map[i] = -1;
    }
    weights = weights ? node_reshape(g, node_detach(g, weights), 1, (int64_t[]){ (int64_t)x->n })
                      : node_constant(g, DT_NONE, 1, 1, (int64_t[]){ (int64_t)x->n });
    return node_scatter_add(g, weights, 1, &count, map);
}

/* Counts divided by their total and the bins' widths. */
static struct node *as_density(struct graph *graph, struct node *counts, struct node *edges)
{
    int64_t n = edges->shape[0];
    struct node *width = node_subtract(graph, node_slice(graph, edges, 0, 1, n - 1, 1),
                                       node_slice(graph, edges, 0, 0, n - 1, 1));
    return node_divide(graph, node_divide(graph, counts, node_sum(graph, counts, 1, false)), width);
}

/* n + 1 equal steps from low to high. */
static struct node *equal_edges(struct call *call, const struct bins *bins)
{
    struct graph *g = call->graph;
    int64_t n = bins->count + 1;
    struct node *i = node_new_real(g, DT_NONE, 1, &n);
    for (int64_t k = 0; !graph_failed(g) && k < n; k++) i->value[k] = (double)k;
    struct node *width = node_subtract(g, node_scalar(g, bins->high), node_scalar(g, bins->low));
    return node_offset(g, node_divide(g, node_multiply(g, i, width), node_scalar(g, (double)bins->count)),
                       bins->low);
}

static void histogram(struct call *call)
{
    struct graph *g = call->graph;
    struct node *x = call_tensor(call, "input"), *weights = call_optional_tensor(call, "weight");
    const struct value *given = call_value(call, "bins");
    struct node *counts, *edges;

    const double *value = node_values(g, x);
    if (graph_failed(g)) return;
    if (given->kind == VALUE_TENSOR) {
        edges = call_node(call, given);
        counts = edged_bins(call, x, edges, weights);
    } else {
        struct bins bins = { 0, 0, call_int(call, "bins") };
        const struct value *range = call_value(call, "range");
        if (value_is_sequence(range) && range->list.count == 2) {
            struct node *low = call_node(call, &range->list.items[0]);
            struct node *high = call_node(call, &range->list.items[1]);
            bins.low = *node_values(g, low);
            bins.high = *node_values(g, high);
        }
        if (bins.count < 1 || bins.count > INT32_MAX) call_fail(call, "%lld bins", (long long)bins.count);
        if (graph_failed(g) || !find_range(call, value, x->n, &bins.low, &bins.high)) return;
        edges = equal_edges(call, &bins);
        counts = equal_bins(call, x, &bins, weights);
    }
    if (graph_failed(g)) return;
    if (call_bool(call, "density")) counts = as_density(g, counts, edges);
    call_return_typed(call, counts, x->dtype);
    call_return_typed(call, edges, x->dtype);
}

/* clang-format off */
const struct op ops_unique[] = {
    { "unique", TENSOR | TORCH, "(Tensor input, bool sorted=True, bool return_inverse=False, bool return_counts=False, int? dim=None)", unique, OP_NO_GRADIENT, 0, NULL },
    { "unique_consecutive", TENSOR | TORCH, "(Tensor input, bool return_inverse=False, bool return_counts=False, int? dim=None)", unique, OP_NO_GRADIENT, 1, NULL },
    { "bincount", TENSOR | TORCH | ATEN, "(Tensor input, Tensor? weights=None, int minlength=0)", bincount, OP_NO_GRADIENT, 0, NULL },
    { "histc", TENSOR | TORCH | ATEN, "(Tensor input, int bins=100, Scalar min=0, Scalar max=0)", histc, OP_NO_GRADIENT, 0, NULL },
    { "histogram", TENSOR | TORCH | ATEN, "(Tensor input, Any bins, *, Any range=None, Tensor? weight=None, bool density=False)", histogram, OP_NO_GRADIENT, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(unique);
