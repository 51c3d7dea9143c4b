/* The properties of random APIs: true generators pass, wrong ones do not.
 *
 * Every law is drawn here by another method than the product's (random_generators.h). Correct draws must pass for
 * 1,000 seeds each: at the stated 1e-9 a false alarm in any of them is not to be expected in 10,000 runs of this
 * program. Each flaw is one that a broken device shows: a parameter that is off, one value everywhere, a value the
 * law cannot give.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/random_generators.h"
#include "bench/samples.h"
#include "support/suite.h"

enum { SEEDS = 1000, FEW = 300, MANY = 4000, FLAW_SEEDS = 20 };

/* ---- the laws ------------------------------------------------------------------------------------------- */

static const struct law {
    const char *call; /* %d: the size */
    void (*draw)(struct drawing *d);
    double off; /* what the flawed generator has in place of 1 */
    int few, many;
    double impossible; /* a value the law cannot give */
    /* clang-format off */
} laws[] = {
    { "Tensor.uniform_(f32(%d), -1, 2)", draw_uniform, 0.8, FEW, MANY, 2.5 },
    { "Torch.rand(%d)", draw_rand, 1.3, FEW, MANY, -0.5 },
    { "Torch.rand_like(f32(%d))", draw_rand, 1.3, FEW, MANY, NAN },
    { "Torch.randn(%d)", draw_normal, 1.3, FEW, MANY, NAN },
    { "Torch.randn_like(bf16(%d))", draw_normal, 1.3, FEW, MANY, NAN },
    { "Tensor.normal_(f32(%d), 1, 2)", draw_shifted_normal, 1.3, FEW, MANY, NAN },
    { "Aten.normal_(f32(%d), 1, 2)", draw_shifted_normal, 1.3, FEW, MANY, NAN },
    { "Torch.normal(f32(%d), f32(%d)[0.5..1])", draw_each_normal, 1.3, FEW, MANY, NAN },
    { "Tensor.log_normal_(f32(%d), 0.5, 0.25)", draw_log_normal, 1.3, FEW, MANY, -1 },
    { "Tensor.exponential_(f32(%d), 2)", draw_exponential, 1.3, FEW, MANY, -1 },
    { "Tensor.cauchy_(f32(%d), 1, 2)", draw_cauchy, 1.5, FEW, MANY, NAN },
    { "Tensor.cauchy_(f32(%d), 1, -2)", draw_cauchy, 1.5, FEW, MANY, NAN },
    { "MindSpore.uniform([%d], -1, 2, None)", draw_uniform, 0.8, FEW, MANY, 2.5 },
    { "MindSpore.laplace([%d], 1, 2)", draw_laplace, 1.3, FEW, MANY, NAN },
    { "Tensor.geometric_(f32(%d), 0.4)", draw_geometric, 1.3, FEW, MANY, 0 },
    { "Tensor.random_(i64(%d), 0, 9)", draw_integers, 1.3, FEW, MANY, 9 },
    { "Torch.randint(0, 9, [%d])", draw_integers, 1.3, FEW, MANY, -1 },
    { "Torch.randint_like(f32(%d), 0, 9)", draw_integers, 1.3, FEW, MANY, 0.5 },
    { "Tensor.bernoulli(f32(%d)[0..1])", draw_bernoulli, 0.8, FEW, MANY, 2 },
    { "Tensor.bernoulli_(f32(%d), 0.3)", draw_fair, 1.3, FEW, MANY, 0.3 },
    { "Torch.poisson(f32(%d)[0..30])", draw_poisson, 1.1, FEW, MANY, 0.5 },
    { "Torch.binomial(f32(%d)[40..40], f32(%d)[0.2..0.7])", draw_binomial, 1.1, FEW, MANY, 41 },
    { "Torch.multinomial(f32(7)[1 2 0 4 0.5 3 1], %d, replacement=True)", draw_class_numbers, 0.2, FEW, MANY, 2 },
    { "Torch.multinomial(f32(%d,4)[1..9], 3)", draw_race, 0, 100, 1300, 4 },
    { "Torch.randperm(%d)", draw_permutation, 1.5, FEW, 1000, -1 },
    { "MindSpore.gamma([%d], f32()[3], f32(1)[1])", draw_sum_of_three, 1.3, FEW, MANY, -1 },
    { "MindSpore.random_gamma([%d], f16()[3])", draw_sum_of_three, 1.3, FEW, MANY, -1 },
    { "MindSpore.random_poisson([%d], f32(2)[2 9], torch.int64)", draw_poisson_pairs, 1.1, FEW, MANY, -1 },
    { "MindSpore.random_categorical(f32(1,5)[0 0.7 -inf 1.4 -0.3], %d, None)", draw_categories, 0.2, FEW, MANY, 2 },
    { "MindSpore.uniform_candidate_sampler(i64(1,1)[0], 1, %d, False, 9, False)", draw_integers, 1.3, FEW, MANY, 9 },
    { "MindSpore.uniform_candidate_sampler(i32(2,1)[0 3], 1, %d, True, %d, False)", draw_permutation, 1.5, FEW, 1000, -1 },
    { "MindSpore.log_uniform_candidate_sampler(i64(1,1)[0], 1, %d, False, 9)", draw_log_uniform, 1.3, FEW, MANY, 9 },
    { "MindSpore.log_uniform_candidate_sampler(i64(1,1)[0], 1, %d, True, %d0)", draw_unique_log_uniform, 0.5, 100, 500, -1 },
    { "MindSpore.shuffle(f32(%d))", draw_shuffle, 1.5, FEW, 1000, 99 },
    { "Functional.dropout(f32(%d), 0.4)", draw_dropout, 1.3, FEW, MANY, 9 },
    { "Functional.alpha_dropout(f32(%d), 0.4, True)", draw_alpha_dropout, 1.3, FEW, MANY, 9 },
    { "Functional.feature_alpha_dropout(f32(1,%d,2), 0.4, True)", draw_feature_alpha_dropout, 1.3, FEW, MANY, 9 },
    { "Functional.rrelu(f32(%d), 0.25, 0.75, training=True)", draw_rrelu, 2, FEW, MANY, 99 },
    { "NPU.npu_sub_sample(i32(%d)[-1..1], %d, 0.2)", draw_labels, 2, FEW, MANY, 2 },
    { "NPU.npu_random_choice_with_mask(bool(%d,2), 60)", draw_positions, 2, FEW, MANY, -1 },
    { "Functional.gumbel_softmax(f32(%d,3), hard=True)", draw_gumbel, 0.2, FEW, MANY, 0.5 },
};
/* clang-format on */

struct opened {
    struct arena arena;
    struct sample sample;
    struct bench *bench;
    struct tensor tensor;
    struct drawing d;
};

static void open_law(struct opened *o, const struct law *law, int size)
{
    char text[200];
    memset(o, 0, sizeof *o);
    snprintf(text, sizeof text, law->call, size, size);
    const char *wrong = sample_parse(&o->sample, arena_copy_string(&o->arena, text), &o->arena);
    ck_assert_msg(!wrong, "%s: %s", text, wrong);
    struct status st = bench_open(&o->bench, &o->sample.c, &o->arena, BENCH_REFERENCE);
    ck_assert_msg(!st.code, "%s: %s", text, st.text);
    const struct bench_output *output = bench_output(o->bench, 0);
    ck_assert_msg(output->kind == BENCH_OUTPUT_RANDOM, "%s is not random", text);
    const struct reference *r = &output->reference;
    ck_assert_int_eq(tensor_create(&o->tensor, &o->arena, r->dtype, r->rank, r->shape).code, 0);
    o->d.sample = &o->sample;
    o->d.n = tensor_elements(&o->tensor);
    o->d.out = arena_allocate(&o->arena, 2 * (o->d.n + 1) * sizeof *o->d.out);
}

static void draw(struct opened *o, const struct law *law, uint64_t seed, double off)
{
    o->d.numbers.state = seed * 0x9e3779b97f4a7c15u + 12345;
    o->d.off = off;
    law->draw(&o->d);
    dtype_from_double(o->tensor.data, o->tensor.dtype, o->d.out, o->d.n);
}

static bool holds(struct opened *o, char *reason, size_t bytes)
{
    const struct bench_property *property = bench_output(o->bench, 0)->property;
    return property->holds(property, &o->tensor, reason, bytes);
}

START_TEST(correct_generators_pass)
{
    const struct law *law = &laws[_i];
    struct opened o;
    char reason[300] = "";
    open_law(&o, law, law->few);
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        draw(&o, law, seed, 1);
        ck_assert_msg(holds(&o, reason, sizeof reason), "%s, seed %d: %s", law->call, (int)seed,
                      reason);
    }
    arena_release(&o.arena);
}
END_TEST

START_TEST(wrong_generators_fail)
{
    const struct law *law = &laws[_i];
    struct opened o;
    char reason[300];
    open_law(&o, law, law->many);
    for (uint64_t seed = 0; seed < FLAW_SEEDS; seed++) {
        draw(&o, law, seed, 1);
        ck_assert_msg(holds(&o, reason, sizeof reason), "%s: %s", law->call, reason);
        draw(&o, law, seed, law->off);
        ck_assert_msg(!holds(&o, reason, sizeof reason), "%s: a parameter off by %g is not seen",
                      law->call, law->off);

        draw(&o, law, seed, 1); /* one impossible value */
        o.d.out[seed] = law->impossible;
        dtype_from_double(o.tensor.data, o.tensor.dtype, o.d.out, o.d.n);
        ck_assert_msg(!holds(&o, reason, sizeof reason), "%s: %g is not seen", law->call,
                      law->impossible);

        draw(&o, law, seed, 1); /* one value everywhere */
        for (size_t i = 1; i < o.d.n; i++) o.d.out[i] = o.d.out[0];
        dtype_from_double(o.tensor.data, o.tensor.dtype, o.d.out, o.d.n);
        ck_assert_msg(!holds(&o, reason, sizeof reason), "%s: a constant is not seen", law->call);
    }
    arena_release(&o.arena);
}
END_TEST

/* ---- laws at their ends ------------------------------------------------------------------------------- */

/* Two values in a random order, half of 400 each (the limit on the distribution is then 0.164): what
 * a law with nothing left to chance must give, and what lies just beside it. */
static const struct edge {
    const char *call;
    double even, odd;
    bool holds;
} edges[] = {
    { "Tensor.uniform_(f32(400), 2, 2)", 2, 2, true },
    { "Tensor.uniform_(f32(400), 2, 2)", 2, 1, false },
    { "Tensor.uniform_(f32(400), -1, 2)", -1, 2.0000005, false },
    { "Torch.rand_like(f32(400), dtype=torch.float64)", 0.25, 0.75, false },
    { "Tensor.normal_(f32(400), 1, 0)", 1, 1, true },
    { "Tensor.normal_(f32(400), 1, 0)", 1, 2, false },
    { "Torch.normal(f32(400)[1..1], 0.0)", 1, 1, true },
    { "Torch.normal(f32(400)[1..1], 0.0)", 1, 1.5, false },
    { "Torch.normal(f32(400)[1..1], 0.0)", 1, NAN, false },
    { "Torch.normal(0.0, 1.0, (400,))", 0, 0, false },
    { "Torch.normal(0.0, 1.0, (400,))", 0, INFINITY, false },
    { "Tensor.log_normal_(f32(400), 0.5, 0.25)", 0, 0, false },
    { "Tensor.exponential_(f32(400), 2)", 0, 0, false },
    { "Tensor.geometric_(f32(400), 0.5)", 1, 2, false },
    { "Torch.bernoulli(f32(400)[0..0])", 0, 0, true },
    { "Torch.bernoulli(f32(400)[0..0])", 0, 1, false },
    { "Torch.bernoulli(f32(400)[1..1])", 1, 1, true },
    { "Torch.bernoulli(f32(400)[1..1])", 1, 0, false },
    { "Tensor.bernoulli_(f32(400), 0.5)", 0, 1, true },
    { "Tensor.bernoulli_(f32(400))", 1, 0, true },
    { "Tensor.bernoulli_(f32(400), 0.5)", 0, 0.5, false },
    { "Tensor.bernoulli_(f32(400), 0.5)", 1, 1, false },
    { "Torch.poisson(f32(400)[0..0])", 0, 0, true },
    { "Torch.poisson(f32(400)[0..0])", 0, 1, false },
    { "Torch.poisson(f32(400)[2..2])", 2, NAN, false },
    { "Torch.poisson(f32(400)[2..2])", 2, 1e30, false },
    { "Torch.binomial(f32(400)[0..0], f32(400)[0..1])", 0, 0, true },
    { "Torch.binomial(f32(400)[0..0], f32(400)[0..1])", 0, 1, false },
    { "Torch.binomial(f32(400)[3..3], f32(1)[1])", 3, 3, true },
    { "Torch.binomial(f32(400)[3..3], f32(1)[1])", 3, 2, false },
    { "Torch.binomial(f32(1)[3], f32(400)[0..0])", 0, 0, true },
    { "Torch.binomial(f32(1)[3], f32(400)[0..0])", 0, 1, false },
    { "Tensor.random_(bool(400))", 0, 1, true },
    { "Tensor.random_(bool(400))", 1, 1, false },
    { "Tensor.random_(i8(400))", 0, 1, false },
    { "Tensor.random_(f32(400))", 0, 1, false },
    { "Tensor.random_(i64(400), to=2)", 0, 1, true },
    { "Tensor.random_(i64(400), to=2)", 0, 2, false },
    { "Tensor.random_(i64(400), 2)", 0, 1, true },
    { "Tensor.random_(i64(400), 1, 3)", 1, 2, true },
    { "Tensor.random_(i64(400), 1, 3)", 0, 1, false },
    { "Torch.randint_like(f32(400), 2)", 0, 1, true },
    { "Torch.randint_like(f32(400), 1, 3)", 1, 2, true },
    { "Torch.randint_like(f32(400), 1, 3)", 0, 1, false },
    { "Torch.randint(2, (400,), dtype=torch.float32)", 0, 1, true },
    { "Torch.multinomial(f32(2)[1 1], 400, True)", 0, 1, true },
    { "Torch.multinomial(f32(2)[1 1], 400, True)", 0, 2, false },
    { "Torch.multinomial(f32(2)[1 1], 400, True)", 0, -1, false },
    { "Torch.multinomial(f32(2)[1 0], 400, True)", 0, 0, true },
    { "Torch.multinomial(f32(2)[1 0], 400, True)", 0, 1, false },
    /* A law that is one number. */
    { "Tensor.uniform_(f64(400)[0..0], -1, -1)", -1, -1, true },
    { "Tensor.uniform_(f64(400)[0..0], -1, -1)", -1, -2, false },
    { "Tensor.normal_(f64(400)[0..0], 3, 0)", 3, 3, true },
    { "Tensor.cauchy_(f32(400)[0..0], 2, 0)", 2, 2, true },
    { "Tensor.cauchy_(f32(400)[0..0], 2, 0)", 2, 3, false },
    { "Functional.dropout(f32(400)[2..2], 0.5)", 0, 4, true },
    { "Functional.dropout(f32(400)[2..2], 0.5)", 4, 4, false },
    { "Functional.dropout(f32(400)[2..2], 0.5)", 0, 2, false },
    { "Functional.dropout(f32(400)[0..0], 0.5)", 0, 0, true },
    { "Functional.dropout(f32(400)[0..0], 0.5)", 0, 1, false },
    { "Functional.dropout(f16(400)[60000..60000], 0.5)", 0, INFINITY, true },
    { "Functional.dropout(f16(400)[60000..60000], 0.5)", 0, 65504, false },
    { "Functional.dropout2d(f32(1,400,1)[2..2], 0.5)", 0, 4, true },
    { "Functional.dropout2d(f32(1,200,2)[2..2], 0.5)", 0, 4, false }, /* half of each channel */
    { "Functional.rrelu(f32(400)[-1..-1], 0.25, 0.75, True)", -0.25, -0.75, true },
    { "Functional.rrelu(f32(400)[-1..-1], 0.25, 0.75, True)", -0.25, -0.25, false },
    { "Functional.rrelu(f32(400)[-1..-1], 0.25, 0.75, True)", -0.5, NAN, false },
    { "Functional.rrelu(f32(400)[0..0], 0.25, 0.75, True)", 0, 0, true },
    { "Functional.rrelu(f32(400)[0..0], 0.25, 0.75, True)", 0, 1, false },
    { "Functional.rrelu(f32(400)[1..1], 0.25, 0.75, True)", 1, 1, true },
    { "Functional.rrelu(f32(400)[1..1], 0.25, 0.75, True)", 1, 0.5, false },
    { "NPU.npu_sub_sample(i32(400)[1..1], 200, 1)", 1, -1, true },
    { "NPU.npu_sub_sample(i32(400)[0..0], 200, 0.5)", 0, -1, true },
    { "NPU.npu_sub_sample(i32(400)[1..1], 200, 0.5)", 1, -1, false },
    { "NPU.npu_sub_sample(i32(400)[1..1], 401, 0.99776)", 1, 1, true },
    { "NPU.npu_sub_sample(i32(400)[0..0], 200, 0.5)", 0, 1, false },
    { "NPU.npu_sub_sample(i32(400)[-1..-1], 200, 0.5)", -1, -1, true },
    { "NPU.npu_random_choice_with_mask(bool(9)[0..0], 400)", 0, 0, true },
    { "NPU.npu_random_choice_with_mask(bool(9)[0..0], 400)", 0, 1, false },
    { "Functional.gumbel_softmax(f32(200,2)[0..0], hard=True)", 1, 1, false },
    { "Functional.gumbel_softmax(f32(200,2)[0..0], hard=True)", 0, 0, false },
    { "Functional.gumbel_softmax(f32(200,2)[0..0])", 2, -1, false },
    { "Functional.gumbel_softmax(f32(200,2)[0..0])", 0.25, 0.5, false },
};

static struct edge edge; /* of the row being run */

static void draw_two_values(struct drawing *d)
{
    for (size_t i = 0; i < d->n; i++) d->out[i] = i % 2 ? edge.odd : edge.even;
    for (size_t i = d->n; i-- > 1;) { /* in a random order (Fisher and Yates) */
        size_t j = (size_t)(drawing_next(d) * (double)(i + 1));
        double t = d->out[i];
        d->out[i] = d->out[j];
        d->out[j] = t;
    }
}

START_TEST(laws_hold_at_their_ends_and_not_beyond)
{
    edge = edges[_i];
    struct law law = { edge.call, draw_two_values, 1, 0, 0, 0 };
    struct opened o;
    char reason[300] = "";
    open_law(&o, &law, 0);
    draw(&o, &law, 0, 1);
    bool right = holds(&o, reason, sizeof reason);
    ck_assert_msg(right == edge.holds, "%s, %g and %g: %s", edge.call, edge.even, edge.odd,
                  right ? "accepted" : reason);
    ck_assert_msg(right || *reason, "%s: no reason", edge.call);
    arena_release(&o.arena);
}
END_TEST

/* The draws of the native arithmetic obey the law, whatever its parameters. */
START_TEST(native_draws_hold)
{
    struct law law = { edges[_i].call, NULL, 1, 0, 0, 0 };
    struct opened o;
    struct bench *native;
    struct value outputs;
    char reason[300] = "";
    open_law(&o, &law, 0);
    ck_assert_int_eq(bench_open(&native, &o.sample.c, &o.arena, BENCH_NATIVE).code, 0);
    ck_assert_int_eq(bench_native_outputs(&outputs, native).code, 0);
    o.tensor = *outputs.list.items[0].tensor.tensor;
    ck_assert_msg(holds(&o, reason, sizeof reason), "%s: %s", law.call, reason);
    arena_release(&o.arena);
}
END_TEST

/* ---- draws as a device may hand them over -------------------------------------------------------------- */

/* Every second element of a tensor whose other elements no law can give. */
static struct tensor interleaved(const struct opened *o, struct arena *arena)
{
    struct tensor wide, out = o->tensor;
    int64_t twice[1] = { 2 * (int64_t)o->d.n };
    size_t bytes = dtype_info(out.dtype)->bytes;
    ck_assert_int_eq(tensor_create(&wide, arena, out.dtype, 1, twice).code, 0);
    memset(wide.data, 0xff, 2 * o->d.n * bytes); /* NaN, -1 */
    for (size_t i = 0; i < o->d.n; i++)
        memcpy((char *)wide.data + 2 * i * bytes, (const char *)out.data + i * bytes, bytes);
    out.data = wide.data;
    for (int d = 0; d < out.rank; d++) out.stride[d] *= 2;
    return out;
}

static size_t requests, refused_at;

static bool refuse(size_t bytes)
{
    (void)bytes;
    return ++requests == refused_at;
}

/* Strided draws are judged like dense ones; without memory for the test there is no verdict but that. */
START_TEST(strided_draws_are_judged_and_refused_memory_is_told)
{
    const struct law *law = &laws[_i];
    struct opened o;
    char reason[300] = "";
    open_law(&o, law, law->few);
    draw(&o, law, 7, 1);
    const struct bench_property *property = bench_output(o.bench, 0)->property;
    struct tensor strided = interleaved(&o, &o.arena);
    ck_assert_msg(property->holds(property, &strided, reason, sizeof reason), "%s: %s", law->call,
                  reason);
    size_t total = 2;
    for (refused_at = 1; refused_at <= total; refused_at++) {
        requests = 0;
        arena_fault = refuse;
        bool held = property->holds(property, &strided, reason, sizeof reason);
        arena_fault = NULL;
        ck_assert_msg(!held, "%s: holds without its %zu. request", law->call, refused_at);
        ck_assert_str_eq(reason, "there is no memory to test the distribution");
    }
    ck_assert(property->holds(property, &strided, reason, sizeof reason));
    arena_release(&o.arena);
}
END_TEST

/* ---- gradients follow the mask that the output shows ------------------------------------------------ */

static const struct {
    const char *call;
    void (*draw)(struct drawing *d);
    double scale; /* of what is kept */
} masks[] = {
    { "Functional.dropout(f32(%d), 0.4)", draw_dropout, 1 / 0.6 },
    { "Functional.alpha_dropout(f32(%d), 0.4, True)", draw_alpha_dropout, 0 /* computed */ },
};

START_TEST(gradients_follow_the_mask)
{
    struct law law = { masks[_i].call, masks[_i].draw, 1, FEW, MANY, 0 };
    const double limit = -1.7580993408473766, p = 0.4;
    double a = pow((1 - p) * (1 + p * limit * limit), -0.5),
           scale = masks[_i].scale ? masks[_i].scale : a;
    double dropped = masks[_i].scale ? 0 : a * limit - a * p * limit;
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct opened o;
        struct value drawn = { .kind = VALUE_LIST }, item = { .kind = VALUE_TENSOR }, cotangents;
        struct numbers numbers = { seed };
        struct bench_output *gradients;
        size_t count;
        char reason[300] = "";
        open_law(&o, &law, FEW);
        draw(&o, &law, seed, 1);
        item.tensor.tensor = &o.tensor;
        drawn.list.items = &item;
        drawn.list.count = 1;
        ck_assert_int_eq(bench_settle(o.bench, &drawn).code, 0);
        sample_cotangents(&cotangents, o.bench, &o.arena, &numbers);
        ck_assert_int_eq(bench_backward(&gradients, &count, o.bench, &cotangents).code, 0);
        ck_assert_uint_eq(count, 1);
        ck_assert_int_eq(gradients[0].kind, BENCH_OUTPUT_RANDOM);

        struct tensor gradient;
        ck_assert_int_eq(
            tensor_create(&gradient, &o.arena, o.tensor.dtype, o.tensor.rank, o.tensor.shape).code,
            0);
        double *g = arena_allocate(&o.arena, 2 * o.d.n * sizeof *g),
               *c = arena_allocate(&o.arena, 2 * o.d.n * sizeof *c);
        const struct tensor *seeded = cotangents.list.items[0].tensor.tensor;
        dtype_to_double(c, seeded->data, seeded->dtype, o.d.n);
        for (size_t i = 0; i < o.d.n; i++)
            g[i] = fabs(o.d.out[i] - dropped) < 1e-6 ? 0 : scale * c[i];
        dtype_from_double(gradient.data, gradient.dtype, g, o.d.n);
        const struct bench_property *property = gradients[0].property;
        ck_assert_msg(property->holds(property, &gradient, reason, sizeof reason), "%s: %s",
                      law.call, reason);
        g[seed] = g[seed] == 0 ? scale * c[seed] : 0; /* one element of another mask */
        dtype_from_double(gradient.data, gradient.dtype, g, o.d.n);
        ck_assert_msg(!property->holds(property, &gradient, reason, sizeof reason),
                      "%s: another mask is not seen", law.call);
        g[seed] = 0.9 * scale * c[seed]; /* a wrong scale */
        dtype_from_double(gradient.data, gradient.dtype, g, o.d.n);
        ck_assert_msg(!property->holds(property, &gradient, reason, sizeof reason),
                      "%s: a wrong scale is not seen", law.call);
        arena_release(&o.arena);
    }
}
END_TEST

/* ---- dropout of a softmax: its result shows the mask ----------------------------------------------------- */

/* The bench with the three results of a device that keeps `keep` of the softmax's elements. */
static struct bench *settled_softmax(struct opened *o, const bool *keep, struct value *items)
{
    struct value got = { .kind = VALUE_LIST };
    size_t n = o->d.n;
    int64_t bytes = ((int64_t)n + 127) / 128 * 128;
    struct tensor *mask = arena_allocate(&o->arena, sizeof *mask),
                  *softmax = arena_allocate(&o->arena, sizeof *softmax),
                  *result = arena_allocate(&o->arena, sizeof *result);
    const struct reference *r = &bench_output(o->bench, 1)->reference;
    ck_assert_int_eq(tensor_create(mask, &o->arena, DT_U8, 1, &bytes).code, 0);
    ck_assert_int_eq(tensor_create(softmax, &o->arena, DT_F32, r->rank, r->shape).code, 0);
    ck_assert_int_eq(tensor_create(result, &o->arena, DT_F32, r->rank, r->shape).code, 0);
    memset(mask->data, 0x55, (size_t)bytes);
    for (size_t i = 0; i < n; i++) {
        ((float *)softmax->data)[i] = (float)r->hi[i];
        ((float *)result->data)[i] = keep[i] ? (float)(r->hi[i] / 0.6) : 0;
    }
    struct tensor *tensors[3] = { mask, softmax, result };
    for (int k = 0; k < 3; k++) {
        items[k] = (struct value){ .kind = VALUE_TENSOR };
        items[k].tensor.tensor = tensors[k];
    }
    got.list.items = items;
    got.list.count = 3;
    ck_assert_int_eq(bench_settle(o->bench, &got).code, 0);
    return o->bench;
}

START_TEST(a_dropped_softmax_follows_its_result)
{
    static const struct law law = {
        "NPU.npu_dropout_with_add_softmax(f32(%d,40), f32(%d,40), 0.5, 0.4, -1)", NULL, 1, 0, 0, 0
    };
    for (uint64_t seed = 0; seed < 50; seed++)
        for (int kind = 0; kind < 3; kind++) { /* right; one mask for all rows; too much kept */
            struct opened o;
            struct value items[3];
            char reason[300] = "";
            bool keep[20 * 40];
            struct drawing numbers = { .numbers.state = seed * 3 + 1 };
            open_law(&o, &law, 20);
            ck_assert_int_eq(bench_output(o.bench, 2)->kind, BENCH_OUTPUT_RANDOM);
            o.d.n = 20 * 40;
            for (size_t i = 0; i < o.d.n; i++)
                keep[i] = kind == 1 && i >= 40 ? keep[i - 40]
                                               : drawing_next(&numbers) < (kind == 2 ? 0.8 : 0.6);
            struct bench *bench = settled_softmax(&o, keep, items);
            const struct bench_property *property = bench_output(bench, 0)->property;
            bool held = property->holds(property, items[0].tensor.tensor, reason, sizeof reason);
            ck_assert_msg(held == (kind == 0), "seed %d, kind %d: %s", (int)seed, kind, reason);
            const struct reference *softmax = &bench_output(bench, 1)->reference,
                                   *result = &bench_output(bench, 2)->reference;
            ck_assert_int_eq(bench_output(bench, 2)->kind, BENCH_OUTPUT_TENSOR);
            for (size_t i = 0; i < o.d.n; i++)
                ck_assert_double_eq_tol(result->hi[i], keep[i] ? softmax->hi[i] / 0.6 : 0, 1e-15);
            arena_release(&o.arena);
        }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("random");
    TCase *tests = tcase_create("laws");
    int count = (int)(sizeof laws / sizeof *laws);
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, correct_generators_pass, 0, count);
    tcase_add_loop_test(tests, wrong_generators_fail, 0, count);
    tcase_add_loop_test(tests, laws_hold_at_their_ends_and_not_beyond, 0,
                        (int)(sizeof edges / sizeof *edges));
    tcase_add_loop_test(tests, native_draws_hold, 0, (int)(sizeof edges / sizeof *edges));
    tcase_add_loop_test(tests, strided_draws_are_judged_and_refused_memory_is_told, 0, count);
    tcase_add_loop_test(tests, gradients_follow_the_mask, 0, (int)(sizeof masks / sizeof *masks));
    tcase_add_test(tests, a_dropped_softmax_follows_its_result);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
