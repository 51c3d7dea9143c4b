/* The order of the last calls: each is taken once, small ones in order, and what would end last begins in time.
 * Times of whole runs are simulated: threads take calls as they become free. */
#include "runner/last_calls.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "support/suite.h"

static struct last_calls calls;

/* Seconds until all are done, when estimates are exact; order[i] is the i-th call that was taken. */
static double simulate(size_t *order, const double *seconds, size_t count, size_t threads)
{
    double free_s[64] = { 0 }, end_s = 0;
    last_calls_open(&calls, seconds, count, threads);
    for (size_t i = 0; i < count; i++) {
        size_t first = 0;
        for (size_t t = 1; t < threads; t++)
            if (free_s[t] < free_s[first]) first = t;
        ck_assert(last_calls_left(&calls));
        order[i] = last_calls_take(&calls);
        ck_assert_uint_lt(order[i], count);
        free_s[first] += seconds[order[i]];
        end_s = fmax(end_s, free_s[first]);
    }
    ck_assert(!last_calls_left(&calls));
    return end_s;
}

START_TEST(equal_calls_stay_in_order)
{
    double seconds[LAST_CALLS];
    size_t order[LAST_CALLS];
    for (size_t i = 0; i < LAST_CALLS; i++) seconds[i] = _i;
    (void)simulate(order, seconds, LAST_CALLS, 4);
    for (size_t i = 0; i < LAST_CALLS; i++) ck_assert_uint_eq(order[i], i);
}
END_TEST

/* 100 calls of a second and then one of 40: in order it would be alone for 40 seconds. */
START_TEST(a_large_call_does_not_begin_last)
{
    double seconds[101];
    size_t order[101];
    for (size_t i = 0; i < 100; i++) seconds[i] = 1;
    seconds[100] = 40;
    double end_s = simulate(order, seconds, 101, 2);
    ck_assert_double_le(end_s, 71); /* half of all, and half of a small call */
    ck_assert_uint_eq(order[0], 100);
}
END_TEST

/* What is small beside the rest of the run waits for its turn. */
START_TEST(early_calls_stay_in_order)
{
    double seconds[LAST_CALLS];
    size_t order[LAST_CALLS];
    for (size_t i = 0; i < LAST_CALLS; i++) seconds[i] = i % 7 ? 1 : 2;
    (void)simulate(order, seconds, LAST_CALLS, 2);
    for (size_t i = 0; i < LAST_CALLS - 16; i++) ck_assert_uint_eq(order[i], i);
}
END_TEST

static uint64_t next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

/* Each call once, and an end that is late by a third of the least possible at most. */
START_TEST(every_call_once_and_in_time)
{
    double seconds[LAST_CALLS];
    size_t order[LAST_CALLS], threads = 1 + (size_t)_i % 9;
    uint64_t state = 88172645463325252u + (uint64_t)_i;
    size_t count = 1 + next(&state) % LAST_CALLS;
    double all_s = 0, largest_s = 0;
    bool seen[LAST_CALLS] = { false };
    for (size_t i = 0; i < count; i++) {
        seconds[i] = next(&state) % 10 ? 1e-4 : ldexp(1, (int)(next(&state) % 12) - 10);
        all_s += seconds[i];
        largest_s = fmax(largest_s, seconds[i]);
    }
    double end_s = simulate(order, seconds, count, threads);
    for (size_t i = 0; i < count; i++) {
        ck_assert(!seen[order[i]]);
        seen[order[i]] = true;
    }
    ck_assert_double_le(end_s, 4.0 / 3 * (largest_s + all_s / (double)threads));
}
END_TEST

START_TEST(no_calls)
{
    last_calls_open(&calls, NULL, 0, 2);
    ck_assert(!last_calls_left(&calls));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("last_calls");
    TCase *tests = tcase_create("last_calls");
    tcase_add_loop_test(tests, equal_calls_stay_in_order, 0, 2);
    tcase_add_test(tests, a_large_call_does_not_begin_last);
    tcase_add_test(tests, early_calls_stay_in_order);
    tcase_add_loop_test(tests, every_call_once_and_in_time, 0, 40);
    tcase_add_test(tests, no_calls);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
