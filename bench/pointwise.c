/* Pointwise primitives: unary and binary functions, selection, comparison, integers.
 *
 * Shapes are broadcast by walking rows: dimensions that all operands traverse alike are merged,
 * and the innermost one is handed to a row function with a step of 0 or 1 per operand, which
 * compilers vectorise.
 */
#include <math.h>
#include <string.h>

#include "bench/decide.h"
#include "bench/functions.h"
#include "bench/graph.h"
#include "bench/pull.h"
#include "core/vectorize.h"

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

static bool pair_abs(struct pair *out, struct pair x)
{
    if (x.hi != 0 && x.error >= fabs(x.hi) * (1 - 0x1p-50)) return false; /* the sign is open */
    *out = signbit(x.hi) ? (struct pair){ -x.hi, -x.lo, x.error } : x;
    return true;
}

static bool pair_reciprocal(struct pair *out, struct pair x)
{
    return pair_divide(out, pair_exact(1), x);
}

static bool pair_rsqrt(struct pair *out, struct pair x)
{
    return pair_sqrt(out, x) && pair_reciprocal(out, *out);
}

static bool pair_square(struct pair *out, struct pair x)
{
    return pair_multiply(out, x, x);
}

static bool unary_pair(struct pull *pull, struct pair *out, struct node *node, size_t i)
{
    static const struct {
        const char *name;
        bool (*pair)(struct pair *out, struct pair x);
    } known[] = { { "abs", pair_abs },       { "reciprocal", pair_reciprocal }, { "rsqrt", pair_rsqrt },
                  { "sqrt", pair_sqrt },     { "square", pair_square } };
    const struct unary_function *f = node->parameters;
    struct pair x;
    if (f->ulps == 0 && node_is_exact(node->inputs[0])) { /* no rounding at all */
        *out = pair_exact(node->value[i]);
        return true;
    }
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (!strcmp(f->name, known[k].name))
            return pull_pair(pull, &x, node->inputs[0], i) && known[k].pair(out, x);
    return false;
}

static const struct primitive unary_primitive = { "a function", unary_backward, unary_pull, unary_pair };

/* Functions with zeros at inexact places, near which no kernel keeps a relative accuracy: an
 * absolute error in units of roundoff. */
static double kernel_absolute(const struct unary_function *f)
{
    static const struct {
        const char *name;
        double roundings;
    } crossing[] = { { "sinc", 6 }, { "sinpi", 6 }, { "cospi", 6 }, { "lgamma", 16 }, { "digamma", 16 } };
    for (size_t i = 0; i < sizeof crossing / sizeof *crossing; i++)
        if (!strcmp(f->name, crossing[i].name)) return crossing[i].roundings;
    return isinf(f->ulps) ? 16 : 0;
}

/* The declared error of a function in units in the last place: ours, or, in a model, what a
 * kernel's may be: nothing where the function is exact; 1.5 for the roots and quotients that
 * fast hardware does not round correctly; 4 for library functions (1 in the mean), more for those
 * without a good formula. */
static double function_ulps(const struct graph *graph, const struct unary_function *f)
{
    if (!graph_is_model(graph) || f->ulps == 0) return f->ulps;
    bool basic = f->ulps <= 0.5 || !strcmp(f->name, "rsqrt");
    double worst = basic ? 1.5 : isinf(f->ulps) ? 16 : 4;
    return graph->arithmetic == BENCH_MODEL_TYPICAL ? worst / 4 : worst;
}

/* In the model of a float kernel: a value beyond float's range is infinite there, and nothing is
 * known of what is made of it. */
static void model_overflows(struct graph *graph, struct node *node)
{
    size_t i = 0;
    if (!graph_is_model(graph) || graph->wide || graph_failed(graph)) return;
    while (i < node->n && !(fabs(node->value[i]) > dtype_info(DT_F32)->largest)) i++;
    if (i == node->n) return;
    bool uniform = !node->error;
    if (!node_need_errors(graph, node)) return;
    for (i = 0; i < node->n; i++) {
        double magnitude = fabs(node->value[i]);
        if (magnitude > dtype_info(DT_F32)->largest && isfinite(magnitude)) node->error[i] = INFINITY;
        else if (uniform) node->error[i] = isfinite(magnitude) ? node->relative * magnitude + node->absolute : 0;
    }
}

static struct node *evaluate_unary(struct graph *graph, const struct unary_function *f, struct node *x)
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

    double ulps = function_ulps(graph, f);
    node->relative = ulps * 2 * graph->unit;
    node->absolute = unary_underflow(f) * graph->tiny;
    if (graph_is_model(graph)) node->absolute += kernel_absolute(f) * graph->unit;
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

struct node *node_unary(struct graph *graph, const struct unary_function *f, struct node *x)
{
    struct node *node = evaluate_unary(graph, f, x);
    model_overflows(graph, node);
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
    /* A ball has no -0. Where an operand is -0 and chooses a side of a cut (atan2), the double
     * value of the exact operands has the right sign. */
    if ((arb_is_zero(a) || arb_is_zero(b)) && arb_is_exact(a) && arb_is_exact(b) &&
        arb_is_nonzero(ball) && arb_is_negative(ball) != (node->value[i] < 0))
        arb_neg(ball, ball);
    arb_clear(a);
    arb_clear(b);
}

static char operation_of(const struct binary_function *f);

static bool binary_pair(struct pull *pull, struct pair *out, struct node *node, size_t i)
{
    char operation = operation_of(node->parameters);
    struct pair a, b;
    if (!operation || !pull_pair(pull, &a, node->inputs[0], broadcast_offset(node, node->inputs[0], i)) ||
        !pull_pair(pull, &b, node->inputs[1], broadcast_offset(node, node->inputs[1], i)))
        return false;
    if (operation == '-') b = (struct pair){ -b.hi, -b.lo, b.error };
    return operation == '*' ? pair_multiply(out, a, b) : operation == '/' ? pair_divide(out, a, b) : pair_add(out, a, b);
}

static const struct primitive binary_primitive = { "a function of two", binary_backward, binary_pull,
                                                   binary_pair };

struct binary_context {
    const struct binary_function *f;
    char operation;      /* + - * / or 0 for any other function */
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

/* A row by the function for arrays, what has a step of 0 repeated. */
static void vector_row(const struct binary_function *f, double *z, const double *a, int64_t step_a, const double *b,
                       int64_t step_b, size_t count)
{
    enum { BLOCK = 256 };
    double x[BLOCK], y[BLOCK];
    for (size_t i = 0; i < BLOCK && i < count; i++) {
        x[i] = *a;
        y[i] = *b;
    }
    for (size_t start = 0; start < count; start += BLOCK) {
        size_t n = count - start < BLOCK ? count - start : BLOCK;
        f->vector(z + start, step_a ? a + start : x, step_b ? b + start : y, n);
    }
}

static void generic_row(void *context, size_t out, size_t count, const size_t *offset,
                        const int64_t *step)
{
    const struct binary_context *c = context;
    const double *a = c->a->value + offset[0], *b = c->b->value + offset[1];
    double *z = c->out->value + out;
    if (c->f->vector && count >= 4) {
        vector_row(c->f, z, a, step[0], b, step[1], count);
        return;
    }
    BINARY_LOOP(c->f->scalar(x, y));
}

VECTORIZED static void add_row(void *context, size_t out, size_t count, const size_t *offset,
                    const int64_t *step)
{
    const struct binary_context *c = context;
    const double *restrict a = c->a->value + offset[0], *restrict b = c->b->value + offset[1];
    double *restrict z = c->out->value + out;
    BINARY_LOOP(x + y);
}

VECTORIZED static void subtract_row(void *context, size_t out, size_t count, const size_t *offset,
                         const int64_t *step)
{
    const struct binary_context *c = context;
    const double *restrict a = c->a->value + offset[0], *restrict b = c->b->value + offset[1];
    double *restrict z = c->out->value + out;
    BINARY_LOOP(x - y);
}

VECTORIZED static void multiply_row(void *context, size_t out, size_t count, const size_t *offset,
                         const int64_t *step)
{
    const struct binary_context *c = context;
    const double *restrict a = c->a->value + offset[0], *restrict b = c->b->value + offset[1];
    double *restrict z = c->out->value + out;
    BINARY_LOOP(x * y);
}

VECTORIZED static void divide_row(void *context, size_t out, size_t count, const size_t *offset,
                         const int64_t *step)
{
    const struct binary_context *c = context;
    const double *restrict a = c->a->value + offset[0], *restrict b = c->b->value + offset[1];
    double *restrict z = c->out->value + out;
    BINARY_LOOP(x / y);
}

/* ---- bounds of binary functions ------------------------------------------------------------- */

enum { BOUND_BLOCK = 512 };

/* Values and bounds of `count` elements of an operand as arrays: in place where they are, in the
 * buffers where a step of 0 repeats one or the bound has the uniform form. */
struct operand_block {
    const double *value, *error;
    double values[BOUND_BLOCK], errors[BOUND_BLOCK];
};

VECTORIZED static void read_block(struct operand_block *block, const struct node *x, size_t at, int64_t step, size_t count)
{
    if (step) {
        block->value = x->value + at;
        block->error = x->error ? x->error + at : block->errors;
        if (x->error) return;
        for (size_t i = 0; i < count; i++) {
            double magnitude = fabs(block->value[i]);
            double bound = x->relative * magnitude + x->absolute;
            block->errors[i] = magnitude < INFINITY ? bound : 0;
        }
        return;
    }
    double value = x->value[at], error = node_error(x, at);
    for (size_t i = 0; i < count; i++) {
        block->values[i] = value;
        block->errors[i] = error;
    }
    block->value = block->values;
    block->error = block->errors;
}

/* The four operations inline (the formulas of functions_binary.c), others through their row. */
#define BOUND_LOOP(EXPRESSION)                                                              \
    for (size_t i = 0; i < count; i++) {                                                    \
        double x = a[i], ex = ea[i], v = b[i], ev = eb[i], y = fabs(z[i]);                  \
        (void)x, (void)v;                                                                   \
        double bound = (EXPRESSION) * (1 + 0x1p-40) + c->kernel * y + c->tiny;              \
        out[i] = y < INFINITY ? (bound >= 0 ? bound : INFINITY) : 0;                        \
    }

VECTORIZED static void bound_block(const struct binary_context *c, size_t at, size_t count, const double *restrict a,
                        const double *restrict ea, const double *restrict b, const double *restrict eb)
{
    const double *restrict z = c->out->value + at;
    double *restrict out = c->out->error + at;
    const double u = UNIT_ROUNDOFF;
    switch (c->operation) {
    case '+':
    case '-': BOUND_LOOP(ex + ev + u * y) break;
    case '*': BOUND_LOOP(fabs(x) * ev + fabs(v) * ex + ex * ev + u * y + 0x1p-1074) break;
    case '/':
        BOUND_LOOP((ev < fabs(v) ? (ex + y * (1 + 2 * u) * ev) / (fabs(v) - ev) : INFINITY) + u * y + 0x1p-1074)
        break;
    default:
        for (size_t i = 0; i < count; i++) {
            double bound = c->f->error(a[i], ea[i], b[i], eb[i], z[i]) * (1 + 0x1p-40);
            out[i] = tidy_bound(bound + c->kernel * fabs(z[i]) + c->tiny, z[i]);
        }
    }
}

static void error_row(void *context, size_t out, size_t count, const size_t *offset,
                      const int64_t *step)
{
    const struct binary_context *c = context;
    struct operand_block a, b;
    for (size_t start = 0; start < count; start += BOUND_BLOCK) {
        size_t n = count - start < BOUND_BLOCK ? count - start : BOUND_BLOCK;
        read_block(&a, c->a, offset[0] + (step[0] ? start : 0), step[0], n);
        read_block(&b, c->b, offset[1] + (step[1] ? start : 0), step[1], n);
        bound_block(c, out + start, n, a.value, a.error, b.value, b.error);
    }
}

/* A bound that is relative but for what underflow loses. */
static bool is_relative(const struct node *x)
{
    return !x->error && x->absolute <= 0x1p-1040;
}

static bool is_moderate(const struct node *x)
{
    double most = 0;
    for (size_t i = 0; i < x->n; i++) most = fmax(most, fabs(x->value[i]));
    return most < 0x1p100;
}

/* Products and quotients of relative bounds have a relative bound: no array is needed. What
 * underflow loses in an operand below 2^-1040 grows by the other one, at most 2^100. */
static bool relative_bound(struct node *node, const struct node *a, const struct node *b, char operation)
{
    if ((operation != '*' && operation != '/') || !is_relative(a) || !is_relative(b)) return false;
    if (operation == '/' && (b->absolute > 0 || b->relative > 0x1p-20)) return false;
    double sum = a->relative + b->relative + 2 * a->relative * b->relative;
    if (a->absolute > 0 || b->absolute > 0) {
        if (operation == '/' || !is_moderate(a) || !is_moderate(b)) return false;
        node->absolute = 0x1p-930;
    } else {
        node->absolute = 0x1p-1074;
    }
    node->relative = (sum + (operation == '/' ? 4 * b->relative * sum : 0) + UNIT_ROUNDOFF) * (1 + 0x1p-40);
    return true;
}

/* An exact number +-2^k. */
static bool is_power_of_two(const struct node *x)
{
    int exponent;
    return x->n == 1 && node_is_exact(x) && fabs(frexp(x->value[0], &exponent)) == 0.5;
}

/* Multiplying by +-2^k rounds nothing but what underflows. */
static bool scaled_bound(struct graph *graph, struct node *node, const struct node *x,
                         const struct node *factor)
{
    if (!is_power_of_two(factor) || x->n != node->n) return false;
    double size = fabs(factor->value[0]), tiny = size < 1 ? graph->tiny : 0;
    node->relative = x->relative;
    node->absolute = x->absolute * size + tiny;
    if (!x->error || !node_need_errors(graph, node)) return true;
    for (size_t i = 0; i < node->n; i++) {
        double bound = x->error[i] * size + tiny;
        node->error[i] = isfinite(node->value[i]) ? bound : 0;
    }
    return true;
}

/* The basic operations, whose bound is one rounding when the operands are exact. */
static char operation_of(const struct binary_function *f)
{
    static const struct {
        const char *name;
        char operation;
    } basic[] = { { "add", '+' }, { "subtract", '-' }, { "multiply", '*' }, { "divide", '/' } };
    for (size_t i = 0; i < sizeof basic / sizeof *basic; i++)
        if (!strcmp(f->name, basic[i].name)) return basic[i].operation;
    return 0;
}

static row_function *row_of(char operation)
{
    switch (operation) {
    case '+': return add_row;
    case '-': return subtract_row;
    case '*': return multiply_row;
    case '/': return divide_row;
    default: return generic_row;
    }
}

/* Roundings of unit |y| that a kernel's own function makes: one for sums and products, three
 * for quotients, four ulp for library functions. */
static double kernel_roundings(const struct graph *graph, const struct binary_function *f)
{
    char operation = operation_of(f);
    double worst = !operation ? 8 : operation == '/' ? 3 : 1;
    return graph->arithmetic == BENCH_MODEL_TYPICAL ? fmax(worst / 4, 0.6) : worst;
}

static struct node *evaluate_binary(struct graph *graph, const struct binary_function *f, struct node *a,
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

    struct binary_context context = { f, operation_of(f), 0, 0, operands[0], operands[1], node };
    if (graph_is_model(graph)) {
        context.kernel = kernel_roundings(graph, f) * graph->unit;
        context.tiny = graph->tiny;
    }
    walk_rows(&walk, node->n, row_of(context.operation), &context);
    node_round(graph, node);
    if (!graph_is_reference(graph)) return node;
    if (context.operation == '*' && (scaled_bound(graph, node, operands[0], operands[1]) ||
                                     scaled_bound(graph, node, operands[1], operands[0])))
        return node;
    if (context.operation && node_is_exact(operands[0]) && node_is_exact(operands[1])) {
        node->relative = graph_is_model(graph) ? context.kernel : graph->unit;
        node->absolute = graph->tiny;
    } else if (!graph_is_model(graph) && f->vector && node_is_exact(operands[0]) && node_is_exact(operands[1])) {
        node->relative = 2 * UNIT_ROUNDOFF;
        node->absolute = 0x1p-1074;
    } else if (!graph_is_model(graph) &&
               relative_bound(node, operands[0], operands[1], context.operation)) {
        return node;
    } else if (node_need_errors(graph, node)) {
        walk_rows(&walk, node->n, error_row, &context);
    }
    return node;
}

struct node *node_binary(struct graph *graph, const struct binary_function *f, struct node *a,
                         struct node *b)
{
    struct node *node = evaluate_binary(graph, f, a, b);
    model_overflows(graph, node);
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

static bool select_pair(struct pull *pull, struct pair *out, struct node *node, size_t i)
{
    struct node *mask = node->inputs[0];
    struct node *input = node->inputs[mask->integer[broadcast_offset(node, mask, i)] ? 1 : 2];
    return pull_pair(pull, out, input, broadcast_offset(node, input, i));
}

static const struct primitive select_primitive = { "a selection", select_backward, select_pull, select_pair };

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
    struct node *a, *b;
    struct node *out;
    int64_t (*f)(int64_t, int64_t);
    enum comparison comparison;
    bool decides; /* operands carry bounds: what they leave open is decided by balls */
};

/* Wrap to the width of a narrower integer type; bool is 0 or 1. */
static void wrap_integers(struct node *node)
{
    enum dtype dtype = node->dtype;
    if (dtype == DT_BOOL) {
        for (size_t i = 0; i < node->n; i++) node->integer[i] = node->integer[i] != 0;
    } else if (dtype != DT_NONE && dtype_info(dtype)->bytes < 8) {
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
            order = c->decides ? decide_order(c->a, ia, c->b, ib) : (x > y) - (x < y);
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
    context.decides = graph->arithmetic == BENCH_REFERENCE && !(node_is_exact(a) && node_is_exact(b));
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
