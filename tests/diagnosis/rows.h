/* Rows for tests of the diagnosis: a call, what a faulty kernel returned for it, and what that looks like. */
#ifndef PROBE_TESTS_DIAGNOSIS_ROWS_H
#define PROBE_TESTS_DIAGNOSIS_ROWS_H

#include <check.h>
#include <math.h>

#include "bench/bench.h"
#include "diagnosis/diagnosis.h"
#include "support/cases.h"

static struct arena arena; /* of all tests, given back at their end */

/* Random numbers from -1 to 1, the same in every run. */
static inline double random_number(void)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)(state >> 11) * 0x1p-52 - 1;
}

static inline struct value random_value(enum dtype dtype, int rank, const int64_t *shape)
{
    static double elements[1 << 16];
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++) elements[i] = random_number();
    return tensor_value(&arena, dtype, true, rank, shape, elements,
                        sizeof elements / sizeof *elements);
}

/* The elements of a tensor value as doubles. */
static inline double *elements_of(const struct value *value)
{
    size_t n = tensor_elements(value->tensor.tensor);
    double *x = arena_allocate_array(&arena, n, sizeof *x);
    dtype_to_double(x, value->tensor.tensor->data, value->tensor.tensor->dtype, n);
    return x;
}

/* What result 0 of an evaluated call looks like when a kernel returns `got`, rounded to the dtype. */
static inline struct findings diagnosed_result(struct bench *bench, bool backward,
                                               const struct reference *want, const double *got)
{
    struct tensor returned;
    struct findings findings;
    ck_assert_int_eq(tensor_create(&returned, &arena, want->dtype, want->rank, want->shape).code,
                     0);
    dtype_from_double(returned.data, want->dtype, got, tensor_elements(&returned));
    const struct diagnosis_request request = { .bench = bench,
                                               .backward = backward,
                                               .want = want,
                                               .got = &returned,
                                               .budget_s = 1,
                                               .memory_bytes = 64 << 20 };
    struct status status = diagnose(&findings, &arena, &request);
    ck_assert_msg(!status.code, "%s", status.text);
    return findings;
}

static inline struct bench *evaluated(const struct api_case *c)
{
    struct bench *bench;
    struct status status = bench_open(&bench, c, &arena, BENCH_REFERENCE);
    ck_assert_msg(!status.code, "%s", status.text);
    ck_assert_int_eq(bench_model(bench).code, 0);
    return bench;
}

/* Output 0 of `c`, */
static inline struct findings diagnosed(const struct api_case *c, const double *got)
{
    struct bench *bench = evaluated(c);
    return diagnosed_result(bench, false, &bench_output(bench, 0)->reference, got);
}

/* or the gradient of its first tensor. */
static inline struct findings diagnosed_gradient(const struct api_case *c, const double *got)
{
    struct bench *bench = evaluated(c);
    struct bench_output *gradients;
    size_t count;
    struct status status = bench_backward(&gradients, &count, bench, &c->cotangents);
    ck_assert_msg(!status.code && count, "%s", status.text);
    return diagnosed_result(bench, true, &gradients[0].reference, got);
}

/* The first finding is of this class and explains at least this share. */
static inline void assert_looks_like(const struct findings *findings, const char *class,
                                     double share)
{
    ck_assert(findings->sought);
    ck_assert_msg(findings->count > 0, "unknown, not %s", class);
    ck_assert_msg(!strcmp(findings->items[0].class, class), "%s (%s), not %s",
                  findings->items[0].class, findings->items[0].sentence, class);
    ck_assert_msg(findings->items[0].explains >= share, "%s explains %g",
                  findings->items[0].sentence, findings->items[0].explains);
}

static inline int run_tests(const char *name, const TTest *const *tests, size_t count)
{
    Suite *suite = suite_create(name);
    TCase *all = tcase_create(name);
    for (size_t i = 0; i < count; i++) tcase_add_test(all, tests[i]);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    arena_release(&arena);
    return failed != 0;
}

#endif
