/* Dot products by extraction, and the elements of whole products that need them: a few rows and columns
 * at a time, so that they stay in the caches. */
#include "bench/arithmetic/dot.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "bench/arithmetic/certificate.h"
#include "bench/arithmetic/rounding.h"
#include "core/vectorize.h"

/* STEP lanes: two of the widest registers, for the latency of additions. */
enum { STEP = 16, LEVELS = 3 };

/* So many rows, of so many elements together, stay in the second-level cache while so many columns stay in the first;
 * what is open is looked for in tiles of WIDTH columns, a bit for each. */
enum { ROWS = 64, ELEMENTS = 1 << 17, COLUMNS = 4, WIDTH = 64, FEW = (1 << COLUMNS) - 1 };

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
    VECTORIZED static void NAME(double *hi, double *lo, const REAL *a, const REAL *b, size_t k, \
                                double sigma)                                                   \
    {                                                                                           \
        struct extracted e;                                                                     \
        size_t l = 0;                                                                           \
        for (size_t i = 0; i < STEP; i++) {                                                     \
            e.sum[i] = sigma;                                                                   \
            e.rest[i] = 0;                                                                      \
        }                                                                                       \
        for (; l + STEP <= k; l += STEP) NAME##_step(&e, a + l, b + l);                         \
        if (l < k) {                                                                            \
            REAL x[STEP] = { 0 }, y[STEP] = { 0 };                                              \
            memcpy(x, a + l, (k - l) * sizeof *x);                                              \
            memcpy(y, b + l, (k - l) * sizeof *y);                                              \
            NAME##_step(&e, x, y);                                                              \
        }                                                                                       \
        for (size_t i = 0; i < STEP; i++) e.sum[i] -= sigma;                                    \
        for (size_t half = STEP / 2; half; half /= 2)                                           \
            for (size_t i = 0; i < half; i++) {                                                 \
                e.sum[i] += e.sum[i + half];                                                    \
                e.rest[i] += e.rest[i + half];                                                  \
            }                                                                                   \
        *hi = e.sum[0];                                                                         \
        *lo = e.rest[0];                                                                        \
    }

DEFINE_EXTRACTION(extract_doubles, double)
DEFINE_EXTRACTION(extract_floats, float)

/* The bound of a dot product by extraction; false where there is nothing to extract from. */
static bool extraction_bound(double *bound, double *hi, double *lo, const struct dot *dot,
                             double sigma)
{
    *hi = *lo = 0;
    *bound = sigma == 0 || dot->k == 0 ? 0
             : in_range(sigma)         ? dot->bound * sigma + dot->lost
                                       : INFINITY;
    return *bound < INFINITY && sigma != 0 && dot->k;
}

double dot_extracted(double *hi, double *lo, const struct dot *dot, const double *a,
                     const double *b, double scale)
{
    double sigma = dot->start * scale, bound;
    if (extraction_bound(&bound, hi, lo, dot, sigma)) extract_doubles(hi, lo, a, b, dot->k, sigma);
    return bound;
}

double dot_extracted_single(double *hi, double *lo, const struct dot *dot, const float *a,
                            const float *b, double scale)
{
    double sigma = dot->start * scale, bound;
    if (extraction_bound(&bound, hi, lo, dot, sigma)) extract_floats(hi, lo, a, b, dot->k, sigma);
    return bound;
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

/* ---- lines ---------------------------------------------------------------------------------- */

/* A power of two that no element of a line exceeds, for each line. */
#define DEFINE_SCALES(NAME, REAL, ABSOLUTE)                                            \
    VECTORIZED static double NAME##_largest(const REAL *x, size_t n)                   \
    {                                                                                  \
        REAL lane[STEP] = { 0 }, most = 0;                                             \
        size_t i = 0;                                                                  \
        for (; i + STEP <= n; i += STEP)                                               \
            for (size_t l = 0; l < STEP; l++)                                          \
                lane[l] = ABSOLUTE(x[i + l]) > lane[l] ? ABSOLUTE(x[i + l]) : lane[l]; \
        for (; i < n; i++) most = ABSOLUTE(x[i]) > most ? ABSOLUTE(x[i]) : most;       \
        for (size_t l = 0; l < STEP; l++) most = lane[l] > most ? lane[l] : most;      \
        return most;                                                                   \
    }                                                                                  \
                                                                                       \
    static void NAME(double *scale, const REAL *dense, size_t lines, size_t k)         \
    {                                                                                  \
        for (size_t i = 0; i < lines; i++)                                             \
            scale[i] = power_above(NAME##_largest(dense + i * k, k));                  \
    }

DEFINE_SCALES(scales_of_doubles, double, fabs)
DEFINE_SCALES(scales_of_floats, float, fabsf)

static const void *element(const struct factor *f, size_t i)
{
    return (const char *)f->x + i * dtype_info(f->dtype)->bytes;
}

struct factor factor_lines(const struct factor *f, size_t first, size_t count)
{
    struct factor lines = *f;
    lines.x = element(f, first * f->line);
    lines.lines = count;
    return lines;
}

/* The lines of a factor as REALs, one after the other: in place, or copied to `dense`. Where the elements of a line do
 * not lie together tiles are turned, in the order in which they lie: a row of the tile is a cache line. */
enum { TILE = 16, TERMS = 32 };

#define DEFINE_LINES(NAME, REAL, DTYPE, READ)                                                 \
    static bool NAME##_in_place(const struct factor *f, size_t k)                             \
    {                                                                                         \
        return f->term == 1 && f->line == k && f->dtype == (DTYPE);                           \
    }                                                                                         \
                                                                                              \
    VECTORIZED static void NAME##_turn_whole(REAL *restrict dense, const REAL *restrict x,    \
                                             size_t step, size_t k)                           \
    {                                                                                         \
        REAL tile[TERMS * TILE];                                                              \
        for (size_t l = 0; l < TERMS; l++)                                                    \
            memcpy(tile + l * TILE, x + l * step, TILE * sizeof *x);                          \
        for (size_t i = 0; i < TILE; i++)                                                     \
            for (size_t l = 0; l < TERMS; l++) dense[i * k + l] = tile[l * TILE + i];         \
    }                                                                                         \
                                                                                              \
    static void NAME##_turn(REAL *dense, const struct factor *f, size_t line, size_t lines,   \
                            size_t first, size_t terms, size_t k)                             \
    {                                                                                         \
        REAL row[TILE];                                                                       \
        for (size_t l = first; l < first + terms; l++) {                                      \
            READ(row, element(f, line + l * f->term), f->dtype, lines);                       \
            for (size_t i = 0; i < lines; i++) dense[(line + i) * k + l] = row[i];            \
        }                                                                                     \
    }                                                                                         \
                                                                                              \
    static const REAL *NAME(REAL *dense, const struct factor *f, size_t k)                    \
    {                                                                                         \
        if (NAME##_in_place(f, k)) return f->x;                                               \
        for (size_t i = 0; f->term == 1 && i < f->lines; i++)                                 \
            READ(dense + i * k, element(f, i * f->line), f->dtype, k);                        \
        for (size_t first = 0; f->term != 1 && first < k; first += TERMS)                     \
            for (size_t i = 0; i < f->lines; i += TILE) {                                     \
                size_t lines = f->lines - i < TILE ? f->lines - i : TILE;                     \
                size_t terms = k - first < TERMS ? k - first : TERMS;                         \
                if (f->dtype == (DTYPE) && lines == TILE && terms == TERMS)                   \
                    NAME##_turn_whole(dense + i * k + first, element(f, i + first * f->term), \
                                      f->term, k);                                            \
                else NAME##_turn(dense, f, i, lines, first, terms, k);                        \
            }                                                                                 \
        return dense;                                                                         \
    }

DEFINE_LINES(lines_of_doubles, double, DT_F64, dtype_to_double)
DEFINE_LINES(lines_of_floats, float, DT_F32, dtype_to_float)

size_t dot_lines_scratch(const struct factor *f, size_t k, bool exact_products)
{
    size_t terms = f->lines * k;
    if (exact_products) terms = lines_of_floats_in_place(f, k) ? 0 : (terms + 1) / 2;
    else if (lines_of_doubles_in_place(f, k)) terms = 0;
    return f->lines + terms;
}

/* No element exceeds the norm of its line. That may be sqrt(k) times the largest one, so that sigma is k times as large
 * and its bound with it: little beside the digits that are won, unless lines are very long. */
enum { LONGEST_BY_NORM = 1 << 12 };

struct dot_lines dot_lines_prepare(double *scratch, const struct factor *f, size_t k,
                                   bool exact_products, const double *norms)
{
    double *scale = scratch, *dense = scratch + f->lines;
    if (k > LONGEST_BY_NORM) norms = NULL;
    for (size_t i = 0; norms && i < f->lines; i++) scale[i] = power_above(norms[i]);
    if (exact_products) {
        const float *x = lines_of_floats((float *)(void *)dense, f, k);
        if (!norms) scales_of_floats(scale, x, f->lines, k);
        return (struct dot_lines){ x, scale };
    }
    const double *x = lines_of_doubles(dense, f, k);
    if (!norms) scales_of_doubles(scale, x, f->lines, k);
    return (struct dot_lines){ x, scale };
}

/* ---- matrices ------------------------------------------------------------------------------- */

/* The dtype of an exact scalar, DT_NONE, is taken for float. */
static struct certificate certificate_for(const struct dot_matrix *c)
{
    return certificate_of(c->dtype == DT_NONE ? DT_F32 : c->dtype);
}

bool dots_open(const struct dot_matrix *c)
{
    struct certificate certificate = certificate_for(c);
    if (dtype_info(certificate.dtype)->significand_bits > 24) return false;
    for (size_t i = 0; i < c->a.lines; i++)
        for (size_t j = 0; j < c->b.lines; j++)
            if (!certificate_passes(&certificate, c->value[i * c->step + j],
                                    c->error[i * c->error_step + j]))
                return true;
    return false;
}

/* What recomputing takes. */
struct dots {
    const struct dot_matrix *c;
    struct dot dot;
    struct dot_lines a, b;
    double *wide; /* room for a line of each factor */
};

static double extracted(double *hi, double *lo, const struct dots *d, size_t i, size_t j)
{
    size_t k = d->c->k;
    double scale = d->a.scale[i] * d->b.scale[j];
    if (d->c->exact_products)
        return dot_extracted_single(hi, lo, &d->dot, (const float *)d->a.x + i * k,
                                    (const float *)d->b.x + j * k, scale);
    return dot_extracted(hi, lo, &d->dot, (const double *)d->a.x + i * k,
                         (const double *)d->b.x + j * k, scale);
}

static double extracted_deeply(double *hi, double *lo, const struct dots *d, size_t i, size_t j)
{
    size_t k = d->c->k;
    const double *x = (const double *)d->a.x + i * k, *y = (const double *)d->b.x + j * k;
    if (d->c->exact_products) {
        dtype_to_double(d->wide, (const float *)d->a.x + i * k, DT_F32, k);
        dtype_to_double(d->wide + k, (const float *)d->b.x + j * k, DT_F32, k);
        x = d->wide;
        y = d->wide + k;
    }
    return dot_extracted_deeply(hi, lo, &d->dot, x, y, d->a.scale[i] * d->b.scale[j]);
}

static bool passes(const struct dot_matrix *c, const struct certificate *certificate, double value,
                   double error)
{
    return c->quick ? certificate_passes_quickly(certificate, value, error)
                    : certificate_passes(certificate, value, error);
}

static void recompute(const struct dots *d, const struct certificate *certificate, size_t i,
                      size_t j)
{
    double *value = &d->c->value[i * d->c->step + j],
           *error = &d->c->error[i * d->c->error_step + j];
    if (passes(d->c, certificate, *value, *error)) return;
    double hi, lo, bound = extracted(&hi, &lo, d, i, j);
    for (int attempt = 0; attempt < 2; attempt++) {
        double sum = hi + lo, z = sum - hi;
        double total = ((fabs(hi - (sum - z)) + fabs(lo - z)) + bound) * (1 + 0x1p-50);
        if (total < *error) {
            *value = sum;
            *error = total;
        }
        if (attempt || passes(d->c, certificate, *value, *error)) return;
        bound = extracted_deeply(&hi, &lo, d, i, j);
    }
}

VECTORIZED uint64_t dot_open_bits(const double *restrict value, const double *restrict error,
                                  size_t n, const struct certificate *certificate)
{
    const double relative = certificate->relative, least = certificate->least;
    uint8_t open[WIDTH];
    unsigned any = 0;
    uint64_t bits = 0;
    for (size_t j = 0; j < n; j++) {
        open[j] = !(error[j] <= relative * fabs(value[j])) & !(error[j] <= least);
        any |= open[j];
    }
    for (size_t j = 0; any && j < n; j++) bits |= (uint64_t)open[j] << j;
    return bits;
}

/* What is open in `height` rows from `row` on and up to 64 columns from `column` on; returns the columns that have any. */
static uint64_t take_open(uint64_t *open, const struct dot_matrix *c,
                          const struct certificate *certificate, size_t row, size_t height,
                          size_t column)
{
    size_t width = c->b.lines - column < WIDTH ? c->b.lines - column : WIDTH;
    uint64_t any = 0;
    for (size_t i = 0; i < height; i++) {
        open[i] = c->open ? c->open[(row + i) * c->open_step + column / WIDTH]
                          : dot_open_bits(c->value + (row + i) * c->step + column,
                                          c->error + (row + i) * c->error_step + column, width,
                                          certificate);
        any |= open[i];
    }
    return any;
}

void dots_recompute(const struct dot_matrix *c, const struct dot_lines *a,
                    const struct dot_lines *b, double *wide)
{
    const struct dots d = { c, dot_of_length(c->k, c->exact_products), *a, *b, wide };
    struct certificate certificate = certificate_for(c);
    size_t m = c->a.lines, n = c->b.lines, rows = ELEMENTS / c->k < 4 ? 4 : ELEMENTS / c->k;
    if (rows > ROWS) rows = ROWS;
    for (size_t row = 0; row < m; row += rows)
        for (size_t column = 0; column < n; column += WIDTH) {
            size_t height = m - row < rows ? m - row : rows;
            uint64_t open[ROWS], any = take_open(open, c, &certificate, row, height, column);
            for (size_t j = 0; j < WIDTH && any >> j; j += COLUMNS)
                for (size_t i = 0; i < height; i++)
                    for (uint64_t bits = open[i] >> j & FEW; bits; bits &= bits - 1)
                        recompute(&d, &certificate, row + i,
                                  column + j + (size_t)__builtin_ctzll(bits));
        }
}
