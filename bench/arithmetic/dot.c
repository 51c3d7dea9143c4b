/* Dot products by extraction, and the elements of whole products that need them: a few rows and columns
 * at a time, so that they stay in the caches. */
#include "bench/arithmetic/dot.h"

#include <math.h>
#include <string.h>

#include "bench/arithmetic/certificate.h"
#include "bench/arithmetic/rounding.h"
#include "core/vectorize.h"

/* STEP lanes: two of the widest registers, for the latency of additions. */
enum { STEP = 16, LEVELS = 3 };

/* Lines of about a thousand elements: this many rows stay in the second-level cache while this
 * many columns stay in the first. */
enum { ROWS = 64, COLUMNS = 4 };

/* The smallest power of two that is at least |x|; 0 for 0. */
static double power_above(double x)
{
    int exponent;
    double fraction = frexp(fabs(x), &exponent);
    return fraction == 0 ? 0 : ldexp(1, fraction == 0.5 ? exponent - 1 : exponent);
}

struct dot dot_of_length(size_t k, bool exact_products)
{
    double terms = exact_products ? (double)k : 2 * (double)k;
    return (struct dot){ k, exact_products, 4 * power_above(terms),
                         gamma_of(terms + STEP) * terms * UNIT_ROUNDOFF * (1 + 0x1p-20),
                         exact_products ? 0 : (double)k * 0x1p-1074 };
}

/* Is sigma in the range in which all steps are exact? */
static bool in_range(double sigma) { return sigma > 0x1p-600 && sigma < 0x1p1000; }

/* ---- one level ------------------------------------------------------------------------------ */

struct extracted {
    double sum[STEP], rest[STEP];
};

/* The fused operations round once, so `rest` has the error of the product, too: where that is
 * not 0, rest is off by 2^-53 of itself. */
static inline void extract(struct extracted *e, const double *restrict a, const double *restrict b)
{
    for (size_t i = 0; i < STEP; i++) {
        double next = fma(a[i], b[i], e->sum[i]), part = next - e->sum[i];
        e->rest[i] += fma(a[i], b[i], -part);
        e->sum[i] = next;
    }
}

/* The sum of what sums of sigma hold, and of the rests. */
VECTORIZED static void extract_all(double *hi, double *lo, const double *a, const double *b,
                                   size_t k, double sigma)
{
    struct extracted e;
    size_t l = 0;
    for (size_t i = 0; i < STEP; i++) {
        e.sum[i] = sigma;
        e.rest[i] = 0;
    }
    for (; l + STEP <= k; l += STEP) extract(&e, a + l, b + l);
    if (l < k) {
        double x[STEP] = { 0 }, y[STEP] = { 0 };
        memcpy(x, a + l, (k - l) * sizeof *x);
        memcpy(y, b + l, (k - l) * sizeof *y);
        extract(&e, x, y);
    }
    for (size_t i = 0; i < STEP; i++) e.sum[i] -= sigma;
    for (size_t half = STEP / 2; half; half /= 2)
        for (size_t i = 0; i < half; i++) {
            e.sum[i] += e.sum[i + half];
            e.rest[i] += e.rest[i + half];
        }
    *hi = e.sum[0];
    *lo = e.rest[0];
}

double dot_extracted(double *hi, double *lo, const struct dot *dot, const double *a,
                     const double *b, double scale)
{
    double sigma = dot->start * scale;
    *hi = *lo = 0;
    if (scale == 0 || dot->k == 0) return 0;
    if (!in_range(sigma)) return INFINITY;
    extract_all(hi, lo, a, b, dot->k, sigma);
    return dot->bound * sigma + dot->lost;
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
    double bound = s.left ? dot->bound * sigma[LEVELS - 1] : 0;
    if (low != 0 || s.left) bound += 4 * UNIT_ROUNDOFF * (fabs(low) + fabs(s.rest));
    *hi = sum;
    *lo = low + s.rest;
    return bound * (1 + 0x1p-20) + dot->lost;
}

/* ---- matrices ------------------------------------------------------------------------------- */

VECTORIZED static double largest_of(const double *x, size_t n)
{
    double lane[STEP] = { 0 }, most = 0;
    size_t i = 0;
    for (; i + STEP <= n; i += STEP)
        for (size_t l = 0; l < STEP; l++)
            lane[l] = fabs(x[i + l]) > lane[l] ? fabs(x[i + l]) : lane[l];
    for (; i < n; i++) most = fabs(x[i]) > most ? fabs(x[i]) : most;
    for (size_t l = 0; l < STEP; l++) most = lane[l] > most ? lane[l] : most;
    return most;
}

/* The lines of a factor, one after the other: in place, or copied to `dense`. */
static const double *dense_lines(double *dense, const struct factor *f, size_t k)
{
    if (f->term == 1 && f->line == k) return f->x;
    enum { BLOCK = 16 };
    for (size_t first = 0; first < f->lines; first += BLOCK) {
        size_t end = first + BLOCK < f->lines ? first + BLOCK : f->lines;
        for (size_t l = 0; l < k; l++)
            for (size_t i = first; i < end; i++) dense[i * k + l] = f->x[i * f->line + l * f->term];
    }
    return dense;
}

/* A power of two that no element of a line exceeds, for each line. */
static void line_scales(double *scale, const double *dense, size_t lines, size_t k)
{
    for (size_t i = 0; i < lines; i++) scale[i] = power_above(largest_of(dense + i * k, k));
}

struct recomputation {
    struct certificate certificate;
    struct dot dot;
};

static void recompute(const struct recomputation *r, double *value, double *error, const double *a,
                      const double *b, double scale)
{
    double hi, lo, bound = dot_extracted(&hi, &lo, &r->dot, a, b, scale);
    for (int attempt = 0; attempt < 2; attempt++) {
        double sum = hi + lo, z = sum - hi;
        double total = ((fabs(hi - (sum - z)) + fabs(lo - z)) + bound) * (1 + 0x1p-50);
        if (total < *error) {
            *value = sum;
            *error = total;
        }
        if (attempt || certificate_passes(&r->certificate, *value, *error)) return;
        bound = dot_extracted_deeply(&hi, &lo, &r->dot, a, b, scale);
    }
}

/* The dtype of an exact scalar, DT_NONE, is taken for float. */
static struct certificate certificate_for(const struct dot_matrix *c)
{
    return certificate_of(c->dtype == DT_NONE ? DT_F32 : c->dtype);
}

bool dots_open(const struct dot_matrix *c)
{
    struct certificate certificate = certificate_for(c);
    size_t n = c->a.lines * c->b.lines, i = 0;
    if (dtype_info(certificate.dtype)->significand_bits > 24) return false;
    while (i < n && certificate_passes(&certificate, c->value[i], c->error[i])) i++;
    return i < n;
}

size_t dots_scratch(const struct dot_matrix *c) { return (c->a.lines + c->b.lines) * (c->k + 1); }

void dots_recompute(double *scratch, const struct dot_matrix *c)
{
    struct recomputation r = { certificate_for(c), dot_of_length(c->k, c->exact_products) };
    size_t m = c->a.lines, n = c->b.lines, k = c->k;
    double *row_scales = scratch, *column_scales = row_scales + m;
    const double *x = dense_lines(column_scales + n, &c->a, k),
                 *y = dense_lines(column_scales + n + m * k, &c->b, k);
    line_scales(row_scales, x, m, k);
    line_scales(column_scales, y, n, k);
    for (size_t row = 0; row < m; row += ROWS)
        for (size_t column = 0; column < n; column += COLUMNS)
            for (size_t i = row; i < m && i < row + ROWS; i++)
                for (size_t j = column; j < n && j < column + COLUMNS; j++) {
                    double *value = &c->value[i * n + j], *error = &c->error[i * n + j];
                    if (!certificate_passes(&r.certificate, *value, *error))
                        recompute(&r, value, error, x + i * k, y + j * k,
                                  row_scales[i] * column_scales[j]);
                }
}
