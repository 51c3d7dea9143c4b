/* Dot products by extraction. */
#include "bench/arithmetic/dot.h"

#include <math.h>
#include <string.h>

#include "bench/arithmetic/rounding.h"
#include "core/vectorize.h"

/* STEP lanes: two of the widest registers, for the latency of additions; LANES of each of several lines. */
enum { STEP = 16, LANES = 8, LEVELS = 3 };

double dot_power_above(double x)
{
    int exponent;
    double fraction = frexp(fabs(x), &exponent);
    return fraction == 0 ? 0 : ldexp(1, fraction == 0.5 ? exponent - 1 : exponent);
}

/* A rest passes through k / LANES + 1 additions in its lane at most, few over the lanes and one for each piece, of LANES terms or
 * more but for the last: through k / LANES + 8 in all, and one rounding before. */
struct dot dot_of_length(size_t k, bool exact_products)
{
    double terms = exact_products ? (double)k : 2 * (double)k;
    double rests = terms * UNIT_ROUNDOFF * (1 + 0x1p-20);
    return (struct dot){ k,
                         exact_products,
                         4 * dot_power_above(terms),
                         gamma_of((double)k / LANES + STEP) * rests,
                         gamma_of(terms + STEP) * rests,
                         exact_products ? 0 : (double)k * 0x1p-1074 };
}

/* Is sigma in the range in which all steps are exact? */
static bool in_range(double sigma) { return sigma > 0x1p-600 && sigma < 0x1p1000; }

/* ---- one level ------------------------------------------------------------------------------ */

struct extracted {
    double sum[STEP], rest[STEP];
};

static inline struct extracted extraction_from(double sigma)
{
    struct extracted e;
    for (size_t i = 0; i < STEP; i++) {
        e.sum[i] = sigma;
        e.rest[i] = 0;
    }
    return e;
}

static inline void extraction_end(double *hi, double *lo, struct extracted *e, double sigma)
{
    for (size_t i = 0; i < STEP; i++) e->sum[i] -= sigma;
    for (size_t half = STEP / 2; half; half /= 2)
        for (size_t i = 0; i < half; i++) {
            e->sum[i] += e->sum[i + half];
            e->rest[i] += e->rest[i + half];
        }
    *hi = e->sum[0];
    *lo = e->rest[0];
}

/* Dot products of REAL lines by extraction: NAME gives the sum of what sums of sigma hold, and that of the rests.
 * The fused operations round once, so `rest` has the error of the product, too: where that is
 * not 0, rest is off by 2^-53 of itself. */
#define DEFINE_EXTRACTION(NAME, REAL)                                                           \
    static inline void NAME##_step(struct extracted *e, const REAL *restrict a,                 \
                                   const REAL *restrict b)                                      \
    {                                                                                           \
        for (size_t i = 0; i < STEP; i++) {                                                     \
            double x = a[i], y = b[i], next = fma(x, y, e->sum[i]), part = next - e->sum[i];    \
            e->rest[i] += fma(x, y, -part);                                                     \
            e->sum[i] = next;                                                                   \
        }                                                                                       \
    }                                                                                           \
                                                                                                \
    static inline void NAME##_rest(struct extracted *e, const REAL *a, const REAL *b, size_t k) \
    {                                                                                           \
        REAL x[STEP] = { 0 }, y[STEP] = { 0 };                                                  \
        memcpy(x, a, k * sizeof *x);                                                            \
        memcpy(y, b, k * sizeof *y);                                                            \
        NAME##_step(e, x, y);                                                                   \
    }                                                                                           \
                                                                                                \
    VECTORIZED static void NAME(double *hi, double *lo, const REAL *a, const REAL *b, size_t k, \
                                double sigma)                                                   \
    {                                                                                           \
        struct extracted e = extraction_from(sigma);                                            \
        size_t l = 0;                                                                           \
        for (; l + STEP <= k; l += STEP) NAME##_step(&e, a + l, b + l);                         \
        if (l < k) NAME##_rest(&e, a + l, b + l, k - l);                                        \
        extraction_end(hi, lo, &e, sigma);                                                      \
    }

DEFINE_EXTRACTION(extract_doubles, double)
DEFINE_EXTRACTION(extract_floats, float)

double dot_extraction_bound(bool *sums, const struct dot *dot, double scale)
{
    double sigma = dot->start * scale;
    *sums = sigma != 0 && dot->k && in_range(sigma);
    return *sums ? dot->bound * sigma + dot->lost : sigma == 0 || dot->k == 0 ? 0 : INFINITY;
}

double dot_extracted(double *hi, double *lo, const struct dot *dot, const double *a,
                     const double *b, double scale)
{
    bool sums;
    double bound = dot_extraction_bound(&sums, dot, scale);
    *hi = *lo = 0;
    if (sums) extract_doubles(hi, lo, a, b, dot->k, dot->start * scale);
    return bound;
}

double dot_extracted_single(double *hi, double *lo, const struct dot *dot, const float *a,
                            const float *b, double scale)
{
    bool sums;
    double bound = dot_extraction_bound(&sums, dot, scale);
    *hi = *lo = 0;
    if (sums) extract_floats(hi, lo, a, b, dot->k, dot->start * scale);
    return bound;
}

/* The steps of two sums wait for each other half as long as those of one. */
VECTORIZED void dot_extracted_pair(double *hi, double *lo, const struct dot *dot, const float *a,
                                   const float *other, const float *b, const double *sigma)
{
    struct extracted e = extraction_from(sigma[0]), f = extraction_from(sigma[1]);
    size_t k = dot->k, l = 0;
    for (; l + STEP <= k; l += STEP) {
        extract_floats_step(&e, a + l, b + l);
        extract_floats_step(&f, other + l, b + l);
    }
    if (l < k) {
        extract_floats_rest(&e, a + l, b + l, k - l);
        extract_floats_rest(&f, other + l, b + l, k - l);
    }
    extraction_end(hi, lo, &e, sigma[0]);
    extraction_end(hi + 1, lo + 1, &f, sigma[1]);
}

/* ---- one level of several lines ---------------------------------------------------------------- */

struct extracted_group {
    double sum[DOT_GROUP][LANES], rest[DOT_GROUP][LANES];
};

static inline void extract_line(double *restrict sum, double *restrict rest,
                                const double *restrict a, const double *restrict b)
{
    LANES_LOOP for (size_t i = 0; i < LANES; i++)
    {
        double x = a[i], y = b[i], next = fma(x, y, sum[i]), part = next - sum[i];
        rest[i] += fma(x, y, -part);
        sum[i] = next;
    }
}

/* Spelled out, because gcc keeps the lanes of a loop over the lines in memory. */
static inline void extract_group_step(struct extracted_group *g, const double *a, size_t step,
                                      const double *b)
{
    extract_line(g->sum[0], g->rest[0], a, b);
    extract_line(g->sum[1], g->rest[1], a + step, b);
    extract_line(g->sum[2], g->rest[2], a + 2 * step, b);
    extract_line(g->sum[3], g->rest[3], a + 3 * step, b);
}

VECTORIZED void dot_extract_group(double *hi, double *lo, const double *a, size_t step,
                                  const double *b, size_t k, const double *sigma)
{
    struct extracted_group g;
    size_t l = 0;
    for (size_t line = 0; line < DOT_GROUP; line++)
        for (size_t i = 0; i < LANES; i++) {
            g.sum[line][i] = sigma[line];
            g.rest[line][i] = 0;
        }
    for (; l + LANES <= k; l += LANES) extract_group_step(&g, a + l, step, b + l);
    if (l < k) {
        double x[DOT_GROUP * LANES] = { 0 }, y[LANES] = { 0 };
        for (size_t line = 0; line < DOT_GROUP; line++)
            memcpy(x + line * LANES, a + line * step + l, (k - l) * sizeof *x);
        memcpy(y, b + l, (k - l) * sizeof *y);
        extract_group_step(&g, x, LANES, y);
    }
    for (size_t line = 0; line < DOT_GROUP; line++) {
        for (size_t i = 0; i < LANES; i++) g.sum[line][i] -= sigma[line];
        for (size_t half = LANES / 2; half; half /= 2)
            for (size_t i = 0; i < half; i++) {
                g.sum[line][i] += g.sum[line][i + half];
                g.rest[line][i] += g.rest[line][i + half];
            }
        hi[line] += g.sum[line][0];
        lo[line] += g.rest[line][0];
    }
}

/* ---- all levels ------------------------------------------------------------------------------ */

struct levels {
    double sum[LEVELS], rest;
    bool left; /* something was left over by the last level */
};

static void extract_deeply(struct levels *s, double x)
{
    for (int level = 0; level < LEVELS; level++) {
        double next = s->sum[level] + x, part = next - s->sum[level];
        x -= part;
        s->sum[level] = next;
    }
    s->rest += x;
    s->left = s->left || x != 0;
}

double dot_extracted_deeply(double *hi, double *lo, const struct dot *dot, const double *a,
                            const double *b, double scale)
{
    struct levels s = { { 0 }, 0, false };
    double sigma[LEVELS] = { dot->start * scale };

    *hi = *lo = 0;
    if (scale == 0 || dot->k == 0) return 0;
    if (!in_range(sigma[0])) return INFINITY;
    for (int level = 1; level < LEVELS; level++)
        sigma[level] = dot->start * UNIT_ROUNDOFF * sigma[level - 1];
    memcpy(s.sum, sigma, sizeof sigma);
    for (size_t l = 0; l < dot->k; l++) {
        double product = a[l] * b[l];
        extract_deeply(&s, product);
        if (!dot->exact_products) extract_deeply(&s, fma(a[l], b[l], -product));
    }
    /* The three exact sums and the rest as a pair: two TwoSums, then what they leave. */
    double sum = s.sum[0] - sigma[0], low = 0;
    for (int level = 1; level < LEVELS; level++) {
        low += two_sum(&sum, s.sum[level] - sigma[level]);
    }
    double bound = s.left ? dot->deep_bound * sigma[LEVELS - 1] : 0;
    if (low != 0 || s.left) bound += 4 * UNIT_ROUNDOFF * (fabs(low) + fabs(s.rest));
    *hi = sum;
    *lo = low + s.rest;
    return bound * (1 + 0x1p-20) + dot->lost;
}
