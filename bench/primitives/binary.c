/* Functions of two variables and arithmetic, element by element. */
#include "bench/primitives/binary.h"

#include <math.h>
#include <string.h>

#include "bench/arithmetic/pair.h"
#include "bench/arithmetic/rounding.h"
#include "bench/primitives/alias.h"
#include "bench/primitives/binary_functions.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/chain_rule.h"
#include "bench/primitives/complex_parts.h"
#include "bench/primitives/composed_functions.h"
#include "bench/primitives/unary_functions.h"
#include "bench/tape/bounds.h"
#include "bench/tape/broadcast.h"
#include "bench/tape/deviation.h"
#include "bench/tape/enclosure.h"
#include "bench/tape/known_values.h"
#include "bench/tape/promotion.h"
#include "core/checked.h"
#include "core/kernel_modes.h"
#include "core/log_gamma.h"
#include "core/vectorize.h"

/* Elements of a computed factor may share their error (that of a mean, say), which does not cancel in a sum of
 * their products with a cotangent. Besides the errors as independent ones, a sum in the model of typical errors
 * gets |sum c_k e_k|, what they make together when all have one sign. */
static struct node *with_shared_errors(struct tape *tape, struct node *sum, struct node *cotangent,
                                       struct node *factor)
{
    if (!tape_is_typical(tape) || tape_failed(tape) || node_is_exact(factor)) return sum;
    struct node *error = node_new_real(tape, DT_NONE, factor->rank, factor->shape);
    for (size_t i = 0; i < factor->n && !tape_failed(tape); i++) {
        double e = node_error(factor, i);
        error->value[i] = isfinite(e) ? e : 0;
    }
    struct node *together = node_sum_sizes_to_shape(
        tape, node_multiply(tape, node_detach(tape, cotangent), error), sum->rank, sum->shape);
    return node_model_error(tape, sum, together, 4 / tape->unit);
}

static const struct primitive binary_primitive;
static char operation_of(const struct binary_function *f);

static bool is_reciprocal(const struct node *node)
{
    return node->primitive && node->parameters == unary_find("reciprocal");
}

/* c p q of a slope p q, c p / q of p / q, and c / q of 1 / q. */
static struct node *factor_by_factor(struct tape *tape, struct node *c, struct node *slope)
{
    char operation = slope->primitive == &binary_primitive ? operation_of(slope->parameters) : 0;
    if (is_reciprocal(slope)) return node_divide(tape, c, slope->inputs[0]);
    if (operation != '*' && operation != '/') return node_multiply(tape, c, slope);
    struct node *first = factor_by_factor(tape, c, slope->inputs[0]);
    return operation == '*' ? node_multiply(tape, first, slope->inputs[1])
                            : node_divide(tape, first, slope->inputs[1]);
}

struct node *node_multiply_slope(struct tape *tape, struct node *c, struct node *slope)
{
    if (tape->deviation && tape->deviation->other_formulas) return factor_by_factor(tape, c, slope);
    struct node *flow = node_multiply(tape, c, slope);
    return flow->n == slope->n && tape_is_model(tape)
               ? node_model_own_error(tape, flow, slope, 2 * tape->tiny / tape->unit)
               : flow;
}

/* What goes to operand k by its slope, or as kernels of staged steps compose it. */
static struct node *flow_to(struct tape *tape, struct node *node, int k, struct node *cotangent,
                            struct node *slope)
{
    const struct binary_function *f = node->parameters;
    struct node *steps = NULL;
    if (composes(tape)) steps = composed_gradient2(tape, f->name, k, node->inputs, node, cotangent);
    if (steps && composes_values(tape)) return steps;
    return node_as_steps(tape, node_multiply_slope(tape, cotangent, slope), steps, f->name);
}

static void binary_backward(struct tape *tape, struct node *node, struct node *cotangent)
{
    const struct binary_function *f = node->parameters;
    struct node *slopes[2] = { NULL, NULL };
    if (!f->derivative) {
        for (int k = 0; k < 2; k++) {
            struct node *input = node->inputs[k];
            if (!input->tracked) continue;
            struct node *flow = k ? node_scale(tape, cotangent, f->linear_sign) : cotangent;
            tape_accumulate(tape, input, node_sum_to_shape(tape, flow, input->rank, input->shape));
        }
        return;
    }
    f->derivative(tape, node->inputs[0], node->inputs[1], node,
                  node->inputs[0]->tracked ? &slopes[0] : NULL,
                  node->inputs[1]->tracked ? &slopes[1] : NULL);
    struct node *flow = NULL;
    for (int k = 0; k < 2; k++) {
        struct node *input = node->inputs[k];
        if (!input->tracked) continue;
        if (flow && tape_is_model(tape) && node->inputs[0] == input && slopes[0] == slopes[1]) {
            tape_accumulate(tape, input, node_again(tape, flow)); /* of x x, the same twice */
            continue;
        }
        flow = slopes[k] ? flow_to(tape, node, k, cotangent, slopes[k])
                         : node_constant(tape, DT_NONE, 0, node->rank, node->shape);
        flow = node_sum_to_shape(tape, flow, input->rank, input->shape);
        if (slopes[k] && input->n < node->n)
            flow = with_shared_errors(tape, flow, cotangent, slopes[k]);
        tape_accumulate(tape, input, flow);
    }
}

static void binary_enclose(struct enclosure *enclosure, void *ball, struct node *node, size_t i)
{
    const struct binary_function *f = node->parameters;
    arb_t a, b;
    arb_init(a);
    arb_init(b);
    enclosure_element(enclosure, a, node->inputs[0], broadcast_offset(node, node->inputs[0], i));
    enclosure_element(enclosure, b, node->inputs[1], broadcast_offset(node, node->inputs[1], i));
    f->ball(ball, a, b, enclosure->precision);
    /* A ball has no -0. Where an operand is -0 and chooses a side of a cut (atan2), the double
     * value has the right sign (copysign, too); of two zeros it is 0 or pi. */
    if (arb_is_zero(a) && arb_is_zero(b) && arb_is_zero(ball) && fabs(node_value_at(node, i)) > 3)
        arb_const_pi(ball, enclosure->precision);
    if ((arb_is_zero(a) || arb_is_zero(b)) && arb_is_nonzero(ball) &&
        arb_is_negative(ball) != (node_value_at(node, i) < 0))
        arb_neg(ball, ball);
    arb_clear(a);
    arb_clear(b);
}

/* a^b for the small whole exponents that derivatives have, by multiplication. */
static bool pair_power(struct pair *out, struct pair a, struct pair b)
{
    enum { MOST = 8 };
    if (b.lo != 0 || b.error != 0 || !(b.hi >= 1 && b.hi <= MOST) || b.hi != rint(b.hi))
        return false;
    *out = a;
    for (int k = 1; k < (int)b.hi; k++)
        if (!pair_multiply(out, *out, a)) return false;
    return true;
}

static bool binary_pair(struct enclosure *enclosure, struct pair *out, struct node *node, size_t i)
{
    const struct binary_function *f = node->parameters;
    char operation = operation_of(f);
    bool is_power = !strcmp(f->name, "pow");
    struct pair a, b;
    if ((!operation && !is_power) ||
        !enclosure_pair(enclosure, &a, node->inputs[0],
                        broadcast_offset(node, node->inputs[0], i)) ||
        !enclosure_pair(enclosure, &b, node->inputs[1], broadcast_offset(node, node->inputs[1], i)))
        return false;
    if (is_power) return pair_power(out, a, b);
    if (operation == '-') b = (struct pair){ -b.hi, -b.lo, b.error };
    return operation == '*'   ? pair_multiply(out, a, b)
           : operation == '/' ? pair_divide(out, a, b)
                              : pair_add(out, a, b);
}

static const struct primitive binary_primitive = { "a function of two", binary_backward,
                                                   binary_enclose, binary_pair };

enum { BOUND_BLOCK = 512 };

struct binary_context {
    const struct binary_function *f;
    char operation;      /* + - * / or 0 for any other function */
    double kernel, tiny; /* relative and absolute rounding of a modelled kernel, else 0 */
    double exponent;     /* relative rounding of the terms of an exponent behind it, else 0 */
    double argument;     /* absolute rounding of an argument beside 1, where there is one */
    bool independent;    /* errors of the operands, in the mean: they add up in squares */
    bool single;         /* values are rounded to float */
    bool model;          /* bounds are those of a kernel */
    int scaled; /* 1, 2: bounds are those of this operand times `scale`, 2^k, and what underflows */
    double scale, scaled_tiny;
    bool known; /* the values are there */
    struct walk walk;
};

/* Elements that are being made of a step: `value` and `error` (or NULL) are for those from `start` on. */
struct binary_elements {
    const struct binary_context *c;
    const struct node *a, *b;
    size_t start;
    double *value, *error;
};

/* z = f(a, b) for `count` elements; an operand with a step of 0 is one that repeats. */
typedef void value_row(const struct binary_context *c, double *z, const double *a, int64_t step_a,
                       const double *b, int64_t step_b, size_t count);

#define BINARY_LOOP(EXPRESSION)                       \
    do {                                              \
        if (step_a && step_b)                         \
            for (size_t i = 0; i < count; i++) {      \
                double x = a[i], y = b[i];            \
                z[i] = (EXPRESSION);                  \
            }                                         \
        else if (step_a) {                            \
            const double y = *b;                      \
            for (size_t i = 0; i < count; i++) {      \
                double x = a[i];                      \
                z[i] = (EXPRESSION);                  \
            }                                         \
        } else                                        \
            for (size_t i = 0; i < count; i++) {      \
                double x = *a, y = b[step_b ? i : 0]; \
                z[i] = (EXPRESSION);                  \
            }                                         \
    } while (0)

/* A row by the function for arrays, what has a step of 0 repeated. */
static void vector_row(const struct binary_function *f, double *z, const double *a, int64_t step_a,
                       const double *b, int64_t step_b, size_t count)
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

static void generic_row(const struct binary_context *c, double *z, const double *a, int64_t step_a,
                        const double *b, int64_t step_b, size_t count)
{
    if (c->f->vector && count >= 4) {
        vector_row(c->f, z, a, step_a, b, step_b, count);
        return;
    }
    BINARY_LOOP(c->f->scalar(x, y));
}

VECTORIZED static void add_row(const struct binary_context *c, double *restrict z,
                               const double *restrict a, int64_t step_a, const double *restrict b,
                               int64_t step_b, size_t count)
{
    (void)c;
    BINARY_LOOP(x + y);
}

VECTORIZED static void subtract_row(const struct binary_context *c, double *restrict z,
                                    const double *restrict a, int64_t step_a,
                                    const double *restrict b, int64_t step_b, size_t count)
{
    (void)c;
    BINARY_LOOP(x - y);
}

VECTORIZED static void multiply_row(const struct binary_context *c, double *restrict z,
                                    const double *restrict a, int64_t step_a,
                                    const double *restrict b, int64_t step_b, size_t count)
{
    (void)c;
    BINARY_LOOP(x * y);
}

VECTORIZED static void divide_row(const struct binary_context *c, double *restrict z,
                                  const double *restrict a, int64_t step_a,
                                  const double *restrict b, int64_t step_b, size_t count)
{
    (void)c;
    BINARY_LOOP(x / y);
}

/* ---- bounds of binary functions ------------------------------------------------------------- */

/* What a kernel's function of two variables is off by. Series of gamma functions start from the factor
 * exp(a log x - x - log gamma(a + 1)), whose exponent has the errors of its terms. Up to x = 1.1 igammac is a difference of
 * 1 - x^a / gamma(a + 1), whose a + 1 is rounded: by 0.6 units of 1, the slope of log gamma at 1 (Cephes' igam_series). */
static double own_error(const struct binary_context *c, double a, double x, double y)
{
    double roundings = c->kernel;
    if (c->exponent > 0 && a > 0 && x > 0)
        roundings += c->exponent * (fabs(a * log(x)) + x + fabs(log_gamma(a + 1)));
    double lost = x <= 1.1 ? 0.6 * c->argument : 0;
    return isfinite(roundings) ? roundings * fabs(y) + lost : INFINITY;
}

/* `count` elements of an operand as arrays, and their bounds where `bounded`: in place where they are, in the
 * buffers where they have to be made or a step of 0 repeats one. */
struct operand_block {
    const double *value, *error;
    double values[BOUND_BLOCK], errors[BOUND_BLOCK];
};

static void read_block(struct operand_block *block, const struct node *x, size_t at, int64_t step,
                       size_t count, bool bounded)
{
    if (step) {
        if (bounded)
            block->value =
                node_bounded_block(&block->error, x, at, count, block->values, block->errors);
        else block->value = node_block(x, at, count, block->values);
        return;
    }
    double value = x->value[at], error = bounded ? node_error(x, at) : 0;
    for (size_t i = 0; bounded && i < count; i++) {
        block->values[i] = value;
        block->errors[i] = error;
    }
    block->values[0] = value;
    block->value = block->values;
    block->error = block->errors;
}

/* The four operations inline (the formulas of binary_functions.c), others through their row. */
#define BOUND_LOOP(EXPRESSION)                                                 \
    for (size_t i = 0; i < count; i++) {                                       \
        double x = a[i], ex = ea[i], v = b[i], ev = eb[i], y = fabs(z[i]);     \
        (void)x, (void)v;                                                      \
        double bound = (EXPRESSION) * (1 + 0x1p-40) + c->kernel * y + c->tiny; \
        out[i] = y < INFINITY ? (bound >= 0 ? bound : INFINITY) : 0;           \
    }

/* The same for independent errors in the root mean square, those of the kernel's own rounding among them. Roots that
 * some elements have no need of are no vectors to a compiler, so what is special about elements comes afterwards. */
#define SPREAD_LOOP(EXPRESSION)                                                     \
    for (size_t i = 0; i < count; i++) {                                            \
        double x = a[i], ex = ea[i], v = b[i], ev = eb[i], y = fabs(z[i]), squares; \
        (void)x, (void)v;                                                           \
        squares = (EXPRESSION) + c->kernel * y * (c->kernel * y);                   \
        out[i] = sqrt(squares) + c->tiny;                                           \
    }

static inline void tidy_block(double *restrict out, const double *restrict z, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = fabs(z[i]) < INFINITY ? (out[i] >= 0 ? out[i] : INFINITY) : 0;
}

VECTORIZED static void spread_block(const struct binary_context *c, double *restrict out,
                                    const double *restrict z, size_t count,
                                    const double *restrict a, const double *restrict ea,
                                    const double *restrict b, const double *restrict eb)
{
    switch (c->operation) {
    case '+':
    case '-': SPREAD_LOOP(ex * ex + ev * ev) break;
    case '*': SPREAD_LOOP(x * ev * (x * ev) + v * ex * (v * ex) + ex * ev * (ex * ev)) break;
    case '/':
        SPREAD_LOOP(ev < fabs(v) ? (ex * ex + y * ev * (y * ev)) / ((fabs(v) - ev) * (fabs(v) - ev))
                                 : INFINITY)
        break;
    default:
        for (size_t i = 0; i < count; i++) {
            double carried = c->f->error(a[i], ea[i], b[i], eb[i], z[i]);
            out[i] = hypot(carried, own_error(c, a[i], b[i], z[i])) + c->tiny;
        }
    }
    tidy_block(out, z, count);
}

VECTORIZED static void bound_block(const struct binary_context *c, double *restrict out,
                                   const double *restrict z, size_t count, const double *restrict a,
                                   const double *restrict ea, const double *restrict b,
                                   const double *restrict eb)
{
    const double u = UNIT_ROUNDOFF;
    switch (c->operation) {
    case '+':
    case '-': BOUND_LOOP(ex + ev + u * y) break;
    case '*': BOUND_LOOP(fabs(x) * ev + fabs(v) * ex + ex * ev + u * y + 0x1p-1074) break;
    case '/':
        BOUND_LOOP((ev < fabs(v) ? (ex + y * (1 + 2 * u) * ev) / (fabs(v) - ev) : INFINITY) +
                   u * y + 0x1p-1074)
        break;
    default:
        for (size_t i = 0; i < count; i++) {
            double bound = c->f->error(a[i], ea[i], b[i], eb[i], z[i]) * (1 + 0x1p-40);
            out[i] = tidy_bound(bound + own_error(c, a[i], b[i], z[i]) + c->tiny, z[i]);
        }
    }
}

VECTORIZED static void scaled_block(const struct binary_context *c, double *restrict out,
                                    const double *restrict z, const double *restrict error,
                                    size_t count)
{
    for (size_t i = 0; i < count; i++) {
        double bound = error[i] * c->scale + c->scaled_tiny;
        out[i] = fabs(z[i]) < INFINITY ? bound : 0;
    }
}

VECTORIZED static void round_block(double *z, size_t count)
{
    for (size_t i = 0; i < count; i++) z[i] = (float)z[i];
}

/* Is some element not finite? The two functions below look at few others. */
VECTORIZED static bool any_special(const double *restrict z, size_t count)
{
    size_t special = 0;
    for (size_t i = 0; i < count; i++) special += fabs(z[i]) < INFINITY ? 0 : 1;
    return special;
}

/* A quotient is infinite where its divisor is 0, but only if the divisor is exact, up to the underflow that every bound
 * allows for: of what is divided by a 0 with a bound nothing is known. */
static void open_quotients(const struct binary_context *c, double *z, double *bound, size_t count,
                           const struct operand_block *a, const struct operand_block *b)
{
    double nothing = 16 * c->tiny + 0x1p-1040;
    for (size_t i = 0; i < count; i++) {
        if (!isinf(z[i]) || b->value[i] != 0 || b->error[i] <= nothing || isinf(a->value[i]))
            continue;
        z[i] = 0;
        bound[i] = INFINITY;
    }
}

/* In a model: what is no number because an operand came out as 0 and need not, an infinity times 0, say, may be anything. */
static void open_unknown(const struct binary_context *c, double *z, double *bound, size_t count,
                         const struct operand_block *a, const struct operand_block *b)
{
    double nothing = 16 * c->tiny + 0x1p-1040;
    for (size_t i = 0; i < count; i++) {
        bool unknown = a->error[i] > nothing || b->error[i] > nothing;
        if (!isnan(z[i]) || !unknown || isnan(a->value[i]) || isnan(b->value[i])) continue;
        z[i] = 0;
        bound[i] = INFINITY;
    }
}

static value_row *row_of(char operation);

static void elements_row(void *context, size_t out, size_t count, const size_t *offset,
                         const int64_t *step)
{
    const struct binary_elements *e = context;
    const struct binary_context *c = e->c;
    struct operand_block a, b;
    bool bounded = e->error != NULL;
    for (size_t start = 0; start < count; start += BOUND_BLOCK) {
        size_t n = count - start < BOUND_BLOCK ? count - start : BOUND_BLOCK;
        read_block(&a, e->a, offset[0] + (step[0] ? start : 0), step[0], n, bounded);
        read_block(&b, e->b, offset[1] + (step[1] ? start : 0), step[1], n, bounded);
        double *z = e->value + (out - e->start) + start;
        if (!c->known) row_of(c->operation)(c, z, a.value, step[0], b.value, step[1], n);
        if (c->single) round_block(z, n);
        if (!bounded) continue;
        double *bound = e->error + (out - e->start) + start;
        if (c->scaled) scaled_block(c, bound, z, c->scaled == 1 ? a.error : b.error, n);
        else
            (c->independent ? spread_block : bound_block)(c, bound, z, n, a.value, a.error, b.value,
                                                          b.error);
        if (c->operation != '/' && !c->model) continue;
        if (!any_special(z, n)) continue;
        if (c->operation == '/') open_quotients(c, z, bound, n, &a, &b);
        if (c->model) open_unknown(c, z, bound, n, &a, &b);
    }
}

static void binary_elements(const struct node *node, size_t start, size_t count, double *value,
                            double *error)
{
    const struct binary_context *c = node->deferral->context;
    struct binary_elements elements = { c, node->inputs[0], node->inputs[1], start, value, error };
    if (c->known && !error) return;
    walk_part(&c->walk, start, start + count, elements_row, &elements);
}

/* A bound that is relative but for what underflow loses. */
static bool is_relative(const struct node *x) { return !x->error && x->absolute <= 0x1p-1040; }

static bool is_moderate(const struct node *x)
{
    double most = 0, buffer[BOUND_BLOCK];
    for (size_t start = 0; start < x->n; start += BOUND_BLOCK) {
        size_t count = x->n - start < BOUND_BLOCK ? x->n - start : BOUND_BLOCK;
        const double *value = node_block(x, start, count, buffer);
        for (size_t i = 0; i < count; i++) most = fmax(most, fabs(value[i]));
    }
    return most < 0x1p100;
}

/* Products and quotients of relative bounds have a relative bound: no array is needed. What
 * underflow loses in an operand below 2^-1040 grows by the other one, at most 2^100. */
static bool relative_bound(struct node *node, const struct node *a, const struct node *b,
                           char operation)
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
    node->relative = (sum + (operation == '/' ? 4 * b->relative * sum : 0) + UNIT_ROUNDOFF) *
                     (1 + 0x1p-40);
    return true;
}

/* An exact number +-2^k. */
static bool is_power_of_two(const struct node *x)
{
    int exponent;
    return x->n == 1 && node_is_exact(x) && fabs(frexp(x->value[0], &exponent)) == 0.5;
}

/* Is every element 0 or +-2^k, exactly? Products with them round nothing but what underflows: masks, signs, slopes of selections,
 * halves. `least`: the smallest that is not 0, at most 1. */
static bool is_all_powers(double *least, const struct node *x)
{
    double buffer[BOUND_BLOCK];
    int exponent;
    *least = 1;
    if (!node_is_exact(x)) return false;
    for (size_t start = 0; start < x->n; start += BOUND_BLOCK) {
        size_t count = x->n - start < BOUND_BLOCK ? x->n - start : BOUND_BLOCK;
        const double *value = node_block(x, start, count, buffer);
        for (size_t i = 0; i < count; i++) {
            double size = fabs(value[i]);
            if (size == 0 || size == 1) continue;
            if (frexp(size, &exponent) != 0.5) return false;
            *least = fmin(*least, size);
        }
    }
    return true;
}

/* A product that rounds nothing in a model. */
static bool is_unrounded(double *least, const struct binary_context *c, const struct node *a,
                         const struct node *b)
{
    return c->operation == '*' && (is_all_powers(least, a) || is_all_powers(least, b));
}

/* Does each element have a bound of its own? */
static bool has_bounds(const struct node *x)
{
    return x->error || (node_is_deferred(x) && x->deferral->bounded);
}

/* Multiplying by +-2^k, or dividing by it, rounds nothing but what underflows. */
static bool scaled_bound(struct node *node, struct binary_context *c, const struct tape *tape,
                         const struct node *x, const struct node *factor)
{
    if (!is_power_of_two(factor) || x->n != node->n) return false;
    c->scale = fabs(c->operation == '/' ? 1 / factor->value[0] : factor->value[0]);
    c->scaled_tiny = c->scale < 1 ? tape->tiny : 0;
    c->scaled = has_bounds(x);
    if (c->scaled) return true;
    node->relative = x->relative;
    node->absolute = x->absolute * c->scale + c->scaled_tiny;
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

static value_row *row_of(char operation)
{
    switch (operation) {
    case '+': return add_row;
    case '-': return subtract_row;
    case '*': return multiply_row;
    case '/': return divide_row;
    default: return generic_row;
    }
}

static bool is_gamma_series(const struct binary_function *f)
{
    return !strcmp(f->name, "igamma") || !strcmp(f->name, "igammac");
}

/* Roundings of unit |y| that a kernel's own function makes: none for copies of a sign and for fmod, which is exact (C23, F.10.7.1,
 * and so in CUDA and OpenCL), one for sums and products and for fmod made to have the sign of b, by adding b, three for quotients, four
 * ulp for library functions, more for a series of dozens of terms. */
static double kernel_roundings(const struct tape *tape, const struct binary_function *f)
{
    char operation = operation_of(f);
    bool series = is_gamma_series(f);
    if (!strcmp(f->name, "copysign") || !strcmp(f->name, "fmod")) return 0;
    if (!strcmp(f->name, "remainder")) return tape->arithmetic == BENCH_MODEL_TYPICAL ? 0.6 : 1;
    double worst = series ? 64 : !operation ? 8 : operation == '/' ? 3 : 1;
    worst = 2 * kernel_modes_ulps(tape->modes, f->name, worst / 2);
    return tape->arithmetic == BENCH_MODEL_TYPICAL ? fmax(worst / 4, 0.6) : worst;
}

/* Choose the form of the bounds of f(a, b): into `node`, or true where each element has its own. */
static bool choose_bounds(struct node *node, struct binary_context *c, const struct tape *tape,
                          const struct node *a, const struct node *b)
{
    bool exact = node_is_exact(a) && node_is_exact(b), model = tape_is_model(tape);
    double least;
    if ((c->operation == '*' || c->operation == '/') && scaled_bound(node, c, tape, a, b))
        return c->scaled == 1;
    if (c->operation == '*' && scaled_bound(node, c, tape, b, a)) {
        c->scaled *= 2;
        return c->scaled == 2;
    }
    if (model && is_unrounded(&least, c, a, b)) {
        node->absolute = least < 1 ? tape->tiny : 0;
        c->kernel = 0;
        return !exact;
    }
    if (c->operation && exact) {
        node->relative = model ? c->kernel : tape->unit;
        node->absolute = tape->tiny;
        return false;
    }
    if (!model && c->f->vector && exact) {
        node->relative = 2 * UNIT_ROUNDOFF;
        node->absolute = 0x1p-1074;
        return false;
    }
    return model || !relative_bound(node, a, b, c->operation);
}

static struct binary_context *binary_open(struct tape *tape, const struct binary_function *f,
                                          struct node *const *operands)
{
    struct binary_context *c = tape_allocate(tape, 1, sizeof *c);
    if (!c) return NULL;
    *c = (struct binary_context){
        .f = f,
        .operation = operation_of(f),
        .independent = tape_is_typical(tape) && operands[0] != operands[1],
        .single = tape_is_single(tape),
        .model = tape_is_model(tape),
    };
    if (tape_is_model(tape)) {
        bool number = node_is_number(operands[0]) && node_is_number(operands[1]);
        double rounded_once = tape_is_typical(tape) ? 0.6 : 1;
        c->kernel = (number ? rounded_once : kernel_roundings(tape, f)) * tape->unit;
        c->tiny = tape->tiny;
        if (!strcmp(f->name, "igammac") && !number) c->argument = tape->unit;
        if (is_gamma_series(f) && !number)
            c->exponent = tape->unit * (tape_is_typical(tape) ? 1 : 4);
    }
    return c;
}

/* What an element costs beside an addition: a quotient about 4, a library function about 16. */
static int cost_of(const struct binary_context *c)
{
    return c->operation == '/' ? 4 : c->operation ? 1 : c->f->vector ? 16 : 64;
}

static bool is_alike(const struct node *a, const struct node *b)
{
    return a->parameters == b->parameters;
}

/* The values that the other model has of a large step, or NULL. Quotients change some of theirs (open_quotients). */
static double *take_known(struct binary_context *c, struct tape *tape, struct node *node)
{
    enum { LEAST_SHARED = 256 };
    if (node->n < LEAST_SHARED || c->operation == '/') return NULL;
    double *values = known_values_share(tape, node, is_alike);
    c->known = values;
    return values;
}

static struct node *evaluate_binary(struct tape *tape, const struct binary_function *f,
                                    struct node *a, struct node *b)
{
    struct node *operands[2] = { node_to_real(tape, a), node_to_real(tape, b) };
    int64_t shape[TENSOR_MAX_RANK];
    size_t n = 0;
    int rank;

    if (tape_failed(tape)) return node_scalar(tape, 0);
    struct binary_context *c = binary_open(tape, f, operands);
    if (!c || !walk_open(&c->walk, tape, 2, operands, &rank, shape)) return node_scalar(tape, 0);
    enum dtype dtype = dtype_promote(operands[0]->dtype, operands[1]->dtype);
    bool defers = shape_elements(&n, rank, shape) &&
                  tape_may_defer(tape, n, cost_of(c), 2, operands);
    for (int k = 0; k < 2; k++)
        if (!node_is_deferred(operands[k]) && (!defers || operands[k]->n != n))
            (void)node_values(tape, operands[k]);
    struct node *node = node_step(tape, &binary_primitive, dtype, rank, shape, 2, operands, f);
    if (tape_failed(tape)) return tape_failure(tape);
    bool bounded = tape_is_reference(tape) &&
                   choose_bounds(node, c, tape, operands[0], operands[1]);
    double *known = take_known(c, tape, node);
    node_evaluate(tape, node, (struct deferral){ binary_elements, c, cost_of(c), bounded, known },
                  defers);
    return tape_failed(tape) ? tape_failure(tape) : node;
}

/* Does a result beyond the largest number overflow in any kernel? Products and quotients do in any order of their factors: what
 * comes before the last one is not 0 where the result overflows, and of its sign. Sums may be infinite less infinite before. */
static bool overflows_by_itself(const struct binary_function *f, const struct node *a,
                                const struct node *b)
{
    char operation = operation_of(f);
    return operation == '*' || operation == '/' || (node_is_exact(a) && node_is_exact(b));
}

/* The values of the composition, with the gradient of f. */
static struct node *compose(struct tape *tape, const struct binary_function *f, struct node *steps,
                            struct node *a, struct node *b)
{
    struct node *operands[2] = { node_to_real(tape, a), node_to_real(tape, b) };
    if (tape_failed(tape)) return tape_failure(tape);
    struct node *node = node_sharing(tape, &binary_primitive, steps, 2, operands, f);
    node->is_step = true;
    return node;
}

struct node *node_binary(struct tape *tape, const struct binary_function *f, struct node *a,
                         struct node *b)
{
    struct node *steps = composes(tape) ? composed_function2(tape, f->name, a, b) : NULL;
    if (steps && composes_values(tape)) return compose(tape, f, steps, a, b);
    struct node *node = evaluate_binary(tape, f, a, b);
    model_overflows(tape, node, overflows_by_itself(f, a, b));
    model_stages(tape, node);
    return node_as_steps(tape, node, steps, f->name);
}

char node_operation(const struct node *node)
{
    return node->primitive == &binary_primitive ? operation_of(node->parameters) : 0;
}

struct node *node_apply2(struct tape *tape, const char *name, struct node *a, struct node *b)
{
    const struct binary_function *f = binary_find(name);
    if (f) return node_binary(tape, f, a, b);
    tape_fail(tape, STATUS_INTERNAL, "there is no function %s of two variables", name);
    return tape_failure(tape);
}

/* ---- arithmetic, complex spelled out in reals ---------------------------------------------- */

static struct node *complex_binary(struct tape *tape, char operation, struct node *a,
                                   struct node *b)
{
    struct node *ar = node_real_part(tape, a), *ai = node_imaginary_part(tape, a);
    struct node *br = node_real_part(tape, b), *bi = node_imaginary_part(tape, b);
    struct node *re, *im;

    switch (operation) {
    case '+':
        re = node_add(tape, ar, br);
        im = node_add(tape, ai, bi);
        break;
    case '-':
        re = node_subtract(tape, ar, br);
        im = node_subtract(tape, ai, bi);
        break;
    case '*':
        re = node_subtract(tape, node_multiply(tape, ar, br), node_multiply(tape, ai, bi));
        im = node_add(tape, node_multiply(tape, ar, bi), node_multiply(tape, ai, br));
        break;
    default: { /* a * conj(b) / |b|^2 */
        struct node *norm =
            node_add(tape, node_multiply(tape, br, br), node_multiply(tape, bi, bi));
        re = node_add(tape, node_multiply(tape, ar, br), node_multiply(tape, ai, bi));
        im = node_subtract(tape, node_multiply(tape, ai, br), node_multiply(tape, ar, bi));
        re = node_divide(tape, re, norm);
        im = node_divide(tape, im, norm);
    }
    }
    return node_complex(tape, re, im);
}

static struct node *arithmetic(struct tape *tape, char operation, const char *name, struct node *a,
                               struct node *b)
{
    if (a->imaginary || b->imaginary) return complex_binary(tape, operation, a, b);
    return node_binary(tape, binary_find(name), a, b);
}

struct node *node_add(struct tape *tape, struct node *a, struct node *b)
{
    return arithmetic(tape, '+', "add", a, b);
}

struct node *node_subtract(struct tape *tape, struct node *a, struct node *b)
{
    return arithmetic(tape, '-', "subtract", a, b);
}

struct node *node_multiply(struct tape *tape, struct node *a, struct node *b)
{
    return arithmetic(tape, '*', "multiply", a, b);
}

struct node *node_divide(struct tape *tape, struct node *a, struct node *b)
{
    return arithmetic(tape, '/', "divide", a, b);
}

/* A real number beside a complex one leaves the signs of zeros and the infinities of the imaginary part alone. */
struct node *node_scale(struct tape *tape, struct node *x, double factor)
{
    if (factor == 1) return x;
    if (x->imaginary)
        return node_complex(tape, node_scale(tape, node_real_part(tape, x), factor),
                            node_scale(tape, node_imaginary_part(tape, x), factor));
    return node_multiply(tape, x, node_scalar(tape, factor));
}

struct node *node_offset(struct tape *tape, struct node *x, double term)
{
    if (term == 0) return x;
    if (x->imaginary)
        return node_complex(tape, node_offset(tape, node_real_part(tape, x), term),
                            node_imaginary_part(tape, x));
    return node_add(tape, x, node_scalar(tape, term));
}

struct node *node_negate(struct tape *tape, struct node *x) { return node_scale(tape, x, -1); }
