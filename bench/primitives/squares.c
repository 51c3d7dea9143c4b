/* Sums of squares of what a call was given, in numbers of at most 24 bits: lines of up to a hundred million elements
 * whose norm or variance is asked for. A composition would write the squares, their bounds and the deviations, each
 * as large as eight bytes an element; this reads the line once. What is computed, and the models, are compositions.
 *
 * With K near the elements, e_i = x_i - K, S = sum e_i^2 and T = sum e_i, the two sums are
 *     sum x^2 = S for K = 0,     sum (x - mean)^2 = S - T^2 / n.
 * K is a float, so that e_i is a multiple of 2^-149 like x_i and no square underflows. A computed e_i is off by u |e_i|.
 * The terms of a block of BLOCK meet at most BLOCK / LANES + 5 additions, those of the blocks are compensated
 * (arithmetic/compensated.h), so that with g = gamma_GROWTH
 *     |computed S - S| <= g S,     |computed T - T| <= g sum |e_i| <= g sqrt(n S)     (Cauchy and Schwarz),
 * and since T^2 <= n S, the computed T^2 / n is off by (2 g + g^2) S and 3 u S, S - T^2 / n by u of itself more:
 * (3 g + 4 u + g^2) S in all, where S <= computed S / (1 - g).
 */
#include "bench/primitives/squares.h"

#include <arb.h>
#include <math.h>
#include <string.h>

#include "bench/arithmetic/compensated.h"
#include "bench/arithmetic/rounding.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/blocks.h"
#include "bench/primitives/reduce.h"
#include "bench/primitives/unary.h"
#include "bench/tape/enclosure.h"
#include "core/vectorize.h"

enum { LANES = 32, BLOCK = 2048, GROWTH = BLOCK / LANES + 16 };

/* ---- the sums -------------------------------------------------------------------------------------- */

struct line_sums {
    struct running terms, squares; /* of the blocks */
};

typedef double lanes __attribute__((vector_size(LANES * sizeof(double))));

static double sum_of_lanes(const double *lane)
{
    double sum[LANES];
    for (size_t k = 0; k < LANES; k++) sum[k] = lane[k];
    for (size_t half = LANES / 2; half; half /= 2)
        for (size_t k = 0; k < half; k++) sum[k] += sum[k + half];
    return sum[0];
}

/* sum e and sum e^2 of a block, in lanes. Vectors, because gcc makes shuffles of a loop over the lanes; floats are
 * read as they are stored. */
#define ADD_LANES(NAME, ELEMENT)                                                          \
    VECTORIZED static void NAME(double *term, double *square, const ELEMENT *x, size_t n, \
                                double shift)                                             \
    {                                                                                     \
        typedef ELEMENT elements __attribute__((vector_size(LANES * sizeof(ELEMENT))));   \
        lanes terms, squares;                                                             \
        elements stored;                                                                  \
        memset(&terms, 0, sizeof terms);                                                  \
        memset(&squares, 0, sizeof squares);                                              \
        for (size_t i = 0; i + LANES <= n; i += LANES) {                                  \
            memcpy(&stored, x + i, sizeof stored);                                        \
            lanes e = __builtin_convertvector(stored, lanes) - shift;                     \
            terms += e;                                                                   \
            squares += e * e;                                                             \
        }                                                                                 \
        memcpy(term, &terms, sizeof terms);                                               \
        memcpy(square, &squares, sizeof squares);                                         \
        for (size_t i = n - n % LANES, k = 0; i < n; i++, k++) {                          \
            double e = x[i] - shift;                                                      \
            term[k] += e;                                                                 \
            square[k] += e * e;                                                           \
        }                                                                                 \
    }
ADD_LANES(add_doubles, double)
ADD_LANES(add_floats, float)
#undef ADD_LANES

/* `count` elements from `start` on. */
static void add_block(struct line_sums *sums, const struct node *x, size_t start, size_t count,
                      double shift)
{
    double term[LANES], square[LANES], buffer[BLOCK];
    if (!x->value && x->dtype == DT_F32)
        add_floats(term, square, (const float *)x->source->data + start, count, shift);
    else add_doubles(term, square, node_block(x, start, count, buffer), count, shift);
    running_add(&sums->terms, sum_of_lanes(term));
    running_add(&sums->squares, sum_of_lanes(square));
}

static struct line_sums line_sums(const struct node *x, size_t start, size_t n, double shift)
{
    struct line_sums sums = { 0 };
    for (size_t i = 0; i < n; i += BLOCK)
        add_block(&sums, x, start + i, n - i < BLOCK ? n - i : BLOCK, shift);
    return sums;
}

/* The total of the blocks: also that of infinite ones. */
static double total_of(const struct running *sum)
{
    return isfinite(sum->sum) ? sum->sum + sum->low : sum->sum;
}

/* A float near the first elements of a line; theirs when they are equal. */
static double near_first(const struct node *x, size_t start, size_t n)
{
    enum { FIRST = 16 };
    double buffer[FIRST], apart = 0;
    size_t count = n < FIRST ? n : FIRST;
    const double *first = node_block(x, start, count, buffer);
    for (size_t k = 0; k < count; k++) apart += first[k] - first[0];
    double near = (float)(first[0] + apart / (double)count);
    return isfinite(near) ? near : 0;
}

static void squares_evaluate(struct tape *tape, struct node *node, const struct node *x,
                             const struct lines *l)
{
    double relative = gamma_of(GROWTH) * (1 + 0x1p-20);
    for (size_t line = 0; line < node->n && !tape_failed(tape); line++) {
        struct line_sums sums = line_sums(x, line * l->extent, l->extent, 0);
        node->value[line] = total_of(&sums.squares);
    }
    node->relative = relative;
}

/* What squares and shares lose that underflow: nothing where all elements are equal. */
static double underflowed(const struct node *x, size_t start, size_t n, double squares)
{
    double buffer[BLOCK], first;
    if (squares > 0x1p-900) return 0;
    for (size_t at = 0; at < n; at += BLOCK) {
        size_t count = n - at < BLOCK ? n - at : BLOCK;
        const double *e = node_block(x, start + at, count, buffer);
        if (at == 0) first = e[0];
        for (size_t k = 0; k < count; k++)
            if (e[k] != first) return 4 * (double)n * 0x1p-1074;
    }
    return 0;
}

static void deviations_evaluate(struct tape *tape, struct node *node, const struct node *x,
                                const struct lines *l)
{
    double growth = (3 * gamma_of(GROWTH) + 4 * UNIT_ROUNDOFF) * (1 + 0x1p-20);
    (void)node_need_errors(tape, node);
    for (size_t line = 0; line < node->n && !tape_failed(tape); line++) {
        node->value[line] = node->error[line] = 0;
        if (!l->extent) continue;
        size_t start = line * l->extent;
        struct line_sums sums = line_sums(x, start, l->extent, near_first(x, start, l->extent));
        double t = total_of(&sums.terms), s = total_of(&sums.squares);
        double y = s - t * (t / (double)l->extent);
        node->value[line] = y < 0 ? 0
                                  : y; /* the exact one is not negative, so this is nearer to it */
        double lost = underflowed(x, start, l->extent, s);
        node->error[line] = isfinite(y) ? growth * s + lost : 0;
    }
}

/* ---- single elements --------------------------------------------------------------------------------- */

/* sum (x_k - centre)^2 */
static void enclose_squares(struct enclosure *enclosure, arb_ptr ball, const struct node *node,
                            size_t line, arb_srcptr centre)
{
    const struct lines *l = node->parameters;
    arb_t e;
    arb_init(e);
    arb_zero(ball);
    enclosure->work += l->extent;
    for (size_t k = 0; k < l->extent && enclosure->work <= enclosure->limit; k++) {
        enclosure_element(enclosure, e, node->inputs[0], line_element(l, line, k));
        arb_sub(e, e, centre, enclosure->precision);
        arb_addmul(ball, e, e, enclosure->precision);
    }
    if (enclosure->work > enclosure->limit) arb_indeterminate(ball);
    arb_clear(e);
}

static void squares_enclose(struct enclosure *enclosure, void *ball, struct node *node, size_t i)
{
    arb_t centre;
    arb_init(centre);
    enclose_squares(enclosure, ball, node, i, centre);
    arb_clear(centre);
}

static void deviations_enclose(struct enclosure *enclosure, void *ball, struct node *node, size_t i)
{
    const struct lines *l = node->parameters;
    arb_t mean, x;
    arb_init(mean);
    arb_init(x);
    for (size_t k = 0; k < l->extent;
         k++) { /* exact leaves: the work is counted with the squares */
        enclosure_element(enclosure, x, node->inputs[0], line_element(l, i, k));
        arb_add(mean, mean, x, enclosure->precision);
    }
    if (l->extent) arb_div_ui(mean, mean, l->extent, enclosure->precision);
    enclose_squares(enclosure, ball, node, i, mean);
    arb_clear(mean);
    arb_clear(x);
}

static double stored(const struct node *x, size_t i)
{
    double buffer;
    return *node_block(x, i, 1, &buffer);
}

static bool squares_pair(struct enclosure *enclosure, struct pair *out, struct node *node, size_t i)
{
    const struct lines *l = node->parameters;
    struct running sum = { 0 };
    for (size_t k = 0; k < l->extent; k++) {
        double x = stored(node->inputs[0], line_element(l, i, k));
        running_add(&sum, x * x); /* exact: 48 bits */
    }
    enclosure->work += l->extent / 64;
    return running_pair(out, &sum, false);
}

static bool deviation_terms_as_pairs(struct enclosure *enclosure, struct pair *out,
                                     struct node *node, size_t i)
{
    const struct lines *l = node->parameters;
    struct pair mean, e;
    struct running sum = { 0 };
    for (size_t k = 0; k < l->extent; k++)
        running_add(&sum, stored(node->inputs[0], line_element(l, i, k)));
    enclosure->work += 2 * l->extent;
    *out = pair_exact(0);
    if (!l->extent) return true;
    if (enclosure->work > enclosure->limit) return false;
    if (!running_pair(&mean, &sum, false) ||
        !pair_divide(&mean, mean, pair_exact((double)l->extent)))
        return false;
    mean = (struct pair){ -mean.hi, -mean.lo, mean.error };
    for (size_t k = 0; k < l->extent; k++)
        if (!pair_add(&e, pair_exact(stored(node->inputs[0], line_element(l, i, k))), mean) ||
            !pair_multiply(&e, e, e) || !pair_add(out, *out, e))
            return false;
    return true;
}

static bool deviations_pair(struct enclosure *enclosure, struct pair *out, struct node *node,
                            size_t i)
{
    return enclosure_shared_pair(enclosure, out, node, i, deviation_terms_as_pairs);
}

static const struct primitive squares_primitive = { "a sum of squares", NULL, squares_enclose,
                                                    squares_pair };
static const struct primitive deviations_primitive = { "a sum of squared deviations", NULL,
                                                       deviations_enclose, deviations_pair };

/* ---- the nodes ----------------------------------------------------------------------------------------- */

/* Is x a leaf of such numbers, whose lines over `dims` lie in one piece? */
static bool reads_in_one_pass(const struct tape *tape, const struct node *x, uint32_t dims)
{
    if (tape_failed(tape) || tape->arithmetic != BENCH_REFERENCE || !x->source || x->imaginary ||
        dtype_info(x->dtype)->significand_bits > 24)
        return false;
    bool reduced = false;
    for (int d = 0; d < x->rank; d++) {
        bool here = dims >> d & 1;
        if (x->shape[d] == 1) continue;
        if (reduced && !here) return false;
        reduced = here;
    }
    return true;
}

struct node *node_sum_of_squares(struct tape *tape, struct node *x, uint32_t dims)
{
    static const struct reduction squares = {
        &squares_primitive, squares_evaluate, 0, NULL, true, NULL
    };
    if (reads_in_one_pass(tape, x, dims)) return node_reduce(tape, &squares, x, dims, true);
    return node_sum(tape, node_apply(tape, "square", x), dims, true);
}

struct node *node_sum_of_squared_deviations(struct tape *tape, struct node *x, struct node *mean,
                                            uint32_t dims)
{
    static const struct reduction deviations = {
        &deviations_primitive, deviations_evaluate, 0, NULL, true, NULL
    };
    if (reads_in_one_pass(tape, x, dims)) return node_reduce(tape, &deviations, x, dims, true);
    if (!mean) mean = node_mean(tape, x, dims, true);
    return node_sum(tape, node_apply(tape, "square", node_subtract(tape, x, mean)), dims, true);
}
