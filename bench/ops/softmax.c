/* The softmax family. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/call/op.h"
#include "bench/ops/integers.h"
#include "bench/ops/properties.h"
#include "bench/primitives/alias.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/cotangent.h"
#include "bench/primitives/reduce.h"
#include "bench/primitives/softmax.h"
#include "bench/primitives/softmax_gradient.h"
#include "bench/primitives/stated_gradient.h"
#include "bench/primitives/unary.h"

/* The dimension that F.softmax takes when none is given. */
static int implicit_dim(const struct node *x)
{
    return x->rank == 0 || x->rank == 1 || x->rank == 3 ? 0 : 1;
}

/* Input in the wanted dtype, and the dimension. */
static struct node *softmax_input(struct call *call, int *dim)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input");
    enum dtype dtype = call_dtype(call, "dtype");
    *dim = call_is_none(call, "dim") ? implicit_dim(x) : call_dim(call, "dim", x->rank);
    if (dtype == DT_NONE && x->integer && x->n)
        call_fail(call, "softmax of integers needs a dtype");
    return dtype == DT_NONE ? x : node_cast_operand(tape, x, dtype);
}

static void softmax(struct call *call)
{
    int dim;
    struct node *x = softmax_input(call, &dim);
    call_return(call, x->integer ? x : node_softmax(call->tape, x, dim));
}

static void softmin(struct call *call)
{
    int dim;
    struct node *given =
        call_tensor(call, "input"); /* negated before the cast: an unsigned one wraps */
    (void)softmax_input(call, &dim);
    struct node *negative = node_negate_as(call->tape, given);
    enum dtype dtype = call_dtype(call, "dtype");
    call_return(
        call,
        node_softmax(call->tape,
                     dtype == DT_NONE ? negative : node_cast_operand(call->tape, negative, dtype),
                     dim));
}

static void log_softmax(struct call *call)
{
    int dim;
    struct node *x = softmax_input(call, &dim);
    call_return(call, x->integer ? x : node_log_softmax(call->tape, x, dim));
}

/* aten's _softmax and _log_softmax (detail 1): half precision may be asked for as float32. */
static void softmax_kernel(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input");
    int dim = call_dim(call, "dim", x->rank);
    if (!call_require(call, !x->integer, "softmax of integers needs a dtype")) return;
    struct node *y = call->op->detail ? node_log_softmax(tape, x, dim) : node_softmax(tape, x, dim);
    call_return_typed(call, y, call_bool(call, "half_to_float") ? DT_F32 : x->dtype);
}

/* y (c - sum c y), the vjp of softmax as an API of its own; its result has the input's dtype. */
static void softmax_backward_data(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *c = call_tensor(call, "grad_output"), *y = call_tensor(call, "output");
    int dim = call_dim(call, "dim", y->rank);
    enum dtype dtype = call_dtype(call, "input_dtype");
    /* A composition: unlike a gradient it may be differentiated again. */
    struct node *mean = node_multiply(tape, c, y);
    if (y->rank) mean = node_sum(tape, mean, 1u << dim, true);
    struct node *x = node_multiply(tape, y, node_subtract(tape, c, mean));
    call_return_typed(call, x, dtype == DT_NONE ? c->dtype : dtype);
}

/* c - exp(y) sum c */
static void log_softmax_backward_data(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *c = call_tensor(call, "grad_output"), *y = call_tensor(call, "output");
    int dim = call_dim(call, "dim", y->rank);
    enum dtype dtype = call_dtype(call, "input_dtype");
    struct node *total = c->rank ? node_sum(tape, c, 1u << dim, true) : c;
    struct node *share = node_multiply(tape, node_apply(tape, "exp", y), total);
    call_return_typed(call, node_subtract(tape, c, share), dtype == DT_NONE ? c->dtype : dtype);
}

/* ---- gumbel_softmax ------------------------------------------------------------------------- */

struct simplex {
    size_t lines, extent, inner;
    const struct node
        *share; /* softmax of the logits: the probability of each class to be on top */
    bool hard;
};

static size_t top_of(const double *y, const struct simplex *simplex, size_t line)
{
    size_t best = 0,
           first = line / simplex->inner * simplex->extent * simplex->inner + line % simplex->inner;
    for (size_t k = 1; k < simplex->extent; k++)
        if (y[first + k * simplex->inner] > y[first + best * simplex->inner]) best = k;
    return first + best * simplex->inner;
}

static bool is_distribution(const double *y, const struct simplex *simplex, size_t line,
                            double slack)
{
    size_t first = line / simplex->inner * simplex->extent * simplex->inner + line % simplex->inner;
    double sum = 0;
    for (size_t k = 0; k < simplex->extent; k++) {
        double v = y[first + k * simplex->inner];
        if (!(v >= -slack && v <= 1 + slack)) return false;
        if (simplex->hard && fabs(v) > slack && fabs(v - 1) > slack) return false;
        sum += v;
    }
    return fabs(sum - 1) <= slack;
}

/* Every line along dim sums to 1 with entries in [0, 1], a single 1 when hard. The class with the
 * largest logit comes out on top with the probability that softmax gives it. */
static bool simplex_holds(const struct bench_property *property, const struct tensor *got,
                          char *reason, size_t reason_bytes)
{
    const struct simplex *simplex = property->context;
    struct arena arena = { 0 };
    struct tensor dense;
    size_t n = simplex->lines * simplex->extent;
    double slack = dtype_ulp(got->dtype, 1) * (double)(simplex->extent + 4), mean = 0, variance = 0,
           seen = 0;
    double *y = arena_allocate_array(&arena, n, sizeof *y);
    bool holds = false;
    if (!y || tensor_densify(&dense, &arena, got).code) {
        (void)snprintf(reason, reason_bytes, "there is no memory to test the distribution");
        goto done;
    }
    dtype_to_double(y, dense.data, dense.dtype, n);
    for (size_t line = 0; line < simplex->lines && simplex->extent; line++) {
        if (!is_distribution(y, simplex, line, slack)) {
            (void)snprintf(reason, reason_bytes,
                           "line %zu along the dimension is not a distribution", line);
            goto done;
        }
        size_t likely = top_of(simplex->share->value, simplex, line);
        double p = simplex->share->value[likely];
        mean += p;
        variance += p * (1 - p);
        seen += top_of(y, simplex, line) == likely;
    }
    holds = fabs(seen - mean) <= 6.2 * sqrt(variance) + 12;
    if (!holds)
        (void)snprintf(reason, reason_bytes,
                       "the likeliest class is on top in %g lines; %g are to be expected", seen,
                       mean);
done:
    arena_release(&arena);
    return holds;
}

/* y (c - sum c y) / tau for the y that the device drew. */
static void gumbel_backward(struct tape *tape, struct node *node, struct node *cotangent,
                            const void *parameters)
{
    const struct call *call = parameters;
    struct node *x = node->inputs[1], *y = node_detach(tape, node);
    struct call *values = (struct call *)(uintptr_t)call;
    int dim = call_dim(values, "dim", x->rank);
    struct node *slope = node_softmax_gradient(tape, y, cotangent, dim, NULL);
    gradient_pass(tape, x, node_divide(tape, slope, node_scalar(tape, call_real(values, "tau"))),
                  NULL);
}

/* A hard draw does not show the soft one behind it, which its gradient follows. */
static void hidden_backward(struct tape *tape, struct node *node, struct node *cotangent,
                            const void *parameters)
{
    (void)node, (void)cotangent, (void)parameters;
    tape_fail(tape, STATUS_SKIP,
              "the gradient of a hard gumbel_softmax follows a draw that its output "
              "does not show");
}

/* One draw of softmax((x + gumbel) / tau), a single 1 at its top when hard. */
static struct node *gumbel_draw(struct call *call, struct node *x, const struct simplex *simplex,
                                int dim)
{
    struct tape *tape = call->tape;
    struct node *noise = node_new_real(tape, DT_NONE, x->rank, x->shape);
    if (tape_failed(tape)) return tape_failure(tape);
    for (size_t i = 0; i < x->n; i++) {
        double u = random_uniform(call, i);
        noise->value[i] = -log(-log(u > 0 ? u : 0x1p-60));
    }
    struct node *z =
        node_divide(tape, node_add(tape, x, noise), node_scalar(tape, call_real(call, "tau")));
    struct node *y = node_softmax(tape, z, dim);
    if (!simplex->hard || tape_failed(tape)) return y;
    struct node *hard = node_new_real(tape, x->dtype, x->rank, x->shape);
    if (tape_failed(tape)) return tape_failure(tape);
    memset(hard->value, 0, hard->n * sizeof *hard->value);
    for (size_t line = 0; line < simplex->lines && simplex->extent; line++)
        hard->value[top_of(y->value, simplex, line)] = 1;
    return hard;
}

static void gumbel_softmax(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = node_to_real(tape, call_tensor(call, "logits")), *y = NULL;
    int dim = call_dim(call, "dim", x->rank);
    struct simplex *simplex = tape_allocate(tape, 1, sizeof *simplex);
    struct bench_property *property = tape_allocate(tape, 1, sizeof *property);
    if (tape_failed(tape)) return;
    *simplex = (struct simplex){ 0, x->rank ? (size_t)x->shape[dim] : 1, 1,
                                 node_softmax(tape, x, dim), call_bool(call, "hard") };
    for (int d = dim + 1; d < x->rank; d++) simplex->inner *= (size_t)x->shape[d];
    simplex->lines = simplex->extent ? x->n / simplex->extent : 0;
    *property = (struct bench_property){
        "each line is a distribution; the likeliest class on top within 6.2 sigma (1e-9)",
        simplex_holds, simplex
    };
    if (!tape_is_reference(tape)) {
        y = gumbel_draw(call, x, simplex, dim);
    } else if (call_device_output(call, 0)) {
        y = node_leaf(tape, call_device_output(call, 0), false);
        bool fits = y->n == x->n && !y->integer;
        gradient_function *backward = simplex->hard ? hidden_backward : gumbel_backward;
        y = fits ? node_stated_gradient(tape, y, 1, &x, backward, call) : NULL;
    }
    call_return_random(call, y, x->dtype, x->rank, x->shape, property);
}

/* clang-format off */
const struct op ops_softmax[] = {
    { "softmax", FUNCTIONAL, "(Tensor input, int? dim=None, int _stacklevel=3, ScalarType? dtype=None)", softmax, OP_ONE_NODE | OP_CASTS_FIRST, 0, NULL },
    { "softmax", TENSOR | TORCH, "(Tensor input, int dim, ScalarType? dtype=None)", softmax, OP_ONE_NODE | OP_CASTS_FIRST, 0, NULL },
    { "softmin", FUNCTIONAL, "(Tensor input, int? dim=None, int _stacklevel=3, ScalarType? dtype=None)", softmin, OP_CASTS_FIRST, 0, NULL },
    { "log_softmax", FUNCTIONAL, "(Tensor input, int? dim=None, int _stacklevel=3, ScalarType? dtype=None)", log_softmax, OP_ONE_NODE | OP_CASTS_FIRST, 0, NULL },
    { "log_softmax", TENSOR | TORCH, "(Tensor input, int dim, ScalarType? dtype=None)", log_softmax, OP_ONE_NODE | OP_CASTS_FIRST, 0, NULL },
    { "_softmax", ATEN, "(Tensor input, int dim, bool half_to_float)", softmax_kernel, OP_ONE_NODE, 0, NULL },
    { "_log_softmax", ATEN, "(Tensor input, int dim, bool half_to_float)", softmax_kernel, OP_ONE_NODE, 1, NULL },
    { "_softmax_backward_data", TORCH, "(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype)", softmax_backward_data, OP_ONE_NODE, 0, NULL },
    { "_log_softmax_backward_data", TORCH, "(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype)", log_softmax_backward_data, OP_ONE_NODE, 0, NULL },
    { "gumbel_softmax", FUNCTIONAL, "(Tensor logits, float tau=1, bool hard=False, float eps=1e-10, int dim=-1)", gumbel_softmax, OP_RANDOM, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(softmax);
