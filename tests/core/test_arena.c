/* The arena: aligned, disjoint, bounded, reused, and honest when memory runs out. */
#include <check.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "core/arena.h"
#include "core/checked.h"
#include "core/memory.h"
#include "support/suite.h"

/* Blocks of random sizes do not overlap and keep what is written into them. */
START_TEST(blocks_are_aligned_and_disjoint)
{
    enum { N = 2000 };
    struct arena arena = { 0 };
    unsigned char *blocks[N];
    size_t sizes[N];
    uint64_t state = 1 + (uint64_t)_i;

    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < N; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            sizes[i] = (state >> 33) % (i % 50 == 0 ? 300000 : 500);
            blocks[i] = arena_allocate(&arena, sizes[i]);
            ck_assert_ptr_nonnull(blocks[i]);
            if ((uintptr_t)blocks[i] % 64) ck_abort_msg("block %d is not aligned", i);
            memset(blocks[i], i & 0xff, sizes[i]);
        }
        for (int i = 0; i < N; i++)
            for (size_t k = 0; k < sizes[i]; k++)
                if (blocks[i][k] != (i & 0xff)) ck_abort_msg("block %d was overwritten", i);
        ck_assert_uint_ge(arena.held_bytes, arena.used_bytes);
        arena_reset(&arena);
        ck_assert_uint_eq(arena.used_bytes, 0);
    }
    arena_release(&arena);
    ck_assert_uint_eq(arena.held_bytes, 0);
}
END_TEST

/* After a reset the same requests are served from the kept blocks. */
START_TEST(blocks_are_reused)
{
    struct arena arena = { 0 };
    for (int i = 0; i < 100; i++) ck_assert_ptr_nonnull(arena_allocate(&arena, 100000));
    size_t held = arena.held_bytes;
    for (int round = 0; round < 10; round++) {
        arena_reset(&arena);
        for (int i = 0; i < 100; i++) ck_assert_ptr_nonnull(arena_allocate(&arena, 100000));
        ck_assert_uint_eq(arena.held_bytes, held);
    }
    arena_release(&arena);
}
END_TEST

/* What is kept across a reset is at most keep_bytes. */
START_TEST(kept_memory_is_bounded)
{
    struct arena arena = { .keep_bytes = 1 << 20 };
    for (int i = 0; i < 64; i++) ck_assert_ptr_nonnull(arena_allocate(&arena, 1 << 20));
    ck_assert_uint_ge(arena.held_bytes, (size_t)64 << 20);
    arena_reset(&arena);
    ck_assert_uint_le(arena.held_bytes, 1 << 20);
    ck_assert_ptr_nonnull(arena_allocate(&arena, 10));
    arena_release(&arena);
    ck_assert_uint_eq(arena.keep_bytes, 1 << 20);
}
END_TEST

START_TEST(the_limit_holds)
{
    struct arena arena = { .limit_bytes = 1000 };
    ck_assert_ptr_nonnull(arena_allocate(&arena, 500));
    ck_assert_ptr_null(arena_allocate(&arena, 500)); /* 512 + 512 */
    ck_assert_ptr_nonnull(arena_allocate(&arena, 448));
    ck_assert_ptr_null(arena_allocate(&arena, 64));
    ck_assert_ptr_null(arena_allocate(&arena, SIZE_MAX));
    arena_reset(&arena);
    ck_assert_ptr_nonnull(arena_allocate(&arena, 900));
    arena_release(&arena);
}
END_TEST

START_TEST(overflowing_requests_fail)
{
    struct arena arena = { 0 };
    ck_assert_ptr_null(arena_allocate(&arena, SIZE_MAX));
    ck_assert_ptr_null(arena_allocate(&arena, SIZE_MAX - 63));
    ck_assert_ptr_null(arena_allocate_array(&arena, SIZE_MAX / 2, 3));
    ck_assert_ptr_null(arena_allocate_zeroed(&arena, (size_t)1 << 32, (size_t)1 << 32));
    ck_assert_ptr_null(arena_copy_bytes(&arena, "", SIZE_MAX));
    ck_assert_ptr_nonnull(arena_allocate(&arena, 0));
    ck_assert_ptr_nonnull(arena_allocate_array(&arena, 0, SIZE_MAX));
    arena_release(&arena);
}
END_TEST

START_TEST(zeroed_is_zero_also_after_reuse)
{
    struct arena arena = { 0 };
    memset(arena_allocate(&arena, 10000), 0xff, 10000);
    arena_reset(&arena);
    unsigned char *zeros = arena_allocate_zeroed(&arena, 2500, 4);
    for (int i = 0; i < 10000; i++)
        if (zeros[i]) ck_abort_msg("byte %d is not zero", i);
    arena_release(&arena);
}
END_TEST

START_TEST(strings_are_copied)
{
    struct arena arena = { 0 };
    char text[] = "hello";
    char *copy = arena_copy_string(&arena, text), *part = arena_copy_bytes(&arena, text, 3);
    text[0] = 'j';
    ck_assert_str_eq(copy, "hello");
    ck_assert_str_eq(part, "hel");
    ck_assert_str_eq(arena_copy_bytes(&arena, "", 0), "");
    ck_assert_str_eq(arena_format(&arena, "%s-%d", copy, 5), "hello-5");
    char *wide = arena_format(&arena, "%200000d", 7);
    ck_assert_uint_eq(strlen(wide), 200000);
    arena_release(&arena);
}
END_TEST

/* A reserved range hands out one piece after the other, and the same places again after a reset,
 * whatever the sizes; what does not fit comes from blocks. */
START_TEST(a_range_is_used_again)
{
    struct arena arena = { .keep_bytes = 64 << 10 };
    arena_reserve(&arena, 1 << 20);
    ck_assert_ptr_nonnull(arena.reserved);
    struct arena_block *reserved = arena.reserved;
    arena_reserve(&arena, 1 << 21); /* one is enough */
    ck_assert_ptr_eq(arena.reserved, reserved);
    unsigned char *first = arena_allocate(&arena, 1000), *second = arena_allocate(&arena, 300000);
    ck_assert(second > first && second < first + 8192);
    memset(second, 0xff, 300000);
    ck_assert_uint_eq(arena.held_bytes, 0);
    arena_reset(&arena);
    unsigned char *again = arena_allocate(&arena, 400000);
    ck_assert_ptr_eq(again, first);
    memset(again, 1, 400000);
    ck_assert_int_eq(again[399999], 1);
    unsigned char *large = arena_allocate(&arena, 1 << 20); /* beyond the range */
    memset(large, 2, 1 << 20);
    ck_assert_uint_ge(arena.held_bytes, 1 << 20);
    ck_assert_int_eq(again[399999], 1);
    ck_assert_uint_eq((uintptr_t)large % 64, 0);
    arena_release(&arena);
    ck_assert_ptr_null(arena.reserved);
    ck_assert_ptr_nonnull(arena_allocate(&arena, 10));
    arena_release(&arena);
}
END_TEST

/* Scratch room of the range is given out again, and its pages go back at the reset. */
START_TEST(a_range_is_rewound)
{
    struct arena arena = { .keep_bytes = 64 << 10, .limit_bytes = 700000 };
    arena_reserve(&arena, 1 << 20);
    unsigned char *kept = arena_allocate(&arena, 1000);
    memset(kept, 7, 1000);
    struct arena_mark mark = arena_mark(&arena);
    size_t used = arena.used_bytes;
    unsigned char *scratch = NULL;
    for (int round = 0; round < 5; round++) {
        unsigned char *again = arena_allocate(&arena, 600000);
        ck_assert_ptr_nonnull(again); /* two at once would be beyond the limit */
        if (round) ck_assert_ptr_eq(again, scratch);
        scratch = again;
        memset(scratch, 0xff, 600000);
        arena_rewind(&arena, mark);
        ck_assert_uint_eq(arena.used_bytes, used);
    }
    ck_assert_int_eq(kept[999], 7);
    size_t far = (size_t)(scratch - kept) + 500000;
    arena_reset(&arena);
    unsigned char *all = arena_allocate(&arena, 600000);
    ck_assert_ptr_eq(all, kept);
    ck_assert_int_eq(all[far], 0); /* beyond keep_bytes: a fresh page */
    arena_release(&arena);
}
END_TEST

static void count_moves(void *context, void *to, const void *from, size_t bytes)
{
    size_t *moves = context;
    memmove(to, from, bytes);
    ++*moves;
}

/* The pieces that are kept lie behind the mark, with their bytes, and the rest is free again. One that lies there is not moved. */
START_TEST(pieces_are_kept)
{
    enum { PIECES = 4 };
    static const size_t sizes[PIECES] = { 100000, 1, 64, 70001 };
    struct arena arena = { 0 };
    arena_reserve(&arena, 1 << 20);
    ck_assert_ptr_nonnull(arena_allocate(&arena, 10));
    struct arena_mark mark = arena_mark(&arena);
    const size_t before = _i ? 200000 : 0;
    unsigned char *first = arena_allocate(&arena, before);
    struct arena_piece pieces[PIECES];
    size_t moves = 0, stays = 0;
    for (int i = 0; i < PIECES; i++) {
        pieces[i] = (struct arena_piece){ arena_allocate(&arena, sizes[i]), sizes[i] };
        stays += pieces[i].data == first;
        memset(pieces[i].data, i + 1, sizes[i]);
        ck_assert_ptr_nonnull(arena_allocate(&arena, 30000));
    }
    ck_assert(arena_rewind_keeping(&arena, mark, pieces, PIECES, count_moves, &moves));
    ck_assert_ptr_eq(pieces[0].data, first);
    ck_assert_uint_eq(moves + stays, PIECES);
    size_t used = mark.used_bytes;
    for (int i = 0; i < PIECES; i++) {
        const unsigned char *bytes = pieces[i].data;
        for (size_t k = 0; k < sizes[i]; k++) ck_assert_int_eq(bytes[k], i + 1);
        if (i) ck_assert(bytes >= (unsigned char *)pieces[i - 1].data + sizes[i - 1]);
        used += (sizes[i] + 63) / 64 * 64;
    }
    ck_assert_uint_eq(arena.used_bytes, used);
    unsigned char *next = arena_allocate(&arena, 30000);
    ck_assert(next >= (unsigned char *)pieces[PIECES - 1].data + sizes[PIECES - 1]);
    memset(next, 0xff, 30000);
    ck_assert_int_eq(((unsigned char *)pieces[3].data)[70000], 4);
    arena_release(&arena);
}
END_TEST

/* Parts of one piece lie closer than pieces do: the second would be overwritten by the first one's padding. */
START_TEST(pieces_that_lie_too_close_are_not_moved)
{
    struct arena arena = { 0 };
    arena_reserve(&arena, 64 << 10);
    struct arena_mark mark = arena_mark(&arena);
    unsigned char *whole = arena_allocate(&arena, 100);
    memset(whole, 5, 100);
    struct arena_piece parts[2] = { { whole, 10 }, { whole + 10, 90 } };
    const size_t used = arena.used_bytes;
    ck_assert(!arena_rewind_keeping(&arena, mark, parts, 2, NULL, NULL));
    ck_assert_uint_eq(arena.used_bytes, used);
    ck_assert_int_eq(whole[99], 5);
    arena_release(&arena);
    struct arena rangeless = { 0 };
    ck_assert(!arena_rewind_keeping(&rangeless, arena_mark(&rangeless), parts, 0, NULL, NULL));
}
END_TEST

/* What came from a block since the mark stays: from the newest, from one put before it or behind
 * it. A block that was there before is no hindrance. */
START_TEST(blocks_are_not_rewound)
{
    static const struct {
        size_t before, since; /* bytes asked for; `before` leaves 58 KB of a block */
        bool rewound;
    } cases[] = {
        { 0, 300000, false },     /* the first block */
        { 70000, 20000, true },   /* there is room in the range */
        { 70000, 45000, false },  /* from the block */
        { 70000, 300000, false }, /* a new one with more room left */
        { 70000, 2 << 20, false } /* a new one without any */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = { 0 };
        arena_rewind(&arena, arena_mark(&arena)); /* without a range */
        arena_reserve(&arena, 64 << 10);
        if (cases[i].before) ck_assert_ptr_nonnull(arena_allocate(&arena, cases[i].before));
        unsigned char *kept = arena_allocate(&arena, 30000);
        memset(kept, 1, 30000);

        struct arena_mark mark = arena_mark(&arena);
        size_t used = arena.used_bytes;
        unsigned char *since = arena_allocate(&arena, cases[i].since);
        memset(since, 2, cases[i].since);
        arena_rewind(&arena, mark);
        ck_assert_msg((arena.used_bytes == used) == cases[i].rewound, "case %zu", i);
        unsigned char *other = arena_allocate(&arena, cases[i].since);
        ck_assert_msg((other == since) == cases[i].rewound, "case %zu", i);
        memset(other, 3, cases[i].since);
        if (!cases[i].rewound) ck_assert_int_eq(since[0] + since[cases[i].since - 1], 4);
        ck_assert_int_eq(kept[0] + kept[29999], 2);
        arena_release(&arena);
    }
}
END_TEST

static int refuse(size_t bytes)
{
    (void)bytes;
    return 1;
}

/* Without a range, or where address space is limited, blocks serve as well. */
START_TEST(a_range_can_be_refused)
{
    struct arena arena = { 0 };
    memory_fault = refuse;
    arena_reserve(&arena, 1 << 20);
    memory_fault = NULL;
    ck_assert_ptr_null(arena.reserved);
    ck_assert_ptr_nonnull(arena_allocate(&arena, 10));
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* which reserve terabytes */
    struct rlimit before, limited;
    ck_assert_int_eq(getrlimit(RLIMIT_AS, &before), 0);
    limited = before;
    limited.rlim_cur = (rlim_t)4 << 30;
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &limited), 0);
    if (!emulated()) arena_reserve(&arena, 1 << 20);
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &before), 0);
    ck_assert_ptr_null(arena.reserved);
#endif
    arena_release(&arena);
}
END_TEST

static int fail_after;

static int fail_allocation(size_t bytes)
{
    (void)bytes;
    return fail_after-- <= 0;
}

/* A failed allocation is NULL, and the arena works on afterwards. */
START_TEST(failing_memory_is_survived)
{
    struct arena arena = { 0 };
    ck_assert_ptr_nonnull(arena_allocate(&arena, 10));
    fail_after = 0;
    memory_fault = fail_allocation;
    ck_assert_ptr_null(arena_allocate(&arena, 1 << 20));
    ck_assert_ptr_null(arena_format(&arena, "%2000000d", 1));
    memory_fault = NULL;
    ck_assert_ptr_nonnull(arena_allocate(&arena, 1 << 20));
    arena_release(&arena);
    fail_after = 0;
    memory_fault = fail_allocation;
    ck_assert_ptr_null(memory_allocate(1));
    ck_assert_ptr_null(memory_allocate_zeroed(1, 1));
    ck_assert_ptr_null(memory_resize(NULL, 1));
    ck_assert_ptr_null(memory_copy_string("a"));
    memory_fault = NULL;
    char *copy = memory_copy_string("abc");
    ck_assert_str_eq(copy, "abc");
    copy = memory_resize(copy, 100);
    ck_assert_str_eq(copy, "abc");
    memory_release(copy);
    memory_release(NULL);
}
END_TEST

/* A request for nothing gets a block that can be resized and released, as any other. */
START_TEST(blocks_of_no_bytes)
{
    void *blocks[] = { memory_allocate(0), memory_allocate_zeroed(0, 8),
                       memory_allocate_zeroed(8, 0), memory_resize(memory_allocate(5), 0),
                       memory_resize(NULL, 0) };
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        ck_assert_ptr_nonnull(blocks[i]);
        memory_release(blocks[i]);
    }
}
END_TEST

/* A range is reserved once, and not for less than it needs itself; none where address space is counted or
 * the kernel has none. */
START_TEST(ranges_that_are_not_reserved)
{
    struct arena arena = { 0 };
    struct rlimit limit, finite;
    arena_reserve(&arena, 4096);
    ck_assert_ptr_null(arena.reserved);
    arena_reserve(&arena, 1 << 20);
    struct arena_block *first = arena.reserved;
    arena_reserve(&arena, 2 << 20);
    ck_assert_ptr_eq(arena.reserved, first);
    arena_release(&arena);

    ck_assert_ptr_null(memory_reserve(SIZE_MAX / 2));
    ck_assert_int_eq(getrlimit(RLIMIT_AS, &limit), 0);
    if (limit.rlim_cur != RLIM_INFINITY) return; /* so it is for all tests here */
    if (emulated()) return;
    finite = (struct rlimit){ (rlim_t)1 << 60, limit.rlim_max };
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &finite), 0);
    void *range = memory_reserve(1 << 20);
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
    ck_assert_ptr_null(range);
}
END_TEST

START_TEST(checked_sizes)
{
    size_t out = 7;
    ck_assert(!size_multiply(&out, SIZE_MAX, 2));
    ck_assert(!size_add(&out, SIZE_MAX, 1));
    ck_assert_uint_eq(out, 7);
    ck_assert(size_multiply(&out, SIZE_MAX / 2, 2));
    ck_assert_uint_eq(out, SIZE_MAX - 1);
    ck_assert(size_add(&out, SIZE_MAX, 0));
    ck_assert_uint_eq(out, SIZE_MAX);

    static const int64_t good[] = { 2, 3, 4 }, empty[] = { 5, 0, 7 }, negative[] = { 2, -1 };
    static const int64_t wide[] = { INT64_C(1) << 32, INT64_C(1) << 31 };
    ck_assert(shape_elements(&out, 3, good));
    ck_assert_uint_eq(out, 24);
    ck_assert(shape_elements(&out, 3, empty));
    ck_assert_uint_eq(out, 0);
    ck_assert(shape_elements(&out, 0, NULL));
    ck_assert_uint_eq(out, 1);
    ck_assert(!shape_elements(&out, 2, negative));
    ck_assert(!shape_elements(&out, 2, wide)); /* 2^63 > PTRDIFF_MAX */
}
END_TEST

/* A large piece that was given back serves requests that fit into it, until the reset; a small one does not. A rewind gives back
 * what was taken of it since. */
START_TEST(large_pieces_serve_again)
{
    enum { LARGE = 3 << 20, PART = 5 << 18 };
    struct arena arena = { .limit_bytes = 8 << 20 };
    if (_i) arena_reserve(&arena, (size_t)32 << 20);
    unsigned char *small = arena_allocate(&arena, 1000), *large = arena_allocate(&arena, LARGE);
    unsigned char *last = arena_allocate(&arena, 100);
    ck_assert(small && large && last);
    memset(last, 5, 100);
    arena_give_back(&arena, NULL, LARGE);
    arena_give_back(&arena, small, 1000);
    const size_t used = arena.used_bytes;
    arena_give_back(&arena, large, LARGE);
    ck_assert_uint_eq(arena.used_bytes, used - LARGE);
    ck_assert_ptr_ne(arena_allocate(&arena, 1000), small);
    struct arena_mark mark = arena_mark(&arena);
    for (int round = 0; round < 3; round++) {
        unsigned char *first = arena_allocate(&arena, PART), *second = arena_allocate(&arena, PART);
        ck_assert_ptr_eq(first, large);
        ck_assert_ptr_eq(second, large + arena_piece_bytes(PART));
        memset(first, 1, PART);
        memset(second, 2, PART);
        ck_assert_uint_eq(first[PART - 1], 1);
        ck_assert_ptr_ne(arena_allocate(&arena, 4096), second + arena_piece_bytes(PART));
        if (!_i) break; /* blocks are not rewound */
        arena_rewind(&arena, mark);
    }
    ck_assert_int_eq(last[99], 5);
    ck_assert_ptr_null(arena_allocate(&arena, 8 << 20)); /* the limit holds */
    arena_reset(&arena);
    ck_assert_uint_eq(arena.returned.count, 0);
    arena_release(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("arena");
    TCase *tests = tcase_create("arena");
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, blocks_are_aligned_and_disjoint, 0, 3);
    tcase_add_test(tests, blocks_are_reused);
    tcase_add_test(tests, kept_memory_is_bounded);
    tcase_add_test(tests, the_limit_holds);
    tcase_add_test(tests, overflowing_requests_fail);
    tcase_add_test(tests, zeroed_is_zero_also_after_reuse);
    tcase_add_test(tests, strings_are_copied);
    tcase_add_test(tests, a_range_is_used_again);
    tcase_add_test(tests, a_range_is_rewound);
    tcase_add_loop_test(tests, pieces_are_kept, 0, 2);
    tcase_add_test(tests, pieces_that_lie_too_close_are_not_moved);
    tcase_add_test(tests, blocks_are_not_rewound);
    tcase_add_test(tests, a_range_can_be_refused);
    tcase_add_test(tests, failing_memory_is_survived);
    tcase_add_test(tests, blocks_of_no_bytes);
    tcase_add_test(tests, ranges_that_are_not_reserved);
    tcase_add_test(tests, checked_sizes);
    tcase_add_loop_test(tests, large_pieces_serve_again, 0, 2);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
