/* What kernels of Fourier transforms make of numbers that repeat: equal errors, which add up. Against a kernel in float that goes through one
 * dimension after the other. */
#include <check.h>
#include <complex.h>
#include <math.h>

#include "bench/bench.h"
#include "bench/evaluation.h"
#include "bench/opened_call.h"
#include "support/suite.h"

enum { A = 10, B = 12, C = 11, N = A * B * C };

/* Lines of n elements `stride` apart, transformed by their definition in float. */
static void transform(float complex *x, int n, int stride)
{
    float complex line[B];
    for (int i = 0; i < N; i++) {
        if (i / stride % n) continue;
        for (int k = 0; k < n; k++) {
            line[k] = 0;
            for (int j = 0; j < n; j++) {
                double angle = -2 * acos(-1) * (j * k % n) / n;
                float c = (float)cos(angle), s = (float)sin(angle);
                float complex y = x[i + j * stride];
                line[k] += (crealf(y) * c - cimagf(y) * s) + (crealf(y) * s + cimagf(y) * c) * I;
            }
        }
        for (int k = 0; k < n; k++) x[i + k * stride] = line[k];
    }
}

static void transform_in_float(float complex *x)
{
    transform(x, C, 1);
    transform(x, B, C);
    transform(x, A, B * C);
}

/* Every element, parts of complex ones if there are twice as many, within the model, and none further off than five of its root mean squares. */
static void check_errors(const struct reference *r, const float complex *got)
{
    size_t parts = r->n / N;
    ck_assert(parts == 1 || parts == 2);
    for (size_t i = 0; i < r->n; i++) {
        float complex y = got[i / parts];
        double x = i % parts ? cimagf(y) : crealf(y), off = fabs(x - r->hi[i]);
        ck_assert_double_le(off, r->kernel_bound[i] + 0x1p-24 * fabs(x));
        ck_assert_msg(off <= 5 * r->kernel_rms[i] + 0x1p-24 * fabs(x),
                      "element %zu is off by %g root mean squares", i, off / r->kernel_rms[i]);
    }
}

/* In units of its last place, what the model expects of the first element. */
static double expected(const struct reference *r)
{
    return r->kernel_rms[0] / fabs(r->hi[0]) * 0x1p24;
}

static const char *const constants[] = { "Torch.fft.fftn(f32(10,12,11)[0.7..0.7])",
                                         "Torch.fft.fftn(f32(10,12,11)[-3.3..-3.3])",
                                         "Torch.fft.fftn(f32(10,12,11)[0.1..0.1])",
                                         "Torch.fft.fftn(f32(10,12,11)[1.9..1.9])" };

START_TEST(errors_of_equal_numbers_add_up)
{
    struct arena arena = { 0 };
    struct sample sample;
    float complex got[N];
    struct bench *bench = opened(&sample, constants[_i], &arena);
    ck_assert_int_eq(bench_model(bench).code, 0);
    const double *x = argument(&sample, 0, &arena);
    for (int i = 0; i < N; i++) got[i] = (float)x[i];
    transform_in_float(got);
    const struct reference *r = &bench_output(bench, 0)->reference;
    check_errors(r, got);
    ck_assert_double_lt(expected(r), 5);
    arena_release(&arena);
}
END_TEST

/* The gradient of real numbers: the real parts of the transform of the cotangents. */
START_TEST(errors_of_equal_cotangents_add_up)
{
    static const float numbers[] = { 0.7F, -3.3F, 0.1F, 1.9F };
    struct arena arena = { 0 };
    struct sample sample;
    float complex got[N];
    struct bench_output *gradients;
    size_t count;
    struct bench *bench = opened(&sample, "Torch.fft.fftn(f32(10,12,11))", &arena);
    struct tensor *given = arena_allocate(&arena, sizeof *given);
    ck_assert_int_eq(tensor_create(given, &arena, DT_C64, 3, (int64_t[]){ A, B, C }).code, 0);
    for (int i = 0; i < N; i++) ((float complex *)given->data)[i] = got[i] = numbers[_i];
    struct value item = { .kind = VALUE_TENSOR, .tensor = { .tensor = given } },
                 cotangents = { .kind = VALUE_LIST, .list = { .items = &item, .count = 1 } };
    ck_assert_int_eq(bench_model(bench).code, 0);
    ck_assert_int_eq(bench_backward(&gradients, &count, bench, &cotangents).code, 0);
    transform_in_float(got);
    check_errors(&gradients[0].reference, got);
    ck_assert_double_lt(expected(&gradients[0].reference), 5);
    arena_release(&arena);
}
END_TEST

/* Rows over and over: all errors of a column of the first element are equal, those of the others cancel. */
START_TEST(errors_of_equal_lines_add_up)
{
    struct arena arena = { 0 };
    struct sample sample;
    float complex got[N];
    struct bench *bench;
    ck_assert_ptr_null(sample_parse(&sample, "Torch.fft.fftn(f32(10,12,11))", &arena));
    float *x = sample.c.args.list.items[0].tensor.tensor->data;
    for (int i = 0; i < N; i++) got[i] = x[i] = x[i % C];
    ck_assert_int_eq(bench_open(&bench, &sample.c, &arena, BENCH_REFERENCE).code, 0);
    ck_assert_int_eq(bench_model(bench).code, 0);
    transform_in_float(got);
    check_errors(&bench_output(bench, 0)->reference, got);
    arena_release(&arena);
}
END_TEST

/* Of numbers that do not repeat, the first element is no other than the rest. */
START_TEST(other_errors_do_not)
{
    struct arena arena = { 0 };
    struct sample sample;
    struct bench *bench = opened(&sample, "Torch.fft.fftn(f32(10,12,11))", &arena);
    ck_assert_int_eq(bench_model(bench).code, 0);
    const struct reference *r = &bench_output(bench, 0)->reference;
    ck_assert_double_lt(r->kernel_rms[0], 1.5 * r->kernel_rms[2]);
    arena_release(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fourier errors");
    TCase *tests = tcase_create("fourier errors");
    tcase_add_loop_test(tests, errors_of_equal_numbers_add_up, 0, 4);
    tcase_add_loop_test(tests, errors_of_equal_cotangents_add_up, 0, 4);
    tcase_add_test(tests, errors_of_equal_lines_add_up);
    tcase_add_test(tests, other_errors_do_not);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
