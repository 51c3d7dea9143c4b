/* The softmax family. */
#include <math.h>
#include <stdio.h>

#include "bench/operands.h"
#include "bench/softmax.h"

/* The dimension that F.softmax takes when none is given. */
static int implicit_dim(const struct node *x)
{
    return x->rank == 0 || x->rank == 1 || x->rank == 3 ? 0 : 1;
}

/* Input in the wanted dtype, and the dimension. */
static struct node *softmax_input(struct call *call, int *dim)
{
    struct graph *g = call->graph;
    struct node *x = call_tensor(call, "input");
    enum dtype dtype = call_dtype(call, "dtype");
    *dim = call_is_none(call, "dim") ? implicit_dim(x) : call_dim(call, "dim", x->rank);
    if (dtype == DT_NONE && x->integer) call_fail(call, "softmax of integers needs a dtype");
    return dtype == DT_NONE ? x : node_cast(g, x, dtype);
}

static void softmax(struct call *call)
{
    int dim;
    struct node *x = softmax_input(call, &dim);
    call_return(call, node_softmax(call->graph, x, dim));
}

static void softmin(struct call *call)
{
    int dim;
    struct node *x = softmax_input(call, &dim);
    call_return(call, node_softmax(call->graph, node_negate(call->graph, x), dim));
}

static void log_softmax(struct call *call)
{
    int dim;
    struct node *x = softmax_input(call, &dim);
    call_return(call, node_log_softmax(call->graph, x, dim));
}

/* y (c - sum c y), the vjp of softmax as an API of its own; its result has the input's dtype. */
static void softmax_backward_data(struct call *call)
{
    struct graph *g = call->graph;
    struct node *c = call_tensor(call, "grad_output"), *y = call_tensor(call, "output");
    int dim = call_dim(call, "dim", y->rank);
    enum dtype dtype = call_dtype(call, "input_dtype");
    if (graph_failed(g)) return;
    /* A composition: unlike a gradient it may be differentiated again. */
    struct node *mean = node_multiply(g, c, y);
    if (y->rank) mean = node_sum(g, mean, 1u << dim, true);
    struct node *x = node_multiply(g, y, node_subtract(g, c, mean));
    call_return_typed(call, x, dtype == DT_NONE ? c->dtype : dtype);
}

/* c - exp(y) sum c */
static void log_softmax_backward_data(struct call *call)
{
    struct graph *g = call->graph;
    struct node *c = call_tensor(call, "grad_output"), *y = call_tensor(call, "output");
    int dim = call_dim(call, "dim", y->rank);
    enum dtype dtype = call_dtype(call, "input_dtype");
    if (graph_failed(g)) return;
    struct node *total = c->rank ? node_sum(g, c, 1u << dim, true) : c;
    struct node *share = node_multiply(g, node_apply(g, "exp", y), total);
    call_return_typed(call, node_subtract(g, c, share), dtype == DT_NONE ? c->dtype : dtype);
}

/* ---- gumbel_softmax ------------------------------------------------------------------------- */

struct simplex {
    int dim;
    bool hard;
};

/* Every line along dim sums to 1 with entries in [0, 1]; hard ones have a single 1. */
static bool simplex_holds(const struct bench_property *property, const struct tensor *got,
                          char *reason, size_t reason_bytes)
{
    const struct simplex *s = property->context;
    size_t extent = 1, inner = 1, n = tensor_elements(got);
    for (int d = s->dim; d < got->rank; d++) *(d == s->dim ? &extent : &inner) *= (size_t)got->shape[d];
    double slack = dtype_ulp(got->dtype, 1) * (double)(extent + 4);
    size_t width = dtype_info(got->dtype)->bytes;
    for (size_t line = 0; extent && line < n / extent; line++) {
        double sum = 0, y;
        bool legal = true;
        for (size_t k = 0; k < extent; k++) {
            size_t at = (line / inner * extent + k) * inner + line % inner;
            dtype_to_double(&y, (const char *)got->data + at * width, got->dtype, 1);
            legal = legal && y >= -slack && y <= 1 + slack;
            if (s->hard) legal = legal && (fabs(y) <= slack || fabs(y - 1) <= slack);
            sum += y;
        }
        if (legal && fabs(sum - 1) <= slack) continue;
        (void)snprintf(reason, reason_bytes, "line %zu along dimension %d is no distribution", line,
                       s->dim);
        return false;
    }
    return true;
}

static void gumbel_softmax(struct call *call)
{
    struct graph *g = call->graph;
    struct node *x = call_tensor(call, "logits");
    struct simplex *simplex = graph_allocate(g, 1, sizeof *simplex);
    struct bench_property *property = graph_allocate(g, 1, sizeof *property);
    if (graph_failed(g)) return;
    *simplex = (struct simplex){ call_dim(call, "dim", x->rank), call_bool(call, "hard") };
    *property = (struct bench_property){
        "each line is a distribution, a single 1 when hard; always holds", simplex_holds, simplex
    };
    struct node *native = node_softmax(g, x, simplex->dim);
    if (simplex->hard && x->rank) {
        struct node *top = node_arg_extremum(g, x, simplex->dim, 1);
        struct node *position = node_new_integer(g, DT_I64, x->rank, x->shape);
        size_t inner = 1;
        if (graph_failed(g)) return;
        for (int d = simplex->dim + 1; d < x->rank; d++) inner *= (size_t)x->shape[d];
        for (size_t i = 0; i < x->n; i++)
            position->integer[i] = (int64_t)(i / inner % (size_t)x->shape[simplex->dim]);
        native = node_to_real(g, node_compare(g, COMPARE_EQ, position, top));
    }
    call_return_random(call, native, x->dtype, x->rank, x->shape, property);
}

/* clang-format off */
const struct op ops_softmax[] = {
    { "softmax", FUNCTIONAL, "(Tensor input, int? dim=None, int _stacklevel=3, ScalarType? dtype=None)", softmax, OP_ONE_NODE, 0, NULL },
    { "softmax", TENSOR | TORCH, "(Tensor input, int dim, ScalarType? dtype=None)", softmax, OP_ONE_NODE, 0, NULL },
    { "softmin", FUNCTIONAL, "(Tensor input, int? dim=None, int _stacklevel=3, ScalarType? dtype=None)", softmin, 0, 0, NULL },
    { "log_softmax", FUNCTIONAL, "(Tensor input, int? dim=None, int _stacklevel=3, ScalarType? dtype=None)", log_softmax, OP_ONE_NODE, 0, NULL },
    { "log_softmax", TENSOR | TORCH, "(Tensor input, int dim, ScalarType? dtype=None)", log_softmax, OP_ONE_NODE, 0, NULL },
    { "_softmax_backward_data", TORCH, "(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype)", softmax_backward_data, OP_ONE_NODE, 0, NULL },
    { "_log_softmax_backward_data", TORCH, "(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype)", log_softmax_backward_data, OP_ONE_NODE, 0, NULL },
    { "gumbel_softmax", FUNCTIONAL, "(Tensor logits, float tau=1, bool hard=False, float eps=1e-10, int dim=-1)", gumbel_softmax, OP_RANDOM, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(softmax);
