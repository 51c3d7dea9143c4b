/* Operators of aten: the names that rows of torch serve, and gradients as operators where PyTorch 1.13 has
 * no golden to give (tests/data/goldens_aten has the others). */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/samples.h"
#include "support/suite.h"

static void parse(struct sample *sample, const char *call, struct arena *arena)
{
    const char *wrong = sample_parse(sample, call, arena);
    ck_assert_msg(!wrong, "%s: %s", call, wrong);
}

static struct bench *evaluated(const struct api_case *c, struct arena *arena)
{
    struct bench *bench;
    struct status status = bench_open(&bench, c, arena, BENCH_REFERENCE);
    ck_assert_msg(!status.code, "%s: %s", c->full_name, status.text);
    return bench;
}

/* ---- names ------------------------------------------------------------------------------------------ */

/* An overload, an in-place form and a dunder are the operator; modules of torch stand in the name. */
START_TEST(spellings_of_an_operator)
{
    static const struct {
        const char *name;
        bool known;
    } spellings[] = {
        { "add", true },
        { "add.Tensor", true },
        { "add.", false },
        { "add.3", false },
        { "add_.Scalar", true },
        { "__iand__", true },
        { "sum.dim_IntList", true },
        { "linalg_inv_ex", true },
        { "special_ndtr", true },
        { "native_layer_norm_backward", true },
        { "adds", false },
        { "add.", false },
        { "add.3", false },
        { ".add", false },
        { "", false },
        { "_", false },
        { "linalg_", false },
    };
    struct bench_entry entry;
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++)
        ck_assert_msg(bench_find_entry(&entry, "Aten", spellings[i].name) == spellings[i].known,
                      "Aten.%s", spellings[i].name);
}
END_TEST

/* native_functions.yaml reduces to the mean by default; torch's functions of the same names do not. */
START_TEST(losses_reduce_to_the_mean)
{
    struct arena arena = { 0 };
    struct sample sample;
    parse(&sample, "Aten.margin_ranking_loss(f64(4), f64(4), f64(4))", &arena);
    ck_assert_int_eq(bench_output(evaluated(&sample.c, &arena), 0)->reference.rank, 0);
    sample.c.type = "Torch";
    ck_assert_int_eq(bench_output(evaluated(&sample.c, &arena), 0)->reference.rank, 1);
    arena_release(&arena);
}
END_TEST

/* ---- gradients by what a forward returned ------------------------------------------------------------ */

/* The values of a reference as a float64 argument. */
static struct value argument_of(const struct reference *r, struct arena *arena)
{
    struct value value = { .kind = VALUE_TENSOR };
    struct tensor *tensor = arena_allocate(arena, sizeof *tensor);
    ck_assert_int_eq(tensor_create(tensor, arena, DT_F64, r->rank, r->shape).code, 0);
    memcpy(tensor->data, r->hi, r->n * sizeof *r->hi);
    value.tensor.tensor = tensor;
    return value;
}

static struct value none(void) { return (struct value){ .kind = VALUE_NONE }; }
static struct value integer(int64_t i) { return (struct value){ .kind = VALUE_INT, .integer = i }; }
static struct value boolean(bool b) { return (struct value){ .kind = VALUE_BOOL, .boolean = b }; }

static void assert_same(const struct reference *have, const struct reference *want,
                        const char *what)
{
    ck_assert_uint_eq(have->n, want->n);
    for (size_t i = 0; i < have->n; i++)
        ck_assert_msg(fabs(have->hi[i] - want->hi[i]) <= 1e-12 * (1 + fabs(want->hi[i])),
                      "%s: element %zu is %.17g, by the plain operator %.17g", what, i, have->hi[i],
                      want->hi[i]);
}

static const char *const attention_calls[] = {
    "Functional.scaled_dot_product_attention(f64(1,2,5,4), f64(1,2,5,4), f64(1,2,5,3))",
    "Functional.scaled_dot_product_attention(f64(1,2,5,4), f64(1,2,5,4), f64(1,2,5,3), None, 0.0, "
    "True)",
};

/* The gradients that the fused kernel makes of its output and logarithms, if these are exact, are those of
 * attention. */
START_TEST(fused_attention_differentiates_attention)
{
    struct arena arena = { 0 };
    struct sample sample;
    struct numbers numbers = { 5 };
    struct value cotangents;
    struct bench_output *want;
    size_t count;

    parse(&sample, attention_calls[_i], &arena);
    struct bench *plain = evaluated(&sample.c, &arena);
    sample_cotangents(&cotangents, plain, &arena, &numbers);
    ck_assert_int_eq(bench_backward(&want, &count, plain, &cotangents).code, 0);
    ck_assert_uint_eq(count, 3);

    const struct value *qkv = sample.c.args.list.items;
    bool causal = sample.c.args.list.count > 3;
    struct value forward_items[5] = { qkv[0], qkv[1], qkv[2], integer(0), boolean(causal) };
    struct api_case forward = sample.c;
    forward.type = "Aten";
    forward.api = "_scaled_dot_product_flash_attention";
    forward.args.list.items = forward_items;
    forward.args.list.count = 5;
    struct bench *fused = evaluated(&forward, &arena);
    ck_assert_uint_eq(bench_output_count(fused), 9);
    assert_same(&bench_output(fused, 0)->reference, &bench_output(plain, 0)->reference, "output");

    struct value items[] = { cotangents.list.items[0],
                             qkv[0],
                             qkv[1],
                             qkv[2],
                             argument_of(&bench_output(fused, 0)->reference, &arena),
                             argument_of(&bench_output(fused, 1)->reference, &arena),
                             none(),
                             none(),
                             integer(5),
                             integer(5),
                             integer(0),
                             boolean(causal),
                             none(),
                             none() };
    struct api_case backward = forward;
    backward.api = "_scaled_dot_product_flash_attention_backward";
    backward.args.list.items = items;
    backward.args.list.count = sizeof items / sizeof *items;
    struct bench *gradients = evaluated(&backward, &arena);
    ck_assert_uint_eq(bench_output_count(gradients), 3);
    for (size_t k = 0; k < 3; k++)
        assert_same(&bench_output(gradients, k)->reference, &want[k].reference, "gradient");
    arena_release(&arena);
}
END_TEST

/* A gradient that is not asked for is None, in its place. */
START_TEST(masked_gradients_are_none)
{
    struct arena arena = { 0 };
    struct sample sample;
    parse(&sample,
          "Aten.convolution_backward(f64(1,2,3), f64(1,2,4), f64(2,2,2), [2], [1], [0], [1], "
          "False, [0], 1, [False, True, False])",
          &arena);
    struct bench *bench = evaluated(&sample.c, &arena);
    ck_assert_uint_eq(bench_output_count(bench), 3);
    ck_assert_int_eq(bench_output(bench, 0)->kind, BENCH_OUTPUT_NONE);
    ck_assert_int_eq(bench_output(bench, 1)->kind, BENCH_OUTPUT_TENSOR);
    ck_assert_int_eq(bench_output(bench, 2)->kind, BENCH_OUTPUT_NONE);
    arena_release(&arena);
}
END_TEST

/* Two arguments may be one tensor; each has its own gradient. */
START_TEST(arguments_that_are_one_tensor)
{
    struct arena arena = { 0 };
    struct sample sample;
    parse(&sample,
          "Aten.grid_sampler_2d_backward(f64(1,2,2,2), f64(1,2,2,2)[-0.5..0.5], "
          "f64(1,2,2,2)[-0.5..0.5], 0, 0, False, [True, True])",
          &arena);
    struct value *items = sample.c.args.list.items;
    struct tensor copy = *items[1].tensor.tensor;
    items[2].tensor.tensor = &copy;
    struct bench *apart = evaluated(&sample.c, &arena);
    items[2].tensor.tensor = items[1].tensor.tensor;
    struct bench *one = evaluated(&sample.c, &arena);
    for (size_t k = 0; k < 2; k++)
        assert_same(&bench_output(one, k)->reference, &bench_output(apart, k)->reference, "one");
    arena_release(&arena);
}
END_TEST

/* The mask that the device drew decides what its output must be. */
START_TEST(dropout_follows_its_mask)
{
    struct arena arena = { 0 };
    struct sample sample;
    parse(&sample, "Aten.native_dropout(f64(4)[1 2 3 4], 0.5, True)", &arena);
    struct bench *bench = evaluated(&sample.c, &arena);
    ck_assert_int_eq(bench_output(bench, 0)->kind, BENCH_OUTPUT_RANDOM);
    int64_t shape[1] = { 4 };
    struct tensor output, mask;
    ck_assert_int_eq(tensor_create(&output, &arena, DT_F64, 1, shape).code, 0);
    ck_assert_int_eq(tensor_create(&mask, &arena, DT_BOOL, 1, shape).code, 0);
    memcpy(output.data, (double[]){ 2, 0, 6, 0 }, 4 * sizeof(double));
    memcpy(mask.data, (char[]){ 1, 0, 0, 1 }, 4);
    struct value items[2] = { { .kind = VALUE_TENSOR }, { .kind = VALUE_TENSOR } };
    items[0].tensor.tensor = &output;
    items[1].tensor.tensor = &mask;
    struct value got = { .kind = VALUE_LIST };
    got.list.items = items;
    got.list.count = 2;
    ck_assert_int_eq(bench_settle(bench, &got).code, 0);
    ck_assert_int_eq(bench_output(bench, 0)->kind, BENCH_OUTPUT_TENSOR);
    static const double want[4] = { 2, 0, 0, 8 };
    for (size_t i = 0; i < 4; i++)
        ck_assert_double_eq(bench_output(bench, 0)->reference.hi[i], want[i]);
    arena_release(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("aten");
    TCase *tests = tcase_create("aten");
    tcase_add_test(tests, spellings_of_an_operator);
    tcase_add_test(tests, losses_reduce_to_the_mean);
    tcase_add_loop_test(tests, fused_attention_differentiates_attention, 0,
                        sizeof attention_calls / sizeof *attention_calls);
    tcase_add_test(tests, masked_gradients_are_none);
    tcase_add_test(tests, arguments_that_are_one_tensor);
    tcase_add_test(tests, dropout_follows_its_mask);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
