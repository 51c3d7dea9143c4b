/* Gradients behind the dropout of a whole multi-head attention: their means and variances against those of a device that is
 * written out in loops, over many draws; and what is no draw of them. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/opened_call.h"
#include "bench/ops/dropped_law.h"
#include "support/suite.h"

enum { TARGET = 5, SOURCE = 4, BATCH = 2, HEADS = 2, WIDTH = 2, E = HEADS * WIDTH, DRAWS = 3000 };
enum { X = 0, K = X + TARGET * BATCH * E, V = K + SOURCE * BATCH * E, IN = V + SOURCE * BATCH * E };
enum {
    IN_BIAS = IN + 3 * E * E,
    OUT = IN_BIAS + 3 * E,
    OUT_BIAS = OUT + E * E,
    ALL = OUT_BIAS + E
};

static const size_t start_of[] = { X, K, V, IN, IN_BIAS, OUT, OUT_BIAS, ALL };
static const double chance = 0.3;

struct device {
    double x[ALL], gradient[ALL], c[TARGET * BATCH * E]; /* arguments as they lie in the call */
};

static struct device device;
static struct arena arena;
static struct sample sample;
static struct bench_output *gradients;

/* Row `l` of batch b of argument 0, 1 or 2, times row n of the joint projection. */
static double project(const struct device *d, int which, int l, int b, int n)
{
    const double *x = d->x + start_of[which] + (size_t)((l * BATCH + b) * E),
                 *w = d->x + IN + (size_t)((which * E + n) * E);
    double sum = d->x[IN_BIAS + (size_t)(which * E + n)];
    for (int e = 0; e < E; e++) sum += x[e] * w[e];
    return sum;
}

/* What the gradient of a projected row means for the argument, the weight and the bias. */
static void unproject(struct device *d, int which, int l, int b, int n, double gradient)
{
    size_t x = start_of[which] + (size_t)((l * BATCH + b) * E),
           w = IN + (size_t)((which * E + n) * E);
    for (size_t e = 0; e < E; e++) {
        d->gradient[x + e] += gradient * d->x[w + e];
        d->gradient[w + e] += gradient * d->x[x + e];
    }
    d->gradient[IN_BIAS + (size_t)(which * E + n)] += gradient;
}

/* Query i of head h in batch b. */
static void run_row(struct device *d, struct numbers *numbers, int b, int h, int i)
{
    const double *c = d->c + (size_t)((i * BATCH + b) * E);
    double q[WIDTH], out[WIDTH], w[SOURCE], m[SOURCE], g[SOURCE], sum = 0, mean = 0;
    for (int r = 0; r < WIDTH; r++) {
        int n = h * WIDTH + r;
        q[r] = project(d, 0, i, b, n) / sqrt(WIDTH);
        out[r] = 0;
        for (int e = 0; e < E; e++) out[r] += c[e] * d->x[OUT + (size_t)(e * E + n)];
    }
    for (int j = 0; j < SOURCE; j++) {
        double score = 0;
        for (int r = 0; r < WIDTH; r++) score += q[r] * project(d, 1, j, b, h * WIDTH + r);
        sum += w[j] = exp(score);
    }
    for (int j = 0; j < SOURCE; j++) {
        w[j] /= sum;
        m[j] = numbers_uniform(numbers) < chance ? 0 : 1 / (1 - chance);
        g[j] = 0;
        for (int r = 0; r < WIDTH; r++) {
            int n = h * WIDTH + r;
            double v = project(d, 2, j, b, n);
            g[j] += m[j] * out[r] * v;
            unproject(d, 2, j, b, n, w[j] * m[j] * out[r]);
            for (int e = 0; e < E; e++)
                d->gradient[OUT + (size_t)(e * E + n)] += c[e] * w[j] * m[j] * v;
        }
        mean += w[j] * g[j];
    }
    for (int j = 0; j < SOURCE; j++)
        for (int r = 0; r < WIDTH; r++) {
            int n = h * WIDTH + r;
            double score = w[j] * (g[j] - mean);
            unproject(d, 0, i, b, n, score * project(d, 1, j, b, n) / sqrt(WIDTH));
            unproject(d, 1, j, b, n, score * q[r]);
        }
}

static void run(struct device *d, struct numbers *numbers)
{
    memset(d->gradient, 0, sizeof d->gradient);
    for (int i = 0; i < TARGET; i++)
        for (int b = 0; b < BATCH; b++) {
            for (int h = 0; h < HEADS; h++) run_row(d, numbers, b, h, i);
            for (size_t e = 0; e < E; e++)
                d->gradient[OUT_BIAS + e] += d->c[(size_t)((i * BATCH + b) * E) + e];
        }
}

static void set_up(void)
{
    static const size_t places[] = { 0, 1, 2, 5, 6, 11, 12 };
    static struct tensor cotangent;
    static const int64_t shape[3] = { TARGET, BATCH, E };
    struct numbers numbers = { 4 };
    size_t count;
    struct bench *bench =
        opened(&sample,
               "Functional.multi_head_attention_forward(f32(5,2,4), f32(4,2,4), f32(4,2,4), 4, 2, "
               "f32(12,4), f32(12), None, None, False, 0.3, f32(4,4), f32(4), training=True, "
               "need_weights=False)",
               &arena);
    for (size_t k = 0; k < 7; k++)
        memcpy(device.x + start_of[k], argument(&sample, places[k], &arena),
               (start_of[k + 1] - start_of[k]) * sizeof(double));
    ck_assert_int_eq(tensor_create(&cotangent, &arena, DT_F32, 3, shape).code, 0);
    for (size_t i = 0; i < TARGET * BATCH * E; i++)
        device.c[i] = ((float *)cotangent.data)[i] = (float)numbers_normal(&numbers);
    struct value item = { .kind = VALUE_TENSOR, .tensor = { .tensor = &cotangent } };
    struct value list = { .kind = VALUE_LIST, .list = { .items = &item, .count = 1 } };
    ck_assert_int_eq(bench_backward(&gradients, &count, bench, &list).code, 0);
    ck_assert_uint_eq(count, 7);
}

static void tear_down(void) { arena_release(&arena); }

static const struct dropped_law *law_of(size_t k)
{
    ck_assert_int_eq(gradients[k].kind, BENCH_OUTPUT_RANDOM);
    const struct dropped_law *law = gradients[k].property->context;
    ck_assert_uint_eq(law->n, start_of[k + 1] - start_of[k]);
    return law;
}

/* Six standard deviations of a mean, and a tenth of the variance summed over a gradient. */
START_TEST(means_and_variances)
{
    static double sum[ALL], squares[ALL];
    struct numbers numbers = { 9 };
    memset(sum, 0, sizeof sum);
    memset(squares, 0, sizeof squares);
    for (int n = 0; n < DRAWS; n++) {
        run(&device, &numbers);
        for (size_t k = 0; k < 7; k++)
            for (size_t i = start_of[k]; i < start_of[k + 1]; i++) {
                double off = device.gradient[i] - law_of(k)->mean[i - start_of[k]];
                sum[i] += off;
                squares[i] += off * off;
            }
    }
    for (size_t k = 0; k < 7; k++) {
        const struct dropped_law *law = law_of(k);
        double found = 0, wanted = 0, odds = chance / (1 - chance);
        for (size_t i = 0; i < law->n; i++) {
            double variance = odds * fmax(law->squares[i], 0);
            ck_assert_msg(fabs(sum[start_of[k] + i]) <= 6 * sqrt(DRAWS * variance) + 1e-5 * DRAWS,
                          "gradient %zu, element %zu: mean off by %g", k, i,
                          sum[start_of[k] + i] / DRAWS);
            found += squares[start_of[k] + i] / DRAWS;
            wanted += variance;
        }
        ck_assert_msg(fabs(found - wanted) <= 0.1 * wanted + 1e-6, "gradient %zu: %g, not %g", k,
                      found, wanted);
    }
}
END_TEST

static bool holds(size_t k, const double *x)
{
    struct tensor got;
    char reason[256];
    const struct reference *r = &gradients[k].reference;
    ck_assert_int_eq(tensor_create(&got, &arena, DT_F32, r->rank, r->shape).code, 0);
    for (size_t i = 0; i < start_of[k + 1] - start_of[k]; i++) ((float *)got.data)[i] = (float)x[i];
    return gradients[k].property->holds(gradients[k].property, &got, reason, sizeof reason);
}

START_TEST(draws_pass_and_what_is_none_does_not)
{
    for (uint64_t seed = 0; seed < 100; seed++) {
        run(&device, &(struct numbers){ seed });
        for (size_t k = 0; k < 7; k++) ck_assert(holds(k, device.gradient + start_of[k]));
    }
    for (size_t k = 0; k < 7; k++) {
        const struct dropped_law *law = law_of(k);
        double *x = device.gradient + start_of[k], beyond = law->size[1] * 3 + 1e-3, own = x[1];
        x[1] = law->mean[1] + beyond;
        ck_assert(!holds(k, x));
        x[1] = NAN;
        ck_assert(!holds(k, x));
        x[1] = own;
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("dropped heads");
    TCase *tests = tcase_create("gradients");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, means_and_variances);
    tcase_add_test(tests, draws_pass_and_what_is_none_does_not);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
