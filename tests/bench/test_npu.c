/* The fused operators of torch_npu against their definitions, written out element by element in long double.
 * PyTorch has none of them; docs/peer-differences.md says where the definitions come from.
 *
 * A row is a call and the function that computes what it returns. Inputs are whatever the notation draws
 * (bench/samples.h); the definition reads them from the call, so every option stands in the call alone.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/samples.h"
#include "support/suite.h"

/* A tensor argument as doubles; x is NULL for None and for arguments that are not there. */
struct view {
    double *x;
    int rank;
    int64_t shape[TENSOR_MAX_RANK];
    size_t n;
};

enum { MOST_OUTPUTS = 3, MOST_ELEMENTS = 4096 };

struct work {
    const struct api_case *c;
    struct arena *arena;
    size_t outputs;
    size_t n[MOST_OUTPUTS];
    long double want[MOST_OUTPUTS][MOST_ELEMENTS];
};

static struct view view_of(struct work *w, const struct value *v)
{
    struct view view = { 0 };
    if (!v || v->kind != VALUE_TENSOR) return view;
    const struct tensor *t = v->tensor.tensor;
    view.rank = t->rank;
    memcpy(view.shape, t->shape, sizeof view.shape);
    view.n = tensor_elements(t);
    view.x = arena_allocate_array(w->arena, view.n + 1, sizeof *view.x);
    dtype_to_double(view.x, t->data, t->dtype, view.n);
    return view;
}

static const struct value *argument(const struct work *w, size_t k)
{
    return k < w->c->args.list.count ? &w->c->args.list.items[k] : NULL;
}

static struct view tensor(struct work *w, size_t k) { return view_of(w, argument(w, k)); }

static struct view keyword_tensor(struct work *w, const char *name)
{
    return view_of(w, value_find(&w->c->kwargs, name));
}

static double number_of(const struct value *v, double fallback)
{
    if (!v) return fallback;
    return v->kind == VALUE_INT     ? (double)v->integer
           : v->kind == VALUE_FLOAT ? v->real
           : v->kind == VALUE_BOOL  ? v->boolean
                                    : fallback;
}

static double number(const struct work *w, size_t k, double fallback)
{
    return number_of(argument(w, k), fallback);
}

static double keyword(const struct work *w, const char *name, double fallback)
{
    return number_of(value_find(&w->c->kwargs, name), fallback);
}

static long double *output(struct work *w, size_t n)
{
    ck_assert_uint_le(n, MOST_ELEMENTS);
    ck_assert_uint_lt(w->outputs, MOST_OUTPUTS);
    w->n[w->outputs] = n;
    return w->want[w->outputs++];
}

static long double sigmoid(long double x) { return 1 / (1 + expl(-x)); }

/* Element i of `v`, whose shape broadcasts to the `rank` extents of `shape`. */
static double broadcast_at(const struct view *v, int rank, const int64_t *shape, size_t i)
{
    size_t at = 0, step = 1;
    for (int d = rank - 1, e = v->rank - 1; e >= 0; d--, e--) {
        size_t k = i % (size_t)shape[d];
        i /= (size_t)shape[d];
        if (v->shape[e] != 1) at += k * step;
        step *= (size_t)v->shape[e];
    }
    return v->x[at];
}

/* ---- optimizers ------------------------------------------------------------------------------------------- */

/* 1 - power, or epsilon where that is nothing. */
static long double correction(long double power, long double epsilon)
{
    return 1 - power == 0 ? epsilon : 1 - power;
}

static void adam_w(struct work *w)
{
    long double lr = number(w, 2, 0), decay = number(w, 3, 0), b1 = number(w, 4, 0),
                b2 = number(w, 5, 0), eps = number(w, 6, 0);
    long double c1 = correction(number(w, 0, 0) * b1, eps),
                c2 = correction(number(w, 1, 0) * b2, eps);
    struct view g = tensor(w, 7), most = tensor(w, 8);
    const struct value *out = value_find(&w->c->kwargs, "out");
    struct view var = view_of(w, &out->list.items[0]), m = view_of(w, &out->list.items[1]),
                v = view_of(w, &out->list.items[2]);
    long double *x = output(w, var.n), *m_new = output(w, var.n), *v_new = output(w, var.n);
    for (size_t i = 0; i < var.n; i++) {
        long double grad = number(w, 10, 0) != 0 ? -g.x[i] : g.x[i];
        m_new[i] = b1 * m.x[i] + (1 - b1) * grad;
        v_new[i] = b2 * v.x[i] + (1 - b2) * grad * grad;
        long double second = number(w, 9, 0) != 0 ? fmaxl(most.x[i], v_new[i]) : v_new[i];
        x[i] = var.x[i] * (1 - lr * decay) - lr * (m_new[i] / c1) / (sqrtl(second / c2) + eps);
    }
}

static void adam(struct work *w)
{
    long double b1 = number(w, 3, 0), b2 = number(w, 4, 0), eps = number(w, 5, 0);
    long double lr = number(w, 2, 0) * sqrtl(1 - (long double)number(w, 1, 0)) /
                     (1 - (long double)number(w, 0, 0));
    struct view g = tensor(w, 6);
    const struct value *out = value_find(&w->c->kwargs, "out");
    struct view var = view_of(w, &out->list.items[0]), m = view_of(w, &out->list.items[1]),
                v = view_of(w, &out->list.items[2]);
    long double *x = output(w, var.n), *m_new = output(w, var.n), *v_new = output(w, var.n);
    for (size_t i = 0; i < var.n; i++) {
        m_new[i] = b1 * m.x[i] + (1 - b1) * g.x[i];
        v_new[i] = b2 * v.x[i] + (1 - b2) * g.x[i] * g.x[i];
        long double top = number(w, 8, 0) != 0 ? b1 * m_new[i] + (1 - b1) * g.x[i] : m_new[i];
        x[i] = var.x[i] - lr * top / (sqrtl(v_new[i]) + eps);
    }
}

/* ---- activations, norms ------------------------------------------------------------------------------------- */

static void fast_gelu(struct work *w)
{
    struct view x = tensor(w, 0);
    long double *y = output(w, x.n);
    for (size_t i = 0; i < x.n; i++) y[i] = x.x[i] * sigmoid(1.702 * (long double)x.x[i]);
}

static void fast_gelu_backward(struct work *w)
{
    struct view g = tensor(w, 0), x = tensor(w, 1);
    long double *y = output(w, x.n);
    for (size_t i = 0; i < x.n; i++) {
        long double s = sigmoid(1.702 * (long double)x.x[i]);
        y[i] = g.x[i] * (s + 1.702 * x.x[i] * s * (1 - s));
    }
}

static void mish(struct work *w)
{
    struct view x = tensor(w, 0);
    long double *y = output(w, x.n);
    for (size_t i = 0; i < x.n; i++) y[i] = x.x[i] * tanhl(log1pl(expl(x.x[i])));
}

/* Rows of the trailing dimensions: their mean and 1 / sqrt(variance + eps). */
static void row_moments(const double *x, size_t n, long double eps, long double *mean,
                        long double *rstd)
{
    long double sum = 0, square = 0;
    for (size_t i = 0; i < n; i++) sum += x[i];
    *mean = sum / n;
    for (size_t i = 0; i < n; i++) square += (x[i] - *mean) * (x[i] - *mean);
    *rstd = 1 / sqrtl(square / n + eps);
}

static void layer_norm_eval(struct work *w)
{
    struct view x = tensor(w, 0), weight = tensor(w, 2), bias = tensor(w, 3);
    const struct value *shape = argument(w, 1);
    size_t width = 1;
    for (size_t k = 0; k < shape->list.count; k++) width *= (size_t)shape->list.items[k].integer;
    long double *y = output(w, x.n), mean, rstd;
    for (size_t i = 0; i < x.n; i++) {
        size_t at = i % width;
        row_moments(x.x + i - at, width, number(w, 4, 1e-5), &mean, &rstd);
        y[i] = (x.x[i] - mean) * rstd * (weight.x ? weight.x[at] : 1) + (bias.x ? bias.x[at] : 0);
    }
}

static void rms_norm(struct work *w)
{
    struct view x = tensor(w, 0), gamma = tensor(w, 1);
    size_t width = gamma.n, rows = x.n / width;
    long double *y = output(w, x.n), *r = output(w, rows);
    for (size_t row = 0; row < rows; row++) {
        long double square = 0;
        for (size_t k = 0; k < width; k++)
            square += (long double)x.x[row * width + k] * x.x[row * width + k];
        r[row] = 1 / sqrtl(square / width + number(w, 2, 1e-5));
        for (size_t k = 0; k < width; k++)
            y[row * width + k] = x.x[row * width + k] * r[row] * gamma.x[k];
    }
}

/* d/dx of sum(dy x r gamma) with r the given 1 / rms; d/dgamma the same without gamma, over the rows. */
static void rms_norm_backward(struct work *w)
{
    struct view dy = tensor(w, 0), x = tensor(w, 1), gamma = tensor(w, 2), r = tensor(w, 3);
    size_t width = gamma.n, rows = x.n / width;
    long double *dx = output(w, x.n), *dgamma = output(w, width);
    for (size_t k = 0; k < width; k++) dgamma[k] = 0;
    for (size_t row = 0; row < rows; row++) {
        const double *xs = x.x + row * width, *dys = dy.x + row * width;
        long double dot = 0;
        for (size_t k = 0; k < width; k++) dot += (long double)dys[k] * gamma.x[k] * xs[k];
        for (size_t k = 0; k < width; k++) {
            dx[row * width + k] = r.x[row] * (dys[k] * (long double)gamma.x[k] -
                                              xs[k] * powl(r.x[row], 2) * dot / width);
            dgamma[k] += (long double)dys[k] * xs[k] * r.x[row];
        }
    }
}

static void group_norm_silu(struct work *w)
{
    struct view x = tensor(w, 0), weight = tensor(w, 1), bias = tensor(w, 2);
    size_t groups = (size_t)number(w, 3, 1), batch = (size_t)x.shape[0],
           channels = (size_t)x.shape[1];
    size_t area = 1;
    for (int d = 2; d < x.rank; d++) area *= (size_t)x.shape[d];
    size_t width = channels / groups * area;
    long double *y = output(w, x.n), *mean = output(w, batch * groups),
                *rstd = output(w, batch * groups);
    for (size_t b = 0; b < batch * groups; b++)
        row_moments(x.x + b * width, width, number(w, 4, 1e-5), &mean[b], &rstd[b]);
    for (size_t i = 0; i < x.n; i++) {
        size_t channel = i / area % channels, b = i / width;
        long double z = (x.x[i] - mean[b]) * rstd[b] * (weight.x ? weight.x[channel] : 1) +
                        (bias.x ? bias.x[channel] : 0);
        y[i] = z * sigmoid(z);
    }
}

/* ---- halves ----------------------------------------------------------------------------------------------------- */

static void rotary(struct work *w, bool pairs)
{
    struct view x = tensor(w, 0), r1 = tensor(w, 1), r2 = tensor(w, 2);
    size_t width = (size_t)x.shape[x.rank - 1], half = width / 2;
    long double *y = output(w, x.n);
    for (size_t i = 0; i < x.n; i++) {
        size_t k = i % width;
        size_t other = pairs ? (k % 2 ? i - 1 : i + 1) : k < half ? i + half : i - half;
        bool negative = pairs ? k % 2 == 0 : k < half;
        y[i] = (long double)broadcast_at(&r1, x.rank, x.shape, i) * x.x[i] +
               (long double)broadcast_at(&r2, x.rank, x.shape, i) *
                   (negative ? -x.x[other] : x.x[other]);
    }
}
static void rotary_half(struct work *w) { rotary(w, false); }
static void rotary_pairs(struct work *w) { rotary(w, true); }

/* Where element i of half the extent of `dim` lies in x, and how far behind it its partner. */
static size_t place_in_halves(const struct view *x, int dim, size_t i, size_t *partner)
{
    size_t inner = 1, half = (size_t)x->shape[dim] / 2;
    for (int d = dim + 1; d < x->rank; d++) inner *= (size_t)x->shape[d];
    *partner = half * inner;
    return i / (half * inner) * (2 * half * inner) + i % (half * inner);
}

static int wrapped(const struct work *w, size_t k, int rank)
{
    int dim = (int)number(w, k, -1);
    return dim < 0 ? dim + rank : dim;
}

static void swiglu(struct work *w)
{
    struct view x = tensor(w, 0);
    long double *y = output(w, x.n / 2);
    for (size_t i = 0; i < x.n / 2; i++) {
        size_t partner, at = place_in_halves(&x, wrapped(w, 1, x.rank), i, &partner);
        long double a = x.x[at];
        y[i] = a * sigmoid(a) * x.x[at + partner];
    }
}

static void swiglu_backward(struct work *w)
{
    struct view g = tensor(w, 0), x = tensor(w, 1);
    long double *y = output(w, x.n);
    for (size_t i = 0; i < x.n / 2; i++) {
        size_t partner, at = place_in_halves(&x, wrapped(w, 2, x.rank), i, &partner);
        long double a = x.x[at], s = sigmoid(a);
        y[at] = g.x[i] * (s + a * s * (1 - s)) * x.x[at + partner];
        y[at + partner] = g.x[i] * a * s;
    }
}

/* ---- sorting, gating, products --------------------------------------------------------------------------------------- */

static void sort_v2(struct work *w)
{
    struct view x = tensor(w, 0);
    int dim = x.rank ? wrapped(w, 1, x.rank) : 0;
    size_t extent = x.rank ? (size_t)x.shape[dim] : 1, inner = 1;
    for (int d = dim + 1; d < x.rank; d++) inner *= (size_t)x.shape[d];
    long double *y = output(w, x.n);
    for (size_t i = 0; i < x.n;
         i++) { /* the rank of each element in its line: NaN is above everything */
        size_t first = i / (extent * inner) * extent * inner + i % inner, below = 0;
        for (size_t k = 0; k < extent; k++) {
            size_t j = first + k * inner;
            bool less = isnan(x.x[i]) ? !isnan(x.x[j]) : x.x[j] < x.x[i];
            bool same = isnan(x.x[i]) ? isnan(x.x[j]) : x.x[j] == x.x[i];
            below += number(w, 2, 0) != 0 ? !less && !same : less;
            below += same && j < i;
        }
        y[first + below * inner] = x.x[i];
    }
}

static void moe_gating(struct work *w)
{
    struct view x = tensor(w, 0), finished = tensor(w, 1);
    size_t experts = (size_t)x.shape[x.rank - 1], rows = x.n / experts, k = (size_t)number(w, 2, 1);
    long double *y = output(w, rows * k), *expert = output(w, rows * k),
                *place = output(w, rows * k);
    for (size_t r = 0; r < rows; r++) {
        const double *line = x.x + r * experts;
        long double total = 0;
        for (size_t e = 0; e < experts; e++) total += expl(line[e]);
        for (size_t e = 0; e < experts; e++) {
            size_t above = 0;
            for (size_t f = 0; f < experts; f++)
                above += line[f] > line[e] || (line[f] == line[e] && f < e);
            if (above >= k) continue;
            y[r * k + above] = expl(line[e]) / total;
            expert[r * k + above] = finished.x && finished.x[r] != 0 ? experts : e;
            place[r * k + above] = above * rows + r;
        }
    }
}

static void linear(struct work *w)
{
    struct view x = tensor(w, 0), weight = tensor(w, 1), bias = tensor(w, 2);
    size_t in = (size_t)weight.shape[1], out = (size_t)weight.shape[0], rows = x.n / in;
    long double *y = output(w, rows * out);
    for (size_t r = 0; r < rows; r++)
        for (size_t o = 0; o < out; o++) {
            y[r * out + o] = bias.x ? bias.x[o] : 0;
            for (size_t k = 0; k < in; k++)
                y[r * out + o] += (long double)x.x[r * in + k] * weight.x[o * in + k];
        }
}

static void linear_backward(struct work *w)
{
    struct view g = tensor(w, 0), x = tensor(w, 1), weight = tensor(w, 2);
    size_t in = (size_t)weight.shape[1], out = (size_t)weight.shape[0], rows = x.n / in;
    long double *dx = output(w, x.n), *dw = output(w, weight.n);
    memset(dx, 0, x.n * sizeof *dx);
    memset(dw, 0, weight.n * sizeof *dw);
    for (size_t r = 0; r < rows; r++)
        for (size_t o = 0; o < out; o++)
            for (size_t k = 0; k < in; k++) {
                dx[r * in + k] += (long double)g.x[r * out + o] * weight.x[o * in + k];
                dw[o * in + k] += (long double)g.x[r * out + o] * x.x[r * in + k];
            }
}

/* ---- attention ----------------------------------------------------------------------------------------------------------- */

/* Masked scores are replaced by -10000; a triangular mask takes what lies above the diagonal. */
static void scaled_masked_softmax(struct work *w)
{
    struct view x = tensor(w, 0), mask = tensor(w, 1);
    size_t columns = (size_t)x.shape[x.rank - 1], rows = (size_t)x.shape[x.rank - 2];
    long double *y = output(w, x.n);
    for (size_t i = 0; i < x.n; i++) {
        bool masked = number(w, 3, 0) != 0 ? i % columns > i / columns % rows
                                           : broadcast_at(&mask, x.rank, x.shape, i) != 0;
        y[i] = expl(masked ? -10000 : number(w, 2, 1) * (long double)x.x[i]);
    }
    for (size_t first = 0; first < x.n; first += columns) {
        long double total = 0;
        for (size_t k = 0; k < columns; k++) total += y[first + k];
        for (size_t k = 0; k < columns; k++) y[first + k] /= total;
    }
}

/* Element (batch, head, position, channel) of a tensor in one of the layouts. */
static size_t at_layout(const char *layout, const size_t extent[4], size_t b, size_t n, size_t s,
                        size_t d)
{
    size_t B = extent[0], N = extent[1], S = extent[2], D = extent[3];
    if (!strcmp(layout, "BNSD")) return ((b * N + n) * S + s) * D + d;
    if (!strcmp(layout, "SBH")) return ((s * B + b) * N + n) * D + d;
    return ((b * S + s) * N + n) * D + d; /* BSND, BSH */
}

/* Is key j hidden from query i? By the operator's table of sparse modes. */
static bool is_hidden(const struct work *w, const struct view *mask, const size_t extent[4],
                      int64_t keys, size_t b, size_t n, int64_t i, int64_t j)
{
    int64_t mode = (int64_t)keyword(w, "sparse_mode", 0), queries = (int64_t)extent[2];
    double before = keyword(w, "pre_tockens", 2147483647),
           after = keyword(w, "next_tockens", 2147483647);
    int64_t shape[4] = { (int64_t)extent[0], (int64_t)extent[1], queries, keys };
    size_t flat = ((b * extent[1] + n) * extent[2] + (size_t)i) * (size_t)keys + (size_t)j;
    bool given = mask->x && broadcast_at(mask, 4, shape, flat) != 0;
    switch (mode) {
    case 0: return mask->x ? given : j - i > after || i - j > before;
    case 1: return given;
    case 2: return j > i;
    case 3: return j > i + keys - queries;
    default: return j - i > keys - queries + after || i - j > before - (keys - queries);
    }
}

static void fusion_attention(struct work *w)
{
    const char *layout = argument(w, 4)->string;
    struct view q = tensor(w, 0), k = tensor(w, 1), v = tensor(w, 2),
                mask = keyword_tensor(w, "atten_mask");
    struct view pse = keyword_tensor(w, "pse");
    bool folded = strlen(layout) == 3, sbh = !strcmp(layout, "SBH");
    size_t heads = (size_t)number(w, 3, 1);
    int b_at = sbh ? 1 : 0, s_at = sbh ? 0 : !strcmp(layout, "BNSD") ? 2 : 1;
    size_t width = folded ? (size_t)q.shape[2] / heads : (size_t)q.shape[3];
    size_t extent[4] = { (size_t)q.shape[b_at], heads, (size_t)q.shape[s_at], width };
    size_t key_heads = folded ? (size_t)k.shape[2] / width
                              : (size_t)k.shape[!strcmp(layout, "BNSD") ? 1 : 2];
    size_t key_extent[4] = { extent[0], key_heads, (size_t)k.shape[s_at], width };
    long double scale = keyword(w, "scale", 1 / sqrt((double)width)), *y = output(w, q.n);
    int64_t keys = (int64_t)key_extent[2],
            scores[4] = { (int64_t)extent[0], (int64_t)heads, (int64_t)extent[2], keys };
    for (size_t b = 0; b < extent[0]; b++)
        for (size_t n = 0; n < heads; n++)
            for (size_t i = 0; i < extent[2]; i++) {
                long double total = 0, sum[64] = { 0 };
                size_t shared = n / (heads / key_extent[1]);
                for (size_t j = 0; j < key_extent[2]; j++) {
                    if (is_hidden(w, &mask, extent, keys, b, n, (int64_t)i, (int64_t)j)) continue;
                    size_t flat = ((b * heads + n) * extent[2] + i) * key_extent[2] + j;
                    long double score = pse.x ? broadcast_at(&pse, 4, scores, flat) : 0;
                    for (size_t d = 0; d < width; d++)
                        score += (long double)q.x[at_layout(layout, extent, b, n, i, d)] *
                                 k.x[at_layout(layout, key_extent, b, shared, j, d)];
                    long double p = expl(score * scale);
                    total += p;
                    for (size_t d = 0; d < width; d++)
                        sum[d] += p * v.x[at_layout(layout, key_extent, b, shared, j, d)];
                }
                for (size_t d = 0; d < width; d++) /* nothing left to look at: 0 */
                    y[at_layout(layout, extent, b, n, i, d)] = total > 0 ? sum[d] / total : 0;
            }
}

/* ---- the rows --------------------------------------------------------------------------------------------------------------- */

#define OUT  "out=[f32(9), f32(9), f32(9)[0..1]])"
#define FOUR "f32(1,2,4,8), f32(1,2,6,8), f32(1,2,6,8), 2, \"BNSD\""
static const struct {
    const char *call;
    void (*define)(struct work *w);
    /* clang-format off */
} rows[] = {
    { "NPU.npu_apply_adam_w(0.9, 0.99, 0.01, 0.1, 0.9, 0.99, 1e-08, f32(9), " OUT, adam_w },
    { "NPU.npu_apply_adam_w(0.9, 0.99, 0.01, 0.1, 0.9, 0.99, 1e-08, f32(9), None, False, True, " OUT, adam_w },
    { "NPU.npu_apply_adam_w(0.9, 0.99, 0.01, 0.1, 0.9, 0.99, 1e-08, f32(9), f32(9)[0..1], True, False, " OUT, adam_w },
    { "NPU.npu_apply_adam_w(0.9, 0.99, 0.01, 0.1, 0.9, 0.99, 1e-08, f32(9), f32(9)[0..1], True, True, " OUT, adam_w },
    { "NPU.npu_apply_adam_w(1, 1, 0.01, 0, 1, 1, 0.5, f32(9), " OUT, adam_w }, /* nothing to correct by */
    { "NPU.npu_apply_adam(0.9, 0.99, 0.01, 0.9, 0.99, 1e-08, f32(9), " OUT, adam },
    { "NPU.npu_apply_adam(0.9, 0.99, 0.01, 0.9, 0.99, 1e-08, f32(9), True, True, " OUT, adam },
    { "NPU.npu_fast_gelu(f32(4,9)[-6..6])", fast_gelu },
    { "NPU.npu_fast_gelu_backward(f32(9), f32(9)[-6..6])", fast_gelu_backward },
    { "NPU.npu_mish(f32(4,9)[-6..6])", mish },
    { "NPU.npu_layer_norm_eval(f32(4,9), [9], f32(9), f32(9))", layer_norm_eval },
    { "NPU.npu_layer_norm_eval(f32(2,3,5), [3,5])", layer_norm_eval },
    { "NPU.npu_layer_norm_eval(f32(2,3,5), [5], f32(5), None, 0.25)", layer_norm_eval },
    { "NPU.npu_layer_norm_eval(f32(2,3,5), [5], None, f32(5))", layer_norm_eval },
    { "NPU.npu_rms_norm(f32(4,9), f32(9))", rms_norm },
    { "NPU.npu_rms_norm(f32(3,4,5), f32(4,5), 0.125)", rms_norm },
    { "NPU.npu_rms_norm_backward(f32(4,9), f32(4,9), f32(9), f32(4,1)[0.5..2])", rms_norm_backward },
    { "NPU.npu_rms_norm_backward(f32(3,4,5), f32(3,4,5), f32(4,5), f32(3,1,1)[0.5..2])", rms_norm_backward },
    { "NPU.npu_group_norm_silu(f32(2,6,7), f32(6), f32(6), 3)", group_norm_silu },
    { "NPU.npu_group_norm_silu(f32(2,6,3,2), None, None, 2, 0.5)", group_norm_silu },
    { "NPU.npu_group_norm_silu(f32(2,6,7), None, f32(6), 1)", group_norm_silu },
    { "NPU.npu_group_norm_silu(f32(0,4,2), None, None, 2)", group_norm_silu },
    { "NPU.npu_rotary_mul(f32(2,3,2,8), f32(1,3,1,8), f32(1,3,1,8))", rotary_half },
    { "NPU.npu_rotary_mul(f32(2,3,2,8), f32(2,3,1,8), f32(1,1,1,8), \"half\")", rotary_half },
    { "NPU.npu_rotary_mul(f32(2,3,2,8), f32(1,3,1,8), f32(1,3,2,8), \"interleave\")", rotary_pairs },
    { "NPU.npu_rotary_mul(f32(6), f32(6), f32(6), \"interleave\")", rotary_pairs },
    { "NPU.npu_swiglu(f32(4,6))", swiglu },
    { "NPU.npu_swiglu(f32(6,5,4), 0)", swiglu },
    { "NPU.npu_swiglu(f32(3,4,5), 1)", swiglu },
    { "NPU.npu_swiglu_backward(f32(4,3), f32(4,6))", swiglu_backward },
    { "NPU.npu_swiglu_backward(f32(3,2,5), f32(3,4,5), 1)", swiglu_backward },
    { "NPU.npu_sort_v2(f32(4,9))", sort_v2 },
    { "NPU.npu_sort_v2(f32(4,9), 0, True)", sort_v2 },
    { "NPU.npu_sort_v2(f32(7)[3 nan 1 3 -1 nan 2], -1, False)", sort_v2 },
    { "NPU.npu_sort_v2(f32(7)[3 nan 1 3 -1 nan 2], -1, True)", sort_v2 },
    { "NPU.npu_sort_v2(f32())", sort_v2 },
    { "NPU.npu_sort_v2(f32(3,0), 0)", sort_v2 },
    { "NPU.npu_moe_gating_top_k_softmax(f32(4,9), None, 3)", moe_gating },
    { "NPU.npu_moe_gating_top_k_softmax(f32(4,9), bool(4)[0 1 0 1], 2)", moe_gating },
    { "NPU.npu_moe_gating_top_k_softmax(f32(2,3,5))", moe_gating },
    { "NPU.npu_moe_gating_top_k_softmax(f32(1,4)[1 2 2 2], None, 4)", moe_gating },
    { "NPU.npu_moe_gating_top_k_softmax(f32(0,9), None, 2)", moe_gating },
    { "NPU.npu_linear(f32(4,9), f32(5,9), f32(5))", linear },
    { "NPU.npu_linear(f32(2,3,9), f32(5,9))", linear },
    { "NPU.npu_linear_backward(f32(4,5), f32(4,6), f32(5,6))", linear_backward },
    { "NPU.npu_scaled_masked_softmax(f32(2,2,5,6), bool(2,1,5,6), 0.5, False)", scaled_masked_softmax },
    { "NPU.npu_scaled_masked_softmax(f32(2,2,4,4), bool(2,1,4,4), 0.5, True)", scaled_masked_softmax },
    { "NPU.npu_scaled_masked_softmax(f32(3,4), bool(4)[0 1 0 1])", scaled_masked_softmax },
    { "NPU.npu_fusion_attention(f32(2,5,16), f32(2,6,16), f32(2,6,16), 2, \"BSH\", scale=0.35)", fusion_attention },
    { "NPU.npu_fusion_attention(f32(5,2,16), f32(6,2,16), f32(6,2,16), 2, \"SBH\")", fusion_attention },
    { "NPU.npu_fusion_attention(f32(2,5,2,8), f32(2,6,2,8), f32(2,6,2,8), 2, \"BSND\")", fusion_attention },
    { "NPU.npu_fusion_attention(f32(2,4,5,8), f32(2,2,6,8), f32(2,2,6,8), 4, \"BNSD\")", fusion_attention },
    { "NPU.npu_fusion_attention(f32(2,5,16), f32(2,6,8), f32(2,6,8), 4, \"BSH\", pse=f32(1,4,5,6))", fusion_attention },
    { "NPU.npu_fusion_attention(" FOUR ", atten_mask=bool(4,6))", fusion_attention },
    { "NPU.npu_fusion_attention(" FOUR ", atten_mask=bool(1,1,4,6)[1 1 1 1 1 1 0 1 0 1 0 1 1 1 1 1 1 1 0 0 0 0 0 0])", fusion_attention },
    { "NPU.npu_fusion_attention(" FOUR ", atten_mask=bool(1,2,4,6), sparse_mode=1)", fusion_attention },
    { "NPU.npu_fusion_attention(" FOUR ", sparse_mode=1)", fusion_attention },
    { "NPU.npu_fusion_attention(" FOUR ", pre_tockens=2, next_tockens=1)", fusion_attention },
    { "NPU.npu_fusion_attention(" FOUR ", pre_tockens=2)", fusion_attention },
    { "NPU.npu_fusion_attention(" FOUR ", next_tockens=0)", fusion_attention },
    { "NPU.npu_fusion_attention(" FOUR ", pre_tockens=-1, next_tockens=9223372036854775807)", fusion_attention },
    { "NPU.npu_fusion_attention(" FOUR ", pre_tockens=9223372036854775807, next_tockens=-9223372036854775807)", fusion_attention },
    { "NPU.npu_fusion_attention(" FOUR ", sparse_mode=2)", fusion_attention },
    { "NPU.npu_fusion_attention(" FOUR ", sparse_mode=3)", fusion_attention },
    { "NPU.npu_fusion_attention(" FOUR ", sparse_mode=4, pre_tockens=3, next_tockens=0)", fusion_attention },
    { "NPU.npu_fusion_attention(f32(1,2,6,8), f32(1,2,4,8), f32(1,2,4,8), 2, \"BNSD\", sparse_mode=3)", fusion_attention },
    { "NPU.npu_fusion_attention(f32(1,4,8), f32(1,0,8), f32(1,0,8), 2, \"BSH\")", fusion_attention },
};
/* clang-format on */

START_TEST(operators_are_what_they_are_defined_to_be)
{
    static struct work work;
    struct arena arena = { 0 };
    struct sample sample;
    struct bench *bench;

    const char *problem = sample_parse(&sample, rows[_i].call, &arena);
    ck_assert_msg(!problem, "%s: %s", rows[_i].call, problem);
    struct status st = bench_open(&bench, &sample.c, &arena, BENCH_REFERENCE);
    ck_assert_msg(!st.code, "%s: %s", rows[_i].call, st.text);
    work = (struct work){ .c = &sample.c, .arena = &arena };
    rows[_i].define(&work);
    ck_assert_uint_eq(bench_output_count(bench), work.outputs);
    for (size_t k = 0; k < work.outputs; k++) {
        const struct reference *r = &bench_output(bench, k)->reference;
        ck_assert_msg(r->n == work.n[k], "%s: output %zu has %zu elements, not %zu", rows[_i].call,
                      k, r->n, work.n[k]);
        for (size_t i = 0; i < r->n; i++) {
            double have = r->integer ? (double)r->integer[i] : r->hi[i],
                   want = (double)work.want[k][i];
            double room = r->integer ? 0 : reference_bound(r, i) + 1e-15 * fabs(want) + 1e-17;
            ck_assert_msg(
                (isnan(have) && isnan(want)) || fabs(have - want) <= room,
                "%s: element %zu of output %zu is %.17g, by definition %.17g; the bound is %.3g",
                rows[_i].call, i, k, have, want, room);
        }
    }
    arena_release(&arena);
}
END_TEST

/* Numbers of four bits in bytes and words, the first one in the lowest bits: our own, for those of a device are taken as
 * they are read. */
static const struct {
    const char *call;
    int64_t want[4];
    size_t n;
} packed[] = {
    /* 1, -0.5, 6, 2 in e2m1: 2, 1 + 8, 7, 4 */
    { "NPU.npu_dynamic_mx_quant(f32(1,4)[1 -0.5 6 2], dst_type=296)", { 0x92, 0x47 }, 2 },
    /* in e1m2, whose codes count quarters: 4, 2, 6, 1 + 8 */
    { "NPU.npu_dynamic_mx_quant(f32(1,4)[1 0.5 1.5 -0.25], dst_type=297)", { 0x24, 0x96 }, 2 },
    { "NPU.npu_kronecker_quant(f16(1,1,8)[1 2 3 4 5 6 7 -7], f16(1,1)[1], f16(8,8)[1 0 0 0 0 0 0 0 "
      "0 1 0 0 0 0 0 0 0 0 1 0 0 0 0 0 0 0 0 1 0 0 0 0 0 0 0 0 1 0 0 0 0 0 0 0 0 1 0 0 "
      "0 0 0 0 0 0 1 0 0 0 0 0 0 0 0 1])",
      { (int32_t)0x97654321u },
      1 },
};

START_TEST(four_bits_are_packed_from_the_lowest)
{
    struct arena arena = { 0 };
    struct sample sample;
    struct bench *bench;
    const char *problem = sample_parse(&sample, packed[_i].call, &arena);
    ck_assert_msg(!problem, "%s: %s", packed[_i].call, problem);
    struct status st = bench_open(&bench, &sample.c, &arena, BENCH_REFERENCE);
    ck_assert_msg(!st.code, "%s: %s", packed[_i].call, st.text);
    const struct reference *r = &bench_output(bench, 0)->reference;
    ck_assert_uint_eq(r->n, packed[_i].n);
    for (size_t i = 0; i < r->n; i++)
        ck_assert_msg(r->integer[i] == packed[_i].want[i], "%s: element %zu is %llx",
                      packed[_i].call, i, (unsigned long long)r->integer[i]);
    arena_release(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("npu");
    TCase *tests = tcase_create("npu");
    tcase_add_loop_test(tests, operators_are_what_they_are_defined_to_be, 0,
                        sizeof rows / sizeof *rows);
    tcase_add_loop_test(tests, four_bits_are_packed_from_the_lowest, 0,
                        sizeof packed / sizeof *packed);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
