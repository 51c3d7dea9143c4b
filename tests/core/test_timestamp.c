/* Times in names: fourteen digits of the local time. */
#include <stdlib.h>

#include "core/timestamp.h"
#include "support/suite.h"

START_TEST(local_time_in_fourteen_digits)
{
    struct timestamp stamp;
    ck_assert_int_eq(setenv("TZ", "UTC-2", 1), 0); /* two hours east of it */
    tzset();
    ck_assert(!timestamp_of(&stamp, 0).code);
    ck_assert_str_eq(stamp.text, "19700101020000");
    ck_assert(!timestamp_of(&stamp, 1763812839).code); /* date -u -d @1763812839 */
    ck_assert_str_eq(stamp.text, "20251122140039");
}
END_TEST

START_TEST(years_of_five_digits_are_refused)
{
    struct timestamp stamp;
    ck_assert_int_eq(timestamp_of(&stamp, (time_t)253402300800 + 86400).code, STATUS_IO);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("timestamp");
    TCase *tests = tcase_create("timestamp");
    tcase_add_test(tests, local_time_in_fourteen_digits);
    tcase_add_test(tests, years_of_five_digits_are_refused);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
