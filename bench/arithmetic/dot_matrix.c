/* A few rows and columns at a time, so that they stay in the caches. */
#include "bench/arithmetic/dot_matrix.h"

#include <math.h>
#include <string.h>

#include "bench/arithmetic/dot.h"
#include "core/vectorize.h"

/* What is open is looked for in WIDTH columns, a bit for each, of ROWS rows. */
enum { WIDTH = 64, ROWS = 2 * DOT_GROUP };

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

static double extracted(double *hi, double *lo, const struct dots *d, size_t i, size_t j,
                        double scale)
{
    size_t x = i * d->a.step, y = j * d->b.step;
    if (d->c->exact_products)
        return dot_extracted_single(hi, lo, &d->dot, (const float *)d->a.x + x,
                                    (const float *)d->b.x + y, scale);
    return dot_extracted(hi, lo, &d->dot, (const double *)d->a.x + x, (const double *)d->b.x + y,
                         scale);
}

/* Terms first .. first + count - 1 of a line as doubles. */
static void take_terms(double *out, const struct dots *d, const struct dot_lines *lines,
                       size_t line, size_t first, size_t count)
{
    size_t at = line * lines->step + first;
    if (d->c->exact_products) dtype_to_double(out, (const float *)lines->x + at, DT_F32, count);
    else memcpy(out, (const double *)lines->x + at, count * sizeof *out);
}

static double least_scale(const struct dots *d, size_t i, size_t j)
{
    const struct dot_matrix *c = d->c;
    return dot_line_scale(&d->a, i, c->k, c->exact_products) *
           dot_line_scale(&d->b, j, c->k, c->exact_products);
}

static double extracted_deeply(double *hi, double *lo, const struct dots *d, size_t i, size_t j,
                               double scale)
{
    size_t k = d->c->k;
    take_terms(d->wide, d, &d->a, i, 0, k);
    take_terms(d->wide + k, d, &d->b, j, 0, k);
    return dot_extracted_deeply(hi, lo, &d->dot, d->wide, d->wide + k, scale);
}

static bool passes(const struct dot_matrix *c, const struct certificate *certificate, double value,
                   double error)
{
    return c->quick ? certificate_passes_quickly(certificate, value, error)
                    : certificate_passes(certificate, value, error);
}

/* Take the sum hi + lo, off by `bound` at most, for element (i, j). Where that does not certify it, those from a smaller sigma, and
 * then of more levels. */
static void settle(const struct dots *d, const struct certificate *certificate, size_t i, size_t j,
                   double hi, double lo, double bound)
{
    double *value = &d->c->value[i * d->c->step + j],
           *error = &d->c->error[i * d->c->error_step + j], scale = 0;
    for (int attempt = 0;; attempt++) {
        double sum = hi + lo, z = sum - hi;
        double total = ((fabs(hi - (sum - z)) + fabs(lo - z)) + bound) * (1 + 0x1p-50);
        if (total < *error) {
            *value = sum;
            *error = total;
        }
        if (attempt == 2 || passes(d->c, certificate, *value, *error)) return;
        if (attempt == 0) scale = least_scale(d, i, j);
        bound = attempt == 0 ? extracted(&hi, &lo, d, i, j, scale)
                             : extracted_deeply(&hi, &lo, d, i, j, scale);
    }
}

static bool is_settled(const struct dots *d, const struct certificate *certificate, size_t i,
                       size_t j)
{
    return passes(d->c, certificate, d->c->value[i * d->c->step + j],
                  d->c->error[i * d->c->error_step + j]);
}

static void recompute(const struct dots *d, const struct certificate *certificate, size_t i,
                      size_t j)
{
    if (is_settled(d, certificate, i, j)) return;
    double hi, lo, bound = extracted(&hi, &lo, d, i, j, d->a.scale[i] * d->b.scale[j]);
    settle(d, certificate, i, j, hi, lo, bound);
}

/* ---- several rows at a time -------------------------------------------------------------------- */

/* Where enough columns have elements open in two of ROWS rows and more, all rows are multiplied with each, PIECE terms
 * at a time, which stay in the first-level cache as doubles. */
enum { ENOUGH = 4, PIECE = 1 << 9 };

static uint64_t in_two_rows(const uint64_t *open)
{
    uint64_t once = 0, twice = 0;
    for (size_t i = 0; i < ROWS; i++) {
        twice |= once & open[i];
        once |= open[i];
    }
    return twice;
}

/* Sums of ROWS rows with each of up to WIDTH columns. */
struct group_sums {
    double hi[WIDTH][ROWS], lo[WIDTH][ROWS];
};

static void sum_group(struct group_sums *sums, const struct dots *d, size_t row, size_t column,
                      uint64_t columns)
{
    _Alignas(64) double x[ROWS * PIECE], y[PIECE];
    double sigma[ROWS];
    memset(sums, 0, sizeof *sums);
    for (size_t first = 0; first < d->c->k; first += PIECE) {
        size_t count = d->c->k - first < PIECE ? d->c->k - first : PIECE;
        for (size_t i = 0; i < ROWS; i++)
            take_terms(x + i * PIECE, d, &d->a, row + i, first, count);
        for (uint64_t bits = columns; bits; bits &= bits - 1) {
            size_t j = (size_t)__builtin_ctzll(bits);
            take_terms(y, d, &d->b, column + j, first, count);
            for (size_t i = 0; i < ROWS; i++)
                sigma[i] = d->dot.start * (d->a.scale[row + i] * d->b.scale[column + j]);
            for (size_t i = 0; i < ROWS; i += DOT_GROUP)
                dot_extract_group(sums->hi[j] + i, sums->lo[j] + i, x + i * PIECE, PIECE, y, count,
                                  sigma + i);
        }
    }
}

/* Recompute what is open of `columns`, and take it from `open`. */
static void recompute_group(const struct dots *d, const struct certificate *certificate,
                            uint64_t *open, size_t row, size_t column, uint64_t columns)
{
    struct group_sums sums;
    sum_group(&sums, d, row, column, columns);
    for (size_t i = 0; i < ROWS; i++) {
        for (uint64_t bits = open[i] & columns; bits; bits &= bits - 1) {
            size_t j = (size_t)__builtin_ctzll(bits);
            bool summed;
            double scale = d->a.scale[row + i] * d->b.scale[column + j];
            double bound = dot_extraction_bound(&summed, &d->dot, scale);
            if (is_settled(d, certificate, row + i, column + j)) continue;
            settle(d, certificate, row + i, column + j, summed ? sums.hi[j][i] : 0,
                   summed ? sums.lo[j][i] : 0, bound);
        }
        open[i] &= ~columns;
    }
}

/* ---- all ---------------------------------------------------------------------------------------- */

/* Which of n elements, at most 64, the quick form of the certificate does not pass, as bits. */
VECTORIZED static uint64_t open_bits(const double *restrict value, const double *restrict error,
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
                          : open_bits(c->value + (row + i) * c->step + column,
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
    size_t m = c->a.lines, n = c->b.lines;
    for (size_t column = 0; column < n; column += WIDTH)
        for (size_t row = 0; row < m; row += ROWS) {
            size_t height = m - row < ROWS ? m - row : ROWS;
            uint64_t open[ROWS] = { 0 };
            if (!take_open(open, c, &certificate, row, height, column)) continue;
            uint64_t columns = in_two_rows(open);
            if (height == ROWS && __builtin_popcountll(columns) >= ENOUGH)
                recompute_group(&d, &certificate, open, row, column, columns);
            for (size_t i = 0; i < height; i++)
                for (uint64_t bits = open[i]; bits; bits &= bits - 1)
                    recompute(&d, &certificate, row + i, column + (size_t)__builtin_ctzll(bits));
        }
}
