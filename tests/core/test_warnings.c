/* Warnings reach who is told, as one line. */
#include <string.h>

#include "core/warnings.h"
#include "support/suite.h"

static char told[700];

static void tell(void *context, const char *text)
{
    *(int *)context += 1;
    strcpy(told, text);
}

START_TEST(sentences_are_one_line)
{
    int count = 0;
    warn((struct warnings){ tell, &count }, "%s has %d lines", "a\nb\x1b[2J", 2);
    ck_assert_int_eq(count, 1);
    ck_assert_str_eq(told, "a b [2J has 2 lines");
}
END_TEST

START_TEST(nobody_need_listen) { warn((struct warnings){ 0 }, "%d", 1); }
END_TEST

int main(void)
{
    Suite *suite = suite_create("warnings");
    TCase *tests = tcase_create("warnings");
    tcase_add_test(tests, sentences_are_one_line);
    tcase_add_test(tests, nobody_need_listen);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
