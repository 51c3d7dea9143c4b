/* Draws whose law differs from element to element: poisson, binomial, multinomial, randperm.
 *
 * Each draw is turned into a uniform number (Rosenblatt 1952): with F the distribution of the draw
 * given the draws before it, U = F(k-) + v (F(k) - F(k-)), v uniform and independent of the draws, is
 * uniform, and the U of all draws are independent. Their distribution is then tested once, by
 * Dvoretzky-Kiefer-Wolfowitz (bench/ops/properties.h).
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/call/call.h"
#include "bench/ops/properties.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/movement.h"
#include "bench/tape/broadcast.h"
#include "core/log_gamma.h"

/* ---- distribution functions ----------------------------------------------------------------------- */

/* Relative accuracy of the two below: about 1e-12, far inside the width of the test. */
enum { MOST_TERMS = 100000 };

/* P(a, x), regularised: the series below a + 1, Lentz's continued fraction above. */
static double lower_gamma(double a, double x)
{
    if (x <= 0) return 0;
    double front = exp(a * log(x) - x - log_gamma(a));
    if (x < a + 1) {
        double term = 1 / a, sum = term;
        for (int i = 1; i < MOST_TERMS && term > sum * 1e-16; i++) sum += term *= x / (a + i);
        return sum * front;
    }
    double b = x + 1 - a, c = 1e300, d = 1 / b, h = d;
    for (int i = 1; i < MOST_TERMS; i++) {
        double an = -i * (i - a);
        b += 2;
        d = 1 / (an * d + b);
        c = b + an / c;
        h *= c * d;
        if (fabs(c * d - 1) < 1e-15) break;
    }
    return 1 - front * h;
}

/* I_x(a, b), regularised, by Lentz's continued fraction on the side where it converges fast. */
static double incomplete_beta(double a, double b, double x)
{
    if (x <= 0) return 0;
    if (x >= 1) return 1;
    if (x > (a + 1) / (a + b + 2)) return 1 - incomplete_beta(b, a, 1 - x);
    double front =
        exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * log(x) + b * log1p(-x)) / a;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (d != 0 ? d : 1e-300);
    double h = d;
    for (int m = 1; m < MOST_TERMS; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        d = 1 / (1 + even * d);
        c = 1 + even / c;
        h *= c * d;
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 / (1 + odd * d);
        c = 1 + odd / c;
        h *= c * d;
        if (fabs(c * d - 1) < 1e-15) break;
    }
    return front * h;
}

/* P(X <= k) for the parameters of one element. */
static double poisson_cdf(double k, double rate, double unused)
{
    (void)unused;
    return k < 0 ? 0 : rate <= 0 ? 1 : 1 - lower_gamma(floor(k) + 1, rate);
}

static double binomial_cdf(double k, double count, double p)
{
    return k < 0 ? 0 : k >= count ? 1 : 1 - incomplete_beta(floor(k) + 1, count - floor(k), p);
}

/* ---- the test ---------------------------------------------------------------------------------------- */

struct draws {
    const char *name;
    size_t n;                     /* draws: elements of the result */
    const double *first, *second; /* counts: parameters by element; multinomial: weights */
    double (*cdf)(double k, double first, double second);
    size_t classes, samples; /* multinomial; randperm: classes = samples = n */
    bool replacement;
};

static bool count_uniforms(double *u, const struct draws *draws, const double *k, enum dtype dtype,
                           char *reason, size_t bytes)
{
    for (size_t i = 0; i < draws->n; i++) {
        double first = draws->first[i], second = draws->second ? draws->second[i] : 0;
        if (!(k[i] >= 0) || k[i] != floor(k[i]) ||
            (draws->second && k[i] > first * (1 + dtype_ulp(dtype, 1)))) {
            (void)snprintf(reason, bytes, "element %zu is %.9g, which %s cannot be", i, k[i],
                           draws->name);
            return false;
        }
        /* Beyond the dtype's whole numbers a draw is known to half a step only. */
        double slack = floor(dtype_is_float(dtype) ? 0.5 * dtype_ulp(dtype, k[i]) : 0);
        double below = draws->cdf(k[i] - slack - 1, first, second),
               upto = draws->cdf(k[i] + slack, first, second);
        if (upto - below <= 0) { /* so far out that no probability is left */
            (void)snprintf(reason, bytes, "element %zu is %.9g, for parameters %.9g and %.9g", i,
                           k[i], first, second);
            return false;
        }
        u[i] = below + random_hash(i) * (upto - below);
    }
    return true;
}

/* Each row is a sequence of draws from the classes that are left. They are lined up by falling
 * weight: a generator that flattens the weights moves the whole distribution of U. */
static bool class_uniforms(double *u, const struct draws *draws, const double *drawn, double *left,
                           char *reason, size_t bytes)
{
    for (size_t i = 0; i < draws->n; i++) {
        size_t row = i / draws->samples;
        if (i % draws->samples == 0)
            memcpy(left, draws->first + row * draws->classes, draws->classes * sizeof *left);
        double below = 0, total = 0;
        if (!(drawn[i] >= 0 && drawn[i] < (double)draws->classes) || drawn[i] != floor(drawn[i]) ||
            !(left[(size_t)drawn[i]] > 0)) {
            (void)snprintf(reason, bytes,
                           "draw %zu is %.9g, which is not a class or has no weight left", i,
                           drawn[i]);
            return false;
        }
        size_t k = (size_t)drawn[i];
        for (size_t c = 0; c < draws->classes; c++) {
            total += left[c];
            if (left[c] > left[k] || (left[c] == left[k] && c < k)) below += left[c];
        }
        u[i] = (below + random_hash(i) * left[k]) / total;
        if (!draws->replacement) left[k] = 0;
    }
    return true;
}

static bool draws_hold(const struct bench_property *property, const struct tensor *got,
                       char *reason, size_t bytes)
{
    const struct draws *draws = property->context;
    struct arena arena = { 0 };
    struct tensor dense;
    bool holds = false;
    double *u = arena_allocate_array(&arena, draws->n, sizeof *u),
           *k = arena_allocate_array(&arena, 2 * draws->n, sizeof *k);
    double *left = arena_allocate_array(&arena, draws->classes + 1, sizeof *left);
    if (!u || !k || !left || tensor_densify(&dense, &arena, got).code) {
        (void)snprintf(reason, bytes, "there is no memory to test the distribution");
    } else {
        dtype_to_double(k, dense.data, dense.dtype, draws->n);
        holds = (draws->cdf ? count_uniforms(u, draws, k, dense.dtype, reason, bytes)
                            : class_uniforms(u, draws, k, left, reason, bytes)) &&
                random_uniforms_hold(u, draws->n, draws->name, reason, bytes);
    }
    arena_release(&arena);
    return holds;
}

static const struct bench_property *draws_property(struct call *call, struct draws d)
{
    struct draws *context = tape_allocate(call->tape, 1, sizeof *context);
    struct bench_property *property = tape_allocate(call->tape, 1, sizeof *property);
    if (!context || !property) return NULL;
    *context = d;
    *property = (struct bench_property){
        "legal values; distribution within the Dvoretzky-Kiefer-Wolfowitz limit at 1e-9",
        draws_hold, context
    };
    return property;
}

/* ---- the APIs ------------------------------------------------------------------------------------------- */

/* The least k with cdf(k) > u. */
static double count_quantile(const struct draws *draws, size_t i, double u)
{
    double first = draws->first[i], second = draws->second ? draws->second[i] : 0, low = -1,
           high = 1;
    while (draws->cdf(high, first, second) <= u && high < 0x1p52) high *= 2;
    while (high - low > 1) {
        double middle = floor((low + high) / 2);
        if (draws->cdf(middle, first, second) > u) high = middle;
        else low = middle;
    }
    return high;
}

static void return_counts(struct call *call, const struct node *x, struct draws draws)
{
    struct tape *tape = call->tape;
    struct node *y = NULL;
    draws.n = x->n;
    if (!tape_is_reference(tape)) {
        y = node_new_real(tape, x->dtype, x->rank, x->shape);
        for (size_t i = 0; !tape_failed(tape) && i < draws.n; i++)
            y->value[i] = count_quantile(&draws, i, random_uniform(call, i));
    }
    call_return_random(call, y, x->dtype, x->rank, x->shape, draws_property(call, draws));
}

static void poisson(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    const double *rate = node_values(call->tape, x);
    for (size_t i = 0; !tape_failed(call->tape) && i < x->n; i++)
        if (!call_require(call, rate[i] >= 0 && isfinite(rate[i]), "a rate of %g", rate[i])) return;
    if (!tape_failed(call->tape))
        return_counts(
            call, x,
            (struct draws){ .name = "a Poisson distribution", .first = rate, .cdf = poisson_cdf });
}

static void binomial(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *count = call_tensor(call, "count"), *prob = call_tensor(call, "prob");
    int64_t shape[TENSOR_MAX_RANK];
    int rank = 0;
    if (!call_require(
            call, shape_broadcast(&rank, shape, count->rank, count->shape, prob->rank, prob->shape),
            "count and prob do not broadcast"))
        return;
    count = node_broadcast(tape, count, rank, shape);
    prob = node_broadcast(tape, prob, rank, shape);
    const double *n = node_values(tape, count), *p = node_values(tape, prob);
    for (size_t i = 0; !tape_failed(tape) && i < count->n; i++)
        if (!call_require(
                call, n[i] >= 0 && isfinite(n[i]) && n[i] == floor(n[i]) && p[i] >= 0 && p[i] <= 1,
                "%g trials of probability %g", n[i], p[i]))
            return;
    if (!tape_failed(tape))
        return_counts(
            call, count,
            (struct draws){
                .name = "a binomial distribution", .first = n, .second = p, .cdf = binomial_cdf });
}

/* Draws of classes, by inversion of what is left. */
static struct node *draw_classes(struct call *call, const struct draws *draws, int rank,
                                 const int64_t *shape, enum dtype dtype)
{
    struct tape *tape = call->tape;
    struct node *y = node_new_integer(tape, dtype, rank, shape);
    double *left = tape_allocate(tape, draws->classes + 1, sizeof *left);
    for (size_t i = 0; !tape_failed(tape) && i < draws->n; i++) {
        if (i % draws->samples == 0)
            memcpy(left, draws->first + i / draws->samples * draws->classes,
                   draws->classes * sizeof *left);
        double total = 0;
        size_t k = 0, last = 0;
        for (size_t c = 0; c < draws->classes; c++) total += left[c];
        double target = random_uniform(call, i) * total;
        for (double sum = 0; k < draws->classes; k++) {
            if (left[k] > 0) last = k;
            sum += left[k];
            if (left[k] > 0 && sum > target) break;
        }
        y->integer[i] = (int64_t)(k < draws->classes ? k : last);
        if (!draws->replacement) left[y->integer[i]] = 0;
    }
    return y;
}

static void return_classes(struct call *call, struct draws draws, int rank, const int64_t *shape,
                           enum dtype dtype)
{
    struct node *y = tape_is_reference(call->tape) ? NULL
                                                   : draw_classes(call, &draws, rank, shape, dtype);
    call_return_random(call, y, dtype, rank, shape, draws_property(call, draws));
}

/* Indices of classes drawn by weight, per row; without replacement one after the other. */
static void multinomial(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = node_to_real(tape, call_tensor(call, "input"));
    int64_t samples = call_int(call, "num_samples");
    const double *weight = node_values(tape, x);
    if (!call_require(call, x->rank >= 1 && x->rank <= 2 && samples >= 1 && x->n,
                      "multinomial takes a vector or a matrix of weights, and one draw at least"))
        return;
    struct draws draws = { .name = "the weights",
                           .first = weight,
                           .classes = (size_t)x->shape[x->rank - 1],
                           .samples = (size_t)samples,
                           .replacement = call_bool(call, "replacement") };
    size_t rows = x->n / draws.classes;
    for (size_t r = 0; r < rows && !tape_failed(tape); r++) {
        size_t positive = 0;
        for (size_t c = 0; c < draws.classes; c++) {
            double w = weight[r * draws.classes + c];
            if (!call_require(call, w >= 0 && isfinite(w), "a weight of %g", w)) return;
            positive += w > 0;
        }
        if (!call_require(call, positive >= (draws.replacement ? 1 : draws.samples),
                          "more draws than classes of positive weight"))
            return;
    }
    int64_t shape[2] = { x->rank == 2 ? (int64_t)rows : samples, samples };
    draws.n = rows * draws.samples;
    if (!tape_failed(tape)) return_classes(call, draws, x->rank, shape, DT_I64);
}

/* A permutation of 0 .. n-1. The time of its test is quadratic: long ones are refused. */
static void randperm(struct call *call)
{
    struct tape *tape = call->tape;
    int64_t n = call_int(call, "n");
    enum dtype dtype = call_dtype(call, "dtype");
    if (!call_require(call, n >= 0 && n <= 20000, "a permutation of %lld elements is not tested",
                      (long long)n))
        return;
    struct node *ones = node_constant(tape, DT_NONE, 1, 1, &n);
    if (tape_failed(tape)) return;
    struct draws draws = { .name = "equally likely permutations",
                           .first = ones->value,
                           .n = (size_t)n,
                           .classes = (size_t)n,
                           .samples = n ? (size_t)n : 1 };
    return_classes(call, draws, 1, &n, dtype == DT_NONE ? DT_I64 : dtype);
}

/* clang-format off */
const struct op ops_sampling[] = {
    { "poisson", TORCH, "(Tensor input, ...)", poisson, OP_RANDOM | OP_NO_GRADIENT, 0, NULL },
    { "binomial", TORCH, "(Tensor count, Tensor prob, ...)", binomial, OP_RANDOM | OP_NO_GRADIENT, 0, NULL },
    { "multinomial", TENSOR | TORCH, "(Tensor input, int num_samples, bool replacement=False, *, ...)", multinomial, OP_RANDOM | OP_NO_GRADIENT, 0, NULL },
    { "randperm", TORCH, "(int n, *, ScalarType? dtype=None, ...)", randperm, OP_RANDOM | OP_NO_GRADIENT, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(sampling);
