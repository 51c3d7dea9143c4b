/* Values are made for rows of both operands by loops for each of the four operations and one for all other functions; bounds for blocks
 * of such a row, whose operands lie in arrays or are repeated into them. */
#include "bench/primitives/binary_elements.h"

#include <math.h>

#include "bench/arithmetic/rounding.h"
#include "bench/tape/bounds.h"
#include "core/log_gamma.h"
#include "core/vectorize.h"

/* Elements that are being made of a step: `value` and `error` (or NULL) are for those from `start` on. */
struct binary_elements {
    const struct binary_context *c;
    const struct node *a, *b;
    size_t start;
    double *value, *error;
    bool known, within; /* the values are there, and none is infinite or no number */
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

/* ---- bounds --------------------------------------------------------------------------------- */

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
    double values[BINARY_BLOCK], errors[BINARY_BLOCK];
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

/* What products by elements of b lose where one of their factors underflows. */
VECTORIZED static void lose_products(const struct binary_context *c, double *restrict bound,
                                     const double *restrict b, size_t count)
{
    const double lost = c->lost;
    if (c->independent)
        for (size_t i = 0; i < count; i++)
            bound[i] = sqrt(bound[i] * bound[i] + lost * b[i] * (lost * b[i]));
    else
        for (size_t i = 0; i < count; i++) bound[i] += lost * fabs(b[i]);
}

static void elements_row(void *context, size_t out, size_t count, const size_t *offset,
                         const int64_t *step)
{
    const struct binary_elements *e = context;
    const struct binary_context *c = e->c;
    struct operand_block a, b;
    bool bounded = e->error != NULL;
    for (size_t start = 0; start < count; start += BINARY_BLOCK) {
        size_t n = count - start < BINARY_BLOCK ? count - start : BINARY_BLOCK;
        read_block(&a, e->a, offset[0] + (step[0] ? start : 0), step[0], n, bounded);
        read_block(&b, e->b, offset[1] + (step[1] ? start : 0), step[1], n, bounded);
        double *z = e->value + (out - e->start) + start;
        if (!e->known) row_of(c->operation)(c, z, a.value, step[0], b.value, step[1], n);
        if (c->single) round_block(z, n);
        if (!bounded) continue;
        double *bound = e->error + (out - e->start) + start;
        if (c->scaled) scaled_block(c, bound, z, c->scaled == 1 ? a.error : b.error, n);
        else
            (c->independent ? spread_block : bound_block)(c, bound, z, n, a.value, a.error, b.value,
                                                          b.error);
        if (c->lost > 0) lose_products(c, bound, b.value, n);
        if (e->within || (c->operation != '/' && !c->model)) continue;
        if (!any_special(z, n)) continue;
        if (c->operation == '/') open_quotients(c, z, bound, n, &a, &b);
        if (c->model) open_unknown(c, z, bound, n, &a, &b);
    }
}

void binary_elements(const struct node *node, size_t start, size_t count, double *value,
                     double *error)
{
    const struct binary_context *c = node->deferral->context;
    struct binary_elements elements = { c,
                                        node->inputs[0],
                                        node->inputs[1],
                                        start,
                                        value,
                                        error,
                                        node->deferral->values != NULL,
                                        node->deferral->within };
    if (elements.known && !error) return;
    walk_part(&c->walk, start, start + count, elements_row, &elements);
}
