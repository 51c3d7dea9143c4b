/* Convolution over three spatial dimensions and its two adjoints, by im2col and gemm.
 *
 * The three roles are one trilinear form sum x * w * y seen from its three arguments, so each is
 * the gradient of the others. Column buffers hold one image and one group at a time. Bounds are
 * those of the matrix product (gamma_k times norms of rows and columns); where columns are
 * folded back (INPUT_ADJOINT) the bounds are folded with them.
 */
#include "bench/primitives/convolution.h"

#include <math.h>
#include <string.h>

#include "bench/arithmetic/compensated.h"
#include "bench/arithmetic/dot.h"
#include "bench/arithmetic/gemm.h"
#include "bench/arithmetic/norms.h"
#include "bench/arithmetic/rounding.h"
#include "bench/arithmetic/sum_spread.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/certified_matmul.h"
#include "bench/primitives/chain_rule.h"
#include "bench/primitives/complex_parts.h"
#include "bench/primitives/deviating_product.h"
#include "bench/primitives/short_factors.h"
#include "bench/tape/bounds.h"
#include "bench/tape/enclosure.h"
#include "bench/tape/promotion.h"
#include "core/checked.h"

struct convolution {
    enum convolution_role role;
    struct convolution_geometry g;
    size_t images, groups;
    size_t channels, filters; /* per group */
    size_t taps;              /* kernel positions */
    size_t points;            /* output positions of one image */
    size_t pixels;            /* input positions of one image and channel */
};

/* Input position read by output point `point` at tap `tap`, or -1 in the padding. */
static int64_t pixel_of(const struct convolution_geometry *g, size_t point, size_t tap)
{
    int64_t pixel = 0, scale = 1;
    for (int d = 2; d >= 0; d--) {
        int64_t o = (int64_t)(point % (size_t)g->y[2 + d]),
                k = (int64_t)(tap % (size_t)g->w[2 + d]);
        point /= (size_t)g->y[2 + d];
        tap /= (size_t)g->w[2 + d];
        int64_t i = o * g->stride[d] - g->padding[d] + k * g->dilation[d];
        if (i < 0 || i >= g->x[2 + d]) return -1;
        pixel += i * scale;
        scale *= g->x[2 + d];
    }
    return pixel;
}

static int64_t *pixel_map(struct tape *tape, const struct convolution *c)
{
    int64_t *map = tape_allocate(tape, c->taps * c->points, sizeof *map);
    for (size_t tap = 0; map && tap < c->taps; tap++)
        for (size_t point = 0; point < c->points; point++)
            map[tap * c->points + point] = pixel_of(&c->g, point, tap);
    return map;
}

/* columns (channels * taps, points) of one image and group. */
static void unfold(double *columns, const double *x, const int64_t *map,
                   const struct convolution *c)
{
    for (size_t channel = 0; channel < c->channels; channel++, x += c->pixels)
        for (size_t k = 0; k < c->taps * c->points; k++) *columns++ = map[k] < 0 ? 0 : x[map[k]];
}

static void fold(double *x, const double *columns, const int64_t *map, const struct convolution *c,
                 bool single)
{
    for (size_t channel = 0; channel < c->channels; channel++, x += c->pixels)
        for (size_t k = 0; k < c->taps * c->points; k++, columns++) {
            if (map[k] < 0) continue;
            double sum = x[map[k]] + *columns;
            x[map[k]] = single ? (float)sum : sum;
        }
}

/* As fold, the columns' bounds and the roundings of the sums into `error`. */
static void fold_bounds(double *error, const double *bounds, const int64_t *map,
                        const struct convolution *c, double *magnitude, const double *columns)
{
    for (size_t channel = 0; channel < c->channels;
         channel++, error += c->pixels, magnitude += c->pixels)
        for (size_t k = 0; k < c->taps * c->points; k++, bounds++, columns++) {
            if (map[k] < 0) continue;
            error[map[k]] += *bounds;
            magnitude[map[k]] += fabs(*columns);
        }
}

/* The three arrays of one image and group inside their tensors. */
static size_t x_start(const struct convolution *c, size_t image, size_t group)
{
    return (image * c->groups + group) * c->channels * c->pixels;
}

static size_t y_start(const struct convolution *c, size_t image, size_t group)
{
    return (image * c->groups + group) * c->filters * c->points;
}

static size_t w_start(const struct convolution *c, size_t group)
{
    return group * c->filters * c->channels * c->taps;
}

/* z = op(a) op(b), plus z with `add`; with `scratch`, in float, by way of copies there. */
static void multiply(struct tape *tape, double *z, const struct gemm *shape, const double *a,
                     const double *b, float *scratch)
{
    size_t m = shape->m, n = shape->n, k = shape->k;
    if (!scratch) {
        deviating_gemm(tape, z, shape, a, b);
        return;
    }
    float *x = scratch, *y = x + m * k, *out = y + k * n;
    for (size_t i = 0; i < m * k; i++) x[i] = (float)a[i];
    for (size_t i = 0; i < k * n; i++) y[i] = (float)b[i];
    for (size_t i = 0; i < m * n; i++) out[i] = (float)z[i];
    gemm_float(out, shape, x, y);
    for (size_t i = 0; i < m * n; i++) z[i] = out[i];
}

/* bound[i][j] += gamma |a_i| |b_j| + |Ea_i| |b_j| + (|a_i| + |Ea_i|) |Eb_j|: one product's bound
 * from the norms of its lines. */
static void add_norm_bounds(const struct tape *tape, double growth, double *bound, size_t m,
                            size_t n, size_t k, const double *a, const double *ea, const double *b,
                            const double *eb)
{
    double gamma = gamma_of((double)(k + 2)) * (1 + 0x1p-20);
    if (tape_is_model(tape)) gamma = growth * tape->unit;
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++)
            bound[i * n + j] += (gamma * a[i] * b[j] + ea[i] * b[j] + (a[i] + ea[i]) * eb[j] +
                                 (double)k * tape->tiny) *
                                (1 + 0x1p-40);
}

/* Products of two matrices' lines: factor k of line i of the first is first[i * row + k * step]. */
struct terms {
    const double *first, *second;
    size_t m, n, k, row_first, step_first, row_second, step_second;
};

/* Add the lines of product `at` as line w; lines that are not there are walked, too. */
static void add_lines(struct sum_spread_factors *factors, size_t w, const struct terms *t,
                      size_t at)
{
    for (size_t v = w; v < SUM_SPREAD_LINES; v++) {
        factors->x[v] = t->first + at / t->n * t->row_first;
        factors->y[v] = t->second + at % t->n * t->row_second;
    }
}

/* In a model: how much of unit |a_i| |b_j| the roundings of the products (i, j) make; in the mean the worst of
 * those that are looked at. `term` is room for SUM_SPREAD_LINES times k. */
static double growth_of(const struct tape *tape, const struct terms *t, double *term,
                        const struct convolution *c)
{
    enum { TERMS_LOOKED_AT = 1 << 17, LEAST_LOOKED_AT = 16 };
    double worst = 0, x[SUM_SPREAD_LINES], y[SUM_SPREAD_LINES], spread[SUM_SPREAD_LINES];
    struct sum_spread_factors factors = { .n = t->k,
                                          .step_x = t->step_first,
                                          .step_y = t->step_second };
    size_t w = 0;
    if (!tape_is_typical(tape)) return dot_growth(tape, t->k);
    if (t->k == 0) return 0;
    size_t count = TERMS_LOOKED_AT / t->k / (c->images * c->groups) + LEAST_LOOKED_AT;
    size_t stride = t->m * t->n / count + 1;
    for (size_t at = 0; at < t->m * t->n; at += stride) {
        add_lines(&factors, w, t, at);
        if (++w < SUM_SPREAD_LINES && at + stride < t->m * t->n) continue;
        sum_spread_multiply(term, x, y, &factors);
        sum_spread_of_lines(spread, term, t->k, false, true, !tape->wide);
        for (size_t j = 0; j < w; j++) {
            double norms = x[j] * y[j];
            if (norms > 0 && isfinite(spread[j])) worst = fmax(worst, spread[j] / norms);
        }
        w = 0;
    }
    return sqrt(worst);
}

struct workspace {
    int64_t *map;
    double *columns, *column_bounds, *product;
    double *scratch_errors;
    double *norm_a, *norm_ea, *norm_b, *norm_eb;
    float *single;
    double *magnitude, *term;
};

static size_t largest(size_t a, size_t b) { return a > b ? a : b; }

static bool workspace_open(struct workspace *w, struct tape *tape, const struct convolution *c)
{
    size_t depth = c->channels * c->taps;
    size_t lines = largest(largest(depth, c->filters), c->points);
    size_t big = largest(largest(depth * c->points, c->filters * c->points), depth * c->filters);
    memset(w, 0, sizeof *w);
    w->map = pixel_map(tape, c);
    w->columns = tape_allocate(tape, depth * c->points, sizeof(double));
    w->product = tape_allocate(tape, big, sizeof(double));
    if (tape_is_reference(tape)) {
        w->column_bounds = tape_allocate(tape, depth * c->points, sizeof(double));
        w->scratch_errors = tape_allocate(tape, big, sizeof(double));
        w->norm_a = tape_allocate(tape, 4 * lines, sizeof(double));
        w->norm_ea = w->norm_a + lines;
        w->norm_b = w->norm_a + 2 * lines;
        w->norm_eb = w->norm_a + 3 * lines;
        w->magnitude = tape_allocate(tape, c->channels * c->pixels, sizeof(double));
        w->term = tape_allocate(tape, SUM_SPREAD_LINES * lines, sizeof(double));
    }
    if (tape_is_single(tape))
        w->single = tape_allocate(
            tape, depth * c->points + c->filters * c->points + depth * c->filters, sizeof(float));
    return !tape_failed(tape);
}

/* Norms of the lines of `x` at `start` and of their bounds. */
static void norms_of(double *norm, double *error_norm, double *scratch, const struct node *x,
                     size_t start, size_t lines, size_t length, bool down)
{
    line_norms(norm, x->value + start, lines, length, down);
    memset(error_norm, 0, lines * sizeof *error_norm);
    if (node_is_exact(x)) return;
    for (size_t i = 0; i < lines * length; i++) scratch[i] = node_error(x, start + i);
    line_norms(error_norm, scratch, lines, length, down);
}

static void column_norms(struct workspace *w, const struct convolution *c, const struct node *x,
                         size_t start, double *norm, double *error_norm, bool down)
{
    size_t depth = c->channels * c->taps;
    size_t lines = down ? c->points : depth, length = down ? depth : c->points;
    line_norms(norm, w->columns, lines, length, down);
    memset(error_norm, 0, lines * sizeof *error_norm);
    if (node_is_exact(x)) return;
    /* The bounds of x unfold like x. They fit in the product buffer's error twin. */
    double *errors = w->scratch_errors;
    size_t at = 0;
    for (size_t channel = 0; channel < c->channels; channel++)
        for (size_t k = 0; k < c->taps * c->points; k++)
            errors[at++] =
                w->map[k] < 0 ? 0 : node_error(x, start + channel * c->pixels + (size_t)w->map[k]);
    line_norms(error_norm, errors, lines, length, down);
}

static void convolve(struct tape *tape, struct workspace *w, const struct convolution *c,
                     struct node *x, struct node *k, struct node *out)
{
    size_t depth = c->channels * c->taps;
    bool certify = tape_is_reference(tape);
    bool recomputes = tape->arithmetic == BENCH_REFERENCE && node_is_exact(x) && node_is_exact(k) &&
                      all_finite(x->value, x->n) && all_finite(k->value, k->n);
    double *scratch = NULL;
    for (size_t image = 0; image < c->images; image++)
        for (size_t group = 0; group < c->groups; group++) {
            size_t xs = x_start(c, image, group), ws = w_start(c, group),
                   ys = y_start(c, image, group);
            unfold(w->columns, x->value + xs, w->map, c);
            multiply(tape, out->value + ys,
                     &(struct gemm){ false, false, false, c->filters, c->points, depth, 0, 0, 0 },
                     k->value + ws, w->columns, w->single);
            if (!certify) continue;
            norms_of(w->norm_a, w->norm_ea, w->scratch_errors, k, ws, c->filters, depth, false);
            column_norms(w, c, x, xs, w->norm_b, w->norm_eb, true);
            struct terms terms = { k->value + ws, w->columns, c->filters, c->points, depth,
                                   depth,         1,          1,          c->points };
            add_norm_bounds(tape, growth_of(tape, &terms, w->term, c), out->error + ys, c->filters,
                            c->points, depth, w->norm_a, w->norm_ea, w->norm_b, w->norm_eb);
            if (!recomputes) continue;
            struct factor filters = { k->value + ws, DT_F64, c->filters, depth, 1 };
            struct factor patches = { w->columns, DT_F64, c->points, 1, c->points };
            matmul_recompute(tape, &scratch,
                             &(struct dot_matrix){ out->value + ys, out->error + ys, c->points,
                                                   c->points, filters, patches, depth, out->dtype,
                                                   node_is_narrow(x) && node_is_narrow(k), false });
        }
}

static void input_adjoint(struct tape *tape, struct workspace *w, const struct convolution *c,
                          struct node *y, struct node *k, struct node *out)
{
    size_t depth = c->channels * c->taps;
    bool certify = tape_is_reference(tape), single = tape_is_single(tape);
    for (size_t image = 0; image < c->images; image++)
        for (size_t group = 0; group < c->groups; group++) {
            size_t xs = x_start(c, image, group), ws = w_start(c, group),
                   ys = y_start(c, image, group);
            memset(w->columns, 0, depth * c->points * sizeof(double));
            multiply(tape, w->columns,
                     &(struct gemm){ true, false, false, depth, c->points, c->filters, 0, 0, 0 },
                     k->value + ws, y->value + ys, w->single);
            fold(out->value + xs, w->columns, w->map, c, single);
            if (!certify) continue;
            norms_of(w->norm_a, w->norm_ea, w->scratch_errors, k, ws, depth, c->filters, true);
            norms_of(w->norm_b, w->norm_eb, w->scratch_errors, y, ys, c->points, c->filters, true);
            memset(w->column_bounds, 0, depth * c->points * sizeof(double));
            struct terms terms = {
                k->value + ws, y->value + ys, depth, c->points, c->filters, 1, depth, 1, c->points
            };
            add_norm_bounds(tape, growth_of(tape, &terms, w->term, c), w->column_bounds, depth,
                            c->points, c->filters, w->norm_a, w->norm_ea, w->norm_b, w->norm_eb);
            memset(w->magnitude, 0, c->channels * c->pixels * sizeof(double));
            fold_bounds(out->error + xs, w->column_bounds, w->map, c, w->magnitude, w->columns);
            double growth = tape_is_model(tape) ? tape_sum_growth(tape, c->taps * c->filters)
                                                : (double)c->taps;
            double fold_error = growth * tape->unit * (1 + 0x1p-20);
            for (size_t i = 0; i < c->channels * c->pixels; i++)
                out->error[xs + i] = (out->error[xs + i] + fold_error * w->magnitude[i]) *
                                     (1 + 0x1p-40);
        }
}

/* The images' products are added one after the other: `points` terms of each in any order, and a rounding of the
 * sum for each image. (Added within dgemm, every term may have met points * images roundings.) */
static void add_image(const struct tape *tape, double *sum, double *error, const double *product,
                      size_t n)
{
    bool rounds = tape->arithmetic == BENCH_REFERENCE; /* nothing beside a kernel's */
    for (size_t i = 0; i < n; i++) {
        sum[i] += product[i];
        if (rounds) error[i] += UNIT_ROUNDOFF * fabs(sum[i]);
    }
}

static void weight_adjoint(struct tape *tape, struct workspace *w, const struct convolution *c,
                           struct node *x, struct node *y, struct node *out)
{
    size_t depth = c->channels * c->taps;
    bool certify = tape_is_reference(tape);
    /* Partial sums of one sign grow over the images, too. */
    double growing = tape_is_typical(tape) ? sqrt((double)c->images) : (double)c->images;
    for (size_t image = 0; image < c->images; image++)
        for (size_t group = 0; group < c->groups; group++) {
            size_t xs = x_start(c, image, group), ws = w_start(c, group),
                   ys = y_start(c, image, group);
            unfold(w->columns, x->value + xs, w->map, c);
            bool within = !certify || image == 0;
            multiply(tape, within ? out->value + ws : w->product,
                     &(struct gemm){ false, true, within && image > 0, c->filters, depth, c->points,
                                     0, 0, 0 },
                     y->value + ys, w->columns, w->single);
            if (!certify) continue;
            if (!within)
                add_image(tape, out->value + ws, out->error + ws, w->product, c->filters * depth);
            norms_of(w->norm_a, w->norm_ea, w->scratch_errors, y, ys, c->filters, c->points, false);
            column_norms(w, c, x, xs, w->norm_b, w->norm_eb, false);
            struct terms terms = { y->value + ys, w->columns, c->filters, depth, c->points,
                                   c->points,     1,          c->points,  1 };
            add_norm_bounds(tape, growth_of(tape, &terms, w->term, c) * growing, out->error + ws,
                            c->filters, depth, c->points, w->norm_a, w->norm_ea, w->norm_b,
                            w->norm_eb);
        }
}

/* ---- node ------------------------------------------------------------------------------------ */

static void convolution_backward(struct tape *tape, struct node *node, struct node *cotangent)
{
    const struct convolution *c = node->parameters;
    struct node *a = node->inputs[0], *b = node->inputs[1];
    const struct convolution_geometry *g = &c->g;
    struct node *da = NULL, *db = NULL;

    switch (c->role) {
    case CONVOLVE: /* a = x, b = w */
        if (a->tracked) da = node_convolution(tape, CONVOLVE_INPUT_ADJOINT, cotangent, b, g);
        if (b->tracked) db = node_convolution(tape, CONVOLVE_WEIGHT_ADJOINT, a, cotangent, g);
        break;
    case CONVOLVE_INPUT_ADJOINT: /* a = y, b = w */
        if (a->tracked) da = node_convolution(tape, CONVOLVE, cotangent, b, g);
        if (b->tracked) db = node_convolution(tape, CONVOLVE_WEIGHT_ADJOINT, cotangent, a, g);
        break;
    case CONVOLVE_WEIGHT_ADJOINT: /* a = x, b = y */
        if (a->tracked) da = node_convolution(tape, CONVOLVE_INPUT_ADJOINT, b, cotangent, g);
        if (b->tracked) db = node_convolution(tape, CONVOLVE, a, cotangent, g);
        break;
    }
    if (da) tape_accumulate(tape, a, da);
    if (db) tape_accumulate(tape, b, db);
}

/* The products whose sum is element i: element a of the first input times element b of the second. */
typedef void term_visitor(void *context, size_t a, size_t b);

/* Element `number` of three dimensions as its indices, and back. */
static void indices_of(int64_t *index, const int64_t *extent, size_t number)
{
    for (int d = 2; d >= 0; d--) {
        index[d] = (int64_t)(number % (size_t)extent[d]);
        number /= (size_t)extent[d];
    }
}

static size_t number_of(const int64_t *index, const int64_t *extent)
{
    return (size_t)((index[0] * extent[1] + index[1]) * extent[2] + index[2]);
}

/* The pixel that output index o reads at tap index k along dimension d, or none. */
static bool meets_pixel(int64_t *i, const struct convolution_geometry *g, int d, int64_t o,
                        int64_t k)
{
    *i = o * g->stride[d] - g->padding[d] + k * g->dilation[d];
    return *i >= 0 && *i < g->x[2 + d];
}

/* The output index that reads pixel index i there, or none. */
static bool meets_point(int64_t *o, const struct convolution_geometry *g, int d, int64_t i,
                        int64_t k)
{
    int64_t first = i + g->padding[d] - k * g->dilation[d];
    *o = first / g->stride[d];
    return first >= 0 && first % g->stride[d] == 0 && *o < g->y[2 + d];
}

static void each_term_of_output(const struct convolution *c, size_t i, term_visitor *visit,
                                void *context)
{
    const struct convolution_geometry *g = &c->g;
    size_t filter = i / c->points % c->filters;
    size_t group = i / c->points / c->filters % c->groups,
           image = i / c->points / c->filters / c->groups;
    int64_t o[3], k[3], pixel[3];
    indices_of(o, g->y + 2, i % c->points);
    for (size_t channel = 0; channel < c->channels; channel++) {
        size_t x = x_start(c, image, group) + channel * c->pixels;
        size_t w = w_start(c, group) + (filter * c->channels + channel) * c->taps;
        for (k[0] = 0; k[0] < g->w[2]; k[0]++) {
            if (!meets_pixel(&pixel[0], g, 0, o[0], k[0])) continue;
            for (k[1] = 0; k[1] < g->w[3]; k[1]++) {
                if (!meets_pixel(&pixel[1], g, 1, o[1], k[1])) continue;
                for (k[2] = 0; k[2] < g->w[4]; k[2]++)
                    if (meets_pixel(&pixel[2], g, 2, o[2], k[2]))
                        visit(context, x + number_of(pixel, g->x + 2), w + number_of(k, g->w + 2));
            }
        }
    }
}

static void each_term_of_input(const struct convolution *c, size_t i, term_visitor *visit,
                               void *context)
{
    const struct convolution_geometry *g = &c->g;
    size_t channel = i / c->pixels % c->channels;
    size_t group = i / c->pixels / c->channels % c->groups;
    size_t image = i / c->pixels / c->channels / c->groups;
    size_t y = y_start(c, image, group), w = w_start(c, group) + channel * c->taps;
    int64_t pixel[3], k[3], o[3];
    indices_of(pixel, g->x + 2, i % c->pixels);
    for (k[0] = 0; k[0] < g->w[2]; k[0]++) {
        if (!meets_point(&o[0], g, 0, pixel[0], k[0])) continue;
        for (k[1] = 0; k[1] < g->w[3]; k[1]++) {
            if (!meets_point(&o[1], g, 1, pixel[1], k[1])) continue;
            for (k[2] = 0; k[2] < g->w[4]; k[2]++) {
                if (!meets_point(&o[2], g, 2, pixel[2], k[2])) continue;
                size_t point = number_of(o, g->y + 2), tap = number_of(k, g->w + 2);
                for (size_t filter = 0; filter < c->filters; filter++)
                    visit(context, y + filter * c->points + point,
                          w + filter * c->channels * c->taps + tap);
            }
        }
    }
}

static void each_term_of_weight(const struct convolution *c, size_t i, term_visitor *visit,
                                void *context)
{
    const struct convolution_geometry *g = &c->g;
    size_t channel = i / c->taps % c->channels, filter = i / c->taps / c->channels % c->filters;
    size_t group = i / c->taps / c->channels / c->filters;
    int64_t k[3], o[3], pixel[3];
    indices_of(k, g->w + 2, i % c->taps);
    for (size_t image = 0; image < c->images; image++) {
        size_t x = x_start(c, image, group) + channel * c->pixels;
        size_t y = y_start(c, image, group) + filter * c->points;
        for (o[0] = 0; o[0] < g->y[2]; o[0]++) {
            if (!meets_pixel(&pixel[0], g, 0, o[0], k[0])) continue;
            for (o[1] = 0; o[1] < g->y[3]; o[1]++) {
                if (!meets_pixel(&pixel[1], g, 1, o[1], k[1])) continue;
                for (o[2] = 0; o[2] < g->y[4]; o[2]++)
                    if (meets_pixel(&pixel[2], g, 2, o[2], k[2]))
                        visit(context, x + number_of(pixel, g->x + 2), y + number_of(o, g->y + 2));
            }
        }
    }
}

static void each_term(const struct convolution *c, size_t i, term_visitor *visit, void *context)
{
    static void (*const by_role[])(const struct convolution *c, size_t i, term_visitor *visit,
                                   void *context) = {
        [CONVOLVE] = each_term_of_output,
        [CONVOLVE_INPUT_ADJOINT] = each_term_of_input,
        [CONVOLVE_WEIGHT_ADJOINT] = each_term_of_weight,
    };
    by_role[c->role](c, i, visit, context);
}

struct enclosed_sum {
    struct enclosure *enclosure;
    struct node *node;
    arb_ptr sum;
};

static void add_enclosed_term(void *context, size_t i, size_t j)
{
    struct enclosed_sum *s = context;
    arb_t a, b;
    arb_init(a);
    arb_init(b);
    enclosure_element(s->enclosure, a, s->node->inputs[0], i);
    enclosure_element(s->enclosure, b, s->node->inputs[1], j);
    arb_addmul(s->sum, a, b, s->enclosure->precision);
    s->enclosure->work++;
    arb_clear(a);
    arb_clear(b);
}

static void convolution_enclose(struct enclosure *enclosure, void *ball, struct node *node,
                                size_t i)
{
    struct enclosed_sum sum = { enclosure, node, ball };
    arb_zero(ball);
    each_term(node->parameters, i, add_enclosed_term, &sum);
}

struct running_product {
    const double *a, *b;
    struct running sum;
};

static void add_term(void *context, size_t i, size_t j)
{
    struct running_product *r = context;
    running_add_product(&r->sum, r->a[i], r->b[j]);
}

static bool convolution_pair(struct enclosure *enclosure, struct pair *out, struct node *node,
                             size_t i)
{
    const struct convolution *c = node->parameters;
    const struct node *a = node->inputs[0], *b = node->inputs[1];
    if (!node_is_exact(a) || !node_is_exact(b) || !a->value || !b->value) return false;
    struct running_product r = { .a = a->value, .b = b->value };
    each_term(c, i, add_term, &r);
    enclosure->work += r.sum.terms / 64;
    return running_pair(out, &r.sum, true);
}

static const struct primitive convolution_primitive = { "a convolution", convolution_backward,
                                                        convolution_enclose, convolution_pair };

static bool shape_is(const struct node *node, const int64_t *shape)
{
    return node->rank == 5 && !memcmp(node->shape, shape, 5 * sizeof *shape);
}

static struct node *complex_convolution(struct tape *tape, enum convolution_role role,
                                        struct node *a, struct node *b,
                                        const struct convolution_geometry *geometry)
{
    struct node *parts[2][2] = { { node_real_part(tape, a), node_imaginary_part(tape, a) },
                                 { node_real_part(tape, b), node_imaginary_part(tape, b) } };
    struct node *y[2][2];
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++)
            y[i][k] = node_convolution(tape, role, parts[0][i], parts[1][k], geometry);
    return node_complex(tape, node_subtract(tape, y[0][0], y[1][1]),
                        node_add(tape, y[0][1], y[1][0]));
}

/* The sizes of a convolution; NULL after a failure. */
static const struct convolution *convolution_of(struct tape *tape, enum convolution_role role,
                                                const struct convolution_geometry *geometry)
{
    struct convolution *c = tape_allocate(tape, 1, sizeof *c);
    if (!c) return NULL;
    *c = (struct convolution){ .role = role,
                               .g = *geometry,
                               .images = (size_t)geometry->x[0],
                               .groups = (size_t)geometry->groups,
                               .channels = (size_t)(geometry->x[1] / geometry->groups),
                               .filters = (size_t)(geometry->y[1] / geometry->groups) };
    if (shape_elements(&c->taps, 3, geometry->w + 2) &&
        shape_elements(&c->points, 3, geometry->y + 2) &&
        shape_elements(&c->pixels, 3, geometry->x + 2))
        return c;
    tape_fail(tape, STATUS_SKIP, "a result shape is negative or too large");
    return NULL;
}

static void evaluate(struct tape *tape, struct node *node, const struct convolution *c)
{
    struct node *a = node->inputs[0], *b = node->inputs[1];
    struct workspace workspace;

    (void)node_values(tape, a);
    (void)node_values(tape, b);
    if (tape_failed(tape)) return;
    memset(node->value, 0, node->n * sizeof *node->value);
    if (tape_is_reference(tape) && node_need_errors(tape, node))
        memset(node->error, 0, node->n * sizeof *node->error);
    struct arena_mark before_workspace = arena_mark(tape->arena);
    if (!node->n || !c->images || !workspace_open(&workspace, tape, c)) return;
    switch (c->role) {
    case CONVOLVE: convolve(tape, &workspace, c, a, b, node); break;
    case CONVOLVE_INPUT_ADJOINT: input_adjoint(tape, &workspace, c, a, b, node); break;
    case CONVOLVE_WEIGHT_ADJOINT: weight_adjoint(tape, &workspace, c, a, b, node); break;
    }
    arena_rewind(tape->arena, before_workspace);
    for (size_t i = 0; node->error && i < node->n; i++)
        node->error[i] = tidy_bound(node->error[i], node->value[i]);
}

struct node *node_convolution(struct tape *tape, enum convolution_role role, struct node *a,
                              struct node *b, const struct convolution_geometry *geometry)
{
    const int64_t *shapes[3][3] = { /* a, b, result by role */
                                    { geometry->x, geometry->w, geometry->y },
                                    { geometry->y, geometry->w, geometry->x },
                                    { geometry->x, geometry->y, geometry->w }
    };

    if (tape_failed(tape)) return tape_failure(tape);
    if (a->imaginary || b->imaginary) return complex_convolution(tape, role, a, b, geometry);
    a = node_to_real(tape, a);
    b = node_to_real(tape, b);
    if (!shape_is(a, shapes[role][0]) || !shape_is(b, shapes[role][1]) || geometry->groups < 1 ||
        geometry->x[1] % geometry->groups || geometry->y[1] % geometry->groups) {
        tape_fail(tape, STATUS_SKIP, "the shapes of a convolution do not fit");
        return tape_failure(tape);
    }
    const struct convolution *c = convolution_of(tape, role, geometry);
    if (!c) return a;
    a = node_factor(tape, a);
    b = node_factor(tape, b);
    struct node *inputs[2] = { a, b };
    struct node *node = node_new(tape, &convolution_primitive, dtype_promote(a->dtype, b->dtype), 5,
                                 shapes[role][2], 2, inputs, c);
    if (!tape_failed(tape)) evaluate(tape, node, c);
    model_stages(tape, node);
    return node;
}
