/* Every element by Bernstein's and Kearns and Saul's limits, rows of a result by their independence. */
#include "bench/ops/dropped_law.h"

#include <math.h>
#include <stdio.h>

#include "bench/arithmetic/independence.h"
#include "core/dtype.h"

/* log of 2 / 1e-10 */
#define LOG_TWO_OVER_CHANCE 23.72

/* K of Kearns and Saul: choices that are kept with 1 - p are no wilder than normal numbers of K times their variance. */
static double wildness(double p)
{
    double q = 1 - p;
    return fabs(p - 0.5) < 1e-6 ? 1 : (q - p) / (2 * p * q * log(q / p));
}

/* How far from its mean element i may lie. */
static double room_of(const struct dropped_law *law, size_t i)
{
    double odds = law->p / (1 - law->p), above = fmax(1, odds);
    double chance = LOG_TWO_OVER_CHANCE + log((double)law->n);
    double term = above * law->largest[i] * chance / 3;
    double squares = fmax(law->squares[i], 0) + 1e-12 * law->size[i] * law->size[i];
    double variance = 2 * chance * odds * squares;
    double likely = fmin(term + sqrt(term * term + variance), sqrt(wildness(law->p) * variance));
    return fmin(likely, above * law->size[i]) + law->relative * law->size[i] / (1 - law->p) +
           dtype_ulp(law->dtype, law->mean[i]);
}

static bool elements_hold(const struct dropped_law *law, const double *x, char *reason,
                          size_t bytes)
{
    for (size_t i = 0; i < law->n; i++) {
        if (!isfinite(law->mean[i])) continue; /* a row of which all is masked */
        double room = room_of(law, i);
        if (law->terms && x[i] == 0 && fabs(law->mean[i]) > dtype_info(DT_F16)->largest * 0x1p-30 &&
            -law->terms[i] * log(law->p) > LOG_TWO_OVER_CHANCE + log((double)law->n)) {
            (void)snprintf(reason, bytes,
                           "element %zu is 0, which is not to be expected of %g weights", i,
                           law->terms[i]);
            return false;
        }
        if (fabs(x[i] - law->mean[i]) <= room) continue;
        (void)snprintf(reason, bytes,
                       "element %zu is %.9g; without dropout it is %.9g, and dropout changes it by "
                       "at most %.3g",
                       i, x[i], law->mean[i], room);
        return false;
    }
    return true;
}

/* Standardized projections of the rows that a device can tell. `fourths` is the sum of their fourth moments, `bias` of what
 * common roundings may shift them by. */
struct projections {
    double *w, fourths, bias;
    size_t n;
};

static void project(struct projections *out, const struct dropped_law *law, const double *x)
{
    double p = law->p, q = 1 - p, odds = p / q;
    double fourth = p * (p * p * p + q * q * q) / (q * q * q) - 3 * odds * odds;
    for (size_t first = 0; first < law->n; first += law->rows->width) {
        double along = 0, common = 0, deviation = sqrt(odds * law->rows->squares[first]);
        for (size_t i = first; i < first + law->rows->width; i++) {
            along += law->rows->direction[i] * (x[i] - law->mean[i]);
            common += law->rows->direction[i] * law->mean[i];
        }
        double shift = law->relative * fabs(common) / deviation;
        if (!(deviation > 0) || !isfinite(along) || shift > 0.25) continue;
        out->w[out->n++] = along / deviation;
        out->bias += shift;
        out->fourths += 3 + fourth * law->rows->fourths[first] / pow(deviation, 4);
    }
}

static bool rows_hold(const struct dropped_law *law, const double *x, double *memory, char *reason,
                      size_t bytes)
{
    struct projections r = { .w = memory };
    double sum = 0, squares = 0;
    project(&r, law, x);
    double n = (double)r.n, wild = wildness(law->p);
    double most = sqrt(2 * wild * (LOG_TWO_OVER_CHANCE + log((double)law->n))) + 0.25;
    if (r.n < 2) return true;
    for (size_t i = 0; i < r.n; i++) {
        sum += r.w[i];
        squares += r.w[i] * r.w[i];
    }
    double limit = independence_limit(n, most, 1) * sqrt(n) + r.bias;
    if (fabs(sum) > limit) {
        (void)snprintf(reason, bytes,
                       "rows are on the average %.3g standard deviations off the mean, where %.3g "
                       "are explained: what is kept is not divided by %g",
                       sum / n, limit / n, 1 - law->p);
        return false;
    }
    double deviation = sqrt(fmax(r.fourths / n - 1, 1e-3)),
           bounded = n + independence_limit(n, most * most / deviation, 1) * deviation * sqrt(n),
           normal = wild * (n + 2 * sqrt(n * LOG_TWO_OVER_CHANCE) + 2 * LOG_TWO_OVER_CHANCE),
           below = sqrt(2 * LOG_TWO_OVER_CHANCE * r.fourths), slack = 3 * r.bias;
    if (squares < n - below - slack || squares > fmin(bounded, normal) + slack) {
        (void)snprintf(reason, bytes, "rows vary by %.3g of the variance of a dropout with p = %g",
                       squares / n, law->p);
        return false;
    }
    return r.bias > 0.02 * n ||
           draws_are_independent(&(struct draws){ r.w, r.n, 1, most }, reason, bytes);
}

static bool law_holds(const struct bench_property *property, const struct tensor *got, char *reason,
                      size_t bytes)
{
    const struct dropped_law *law = property->context;
    struct arena arena = { 0 };
    struct tensor dense;
    double *x = arena_allocate_array(&arena, 2 * law->n + 1, sizeof *x);
    bool holds = false;
    if (!x || tensor_densify(&dense, &arena, got).code || tensor_elements(&dense) != law->n) {
        (void)snprintf(reason, bytes, "there is no memory to test the distribution");
    } else {
        dtype_to_double(x, dense.data, dense.dtype, law->n);
        holds = elements_hold(law, x, reason, bytes) &&
                (!law->rows || rows_hold(law, x, x + law->n, reason, bytes));
    }
    arena_release(&arena);
    return holds;
}

const struct bench_property *dropped_law_property(struct tape *tape, const struct dropped_law *law)
{
    struct dropped_law *kept = tape_allocate(tape, 1, sizeof *kept);
    struct bench_property *property = tape_allocate(tape, 1, sizeof *property);
    if (tape_failed(tape)) return NULL;
    *kept = *law;
    *property = (struct bench_property){
        "a sum over weights that are kept or dropped, within Bernstein's limits (1e-9)", law_holds,
        kept
    };
    return property;
}
