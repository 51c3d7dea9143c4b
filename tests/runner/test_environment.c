/* What the process asks of the machine. Each test is a process of its own. */
#include "runner/environment.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/suite.h"

enum { OF_PROCESS = 1, CLASS_SHIFT = 13, CLASS_IDLE = 3 };

static bool is_last(void)
{
    return getpriority(PRIO_PROCESS, 0) == 19 &&
           syscall(SYS_ioprio_get, OF_PROCESS, 0) >> CLASS_SHIFT == CLASS_IDLE;
}

/* The process, and what it starts. */
START_TEST(everybody_else_goes_first)
{
    int status;
    ck_assert(!is_last());
    environment_give_way();
    ck_assert(is_last());
    pid_t child = fork();
    if (!child) _exit(is_last() ? 0 : 1);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}
END_TEST

START_TEST(there_is_a_core) { ck_assert_int_ge(environment_cores(), 1); }
END_TEST

int main(void)
{
    Suite *suite = suite_create("environment");
    TCase *tests = tcase_create("environment");
    tcase_add_test(tests, everybody_else_goes_first);
    tcase_add_test(tests, there_is_a_core);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
