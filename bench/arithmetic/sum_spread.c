/* The typical error of a sum, by formula and by imitation. */
#include "bench/arithmetic/sum_spread.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* The exponent of the last bit that is set in x, finite and not 0. */
static int last_bit(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    int exponent = (int)(bits >> 52 & 0x7ff);
    uint64_t significand = bits & ((UINT64_C(1) << 52) - 1);
    if (exponent) significand |= UINT64_C(1) << 52;
    else exponent = 1;
    return exponent - 1075 + __builtin_ctzll(significand);
}

bool sum_is_exact(const double *term, size_t n, int bits)
{
    enum { LEAST_NORMAL = -126 };
    double magnitude = 0;
    int last = 1024;
    for (size_t k = 0; k < n; k++) {
        if (term[k] == 0) continue;
        magnitude += fabs(term[k]);
        if (!(magnitude < INFINITY)) return false;
        int place = last_bit(term[k]);
        if (place < last) last = place;
        if (last < LEAST_NORMAL || magnitude > ldexp(1, last + bits)) return false;
    }
    return true;
}

/* A random order is a walk from 0 to S whose steps are drawn without replacement: E S_k^2 is
 * k (n - k) / (n (n - 1)) (Q - S^2 / n) + k^2 S^2 / n^2; summed over k = 1 .. n. */
double sum_spread_of_any_order(double n, double sum, double squares)
{
    double scatter = fmax(squares - sum * sum / n, 0);
    return (n + 1) / 6 * scatter + sum * sum * (n + 1) * (2 * n + 1) / (6 * n);
}

enum { LANES = 8, BLOCK = 64, PARTS = 4 };

/* Sums in float as kernels form them: every chain is one dependency, and they run side by side. */
struct imitation {
    float forward, fused, reverse, lane[LANES], block, blocks, part[PARTS];
    double apart; /* the largest error of a partial sum of `forward` */
};

static void imitate(struct imitation *sums, const double *term, size_t n)
{
    size_t part = (n + PARTS - 1) / PARTS;
    double walk = 0;
    *sums = (struct imitation){ 0 };
    for (size_t k = 0; k < n; k++) {
        float x = (float)term[k];
        sums->forward += x;
        walk += x;
        sums->apart = fmax(sums->apart, fabs(sums->forward - walk));
        sums->fused = (float)(sums->fused + term[k]); /* the product is not rounded */
        sums->reverse += (float)term[n - 1 - k];
        sums->lane[k % LANES] += x;
        sums->block += x;
        if (k % BLOCK == BLOCK - 1) {
            sums->blocks += sums->block;
            sums->block = 0;
        }
    }
    for (size_t p = 0; p < PARTS; p++)
        for (size_t k = p * part; k < n && k < (p + 1) * part; k++) sums->part[p] += (float)term[k];
}

/* The largest error of the imitations, against the sum of the terms as float. */
static double imitated_error(const double *term, size_t n, double exact)
{
    struct imitation sums;
    float lanes = 0, parts = 0;
    imitate(&sums, term, n);
    for (int k = 0; k < LANES; k++) lanes += sums.lane[k];
    for (int k = 0; k < PARTS; k++) parts += sums.part[k];
    double results[] = { sums.forward, sums.fused, sums.reverse, lanes, sums.blocks + sums.block,
                         parts },
           worst = isfinite(sums.apart) ? sums.apart : 0;
    for (size_t k = 0; k < sizeof results / sizeof *results; k++)
        if (isfinite(results[k])) worst = fmax(worst, fabs(results[k] - exact));
    return worst;
}

/* sum S_k^2 of a kernel with eight lanes, or four, each a walk of its own. Data of alternating signs are
 * kind to the other orders and not to these. */
static double spread_of_lanes(const double *term, size_t n)
{
    enum { FEWER = LANES / 2 };
    double walk[LANES] = { 0 }, second[LANES] = { 0 }, total = 0;
    double longer[FEWER] = { 0 }, longer_second[FEWER] = { 0 }, longer_total = 0;
    size_t k = 0;
    for (; k + LANES <= n; k += LANES) {
        for (size_t j = 0; j < LANES; j++) {
            walk[j] += term[k + j];
            second[j] += walk[j] * walk[j];
        }
        for (size_t j = 0; j < FEWER; j++) {
            double between = longer[j] + term[k + j];
            longer[j] = between + term[k + j + FEWER];
            longer_second[j] += between * between + longer[j] * longer[j];
        }
    }
    for (size_t j = 0; j < LANES; j++) total += second[j];
    for (size_t j = 0; j < FEWER; j++) longer_total += longer_second[j];
    return fmax(total, longer_total);
}

/* A kernel whose order is none of these may be off by as much again; on random data more would widen. */
static const double IMITATED_SHARE = 0.7;

struct sum_spread sum_spread_parts(const double *term, size_t n, bool products, bool single)
{
    struct sum_spread parts = { 0, 0 };
    /* S_k from the front are walk[k]; those from the back are S - walk[k - 1]. */
    double walk = 0, first = 0, second = 0, squares = 0, rounded = 0;
    if (n < 2 && !products) return parts;
    for (size_t k = 0; k < n; k++) {
        walk += term[k];
        first += walk;
        second += walk * walk;
        squares += term[k] * term[k];
        rounded += (float)term[k];
    }
    double size = (double)n, before = first - walk, before_second = second - walk * walk;
    double reverse = size * walk * walk - 2 * walk * before + before_second;
    double spread = fmax(fmax(second, reverse), sum_spread_of_any_order(size, walk, squares));
    spread = fmax(spread, spread_of_lanes(term, n)) / 3;
    parts.formula = products ? spread + squares / 3 : spread;
    if (!single) return parts;
    double imitated = IMITATED_SHARE * imitated_error(term, n, rounded) * 0x1p24;
    parts.imitated = imitated * imitated;
    return parts;
}

double sum_spread(const double *term, size_t n, bool products, bool single)
{
    struct sum_spread parts = sum_spread_parts(term, n, products, single);
    return fmax(parts.formula, parts.imitated);
}

/* Terms that have errors of their own and repeat: while a sum stays between two powers of 2, a term that comes N times is
 * rounded alike N times, by what nobody knows, u 2^e / sqrt 3 in the root mean square. So N^2 of these count, where
 * independent roundings have N. 0 where there are more than a few different terms. */
static double spread_of_repeated(const double *term, size_t n)
{
    enum { MOST_VALUES = 8, BINADES = 32 };
    double value[MOST_VALUES], walk = 0, total = 0;
    double times[BINADES][MOST_VALUES] = { { 0 } };
    int exponent[BINADES] = { 0 };
    size_t values = 0;
    for (size_t k = 0; k < n; k++) {
        size_t j = 0;
        if (term[k] == 0) continue;
        while (j < values && value[j] != term[k]) j++;
        if (j == MOST_VALUES) return 0;
        if (j == values) value[values++] = term[k];
        walk += term[k];
        if (walk == 0 || !isfinite(walk)) continue;
        int e = ilogb(walk), slot = e & (BINADES - 1);
        exponent[slot] = e;
        times[slot][j]++;
    }
    for (int slot = 0; slot < BINADES; slot++)
        for (size_t j = 0; j < values; j++) {
            double size = ldexp(times[slot][j], exponent[slot]);
            total += size * size;
        }
    return total / 3;
}

double sum_spread_of_inexact(double *term, size_t n, bool products, bool single)
{
    enum { COPIES = 2 };
    double spread = fmax(sum_spread(term, n, products, single), spread_of_repeated(term, n));
    for (int copy = 0; single && copy < COPIES; copy++) {
        double exact = 0, imitated;
        for (size_t k = 0; k < n; k++) {
            term[k] *= 1 + 0x1.4p-22; /* five units of float's roundoff */
            exact += (float)term[k];
        }
        imitated = IMITATED_SHARE * imitated_error(term, n, exact) * 0x1p24;
        if (n > 1) spread = fmax(spread, imitated * imitated);
    }
    return spread;
}
