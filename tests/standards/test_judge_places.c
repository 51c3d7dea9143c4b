/* Which elements count as off: by the bound of the kernel, by kind, by how far they are off. */
#include "standards/judge_places.h"
#include "standards/metric_data.h"
#include "support/suite.h"

enum { ROWS = 64, COLUMNS = 32, N = ROWS * COLUMNS };
static const int64_t shape[] = { ROWS, COLUMNS };
static struct arena arena;

/* 1 to 2 with an honest error of up to half a unit of float32 everywhere. */
static void fill(double *want, double *got)
{
    for (size_t i = 0; i < N; i++) {
        want[i] = 1 + (double)(i * 7919 % N) / N;
        got[i] = want[i];
    }
}

static const char *places_of(enum verdict verdict, enum dtype dtype, const double *want,
                             const double *got, double bound)
{
    struct judged judged = { .verdict = verdict };
    struct reference *reference = reference_of(&arena, dtype, 2, shape, want, N);
    if (bound > 0) {
        reference->kernel_bound = arena_allocate_array(&arena, N, sizeof(double));
        for (size_t i = 0; i < N; i++) reference->kernel_bound[i] = bound;
    }
    ck_assert_int_eq(
        judge_places(&judged, &arena, reference, tensor_of(&arena, dtype, 2, shape, got)).code,
        STATUS_OK);
    return judged.places ? judged.places : "";
}

/* Rows 10 and 11 are off by little, the rest within the bound: the bound tells them apart. */
START_TEST(beyond_the_bound)
{
    double want[N], got[N];
    fill(want, got);
    for (size_t i = 0; i < N; i++) got[i] += i / COLUMNS / 2 == 5 ? 2.5e-5 : i % 3 * 0.9e-5;
    ck_assert_str_eq(places_of(VERDICT_ERROR, DT_F32, want, got, 2e-5), "all in rows 10-11");
    ck_assert_str_eq(places_of(VERDICT_WARNING, DT_F32, want, got, 2e-5), "all in rows 10-11");
    ck_assert_str_eq(places_of(VERDICT_PASS, DT_F32, want, got, 2e-5), "");
    ck_assert_str_eq(places_of(VERDICT_SKIP, DT_F32, want, got, 2e-5), "");
    ck_assert_str_eq(places_of(VERDICT_ERROR, DT_F32, want, got, 1e-4), "");
    /* Without a bound the largest errors are everywhere. */
    ck_assert_str_eq(places_of(VERDICT_ERROR, DT_F32, want, got, 0), "");
}
END_TEST

/* Errors that stand out by more than four need no bound. */
START_TEST(far_off)
{
    double want[N], got[N];
    fill(want, got);
    for (size_t i = 0; i < N; i++) got[i] += i % COLUMNS % 8 == 5 ? 1e-3 : 1e-5;
    ck_assert_str_eq(places_of(VERDICT_ERROR, DT_F32, want, got, 0),
                     "all in every 8th column from 5 on");
}
END_TEST

/* A row of large values has large errors by right: it is not where the fault is. */
START_TEST(large_values_are_no_place)
{
    double want[N], got[N];
    fill(want, got);
    for (size_t i = 0; i < N; i++) {
        if (i / COLUMNS == 9) want[i] *= 1e4;
        got[i] = want[i] * (1 + 1e-4 * (double)(i * 7919 % 509) / 509);
    }
    ck_assert_str_eq(places_of(VERDICT_ERROR, DT_F32, want, got, 0), "");
    for (size_t i = 0; i < N; i++)
        if (i / COLUMNS == 9) got[i] = want[i] * (1 + 4e-3);
    ck_assert_str_eq(places_of(VERDICT_ERROR, DT_F32, want, got, 0), "all in row 9");
}
END_TEST

/* A NaN outweighs any number. */
START_TEST(wrong_kinds)
{
    double want[N], got[N];
    fill(want, got);
    for (size_t i = 0; i < N; i++) {
        got[i] += 0.1;
        if (i / COLUMNS == 3) got[i] = NAN;
        if (i / COLUMNS == 4) want[i] = got[i] = INFINITY;
        if (i / COLUMNS == 5) want[i] = got[i] = NAN;
    }
    ck_assert_str_eq(places_of(VERDICT_ERROR, DT_F32, want, got, 0), "all in row 3");
    /* Overflow is what the dtype has for a value beyond it. */
    fill(want, got);
    for (size_t i = 0; i < COLUMNS; i++) want[i] = 1e6, got[i] = INFINITY;
    for (size_t i = COLUMNS; i < 2 * COLUMNS; i++) got[i] = -INFINITY;
    ck_assert_str_eq(places_of(VERDICT_ERROR, DT_F16, want, got, 0), "all in row 1");
}
END_TEST

START_TEST(integers)
{
    double want[N], got[N];
    for (size_t i = 0; i < N; i++) want[i] = (double)i, got[i] = (double)(i + (i / COLUMNS >= 60));
    ck_assert_str_eq(places_of(VERDICT_ERROR, DT_I64, want, got, 0), "all in rows 60-63");
}
END_TEST

/* Either part of a complex number puts its element off, once. */
START_TEST(complex_numbers)
{
    static double want[2 * N], got[2 * N];
    struct judged judged = { .verdict = VERDICT_ERROR };
    for (size_t i = 0; i < 2 * N; i++) {
        want[i] = got[i] = 1;
        if (i / 2 / COLUMNS == 2) got[i] = 2;
        if (i / 2 == N - 1 && i % 2) got[i] = 2;
    }
    struct reference *reference = reference_of(&arena, DT_C64, 2, shape, want, 2 * N);
    ck_assert_int_eq(
        judge_places(&judged, &arena, reference, tensor_of(&arena, DT_C64, 2, shape, got)).code,
        STATUS_OK);
    ck_assert_ptr_nonnull(judged.places);
    ck_assert_str_eq(judged.places, "32 of 33 in row 2");
}
END_TEST

START_TEST(another_shape)
{
    double want[N], got[N];
    const int64_t other[] = { COLUMNS, ROWS };
    struct judged judged = { .verdict = VERDICT_ERROR };
    fill(want, got);
    for (size_t i = 0; i < COLUMNS; i++) got[i] = 9;
    struct reference *reference = reference_of(&arena, DT_F32, 2, shape, want, N);
    ck_assert_int_eq(
        judge_places(&judged, &arena, reference, tensor_of(&arena, DT_F32, 2, other, got)).code,
        STATUS_OK);
    ck_assert_ptr_null(judged.places);
}
END_TEST

static void close_arena(void) { arena_release(&arena); }

int main(void)
{
    Suite *suite = suite_create("judge places");
    TCase *tests = tcase_create("places");
    tcase_add_checked_fixture(tests, NULL, close_arena);
    tcase_add_test(tests, beyond_the_bound);
    tcase_add_test(tests, far_off);
    tcase_add_test(tests, large_values_are_no_place);
    tcase_add_test(tests, wrong_kinds);
    tcase_add_test(tests, integers);
    tcase_add_test(tests, complex_numbers);
    tcase_add_test(tests, another_shape);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
