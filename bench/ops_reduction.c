/* Sums, means, products, moments and norms over dimensions. */
#include <math.h>
#include <string.h>

#include "bench/complex_functions.h"
#include "bench/gradient.h"
#include "bench/operands.h"

/* Tensor, dimensions and keepdim of a reduction. */
struct reduced {
    struct node *x;
    uint32_t dims;
    bool keepdim;
    double count; /* elements behind one result */
};

static double count_over(const struct node *x, uint32_t dims)
{
    double count = 1;
    for (int d = 0; d < x->rank; d++)
        if (dims >> d & 1) count *= (double)x->shape[d];
    return count;
}

static struct reduced reduced_argument(struct call *call)
{
    struct reduced r = { call_tensor(call, "input"), 0, false, 0 };
    r.dims = call_dims(call, "dim", r.x->rank);
    r.keepdim = call_bool(call, "keepdim");
    r.count = count_over(r.x, r.dims);
    return r;
}

/* Sums and products of integers are int64 unless a dtype is given. */
static enum dtype sum_dtype(struct call *call, const struct node *x)
{
    enum dtype dtype = call_dtype(call, "dtype");
    return dtype != DT_NONE ? dtype : x->integer ? DT_I64 : x->dtype;
}

static void sum(struct call *call)
{
    struct reduced r = reduced_argument(call);
    enum dtype dtype = sum_dtype(call, r.x);
    struct node *x = node_cast(call->graph, r.x, dtype);
    call_return_typed(call, node_sum(call->graph, x, r.dims, r.keepdim), dtype);
}

static struct node *without_nan(struct graph *g, struct node *x)
{
    if (x->integer) return x;
    return node_select(g, node_isnan(g, x), node_scalar(g, 0), x);
}

static void nansum(struct call *call)
{
    struct reduced r = reduced_argument(call);
    enum dtype dtype = sum_dtype(call, r.x);
    struct node *x = node_cast(call->graph, without_nan(call->graph, r.x), dtype);
    call_return_typed(call, node_sum(call->graph, x, r.dims, r.keepdim), dtype);
}

static void mean(struct call *call)
{
    struct reduced r = reduced_argument(call);
    enum dtype dtype = call_dtype(call, "dtype");
    if (dtype == DT_NONE && r.x->integer) call_fail(call, "the mean of integers needs a dtype");
    if (dtype == DT_NONE) dtype = r.x->dtype;
    struct node *x = node_cast(call->graph, r.x, dtype);
    call_return_typed(call, node_mean(call->graph, x, r.dims, r.keepdim), dtype);
}

/* clang-format off */
#define DIMS "(Tensor input, int[]? dim=None, bool keepdim=False, *, ScalarType? dtype=None)"
const struct op ops_reduction[] = {
    { "sum", TENSOR | TORCH, DIMS, sum, OP_ONE_NODE, 0, NULL },
    { "nansum", TENSOR | TORCH, DIMS, nansum, OP_ONE_NODE, 0, NULL },
    { "mean", TENSOR | TORCH, DIMS, mean, OP_ONE_NODE, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(reduction);
