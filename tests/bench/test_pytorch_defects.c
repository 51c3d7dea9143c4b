/* Public goldens in which PyTorch 1.13's float64 result is wrong: the true values, by MPFR from the
 * definition, agree with ours to 1e-15 and not with PyTorch's to 1e-11.
 *
 *   trigamma      PyTorch's series stops early (1e-10 off): gradients of digamma, polygamma(1)
 *   celu          the gradient multiplies by 1 / float32(alpha)
 *   hardsigmoid   the gradient multiplies by float32(1/6)
 *   nextafter_    the golden was computed on float64 copies of float32 tensors; the neighbour of a
 *                 float32 in its own dtype is 2^29 times as far
 */
#include <check.h>
#include <math.h>
#include <mpfr.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/golden.h"
#include "support/suite.h"

enum { PRECISION = 400 };

/* f(x) of the definition, rounded to double. */
typedef double definition(double x);

/* (digamma(x + h) - digamma(x - h)) / 2h with h = 2^-100: off by h^2/6 of a third derivative. */
static double trigamma(double x)
{
    mpfr_t high, low, step;
    mpfr_inits2(PRECISION, high, low, step, (mpfr_ptr)0);
    mpfr_set_ui_2exp(step, 1, -100, MPFR_RNDN);
    mpfr_set_d(high, x, MPFR_RNDN);
    mpfr_set_d(low, x, MPFR_RNDN);
    mpfr_add(high, high, step, MPFR_RNDN);
    mpfr_sub(low, low, step, MPFR_RNDN);
    mpfr_digamma(high, high, MPFR_RNDN);
    mpfr_digamma(low, low, MPFR_RNDN);
    mpfr_sub(high, high, low, MPFR_RNDN);
    mpfr_mul_2ui(high, high, 99, MPFR_RNDN);
    double y = mpfr_get_d(high, MPFR_RNDN);
    mpfr_clears(high, low, step, (mpfr_ptr)0);
    return y;
}

/* d/dx celu(x, 0.7) = exp(x / 0.7) for negative x. */
static double celu_slope(double x)
{
    mpfr_t y, alpha;
    mpfr_inits2(PRECISION, y, alpha, (mpfr_ptr)0);
    mpfr_set_d(y, x, MPFR_RNDN);
    mpfr_set_d(alpha, 0.7, MPFR_RNDN);
    mpfr_div(y, y, alpha, MPFR_RNDN);
    mpfr_exp(y, y, MPFR_RNDN);
    double slope = x > 0 ? 1 : mpfr_get_d(y, MPFR_RNDN);
    mpfr_clears(y, alpha, (mpfr_ptr)0);
    return slope;
}

static double hardsigmoid_slope(double x) { return fabs(x) < 3 ? 1.0 / 6 : 0; }

/* Find a record; its tensors live as long as the file is open. */
static struct golden_file *find(struct golden *golden, struct arena *arena, const char *api)
{
    struct golden_file *file = golden_open(PROBE_TEST_DATA "/goldens");
    ck_assert_ptr_nonnull(file);
    bool found = false;
    while (!found && golden_next(file, golden, arena)) found = !strcmp(golden->api, api);
    ck_assert_msg(found, "%s is not among the goldens", api);
    return file;
}

static double *doubles(const struct tensor *tensor, struct arena *arena)
{
    struct tensor dense;
    ck_assert_int_eq(tensor_densify(&dense, arena, tensor).code, 0);
    double *out = arena_allocate(arena, (tensor_elements(&dense) + 1) * sizeof *out);
    dtype_to_double(out, dense.data, dense.dtype, tensor_elements(&dense));
    return out;
}

/* `have` is right everywhere, `theirs` wrong somewhere. */
static void check_sides(const char *api, size_t n, const double *want, const double *have,
                        const double *theirs)
{
    bool differs = false;
    for (size_t i = 0; i < n; i++) {
        ck_assert_msg(fabs(have[i] - want[i]) <= 1e-15 * fabs(want[i]), "%s[%zu]: %.17g, not %.17g",
                      api, i, have[i], want[i]);
        differs = differs || fabs(theirs[i] - want[i]) > 1e-11 * fabs(want[i]);
    }
    ck_assert_msg(differs, "%s: PyTorch is right", api);
}

static const struct {
    const char *api;
    definition *slope;
    size_t argument;
} gradients[] = {
    { "Torch.digamma.0", trigamma, 0 },
    { "Torch.digamma.1", trigamma, 0 },
    { "Functional.celu.0", celu_slope, 0 },
    { "Functional.celu.1", celu_slope, 0 },
    { "Functional.hardsigmoid.1", hardsigmoid_slope, 0 },
};

START_TEST(gradient_is_the_definition)
{
    static struct golden golden;
    struct arena arena = { 0 };
    struct bench *bench;
    struct bench_output *ours;
    size_t count;
    struct golden_file *file = find(&golden, &arena, gradients[_i].api);
    ck_assert_int_eq(bench_open(&bench, &golden.c, &arena, BENCH_REFERENCE).code, 0);
    ck_assert_int_eq(bench_backward(&ours, &count, bench, &golden.c.cotangents).code, 0);
    const struct tensor *x = golden.c.args.list.items[gradients[_i].argument].tensor.tensor;
    double *input = doubles(x, &arena), *theirs = doubles(&golden.gradients[0].tensor, &arena);
    double *cotangent = doubles(golden.c.cotangents.list.items[0].tensor.tensor, &arena);
    for (size_t i = 0; i < tensor_elements(x); i++)
        input[i] = gradients[_i].slope(input[i]) * cotangent[i];
    check_sides(golden.api, tensor_elements(x), input, ours[0].reference.hi, theirs);
    golden_close(file);
    arena_release(&arena);
}
END_TEST

START_TEST(polygamma_of_order_one_is_trigamma)
{
    static struct golden golden;
    struct arena arena = { 0 };
    struct bench *bench;
    struct golden_file *file = find(&golden, &arena, "Torch.polygamma.0");
    ck_assert_int_eq(bench_open(&bench, &golden.c, &arena, BENCH_REFERENCE).code, 0);
    const struct tensor *x = golden.c.args.list.items[1].tensor.tensor;
    double *input = doubles(x, &arena), *theirs = doubles(&golden.outputs[0].tensor, &arena);
    for (size_t i = 0; i < tensor_elements(x); i++) input[i] = trigamma(input[i]);
    check_sides(golden.api, tensor_elements(x), input, bench_output(bench, 0)->reference.hi,
                theirs);
    golden_close(file);
    arena_release(&arena);
}
END_TEST

/* Ours is the float32 neighbour in the direction of `other`, PyTorch's golden the float64 one. */
START_TEST(neighbour_is_one_of_the_dtype)
{
    static struct golden golden;
    struct arena arena = { 0 };
    struct bench *bench;
    struct golden_file *file = find(&golden, &arena, "Tensor.nextafter_.0");
    ck_assert_int_eq(bench_open(&bench, &golden.c, &arena, BENCH_REFERENCE).code, 0);
    const struct tensor *x = golden.c.args.list.items[0].tensor.tensor;
    const struct tensor *toward = golden.c.args.list.items[1].tensor.tensor;
    double *a = doubles(x, &arena), *b = doubles(toward, &arena);
    double *theirs = doubles(&golden.outputs[0].tensor, &arena);
    size_t n = tensor_elements(x), columns = tensor_elements(toward);
    for (size_t i = 0; i < n; i++) {
        double other = b[i % columns];
        ck_assert_double_eq(bench_output(bench, 0)->reference.hi[i],
                            nextafterf((float)a[i], (float)other));
        ck_assert_double_eq(theirs[i], nextafter(a[i], other));
    }
    golden_close(file);
    arena_release(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pytorch_defects");
    TCase *tests = tcase_create("pytorch_defects");
    tcase_add_loop_test(tests, gradient_is_the_definition, 0,
                        (int)(sizeof gradients / sizeof *gradients));
    tcase_add_test(tests, polygamma_of_order_one_is_trigamma);
    tcase_add_test(tests, neighbour_is_one_of_the_dtype);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
