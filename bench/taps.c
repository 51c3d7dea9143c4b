/* Sparse linear maps along one dimension.
 *
 * Sums are compensated (Sum2 of Ogita, Rump and Oishi, 2005): |y - exact| <= u |y| +
 * gamma_n^2 sum|w x| + u sum|w x| for the products' roundings (none where weights are 1) +
 * sum (|w| error(x) + weight_error |x|).
 */
#include "bench/taps.h"

#include <string.h>

#include "bench/pull.h"

struct taps *taps_windows(struct graph *graph, size_t inputs, size_t outputs,
                          const int64_t *start, const int64_t *end)
{
    size_t total = 0;
    for (size_t o = 0; o < outputs; o++)
        total += end[o] > start[o] ? (size_t)(end[o] - start[o]) : 0;
    struct taps *taps = graph_allocate(graph, 1, sizeof *taps);
    size_t *first = graph_allocate(graph, outputs + 1, sizeof *first);
    size_t *index = graph_allocate(graph, total, sizeof *index);
    if (!taps || !first || !index) return NULL;
    size_t t = 0;
    for (size_t o = 0; o < outputs; o++) {
        first[o] = t;
        for (int64_t i = start[o]; i < end[o]; i++) index[t++] = (size_t)i;
    }
    first[outputs] = t;
    *taps = (struct taps){
        .inputs = inputs, .outputs = outputs, .first = first, .index = index
    };
    return taps;
}

/* The adjoint: taps grouped by input, in the order of outputs. */
static struct taps *transpose(struct graph *graph, struct taps *taps)
{
    size_t total = taps->first[taps->outputs];
    if (taps->transposed) return taps->transposed;
    struct taps *out = graph_allocate(graph, 1, sizeof *out);
    size_t *first = graph_allocate(graph, taps->inputs + 2, sizeof *first);
    size_t *index = graph_allocate(graph, total, sizeof *index);
    size_t *origin = graph_allocate(graph, total, sizeof *origin);
    double *weight = taps->weight ? graph_allocate(graph, total, sizeof *weight) : NULL;
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
    out->transposed = taps;
    return taps->transposed = out;
}

struct mapping {
    struct taps *taps;
    int dim;
    size_t inner;
};

static void taps_backward(struct graph *graph, struct node *node, struct node *cotangent)
{
    const struct mapping *m = node->parameters;
    struct taps *adjoint = transpose(graph, m->taps);
    if (adjoint)
        graph_accumulate(graph, node->inputs[0],
                         node_taps(graph, cotangent, m->dim, adjoint));
}

static void exact_weight(arb_t weight, const struct taps *taps, size_t t, slong precision)
{
    if (!taps->weight)
        arb_one(weight);
    else if (!taps->exact)
        arb_set_d(weight, taps->weight[t]);
    else
        taps->exact(weight, taps->context, taps->origin ? taps->origin[t] : t, precision);
}

static void taps_pull(struct pull *pull, void *ball, struct node *node, size_t i)
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
        pull_element(pull, x, node->inputs[0],
                     (above * taps->inputs + taps->index[t]) * m->inner + below);
        exact_weight(weight, taps, t, pull->precision);
        arb_addmul(ball, x, weight, pull->precision);
    }
    arb_clear(x);
    arb_clear(weight);
}

static const struct primitive taps_primitive = { "a weighted sum", taps_backward,
                                                 taps_pull, NULL };

/* gamma_n^2 of n additions. */
static double second_order(size_t n)
{
    double nu = (double)n * UNIT_ROUNDOFF;
    return nu / (1 - nu) * (nu / (1 - nu));
}

/* What the bound of a sum is made of; see the head of the file. */
struct bounding {
    bool inexact;  /* x is */
    double unsure; /* of a weight: its own error; in a model, also that of the source
                      coordinate */
    double growth, underflow;
    bool several;
};

static struct bounding bounding_of(const struct graph *graph, const struct node *x,
                                   const struct taps *taps, size_t o)
{
    size_t n = taps->first[o + 1] - taps->first[o];
    struct bounding b = { .inexact = !node_is_exact(x),
                          .unsure = taps->weight_error,
                          .several = n > 1 };
    if (n > 1) b.growth = second_order(n + 2);
    if (taps->weight) {
        b.growth += UNIT_ROUNDOFF;
        b.underflow = (double)n * 0x1p-1074;
        /* A kernel forms a weight from a source coordinate that it rounds. */
        if (graph_is_model(graph) && n)
            b.unsure += graph->unit * (2 + (double)taps->index[taps->first[o + 1] - 1]);
    }
    if (graph_is_model(graph)) b.growth += graph_sum_growth(graph, n) * graph->unit;
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
    node->error[out] = !isfinite(total) ? 0 : bound >= 0 ? bound : INFINITY;
}

/* Output o of one line of neighbouring elements, which starts at element `line` of x. */
static void certified_output(struct node *node, const struct node *x,
                             const struct taps *taps, size_t out, size_t line, size_t o,
                             const struct bounding *b)
{
    double sum = 0, low = 0, magnitude = 0, carried = 0;
    for (size_t t = taps->first[o]; t < taps->first[o + 1]; t++) {
        size_t at = line + taps->index[t];
        double v = x->value[at], w = taps->weight ? taps->weight[t] : 1, p = w * v;
        double s = sum + p, z = s - sum;
        low += (sum - (s - z)) + (p - z);
        sum = s;
        magnitude += fabs(p);
        carried += b->unsure * fabs(v);
        if (b->inexact) carried += (fabs(w) + taps->weight_error) * node_error(x, at);
    }
    finish_output(node, out, b, sum, low, magnitude, carried);
}

enum { WIDTH = 64 };

/* Output o of `width` neighbouring lines, the first of which starts at element `line`
 * of x. */
static void certified_outputs(struct node *node, const struct node *x,
                              const struct taps *taps, size_t out, size_t line, size_t step,
                              size_t o, size_t width, const struct bounding *b)
{
    double sum[WIDTH] = { 0 }, low[WIDTH] = { 0 }, magnitude[WIDTH] = { 0 },
           carried[WIDTH] = { 0 };
    for (size_t t = taps->first[o]; t < taps->first[o + 1]; t++) {
        size_t at = line + taps->index[t] * step;
        const double *v = x->value + at;
        double w = taps->weight ? taps->weight[t] : 1;
        for (size_t j = 0; j < width; j++) {
            double p = w * v[j], s = sum[j] + p, z = s - sum[j];
            low[j] += (sum[j] - (s - z)) + (p - z);
            sum[j] = s;
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
static void certified_block(struct node *node, const struct node *x,
                            const struct taps *taps, size_t a, size_t inner, size_t o,
                            const struct bounding *b)
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
        if (taps->weight)
            p = single ? (float)((float)taps->weight[t] * p) : taps->weight[t] * p;
        sum = single ? (float)(sum + p) : sum + p;
    }
    return sum;
}

static void evaluate(struct graph *graph, struct node *node, const struct node *x,
                     const struct taps *taps, size_t inner)
{
    bool certify = node_need_errors(graph, node), single = graph_is_single(graph);
    size_t outer = node->n && taps->outputs ? node->n / inner / taps->outputs : 0;
    struct bounding *bounds =
        graph_allocate(graph, certify ? taps->outputs : 0, sizeof *bounds);

    if (graph_failed(graph)) return;
    for (size_t o = 0; certify && o < taps->outputs; o++)
        bounds[o] = bounding_of(graph, x, taps, o);
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

struct node *node_taps(struct graph *graph, struct node *x, int dim, struct taps *taps)
{
    int64_t shape[TENSOR_MAX_RANK];

    if (graph_failed(graph) || !taps) return x;
    x = node_to_real(graph, x);
    if (x->imaginary)
        return node_complex(graph, node_taps(graph, node_real_part(graph, x), dim, taps),
                            node_taps(graph, node_imaginary_part(graph, x), dim, taps));
    struct mapping *m = graph_allocate(graph, 1, sizeof *m);
    (void)node_values(graph, x);
    if (graph_failed(graph)) return x;
    *m = (struct mapping){ taps, dim, 1 };
    memcpy(shape, x->shape, sizeof shape);
    for (int d = dim + 1; d < x->rank; d++) m->inner *= (size_t)shape[d];
    shape[dim] = (int64_t)taps->outputs;
    struct node *node =
        node_new(graph, &taps_primitive, x->dtype, x->rank, shape, 1, &x, m);
    if (!graph_failed(graph)) evaluate(graph, node, x, taps, m->inner);
    return node;
}
