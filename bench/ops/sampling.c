/* Draws whose law differs from element to element: poisson, binomial, gamma, multinomial, randperm, shuffle.
 *
 * Each draw is turned into a uniform number (Rosenblatt 1952): with F the distribution of the draw
 * given the draws before it, U = F(k-) + v (F(k) - F(k-)), v uniform and independent of the draws, is
 * uniform, and the U of all draws are independent. Their distribution is then tested once, by
 * Dvoretzky-Kiefer-Wolfowitz (bench/ops/properties.h).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/call/call.h"
#include "bench/ops/properties.h"
#include "bench/ops/sampling.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/gather.h"
#include "bench/primitives/movement.h"
#include "bench/tape/broadcast.h"
#include "core/checked.h"
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

/* P(X <= x) for a gamma distribution of shape alpha and rate beta. */
static double gamma_cdf(double x, double alpha, double beta)
{
    return lower_gamma(alpha, beta * x);
}

static double binomial_cdf(double k, double count, double p)
{
    return k < 0 ? 0 : k >= count ? 1 : 1 - incomplete_beta(floor(k) + 1, count - floor(k), p);
}

/* ---- the test ---------------------------------------------------------------------------------------- */

static double parameter(const double *of, const struct draws *draws, size_t i)
{
    return of ? of[draws->period ? i % draws->period : i] : 0;
}

/* A draw is known up to half a step of its dtype. */
static bool continuous_uniforms(double *u, const struct draws *draws, const double *x,
                                enum dtype dtype, char *reason, size_t bytes)
{
    for (size_t i = 0; i < draws->n; i++) {
        double first = parameter(draws->first, draws, i),
               second = parameter(draws->second, draws, i), slack = dtype_ulp(dtype, x[i]) / 2;
        if (!(x[i] >= 0) || isinf(x[i])) {
            (void)snprintf(reason, bytes, "element %zu is %.9g, which %s cannot be", i, x[i],
                           draws->name);
            return false;
        }
        double below = draws->cdf(fmax(x[i] - slack, 0), first, second),
               upto = draws->cdf(x[i] + slack, first, second);
        u[i] = below + random_hash(i) * (upto - below);
    }
    return true;
}

static bool count_uniforms(double *u, const struct draws *draws, const double *k, enum dtype dtype,
                           char *reason, size_t bytes)
{
    for (size_t i = 0; i < draws->n; i++) {
        double first = parameter(draws->first, draws, i),
               second = parameter(draws->second, draws, i);
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
        holds = (draws->continuous ? continuous_uniforms(u, draws, k, dense.dtype, reason, bytes)
                 : draws->cdf      ? count_uniforms(u, draws, k, dense.dtype, reason, bytes)
                                   : class_uniforms(u, draws, k, left, reason, bytes)) &&
                random_uniforms_hold(u, draws->n, draws->name, reason, bytes);
    }
    arena_release(&arena);
    return holds;
}

const struct bench_property *draws_property(struct call *call, struct draws d)
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
    double first = parameter(draws->first, draws, i), second = parameter(draws->second, draws, i),
           low = -1, high = 1;
    while (draws->cdf(high, first, second) <= u && high < 0x1p52) high *= 2;
    while (high - low > 1) {
        double middle = floor((low + high) / 2);
        if (draws->cdf(middle, first, second) > u) high = middle;
        else low = middle;
    }
    return high;
}

/* The x with cdf(x) = u, to single precision. */
static double continuous_quantile(const struct draws *draws, size_t i, double u)
{
    double first = parameter(draws->first, draws, i), second = parameter(draws->second, draws, i),
           low = 0, high = 1;
    while (draws->cdf(high, first, second) <= u && high < 0x1p100) high *= 2;
    for (int k = 0; k < 80; k++) {
        double middle = (low + high) / 2;
        if (draws->cdf(middle, first, second) > u) high = middle;
        else low = middle;
    }
    return high;
}

/* Draws of `shape` and `dtype`, an integral one included. */
static void return_drawn(struct call *call, struct draws draws, enum dtype dtype, int rank,
                         const int64_t *shape)
{
    struct tape *tape = call->tape;
    struct node *y = NULL;
    if (!tape_is_reference(tape)) {
        bool whole = dtype_is_integral(dtype);
        y = whole ? node_new_integer(tape, dtype, rank, shape)
                  : node_new_real(tape, dtype, rank, shape);
        for (size_t i = 0; !tape_failed(tape) && i < draws.n; i++) {
            double u = random_uniform(call, i), x = draws.continuous
                                                        ? continuous_quantile(&draws, i, u)
                                                        : count_quantile(&draws, i, u);
            if (whole) y->integer[i] = (int64_t)x;
            else y->value[i] = x;
        }
    }
    call_return_random(call, y, dtype, rank, shape, draws_property(call, draws));
}

static void return_counts(struct call *call, const struct node *x, struct draws draws)
{
    draws.n = x->n;
    return_drawn(call, draws, x->dtype, x->rank, x->shape);
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

/* By inversion of what is left. */
struct node *draw_classes(struct call *call, const struct draws *draws, int rank,
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
    if (!call_require(call, x->rank >= 1 && x->rank <= 2 && samples >= 1 && x->shape[x->rank - 1],
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

/* ---- MindSpore's ---------------------------------------------------------------------------------------- */

/* The shape in front of that of the parameters. */
static bool shape_in_front(struct call *call, const struct node *parameters, int *rank,
                           int64_t *shape, size_t *n)
{
    const struct value *value = call_value(call, "shape");
    if (value->kind == VALUE_TENSOR) {
        struct node *given = call_tensor(call, "shape");
        if (!call_require(call, given->integer && given->rank == 1 && given->n < TENSOR_MAX_RANK,
                          "shape holds whole numbers"))
            return false;
        *rank = (int)given->n;
        for (size_t i = 0; i < given->n; i++) shape[i] = given->integer[i];
    } else {
        *rank = call_ints(call, "shape", shape, TENSOR_MAX_RANK);
    }
    if (!call_require(call, *rank + parameters->rank <= TENSOR_MAX_RANK, "too many dimensions"))
        return false;
    for (int d = 0; d < parameters->rank; d++) shape[(*rank)++] = parameters->shape[d];
    return call_require(call, shape_elements(n, *rank, shape), "shape is no shape");
}

/* Of shape alpha and rate beta (detail 0), of alpha alone (1), and counts of a rate (2), `shape` of each. */
static void drawn_in_front(struct call *call)
{
    static const char *const names[] = { "alpha", "alpha", "rate" };
    struct tape *tape = call->tape;
    intptr_t kind = call->op->detail;
    struct node *first = node_to_real(tape, call_tensor(call, names[kind])),
                *second = kind == 0 ? node_to_real(tape, call_tensor(call, "beta"))
                                    : node_scalar(tape, 1);
    int64_t shape[TENSOR_MAX_RANK], both[TENSOR_MAX_RANK];
    int rank = 0;
    enum dtype dtype = kind == 2 ? call_dtype(call, "dtype") : first->dtype;
    if (!call_require(
            call,
            shape_broadcast(&rank, both, first->rank, first->shape, second->rank, second->shape),
            "alpha and beta do not broadcast"))
        return;
    first = node_broadcast(tape, first, rank, both);
    second = node_broadcast(tape, second, rank, both);
    struct draws draws = { .name = kind == 2 ? "a Poisson distribution" : "a gamma distribution",
                           .first = node_values(tape, first),
                           .second = kind == 2 ? NULL : node_values(tape, second),
                           .period = first->n,
                           .cdf = kind == 2 ? poisson_cdf : gamma_cdf,
                           .continuous = kind != 2 };
    if (tape_failed(tape) || !shape_in_front(call, first, &rank, shape, &draws.n)) return;
    for (size_t i = 0; i < first->n; i++)
        if (!call_require(call,
                          isfinite(draws.first[i]) && draws.first[i] >= 0 &&
                              (kind == 2 || (draws.first[i] > 0 && draws.second[i] > 0)),
                          "a parameter of %g", draws.first[i]))
            return;
    return_drawn(call, draws, dtype == DT_NONE || kind == 0 ? DT_F32 : dtype, rank, shape);
}

/* Classes by the exponentials of their logits, num_sample of each row. */
static void categorical(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "logits");
    int64_t samples = call_int(call, "num_sample");
    enum dtype dtype = call_dtype(call, "dtype");
    if (!call_require(call, x->rank == 2 && x->n && samples >= 1 && !x->integer,
                      "logits are a matrix, and one draw at least is asked for"))
        return;
    size_t classes = (size_t)x->shape[1];
    const double *logit = node_values(tape, x);
    double *weight = tape_allocate(tape, x->n, sizeof *weight);
    if (tape_failed(tape)) return;
    for (size_t row = 0; row < x->n; row += classes) {
        double most = -INFINITY;
        for (size_t c = row; c < row + classes; c++) most = fmax(most, logit[c]);
        if (!call_require(call, isfinite(most), "a row without a finite logit")) return;
        for (size_t c = row; c < row + classes; c++) weight[c] = exp(logit[c] - most);
    }
    int64_t shape[2] = { x->shape[0], samples };
    struct draws draws = { .name = "the logits",
                           .first = weight,
                           .n = (size_t)(shape[0] * samples),
                           .classes = classes,
                           .samples = (size_t)samples,
                           .replacement = true };
    return_classes(call, draws, 2, shape, dtype == DT_NONE ? DT_I64 : dtype);
}

/* ---- shuffle */

/* Rows of a tensor, to be put in order by their bytes. */
struct row {
    const double *x;
    size_t width, index;
    double tie; /* what equal rows are ordered by */
};

static int by_elements(const void *a, const void *b)
{
    const struct row *r = a, *s = b;
    int order = memcmp(r->x, s->x, r->width * sizeof *r->x);
    return order ? order : (r->tie > s->tie) - (r->tie < s->tie);
}

struct shuffled {
    const double *x;
    size_t rows, width;
    struct draws draws; /* of a permutation */
};

static struct row *ordered_rows(struct arena *arena, const double *x, const struct shuffled *s,
                                size_t ties)
{
    struct row *rows = arena_allocate_array(arena, s->rows + 1, sizeof *rows);
    for (size_t i = 0; rows && i < s->rows; i++)
        rows[i] = (struct row){ x + i * s->width, s->width, i, random_hash(ties + i) };
    if (rows) qsort(rows, s->rows, sizeof *rows, by_elements);
    return rows;
}

/* The rows are those of x, and which one stands where is a permutation like any other. */
static bool shuffle_holds(const struct bench_property *property, const struct tensor *got,
                          char *reason, size_t bytes)
{
    const struct shuffled *s = property->context;
    struct arena arena = { 0 };
    struct tensor dense;
    size_t n = s->rows * s->width;
    bool holds = false;
    double *y = arena_allocate_array(&arena, n + 1, sizeof *y),
           *from = arena_allocate_array(&arena, s->rows + 1, sizeof *from),
           *u = arena_allocate_array(&arena, s->rows + 1, sizeof *u),
           *left = arena_allocate_array(&arena, s->rows + 1, sizeof *left);
    struct row *have = NULL, *want = ordered_rows(&arena, s->x, s, 0);
    if (y && from && u && left && want && !tensor_densify(&dense, &arena, got).code) {
        dtype_to_double(y, dense.data, dense.dtype, n);
        have = ordered_rows(&arena, y, s, s->rows);
    }
    if (!have) {
        (void)snprintf(reason, bytes, "there is no memory to test the distribution");
        goto done;
    }
    for (size_t i = 0; i < s->rows; i++) {
        if (memcmp(have[i].x, want[i].x, s->width * sizeof *y)) {
            (void)snprintf(reason, bytes, "row %zu is not, or too often, a row of the input",
                           have[i].index);
            goto done;
        }
        from[have[i].index] = (double)want[i].index;
    }
    holds = class_uniforms(u, &s->draws, from, left, reason, bytes) &&
            random_uniforms_hold(u, s->rows, s->draws.name, reason, bytes);
done:
    arena_release(&arena);
    return holds;
}

/* The rows of x in another order. The time of its test is quadratic: long ones are refused. */
static void shuffle(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "x"), *real = node_to_real(tape, x), *y = NULL;
    if (!call_require(call, x->rank >= 1 && x->n && x->shape[0] <= 20000 && !x->imaginary,
                      "a shuffle of such rows is not tested"))
        return;
    int64_t rows = x->shape[0];
    struct shuffled *s = tape_allocate(tape, 1, sizeof *s);
    struct bench_property *property = tape_allocate(tape, 1, sizeof *property);
    struct node *ones = node_constant(tape, DT_NONE, 1, 1, &rows);
    const double *value = node_values(tape, real);
    if (tape_failed(tape)) return;
    *s = (struct shuffled){ value,
                            (size_t)rows,
                            x->n / (size_t)rows,
                            { .name = "equally likely permutations",
                              .first = ones->value,
                              .n = (size_t)rows,
                              .classes = (size_t)rows,
                              .samples = (size_t)rows } };
    *property = (struct bench_property){
        "the rows of the input in an order like any other, by Dvoretzky-Kiefer-Wolfowitz at 1e-9",
        shuffle_holds, s
    };
    if (!tape_is_reference(tape)) {
        struct node *order = draw_classes(call, &s->draws, 1, &rows, DT_I64);
        if (!tape_failed(tape))
            y = node_gather_rows(tape, x, x->rank, x->shape, s->width, order->integer, 0);
    }
    call_return_random(call, y, x->dtype, x->rank, x->shape, property);
}

/* clang-format off */
const struct op ops_sampling[] = {
    { "poisson", TORCH, "(Tensor input, ...)", poisson, OP_RANDOM | OP_NO_GRADIENT, 0, NULL },
    { "binomial", TORCH, "(Tensor count, Tensor prob, ...)", binomial, OP_RANDOM | OP_NO_GRADIENT, 0, NULL },
    { "multinomial", TENSOR | TORCH, "(Tensor input, int num_samples, bool replacement=False, *, ...)", multinomial, OP_RANDOM | OP_NO_GRADIENT, 0, NULL },
    { "randperm", TORCH, "(int n, *, ScalarType? dtype=None, ...)", randperm, OP_RANDOM | OP_NO_GRADIENT, 0, NULL },
    { "gamma", MINDSPORE, "(Any shape, Tensor alpha, Tensor beta)", drawn_in_front, OP_RANDOM | OP_NO_GRADIENT, 0, NULL },
    { "random_gamma", MINDSPORE, "(Any shape, Tensor alpha)", drawn_in_front, OP_RANDOM | OP_NO_GRADIENT, 1, NULL },
    { "random_poisson", MINDSPORE, "(Any shape, Tensor rate, ScalarType? dtype)", drawn_in_front, OP_RANDOM | OP_NO_GRADIENT, 2, NULL },
    { "random_categorical", MINDSPORE, "(Tensor logits, int num_sample, ScalarType? dtype)", categorical, OP_RANDOM | OP_NO_GRADIENT, 0, NULL },
    { "shuffle", MINDSPORE, "(Tensor x)", shuffle, OP_RANDOM | OP_NO_GRADIENT, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(sampling);
