/* Names of attempts say whether their process may still be at work. */
#include "cluster/attempt_name.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/suite.h"

START_TEST(a_name_says_when_and_whose)
{
    struct arena arena = { 0 };
    const char *name = attempt_name_make(&arena, 1763832456), *other = attempt_name_make(&arena, 7);
    ck_assert(attempt_name_is(name) && !attempt_name_is("done") && !attempt_name_is("attempt"));
    ck_assert_int_eq(attempt_name_began(name), 1763832456);
    ck_assert_int_eq(attempt_name_began("done"), 0);
    ck_assert_ptr_nonnull(strstr(name, attempt_host(&arena)));
    ck_assert_ptr_null(strchr(name, '/'));
    ck_assert_str_ne(strrchr(name, '-'), strrchr(other, '-'));
    arena_release(&arena);
}
END_TEST

/* A process of ours is dead when it has ended, and of no other process is anything known. */
START_TEST(only_what_certainly_ended_is_dead)
{
    struct arena arena = { 0 };
    int channel[2];
    char name[300] = "";
    ck_assert_int_eq(pipe(channel), 0);
    pid_t pid = fork();
    if (!pid) {
        const char *own = attempt_name_make(&arena, 5);
        _exit(write(channel[1], own, strlen(own)) > 0 ? 0 : 1);
    }
    ck_assert_int_gt(read(channel[0], name, sizeof name - 1), 0);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    ck_assert_msg(attempt_name_is_dead(name), "%s", name);
    ck_assert(!attempt_name_is_dead(attempt_name_make(&arena, 5)));

    char *space = strrchr(name, '-') - 8; /* of another host or container */
    *space = *space == '0' ? '1' : '0';
    ck_assert(!attempt_name_is_dead(name));
    ck_assert(!attempt_name_is_dead("attempt-5-host-1-00000000-00000000"));
    ck_assert(!attempt_name_is_dead("attempt-"));
    ck_assert(!attempt_name_is_dead("done"));
    arena_release(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("attempt_name");
    TCase *tests = tcase_create("attempt_name");
    tcase_add_test(tests, a_name_says_when_and_whose);
    tcase_add_test(tests, only_what_certainly_ended_is_dead);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
