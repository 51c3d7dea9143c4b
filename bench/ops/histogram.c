/* Counting: bincount, histc, histogram, histogramdd.
 *
 * An element that lies within rounding of the edge between two equal bins may be counted in
 * either; the device's counts are taken when they differ from ours by such elements only. Weights are no counts: those of such
 * elements are an error of the model.
 */
#include <math.h>
#include <string.h>

#include "bench/arithmetic/rounding.h"
#include "bench/call/op.h"
#include "bench/primitives/alias.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/gather.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/reduce.h"
#include "bench/primitives/view.h"

static void bincount(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input"), *weights = call_optional_tensor(call, "weights");
    int64_t bins = call_int(call, "minlength");

    if (x->integer && x->rank == 1 && !x->n) weights = NULL; /* nothing is counted, in integers */
    if (!call_require(call, x->integer && x->rank == 1 && (!weights || weights->n == x->n),
                      "a vector of integers is needed, and weights of its length"))
        return;
    for (size_t i = 0; i < x->n; i++) {
        if (!call_require(call, x->integer[i] >= 0, "negative numbers are not counted")) return;
        if (!call_require(call, x->integer[i] != INT64_MAX,
                          "a result shape is negative or too large"))
            return;
        if (x->integer[i] >= bins) bins = x->integer[i] + 1;
    }
    if (weights && x->n) { /* of no elements there are zeros that count */
        enum dtype dtype = weights->dtype == DT_F32 ? DT_F32 : DT_F64;
        struct node *sum =
            node_scatter_add(tape, node_to_real(tape, weights), 1, &bins, x->integer);
        call_return_typed(call, sum, dtype);
        return;
    }
    struct node *out = node_new_integer(tape, DT_I64, 1, &bins);
    if (tape_failed(tape)) return;
    memset(out->integer, 0, out->n * sizeof *out->integer);
    for (size_t i = 0; i < x->n; i++) out->integer[x->integer[i]]++;
    call_return(call, out);
}

/* Equal bins from low to high. An element that lies within rounding of an edge may be
 * counted on either side. */
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
    double edge = rint(place),
           reach = 8 * unit * (double)bins->count *
                   fmax(1, fmax(fabs(bins->low), fabs(bins->high)) / (bins->high - bins->low));
    *other = bin;
    if (fabs(place - edge) <= reach && edge > 0 && edge < (double)bins->count)
        *other = (int64_t)edge == bin ? bin - 1 : (int64_t)edge;
    return bin;
}

/* Counts of the device that differ only by elements at edges. */
static bool counts_agree(const double *got, const double *sure, const double *maybe,
                         const double *own, int64_t count)
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
    struct node *device = call_device_numbers(call, 0, (size_t)count);
    if (!device) return;
    const double *theirs = node_values(call->tape, device);
    if (tape_failed(call->tape)) return;
    if (counts_agree(theirs, sure, maybe, own, count))
        memcpy(own, theirs, (size_t)count * sizeof *own);
}

/* Range of the finite x, when low == high asks for it. A range of one point grows by `grown` on
 * both sides. */
static bool find_range(struct call *call, const double *x, size_t n, double grown, double *low,
                       double *high)
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
        *low -= grown;
        *high += grown;
    }
    if (!(*low < *high) || !isfinite(*low) || !isfinite(*high))
        call_fail(call, "min must be below max");
    return !tape_failed(call->tape);
}

/* A point's bin on an axis, and the one beyond a near edge, or the same. */
struct near_bins {
    int64_t bin, other;
};

/* Add `amount` to each cell that a point with these bins may be counted in; `at`: of the axes before. */
static void spread(double *cells, const struct near_bins *bins, int dims, const int64_t *shape,
                   int64_t at, double amount)
{
    if (!dims) {
        cells[at] += amount;
        return;
    }
    spread(cells, bins + 1, dims - 1, shape + 1, at * shape[0] + bins->bin, amount);
    if (bins->other != bins->bin)
        spread(cells, bins + 1, dims - 1, shape + 1, at * shape[0] + bins->other, amount);
}

/* Weights as a vector of one for each of n points; NULL: none. */
static struct node *weights_of(struct tape *tape, struct node *weights, size_t n)
{
    if (!weights) return NULL;
    return node_reshape(tape, node_detach(tape, weights), 1, (int64_t[]){ (int64_t)n });
}

/* Sums of weights by cell; in a model those at edges, which `maybe` has in all cells that they may be in, are an error. */
static struct node *weighted(struct tape *tape, struct node *weights, int rank,
                             const int64_t *shape, const int64_t *map, const double *maybe)
{
    struct node *sum = node_scatter_add(tape, weights, rank, shape, map);
    if (!tape_is_model(tape)) return sum;
    struct node *open = node_constant(tape, DT_NONE, 0, rank, shape);
    if (tape_failed(tape)) return tape_failure(tape);
    memcpy(open->value, maybe, open->n * sizeof *maybe);
    return node_model_error(tape, sum, open, (tape_is_typical(tape) ? 4 : 1) / tape->unit);
}

/* Counts of x in equal bins, weights optional, settled when unweighted. */
static struct node *equal_bins(struct call *call, struct node *x, const struct bins *bins,
                               struct node *weights)
{
    struct tape *tape = call->tape;
    size_t n = (size_t)bins->count;
    double *sure = tape_allocate(tape, 2 * n, sizeof *sure), *maybe = sure ? sure + n : NULL;
    int64_t *map = tape_allocate(tape, x->n, sizeof *map);
    weights = weights_of(tape, weights, x->n);
    const double *weight = weights ? node_values(tape, weights) : NULL;
    struct node *out = node_constant(tape, DT_NONE, 0, 1, &bins->count);
    double unit = dtype_is_float(x->dtype) ? dtype_ulp(x->dtype, 1) : UNIT_ROUNDOFF;

    if (tape_failed(tape)) return tape_failure(tape);
    memset(sure, 0, 2 * n * sizeof *sure);
    for (size_t i = 0; i < x->n; i++) {
        struct near_bins near;
        map[i] = near.bin = bin_of(bins, x->value[i], unit, &near.other);
        if (map[i] < 0) continue;
        out->value[map[i]]++;
        if (near.other == near.bin) sure[map[i]]++;
        else spread(maybe, &near, 1, &bins->count, 0, weight ? fabs(weight[i]) : 1);
    }
    if (weights) return weighted(tape, weights, 1, &bins->count, map, maybe);
    settle_counts(call, out->value, sure, maybe, bins->count);
    return out;
}

static void histc(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    struct bins bins = { call_real(call, "min"), call_real(call, "max"), call_int(call, "bins") };
    if (!call_require(call, bins.count >= 1 && bins.count <= INT32_MAX, "%lld bins",
                      (long long)bins.count))
        return;
    const double *value = node_values(call->tape, x);
    if (tape_failed(call->tape) || !find_range(call, value, x->n, 1, &bins.low, &bins.high)) return;
    call_return_typed(call, equal_bins(call, x, &bins, NULL), x->dtype);
}

/* Counts between given edges, the last bin closed. */
static struct node *edged_bins(struct call *call, struct node *x, struct node *edges,
                               struct node *weights)
{
    struct tape *tape = call->tape;
    int64_t count = (int64_t)edges->n - 1;
    const double *edge = node_values(tape, edges), *value = node_values(tape, x);
    int64_t *map = tape_allocate(tape, x->n, sizeof *map);
    if (!call_require(call, count >= 0 && edges->rank == 1, "the bins must be a vector of edges"))
        return x;
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
    weights = weights
                  ? node_reshape(tape, node_detach(tape, weights), 1, (int64_t[]){ (int64_t)x->n })
                  : node_constant(tape, DT_NONE, 1, 1, (int64_t[]){ (int64_t)x->n });
    return node_scatter_add(tape, weights, 1, &count, map);
}

/* Counts divided by their total and the bins' widths. */
static struct node *as_density(struct tape *tape, struct node *counts, struct node *edges)
{
    int64_t n = edges->shape[0];
    struct node *width = node_subtract(tape, node_slice(tape, edges, 0, 1, n - 1, 1),
                                       node_slice(tape, edges, 0, 0, n - 1, 1));
    return node_divide(tape, node_divide(tape, counts, node_sum(tape, counts, 1, false)), width);
}

/* n + 1 equal steps from low to high. */
static struct node *equal_edges(struct call *call, const struct bins *bins)
{
    struct tape *tape = call->tape;
    int64_t n = bins->count + 1;
    struct node *i = node_new_real(tape, DT_NONE, 1, &n);
    for (int64_t k = 0; !tape_failed(tape) && k < n; k++) i->value[k] = (double)k;
    struct node *width =
        node_subtract(tape, node_scalar(tape, bins->high), node_scalar(tape, bins->low));
    return node_offset(
        tape,
        node_divide(tape, node_multiply(tape, i, width), node_scalar(tape, (double)bins->count)),
        bins->low);
}

/* The bins of one dimension: given edges, or `count` equal ones over a range (low == high:
 * that of the data). */
struct axis {
    struct node *edges; /* NULL: equal bins */
    struct bins bins;
};

static bool read_axis(struct axis *axis, struct call *call, const struct value *bins,
                      const struct value *range, size_t dim, const double *x, size_t n)
{
    *axis = (struct axis){ NULL, { 0, 0, 0 } };
    if (bins->kind == VALUE_TENSOR) {
        axis->edges = call_node(call, bins);
        (void)node_values(call->tape, axis->edges);
        axis->bins.count = (int64_t)axis->edges->n - 1;
        if (axis->edges->rank != 1 || axis->bins.count < 1)
            call_fail(call, "bins must be a vector of edges");
        return !tape_failed(call->tape);
    }
    axis->bins.count = bins->kind == VALUE_INT ? bins->integer : 0;
    if (value_is_sequence(range) && range->list.count >= 2 * dim + 2) {
        struct node *low = call_node(call, &range->list.items[2 * dim]);
        struct node *high = call_node(call, &range->list.items[2 * dim + 1]);
        if (!call_require(call, low->n == 1 && high->n == 1,
                          "a range is two numbers per dimension"))
            return false;
        axis->bins.low = *node_values(call->tape, low);
        axis->bins.high = *node_values(call->tape, high);
    }
    if (axis->bins.count < 1 || axis->bins.count > INT32_MAX)
        call_fail(call, "%lld bins", (long long)axis->bins.count);
    if (!n && axis->bins.low == axis->bins.high) axis->bins.high = axis->bins.low + 1;
    return !tape_failed(call->tape) &&
           find_range(call, x, n, 0.5, &axis->bins.low, &axis->bins.high);
}

static void histogram(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input"), *weights = call_optional_tensor(call, "weight");
    const double *value = node_values(tape, x);
    struct axis axis;

    if (!read_axis(&axis, call, call_value(call, "bins"), call_value(call, "range"), 0, value,
                   x->n))
        return;
    struct node *edges = axis.edges ? axis.edges : equal_edges(call, &axis.bins);
    struct node *counts = axis.edges ? edged_bins(call, x, edges, weights)
                                     : equal_bins(call, x, &axis.bins, weights);
    if (call_bool(call, "density")) counts = as_density(tape, counts, edges);
    call_return_typed(call, counts, x->dtype);
    call_return_typed(call, edges, x->dtype);
}

/* The bin of x on an axis, or -1. *other: the one beyond a near edge, else the same. */
static int64_t axis_bin(const struct axis *axis, double x, double unit, int64_t *other)
{
    if (!axis->edges) return bin_of(&axis->bins, x, unit, other);
    const double *edge = axis->edges->value;
    size_t low = 0, high = axis->edges->n;
    while (low < high) { /* first edge above x */
        size_t middle = low + (high - low) / 2;
        if (edge[middle] > x) high = middle;
        else low = middle + 1;
    }
    int64_t bin = (int64_t)low - 1;
    if (bin == axis->bins.count && x == edge[bin]) bin--;
    if (bin >= axis->bins.count || isnan(x)) bin = -1;
    return *other = bin;
}

enum { MOST_AXES = TENSOR_MAX_RANK };

/* Cells of points with `dims` coordinates; `sure` and `maybe` as in equal_bins. */
static struct node *cells(struct call *call, const struct node *x, const struct axis *axes,
                          int dims, struct node *weights)
{
    struct tape *tape = call->tape;
    int64_t shape[MOST_AXES];
    for (int d = 0; d < dims; d++) shape[d] = axes[d].bins.count;
    struct node *out = node_constant(tape, DT_NONE, 0, dims, shape);
    size_t points = x->n / (size_t)dims;
    double *sure = tape_allocate(tape, 2 * out->n, sizeof *sure), *maybe = sure + out->n;
    int64_t *map = tape_allocate(tape, points, sizeof *map);
    weights = weights_of(tape, weights, points);
    const double *weight = weights ? node_values(tape, weights) : NULL;
    double unit = dtype_is_float(x->dtype) ? dtype_ulp(x->dtype, 1) : UNIT_ROUNDOFF;
    if (tape_failed(tape)) return tape_failure(tape);
    memset(sure, 0, 2 * out->n * sizeof *sure);
    for (size_t i = 0; i < points; i++) {
        struct near_bins near[MOST_AXES];
        int64_t cell = 0;
        bool is_sure = true;
        for (int d = 0; d < dims && cell >= 0; d++) {
            near[d].bin =
                axis_bin(&axes[d], x->value[i * (size_t)dims + (size_t)d], unit, &near[d].other);
            cell = near[d].bin < 0 ? -1 : cell * shape[d] + near[d].bin;
            is_sure = is_sure && near[d].other == near[d].bin;
        }
        map[i] = cell;
        if (cell < 0) continue;
        out->value[cell]++;
        if (is_sure) sure[cell]++;
        else spread(maybe, near, dims, shape, 0, weight ? fabs(weight[i]) : 1);
    }
    if (weights) return weighted(tape, weights, dims, shape, map, maybe);
    settle_counts(call, out->value, sure, maybe, (int64_t)out->n);
    return out;
}

/* Counts of points (the last dimension holds the coordinates), then the edges of
 * each axis. */
static void histogramdd(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input"), *weights = call_optional_tensor(call, "weight");
    const struct value *bins = call_value(call, "bins");
    struct axis axes[MOST_AXES];
    struct node *edges[MOST_AXES];
    int dims = x->rank ? (int)x->shape[x->rank - 1] : 0;
    const double *value = node_values(tape, x);

    if (!call_require(call,
                      x->rank >= 2 && dims >= 1 && dims <= MOST_AXES &&
                          (!value_is_sequence(bins) || bins->list.count == (size_t)dims),
                      "points and bins do not fit each other"))
        return;
    size_t points = x->n / (size_t)dims;
    double *column = tape_allocate(tape, points, sizeof *column);
    if (!column) return;
    for (int d = 0; d < dims; d++) {
        for (size_t i = 0; i < points; i++) column[i] = value[i * (size_t)dims + (size_t)d];
        if (!read_axis(&axes[d], call, value_is_sequence(bins) ? &bins->list.items[d] : bins,
                       call_value(call, "range"), (size_t)d, column, points))
            return;
        edges[d] = axes[d].edges ? axes[d].edges : equal_edges(call, &axes[d].bins);
    }
    struct node *counts = cells(call, x, axes, dims, weights);
    if (call_bool(call, "density")) {
        counts = node_divide(tape, counts, node_sum(tape, counts, UINT32_MAX, false));
        for (int d = 0; d < dims; d++) {
            int64_t n = edges[d]->shape[0], shape[MOST_AXES];
            struct node *width = node_subtract(tape, node_slice(tape, edges[d], 0, 1, n - 1, 1),
                                               node_slice(tape, edges[d], 0, 0, n - 1, 1));
            for (int e = 0; e < dims; e++) shape[e] = e == d ? n - 1 : 1;
            counts = node_divide(tape, counts, node_reshape(tape, width, dims, shape));
        }
    }
    call_return_typed(call, counts, x->dtype);
    for (int d = 0; d < dims; d++) call_return_typed(call, edges[d], x->dtype);
}

/* clang-format off */
const struct op ops_histogram[] = {
    { "bincount", TENSOR | TORCH | ATEN, "(Tensor input, Tensor? weights=None, int minlength=0)", bincount, OP_NO_GRADIENT, 0, NULL },
    { "histc", TENSOR | TORCH | ATEN, "(Tensor input, int bins=100, Scalar min=0, Scalar max=0)", histc, OP_NO_GRADIENT, 0, NULL },
    { "histogram", TENSOR | TORCH | ATEN, "(Tensor input, Any bins=100, *, Any range=None, Tensor? weight=None, bool density=False)", histogram, OP_NO_GRADIENT, 0, NULL },
    { "histogramdd", TORCH, "(Tensor input, Any bins=100, *, Any range=None, Tensor? weight=None, bool density=False)", histogramdd, OP_NO_GRADIENT, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(histogram);
