/* Conventions beside NaN, infinities and singular matrices: where kernels differ the model leaves the element open, and the value is
 * stated where there is one. */
#include <math.h>

#include "bench/samples.h"
#include "support/suite.h"

static struct arena arena;
static struct sample sample;
static struct value cotangents; /* the bench reads them later */

static struct bench *opened(const char *call)
{
    struct bench *bench;
    arena_reset(&arena);
    const char *wrong = sample_parse(&sample, arena_copy_string(&arena, call), &arena);
    ck_assert_msg(!wrong, "%s: %s", call, wrong);
    ck_assert_int_eq(bench_open(&bench, &sample.c, &arena, BENCH_REFERENCE).code, 0);
    ck_assert_int_eq(bench_model(bench).code, 0);
    return bench;
}

static struct reference *output_of(const char *call, size_t k)
{
    return &bench_output(opened(call), k)->reference;
}

static struct reference *open_call(const char *call, bool gradient)
{
    struct bench_output *gradients;
    struct numbers numbers = { 3 };
    size_t count;
    if (!gradient) return output_of(call, 0);
    struct bench *bench = opened(call);
    sample_cotangents(&cotangents, bench, &arena, &numbers);
    ck_assert_int_eq(bench_backward(&gradients, &count, bench, &cotangents).code, 0);
    return &gradients[0].reference;
}

/* Element 0 is open, the next is not. */
static const struct {
    const char *call;
    bool gradient;
} open_elements[] = {
    /* x > 0 and x <= 0 are both false: the slope of either piece */
    { "Functional.elu(f32(2)[nan 1])", true },
    { "Functional.selu(f32(2)[nan 1])", true },
    { "Functional.celu(f32(2)[nan 1], 0.5)", true },
    { "Functional.hardswish(f32(2)[nan 1])", true },
    { "Functional.hardshrink(f32(2)[nan 1])", true },
    { "Functional.softshrink(f32(2)[nan 1])", true },
    { "Functional.smooth_l1_loss(f32(2)[nan 1], f32(2)[1 3]', reduction=\"none\")", true },
    { "Functional.hinge_embedding_loss(f32(2)[nan 0.25], f32(2)[2 1]', reduction=\"none\")", true },
    /* sin(pi x) / (pi x) */
    { "Torch.sinc(f32(2)[inf 1.5])", false },
    /* c / 0 times a mask of 0 */
    { "Torch.nanmean(f32(2,1)[nan 1], 1)", true },
    { "Functional.hardtanh(f32(2)[nan 0.5])", true },
    { "Functional.relu6(f32(2)[nan 1])", true },
    /* rows whose norm is compared, and is no number */
    { "Torch.renorm(f32(2,1)[nan 3], 2, 0, 1.5)", true },
    /* -inf + w (-inf + inf), or (1 - w) -inf + w -inf */
    { "Torch.lerp(f32(2)[-inf 1], f32(2)[-inf 2], 0.25)", false },
    /* inf + 2 - 2 inf beside the root of inf */
    { "Aten._euclidean_dist(f32(2,2)[inf 1 0 1], f32(1,2)[1 1])", false },
    { "Aten._euclidean_dist(f32(2,1)[inf 3], f32(1,1)[1]')", true },
    /* what elimination makes of infinities */
    { "Torch.inverse(f32(2,1,1)[inf 2])", false },
    { "Torch.det(f32(2,1,1)[inf 2])", false },
    { "Torch.lu_factor(f32(2,1,1)[inf 2])", false },
    /* exp(-inf), or exp(inf - inf) in a sum */
    { "Torch.logsumexp(f32(2,1)[inf 1], 1)", true },
    /* the logarithm of a negative number */
    { "Torch.logdet(f32(2,1,1)[-2 1])", true },
};

START_TEST(what_kernels_choose_is_open)
{
    struct reference *r = open_call(open_elements[_i].call, open_elements[_i].gradient);
    ck_assert_ptr_nonnull(r->kernel_bound);
    ck_assert_msg(isinf(r->kernel_bound[0]), "%s: %g", open_elements[_i].call, r->kernel_bound[0]);
    ck_assert_msg(isfinite(r->kernel_bound[1]), "%s", open_elements[_i].call);
}
END_TEST

/* Slopes of weights times infinities are infinities or NaN, by the order of their factors: of the point that has one in reach, and of no other. */
START_TEST(places_among_infinities_have_any_slope)
{
    const struct reference *r = output_of(
        "Aten.grid_sampler_2d_backward(f32(1,1,1,2)[1 1], f32(1,1,2,4)[inf 1 2 3 4 5 6 7], "
        "f32(1,1,2,2)[-0.5 0 0.9 0], 2, 1, True, [True,True])",
        1);
    ck_assert_uint_eq(r->n, 4);
    for (size_t i = 0; i < 4; i++) ck_assert_int_eq(!!isinf(r->kernel_bound[i]), i < 2);
}
END_TEST

/* The parabola has ended: its infinite slope does not reach what is not taken. */
START_TEST(hardswish_is_flat_at_minus_infinity)
{
    struct reference *r = open_call("Functional.hardswish(f32(3)[-inf -4 1])", true);
    ck_assert_double_eq(r->hi[0], 0);
    ck_assert_double_eq(r->hi[1], 0);
    ck_assert_double_ne(r->hi[2], 0);
}
END_TEST

/* 1 / sqrt(x^2 - 1), whose root is that of 0 and not of -0. */
START_TEST(the_slope_of_acosh_is_even)
{
    double right = open_call("Torch.acosh(f32(1)[1])", true)->hi[0];
    double left = open_call("Torch.acosh(f32(1)[-1])", true)->hi[0];
    ck_assert(isinf(right));
    ck_assert_double_eq(left, right);
}
END_TEST

/* A mean by updates adds to infinity what it is off by, inf - inf; one of NaN is NaN. */
START_TEST(infinite_means_are_open)
{
    struct reference *r = open_call("Torch.mean(f32(3,2)[inf 1 nan 1 2 1], 1)", false);
    ck_assert_double_eq(r->kernel_bound[0], 0);
    ck_assert(isinf(output_of("Torch.var_mean(f32(3,2)[inf 1 nan 1 2 1], 1)", 1)->kernel_bound[0]));
    r = output_of("Torch.var_mean(f32(3,2)[inf 1 nan 1 2 1], 1)", 1);
    ck_assert_double_eq(r->kernel_bound[1], 0);
    ck_assert_double_lt(r->kernel_bound[2], 1e-6);
}
END_TEST

/* Frequencies of which a kernel for real numbers says 0, of the line alone that holds NaN. */
START_TEST(transforms_of_nan_are_open)
{
    struct reference *r = open_call("Torch.fft.rfft(f32(2,4)[nan 1 2 3 1 2 3 4])", false);
    for (size_t i = 0; i < r->n; i++)
        ck_assert_msg(isinf(r->kernel_bound[i]) == (i < r->n / 2), "%zu", i);
}
END_TEST

/* A^0 does not look at A. */
START_TEST(no_power_of_nan_is_one)
{
    struct reference *r = open_call("Torch.matrix_power(f32(2,2)[nan 1 1 inf], 0)", false);
    for (size_t i = 0; i < 4; i++) ck_assert_double_eq(r->hi[i], i % 3 == 0);
}
END_TEST

/* A kernel's determinant may come out as 0 or of the other sign where rounding makes the matrix singular. */
START_TEST(the_sign_of_a_determinant_near_0_is_open)
{
    struct reference *r = open_call("Torch.slogdet(f32(2,2)[1 3 0.3333333433674408 1])", false);
    ck_assert_double_ge(r->kernel_bound[0], 1);
    r = open_call("Torch.slogdet(f32(2,2)[1 3 0.5 1])", false);
    ck_assert_double_eq(r->hi[0], -1);
    ck_assert_double_eq(r->kernel_bound[0], 0);
}
END_TEST

/* Logarithms of determinants that are no doubles, in kernels whose pivots are. */
START_TEST(logarithms_of_determinants_do_not_overflow)
{
    const double log10 = log(10);
    static const struct {
        const char *call;
        double tens;
    } calls[] = {
        { "Torch.logdet(f64(2,2)[1e200 0 0 1e200])", 400 },
        { "Torch.logdet(f64(2,2)[1e-200 0 0 1e-200])", -400 },
        { "Torch.logdet(f32(2,2)[1e30 0 0 1e30])", 60 },
        { "Torch.logdet(c64(2,2)[1e30 0 0 0 0 0 1e30 0])", 60 },
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        struct reference *r = open_call(calls[i].call, false);
        ck_assert_double_eq_tol(r->hi[0], calls[i].tens * log10, 1e-4);
        ck_assert_msg(r->kernel_bound[0] < 1e-2, "%s: %g", calls[i].call, r->kernel_bound[0]);
    }
}
END_TEST

static void teardown(void) { arena_release(&arena); }

int main(void)
{
    Suite *suite = suite_create("endless");
    TCase *tcase = tcase_create("endless");
    tcase_add_checked_fixture(tcase, NULL, teardown);
    tcase_add_loop_test(tcase, what_kernels_choose_is_open, 0,
                        sizeof open_elements / sizeof *open_elements);
    tcase_add_test(tcase, infinite_means_are_open);
    tcase_add_test(tcase, transforms_of_nan_are_open);
    tcase_add_test(tcase, no_power_of_nan_is_one);
    tcase_add_test(tcase, the_slope_of_acosh_is_even);
    tcase_add_test(tcase, places_among_infinities_have_any_slope);
    tcase_add_test(tcase, hardswish_is_flat_at_minus_infinity);
    tcase_add_test(tcase, the_sign_of_a_determinant_near_0_is_open);
    tcase_add_test(tcase, logarithms_of_determinants_do_not_overflow);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
