/* How far a job is, in words: rates and times that people can read, whatever their size. */
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "cluster/job_status.h"
#include "support/suite.h"

START_TEST(rates_are_plain_numbers)
{
    static const struct {
        size_t calls;
        int64_t elapsed;
        const char *want;
    } cases[] = {
        { 1003, 1, "rate    1003 calls a second, about 1 s left\n" },
        { 12000000, 10, "rate    1200000 calls a second, about 10 s left\n" },
        { 30, 600, "rate    0.05 calls a second, about 10 min left\n" },
    };
    const struct plan plan = { .n_shards = 4 };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct job_status status = { .begun = 1,
                                     .active = 1,
                                     .calls_done = cases[i].calls,
                                     .calls_all = 2 * cases[i].calls,
                                     .seconds_done = 1,
                                     .seconds_all = 2,
                                     .began = 1000 };
        char *text = NULL;
        size_t length;
        FILE *out = open_memstream(&text, &length);
        job_status_print(out, &status, &plan, 1000 + cases[i].elapsed);
        fclose(out);
        ck_assert_msg(strstr(text, cases[i].want) != NULL, "%s", text);
        free(text);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("job_status");
    TCase *tests = tcase_create("job_status");
    tcase_add_test(tests, rates_are_plain_numbers);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
