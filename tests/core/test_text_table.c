/* The set of numbered texts: numbers follow first appearance, for any texts and any order. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/text_table.h"
#include "support/suite.h"

#define ck_ok(expression)                                                   \
    do {                                                                    \
        struct status ck_status_ = (expression);                            \
        ck_assert_msg(ck_status_.code == STATUS_OK, "%s", ck_status_.text); \
    } while (0)

static uint32_t add(struct text_table *table, const char *text, bool *added)
{
    uint32_t number = TEXT_NONE;
    ck_ok(text_table_add(&number, added, table, text, strlen(text)));
    return number;
}

/* 100,000 names, each met three times, in an order that is neither the first nor its reverse. */
START_TEST(numbers_follow_first_appearance)
{
    enum { N = 100000 };
    struct text_table table;
    char name[64];
    bool added;
    ck_ok(text_table_create(&table));
    for (uint32_t i = 0; i < N; i++) {
        snprintf(name, sizeof name, "Torch.api%u.%u.forward.output.0", i % 97, i);
        ck_assert_uint_eq(text_table_find(&table, name, strlen(name)), TEXT_NONE);
        ck_assert_uint_eq(add(&table, name, &added), i);
        ck_assert(added);
    }
    for (uint32_t k = 0; k < 2 * N; k++) {
        uint32_t i = (uint32_t)((uint64_t)k * 7919 % N);
        snprintf(name, sizeof name, "Torch.api%u.%u.forward.output.0", i % 97, i);
        ck_assert_uint_eq(add(&table, name, &added), i);
        ck_assert(!added);
        ck_assert_uint_eq(text_table_find(&table, name, strlen(name)), i);
        size_t length;
        ck_assert_str_eq(text_table_get(&table, i, &length), name);
        ck_assert_uint_eq(length, strlen(name));
    }
    ck_assert_uint_eq(table.count, N);
    text_table_release(&table);
}
END_TEST

/* Texts that are prefixes of each other, empty, of every length around the word of the hash,
 * longer than a chunk. */
START_TEST(odd_texts)
{
    struct text_table table;
    static char text[1 << 20];
    static const size_t lengths[] = { 0, 1, 7, 8, 9, 15, 16, 17, 65535, 65536, sizeof text - 1 };
    enum { N = sizeof lengths / sizeof *lengths };
    memset(text, 'a', sizeof text);
    ck_ok(text_table_create(&table));
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < N; i++) {
            uint32_t number;
            ck_ok(text_table_add(&number, NULL, &table, text, lengths[i]));
            ck_assert_uint_eq(number, i);
        }
    }
    ck_assert_uint_eq(table.count, N);
    for (uint32_t i = 0; i < N; i++)
        ck_assert_uint_eq(strlen(text_table_get(&table, i, NULL)), lengths[i]);
    text_table_release(&table);
}
END_TEST

static size_t allocations_left;

static int fail_late(size_t bytes)
{
    (void)bytes;
    return allocations_left-- == 0;
}

START_TEST(survives_lack_of_memory)
{
    for (size_t n = 0;; n++) {
        struct text_table table;
        char name[32];
        uint32_t number, i = 0;
        allocations_left = n;
        memory_fault = fail_late;
        struct status status = text_table_create(&table);
        for (; !status.code && i < 5000; i++) {
            snprintf(name, sizeof name, "name %u", i);
            status = text_table_add(&number, NULL, &table, name, strlen(name));
        }
        memory_fault = NULL;
        if (!status.code) {
            ck_assert_uint_gt(n, 4);
            text_table_release(&table);
            return;
        }
        ck_assert_int_eq(status.code, STATUS_NO_MEMORY);
        /* what was there is still there */
        for (uint32_t k = 0; k + 1 < i; k++) {
            snprintf(name, sizeof name, "name %u", k);
            ck_assert_uint_eq(text_table_find(&table, name, strlen(name)), k);
        }
        text_table_release(&table);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("text_table");
    TCase *tests = tcase_create("text_table");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, numbers_follow_first_appearance);
    tcase_add_test(tests, odd_texts);
    tcase_add_test(tests, survives_lack_of_memory);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
