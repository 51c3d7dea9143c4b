/* Blocks of elements that are measured at once, against the same elements one by one. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "standards/error_model.h"
#include "support/random_numbers.h"
#include "support/suite.h"

enum { N = 1200 };

static struct arena arena;
static float got[N];
static double hi[N], zero[N], bound[N], rms[N], error[N];

/* A number of any size, now and then something special. */
static double any_value(void)
{
    static const double special[] = { 0,       -0.0,     INFINITY, -INFINITY, NAN,
                                      FLT_MAX, 0x1p-149, -FLT_MIN, 1e300 };
    if (uniform() < 0.002) return special[next_random() % (sizeof special / sizeof *special)];
    return ldexp(uniform() - 0.5, (int)(next_random() % 40) - 20 - (uniform() < 0.02 ? 130 : 0));
}

/* Halfway between two numbers, or a power of two and what is half a unit below it. */
static void tie(size_t i)
{
    float one = (float)hi[i], next = nextafterf(one, INFINITY);
    if (!isfinite(one) || !isfinite(next)) return;
    int exponent;
    if (uniform() < 0.2) one = copysignf(ldexpf(1, (frexpf(one, &exponent), exponent)), one);
    if (uniform() < 0.2) next = nextafterf(one, 0);
    hi[i] = uniform() < 0.1 ? one : ((double)one + next) / 2;
    got[i] = uniform() < 0.5 ? one : next;
}

/* Errors of up to `size` bounds, or roundings of a model that is exact; the bounds of a block are of one kind: none, tiny, some units, infinite. */
static void draw(double size, enum reference_state state_of, bool own_bounds,
                 struct reference *want)
{
    bool exact = uniform() < 0.2;
    for (size_t i = 0; i < N; i++) {
        double unit = 0x1p-24 * fabs(hi[i] = any_value());
        double kind = uniform();
        bound[i] = kind < 0.02    ? 0
                   : kind < 0.03  ? 1e-300
                   : kind < 0.032 ? INFINITY
                                  : unit * 8 * uniform();
        rms[i] = bound[i] * (uniform() < 0.01 ? 1 : uniform());
        error[i] =
            own_bounds && isfinite(hi[i]) ? unit * uniform() * (uniform() < 0.05 ? 4 : 0x1p-9) : 0;
        double reach = isfinite(bound[i]) ? bound[i] + error[i] + unit / 2 : unit;
        got[i] = (float)(hi[i] + size * (2 * uniform() - 1) * reach);
        if (uniform() < 0.0005) got[i] = (float)any_value();
        if (uniform() < 0.02) tie(i);
        else if (exact) got[i] = (float)hi[i];
        if (exact) bound[i] = rms[i] = 0;
    }
    *want = (struct reference){ .dtype = DT_F32,
                                .rank = 2,
                                .shape = { N / 40, 40 },
                                .n = N,
                                .hi = hi,
                                .error = own_bounds ? error : NULL,
                                .relative = own_bounds ? 0 : 0x1p-50,
                                .state = state_of,
                                .kernel_bound = bound,
                                .kernel_rms = rms };
}

static struct model_findings measure(struct reference *want)
{
    static const int64_t shape[2] = { N / 40, 40 };
    const struct model_fallback fallback = { 64, 64 };
    struct model_findings findings;
    struct tensor tensor;
    tensor_wrap(&tensor, got, DT_F32, 2, shape);
    ck_assert_int_eq(error_model_measure(&findings, &arena, &tensor, want, &fallback).code,
                     STATUS_OK);
    return findings;
}

/* The members one by one: what lies between them has no value. */
static void ck_assert_same(const struct model_findings *a, const struct model_findings *b)
{
    ck_assert_uint_eq(a->beyond, b->beyond);
    ck_assert_uint_eq(a->kinds, b->kinds);
    ck_assert_uint_eq(a->worst.index, b->worst.index);
    ck_assert(!memcmp(&a->worst.quotient, &b->worst.quotient, sizeof(double)));
    ck_assert_uint_eq(a->statistics.elements, b->statistics.elements);
    ck_assert_double_eq(a->statistics.independent, b->statistics.independent);
    ck_assert_double_eq_tol(a->statistics.rms, b->statistics.rms,
                            1e-12 * b->statistics.rms + 1e-300);
    ck_assert_double_eq_tol(a->statistics.bias, b->statistics.bias,
                            1e-12 * b->statistics.rms + 1e-300);
    ck_assert(a->largest == b->largest);
    ck_assert_uint_eq(a->largest_index, b->largest_index);
    ck_assert(a->lines.quotient == b->lines.quotient);
    ck_assert_uint_eq(a->lines.line, b->lines.line);
}

/* A reference with second parts, all 0, is measured element by element. Blocks give the same, but for the order of sums,
 * whatever is in them. */
START_TEST(blocks_are_measured_as_their_elements)
{
    static const double sizes[] = { 0.2, 0.9, 1, 1.02, 3 };
    static const enum reference_state states[] = { REFERENCE_CERTIFIED, REFERENCE_BOUNDED };
    unsigned beyond = 0;
    state = 20261127;
    for (int turn = 0; turn < 3000; turn++) {
        struct reference want;
        draw(sizes[turn % 5], states[turn / 5 % 2], turn / 10 % 2, &want);
        struct model_findings by_blocks = measure(&want);
        want.lo = zero;
        struct model_findings by_elements = measure(&want);
        ck_assert_same(&by_blocks, &by_elements);
        beyond += by_elements.beyond > 0;
        arena_reset(&arena);
    }
    ck_assert_uint_ge(beyond, 300);
}
END_TEST

static size_t refined;

static struct status note_refined(struct reference *reference, size_t count,
                                  const size_t *components, double wanted_ulp)
{
    (void)reference, (void)components, (void)wanted_ulp;
    refined += count;
    return status_ok();
}

static struct reference refinable(void)
{
    return (struct reference){ .dtype = DT_F32,
                               .rank = 2,
                               .shape = { N / 40, 40 },
                               .n = N,
                               .hi = hi,
                               .error = error,
                               .state = REFERENCE_BOUNDED,
                               .kernel_bound = bound,
                               .kernel_rms = rms,
                               .refine = note_refined };
}

/* Elements that are within only for the reference's own bound are refined, also when all of a block are within. */
START_TEST(what_rests_on_the_reference_is_refined)
{
    for (size_t i = 0; i < N; i++) {
        hi[i] = 1 + (double)i / N;
        bound[i] = 0x1p-22;
        rms[i] = 0x1p-24;
        error[i] = 0x1p-21;
        got[i] = (float)(hi[i] + (i % 100 ? 0 : 0x1.8p-21));
    }
    struct reference want = refinable();
    refined = 0;
    ck_assert_uint_eq(measure(&want).beyond, 0);
    ck_assert_uint_eq(refined, N / 100);
    refined = 0;
    want.state = REFERENCE_CERTIFIED;
    (void)measure(&want);
    ck_assert_uint_eq(refined, 0);
}
END_TEST

/* An element of which the reference says nothing yet is refined before a NaN passes; one of which the model says nothing is not. */
START_TEST(what_the_reference_leaves_open_is_refined)
{
    for (size_t i = 0; i < N; i++) {
        hi[i] = 1;
        bound[i] = i % 100 ? INFINITY : 0x1p-22;
        rms[i] = 0x1p-24;
        error[i] = INFINITY;
        got[i] = NAN;
    }
    struct reference want = refinable();
    refined = 0;
    (void)measure(&want);
    ck_assert_uint_eq(refined, N / 100);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("error_model");
    TCase *tests = tcase_create("blocks");
    tcase_add_test(tests, blocks_are_measured_as_their_elements);
    tcase_add_test(tests, what_rests_on_the_reference_is_refined);
    tcase_add_test(tests, what_the_reference_leaves_open_is_refined);
    tcase_set_timeout(tests, 120);
    suite_add_tcase(suite, tests);
    int failed = suite_run(suite);
    arena_release(&arena);
    return failed;
}
