/* Priority, session, signals and the way it ends, of a process that gives way. */
#include "runner/give_way.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/suite.h"

enum { OF_PROCESS = 1, CLASS_SHIFT = 13, CLASS_IDLE = 3, ASKED_TO_END = 5, MOST_SECONDS = 20 };

/* ---- processes that give way ---------------------------------------------------------------- */

struct process {
    pid_t started, works; /* the same where sessions have no shares */
    int lives;            /* ends when the one that works does */
};

static void end(int number)
{
    (void)number;
    _exit(ASKED_TO_END);
}

static struct process start(void)
{
    struct process process;
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    process.started = fork();
    if (!process.started) {
        close(ends[0]);
        give_way();
        (void)signal(SIGTERM, end);
        (void)alarm(MOST_SECONDS); /* where what is tested is broken, it must not stay behind */
        const pid_t works = getpid();
        if (write(ends[1], &works, sizeof works) != sizeof works) _exit(1);
        for (;;) pause();
    }
    close(ends[1]);
    ck_assert_int_eq(read(ends[0], &process.works, sizeof process.works), sizeof process.works);
    process.lives = ends[0];
    return process;
}

static int await(const struct process *process)
{
    int status;
    char byte;
    ck_assert_int_eq(waitpid(process->started, &status, 0), process->started);
    ck_assert_int_eq(read(process->lives, &byte, 1), 0);
    close(process->lives);
    return status;
}

static int status_of(void (*work)(void))
{
    int status;
    const pid_t started = fork();
    if (!started) {
        give_way();
        work();
        _exit(0);
    }
    ck_assert_int_eq(waitpid(started, &status, 0), started);
    return status;
}

static bool first_line_of(char *text, int size, const char *path)
{
    FILE *file = fopen(path, "r");
    bool is_read = file && fgets(text, size, file);
    if (file) (void)fclose(file);
    return is_read;
}

/* ---- tests ---------------------------------------------------------------------------------- */

static bool is_last(void)
{
    return getpriority(PRIO_PROCESS, 0) == 19 &&
           syscall(SYS_ioprio_get, OF_PROCESS, 0) >> CLASS_SHIFT == CLASS_IDLE;
}

static void expect_children_to_be_last(void)
{
    int status;
    const pid_t child = fork();
    if (!child) _exit(is_last() ? 0 : 1);
    if (!is_last() || waitpid(child, &status, 0) != child || status) _exit(1);
}

START_TEST(everybody_else_goes_first)
{
    ck_assert(!is_last());
    ck_assert_int_eq(status_of(expect_children_to_be_last), 0);
}
END_TEST

/* Empty for the processes of a system that started before there were sessions. */
static void read_group(char *text, int size)
{
    if (!first_line_of(text, size, "/proc/self/autogroup")) *text = 0;
}

static void expect_a_share_of_a_new_session(void)
{
    char text[100];
    (void)setsid();
    read_group(text, sizeof text);
    if (!strstr(text, "nice 0")) _exit(1);
}

static bool sessions_have_shares(void)
{
    char enabled[100];
    int status;
    if (!first_line_of(enabled, sizeof enabled, "/proc/sys/kernel/sched_autogroup_enabled") ||
        *enabled != '1')
        return false;
    const pid_t child = fork();
    if (!child) {
        expect_a_share_of_a_new_session();
        _exit(0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return !status;
}

static void expect_the_least_share(void)
{
    char text[100];
    read_group(text, sizeof text);
    if (getsid(0) != getpid() || !strstr(text, "nice 19")) _exit(1);
}

/* The session of who starts it keeps its share. */
START_TEST(other_sessions_go_first)
{
    char before[100], after[100];
    if (!sessions_have_shares()) return;
    read_group(before, sizeof before);
    ck_assert_int_eq(status_of(expect_the_least_share), 0);
    read_group(after, sizeof after);
    ck_assert_str_eq(before, after);
}
END_TEST

static void exit_with_7(void) { _exit(7); }
static void crash(void) { (void)raise(SIGUSR1); }

START_TEST(it_ends_as_the_work_ends)
{
    ck_assert_int_eq(WEXITSTATUS(status_of(exit_with_7)), 7);
    int status = status_of(crash);
    ck_assert(WIFSIGNALED(status));
    ck_assert_int_eq(WTERMSIG(status), SIGUSR1);
}
END_TEST

START_TEST(signals_reach_the_work)
{
    const struct process process = start();
    kill(process.started, SIGTERM);
    ck_assert_int_eq(WEXITSTATUS(await(&process)), ASKED_TO_END);
}
END_TEST

START_TEST(killing_it_kills_the_work)
{
    const struct process process = start();
    kill(process.started, SIGKILL);
    ck_assert_int_eq(WTERMSIG(await(&process)), SIGKILL);
}
END_TEST

static char state_of(pid_t pid)
{
    char path[64], text[400], *end_of_name;
    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    if (!first_line_of(text, sizeof text, path)) return '?';
    end_of_name = strrchr(text, ')');
    return end_of_name ? end_of_name[2] : '?';
}

static void await_state(pid_t pid, bool stopped)
{
    while ((state_of(pid) == 'T') != stopped) (void)poll(NULL, 0, 1);
}

START_TEST(it_stops_and_continues_with_the_work)
{
    const struct process process = start();
    int status;
    kill(process.started, SIGTSTP);
    ck_assert_int_eq(waitpid(process.started, &status, WUNTRACED), process.started);
    ck_assert(WIFSTOPPED(status));
    await_state(process.works, true);
    kill(process.started, SIGCONT);
    await_state(process.works, false);
    kill(process.started, SIGTERM);
    ck_assert_int_eq(WEXITSTATUS(await(&process)), ASKED_TO_END);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("give_way");
    TCase *tests = tcase_create("give_way");
    tcase_add_test(tests, everybody_else_goes_first);
    tcase_add_test(tests, other_sessions_go_first);
    tcase_add_test(tests, it_ends_as_the_work_ends);
    tcase_add_test(tests, signals_reach_the_work);
    tcase_add_test(tests, killing_it_kills_the_work);
    tcase_add_test(tests, it_stops_and_continues_with_the_work);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
