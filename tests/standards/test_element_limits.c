/* Which elements are wrong, from their definition: |got - want| over half a unit in the last place, the
 * bound of the reference and what the kernel may be off by. */
#include <check.h>
#include <math.h>

#include "standards/element_limits.h"
#include "support/cases.h"
#include "support/suite.h"

enum { N = 6 };

static struct arena arena;
static struct element_limits limits;

static void measure(const double *got, double *want, double *kernel_bound)
{
    static const int64_t shape[] = { N };
    static double zero[N];
    struct value value = tensor_value(&arena, DT_F32, false, 1, shape, got, N);
    struct reference reference = { .dtype = DT_F32,
                                   .rank = 1,
                                   .shape = { N },
                                   .n = N,
                                   .hi = want,
                                   .error = zero,
                                   .kernel_bound = kernel_bound };
    ck_assert(!element_limits_measure(&limits, &arena, value.tensor.tensor, &reference).code);
}

/* At 1 half a unit of float32 is 2^-24. */
START_TEST(beyond_the_model_is_wrong)
{
    double want[N] = { 1, 1, 1, 1, INFINITY, NAN }, bound[N] = { 0x1p-20, 0x1p-20, 0, 0, 0, 0 };
    const double got[N] = { 1 + 0x1p-20, 1 + 0x1p-19, 1, 1 + 0x1p-23, INFINITY, NAN };
    measure(got, want, bound);
    ck_assert(limits.allowed[0] == 0x1p-20 + 0x1p-24);
    ck_assert(limits.scale == 1);
    ck_assert_uint_eq(limits.wrong, 2);
    ck_assert_uint_eq(limits.first, 1);
    ck_assert_uint_eq(limits.worst, 3); /* twice what is allowed; element 1 less than that */
    arena_reset(&arena);
}
END_TEST

/* Without a model the worst element is at twice its limit, here 8 units from 1. */
START_TEST(without_a_model_the_worst_is_wrong)
{
    double want[N] = { 1, 1, 1, 1, 1, 1 };
    const double got[N] = { 1, 1 + 0x1p-23, 1 + 0x1p-21, 1 + 0x1p-20, 1, 1 };
    measure(got, want, NULL);
    ck_assert(limits.allowed[0] == 0x1p-21);
    ck_assert_uint_eq(limits.wrong, 1);
    ck_assert_uint_eq(limits.first, 3);
    arena_reset(&arena);
}
END_TEST

/* A kind of value that is not the reference's is wrong whatever is allowed. */
START_TEST(other_kinds_are_wrong)
{
    double want[N] = { 1, 1, INFINITY, NAN, 1, 1 }, bound[N] = { 9, 9, 9, 9, 9, 9 };
    const double got[N] = { 1, NAN, -INFINITY, 0, INFINITY, 1 };
    measure(got, want, bound);
    ck_assert_uint_eq(limits.wrong, 4);
    ck_assert_uint_eq(limits.first, 1);
    arena_reset(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("element_limits");
    TCase *tests = tcase_create("elements");
    tcase_add_test(tests, beyond_the_model_is_wrong);
    tcase_add_test(tests, without_a_model_the_worst_is_wrong);
    tcase_add_test(tests, other_kinds_are_wrong);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
