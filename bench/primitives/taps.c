/* Sparse linear maps along one dimension.
 *
 * Sums are compensated (Sum2 of Ogita, Rump and Oishi, 2005): |y - exact| <= u |y| +
 * gamma_n^2 sum|w x| + u sum|w x| for the products' roundings (none where weights are 1) +
 * sum (|w| error(x) + weight_error |x|).
 */
#include "bench/primitives/taps.h"

#include <math.h>
#include <string.h>

#include "bench/arithmetic/rounding.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/chain_rule.h"
#include "bench/primitives/complex_parts.h"
#include "bench/primitives/taps_model.h"
#include "bench/tape/bounds.h"
#include "bench/tape/enclosure.h"

struct taps *taps_windows(struct tape *tape, size_t inputs, size_t outputs, const int64_t *start,
                          const int64_t *end)
{
    size_t total = 0;
    for (size_t o = 0; o < outputs; o++)
        total += end[o] > start[o] ? (size_t)(end[o] - start[o]) : 0;
    struct taps *taps = tape_allocate(tape, 1, sizeof *taps);
    size_t *first = tape_allocate(tape, outputs + 1, sizeof *first);
    size_t *index = tape_allocate(tape, total, sizeof *index);
    if (!taps || !first || !index) return NULL;
    size_t t = 0;
    for (size_t o = 0; o < outputs; o++) {
        first[o] = t;
        for (int64_t i = start[o]; i < end[o]; i++) index[t++] = (size_t)i;
    }
    first[outputs] = t;
    *taps = (struct taps){ .inputs = inputs,
                           .outputs = outputs,
                           .first = first,
                           .index = index,
                           .summed = 1,
                           .summed_by_adjoint = 1 };
    return taps;
}

/* The adjoint: taps grouped by input, in the order of outputs. */
static struct taps *transpose(struct tape *tape, struct taps *taps)
{
    size_t total = taps->first[taps->outputs];
    if (taps->transposed) return taps->transposed;
    struct taps *out = tape_allocate(tape, 1, sizeof *out);
    size_t *first = tape_allocate(tape, taps->inputs + 2, sizeof *first);
    size_t *index = tape_allocate(tape, total, sizeof *index);
    size_t *origin = tape_allocate(tape, total, sizeof *origin);
    double *weight = taps->weight ? tape_allocate(tape, total, sizeof *weight) : NULL;
    if (!out || !first || !index || !origin || (taps->weight && !weight)) return NULL;
    memset(first, 0, (taps->inputs + 2) * sizeof *first);
    for (size_t t = 0; t < total; t++) first[taps->index[t] + 2]++;
    for (size_t i = 0; i < taps->inputs; i++) first[i + 2] += first[i + 1];
    for (size_t o = 0; o < taps->outputs; o++)
        for (size_t t = taps->first[o]; t < taps->first[o + 1]; t++) {
            size_t at = first[taps->index[t] + 1]++;
            index[at] = o;
            origin[at] = taps->origin ? taps->origin[t] : t;
            if (weight) weight[at] = taps->weight[t];
        }
    *out = *taps;
    out->inputs = taps->outputs;
    out->outputs = taps->inputs;
    out->first = first;
    out->index = index;
    out->weight = weight;
    out->origin = origin;
    out->summed = taps->summed_by_adjoint;
    out->summed_by_adjoint = taps->summed;
    out->transposed = taps;
    return taps->transposed = out;
}

struct mapping {
    struct taps *taps;
    int dim;
    size_t inner;
};

static void taps_backward(struct tape *tape, struct node *node, struct node *cotangent)
{
    const struct mapping *m = node->parameters;
    struct taps *adjoint = transpose(tape, m->taps);
    if (adjoint)
        tape_accumulate(tape, node->inputs[0], node_taps(tape, cotangent, m->dim, adjoint));
}

static void exact_weight(arb_t weight, const struct taps *taps, size_t t, slong precision)
{
    if (!taps->weight) arb_one(weight);
    else if (!taps->exact) arb_set_d(weight, taps->weight[t]);
    else taps->exact(weight, taps->context, taps->origin ? taps->origin[t] : t, precision);
}

static void taps_enclose(struct enclosure *enclosure, void *ball, struct node *node, size_t i)
{
    const struct mapping *m = node->parameters;
    const struct taps *taps = m->taps;
    size_t below = i % m->inner, o = i / m->inner % taps->outputs,
           above = i / m->inner / taps->outputs;
    arb_t x, weight;

    arb_init(x);
    arb_init(weight);
    arb_zero(ball);
    for (size_t t = taps->first[o]; t < taps->first[o + 1]; t++) {
        enclosure_element(enclosure, x, node->inputs[0],
                          (above * taps->inputs + taps->index[t]) * m->inner + below);
        exact_weight(weight, taps, t, enclosure->precision);
        arb_addmul(ball, x, weight, enclosure->precision);
    }
    arb_clear(x);
    arb_clear(weight);
}

static const struct primitive taps_primitive = { "a weighted sum", taps_backward, taps_enclose,
                                                 NULL };

/* gamma_n^2 of n additions. */
static double second_order(size_t n)
{
    double nu = (double)n * UNIT_ROUNDOFF;
    return nu / (1 - nu) * (nu / (1 - nu));
}

/* What the bound of a sum is made of; see the head of the file. */
struct bounding {
    bool inexact;  /* x is */
    double unsure; /* of a weight: its own error */
    double growth, underflow;
    bool several;
};

static struct bounding bounding_of(const struct tape *tape, const struct node *x,
                                   const struct taps *taps, size_t o)
{
    size_t n = taps->first[o + 1] - taps->first[o];
    struct bounding b = { .inexact = !node_is_exact(x),
                          .unsure = taps->weight_error,
                          .several = n > 1 };
    if (n > 1) b.growth = second_order(n + 2);
    if (taps->weight) {
        b.growth += UNIT_ROUNDOFF;
        b.underflow = (double)n * tape->tiny;
    }
    return b;
}

static inline void finish_output(struct node *node, size_t out, const struct bounding *b,
                                 double sum, double low, double magnitude, double carried)
{
    double total = isfinite(sum) ? sum + low : sum;
    double bound = (b->several ? UNIT_ROUNDOFF * fabs(total) : 0) + b->growth * magnitude +
                   b->underflow;
    bound = (bound + carried) * (1 + 0x1p-20);
    node->value[out] = total;
    node->error[out] = tidy_bound(bound, total);
}

/* Output o of one line of neighbouring elements, which starts at element `line` of x. */
static void certified_output(struct node *node, const struct node *x, const struct taps *taps,
                             size_t out, size_t line, size_t o, const struct bounding *b)
{
    double sum = 0, low = 0, magnitude = 0, carried = 0;
    for (size_t t = taps->first[o]; t < taps->first[o + 1]; t++) {
        size_t at = line + taps->index[t];
        double v = x->value[at], w = taps->weight ? taps->weight[t] : 1, p = w * v;
        low += two_sum(&sum, p);
        magnitude += fabs(p);
        carried += b->unsure * fabs(v);
        if (b->inexact) carried += (fabs(w) + taps->weight_error) * node_error(x, at);
    }
    finish_output(node, out, b, sum, low, magnitude, carried);
}

enum { WIDTH = 64 };

/* Output o of `width` neighbouring lines, the first of which starts at element `line`
 * of x. */
static void certified_outputs(struct node *node, const struct node *x, const struct taps *taps,
                              size_t out, size_t line, size_t step, size_t o, size_t width,
                              const struct bounding *b)
{
    double sum[WIDTH] = { 0 }, low[WIDTH] = { 0 }, magnitude[WIDTH] = { 0 }, carried[WIDTH] = { 0 };
    for (size_t t = taps->first[o]; t < taps->first[o + 1]; t++) {
        size_t at = line + taps->index[t] * step;
        const double *v = x->value + at;
        double w = taps->weight ? taps->weight[t] : 1;
        for (size_t j = 0; j < width; j++) {
            double p = w * v[j];
            low[j] += two_sum(&sum[j], p);
            magnitude[j] += fabs(p);
            carried[j] += b->unsure * fabs(v[j]);
        }
        for (size_t j = 0; b->inexact && j < width; j++)
            carried[j] += (fabs(w) + taps->weight_error) * node_error(x, at + j);
    }
    for (size_t j = 0; j < width; j++)
        finish_output(node, out + j, b, sum[j], low[j], magnitude[j], carried[j]);
}

/* Output o of all lines of block a. */
static void certified_block(struct node *node, const struct node *x, const struct taps *taps,
                            size_t a, size_t inner, size_t o, const struct bounding *b)
{
    size_t out = (a * taps->outputs + o) * inner, line = a * taps->inputs * inner;
    if (inner == 1) {
        certified_output(node, x, taps, out, line, o, b);
        return;
    }
    for (size_t j = 0; j < inner; j += WIDTH)
        certified_outputs(node, x, taps, out + j, line + j, inner, o,
                          inner - j < WIDTH ? inner - j : WIDTH, b);
}

static double native_element(const struct node *x, const struct taps *taps, size_t line,
                             size_t step, size_t o, bool single)
{
    double sum = 0;
    for (size_t t = taps->first[o]; t < taps->first[o + 1]; t++) {
        double p = x->value[line + taps->index[t] * step];
        if (taps->weight) p = single ? (float)((float)taps->weight[t] * p) : taps->weight[t] * p;
        sum = single ? (float)(sum + p) : sum + p;
    }
    return sum;
}

static void evaluate(struct tape *tape, struct node *node, const struct node *x,
                     const struct taps *taps, size_t inner)
{
    bool certify = node_need_errors(tape, node), single = tape_is_single(tape);
    size_t outer = node->n && taps->outputs ? node->n / inner / taps->outputs : 0;
    struct bounding *bounds = tape_allocate(tape, certify ? taps->outputs : 0, sizeof *bounds);

    if (tape_failed(tape)) return;
    if (tape_is_model(tape)) {
        taps_model(tape, node, x, taps, inner);
        return;
    }
    for (size_t o = 0; certify && o < taps->outputs; o++) bounds[o] = bounding_of(tape, x, taps, o);
    for (size_t a = 0; a < outer; a++)
        for (size_t o = 0; o < taps->outputs; o++) {
            if (certify) {
                certified_block(node, x, taps, a, inner, o, &bounds[o]);
                continue;
            }
            for (size_t j = 0; j < inner; j++)
                node->value[(a * taps->outputs + o) * inner + j] =
                    native_element(x, taps, a * taps->inputs * inner + j, inner, o, single);
        }
}

struct node *node_taps(struct tape *tape, struct node *x, int dim, struct taps *taps)
{
    int64_t shape[TENSOR_MAX_RANK];

    if (tape_failed(tape) || !taps) return x;
    x = node_to_real(tape, x);
    if (x->imaginary)
        return node_complex(tape, node_taps(tape, node_real_part(tape, x), dim, taps),
                            node_taps(tape, node_imaginary_part(tape, x), dim, taps));
    struct mapping *m = tape_allocate(tape, 1, sizeof *m);
    (void)node_values(tape, x);
    if (tape_failed(tape)) return tape_failure(tape);
    *m = (struct mapping){ taps, dim, 1 };
    memcpy(shape, x->shape, sizeof shape);
    for (int d = dim + 1; d < x->rank; d++) m->inner *= (size_t)shape[d];
    shape[dim] = (int64_t)taps->outputs;
    struct node *node = node_new(tape, &taps_primitive, x->dtype, x->rank, shape, 1, &x, m);
    if (!tape_failed(tape)) evaluate(tape, node, x, taps, m->inner);
    model_stages(tape, node);
    return node;
}
