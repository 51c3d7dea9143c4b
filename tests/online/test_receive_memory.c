/* Memory for bodies: large ones are used again, and nothing ever holds more than twice the share. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "online/receive_memory.h"
#include "support/suite.h"

enum { BODY = 2 << 20, SHARE = 8 << 20 };

static struct receive_memory memory;
static int first, second; /* holders */

static void start(void) { receive_memory_open(&memory, SHARE); }
static void finish(void)
{
    ck_assert_uint_eq(memory.used_bytes, 0);
    receive_memory_close(&memory);
}

static void *new_body(const void *holder, uint64_t bytes)
{
    ck_assert(receive_memory_take(&memory, holder, bytes));
    receive_memory_done(&memory, holder);
    unsigned char *body = receive_memory_body(bytes);
    ck_assert_ptr_nonnull(body);
    memset(body, 1, bytes);
    return body;
}

static void check_bound(void)
{
    ck_assert_uint_le(memory.used_bytes + memory.kept_bytes, 2 * SHARE);
}

/* The next body of the size has the memory of the last; those of another size and small ones do not. */
START_TEST(large_bodies_are_used_again)
{
    void *large = new_body(&first, BODY), *small = new_body(&first, 1000);

    ck_assert_uint_eq((uintptr_t)large % 4096, 0);
    (void)receive_memory_give_body(&memory, small, 1000, 1000);
    ck_assert_uint_eq(memory.n_kept, 0);
    (void)receive_memory_give_body(&memory, large, BODY, BODY);
    ck_assert_uint_eq(memory.used_bytes, 0);
    ck_assert_ptr_null(receive_memory_reuse(&memory, &first, 2 * BODY));
    ck_assert_ptr_eq(receive_memory_reuse(&memory, &first, BODY - 100), large);
    ck_assert_uint_eq(memory.used_bytes, BODY - 100);
    ck_assert_uint_eq(memory.kept_bytes, 0);
    ck_assert_ptr_null(receive_memory_reuse(&memory, &first, BODY - 100));
    (void)receive_memory_give_body(&memory, large, BODY - 100, BODY - 100);
}
END_TEST

/* Not the memory of the smallest large one, whose capacity is the same when it is rounded up. */
START_TEST(nearly_large_bodies_have_their_own)
{
    enum { LARGE = RECEIVE_MEMORY_LARGE_BYTES, NEARLY = LARGE - 64 };
    void *large = new_body(&first, LARGE);

    (void)receive_memory_give_body(&memory, large, LARGE, LARGE);
    ck_assert_uint_eq(memory.n_kept, 1);
    ck_assert_ptr_null(receive_memory_reuse(&memory, &first, NEARLY));
    ck_assert_ptr_eq(receive_memory_reuse(&memory, &first, LARGE), large);
    (void)receive_memory_give_body(&memory, large, LARGE, LARGE);
}
END_TEST

/* What is kept makes room for what is taken. */
START_TEST(no_more_than_twice_the_share)
{
    void *bodies[4];

    for (int i = 0; i < 4; i++) bodies[i] = new_body(&first, BODY);
    for (int i = 0; i < 4; i++) (void)receive_memory_give_body(&memory, bodies[i], BODY, BODY);
    ck_assert_uint_eq(memory.n_kept, 4);
    for (int i = 0; i < 5; i++) {
        ck_assert(receive_memory_take(&memory, &first, BODY)); /* the fifth as the leader */
        check_bound();
    }
    ck_assert_uint_lt(memory.n_kept, 4);
    (void)receive_memory_give(&memory, 5 * BODY);
    receive_memory_done(&memory, &first);
    for (int i = 0; i < 2 * RECEIVE_MEMORY_KEPT; i++) {
        uint64_t bytes = RECEIVE_MEMORY_LARGE_BYTES + (uint64_t)i % 3 * 65536;
        void *body = new_body(&first, bytes), *other = new_body(&second, bytes);
        (void)receive_memory_give_body(&memory, body, bytes, bytes);
        (void)receive_memory_give_body(&memory, other, bytes, 0);
        (void)receive_memory_give(&memory, bytes);
        check_bound();
    }
}
END_TEST

/* A kept body is there at once, so all of it is taken at once, or none. */
START_TEST(what_is_used_again_is_taken)
{
    void *body = new_body(&first, BODY);

    (void)receive_memory_give_body(&memory, body, BODY, BODY);
    ck_assert(receive_memory_take(&memory, &first, SHARE));
    ck_assert(receive_memory_take(&memory, &first, SHARE - BODY)); /* the leader */
    ck_assert_ptr_null(receive_memory_reuse(&memory, &second, BODY));
    ck_assert_uint_eq(memory.used_bytes, 2 * SHARE - BODY);
    ck_assert_ptr_eq(receive_memory_reuse(&memory, &first, BODY), body);
    ck_assert_uint_eq(memory.used_bytes, 2 * SHARE);
    (void)receive_memory_give_body(&memory, body, BODY, 2 * SHARE);
    receive_memory_done(&memory, &first);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("receive_memory");
    TCase *cases = tcase_create("receive_memory");

    tcase_add_checked_fixture(cases, start, finish);
    tcase_add_test(cases, large_bodies_are_used_again);
    tcase_add_test(cases, nearly_large_bodies_have_their_own);
    tcase_add_test(cases, no_more_than_twice_the_share);
    tcase_add_test(cases, what_is_used_again_is_taken);
    suite_add_tcase(suite, cases);
    return suite_run(suite);
}
