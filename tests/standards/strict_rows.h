/* Rows of results of simulated kernels, and what the profile `strict` says of them. */
#ifndef PROBE_TESTS_STANDARDS_STRICT_ROWS_H
#define PROBE_TESTS_STANDARDS_STRICT_ROWS_H

#include "standards/error_model.h"
#include "standards/metric_data.h"
#include "support/random_numbers.h"
#include "support/suite.h"

struct rows { /* `count` results, each from `length` terms */
    size_t count, length;
    float *a, *b;
    double *want, *kernel_bound, *rms;
    float *got;
};

__attribute__((unused)) static void rows_create(struct rows *r, struct arena *arena, size_t count,
                                                size_t length)
{
    *r = (struct rows){ .count = count, .length = length };
    r->a = arena_allocate_array(arena, count * length, sizeof(float));
    r->b = arena_allocate_array(arena, count * length, sizeof(float));
    r->want = arena_allocate_array(arena, count * length, sizeof(double));
    r->kernel_bound = arena_allocate_array(arena, count * length, sizeof(double));
    r->rms = arena_allocate_array(arena, count * length, sizeof(double));
    r->got = arena_allocate_array(arena, count * length, sizeof(float));
}

enum data { DATA_NORMAL, DATA_POSITIVE, DATA_OFFSET, DATA_GRADED, DATA_HALF_ZERO, DATA_COUNT };

static struct profile *strict;
static struct arena arena;

__attribute__((unused)) static struct judged judge_matrix(const char *api, enum dtype dtype,
                                                          size_t rows, size_t n, double *want,
                                                          double *kernel_bound, double *rms,
                                                          const float *values)
{
    int64_t shape[2] = { (int64_t)rows, (int64_t)(n / rows) };
    struct api_case c = { .full_name = "Torch.x.0", .type = "Torch", .api = api };
    struct judge_request request = {
        .profile = strict, .c = &c, .bench_dtype = DT_F64, .input_dtype = dtype, .precision = 14
    };
    struct reference reference = { .dtype = dtype,
                                   .rank = 2,
                                   .shape = { shape[0], shape[1] },
                                   .n = n,
                                   .hi = want,
                                   .kernel_bound = kernel_bound,
                                   .kernel_rms = rms };
    struct wanted wanted = { .reference = &reference };
    struct value got = { .kind = VALUE_TENSOR };
    struct tensor tensor;
    struct judged judged;

    ck_assert_int_eq(tensor_create(&tensor, &arena, dtype, 2, shape).code, STATUS_OK);
    dtype_from_float(tensor.data, dtype, values, n);
    got.tensor.tensor = &tensor;
    ck_assert_int_eq(judge_output(&judged, &arena, &request, &wanted, &got).code, STATUS_OK);
    return judged;
}

/* One line of results. */
__attribute__((unused)) static struct judged judge_values(const char *api, enum dtype dtype,
                                                          size_t n, double *want,
                                                          double *kernel_bound, double *rms,
                                                          const float *values)
{
    return judge_matrix(api, dtype, 1, n, want, kernel_bound, rms, values);
}

static const enum dtype outputs[] = { DT_F32, DT_BF16, DT_F16 };

/* P(x > d) of a normal x with deviation s. */
__attribute__((unused)) static double beyond(double d, double s)
{
    return 0.5 * erfc(d / s * sqrt(0.5));
}

__attribute__((unused)) static void setup(void)
{
    ck_assert_int_eq(profile_load(&strict, "strict", NULL, FILES_CHECKED).code, STATUS_OK);
}

__attribute__((unused)) static void teardown(void)
{
    profile_release(strict);
    arena_release(&arena);
}

#endif
