/* Fused attention of packed sequences with dropout, and its gradient as an operator: what correct devices return follows the law,
 * what wrong ones return does not.
 *
 * The device is written out in loops: three sequences of four heads that share two heads of keys, a mask of its own for each
 * weight, the result that goes into the gradient made with that mask. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/opened_call.h"
#include "support/suite.h"

enum { HEADS = 4, KEY_HEADS = 2, QUERIES = 75, KEYS = 54, WIDTH = 6, SEQUENCES = 3, SEEDS = 60 };
enum { Q = QUERIES * HEADS * WIDTH, K = KEYS * KEY_HEADS * WIDTH, ROWS = QUERIES * HEADS };

static const int query_end[SEQUENCES + 1] = { 0, 40, 45, 75 },
                                       key_end[SEQUENCES + 1] = { 0, 30, 30, 54 };
static const double scale = 0.4, chance = 0.5;
static bool never; /* the device drops nothing */

#define LENGTHS "actual_seq_qlen=[40,45,75], actual_seq_kvlen=[30,30,54], keep_prob=0.5"

struct device {
    double *q, *k, *v, *c;
    double out[Q], dq[Q], dk[K], dv[K], most[ROWS], sum[ROWS];
};

static size_t of_query(int i, int h) { return (size_t)((i * HEADS + h) * WIDTH); }
static size_t of_key(int j, int h)
{
    return (size_t)((j * KEY_HEADS + h * KEY_HEADS / HEADS) * WIDTH);
}

static double along(const double *a, const double *b)
{
    double sum = 0;
    for (int e = 0; e < WIDTH; e++) sum += a[e] * b[e];
    return sum;
}

/* One row, its weights being kept (over 1 - chance) or dropped. */
static void run_row(struct device *d, struct numbers *numbers, int s, int i, int h)
{
    double w[KEYS], m[KEYS], g[KEYS], most = -INFINITY, sum = 0;
    size_t at = of_query(i, h), row = (size_t)(i * HEADS + h);
    for (int j = key_end[s]; j < key_end[s + 1]; j++) {
        w[j] = scale * along(d->q + at, d->k + of_key(j, h));
        most = fmax(most, w[j]);
    }
    for (int j = key_end[s]; j < key_end[s + 1]; j++) sum += w[j] = exp(w[j] - most);
    d->most[row] = most;
    d->sum[row] = sum;
    for (int j = key_end[s]; j < key_end[s + 1]; j++) {
        w[j] /= sum;
        m[j] = never ? 1 : numbers_uniform(numbers) < chance ? 0 : 1 / (1 - chance);
        g[j] = m[j] * along(d->c + at, d->v + of_key(j, h));
        for (int e = 0; e < WIDTH; e++) {
            d->out[at + (size_t)e] += m[j] * w[j] * d->v[of_key(j, h) + (size_t)e];
            d->dv[of_key(j, h) + (size_t)e] += m[j] * w[j] * d->c[at + (size_t)e];
        }
    }
    double within = along(d->c + at, d->out + at);
    for (int j = key_end[s]; j < key_end[s + 1]; j++)
        for (int e = 0; e < WIDTH; e++) {
            double score = scale * w[j] * (g[j] - within);
            d->dq[at + (size_t)e] += score * d->k[of_key(j, h) + (size_t)e];
            d->dk[of_key(j, h) + (size_t)e] += score * d->q[at + (size_t)e];
        }
}

static void run(struct device *d, struct numbers *numbers)
{
    memset(d->out, 0, sizeof d->out);
    memset(d->dq, 0, sizeof d->dq);
    memset(d->dk, 0, sizeof d->dk);
    memset(d->dv, 0, sizeof d->dv);
    for (int s = 0; s < SEQUENCES; s++)
        for (int i = query_end[s]; i < query_end[s + 1]; i++)
            for (int h = 0; h < HEADS; h++) run_row(d, numbers, s, i, h);
}

static bool holds(const struct bench_output *output, const double *x, size_t n)
{
    struct arena arena = { 0 };
    struct tensor got;
    char reason[256];
    ck_assert_int_eq(output->kind, BENCH_OUTPUT_RANDOM);
    ck_assert_int_eq(
        tensor_create(&got, &arena, DT_F32, output->reference.rank, output->reference.shape).code,
        0);
    ck_assert_uint_eq(tensor_elements(&got), n);
    for (size_t i = 0; i < n; i++) ((float *)got.data)[i] = (float)x[i];
    bool y = output->property->holds(output->property, &got, reason, sizeof reason);
    arena_release(&arena);
    return y;
}

static struct device device;
static struct arena arena;
static struct sample sample;

static void tear_down(void) { arena_release(&arena); }

/* ---- the forward call and its gradients by autograd ------------------------------------------------------------------- */

static struct bench_output *open_forward(struct bench **bench)
{
    struct bench_output *gradients;
    struct numbers numbers = { 11 };
    static struct tensor cotangent;
    static const int64_t shape[3] = { QUERIES, HEADS, WIDTH };
    size_t count;
    *bench = opened(&sample,
                    "NPU.npu_fusion_attention(f32(75,4,6), f32(54,2,6), f32(54,2,6), 4, \"TND\", "
                    "scale=0.4, " LENGTHS ")",
                    &arena);
    ck_assert_int_eq(tensor_create(&cotangent, &arena, DT_F32, 3, shape).code, 0);
    for (size_t i = 0; i < Q; i++) ((float *)cotangent.data)[i] = (float)numbers_normal(&numbers);
    struct value item = { .kind = VALUE_TENSOR, .tensor = { .tensor = &cotangent } };
    struct value list = { .kind = VALUE_LIST, .list = { .items = &item, .count = 1 } };
    ck_assert_int_eq(bench_backward(&gradients, &count, *bench, &list).code, 0);
    ck_assert_uint_eq(count, 3);
    device.q = argument(&sample, 0, &arena);
    device.k = argument(&sample, 1, &arena);
    device.v = argument(&sample, 2, &arena);
    device.c = numbers_of(&item, &arena);
    return gradients;
}

START_TEST(packed_sequences_follow_the_law)
{
    struct bench *bench;
    struct bench_output *gradients = open_forward(&bench);
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        run(&device, &(struct numbers){ seed });
        ck_assert(holds(bench_output(bench, 0), device.out, Q));
        ck_assert(holds(&gradients[0], device.dq, Q));
        ck_assert(holds(&gradients[1], device.dk, K));
        ck_assert(holds(&gradients[2], device.dv, K));
    }
}
END_TEST

/* A sequence with the results of another, what is kept not divided, queries without keys that are not 0, no dropout. */
START_TEST(wrong_sequences_are_found)
{
    struct bench *bench;
    (void)open_forward(&bench);
    never = _i == 3;
    run(&device, &(struct numbers){ 5 });
    never = false;
    if (_i == 0)
        memmove(device.out + of_query(45, 0), device.out, sizeof(double) * 30 * HEADS * WIDTH);
    for (size_t i = 0; _i == 1 && i < Q; i++) device.out[i] *= 1 - chance;
    if (_i == 2) device.out[of_query(42, 1)] = 1e-3;
    ck_assert(!holds(bench_output(bench, 0), device.out, Q));
}
END_TEST

/* ---- the gradient as an operator --------------------------------------------------------------------------------------- */

/* What the operator is given of the forward: sequence by sequence, or by queries. */
static void fill_statistics(struct device *d, bool by_queries)
{
    const struct value *kwargs = sample.c.kwargs.list.items;
    float *most = kwargs[0].tensor.tensor->data, *sum = kwargs[1].tensor.tensor->data,
          *result = kwargs[2].tensor.tensor->data;
    for (int s = 0; s < SEQUENCES; s++)
        for (int i = query_end[s]; i < query_end[s + 1]; i++)
            for (int h = 0; h < HEADS; h++) {
                int rows = query_end[s + 1] - query_end[s];
                int own = query_end[s] * HEADS + h * rows + i - query_end[s];
                size_t row = (size_t)(i * HEADS + h), to = by_queries ? row : (size_t)own;
                for (size_t e = 0; e < 8; e++) {
                    most[to * 8 + e] = (float)d->most[row];
                    sum[to * 8 + e] = (float)d->sum[row];
                }
            }
    for (size_t i = 0; i < Q; i++) result[i] = (float)d->out[i];
}

static struct bench *open_gradient(uint64_t seed, bool by_queries)
{
    static const char *const calls[2] = {
        "NPU.npu_fusion_attention_grad(f32(75,4,6), f32(54,2,6), f32(54,2,6), f32(75,4,6), 4, "
        "\"TND\", softmax_max=f32(75,4,8), softmax_sum=f32(75,4,8), attention_in=f32(75,4,6), "
        "scale_value=0.4, " LENGTHS ")",
        "NPU.npu_fusion_attention_grad_v3(f32(75,4,6), f32(54,2,6), f32(54,2,6), f32(75,4,6), 4, "
        "\"TND\", softmax_max=f32(75,4,8), softmax_sum=f32(75,4,8), attention_in=f32(75,4,6), "
        "scale_value=0.4, softmax_layout=\"TND\", " LENGTHS ")",
    };
    struct bench *bench;
    ck_assert_ptr_null(sample_parse(&sample, calls[by_queries], &arena));
    device.q = argument(&sample, 0, &arena);
    device.k = argument(&sample, 1, &arena);
    device.v = argument(&sample, 2, &arena);
    device.c = argument(&sample, 3, &arena);
    run(&device, &(struct numbers){ seed });
    fill_statistics(&device, by_queries);
    struct status st = bench_open(&bench, &sample.c, &arena, BENCH_REFERENCE);
    ck_assert_msg(!st.code, "%s", st.text);
    return bench;
}

START_TEST(gradients_of_dropped_weights_follow_the_law)
{
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct bench *bench = open_gradient(seed, seed & 1);
        ck_assert(holds(bench_output(bench, 0), device.dq, Q));
        ck_assert(holds(bench_output(bench, 1), device.dk, K));
        ck_assert(holds(bench_output(bench, 2), device.dv, K));
        arena_reset(&arena);
    }
}
END_TEST

/* A scale that is left out, one element, no number. */
START_TEST(wrong_gradients_are_found)
{
    struct bench *bench = open_gradient(3, false);
    double *const gradients[3] = { device.dq, device.dk, device.dv };
    static const size_t size[3] = { Q, K, K };
    for (size_t g = 0; g < 3; g++) {
        if (_i == 0)
            for (size_t i = 0; i < size[g]; i++) gradients[g][i] *= 2.5;
        if (_i == 1) gradients[g][77] += g ? 40 : 8;
        if (_i == 2) gradients[g][77] = NAN;
        ck_assert_msg(!holds(bench_output(bench, g), gradients[g], size[g]), "gradient %zu", g);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fused attention");
    TCase *tests = tcase_create("dropout of packed sequences");
    tcase_add_checked_fixture(tests, NULL, tear_down);
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, packed_sequences_follow_the_law);
    tcase_add_loop_test(tests, wrong_sequences_are_found, 0, 4);
    tcase_add_test(tests, gradients_of_dropped_weights_follow_the_law);
    tcase_add_loop_test(tests, wrong_gradients_are_found, 0, 3);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
