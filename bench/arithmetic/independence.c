/* Autocorrelations, means of lines, equal neighbours and moments, each against Bernstein's limit. */
#include "bench/arithmetic/independence.h"

#include <complex.h>
#include <math.h>
#include <stdio.h>

#include "core/memory.h"

double independence_limit(double n, double most, double sums)
{
    double exponent = log(2e10 * sums), skew = exponent * most / (3 * sqrt(n));
    return skew + sqrt(skew * skew + 2 * exponent);
}

/* ---- autocorrelation -------------------------------------------------------------------------- */

/* In place, n a power of two: bit reversal and butterflies (Cooley and Tukey). */
static void transform(double complex *x, size_t n)
{
    for (size_t i = 1, j = 0; i < n; i++) {
        size_t bit = n >> 1;
        for (; j & bit; bit >>= 1) j ^= bit;
        j ^= bit;
        if (i >= j) continue;
        double complex t = x[i];
        x[i] = x[j];
        x[j] = t;
    }
    for (size_t half = 1; half < n; half *= 2) {
        double complex step = cexp(-I * M_PI / (double)half);
        for (size_t start = 0; start < n; start += 2 * half) {
            double complex turn = 1;
            for (size_t k = 0; k < half; k++) {
                double complex a = x[start + k], b = x[start + k + half] * turn;
                x[start + k] = a + b;
                x[start + k + half] = a - b;
                turn *= step;
            }
        }
    }
}

/* More elements than this are not transformed: 64 MiB for a million. */
enum { MOST_CORRELATED = 1 << 20, LEAST_TERMS = 16 };

static bool no_memory(char *reason, size_t bytes)
{
    (void)snprintf(reason, bytes, "there is no memory to test the distribution");
    return false;
}

static bool lags_hold(const struct draws *draws, char *reason, size_t bytes)
{
    size_t n = draws->n < MOST_CORRELATED ? draws->n : MOST_CORRELATED, size = 1, worst = 0;
    double largest = 0, quotient = 1, most = draws->most * draws->most;
    if (n <= LEAST_TERMS) return true;
    while (size < 2 * n) size *= 2;
    double complex *f = memory_allocate_zeroed(size, sizeof *f);
    if (!f) return no_memory(reason, bytes);
    for (size_t i = 0; i < n; i++) f[i] = draws->w[i];
    transform(f, size);
    for (size_t i = 0; i < size; i++) f[i] = creal(f[i]) * creal(f[i]) + cimag(f[i]) * cimag(f[i]);
    transform(f, size); /* the inverse of a real, even spectrum, but for the factor */
    for (size_t k = 1; k + LEAST_TERMS <= n; k++) {
        double z = fabs(creal(f[k])) / (double)size / sqrt((double)(n - k));
        double limit = independence_limit((double)(n - k), most, (double)n);
        if (z / limit <= quotient) continue;
        quotient = z / limit;
        largest = z;
        worst = k;
    }
    memory_release(f);
    if (!worst) return true;
    (void)snprintf(reason, bytes,
                   "draws that are %zu elements apart are correlated, by %.3g standard deviations",
                   worst, largest);
    return false;
}

/* ---- means ------------------------------------------------------------------------------------- */

static bool line_means_hold(const struct draws *draws, bool columns, char *reason, size_t bytes)
{
    size_t rows = draws->n / draws->row, lines = columns ? draws->row : rows,
           length = columns ? rows : draws->row;
    if (lines < 2) return true;
    double limit = independence_limit((double)length, draws->most, (double)lines);
    for (size_t i = 0; i < lines; i++) {
        double sum = 0;
        for (size_t k = 0; k < length; k++)
            sum += columns ? draws->w[k * draws->row + i] : draws->w[i * draws->row + k];
        double z = sum / sqrt((double)length);
        if (fabs(z) <= limit) continue;
        (void)snprintf(reason, bytes, "the mean of %s %zu is off by %.3g standard deviations",
                       columns ? "column" : "row", i, z);
        return false;
    }
    return true;
}

bool draws_are_independent(const struct draws *draws, char *reason, size_t bytes)
{
    if (!draws->n) return true;
    return lags_hold(draws, reason, bytes) && line_means_hold(draws, false, reason, bytes) &&
           line_means_hold(draws, true, reason, bytes);
}

bool moments_hold(const double *u, size_t n, char *reason, size_t bytes)
{
    double sum[5] = { 0 };
    for (size_t i = 0; i < n; i++) {
        double t = 2 * u[i] - 1, before = 1, p = t;
        for (int k = 1; k <= 4; k++) { /* (k + 1) P_(k+1) = (2k + 1) t P_k - k P_(k-1) */
            double next = ((2 * k + 1) * t * p - k * before) / (k + 1);
            sum[k] += p * sqrt(2 * k + 1);
            before = p;
            p = next;
        }
    }
    for (int k = 1; k <= 4 && n; k++) {
        double z = sum[k] / sqrt((double)n);
        if (fabs(z) <= independence_limit((double)n, sqrt(2 * k + 1), 4)) continue;
        (void)snprintf(reason, bytes, "moment %d is off by %.3g standard deviations", k, z);
        return false;
    }
    return true;
}

/* ---- equal neighbours ----------------------------------------------------------------------------- */

/* In a random order of the values at hand a place holds the same value as the next with the probability
 * sum c (c - 1) / (n (n - 1)), c the frequencies. */
bool neighbours_differ(const double *x, const double *sorted, size_t n, char *reason, size_t bytes)
{
    double pairs = 0, equal = 0, size = (double)n;
    if (n < 2) return true;
    for (size_t i = 0, start = 0; i < n; i++) {
        if (i + 1 < n && sorted[i + 1] == sorted[start]) continue;
        double count = (double)(i + 1 - start);
        pairs += count * (count - 1);
        start = i + 1;
    }
    for (size_t i = 1; i < n; i++) equal += x[i] == x[i - 1];
    double expected = pairs / size, exponent = log(2e10);
    if (fabs(equal - expected) <= 2 * sqrt(exponent * expected) + exponent) return true;
    (void)snprintf(reason, bytes,
                   "%.0f draws equal the one before; in a random order it would be %.3g", equal,
                   expected);
    return false;
}
