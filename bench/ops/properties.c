/* The test of draws by their distribution function, and the numbers that native results draw from:
 * a hash of the call and the element, so that the same call gives the same draws.
 */
#include "bench/ops/properties.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/arithmetic/independence.h"
#include "bench/primitives/casts.h"
#include "core/hash.h"

/* What a property needs to know when it is tested. */
struct random_context {
    const struct distribution *distribution;
    double parameters[4];
};

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

size_t random_row(const struct tensor *t)
{
    int64_t last = t->rank ? t->shape[t->rank - 1] : 1;
    return last > 0 ? (size_t)last : 1;
}

/* May a draw overflow the dtype? Where the law has next to no mass beyond it, an infinity is a fault. */
static bool may_overflow(const struct random_context *context, enum dtype dtype, size_t n)
{
    double largest = dtype_info(dtype)->largest;
    const struct distribution *distribution = context->distribution;
    double beyond = distribution->cdf(-largest, context->parameters) + 1 -
                    distribution->cdf(largest, context->parameters);
    return beyond * (double)n > 1e-11;
}

/* The draw as a uniform number: its distribution function, at an atom a random place in its jump. */
static double uniform_of(const struct random_context *context, double x, size_t i)
{
    const struct distribution *distribution = context->distribution;
    double above = distribution->cdf(x, context->parameters);
    if (!distribution->cdf_below) return above;
    double below = distribution->cdf_below(x, context->parameters);
    return below + (above - below) * random_hash(i);
}

/* A law that is one value has nothing to test. */
static bool is_degenerate(const struct random_context *context, const double *sorted, size_t n)
{
    const struct distribution *distribution = context->distribution;
    return n == 0 || distribution->cdf(sorted[0], context->parameters) -
                             (distribution->cdf_below
                                  ? distribution->cdf_below(sorted[0], context->parameters)
                                  : 0) >=
                         1 - 1e-9;
}

/* Whole numbers of a short range: Pearson's statistic, limit of Laurent and Massart at 1e-10. */
static bool frequencies_hold(const struct random_context *context, const double *sorted, size_t n,
                             char *reason, size_t bytes)
{
    enum { LEAST_EXPECTED = 16 };
    const struct distribution *distribution = context->distribution;
    double cells = context->parameters[1] - context->parameters[0], expected = (double)n / cells;
    double statistic = 0, seen = 0, exponent = log(1e10);
    if (!distribution->whole || !distribution->bounded || !(cells > 1) || expected < LEAST_EXPECTED)
        return true;
    for (size_t i = 0, start = 0; i < n; i++) {
        if (i + 1 < n && sorted[i + 1] == sorted[start]) continue;
        double off = (double)(i + 1 - start) - expected;
        statistic += off * off / expected;
        seen++;
        start = i + 1;
    }
    statistic += (cells - seen) * expected;
    double limit = cells - 1 + 2 * sqrt((cells - 1) * exponent) + 2 * exponent;
    if (statistic <= 1.5 * limit)
        return true; /* counts have heavier tails than their normal limit */
    (void)snprintf(
        reason, bytes,
        "the frequencies of the %.0f values give a chi square of %.4g; the limit is %.4g", cells,
        statistic, 1.5 * limit);
    return false;
}

/* Independence of the draws x; `sorted` are the same in order, `w` is room for n. */
static bool order_holds(const struct random_context *context, const double *x, const double *sorted,
                        double *w, size_t n, size_t row, char *reason, size_t bytes)
{
    if (is_degenerate(context, sorted, n)) return true;
    if (!frequencies_hold(context, sorted, n, reason, bytes) ||
        !neighbours_differ(x, sorted, n, reason, bytes))
        return false;
    for (size_t i = 0; i < n; i++) w[i] = uniform_of(context, x[i], i);
    if (!moments_hold(w, n, reason, bytes)) return false;
    for (size_t i = 0; i < n; i++) w[i] = sqrt(12) * (w[i] - 0.5);
    return draws_are_independent(&(struct draws){ w, n, row, sqrt(3) }, reason, bytes);
}

/* Dvoretzky-Kiefer-Wolfowitz (Massart's constant): P(sup |F_n - F| > d) <= 2 exp(-2 n d^2).
 * Rounding to the tested dtype moves a value by half an ulp, so F is compared on both sides. */
static bool distribution_holds(const struct bench_property *property, const struct tensor *got,
                               char *reason, size_t bytes)
{
    const struct random_context *context = property->context;
    const struct distribution *distribution = context->distribution;
    struct arena arena = { 0 };
    struct tensor dense;
    bool holds = false;
    size_t n = tensor_elements(got);
    double *sorted = arena_allocate_array(&arena, 3 * n + 1, sizeof *sorted);
    bool overflows = dtype_is_float(got->dtype) && may_overflow(context, got->dtype, n);

    if (!sorted || tensor_densify(&dense, &arena, got).code) {
        (void)snprintf(reason, bytes, "there is no memory to test the distribution");
        goto done;
    }
    double *drawn = sorted + n;
    dtype_to_double(sorted, dense.data, dense.dtype, n);
    for (size_t i = 0; i < n; i++) {
        double x = sorted[i];
        /* A float may be an end that it was rounded to. */
        double slack = dtype_is_float(dense.dtype) ? 0.5 * dtype_ulp(dense.dtype, x) : 0;
        bool outside = distribution->bounded &&
                       (x + slack < context->parameters[0] ||
                        x - slack > context->parameters[1] - distribution->whole);
        drawn[i] = x;
        if (!(x >= distribution->low && x <= distribution->high) || outside ||
            (distribution->whole && x != floor(x)) || (isinf(x) && !overflows)) {
            (void)snprintf(reason, bytes, "element %zu is %.9g, which %s cannot be", i, x,
                           distribution->name);
            goto done;
        }
    }
    qsort(sorted, n, sizeof *sorted, by_value);
    double limit = sqrt(log(2e9) / (2 * (double)(n ? n : 1))), worst = 0;
    for (size_t i = 0; i < n; i++) {
        double slack = dtype_is_float(dense.dtype) ? 0.5 * dtype_ulp(dense.dtype, sorted[i]) : 0;
        /* Half an ulp of a double is no step of doubles: what a law puts on one number alone must not be counted below it. */
        double before = slack > 0 ? fmin(sorted[i] - slack, nextafter(sorted[i], -INFINITY))
                                  : sorted[i];
        double below = (distribution->cdf_below ? distribution->cdf_below
                                                : distribution->cdf)(before, context->parameters);
        double above = distribution->cdf(sorted[i] + slack, context->parameters);
        worst =
            fmax(worst, fmax(below - (double)(i + 1) / (double)n, (double)i / (double)n - above));
    }
    holds = worst <= limit;
    if (!holds)
        (void)snprintf(reason, bytes, "the distribution is %.4f away from %s; the limit is %.4f",
                       worst, distribution->name, limit);
    if (holds)
        holds = order_holds(context, drawn, sorted, drawn + n, n, random_row(got), reason, bytes);
done:
    arena_release(&arena);
    return holds;
}

const struct bench_property *random_property(struct call *call,
                                             const struct distribution *distribution,
                                             const double *parameters)
{
    struct random_context *context = tape_allocate(call->tape, 1, sizeof *context);
    struct bench_property *property = tape_allocate(call->tape, 1, sizeof *property);
    if (!context || !property) return NULL;
    memset(context, 0, sizeof *context);
    context->distribution = distribution;
    if (parameters) memcpy(context->parameters, parameters, sizeof context->parameters);
    *property = (struct bench_property){
        "legal values; distribution within the Dvoretzky-Kiefer-Wolfowitz limit at 1e-9",
        distribution_holds, context
    };
    return property;
}

bool random_uniforms_hold(double *u, size_t n, const char *law, char *reason, size_t bytes)
{
    double limit = sqrt(log(2e9) / (2 * (double)(n ? n : 1))), worst = 0;
    qsort(u, n, sizeof *u, by_value);
    for (size_t i = 0; i < n; i++)
        worst = fmax(worst, fmax(u[i] - (double)i / (double)n, (double)(i + 1) / (double)n - u[i]));
    if (worst <= limit) return true;
    (void)snprintf(reason, bytes, "the distribution is %.4f away from %s; the limit is %.4f", worst,
                   law, limit);
    return false;
}

static double mixed(uint64_t h, size_t i)
{
    h += (uint64_t)(i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    h = (h ^ h >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    h = (h ^ h >> 27) * UINT64_C(0x94d049bb133111eb);
    h ^= h >> 31;
    return ((double)(h >> 12) + 0.5) * 0x1p-52;
}

double random_hash(size_t i) { return mixed(UINT64_C(0x2545f4914f6cdd1d), i); }

double random_uniform(const struct call *call, size_t i)
{
    /* splitmix64 over a hash of the call's name: the cpu device's own draws. */
    const char *name = call->api_case->full_name;
    return mixed(hash_bytes(HASH_START, name, strlen(name)), i);
}

void random_return(struct call *call, const struct distribution *distribution,
                   const double *parameters, enum dtype dtype, int rank, const int64_t *shape)
{
    struct node *node = NULL;
    if (!tape_is_reference(call->tape)) {
        node = node_new_real(call->tape, dtype, rank, shape);
        for (size_t i = 0; !tape_failed(call->tape) && i < node->n; i++)
            node->value[i] = distribution->quantile(random_uniform(call, i), parameters);
        if (dtype_is_integral(dtype)) node = node_to_integer(call->tape, node, dtype);
    }
    call_return_random(call, node, dtype, rank, shape,
                       random_property(call, distribution, parameters));
}

/* ---- choices of 0 and 1 ---------------------------------------------------------------------- */

bool random_choices_hold(double *x, const double *chances, double p, size_t n, size_t row,
                         char *reason, size_t bytes)
{
    double most = 1;
    for (size_t i = 0; i < n; i++) {
        double chance = chances ? chances[i] : p, deviation = sqrt(chance * (1 - chance));
        x[i] = isnan(x[i]) || !(deviation > 0) ? 0 : (x[i] - chance) / deviation;
        most = fmax(most, fabs(x[i]));
    }
    return draws_are_independent(&(struct draws){ x, n, row && n % row == 0 ? row : 1, most },
                                 reason, bytes);
}

struct chance {
    const double *probability; /* of a 1, per element */
    size_t n;
};

/* 0 or 1 only; certain elements as they must be; the number of ones within six sigma. */
static bool chances_hold(const struct bench_property *property, const struct tensor *got,
                         char *reason, size_t bytes)
{
    const struct chance *chance = property->context;
    struct arena arena = { 0 };
    struct tensor dense;
    double ones = 0, mean = 0, variance = 0;
    bool holds = false;
    double *x = arena_allocate_array(&arena, 2 * chance->n, sizeof *x);

    if (!x || tensor_densify(&dense, &arena, got).code) {
        (void)snprintf(reason, bytes, "there is no memory to test the distribution");
        goto done;
    }
    dtype_to_double(x, dense.data, dense.dtype, chance->n);
    for (size_t i = 0; i < chance->n; i++) {
        double p = chance->probability[i];
        if ((x[i] != 0 && x[i] != 1) || (p == 0 && x[i] != 0) || (p == 1 && x[i] != 1)) {
            (void)snprintf(reason, bytes, "element %zu is %g where the probability of 1 is %g", i,
                           x[i], p);
            goto done;
        }
        ones += x[i];
        mean += p;
        variance += p * (1 - p);
    }
    holds = fabs(ones - mean) <= 6.2 * sqrt(variance) + 12;
    if (!holds)
        (void)snprintf(reason, bytes, "%g ones where %g +- %g are expected", ones, mean,
                       sqrt(variance));
    else
        holds = random_choices_hold(x, chance->probability, 0, chance->n, random_row(got), reason,
                                    bytes);
done:
    arena_release(&arena);
    return holds;
}

const struct bench_property *random_chances(struct tape *tape, const double *probability, size_t n)
{
    struct chance *chance = tape_allocate(tape, 1, sizeof *chance);
    struct bench_property *property = tape_allocate(tape, 1, sizeof *property);
    if (tape_failed(tape)) return NULL;
    *chance = (struct chance){ probability, n };
    *property = (struct bench_property){ "zeros and ones; their number within 6.2 sigma (1e-9)",
                                         chances_hold, chance };
    return property;
}
