/* Which calls of a dump a slice has. */
#include "formats/dump_slice.h"

#include <check.h>
#include <string.h>

#include "support/suite.h"

enum { CALLS = 12 };

/* The flags as digits, each kept but for the third. */
static const char *kept(const struct dump_slice *slice)
{
    static char text[CALLS + 1];
    bool keep[CALLS];
    memset(keep, true, sizeof keep);
    keep[3] = false;
    dump_slice_keep(keep, CALLS, slice);
    for (int i = 0; i < CALLS; i++) text[i] = keep[i] ? '1' : '0';
    return text;
}

START_TEST(calls_outside_the_range_go)
{
    ck_assert_str_eq(kept(&(struct dump_slice){ .calls = { 0, CALLS } }), "111011111111");
    ck_assert_str_eq(kept(&(struct dump_slice){ .calls = { 2, 6 } }), "001011000000");
    ck_assert_str_eq(kept(&(struct dump_slice){ .calls = { 11, 12 } }), "000000000001");
    ck_assert_str_eq(kept(&(struct dump_slice){ .calls = { 4, 4 } }), "000000000000");
    /* A dump that has fewer calls than were planned with. */
    ck_assert_str_eq(kept(&(struct dump_slice){ .calls = { 8, 400 } }), "000000001111");
    ck_assert_str_eq(kept(&(struct dump_slice){ .calls = { 300, 400 } }), "000000000000");
}
END_TEST

START_TEST(calls_that_are_left_out_go)
{
    static const struct position_range out[] = { { 0, 2 }, { 5, 6 }, { 10, 99 } };
    const struct dump_slice slice = { .calls = { 1, CALLS }, .left_out = out, .n_left_out = 3 };
    ck_assert_str_eq(kept(&slice), "001010111100");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("dump_slice");
    TCase *tests = tcase_create("dump_slice");
    tcase_add_test(tests, calls_outside_the_range_go);
    tcase_add_test(tests, calls_that_are_left_out_go);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
