/* The model of kernels that round to the dtype between their steps: kernels in bfloat16 that do, written out here,
 * are within it and beyond the fused one; an op of one step has none. */
#include <math.h>
#include <string.h>

#include "bench/samples.h"
#include "bench/tape/deviation.h"
#include "bench/what_if.h"
#include "support/suite.h"

static struct arena arena;
static struct sample sample;

static double bf16(double x)
{
    uint16_t bits;
    dtype_from_double(&bits, DT_BF16, &x, 1);
    dtype_to_double(&x, &bits, DT_BF16, 1);
    return x;
}

static struct reference *open_output(const char *call)
{
    struct bench *bench;
    arena_reset(&arena);
    const char *wrong = sample_parse(&sample, arena_copy_string(&arena, call), &arena);
    ck_assert_msg(!wrong, "%s: %s", call, wrong);
    ck_assert_int_eq(bench_open(&bench, &sample.c, &arena, BENCH_REFERENCE).code, 0);
    ck_assert_int_eq(bench_model(bench).code, 0);
    return &bench_output(bench, 0)->reference;
}

static double element(size_t i)
{
    double x;
    const struct tensor *t = sample.c.args.list.items[0].tensor.tensor;
    dtype_to_double(&x, (const char *)t->data + i * dtype_info(t->dtype)->bytes, t->dtype, 1);
    return x;
}

static double staged_silu(double x) { return bf16(x / bf16(1 + bf16(exp(-x)))); }
static double staged_division(double x) { return bf16(x / bf16(5.66)); }
static double staged_rsqrt(double x) { return bf16(1 / bf16(sqrt(x))); }
static double staged_gelu(double x)
{
    return bf16(bf16(x * 0.5) * bf16(1 + bf16(erf(bf16(x * bf16(0.70710678118654752))))));
}

static const struct {
    const char *call;
    double (*kernel)(double x);
    const char *step;
} kernels[] = {
    { "Functional.silu(bf16(500))", staged_silu, "silu" },
    { "Torch.div(bf16(500), 5.66)", staged_division, "a number" },
    { "Torch.rsqrt(bf16(500)[0.5..9])", staged_rsqrt, "rsqrt" },
    { "Functional.gelu(bf16(500)[0..3])", staged_gelu, "gelu" },
};

/* The sums of softmax are newer than softmax itself: every step is found by its number, whatever the order. */
START_TEST(steps_are_found_in_any_order)
{
    struct reference *r = open_output("Functional.softmax(bf16(4,50)[-2..2], 1)");
    ck_assert_ptr_nonnull(r->stage);
    ck_assert_int_eq(r->stage(r).code, 0);
    ck_assert_ptr_nonnull(r->staged_steps);
    ck_assert_str_eq(r->staged_steps, "a sum of exponentials");
}
END_TEST

START_TEST(staged_kernels_are_within)
{
    size_t beyond = 0;
    struct reference *r = open_output(kernels[_i].call);
    ck_assert_ptr_nonnull(r->stage);
    ck_assert_int_eq(r->stage(r).code, 0);
    ck_assert_ptr_nonnull(r->staged_bound);
    ck_assert_ptr_nonnull(strstr(r->staged_steps, kernels[_i].step));
    for (size_t i = 0; i < r->n; i++) {
        double got = kernels[_i].kernel(element(i)), error = fabs(got - r->hi[i]);
        double unit = dtype_ulp(DT_BF16, r->hi[i]);
        ck_assert_double_ge(r->staged_bound[i], r->kernel_bound[i]);
        ck_assert_double_le(r->staged_rms[i], r->staged_bound[i]);
        ck_assert_msg(error <= r->staged_bound[i] + unit / 2, "%s: element %zu is %g, %g staged",
                      kernels[_i].call, i, r->hi[i], got);
        beyond += error > r->kernel_bound[i] + unit / 2 * (1 + 0x1p-10);
    }
    ck_assert_uint_gt(beyond, 10);
}
END_TEST

/* Every node is looked at once, however many ways lead to it: a long recurrent layer has more than can be walked. */
START_TEST(steps_of_a_long_layer_are_found)
{
    struct reference *r = open_output(
        "VF.lstm(bf16(30,1,2), [bf16(1,1,2), bf16(1,1,2)], [bf16(8,2), bf16(8,2), bf16(8), "
        "bf16(8)], True, 1, 0.0, False, False, False)");
    ck_assert_ptr_nonnull(r->stage);
    ck_assert_int_eq(r->stage(r).code, 0);
    ck_assert_ptr_nonnull(r->staged_steps);
}
END_TEST

/* Elements of a computed kernel that are those of `kernels[_i]`. */
struct agreement {
    double (*kernel)(double x);
    size_t n, same;
};
static void count_same(void *context, const double *values)
{
    struct agreement *a = context;
    for (size_t i = 0; i < a->n; i++) a->same += bf16(values[i]) == a->kernel(element(i));
}

/* One of the choices is that kernel, to the last bit in every element. */
START_TEST(staged_kernels_are_computed)
{
    struct reference *r = open_output(kernels[_i].call);
    size_t most = 0, least = r->n;
    ck_assert_ptr_nonnull(r->compute_staged);
    for (unsigned k = 0; k < 8; k++) {
        const struct staged_choice choice = { .numbers = k & 1,
                                              .composed_functions = k & 2,
                                              .other_formulas = k & 4 };
        struct agreement agreement = { kernels[_i].kernel, r->n, 0 };
        bool can;
        ck_assert_int_eq(r->compute_staged(r, &can, &choice, count_same, &agreement).code, 0);
        ck_assert(can && !r->staged_gradient);
        if (agreement.same > most) most = agreement.same;
        if (agreement.same < least) least = agreement.same;
    }
    ck_assert_uint_eq(most, r->n);
    ck_assert_uint_lt(least, r->n);
}
END_TEST

/* Products with 0 and 1 are exact in every kernel. */
START_TEST(masks_round_nothing)
{
    struct reference *r = open_output("Torch.mul(f32(100), i64(100)[0..1])");
    for (size_t i = 0; i < r->n; i++) ck_assert_double_eq(r->kernel_bound[i], 0);
    size_t rounded = 0;
    r = open_output("Torch.mul(f32(100), i64(100)[0..3])");
    for (size_t i = 0; i < r->n; i++) rounded += r->kernel_bound[i] > 0;
    ck_assert_uint_gt(rounded, 0);
}
END_TEST

START_TEST(one_step_has_no_stages)
{
    static const char *const calls[] = { "Torch.exp(bf16(50))", "Torch.add(bf16(50), bf16(50))",
                                         "Torch.mul(bf16(50), 0.5)", "Torch.sum(bf16(50))" };
    for (size_t k = 0; k < sizeof calls / sizeof *calls; k++) {
        struct reference *r = open_output(calls[k]);
        ck_assert_int_eq(r->stage(r).code, 0);
        ck_assert_msg(!r->staged_bound, "%s: %s", calls[k], r->staged_steps);
        ck_assert_ptr_null(r->stage); /* asked once */
    }
    ck_assert_ptr_null(open_output("Functional.silu(f32(50))")->stage);
}
END_TEST

/* What a primitive makes on the walk back a kernel may hold in registers, but for what it returns. */
START_TEST(gradients_of_primitives_are_one_kernel)
{
    enum { MOST = 32 };
    const struct deviation unchanged = { .numbers = { 0 } };
    struct what_step steps[MOST];
    struct numbers numbers = { 5 };
    struct bench *bench;
    struct bench_output *gradients;
    size_t count, inner = 0;
    (void)open_output("Torch.rsqrt(bf16(20)[0.5..9])");
    ck_assert_int_eq(bench_open(&bench, &sample.c, &arena, BENCH_REFERENCE).code, 0);
    sample_cotangents(&sample.c.cotangents, bench, &arena, &numbers);
    ck_assert_int_eq(bench_backward(&gradients, &count, bench, &sample.c.cotangents).code, 0);
    ck_assert_int_eq(bench_what_steps(steps, &count, MOST, bench, (struct what_result){ true, 0 },
                                      &(struct what_if){ .deviation = &unchanged }, &arena)
                         .code,
                     0);
    ck_assert_uint_gt(count, 2);
    for (size_t k = 0; k < count; k++) {
        inner += steps[k].inner;
        ck_assert(!(steps[k].inner && steps[k].last));
    }
    ck_assert_uint_gt(inner, 0);
}
END_TEST

/* The gradient of a broadcast factor: products rounded before they are summed. */
START_TEST(gradients_have_stages)
{
    struct bench *bench;
    struct bench_output *gradients;
    struct value cotangents;
    struct numbers numbers = { 7 };
    size_t count;
    arena_reset(&arena);
    ck_assert_ptr_null(
        sample_parse(&sample, arena_copy_string(&arena, "Torch.mul(bf16(40,6), bf16(6))"), &arena));
    ck_assert_int_eq(bench_open(&bench, &sample.c, &arena, BENCH_REFERENCE).code, 0);
    ck_assert_int_eq(bench_model(bench).code, 0);
    sample_cotangents(&cotangents, bench, &arena, &numbers);
    ck_assert_int_eq(bench_backward(&gradients, &count, bench, &cotangents).code, 0);
    ck_assert_uint_eq(count, 2);
    struct reference *r = &gradients[1].reference;
    ck_assert_int_eq(r->stage(r).code, 0);
    ck_assert_ptr_nonnull(r->staged_bound);
    ck_assert_ptr_nonnull(strstr(r->staged_steps, "multiply"));
    for (size_t i = 0; i < r->n; i++) ck_assert_double_gt(r->staged_bound[i], r->kernel_bound[i]);
}
END_TEST

static struct reference *gradient_of(const char *call, size_t i)
{
    struct bench *bench;
    struct bench_output *gradients;
    static struct value cotangents;
    struct numbers numbers = { 7 };
    size_t count;
    arena_reset(&arena);
    ck_assert_ptr_null(sample_parse(&sample, arena_copy_string(&arena, call), &arena));
    ck_assert_int_eq(bench_open(&bench, &sample.c, &arena, BENCH_REFERENCE).code, 0);
    ck_assert_int_eq(bench_model(bench).code, 0);
    sample_cotangents(&cotangents, bench, &arena, &numbers);
    ck_assert_int_eq(bench_backward(&gradients, &count, bench, &cotangents).code, 0);
    ck_assert_uint_gt(count, i);
    return &gradients[i].reference;
}

/* The gradient of a float32 factor of a bfloat16 tensor was a bfloat16 tensor: its only step, a sum, is rounded to that. */
START_TEST(wide_gradients_of_short_results_have_stages)
{
    static const char *const calls[] = { "Torch.add(bf16(40), f32()[0.3])",
                                         "Torch.mul(bf16(40), f32()[0.3])" };
    for (size_t k = 0; k < 2; k++) {
        struct reference *r = gradient_of(calls[k], 1);
        ck_assert_int_eq(r->dtype, DT_F32);
        ck_assert_int_eq(r->stage_dtype, DT_BF16);
        ck_assert_int_eq(r->stage(r).code, 0);
        ck_assert_ptr_nonnull(r->staged_bound);
        ck_assert_double_ge(r->staged_bound[0], fabs(r->hi[0]) * 0x1p-9);
        ck_assert_double_lt(r->kernel_bound[0], 1e-3);
    }
    ck_assert_ptr_null(gradient_of("Torch.mul(f32(40), f32()[0.3])", 1)->stage);
}
END_TEST

/* A float32 number of no dimensions is cast to the dtype of the result. */
START_TEST(wide_operands_are_cast)
{
    struct reference *r = open_output("Torch.mul(bf16(500), f32()[0.3])");
    ck_assert_int_eq(r->stage(r).code, 0);
    ck_assert_ptr_nonnull(r->staged_bound);
    ck_assert_ptr_nonnull(strstr(r->staged_steps, "a cast"));
    for (size_t i = 0; i < r->n; i++) {
        double error = fabs(element(i) * bf16(0.3) - r->hi[i]);
        ck_assert_double_le(error, r->staged_bound[i]);
        ck_assert_double_ge(error, r->kernel_bound[i] * 100);
    }
    r = open_output("Torch.mul(bf16(500), bf16()[0.3])");
    ck_assert_int_eq(r->stage(r).code, 0);
    ck_assert_ptr_null(r->staged_bound);
}
END_TEST

static void teardown(void) { arena_release(&arena); }

int main(void)
{
    Suite *suite = suite_create("staged");
    TCase *tcase = tcase_create("staged");
    tcase_add_checked_fixture(tcase, NULL, teardown);
    tcase_add_test(tcase, steps_of_a_long_layer_are_found);
    tcase_add_test(tcase, steps_are_found_in_any_order);
    tcase_add_loop_test(tcase, staged_kernels_are_within, 0, sizeof kernels / sizeof *kernels);
    tcase_add_loop_test(tcase, staged_kernels_are_computed, 0, sizeof kernels / sizeof *kernels);
    tcase_add_test(tcase, masks_round_nothing);
    tcase_add_test(tcase, one_step_has_no_stages);
    tcase_add_test(tcase, gradients_of_primitives_are_one_kernel);
    tcase_add_test(tcase, gradients_have_stages);
    tcase_add_test(tcase, wide_gradients_of_short_results_have_stages);
    tcase_add_test(tcase, wide_operands_are_cast);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
