/* Numbers with what they count. */
#include "core/quantity.h"

#include "support/suite.h"

START_TEST(nouns_follow_their_number)
{
    static const struct {
        uint64_t count;
        const char *noun, *expected;
    } cases[] = {
        { 0, "call", "0 calls" },      { 1, "call", "1 call" },         { 2, "call", "2 calls" },
        { 1, "library", "1 library" }, { 3, "library", "3 libraries" }, { 2, "day", "2 days" },
        { 1, "API", "1 API" },         { 9, "API", "9 APIs" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_str_eq(quantity_of(cases[i].count, cases[i].noun).text, cases[i].expected);
}
END_TEST

START_TEST(sizes_have_units)
{
    static const struct {
        uint64_t bytes;
        const char *expected;
    } cases[] = {
        { 0, "0 bytes" },
        { 1, "1 byte" },
        { 1023, "1023 bytes" },
        { 1024, "1 KB" },
        { 1536, "1.5 KB" },
        { (uint64_t)999 << 10, "999 KB" },
        { ((uint64_t)999 << 10) + 1, "0.976 MB" },
        { ((uint64_t)1 << 20) - 1, "1 MB" },
        { ((uint64_t)1 << 20) + 1, "1.01 MB" },
        { (uint64_t)512 << 20, "512 MB" },
        { (uint64_t)4 << 30, "4 GB" },
        { 1570000000, "1.47 GB" },
        { UINT64_MAX, "16 EB" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_str_eq(quantity_bytes(cases[i].bytes).text, cases[i].expected);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("quantity");
    TCase *tests = tcase_create("quantity");
    tcase_add_test(tests, nouns_follow_their_number);
    tcase_add_test(tests, sizes_have_units);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
