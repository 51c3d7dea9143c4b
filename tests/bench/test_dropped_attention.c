/* The law of attention with dropout: correct devices pass, wrong ones do not.
 *
 * A device is written out here in loops, forward and backward, with a mask of its own for each head and query. What it does wrong
 * is named by the fault. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/opened_call.h"
#include "support/suite.h"

enum { BATCHES = 2, HEADS = 4, ROWS = 1024, COLUMNS = 32, WIDTH = 8 };
enum { BLOCKS = BATCHES * HEADS, SEEDS = 100 };

enum fault {
    NONE,
    NEVER_DROPS,
    NOT_DIVIDED,
    DROPS_TWICE_AS_MANY,
    SAME_FOR_ALL_ROWS,
    DROPS_THE_RESULT,
    ONE_ELEMENT,
    NOT_A_NUMBER,
    FAULTS
};

struct device {
    double q[BLOCKS * ROWS * WIDTH], k[BLOCKS * COLUMNS * WIDTH], v[BLOCKS * COLUMNS * WIDTH],
        c[BLOCKS * ROWS * WIDTH], w[BLOCKS * ROWS * COLUMNS], m[BLOCKS * ROWS * COLUMNS];
    float out[BLOCKS * ROWS * WIDTH], dq[BLOCKS * ROWS * WIDTH], dk[BLOCKS * COLUMNS * WIDTH],
        dv[BLOCKS * COLUMNS * WIDTH];
    double p;
};

static void read(double *out, const struct value *value, size_t n)
{
    const struct tensor *t = value->tensor.tensor;
    dtype_to_double(out, t->data, t->dtype, n);
}

static void weigh(struct device *d)
{
    for (size_t b = 0; b < BLOCKS; b++)
        for (size_t i = 0; i < ROWS; i++) {
            double *w = d->w + (b * ROWS + i) * COLUMNS, sum = 0;
            for (size_t j = 0; j < COLUMNS; j++) {
                double s = 0;
                for (size_t c = 0; c < WIDTH; c++)
                    s += d->q[(b * ROWS + i) * WIDTH + c] * d->k[(b * COLUMNS + j) * WIDTH + c];
                w[j] = exp(s / sqrt(WIDTH));
                sum += w[j];
            }
            for (size_t j = 0; j < COLUMNS; j++) w[j] /= sum;
        }
}

/* Factors of the weights. */
static void draw(struct device *d, struct numbers *numbers, enum fault fault)
{
    double p = fault == DROPS_TWICE_AS_MANY ? 2 * d->p : d->p,
           kept = fault == NOT_DIVIDED ? 1 : 1 / (1 - p);
    for (size_t i = 0; i < BLOCKS * ROWS * COLUMNS; i++) {
        size_t same =
            fault == SAME_FOR_ALL_ROWS ? i / (ROWS * COLUMNS) * ROWS * COLUMNS + i % COLUMNS : i;
        double drawn = numbers_uniform(numbers) < p ? 0 : kept;
        d->m[i] = fault == NEVER_DROPS || fault == DROPS_THE_RESULT ? 1
                  : same < i                                        ? d->m[same]
                                                                    : drawn;
    }
}

static void run(struct device *d, struct numbers *numbers, enum fault fault)
{
    static double dq[BLOCKS * ROWS * WIDTH], dk[BLOCKS * COLUMNS * WIDTH],
        dv[BLOCKS * COLUMNS * WIDTH];
    draw(d, numbers, fault);
    memset(dq, 0, sizeof dq);
    memset(dk, 0, sizeof dk);
    memset(dv, 0, sizeof dv);
    for (size_t row = 0; row < BLOCKS * ROWS; row++) {
        size_t keys = row / ROWS * COLUMNS;
        const double *w = d->w + row * COLUMNS, *m = d->m + row * COLUMNS, *c = d->c + row * WIDTH;
        double out[WIDTH] = { 0 }, g[COLUMNS], mean = 0;
        for (size_t j = 0; j < COLUMNS; j++) {
            const double *v = d->v + (keys + j) * WIDTH;
            g[j] = 0;
            for (size_t e = 0; e < WIDTH; e++) {
                out[e] += w[j] * m[j] * v[e];
                g[j] += m[j] * c[e] * v[e];
                dv[(keys + j) * WIDTH + e] += w[j] * m[j] * c[e];
            }
            mean += w[j] * g[j];
        }
        for (size_t j = 0; j < COLUMNS; j++) {
            double score = w[j] * (g[j] - mean) / sqrt(WIDTH);
            for (size_t e = 0; e < WIDTH; e++) {
                dq[row * WIDTH + e] += score * d->k[(keys + j) * WIDTH + e];
                dk[(keys + j) * WIDTH + e] += score * d->q[row * WIDTH + e];
            }
        }
        for (size_t e = 0; e < WIDTH; e++) {
            double factor = fault != DROPS_THE_RESULT         ? 1
                            : numbers_uniform(numbers) < d->p ? 0
                                                              : 1 / (1 - d->p);
            d->out[row * WIDTH + e] = (float)(out[e] * factor);
        }
    }
    if (fault == ONE_ELEMENT) d->out[777] += 2, dq[77] += 2, dk[77] += 40, dv[77] += 90;
    if (fault == NOT_A_NUMBER) d->out[777] = NAN, dq[77] = dk[77] = dv[77] = NAN;
    for (size_t i = 0; i < BLOCKS * ROWS * WIDTH; i++) d->dq[i] = (float)dq[i];
    for (size_t i = 0; i < BLOCKS * COLUMNS * WIDTH; i++) {
        d->dk[i] = (float)dk[i];
        d->dv[i] = (float)dv[i];
    }
}

static bool holds(const struct bench_output *output, float *x, char *reason, size_t bytes)
{
    struct tensor got = { .data = x, .dtype = DT_F32, .rank = output->reference.rank };
    size_t n = 1;
    memcpy(got.shape, output->reference.shape, sizeof got.shape);
    for (int d = got.rank - 1; d >= 0; d--) {
        got.stride[d] = (int64_t)n;
        n *= (size_t)got.shape[d];
    }
    ck_assert_int_eq(output->kind, BENCH_OUTPUT_RANDOM);
    return output->property->holds(output->property, &got, reason, bytes);
}

/* A device and what it is judged by. */
struct trial {
    struct arena arena;
    struct sample sample;
    struct bench *bench;
    struct bench_output *gradients;
    struct device d;
};

static struct trial trial;

static void set_up(void)
{
    struct value cotangents = { 0 };
    struct numbers numbers = { 7 };
    size_t count;
    memset(&trial, 0, sizeof trial);
    trial.d.p = 0.15;
    ck_assert_ptr_null(
        sample_parse(&trial.sample,
                     "Functional.scaled_dot_product_attention(f32(2,4,1024,8), f32(2,4,32,8), "
                     "f32(2,4,32,8), dropout_p=0.15)",
                     &trial.arena));
    ck_assert_int_eq(bench_open(&trial.bench, &trial.sample.c, &trial.arena, BENCH_REFERENCE).code,
                     0);
    const struct value *items = trial.sample.c.args.list.items;
    read(trial.d.q, &items[0], sizeof trial.d.q / sizeof(double));
    read(trial.d.k, &items[1], sizeof trial.d.k / sizeof(double));
    read(trial.d.v, &items[2], sizeof trial.d.v / sizeof(double));
    sample_cotangents(&cotangents, trial.bench, &trial.arena, &numbers);
    if (!cotangents.list.count || cotangents.list.items[0].kind != VALUE_TENSOR) {
        static struct value item;
        static struct tensor t;
        static const int64_t shape[4] = { BATCHES, HEADS, ROWS, WIDTH };
        ck_assert_int_eq(tensor_create(&t, &trial.arena, DT_F32, 4, shape).code, 0);
        for (size_t i = 0; i < BLOCKS * ROWS * WIDTH; i++)
            ((float *)t.data)[i] = (float)numbers_normal(&numbers);
        item.kind = VALUE_TENSOR;
        item.tensor.tensor = &t;
        cotangents = (struct value){ .kind = VALUE_LIST, .list = { .items = &item, .count = 1 } };
    }
    read(trial.d.c, &cotangents.list.items[0], sizeof trial.d.c / sizeof(double));
    ck_assert_int_eq(bench_backward(&trial.gradients, &count, trial.bench, &cotangents).code, 0);
    ck_assert_uint_eq(count, 3);
    weigh(&trial.d);
}

static void tear_down(void) { arena_release(&trial.arena); }

START_TEST(correct_devices_pass)
{
    char reason[256];
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct numbers numbers = { seed };
        run(&trial.d, &numbers, NONE);
        ck_assert_msg(holds(bench_output(trial.bench, 0), trial.d.out, reason, sizeof reason),
                      "seed %d: %s", (int)seed, reason);
        float *const gradients[3] = { trial.d.dq, trial.d.dk, trial.d.dv };
        for (int i = 0; i < 3; i++)
            ck_assert_msg(holds(&trial.gradients[i], gradients[i], reason, sizeof reason),
                          "seed %d, gradient %d: %s", (int)seed, i, reason);
    }
}
END_TEST

START_TEST(wrong_results_are_found)
{
    char reason[256];
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct numbers numbers = { seed };
        run(&trial.d, &numbers, (enum fault)_i);
        ck_assert_msg(!holds(bench_output(trial.bench, 0), trial.d.out, reason, sizeof reason),
                      "fault %d, seed %d passed", _i, (int)seed);
    }
}
END_TEST

/* Of gradients single elements are judged: what no choice of weights explains. */
START_TEST(wrong_gradients_are_found)
{
    static const enum fault faults[] = { ONE_ELEMENT, NOT_A_NUMBER };
    char reason[256];
    struct numbers numbers = { 3 };
    float *const gradients[3] = { trial.d.dq, trial.d.dk, trial.d.dv };
    run(&trial.d, &numbers, faults[_i]);
    for (int i = 0; i < 3; i++)
        ck_assert_msg(!holds(&trial.gradients[i], gradients[i], reason, sizeof reason),
                      "fault %d of gradient %d passed", _i, i);
}
END_TEST

/* What the forward returned, into an argument. */
static void give(const struct sample *sample, size_t k, const double *x)
{
    const struct tensor *t = sample->c.args.list.items[k].tensor.tensor;
    for (size_t i = 0; i < tensor_elements(t); i++) ((float *)t->data)[i] = (float)x[i];
}

/* The logarithms of the sums of exponentials. */
static void logarithms(const struct device *d, double *lse)
{
    for (size_t row = 0; row < BLOCKS * ROWS; row++) {
        double sum = 0;
        for (size_t j = 0; j < COLUMNS; j++) {
            double s = 0;
            for (size_t c = 0; c < WIDTH; c++)
                s += d->q[row * WIDTH + c] * d->k[(row / ROWS * COLUMNS + j) * WIDTH + c];
            sum += exp(s / sqrt(WIDTH));
        }
        lse[row] = log(sum);
    }
}

/* aten's gradient, which is given the output of the same choices. */
START_TEST(the_gradient_as_an_operator)
{
    static double lse[BLOCKS * ROWS], out[BLOCKS * ROWS * WIDTH];
    char reason[256];
    struct device *d = &trial.d;
    float *const gradients[3] = { d->dq, d->dk, d->dv };
    logarithms(d, lse);
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct arena arena = { 0 };
        struct sample sample;
        struct bench *bench;
        struct numbers numbers = { seed };
        run(d, &numbers, seed == 19 ? ONE_ELEMENT : NONE);
        if (seed == 19) d->out[777] -= 2;
        for (size_t i = 0; i < BLOCKS * ROWS * WIDTH; i++) out[i] = (double)d->out[i];
        ck_assert_ptr_null(sample_parse(
            &sample,
            "Aten._scaled_dot_product_flash_attention_backward(f32(2,4,1024,8), f32(2,4,1024,8), "
            "f32(2,4,32,8), f32(2,4,32,8), f32(2,4,1024,8), f32(2,4,1024), None, None, 1024, 32, "
            "0.15, False, None, None)",
            &arena));
        const double *const given[] = { d->c, d->q, d->k, d->v, out, lse };
        for (size_t k = 0; k < 6; k++) give(&sample, k, given[k]);
        struct status st = bench_open(&bench, &sample.c, &arena, BENCH_REFERENCE);
        ck_assert_msg(!st.code, "%s", st.text);
        for (size_t k = 0; k < 3; k++)
            ck_assert_msg(holds(bench_output(bench, k), gradients[k], reason, sizeof reason) ==
                              (seed < 19),
                          "seed %d, gradient %zu: %s", (int)seed, k, reason);
        arena_release(&arena);
    }
}
END_TEST

/* The embedded device, in the layouts of torch_npu and with heads that share keys, follows the law of the reference. */
START_TEST(layouts_follow_the_law)
{
    static const char *const calls[] = {
        "NPU.npu_fusion_attention(f32(2,64,48), f32(2,40,24), f32(2,40,24), 4, \"BSH\", "
        "keep_prob=0.8, scale=0.3)",
        "NPU.npu_fusion_attention(f32(64,2,48), f32(40,2,48), f32(40,2,48), 4, \"SBH\", "
        "keep_prob=0.8, scale=0.3)",
        "NPU.npu_fusion_attention(f32(2,64,4,12), f32(2,40,2,12), f32(2,40,2,12), 4, \"BSND\", "
        "keep_prob=0.8, scale=0.3)",
        "NPU.npu_fusion_attention(f32(2,4,64,12), f32(2,4,40,12), f32(2,4,40,12), 4, \"BNSD\", "
        "keep_prob=0.8, scale=0.3)",
        "NPU.npu_fusion_attention_v2(f32(2,64,48), f32(2,40,24), f32(2,40,24), 4, \"BSH\", "
        "atten_mask=bool(64,40), sparse_mode=6, prefix=[7,20], keep_prob=0.8, scale=0.3)",
        "NPU.npu_fusion_attention_v3(f32(2,4,64,12), f32(2,4,40,12), f32(2,4,40,12), 4, \"BNSD\", "
        "keep_prob=0.8, scale=0.3, sink=f32(4)')",
        "NPU.npu_fusion_attention(f32(90,4,12), f32(70,2,12), f32(70,2,12), 4, \"TND\", "
        "keep_prob=0.8, scale=0.3, actual_seq_qlen=[40,40,85], actual_seq_kvlen=[30,36,66])",
        "NPU.npu_fusion_attention_v2(f32(90,4,12), f32(70,2,12), f32(70,2,8), 4, \"TND\", "
        "query_rope=f32(90,4,4), key_rope=f32(70,2,4), atten_mask=bool(8,8), sparse_mode=3, "
        "keep_prob=0.8, scale=0.3, actual_seq_qlen=[30,90], actual_seq_kvlen=[30,70])",
        "NPU.npu_fused_attention_score(f32(2,4,64,12), f32(2,4,40,12), f32(2,4,40,8), "
        "f32(2,1,64,40)', 0.3, 0.8)",
        "MindSpeed.fusion_attention_v2.npu_fusion_attention(f16(90,4,12), f16(70,4,12), "
        "f16(70,4,12), 4, \"TND\", atten_mask=bool(8,8), sparse_mode=7, pre_tokens=20, "
        "next_tokens=0, keep_prob=0.5, scale=0.3, actual_seq_qlen=[30,90], "
        "actual_seq_kvlen=[40,70])",
        "Functional.scaled_dot_product_attention(f32(2,4,64,8), f32(2,2,40,8), f32(2,2,40,12), "
        "dropout_p=0.3, enable_gqa=True)",
        "Functional.scaled_dot_product_attention(f64(64,8), f64(64,8), f64(64,8), None, 0.3, True)",
    };
    struct arena arena = { 0 };
    struct sample sample;
    struct bench_output *wanted;
    char reason[256];
    size_t count;
    struct numbers numbers = { 5 };
    struct bench *bench = opened(&sample, calls[_i], &arena),
                 *device = opened_in(&sample, calls[_i], &arena, BENCH_NATIVE);
    struct value outputs, gradients;
    struct tensor cotangent;
    ck_assert_int_eq(bench_native_outputs(&outputs, device).code, 0);
    const struct bench_output *want = bench_output(bench, 0);
    const struct tensor *out = outputs.list.items[0].tensor.tensor;
    ck_assert_msg(want->property->holds(want->property, out, reason, sizeof reason), "%s", reason);
    ck_assert_int_eq(tensor_create(&cotangent, &arena, out->dtype, out->rank, out->shape).code, 0);
    for (size_t i = 0; i < tensor_elements(out); i++) {
        double x = numbers_normal(&numbers);
        dtype_from_double((char *)cotangent.data + i * dtype_info(out->dtype)->bytes, out->dtype,
                          &x, 1);
    }
    struct value item = { .kind = VALUE_TENSOR, .tensor = { .tensor = &cotangent } };
    struct value list = { .kind = VALUE_LIST, .list = { .items = &item, .count = 1 } };
    ck_assert_int_eq(bench_backward(&wanted, &count, bench, &list).code, 0);
    ck_assert_int_eq(bench_native_gradients(&gradients, device, &list).code, 0);
    ck_assert_uint_ge(count, 3);
    for (size_t i = 0; i < count; i++) {
        const struct bench_property *law = wanted[i].property;
        if (gradients.list.items[i].kind != VALUE_TENSOR) continue;
        ck_assert_msg(law != NULL, "gradient %zu has no law", i);
        ck_assert_msg(law->holds(law, gradients.list.items[i].tensor.tensor, reason, sizeof reason),
                      "gradient %zu: %s", i, reason);
    }
    arena_release(&arena);
}
END_TEST

/* What the embedded device returns for a call. */
static const struct tensor *device_output(const char *text, size_t k, struct arena *arena)
{
    struct sample *sample = arena_allocate(arena, sizeof *sample);
    struct bench *device = opened_in(sample, text, arena, BENCH_NATIVE);
    struct value outputs;
    ck_assert_int_eq(bench_native_outputs(&outputs, device).code, 0);
    return outputs.list.items[k].tensor.tensor;
}

/* Heads behind one projection: right with dropout, wrong without; of the weights single elements are judged. */
START_TEST(whole_multi_head_attention)
{
#define HEADS_CALL(training)                                                               \
    "Functional.multi_head_attention_forward(f32(512,4,8)[-1..1], f32(24,4,8)[-1..1], "    \
    "f32(24,4,8)[-1..1], 8, 2, f32(24,8)[-1..1], f32(24)[-1..1], None, None, False, 0.3, " \
    "f32(8,8)[-1..1], f32(8)[-1..1], training=" training ")"
    struct arena arena = { 0 };
    struct sample sample, plain;
    struct bench *bench = opened(&sample, HEADS_CALL("True"), &arena), *without;
    struct value outputs;
    char reason[256];
    for (size_t k = 0; k < 2; k++) {
        const struct bench_property *law = bench_output(bench, k)->property;
        const struct tensor *out = device_output(HEADS_CALL("True"), k, &arena);
        ck_assert_msg(law->holds(law, out, reason, sizeof reason), "%s", reason);
    }
    /* the same numbers without dropout: elements are drawn from the text of a call, so its arguments are shared */
    ck_assert_ptr_null(sample_parse(&plain, HEADS_CALL("False"), &arena));
    plain.c.args = sample.c.args;
    ck_assert_int_eq(bench_open(&without, &plain.c, &arena, BENCH_NATIVE).code, 0);
    ck_assert_int_eq(bench_native_outputs(&outputs, without).code, 0);
    const struct bench_property *law = bench_output(bench, 0)->property;
    ck_assert(!law->holds(law, outputs.list.items[0].tensor.tensor, reason, sizeof reason));
    ck_assert_ptr_nonnull(strstr(reason, "of the variance of a dropout"));
    float *weights = outputs.list.items[1].tensor.tensor->data;
    weights[77] = 0.9f;
    law = bench_output(bench, 1)->property;
    ck_assert(!law->holds(law, outputs.list.items[1].tensor.tensor, reason, sizeof reason));
    arena_release(&arena);
}
END_TEST

/* Autocast computes in 16 bits what is given in float32: the recorded result says so. */
START_TEST(the_dtype_of_the_recorded_result_counts)
{
    static struct tensor_record record = { .dtype = DT_BF16, .rank = 3, .shape = { 512, 4, 8 } };
    static struct value item, cotangent_item;
    struct arena arena = { 0 };
    struct sample sample;
    struct bench *bench;
    struct bench_output *gradients;
    struct tensor cotangent;
    size_t count;
    ck_assert_ptr_null(sample_parse(&sample, HEADS_CALL("True"), &arena));
    item = (struct value){ .kind = VALUE_TENSOR, .tensor = { .record = &record } };
    sample.c.outputs = (struct value){ .kind = VALUE_LIST, .list = { .items = &item, .count = 1 } };
    ck_assert_int_eq(bench_open(&bench, &sample.c, &arena, BENCH_REFERENCE).code, 0);
    ck_assert_int_eq(bench_output(bench, 0)->reference.dtype, DT_BF16);
    ck_assert_int_eq(tensor_create(&cotangent, &arena, DT_F32, 3, record.shape).code, 0);
    memset(cotangent.data, 0, tensor_elements(&cotangent) * sizeof(float));
    cotangent_item = (struct value){ .kind = VALUE_TENSOR, .tensor = { .tensor = &cotangent } };
    struct value list = { .kind = VALUE_LIST, .list = { .items = &cotangent_item, .count = 1 } };
    ck_assert_int_eq(bench_backward(&gradients, &count, bench, &list).code, 0);
    for (size_t k = 0; k < count; k++) ck_assert_int_eq(gradients[k].reference.dtype, DT_F32);
    arena_release(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("attention with dropout");
    TCase *tests = tcase_create("law");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, correct_devices_pass);
    tcase_add_loop_test(tests, wrong_results_are_found, NONE + 1, FAULTS);
    tcase_add_loop_test(tests, wrong_gradients_are_found, 0, 2);
    tcase_add_test(tests, the_gradient_as_an_operator);
    tcase_add_loop_test(tests, layouts_follow_the_law, 0, 12);
    TCase *heads = tcase_create("heads");
    tcase_add_test(heads, whole_multi_head_attention);
    tcase_add_test(heads, the_dtype_of_the_recorded_result_counts);
    suite_add_tcase(suite, tests);
    suite_add_tcase(suite, heads);
    return suite_run(suite);
}
