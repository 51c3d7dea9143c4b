/* Parts of work on several threads: each once, the same failures for any number of threads, and nobody is left behind. */
#include <check.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/parallel.h"
#include "support/suite.h"

enum { PARTS = 2000, THREADS = 6, ROUNDS = 50, ROOM = 1 << 20 };

/* Threads that wait for an end and help until it comes. */
struct helpers {
    struct team team;
    atomic_bool ended;
    struct arena arenas[THREADS];
    pthread_t ids[THREADS];
    size_t count;
};

struct helper {
    struct helpers *all;
    struct arena *arena;
};
static struct helper contexts[THREADS];

static bool not_ended(void *context) { return !((struct helpers *)context)->ended; }

static void *help_until_end(void *context)
{
    struct helper *self = context;
    team_help(&self->all->team, self->arena, not_ended, self->all);
    return NULL;
}

static void helpers_open(struct helpers *helpers, size_t count, size_t spares)
{
    memset(helpers, 0, sizeof *helpers);
    team_open(&helpers->team, spares, ROOM, NULL);
    for (; helpers->count < count; helpers->count++) {
        contexts[helpers->count] = (struct helper){ helpers, &helpers->arenas[helpers->count] };
        ck_assert_int_eq(pthread_create(&helpers->ids[helpers->count], NULL, help_until_end,
                                        &contexts[helpers->count]),
                         0);
    }
}

static void helpers_close(struct helpers *helpers)
{
    helpers->ended = true;
    team_wake(&helpers->team);
    for (size_t i = 0; i < helpers->count; i++) {
        ck_assert_int_eq(pthread_join(helpers->ids[i], NULL), 0);
        ck_assert_uint_eq(helpers->arenas[i].used_bytes, 0);
        arena_release(&helpers->arenas[i]);
    }
    team_close(&helpers->team);
}

/* ---- what parts do ---------------------------------------------------------------------- */

struct counts {
    atomic_int done[PARTS], others;
    pthread_t owner;
    size_t scratch_bytes, fails_at, slow_us;
    struct help *help; /* not NULL: every part has parts of its own */
};

static struct status count_part(void *context, size_t number, void *scratch)
{
    struct counts *counts = context;
    atomic_fetch_add(&counts->done[number], 1);
    if (!pthread_equal(pthread_self(), counts->owner)) atomic_fetch_add(&counts->others, 1);
    ck_assert(!scratch == !counts->scratch_bytes);
    if (scratch) memset(scratch, (int)number, counts->scratch_bytes);
    if (counts->slow_us) usleep((useconds_t)counts->slow_us);
    for (size_t i = 0; i < counts->scratch_bytes; i++)
        if (((unsigned char *)scratch)[i] != (number & 0xff)) ck_abort_msg("shared scratch");
    if (number >= counts->fails_at) return status_error(STATUS_SKIP, "part %zu", number);
    return status_ok();
}

static struct counts *counts_new(void)
{
    struct counts *counts = calloc(1, sizeof *counts);
    counts->owner = pthread_self();
    counts->fails_at = SIZE_MAX;
    return counts;
}

static struct status run(struct counts *counts, struct help *help, struct arena *arena,
                         size_t parts)
{
    return parallel_run(help, arena,
                        &(struct parallel){ parts, counts->scratch_bytes, count_part, counts });
}

static void each_once(const struct counts *counts, size_t parts)
{
    for (size_t i = 0; i < PARTS; i++)
        if (counts->done[i] != (i < parts)) ck_abort_msg("part %zu: %d", i, counts->done[i]);
}

/* ---- tests ------------------------------------------------------------------------------ */

/* Alone, with threads that wait and with spare ones every part is done once, with room of its own. */
START_TEST(every_part_is_done_once)
{
    static const size_t numbers[] = { 0, 1, 2, 3, THREADS, PARTS };
    for (size_t threads = 0; threads <= THREADS; threads += 3)
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
            for (size_t spares = 0; spares < 3; spares += 2) {
                struct helpers helpers;
                struct counts *counts = counts_new();
                struct help help = { .team = &helpers.team };
                struct arena arena = { 0 };
                counts->scratch_bytes = 64 * (i % 2);
                helpers_open(&helpers, threads, spares);
                ck_assert_int_eq(run(counts, &help, &arena, numbers[i]).code, STATUS_OK);
                each_once(counts, numbers[i]);
                helpers_close(&helpers);
                arena_release(&arena);
                free(counts);
            }
}
END_TEST

/* Nobody is needed. */
START_TEST(work_without_a_team)
{
    struct counts *counts = counts_new();
    struct arena arena = { 0 };
    struct help help = { .team = NULL };
    ck_assert_int_eq(run(counts, NULL, &arena, 7).code, STATUS_OK);
    each_once(counts, 7);
    counts->slow_us = 100;
    ck_assert_int_eq(run(counts, &help, &arena, 7).code, STATUS_OK);
    ck_assert_int_eq(counts->done[6], 2);
    ck_assert(help.parts_s > 0);
    ck_assert(help.longest_parts_s > 0 && help.longest_parts_s <= help.parts_s);
    free(counts);
}
END_TEST

/* Threads that wait take parts, and spare ones are started for it. */
START_TEST(others_take_parts)
{
    struct helpers helpers;
    struct counts *counts = counts_new();
    struct help help = { .team = &helpers.team };
    struct arena arena = { 0 };
    helpers_open(&helpers, _i ? 2 : 0, _i ? 0 : 2);
    counts->slow_us = 2000;
    ck_assert_int_eq(run(counts, &help, &arena, 60).code, STATUS_OK);
    each_once(counts, 60);
    ck_assert_int_gt(counts->others, 10);
    ck_assert_uint_eq(helpers.team.spares_started, _i ? 0 : 2);
    helpers_close(&helpers);
    free(counts);
}
END_TEST

/* The failure is that of the first part that fails, however many fail on however many threads, and what
 * comes much later is not begun. */
START_TEST(the_first_failure_counts)
{
    struct helpers helpers;
    struct help help = { .team = &helpers.team };
    struct arena arena = { 0 };
    helpers_open(&helpers, THREADS, 0);
    for (size_t round = 0; round < ROUNDS; round++) {
        struct counts *counts = counts_new();
        counts->fails_at = round * 7;
        struct status status = run(counts, round % 3 ? &help : NULL, &arena, PARTS);
        char text[32];
        snprintf(text, sizeof text, "part %zu", counts->fails_at);
        ck_assert_int_eq(status.code, STATUS_SKIP);
        ck_assert_str_eq(status.text, text);
        for (size_t i = 0; i <= counts->fails_at; i++) ck_assert_int_eq(counts->done[i], 1);
        ck_assert_int_eq(counts->done[PARTS - 1], 0);
        free(counts);
    }
    helpers_close(&helpers);
}
END_TEST

struct owner {
    struct help help;
    struct counts *counts;
    size_t parts;
    struct arena arena;
    struct status status;
};

static void *own_work(void *context)
{
    struct owner *owner = context;
    for (int round = 0; round < ROUNDS && !owner->status.code; round++)
        owner->status = run(owner->counts, &owner->help, &owner->arena, owner->parts);
    return NULL;
}

/* Several threads have work at a time, and help each other. */
START_TEST(many_owners)
{
    struct helpers helpers;
    struct owner owners[THREADS];
    pthread_t ids[THREADS];
    helpers_open(&helpers, 2, 2);
    for (size_t i = 0; i < THREADS; i++) {
        owners[i] =
            (struct owner){ { .team = &helpers.team }, counts_new(), 3 + 40 * i, { 0 }, { 0 } };
        owners[i].counts->scratch_bytes = i * 32;
        ck_assert_int_eq(pthread_create(&ids[i], NULL, own_work, &owners[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_join(ids[i], NULL), 0);
        ck_assert_int_eq(owners[i].status.code, STATUS_OK);
        for (size_t k = 0; k < owners[i].parts; k++)
            ck_assert_int_eq(owners[i].counts->done[k], ROUNDS);
        free(owners[i].counts);
        arena_release(&owners[i].arena);
    }
    helpers_close(&helpers);
}
END_TEST

static struct status part_with_parts(void *context, size_t number, void *scratch)
{
    struct counts *counts = context;
    struct arena arena = { 0 };
    struct help help = { .team = counts->help->team };
    (void)number;
    (void)scratch;
    return parallel_run(&help, &arena, &(struct parallel){ 20, 0, count_part, counts });
}

/* Parts may have parts: whoever waits waits for parts that are being done. */
START_TEST(parts_of_parts)
{
    struct helpers helpers;
    struct help help = { .team = &helpers.team };
    struct arena arena = { 0 };
    struct counts *counts = counts_new();
    counts->help = &help;
    helpers_open(&helpers, THREADS, 0);
    struct status status =
        parallel_run(&help, &arena, &(struct parallel){ 200, 0, part_with_parts, counts });
    ck_assert_int_eq(status.code, STATUS_OK);
    for (size_t i = 0; i < 20; i++) ck_assert_int_eq(counts->done[i], 200);
    helpers_close(&helpers);
    free(counts);
}
END_TEST

/* Who helps goes on with what it waited for between two parts, and the owner does the rest. */
START_TEST(helpers_leave)
{
    struct helpers helpers;
    struct help help = { .team = &helpers.team };
    struct arena arena = { 0 };
    struct counts *counts = counts_new();
    helpers_open(&helpers, THREADS, 0);
    helpers.ended = true;
    counts->slow_us = 100;
    ck_assert_int_eq(run(counts, &help, &arena, 100).code, STATUS_OK);
    each_once(counts, 100);
    ck_assert_int_le(counts->others, THREADS); /* a part each at most */
    helpers_close(&helpers);
    free(counts);
}
END_TEST

/* Parts that need more room than helpers have are the owner's; without room of its own nothing is done. */
START_TEST(room_is_bounded)
{
    struct helpers helpers;
    struct help help = { .team = &helpers.team };
    struct arena arena = { .limit_bytes = 4 * ROOM };
    struct counts *counts = counts_new();
    helpers_open(&helpers, 2, 2);
    counts->scratch_bytes = ROOM + 1;
    ck_assert_int_eq(run(counts, &help, &arena, 5).code, STATUS_OK);
    each_once(counts, 5);
    ck_assert_int_eq(counts->others, 0);
    counts->scratch_bytes = 5 * ROOM;
    ck_assert_int_eq(run(counts, &help, &arena, 5).code, STATUS_NO_MEMORY);
    each_once(counts, 5);
    arena_release(&arena);
    helpers_close(&helpers);
    free(counts);
}
END_TEST

static bool refuse(size_t bytes) { return bytes == ROOM / 2; }

/* A helper whose memory is refused helps with other work. */
START_TEST(refused_memory_is_survived)
{
    struct helpers helpers;
    struct help help = { .team = &helpers.team };
    struct arena arena = { 0 };
    struct counts *counts = counts_new();
    void *warm = arena_allocate(&arena, ROOM);
    ck_assert_ptr_nonnull(warm);
    arena_reset(&arena);
    helpers_open(&helpers, 2, 0);
    arena_fault = refuse;
    counts->scratch_bytes = ROOM / 2;
    struct status status = run(counts, &help, &arena, 5);
    arena_fault = NULL;
    ck_assert_int_eq(status.code, STATUS_NO_MEMORY);
    counts->slow_us = 2000;
    counts->scratch_bytes = 0;
    ck_assert_int_eq(run(counts, &help, &arena, 30).code, STATUS_OK);
    each_once(counts, 30);
    arena_release(&arena);
    helpers_close(&helpers);
    free(counts);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("parallel");
    TCase *tests = tcase_create("parallel");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, every_part_is_done_once);
    tcase_add_test(tests, work_without_a_team);
    tcase_add_loop_test(tests, others_take_parts, 0, 2);
    tcase_add_test(tests, the_first_failure_counts);
    tcase_add_test(tests, many_owners);
    tcase_add_test(tests, parts_of_parts);
    tcase_add_test(tests, helpers_leave);
    tcase_add_test(tests, room_is_bounded);
    tcase_add_test(tests, refused_memory_is_survived);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
