/* Shards against all cuts there are: the best one by dynamic programming over short rows of calls. */
#include "cluster/shards.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "support/suite.h"

enum { MOST_CALLS = 24, MOST_DUMPS = 6 };

/* Calls of random costs in random dumps, some of them empty. */
struct job {
    float seconds[MOST_CALLS];
    struct shard_dump dumps[MOST_DUMPS];
    size_t calls;
};

static uint64_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

static struct job *job_make(uint64_t seed)
{
    static struct job job;
    uint64_t state = seed * 7919 + 1;
    size_t at = 0;
    job = (struct job){ .calls = 1 + next_random(&state) % MOST_CALLS };
    for (size_t i = 0; i < job.calls; i++) {
        bool giant = next_random(&state) % 8 == 0;
        /* Whole numbers, and often equal ones: every sum is exact. */
        job.seconds[i] = (float)(1 + next_random(&state) % (seed % 2 ? 3 : 40)) * (giant ? 32 : 1);
    }
    for (size_t dump = 0; dump < MOST_DUMPS; dump++) {
        size_t left = job.calls - at;
        size_t count = dump + 1 == MOST_DUMPS ? left : next_random(&state) % (left + 1);
        job.dumps[dump] = (struct shard_dump){ job.seconds + at, count };
        at += count;
    }
    return &job;
}

/* Number of a call in the row of all. */
static size_t number_of(const struct job *job, struct shard_place place)
{
    size_t number = place.call;
    for (size_t dump = 0; dump < place.dump; dump++) number += job->dumps[dump].count;
    return number;
}

static double sum(const struct job *job, size_t from, size_t to)
{
    double total = 0;
    for (; from < to; from++) total += job->seconds[from];
    return total;
}

/* The least that the costliest shard of more than one call can cost with at most `wanted` shards. */
static double best_of_all(const struct job *job, size_t wanted)
{
    double best[MOST_CALLS + 1][MOST_CALLS + 1]; /* by shards and calls in them */
    for (size_t calls = 0; calls <= job->calls; calls++) best[0][calls] = calls ? INFINITY : 0;
    for (size_t shard = 1; shard <= wanted; shard++)
        for (size_t calls = 0; calls <= job->calls; calls++) {
            best[shard][calls] = best[shard - 1][calls];
            for (size_t from = 0; from < calls; from++) {
                double last = calls - from > 1 ? sum(job, from, calls) : 0;
                double worst = fmax(best[shard - 1][from], last);
                if (worst < best[shard][calls]) best[shard][calls] = worst;
            }
        }
    return best[wanted][job->calls];
}

/* Ranges end to end from the first call to the last, none empty, with the seconds of their calls. */
static void check_whole(const struct job *job, const struct shards *shards)
{
    ck_assert_uint_eq(number_of(job, shards->starts[0]), 0);
    ck_assert_uint_eq(shards->starts[shards->count].dump, MOST_DUMPS);
    ck_assert_uint_eq(shards->starts[shards->count].call, 0);
    for (size_t i = 0; i < shards->count; i++) {
        size_t from = number_of(job, shards->starts[i]), to = number_of(job, shards->starts[i + 1]);
        ck_assert_uint_lt(from, to);
        ck_assert_uint_lt(shards->starts[i].call, job->dumps[shards->starts[i].dump].count);
        ck_assert_double_eq(shards->seconds[i], sum(job, from, to));
    }
}

static double costliest_of_several(const struct job *job, const struct shards *shards)
{
    double worst = 0;
    for (size_t i = 0; i < shards->count; i++) {
        size_t from = number_of(job, shards->starts[i]), to = number_of(job, shards->starts[i + 1]);
        if (to - from > 1) worst = fmax(worst, shards->seconds[i]);
    }
    return worst;
}

/* As many shards as are wanted, and no cut into as many has a cheaper costliest one. */
START_TEST(count_is_kept_and_the_costliest_is_least)
{
    const struct job *job = job_make((uint64_t)_i);
    for (size_t wanted = 1; wanted <= job->calls + 2; wanted++) {
        struct shards shards;
        size_t most = wanted < job->calls ? wanted : job->calls;
        ck_assert_int_eq(shards_cut_count(&shards, job->dumps, MOST_DUMPS, wanted).code, STATUS_OK);
        check_whole(job, &shards);
        ck_assert_uint_eq(shards.count, most);
        ck_assert_double_eq(costliest_of_several(job, &shards), best_of_all(job, most));
        shards_release(&shards);
    }
}
END_TEST

/* None above the limit but single calls, and two neighbours never fit into one. */
START_TEST(seconds_are_kept_with_the_fewest_shards)
{
    const struct job *job = job_make((uint64_t)_i);
    for (double limit = 1; limit < 300; limit *= 1.7) {
        struct shards shards;
        ck_assert_int_eq(shards_cut_seconds(&shards, job->dumps, MOST_DUMPS, limit).code,
                         STATUS_OK);
        check_whole(job, &shards);
        ck_assert_double_le(costliest_of_several(job, &shards), limit);
        for (size_t i = 0; i + 1 < shards.count; i++) {
            struct shard_place next = shards.starts[i + 1];
            ck_assert_double_gt(shards.seconds[i] + job->dumps[next.dump].seconds[next.call],
                                limit);
        }
        shards_release(&shards);
    }
}
END_TEST

START_TEST(no_call_is_no_shard)
{
    struct shards shards;
    const struct shard_dump empty[2] = { { NULL, 0 }, { NULL, 0 } };
    ck_assert_int_eq(shards_cut_count(&shards, empty, 2, 3).code, STATUS_OK);
    ck_assert_uint_eq(shards.count, 0);
    ck_assert_uint_eq(shards.starts[0].dump, 2);
    shards_release(&shards);
    ck_assert_int_eq(shards_cut_seconds(&shards, NULL, 0, 1).code, STATUS_OK);
    ck_assert_uint_eq(shards.count, 0);
    shards_release(&shards);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cluster/shards");
    TCase *cases = tcase_create("cuts");
    tcase_add_loop_test(cases, count_is_kept_and_the_costliest_is_least, 0, 60);
    tcase_add_loop_test(cases, seconds_are_kept_with_the_fewest_shards, 0, 60);
    tcase_add_test(cases, no_call_is_no_shard);
    suite_add_tcase(suite, cases);
    return suite_run(suite);
}
