/* Dependence is seen, independent draws pass, and the limits are Bernstein's. */
#include "bench/arithmetic/independence.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/suite.h"

enum { ROWS = 40, ROW = 100, N = ROWS * ROW, SEEDS = 300 };

static uint64_t state;
static double u[N], w[N];
static char reason[300];

static double uniform(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)(state * 2685821657736338717u >> 11) * 0x1p-53;
}

static void draw(uint64_t seed)
{
    state = seed * 7919 + 1;
    for (int i = 0; i < 20; i++) (void)uniform();
    for (size_t i = 0; i < N; i++) u[i] = uniform();
}

/* Standardized uniform numbers, or choices with the chance p. */
static bool independent(double p)
{
    double deviation = sqrt(p * (1 - p)), most = fmax(p, 1 - p) / deviation;
    for (size_t i = 0; i < N; i++)
        w[i] = p > 0 ? ((u[i] < p) - p) / deviation : sqrt(12) * (u[i] - 0.5);
    return draws_are_independent(&(struct draws){ w, N, ROW, p > 0 ? most : sqrt(3) }, reason,
                                 sizeof reason);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool neighbours(void)
{
    memcpy(w, u, sizeof w);
    qsort(w, N, sizeof *w, by_value);
    return neighbours_differ(u, w, N, reason, sizeof reason);
}

/* Rows without a column and columns without a row: nothing to say against them. */
START_TEST(no_draws_are_independent)
{
    ck_assert(draws_are_independent(&(struct draws){ w, 0, 3, sqrt(3) }, reason, sizeof reason));
}
END_TEST

START_TEST(independent_draws_pass)
{
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        draw(seed);
        for (int k = 0; k < 3; k++)
            ck_assert_msg(independent((double[]){ 0, 0.1, 0.5 }[k]), "seed %d: %s", (int)seed,
                          reason);
        ck_assert_msg(neighbours() && moments_hold(u, N, reason, sizeof reason), "%s", reason);
        for (size_t i = 0; i < N; i++) u[i] = floor(5 * u[i]); /* few values */
        ck_assert_msg(neighbours(), "%s", reason);
    }
}
END_TEST

static void same_row_everywhere(void)
{
    for (size_t i = ROW; i < N; i++) u[i] = u[i % ROW];
}
static void repeats_after_1024(void)
{
    for (size_t i = 1024; i < N; i++) u[i] = u[i - 1024];
}
static void second_half_repeats(void) { memcpy(u + N / 2, u, N / 2 * sizeof *u); }
static void every_tenth(void)
{
    for (size_t i = 0; i < N; i++) u[i] = i % 10 ? 0.1 + 0.9 * u[i] : 0.1 * u[i];
}
static void equal_pairs(void)
{
    for (size_t i = 1; i < N; i += 2) u[i] = u[i - 1];
}
static void sorted(void) { qsort(u, N, sizeof *u, by_value); }
static void counter(void)
{
    for (size_t i = 0; i < N; i++) u[i] = fmod(0.5 + (double)i * 0.6180339887498949, 1);
}
static void column_never_dropped(void)
{
    for (size_t i = 3; i < N; i += ROW) u[i] = 0.99;
}
static void row_not_filled(void) { memset(u + N - ROW, 0, ROW * sizeof *u); }

/* Which see it: correlations of uniform numbers, of choices at 0.1 and 0.5. */
static const struct {
    const char *name;
    void (*damage)(void);
    bool seen[3];
} flaws[] = {
    { "the same row for every sample", same_row_everywhere, { true, true, true } },
    { "repeats after 1024", repeats_after_1024, { true, true, true } },
    { "the second half repeats the first", second_half_repeats, { true, true, true } },
    { "every tenth", every_tenth, { true, true, false } },
    { "equal pairs", equal_pairs, { true, true, true } },
    { "sorted", sorted, { true, true, true } },
    { "a counter", counter, { true, true, true } },
    { "a column that is never dropped", column_never_dropped, { true, false, false } },
    { "a row that is not filled", row_not_filled, { true, true, true } },
};

START_TEST(dependent_draws_are_seen)
{
    for (uint64_t seed = 0; seed < 20; seed++)
        for (int k = 0; k < 3; k++) {
            if (!flaws[_i].seen[k]) continue;
            draw(seed);
            flaws[_i].damage();
            ck_assert_msg(!independent((double[]){ 0, 0.1, 0.5 }[k]), "%s, law %d", flaws[_i].name,
                          k);
        }
}
END_TEST

START_TEST(equal_neighbours_are_seen)
{
    draw(1);
    equal_pairs();
    ck_assert(!neighbours());
    draw(1);
    row_not_filled();
    ck_assert(!neighbours());
    draw(1);
    for (size_t i = 0; i < N; i++) u[i] = (double)(i % 2); /* too few */
    ck_assert(!neighbours());
}
END_TEST

/* A deviation 5 % too large and a mean off by 0.1 in a uniform number's distribution. */
START_TEST(moments_are_seen)
{
    for (int k = 0; k < 2; k++) {
        draw(2);
        for (size_t i = 0; i < N; i++) u[i] = k ? fmin(u[i] * 1.1, 1) : 0.5 + 0.8 * (u[i] - 0.5);
        ck_assert(!moments_hold(u, N, reason, sizeof reason));
    }
}
END_TEST

/* exp(-z^2 / (2 + 2 m z / (3 sqrt n))) = 1e-10 / 2 sums, and a mean just within and just past. */
START_TEST(the_limit_is_bernsteins)
{
    for (double n = 10; n < 1e8; n *= 7)
        for (double most = 1; most < 100; most *= 5) {
            double z = independence_limit(n, most, 12);
            ck_assert_double_eq_tol(-z * z / (2 + 2 * most * z / (3 * sqrt(n))), log(0.5e-10 / 12),
                                    1e-9);
        }
    for (int past = 0; past < 2; past++) {
        double limit = independence_limit(ROW, sqrt(3), ROWS) * (past ? 1.001 : 0.999);
        state = 99;
        for (size_t i = 0; i < N; i++) w[i] = uniform() < 0.5 ? -1 : 1;
        double sum = 0;
        for (size_t i = 0; i < ROW; i++) sum += w[i];
        for (size_t i = 0; i < ROW; i++) w[i] += (limit * sqrt(ROW) - sum) / ROW;
        ck_assert_int_eq(
            draws_are_independent(&(struct draws){ w, N, ROW, sqrt(3) }, reason, sizeof reason),
            !past);
    }
}
END_TEST

START_TEST(few_draws_say_nothing)
{
    for (size_t n = 0; n <= 16; n++)
        ck_assert(draws_are_independent(&(struct draws){ w, n, 1, 2 }, reason, sizeof reason));
    ck_assert(neighbours_differ(u, u, 1, reason, sizeof reason));
    ck_assert(moments_hold(u, 0, reason, sizeof reason));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("independence");
    TCase *tcase = tcase_create("independence");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, no_draws_are_independent);
    tcase_add_test(tcase, independent_draws_pass);
    tcase_add_loop_test(tcase, dependent_draws_are_seen, 0, sizeof flaws / sizeof *flaws);
    tcase_add_test(tcase, equal_neighbours_are_seen);
    tcase_add_test(tcase, moments_are_seen);
    tcase_add_test(tcase, the_limit_is_bernsteins);
    tcase_add_test(tcase, few_draws_say_nothing);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
