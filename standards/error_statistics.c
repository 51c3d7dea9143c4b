/* Sums over z, over distinct references, and the likelihood of censored errors. */
#include "standards/error_statistics.h"

#include <math.h>
#include <string.h>

#include "core/vectorize.h"

/* Elements whose intervals are looked at, evenly spread: ten of these cost what one metrics pass does. */
enum { MOST_INTERVALS = 16384 };

/* Scales that are compared; the first EXPLAINED are what honest kernels have. */
static const double scales[SCALES] = { 0.25, 0.5, 1, 1.5, 2.1, 3, 6, 12, 24, 48 };
enum { EXPLAINED = 4 };

/* Shifts of a whole row, in expected errors away from 0, about which its errors have a scale of 1. */
static const double shifts[SHIFTS] = { 0, -1, 1, -2, 2 };

/* Fewer errors have no scale to speak of, and fewer rows no common shift. */
enum { FEWEST = 16 };

double error_interval_distance(const struct error_interval *interval, double bound)
{
    if (interval->low > bound) return interval->low - bound;
    if (interval->high < -bound) return interval->high + bound;
    return 0;
}

void error_statistics_open(struct error_statistics *statistics, size_t n, size_t row)
{
    memset(statistics, 0, sizeof *statistics);
    statistics->row = row;
    statistics->stride = n / MOST_INTERVALS + 1;
}

static void add(struct error_sums *sums, double want, double z)
{
    sums->count++;
    sums->squares += z * z;
    sums->signed_sum += z;
    sums->toward += want < 0 ? -z : z;
}

static void add_distinct(struct error_statistics *statistics, double want, double z)
{
    uint64_t bits;
    memcpy(&bits, &want, sizeof bits);
    size_t slot = (size_t)(bits * UINT64_C(0x9e3779b97f4a7c15) >> 56) % DISTINCT_SLOTS;
    while (statistics->distinct[slot].sums.count > 0 && statistics->distinct[slot].want != want)
        slot = (slot + 1) % DISTINCT_SLOTS;
    if (statistics->distinct[slot].sums.count == 0) {
        statistics->distinct[slot].want = want;
        statistics->distinct_count++;
    }
    add(&statistics->distinct[slot].sums, want, z);
}

/* Errors that a row shares are mostly relative, so they count by the direction away from 0. */
static void end_row(struct error_statistics *statistics)
{
    double mean = statistics->row_sum / (double)statistics->in_row;
    statistics->row_squares += mean * mean;
    statistics->rows++;
    statistics->row_sum = 0;
    statistics->in_row = 0;
}

void error_statistics_add(struct error_statistics *statistics, double want, double z)
{
    add(&statistics->all, want, z);
    statistics->row_sum += want < 0 ? -z : z;
    if (++statistics->in_row == statistics->row) end_row(statistics);
    if (statistics->distinct_count <= DISTINCT_MOST) add_distinct(statistics, want, z);
}

enum { LANES = 16 };

/* Errors that all are numbers, in interleaved sums: the squares, the errors, and those signed by the direction away
 * from 0. n is a multiple of LANES. */
VECTORIZED static void add_lanes(struct error_sums *run, const double *restrict want,
                                 const double *restrict z, size_t n)
{
    double squares[LANES] = { 0 }, sums[LANES] = { 0 }, toward[LANES] = { 0 };
    for (size_t i = 0; i < n; i += LANES)
        for (size_t k = 0; k < LANES; k++) {
            double error = z[i + k];
            squares[k] += error * error;
            sums[k] += error;
            toward[k] += want[i + k] < 0 ? -error : error;
        }
    for (size_t k = 0; k < LANES; k++) {
        run->squares += squares[k];
        run->signed_sum += sums[k];
        run->toward += toward[k];
    }
    run->count += (double)n;
}

static struct error_sums sums_of_run(const double *want, const double *z, size_t n)
{
    struct error_sums run = { 0 };
    size_t whole = n / LANES * LANES;
    if (whole) add_lanes(&run, want, z, whole);
    for (size_t i = whole; i < n; i++) add(&run, want[i], z[i]);
    return run;
}

/* Part of a row, and the row where it ends. */
static void add_to_row(struct error_statistics *statistics, double toward, size_t n)
{
    statistics->row_sum += toward;
    statistics->in_row += n;
    if (statistics->in_row == statistics->row) end_row(statistics);
}

/* Errors signed by the direction away from 0. */
VECTORIZED static void sign_errors(double *restrict toward, const double *restrict want,
                                   const double *restrict z, size_t n)
{
    for (size_t i = 0; i < n; i++) toward[i] = want[i] < 0 ? -z[i] : z[i];
}

/* Rows of which nothing but the sum is asked. */
static void add_rows(struct error_statistics *statistics, const double *want, const double *z,
                     size_t n)
{
    enum { BLOCK = 256 };
    double toward[BLOCK];
    for (size_t start = 0, count; start < n; start += count) {
        count = n - start < BLOCK ? n - start : BLOCK;
        sign_errors(toward, want + start, z + start, count);
        for (size_t i = 0, part; i < count; i += part) {
            size_t rest = statistics->row - statistics->in_row;
            double sum = 0;
            part = count - i < rest ? count - i : rest;
            for (size_t k = i; k < i + part; k++) sum += toward[k];
            add_to_row(statistics, sum, part);
        }
    }
}

/* Errors that all are numbers. */
static void add_numbers(struct error_statistics *statistics, const double *want, const double *z,
                        size_t n)
{
    const struct error_sums run = sums_of_run(want, z, n);
    statistics->all.count += run.count;
    statistics->all.squares += run.squares;
    statistics->all.signed_sum += run.signed_sum;
    statistics->all.toward += run.toward;
    if (n <= statistics->row - statistics->in_row) add_to_row(statistics, run.toward, n);
    else add_rows(statistics, want, z, n);
}

void error_statistics_add_all(struct error_statistics *statistics, const double *want,
                              const double *z, size_t n)
{
    for (size_t i = 0, end; i < n; i = end) {
        bool few = statistics->distinct_count <= DISTINCT_MOST;
        end = i + 1;
        if (isnan(z[i])) continue;
        while (!few && end < n && !isnan(z[end])) end++;
        if (few) error_statistics_add(statistics, want[i], z[i]);
        else add_numbers(statistics, want + i, z + i, end - i);
    }
}

/* P(low <= x <= high) of a standard normal x, without cancellation: both ends moved to one side. */
static double normal_mass(double low, double high)
{
    static const double root_half = 0.70710678118654752;
    if (low + high < 0) {
        double t = low;
        low = -high;
        high = -t;
    }
    if (low <= 0) return 1 - 0.5 * (erfc(-low * root_half) + erfc(high * root_half));
    return 0.5 * (erfc(low * root_half) - erfc(high * root_half));
}

/* Errors this many deviations away say no more: one wild element is not about the scale of all. */
static const double least_mass = 1e-9;

/* The row's best shift joins those of the rows before it. */
static void end_shifted_row(struct error_statistics *statistics)
{
    int best = 0;
    for (int k = 1; k < SHIFTS; k++)
        if (statistics->of_row[k] > statistics->of_row[best]) best = k;
    statistics->of_shifts += statistics->of_row[best];
    statistics->shifts += shifts[best];
    statistics->shifted_rows++;
    memset(statistics->of_row, 0, sizeof statistics->of_row);
}

void error_statistics_add_interval(struct error_statistics *statistics, size_t element, double want,
                                   const struct error_interval *interval, double spread)
{
    double sign = want < 0 ? -1 : 1;
    if (element % statistics->stride || !(spread > 0)) return;
    double low = interval->low / spread, high = interval->high / spread;
    if (statistics->row > 1 && element / statistics->row != statistics->last_row) {
        end_shifted_row(statistics);
        statistics->last_row = element / statistics->row;
    }
    for (int k = 0; k < SHIFTS && !(low < -10 && high > 10); k++) {
        double mass = normal_mass(low - sign * shifts[k], high - sign * shifts[k]);
        statistics->of_row[k] += log(fmax(mass, least_mass));
    }
    for (int k = SCALES; k-- > 0;) {
        double a = low / scales[k], b = high / scales[k];
        if (a < -8 && b > 8) break; /* certain, at all smaller scales too */
        statistics->likelihood[k] += log(fmax(normal_mass(a, b), least_mass));
    }
}

static void add_groups(struct error_sums *total, const struct error_statistics *statistics)
{
    for (size_t slot = 0; slot < DISTINCT_SLOTS; slot++) {
        const struct error_sums *sums = &statistics->distinct[slot].sums;
        if (sums->count == 0) continue;
        total->count++;
        total->squares += sums->squares / sums->count;
        total->signed_sum += sums->signed_sum / sums->count;
        total->toward += sums->toward / sums->count;
    }
}

/* Do shifts of rows explain what no scale does? Not a shift that many rows have in common. */
static bool rows_explain(struct error_statistics *statistics, double best)
{
    end_shifted_row(statistics);
    double rows = statistics->shifted_rows;
    return statistics->row > 1 && rows > 1 && statistics->of_shifts >= best &&
           (rows < FEWEST || fabs(statistics->shifts / rows) < 1.5);
}

/* Do the means of the rows differ by more than half of what the errors do? What all have in common is no error of a row. */
static bool rows_share(const struct error_statistics *statistics)
{
    const struct error_sums *all = &statistics->all;
    double common = all->toward / all->count;
    double apart = statistics->row_squares / statistics->rows - common * common;
    return apart > (all->squares / all->count - common * common) / 2;
}

void error_statistics_close(struct error_summary *out, struct error_statistics *statistics)
{
    struct error_sums sums = { 0 };
    int best = 0, explained = 0;

    *out = (struct error_summary){ .elements = (uint64_t)statistics->all.count };
    if (!out->elements) return;
    if (statistics->distinct_count <= DISTINCT_MOST) add_groups(&sums, statistics);
    else sums = statistics->all;
    out->independent = sums.count;
    if (statistics->row > 1 && statistics->rows > 1 && rows_share(statistics))
        out->independent = fmin(sums.count, statistics->rows);
    out->rms = sqrt(sums.squares / sums.count);
    out->bias = fmax(fabs(sums.signed_sum), fabs(sums.toward)) / sums.count;
    for (int k = 1; k < SCALES; k++) {
        if (statistics->likelihood[k] > statistics->likelihood[best]) best = k;
        if (k < EXPLAINED && statistics->likelihood[k] > statistics->likelihood[explained])
            explained = k;
    }
    out->scale = scales[best];
    out->nats = statistics->likelihood[best] - statistics->likelihood[explained];
    if (statistics->distinct_count <= DISTINCT_MOST)
        out->nats *= sums.count / statistics->all.count;
    if (out->independent < FEWEST || rows_explain(statistics, statistics->likelihood[best]))
        out->nats = 0;
}
