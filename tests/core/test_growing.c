#include "core/growing.h"

#include <stdint.h>

#include "core/memory.h"
#include "support/suite.h"

struct item {
    size_t number;
    char filler[20];
};

/* Every item stays what it was, wherever the array moves. */
START_TEST(items_are_kept)
{
    struct item *items = NULL;
    size_t capacity = 0;
    for (size_t i = 0; i < 5000; i++) {
        ck_assert(!array_make_room(&items, &capacity, i, sizeof *items).code);
        ck_assert_uint_gt(capacity, i);
        items[i].number = i;
    }
    for (size_t i = 0; i < 5000; i++) ck_assert_uint_eq(items[i].number, i);
    ck_assert_uint_le(capacity, 2 * 5000);
    memory_release(items);
}
END_TEST

/* An index far beyond the end has room at once, and what there is need not grow. */
START_TEST(room_is_for_the_index)
{
    int *items = NULL;
    size_t capacity = 0;
    ck_assert(!array_make_room(&items, &capacity, 1000, sizeof *items).code);
    ck_assert_uint_gt(capacity, 1000);
    const int *before = items;
    const size_t enough = capacity;
    ck_assert(!array_make_room(&items, &capacity, enough - 1, sizeof *items).code);
    ck_assert_ptr_eq(items, before);
    ck_assert_uint_eq(capacity, enough);
    memory_release(items);
}
END_TEST

START_TEST(new_items_are_zero)
{
    struct item *items = NULL;
    size_t capacity = 0;
    for (size_t i = 0; i < 100; i = capacity) {
        ck_assert(!array_make_zeroed_room(&items, &capacity, i, sizeof *items).code);
        for (size_t k = i; k < capacity; k++) {
            ck_assert_uint_eq(items[k].number, 0);
            memset(&items[k], 0x5a, sizeof items[k]);
        }
        for (size_t k = 0; k < i; k++) ck_assert_int_eq(items[k].filler[19], 0x5a);
    }
    memory_release(items);
}
END_TEST

START_TEST(an_arena_keeps_items)
{
    struct arena arena = { 0 };
    size_t *items = NULL, capacity = 0;
    for (size_t i = 0; i < 5000; i++) {
        ck_assert(!array_make_room_in(&arena, &items, &capacity, i, sizeof *items).code);
        items[i] = i;
    }
    for (size_t i = 0; i < 5000; i++) ck_assert_uint_eq(items[i], i);
    arena_release(&arena);
}
END_TEST

static int refuse(size_t bytes)
{
    (void)bytes;
    return 1;
}

/* Without memory, and with sizes that no memory has, the array is as it was. */
START_TEST(failures_leave_the_array)
{
    struct arena arena = { 0 };
    size_t *items = NULL, capacity = 0;
    ck_assert(!array_make_room(&items, &capacity, 0, sizeof *items).code);
    items[0] = 7;
    size_t *const before = items, old = capacity;
    memory_fault = refuse;
    struct status refused = array_make_room(&items, &capacity, old, sizeof *items);
    struct status zeroed = array_make_zeroed_room(&items, &capacity, old, sizeof *items);
    memory_fault = NULL;
    ck_assert_int_eq(refused.code, STATUS_NO_MEMORY);
    ck_assert_int_eq(zeroed.code, STATUS_NO_MEMORY);
    ck_assert_int_eq(array_make_room(&items, &capacity, SIZE_MAX / 2, sizeof *items).code,
                     STATUS_NO_MEMORY);
    ck_assert_int_eq(
        array_make_room_in(&arena, &items, &capacity, SIZE_MAX / 2, sizeof *items).code,
        STATUS_NO_MEMORY);
    ck_assert_ptr_eq(items, before);
    ck_assert_uint_eq(capacity, old);
    ck_assert_uint_eq(items[0], 7);
    memory_release(items);
    arena_release(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("growing");
    TCase *tests = tcase_create("growing");
    tcase_add_test(tests, items_are_kept);
    tcase_add_test(tests, room_is_for_the_index);
    tcase_add_test(tests, new_items_are_zero);
    tcase_add_test(tests, an_arena_keeps_items);
    tcase_add_test(tests, failures_leave_the_array);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
