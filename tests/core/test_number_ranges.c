/* Lists such as 0,3-5. */
#include "core/number_ranges.h"
#include "support/suite.h"

START_TEST(numbers_and_ranges_are_held)
{
    struct number_ranges ranges;
    ck_assert(!number_ranges_read(&ranges, "0,3-5,12").code);
    static const struct {
        int64_t number;
        bool held;
    } cases[] = { { 0, true }, { 1, false }, { 2, false }, { 3, true },   { 4, true },
                  { 5, true }, { 6, false }, { 12, true }, { 13, false }, { -1, false } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_msg(number_ranges_hold(&ranges, cases[i].number) == cases[i].held, "%lld",
                      (long long)cases[i].number);
}
END_TEST

START_TEST(no_list_holds_every_number)
{
    struct number_ranges ranges;
    ck_assert(!number_ranges_read(&ranges, NULL).code);
    ck_assert(number_ranges_hold(&ranges, -1));
    ck_assert(number_ranges_hold(&ranges, 4711));
}
END_TEST

START_TEST(anything_else_is_refused)
{
    static const char *const wrong[] = { "",   ",",   "1,",  ",1",  "1,,2", "a",          "1-",
                                         "-1", "5-3", "1 2", "1.5", "0x1",  "1234567890", "1-2-3" };
    struct number_ranges ranges;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ck_assert_msg(number_ranges_read(&ranges, wrong[i]).code == STATUS_BAD_ARGUMENT, "'%s'",
                      wrong[i]);
}
END_TEST

START_TEST(more_ranges_than_there_is_room_for_are_refused)
{
    static char text[2 * NUMBER_RANGES_MAX + 2];
    struct number_ranges ranges;
    for (int i = 0; i <= NUMBER_RANGES_MAX; i++) {
        text[2 * i] = '1';
        text[2 * i + 1] = i < NUMBER_RANGES_MAX ? ',' : '\0';
    }
    ck_assert(number_ranges_read(&ranges, text).code == STATUS_BAD_ARGUMENT);
    text[2 * NUMBER_RANGES_MAX - 1] = '\0';
    ck_assert(!number_ranges_read(&ranges, text).code);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("number_ranges");
    TCase *tests = tcase_create("number_ranges");
    tcase_add_test(tests, numbers_and_ranges_are_held);
    tcase_add_test(tests, no_list_holds_every_number);
    tcase_add_test(tests, anything_else_is_refused);
    tcase_add_test(tests, more_ranges_than_there_is_room_for_are_refused);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
