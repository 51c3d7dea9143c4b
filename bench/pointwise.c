/* Pointwise primitives: unary and binary functions, selection, comparison, integers.
 *
 * Shapes are broadcast by walking rows: dimensions that all operands traverse alike are merged,
 * and the innermost one is handed to a row function with a step of 0 or 1 per operand, which
 * compilers vectorise.
 */
#include <math.h>
#include <string.h>

#include "bench/functions.h"
#include "bench/graph.h"
#include "bench/pull.h"

enum { OPERANDS = 3 };

struct walk {
    int operands;
    int rank;
    int64_t shape[TENSOR_MAX_RANK + 1];
    int64_t stride[OPERANDS][TENSOR_MAX_RANK + 1];
};

/* Row of `count` elements starting at output element `out`; operand k is at offset[k] and moves
 * by step[k] (0 or 1) per element. */
typedef void row_function(void *context, size_t out, size_t count, const size_t *offset,
                          const int64_t *step);

bool shape_broadcast(int *rank, int64_t *shape, int rank_a, const int64_t *a, int rank_b,
                     const int64_t *b)
{
    int out = rank_a > rank_b ? rank_a : rank_b;
    int64_t result[TENSOR_MAX_RANK];

    for (int i = 0; i < out; i++) {
        int64_t x = i < rank_a ? a[rank_a - 1 - i] : 1, y = i < rank_b ? b[rank_b - 1 - i] : 1;
        if (x != y && x != 1 && y != 1) return false;
        result[out - 1 - i] = x == 1 ? y : x;
    }
    memcpy(shape, result, (size_t)out * sizeof *shape);
    *rank = out;
    return true;
}

void shape_strides(int64_t *stride, int rank, const int64_t *shape)
{
    int64_t step = 1;
    for (int i = rank - 1; i >= 0; i--) {
        stride[i] = step;
        step *= shape[i] > 0 ? shape[i] : 1;
    }
}

/* Broadcast all operands; false (and a failure) when they do not fit. */
static bool walk_open(struct walk *walk, struct graph *graph, int operands,
                      struct node *const *nodes, int *rank, int64_t *shape)
{
    *rank = 0;
    for (int k = 0; k < operands; k++) {
        if (!shape_broadcast(rank, shape, *rank, shape, nodes[k]->rank, nodes[k]->shape)) {
            char a[128], b[128];
            shape_format(a, sizeof a, *rank, shape);
            shape_format(b, sizeof b, nodes[k]->rank, nodes[k]->shape);
            graph_fail(graph, STATUS_SKIP, "shapes %s and %s do not broadcast", a, b);
            return false;
        }
    }
    walk->operands = operands;
    walk->rank = 0;
    for (int d = 0; d < *rank; d++) {
        if (shape[d] == 1) continue;
        int64_t stride[OPERANDS];
        for (int k = 0; k < operands; k++) {
            int own = d - (*rank - nodes[k]->rank);
            stride[k] = 0;
            if (own >= 0 && nodes[k]->shape[own] != 1) {
                stride[k] = 1;
                for (int e = own + 1; e < nodes[k]->rank; e++) stride[k] *= nodes[k]->shape[e];
            }
        }
        bool merge = walk->rank > 0;
        for (int k = 0; k < operands && merge; k++)
            merge = walk->stride[k][walk->rank - 1] == stride[k] * shape[d];
        int at = merge ? walk->rank - 1 : walk->rank++;
        walk->shape[at] = merge ? walk->shape[at] * shape[d] : shape[d];
        for (int k = 0; k < operands; k++) walk->stride[k][at] = stride[k];
    }
    return true;
}

static void walk_rows(const struct walk *walk, size_t n, row_function *row, void *context)
{
    size_t offset[OPERANDS] = { 0 };
    int64_t step[OPERANDS] = { 0 }, index[TENSOR_MAX_RANK + 1] = { 0 };

    if (!n) return;
    int outer = walk->rank - 1;
    size_t count = outer >= 0 ? (size_t)walk->shape[outer] : 1;
    for (int k = 0; k < walk->operands && outer >= 0; k++) step[k] = walk->stride[k][outer];
    for (size_t out = 0; out < n; out += count) {
        row(context, out, count, offset, step);
        for (int d = outer - 1; d >= 0; d--) {
            for (int k = 0; k < walk->operands; k++) offset[k] += (size_t)walk->stride[k][d];
            if (++index[d] < walk->shape[d]) break;
            for (int k = 0; k < walk->operands; k++)
                offset[k] -= (size_t)(walk->stride[k][d] * walk->shape[d]);
            index[d] = 0;
        }
    }
}

/* Offset of the element of an operand that broadcasts to output element i. */
static size_t broadcast_offset(const struct node *out, const struct node *operand, size_t i)
{
    if (operand->n == out->n) return i;
    size_t offset = 0, scale = 1;
    for (int d = out->rank - 1, own = operand->rank - 1; own >= 0; d--, own--) {
        size_t index = i % (size_t)out->shape[d];
        i /= (size_t)out->shape[d];
        if (operand->shape[own] != 1) offset += index * scale;
        scale *= (size_t)operand->shape[own];
    }
    return offset;
}

/* A bound may come out as NaN from inf * 0; then nothing is known, or the value is special. */
static inline double tidy_bound(double bound, double value)
{
    if (!isfinite(value)) return 0;
    return bound >= 0 ? bound : INFINITY;
}

/* ---- unary -------------------------------------------------------------------------------- */

static void unary_backward(struct graph *graph, struct node *node, struct node *cotangent)
{
    const struct unary_function *f = node->parameters;
    if (!f->derivative) { /* flat: a zero gradient, not none */
        graph_accumulate(graph, node->inputs[0],
                         node_constant(graph, DT_NONE, 0, node->rank, node->shape));
        return;
    }
    struct node *slope = f->derivative(graph, node->inputs[0], node);
    graph_accumulate(graph, node->inputs[0], node_multiply(graph, cotangent, slope));
}

static void unary_pull(struct pull *pull, void *ball, struct node *node, size_t i)
{
    const struct unary_function *f = node->parameters;
    arb_t x;
    arb_init(x);
    pull_element(pull, x, node->inputs[0], i);
    f->ball(ball, x, pull->precision);
    arb_clear(x);
}

static const struct primitive unary_primitive = { "a function", unary_backward, unary_pull };

/* The declared error of a function in units in the last place: ours, or, in a model, what a
 * kernel's may be: nothing where the function is exact; 1.5 for the roots and quotients that
 * fast hardware does not round correctly; 4 for library functions (1 in the mean), twice that
 * for those without a good formula. */
static double function_ulps(const struct graph *graph, double ours)
{
    if (!graph_is_model(graph) || ours == 0) return ours;
    double worst = ours <= 1.5 && ours != 1 ? 1.5 : isinf(ours) ? 16 : 4;
    return graph->arithmetic == BENCH_MODEL_TYPICAL ? worst / 4 : worst;
}

struct node *node_unary(struct graph *graph, const struct unary_function *f, struct node *x)
{
    x = node_to_real(graph, x);
    const double *in = node_values(graph, x);
    struct node *node = node_new(graph, &unary_primitive, x->dtype, x->rank, x->shape, 1, &x, f);
    if (graph_failed(graph)) return node;
    double *out = node->value;
    size_t n = node->n;

    if (f->vector) f->vector(out, in, n);
    else
        for (size_t i = 0; i < n; i++) out[i] = f->scalar(in[i]);
    node_round(graph, node);
    if (!graph_is_reference(graph)) return node;

    double ulps = function_ulps(graph, f->ulps);
    node->relative = ulps * 2 * graph->unit;
    node->absolute = ulps * graph->tiny;
    if (graph_is_model(graph) && isinf(f->ulps)) node->absolute = 16 * graph->unit;
    if (node_is_exact(x)) return node;
    double relative = node->relative, absolute = node->absolute;
    if (!node_need_errors(graph, node)) return node;
    for (size_t i = 0; i < n; i++) {
        double e = node_error(x, i);
        double bound = relative * fabs(out[i]) + absolute;
        if (e > 0) bound = (bound + (f->slope ? f->slope(in[i], e) * e : INFINITY)) * (1 + 0x1p-40);
        node->error[i] = tidy_bound(bound, out[i]);
    }
    return node;
}

/* ---- binary ------------------------------------------------------------------------------- */

static void binary_backward(struct graph *graph, struct node *node, struct node *cotangent)
{
    const struct binary_function *f = node->parameters;
    struct node *slopes[2] = { NULL, NULL };
    if (!f->derivative) {
        for (int k = 0; k < 2; k++) {
            struct node *input = node->inputs[k];
            if (!input->tracked) continue;
            struct node *flow = k ? node_scale(graph, cotangent, f->linear_sign) : cotangent;
            graph_accumulate(graph, input,
                             node_sum_to_shape(graph, flow, input->rank, input->shape));
        }
        return;
    }
    f->derivative(graph, node->inputs[0], node->inputs[1], node,
                  node->inputs[0]->tracked ? &slopes[0] : NULL,
                  node->inputs[1]->tracked ? &slopes[1] : NULL);
    for (int k = 0; k < 2; k++) {
        struct node *input = node->inputs[k];
        if (!input->tracked) continue;
        struct node *flow = slopes[k] ? node_multiply(graph, cotangent, slopes[k])
                                      : node_constant(graph, DT_NONE, 0, node->rank, node->shape);
        graph_accumulate(graph, input,
                         node_sum_to_shape(graph, flow, input->rank, input->shape));
    }
}

static void binary_pull(struct pull *pull, void *ball, struct node *node, size_t i)
{
    const struct binary_function *f = node->parameters;
    arb_t a, b;
    arb_init(a);
    arb_init(b);
    pull_element(pull, a, node->inputs[0], broadcast_offset(node, node->inputs[0], i));
    pull_element(pull, b, node->inputs[1], broadcast_offset(node, node->inputs[1], i));
    f->ball(ball, a, b, pull->precision);
    arb_clear(a);
    arb_clear(b);
}

static const struct primitive binary_primitive = { "a function of two", binary_backward,
                                                   binary_pull };

struct binary_context {
    const struct binary_function *f;
    double kernel, tiny; /* relative and absolute rounding of a modelled kernel, else 0 */
    const struct node *a, *b;
    struct node *out;
};

#define BINARY_LOOP(EXPRESSION)                                                             \
    do {                                                                                    \
        if (step[0] && step[1])                                                             \
            for (size_t i = 0; i < count; i++) {                                            \
                double x = a[i], y = b[i];                                                  \
                z[i] = (EXPRESSION);                                                        \
            }                                                                               \
        else if (step[0]) {                                                                 \
            const double y = *b;                                                            \
            for (size_t i = 0; i < count; i++) {                                            \
                double x = a[i];                                                            \
                z[i] = (EXPRESSION);                                                        \
            }                                                                               \
        } else                                                                              \
            for (size_t i = 0; i < count; i++) {                                            \
                double x = *a, y = b[step[1] ? i : 0];                                      \
                z[i] = (EXPRESSION);                                                        \
            }                                                                               \
    } while (0)

static void generic_row(void *context, size_t out, size_t count, const size_t *offset,
                        const int64_t *step)
{
    const struct binary_context *c = context;
    const double *a = c->a->value + offset[0], *b = c->b->value + offset[1];
    double *z = c->out->value + out;
    BINARY_LOOP(c->f->scalar(x, y));
}

static void add_row(void *context, size_t out, size_t count, const size_t *offset,
                    const int64_t *step)
{
    const struct binary_context *c = context;
    const double *restrict a = c->a->value + offset[0], *restrict b = c->b->value + offset[1];
    double *restrict z = c->out->value + out;
    BINARY_LOOP(x + y);
}

static void subtract_row(void *context, size_t out, size_t count, const size_t *offset,
                         const int64_t *step)
{
    const struct binary_context *c = context;
    const double *restrict a = c->a->value + offset[0], *restrict b = c->b->value + offset[1];
    double *restrict z = c->out->value + out;
    BINARY_LOOP(x - y);
}

static void multiply_row(void *context, size_t out, size_t count, const size_t *offset,
                         const int64_t *step)
{
    const struct binary_context *c = context;
    const double *restrict a = c->a->value + offset[0], *restrict b = c->b->value + offset[1];
    double *restrict z = c->out->value + out;
    BINARY_LOOP(x * y);
}

static void error_row(void *context, size_t out, size_t count, const size_t *offset,
                      const int64_t *step)
{
    const struct binary_context *c = context;
    for (size_t i = 0; i < count; i++) {
        size_t ia = offset[0] + (step[0] ? i : 0), ib = offset[1] + (step[1] ? i : 0);
        double y = c->out->value[out + i];
        double bound = c->f->error(c->a->value[ia], node_error(c->a, ia), c->b->value[ib],
                                   node_error(c->b, ib), y);
        c->out->error[out + i] = tidy_bound(bound * (1 + 0x1p-40) + c->kernel * fabs(y) + c->tiny, y);
    }
}

/* The bound of sums and products of exact operands: one rounding. Underflowing products lose
 * at most half the smallest subnormal. */
static bool one_rounding(const struct binary_function *f)
{
    return (!strcmp(f->name, "add") || !strcmp(f->name, "subtract") ||
                          !strcmp(f->name, "multiply") || !strcmp(f->name, "divide"));
}

static row_function *row_of(const struct binary_function *f)
{
    if (!strcmp(f->name, "add")) return add_row;
    if (!strcmp(f->name, "subtract")) return subtract_row;
    if (!strcmp(f->name, "multiply")) return multiply_row;
    return generic_row;
}

/* Roundings of unit |y| that a kernel's own function makes: one for sums and products, three
 * for quotients, four ulp for library functions. */
static double kernel_roundings(const struct graph *graph, const struct binary_function *f)
{
    double worst = !one_rounding(f) ? 8 : !strcmp(f->name, "divide") ? 3 : 1;
    return graph->arithmetic == BENCH_MODEL_TYPICAL ? fmax(worst / 4, 0.6) : worst;
}

struct node *node_binary(struct graph *graph, const struct binary_function *f, struct node *a,
                         struct node *b)
{
    struct node *operands[2] = { node_to_real(graph, a), node_to_real(graph, b) };
    int64_t shape[TENSOR_MAX_RANK];
    int rank;
    struct walk walk;

    if (graph_failed(graph) || !walk_open(&walk, graph, 2, operands, &rank, shape))
        return node_scalar(graph, 0);
    struct node *node =
        node_new(graph, &binary_primitive, dtype_promote(operands[0]->dtype, operands[1]->dtype),
                 rank, shape, 2, operands, f);
    (void)node_values(graph, operands[0]);
    (void)node_values(graph, operands[1]);
    if (graph_failed(graph)) return node;

    struct binary_context context = { f, 0, 0, operands[0], operands[1], node };
    if (graph_is_model(graph)) {
        context.kernel = kernel_roundings(graph, f) * graph->unit;
        context.tiny = graph->tiny;
    }
    walk_rows(&walk, node->n, row_of(f), &context);
    node_round(graph, node);
    if (!graph_is_reference(graph)) return node;
    if (one_rounding(f) && node_is_exact(operands[0]) && node_is_exact(operands[1])) {
        node->relative = graph_is_model(graph) ? context.kernel : graph->unit;
        node->absolute = graph->tiny;
    } else if (node_need_errors(graph, node)) {
        walk_rows(&walk, node->n, error_row, &context);
    }
    return node;
}

/* ---- arithmetic, complex spelled out in reals ---------------------------------------------- */

static struct node *complex_binary(struct graph *graph, char operation, struct node *a,
                                   struct node *b)
{
    struct node *ar = node_real_part(graph, a), *ai = node_imaginary_part(graph, a);
    struct node *br = node_real_part(graph, b), *bi = node_imaginary_part(graph, b);
    struct node *re, *im;

    switch (operation) {
    case '+':
        re = node_add(graph, ar, br);
        im = node_add(graph, ai, bi);
        break;
    case '-':
        re = node_subtract(graph, ar, br);
        im = node_subtract(graph, ai, bi);
        break;
    case '*':
        re = node_subtract(graph, node_multiply(graph, ar, br), node_multiply(graph, ai, bi));
        im = node_add(graph, node_multiply(graph, ar, bi), node_multiply(graph, ai, br));
        break;
    default: { /* a * conj(b) / |b|^2 */
        struct node *norm = node_add(graph, node_multiply(graph, br, br), node_multiply(graph, bi, bi));
        re = node_add(graph, node_multiply(graph, ar, br), node_multiply(graph, ai, bi));
        im = node_subtract(graph, node_multiply(graph, ai, br), node_multiply(graph, ar, bi));
        re = node_divide(graph, re, norm);
        im = node_divide(graph, im, norm);
    }
    }
    return node_complex(graph, re, im);
}

static struct node *arithmetic(struct graph *graph, char operation, const char *name,
                               struct node *a, struct node *b)
{
    if (a->imaginary || b->imaginary) return complex_binary(graph, operation, a, b);
    return node_binary(graph, binary_find(name), a, b);
}

struct node *node_add(struct graph *graph, struct node *a, struct node *b)
{
    return arithmetic(graph, '+', "add", a, b);
}

struct node *node_subtract(struct graph *graph, struct node *a, struct node *b)
{
    return arithmetic(graph, '-', "subtract", a, b);
}

struct node *node_multiply(struct graph *graph, struct node *a, struct node *b)
{
    return arithmetic(graph, '*', "multiply", a, b);
}

struct node *node_divide(struct graph *graph, struct node *a, struct node *b)
{
    return arithmetic(graph, '/', "divide", a, b);
}

struct node *node_scale(struct graph *graph, struct node *x, double factor)
{
    return factor == 1 ? x : node_multiply(graph, x, node_scalar(graph, factor));
}

struct node *node_offset(struct graph *graph, struct node *x, double term)
{
    return term == 0 ? x : node_add(graph, x, node_scalar(graph, term));
}

struct node *node_negate(struct graph *graph, struct node *x)
{
    return node_multiply(graph, x, node_scalar(graph, -1));
}

/* ---- selection ------------------------------------------------------------------------------ */

static void select_backward(struct graph *graph, struct node *node, struct node *cotangent)
{
    struct node *mask = node->inputs[0];
    struct node *zero = node_scalar(graph, 0);
    for (int k = 1; k < 3; k++) {
        struct node *input = node->inputs[k];
        if (!input->tracked) continue;
        struct node *flow = k == 1 ? node_select(graph, mask, cotangent, zero)
                                   : node_select(graph, mask, zero, cotangent);
        graph_accumulate(graph, input, node_sum_to_shape(graph, flow, input->rank, input->shape));
    }
}

static void select_pull(struct pull *pull, void *ball, struct node *node, size_t i)
{
    struct node *mask = node->inputs[0];
    struct node *input = node->inputs[mask->integer[broadcast_offset(node, mask, i)] ? 1 : 2];
    pull_element(pull, ball, input, broadcast_offset(node, input, i));
}

static const struct primitive select_primitive = { "a selection", select_backward, select_pull };

struct select_context {
    const struct node *mask, *a, *b;
    struct node *out;
};

static void select_row(void *context, size_t out, size_t count, const size_t *offset,
                       const int64_t *step)
{
    const struct select_context *c = context;
    for (size_t i = 0; i < count; i++) {
        bool first = c->mask->integer[offset[0] + (step[0] ? i : 0)] != 0;
        const struct node *from = first ? c->a : c->b;
        size_t at = offset[first ? 1 : 2] + (step[first ? 1 : 2] ? i : 0);
        if (c->out->integer) {
            c->out->integer[out + i] = from->integer[at];
            continue;
        }
        c->out->value[out + i] = from->value[at];
        if (c->out->error) c->out->error[out + i] = node_error(from, at);
    }
}

struct node *node_select(struct graph *graph, struct node *mask, struct node *a, struct node *b)
{
    int64_t shape[TENSOR_MAX_RANK];
    int rank;
    struct walk walk;

    if (graph_failed(graph)) return node_scalar(graph, 0);
    if (a->imaginary || b->imaginary)
        return node_complex(
            graph,
            node_select(graph, mask, node_real_part(graph, a), node_real_part(graph, b)),
            node_select(graph, mask, node_imaginary_part(graph, a), node_imaginary_part(graph, b)));
    enum dtype dtype = dtype_promote(a->dtype, b->dtype);
    bool integral = a->integer && b->integer;
    if (!mask->integer) mask = node_to_integer(graph, mask, DT_BOOL);
    struct node *operands[3] = { mask, integral ? a : node_to_real(graph, a),
                                 integral ? b : node_to_real(graph, b) };
    if (graph_failed(graph) || !walk_open(&walk, graph, 3, operands, &rank, shape))
        return node_scalar(graph, 0);
    struct node *node = integral ? node_new_integer(graph, dtype, rank, shape)
                                 : node_new(graph, &select_primitive, dtype, rank, shape, 3,
                                            operands, NULL);
    if (!integral) {
        (void)node_values(graph, operands[1]);
        (void)node_values(graph, operands[2]);
        if (!node_is_exact(operands[1]) || !node_is_exact(operands[2]))
            (void)node_need_errors(graph, node);
    }
    if (graph_failed(graph)) return node;
    struct select_context context = { mask, operands[1], operands[2], node };
    walk_rows(&walk, node->n, select_row, &context);
    return node;
}

/* ---- integral results ----------------------------------------------------------------------- */

struct integer_context {
    const struct node *a, *b;
    struct node *out;
    int64_t (*f)(int64_t, int64_t);
    enum comparison comparison;
};

/* Wrap to the width of a narrower integer type; bool is 0 or 1. */
static void wrap_integers(struct node *node)
{
    enum dtype dtype = node->dtype;
    if (dtype == DT_BOOL) {
        for (size_t i = 0; i < node->n; i++) node->integer[i] = node->integer[i] != 0;
    } else if (dtype_info(dtype)->bytes < 8) {
        for (size_t i = 0; i < node->n; i++) {
            unsigned char narrow[8];
            dtype_from_int64(narrow, dtype, &node->integer[i], 1);
            dtype_to_int64(&node->integer[i], narrow, dtype, 1);
        }
    }
}

static void integer_row(void *context, size_t out, size_t count, const size_t *offset,
                        const int64_t *step)
{
    const struct integer_context *c = context;
    for (size_t i = 0; i < count; i++)
        c->out->integer[out + i] = c->f(c->a->integer[offset[0] + (step[0] ? i : 0)],
                                        c->b->integer[offset[1] + (step[1] ? i : 0)]);
}

static bool compare(enum comparison comparison, int order, bool unordered)
{
    if (unordered) return comparison == COMPARE_NE;
    switch (comparison) {
    case COMPARE_LT: return order < 0;
    case COMPARE_LE: return order <= 0;
    case COMPARE_GT: return order > 0;
    case COMPARE_GE: return order >= 0;
    case COMPARE_EQ: return order == 0;
    default: return order != 0;
    }
}

static void compare_row(void *context, size_t out, size_t count, const size_t *offset,
                        const int64_t *step)
{
    const struct integer_context *c = context;
    for (size_t i = 0; i < count; i++) {
        size_t ia = offset[0] + (step[0] ? i : 0), ib = offset[1] + (step[1] ? i : 0);
        int order;
        bool unordered = false;
        if (c->a->integer && c->b->integer) {
            int64_t x = c->a->integer[ia], y = c->b->integer[ib];
            order = (x > y) - (x < y);
        } else {
            double x = c->a->value[ia], y = c->b->value[ib];
            order = (x > y) - (x < y);
            unordered = isnan(x) || isnan(y);
        }
        c->out->integer[out + i] = compare(c->comparison, order, unordered);
    }
}

static struct node *integral_walk(struct graph *graph, enum dtype dtype, struct node *a,
                                  struct node *b, row_function *row,
                                  struct integer_context *context)
{
    struct node *operands[2] = { a, b };
    int64_t shape[TENSOR_MAX_RANK];
    int rank;
    struct walk walk;

    if (graph_failed(graph) || !walk_open(&walk, graph, 2, operands, &rank, shape))
        return node_integer_constant(graph, DT_I64, 0, 0, NULL);
    struct node *node = node_new_integer(graph, dtype, rank, shape);
    if (graph_failed(graph)) return node;
    context->a = a;
    context->b = b;
    context->out = node;
    walk_rows(&walk, node->n, row, context);
    wrap_integers(node);
    return node;
}

struct node *node_compare(struct graph *graph, enum comparison comparison, struct node *a,
                          struct node *b)
{
    struct integer_context context = { .comparison = comparison };
    (void)node_values(graph, a);
    (void)node_values(graph, b);
    return integral_walk(graph, DT_BOOL, a, b, compare_row, &context);
}

struct node *node_integer_binary(struct graph *graph, enum dtype dtype,
                                 int64_t (*f)(int64_t a, int64_t b), struct node *a,
                                 struct node *b)
{
    struct integer_context context = { .f = f };
    if (!a->integer) a = node_to_integer(graph, a, DT_I64);
    if (!b->integer) b = node_to_integer(graph, b, DT_I64);
    return integral_walk(graph, dtype, a, b, integer_row, &context);
}

struct node *node_integer_unary(struct graph *graph, enum dtype dtype, int64_t (*f)(int64_t a),
                                struct node *a)
{
    if (!a->integer) a = node_to_integer(graph, a, DT_I64);
    struct node *node = node_new_integer(graph, dtype, a->rank, a->shape);
    if (graph_failed(graph)) return node;
    for (size_t i = 0; i < node->n; i++) node->integer[i] = f(a->integer[i]);
    wrap_integers(node);
    return node;
}

struct node *node_predicate(struct graph *graph, bool (*f)(double x), struct node *x)
{
    const double *value = node_values(graph, x);
    struct node *node = node_new_integer(graph, DT_BOOL, x->rank, x->shape);
    if (graph_failed(graph)) return node;
    for (size_t i = 0; i < node->n; i++) node->integer[i] = f(value[i]);
    return node;
}
