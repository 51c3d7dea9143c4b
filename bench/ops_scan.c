/* Scans, differences and trapezoids along a dimension. */
#include <math.h>
#include <string.h>

#include "bench/gradient.h"
#include "bench/reduction.h"
#include "bench/scan.h"

static enum dtype scan_dtype(struct call *call, const struct node *x)
{
    enum dtype dtype = call_dtype(call, "dtype");
    return dtype != DT_NONE ? dtype : x->integer ? DT_I64 : x->dtype;
}

static void cumsum(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    enum dtype dtype = scan_dtype(call, x);
    int dim = call_dim(call, "dim", x->rank);
    call_return_typed(call, node_cumulative_sum(call->graph, node_cast(call->graph, x, dtype), dim, false),
                      dtype);
}

static void cumprod(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    enum dtype dtype = scan_dtype(call, x);
    int dim = call_dim(call, "dim", x->rank);
    call_return_typed(call, node_cumulative_product(call->graph, node_cast(call->graph, x, dtype), dim),
                      dtype);
}

static void logcumsumexp(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    int dim = call_dim(call, "dim", x->rank);
    call_return_typed(call, node_cumulative_logsumexp(call->graph, x, dim), call_float_type(call, &x, 1));
}

/* ---- cummax, cummin ---------------------------------------------------------------------------- */

struct prefix {
    const struct node *x, *own;
    size_t extent, inner;
};

/* The device's index is right when it does not lie ahead and its element equals ours. */
static bool equal_in_prefix(void *context, size_t i, int64_t index)
{
    const struct prefix *p = context;
    size_t at = i / p->inner % p->extent, first = i - at * p->inner;
    if (index < 0 || (size_t)index > at) return false;
    size_t ours = first + (size_t)p->own->integer[i] * p->inner, theirs = first + (size_t)index * p->inner;
    if (p->x->integer) return p->x->integer[ours] == p->x->integer[theirs];
    double a = p->x->value[ours], b = p->x->value[theirs];
    return a == b || (isnan(a) && isnan(b));
}

/* detail: the sign. Values and indices; the gradient goes to the index. */
static void cumulative_extremum(struct call *call)
{
    struct graph *g = call->graph;
    struct node *x = call_tensor(call, "input");
    int dim = call_dim(call, "dim", x->rank);
    struct node *own = node_cumulative_arg_extremum(g, x, dim, (int)call->op->detail);
    if (graph_failed(g)) return;
    struct prefix prefix = { x, own, x->rank ? (size_t)x->shape[dim] : 1, 1 };
    for (int d = dim + 1; d < x->rank; d++) prefix.inner *= (size_t)x->shape[d];
    struct node *index = call_settled_indices(call, 1, own, equal_in_prefix, &prefix);
    call_return_typed(call, node_take_along(g, x, dim, index), x->dtype);
    call_return(call, index);
}

/* ---- differences -------------------------------------------------------------------------------- */

static int64_t difference(int64_t a, int64_t b) { return (int64_t)((uint64_t)a - (uint64_t)b); }
static int64_t unlike(int64_t a, int64_t b) { return a != b; }

/* Elements start, start + 1, ... up to `drop` fewer than all. */
static struct node *part(struct graph *g, struct node *x, int dim, int64_t start)
{
    return node_slice(g, x, dim, start, x->shape[dim] - 1, 1);
}

static struct node *differences(struct graph *g, struct node *x, int dim)
{
    struct node *high = part(g, x, dim, 1), *low = part(g, x, dim, 0);
    if (x->integer)
        return node_integer_binary(g, x->dtype, x->dtype == DT_BOOL ? unlike : difference, high, low);
    return node_subtract(g, high, low);
}

static void diff(struct call *call)
{
    struct graph *g = call->graph;
    struct node *parts[3], *x = call_tensor(call, "input");
    int dim = call_dim(call, "dim", x->rank), count = 0;
    int64_t n = call_int(call, "n");
    if (x->rank == 0) call_fail(call, "diff takes at least one dimension");
    if (!call_is_none(call, "prepend")) parts[count++] = call_tensor(call, "prepend");
    parts[count++] = x;
    if (!call_is_none(call, "append")) parts[count++] = call_tensor(call, "append");
    enum dtype dtype = call_result_type(call, parts, count);
    for (int k = 0; k < count; k++) parts[k] = node_cast(g, parts[k], dtype);
    struct node *y = count > 1 ? node_concatenate(g, parts, count, dim) : parts[0];
    for (int64_t k = 0; k < n && !graph_failed(g) && y->shape[dim] > 0; k++)
        y = differences(g, y, dim);
    call_return_typed(call, y, dtype);
}

/* ---- trapezoids --------------------------------------------------------------------------------------- */

/* The widths of the intervals: differences of x along dim (a vector lies along dim), or dx. */
static struct node *widths(struct call *call, const struct node *y, int dim)
{
    struct graph *g = call->graph;
    if (call_is_none(call, "x")) {
        struct node *dx = call_optional_tensor(call, "dx");
        return dx ? dx : node_scalar(g, 1);
    }
    struct node *x = node_to_real(g, call_tensor(call, "x"));
    int64_t shape[TENSOR_MAX_RANK];
    if (graph_failed(g)) return x;
    if (x->rank == 1) {
        for (int d = 0; d < y->rank; d++) shape[d] = d == dim ? x->shape[0] : 1;
        x = node_reshape(g, x, y->rank, shape);
    }
    if (x->rank < y->rank) { /* missing dimensions lead */
        int lead = y->rank - x->rank;
        for (int d = 0; d < y->rank; d++) shape[d] = d < lead ? 1 : x->shape[d - lead];
        x = node_reshape(g, x, y->rank, shape);
    }
    if (graph_failed(g)) return x;
    if (x->rank != y->rank || (x->shape[dim] != y->shape[dim])) {
        call_fail(call, "x and y differ along the dimension");
        return x;
    }
    return differences(g, x, dim);
}

/* The integral over dim (detail 0) or up to each point (1). */
static void trapezoid(struct call *call)
{
    struct graph *g = call->graph;
    struct node *given = call_tensor(call, "y"), *y = node_to_real(g, given);
    int dim = call_dim(call, "dim", y->rank);
    enum dtype dtype = call_float_type(call, &given, 1);
    int64_t shape[TENSOR_MAX_RANK];
    if (graph_failed(g)) return;
    if (y->rank == 0) {
        call_fail(call, "a trapezoid takes at least one dimension");
        return;
    }
    if (!call_is_none(call, "x"))
        dtype = call_float_type(call, (struct node *[]){ given, call_tensor(call, "x") }, 2);
    if (y->shape[dim] == 0 && call->op->detail) {
        call_return_typed(call, y, dtype);
        return;
    }
    if (y->shape[dim] == 0) {
        int rank = 0;
        for (int d = 0; d < y->rank; d++)
            if (d != dim) shape[rank++] = y->shape[d];
        struct node *zero = node_constant(g, given->dtype, 0, rank, shape);
        if (!given->integer && !given->imaginary) zero = node_flat(g, zero, 1, &given);
        call_return_typed(call, zero, given->dtype);
        return;
    }
    struct node *pair = node_add(g, part(g, y, dim, 1), part(g, y, dim, 0));
    struct node *area = node_multiply(g, pair, widths(call, y, dim));
    struct node *total = call->op->detail ? node_cumulative_sum(g, area, dim, false)
                                          : node_sum(g, area, 1u << dim, false);
    call_return_typed(call, node_scale(g, total, 0.5), dtype);
}

/* clang-format off */
#define ALONG "(Tensor input, int dim, *, ScalarType? dtype=None)"
#define TRAPEZOID "(Tensor y, Tensor? x=None, *, Any dx=None, int dim=-1)"
const struct op ops_scan[] = {
    { "cumsum", TENSOR | TORCH, ALONG, cumsum, OP_ONE_NODE, 0, NULL },
    { "cumprod", TENSOR | TORCH, ALONG, cumprod, OP_ONE_NODE, 0, NULL },
    { "logcumsumexp", TENSOR | TORCH, "(Tensor input, int dim)", logcumsumexp, OP_ONE_NODE, 0, NULL },
    { "cummax", TENSOR | TORCH, "(Tensor input, int dim)", cumulative_extremum, OP_ONE_NODE, 1, NULL },
    { "cummin", TENSOR | TORCH, "(Tensor input, int dim)", cumulative_extremum, OP_ONE_NODE, -1, NULL },
    { "diff", TENSOR | TORCH, "(Tensor input, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None)", diff, 0, 0, NULL },
    { "trapezoid|trapz", TORCH, TRAPEZOID, trapezoid, 0, 0, NULL },
    { "cumulative_trapezoid", TORCH, TRAPEZOID, trapezoid, 0, 1, NULL },
};
/* clang-format on */
OP_TABLE_END(scan);
