/* The least priority, also beside other sessions. */
#include "runner/give_way.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LEAST_PRIORITY = 19 };

/* What a terminal, a shell or a batch system sends to the process that it knows. */
static const int passed_on[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP };
enum { PASSED_ON = sizeof passed_on / sizeof *passed_on };

/* ---- sessions ----------------------------------------------------------------------------- */

static bool sessions_have_shares(void)
{
    char enabled = '0';
    int fd = open("/proc/sys/kernel/sched_autogroup_enabled", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    bool is_read = read(fd, &enabled, 1) == 1;
    (void)close(fd);
    return is_read && enabled == '1';
}

static bool leads_session(void) { return getsid(0) == getpid(); }

/* Of the whole session: only for one that is ours. */
static void take_least_share_of_sessions(void)
{
    char text[16];
    int fd = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);
    if (fd < 0) return;
    int length = snprintf(text, sizeof text, "%d", LEAST_PRIORITY);
    ssize_t written = write(fd, text, (size_t)length);
    (void)written; /* without it the priority still counts inside the session */
    (void)close(fd);
}

/* ---- the process that was started --------------------------------------------------------- */

static _Noreturn void end_like(int status)
{
    if (WIFEXITED(status)) _exit(WEXITSTATUS(status));
    const int number = WTERMSIG(status);
    const struct rlimit no_second_core = { 0, 0 };
    sigset_t all;
    (void)setrlimit(RLIMIT_CORE, &no_second_core);
    (void)signal(number, SIG_DFL);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_UNBLOCK, &all, NULL);
    (void)raise(number);
    _exit(128 + number);
}

static void pass_on(pid_t child, int number)
{
    if (number != SIGTSTP) {
        (void)kill(child, number);
        return;
    }
    /* A session without a terminal ignores SIGTSTP. */
    (void)kill(child, SIGSTOP);
    (void)raise(SIGSTOP);
    (void)kill(child, SIGCONT);
}

static _Noreturn void supervise(pid_t child, const sigset_t *watched)
{
    for (;;) {
        int status;
        const int number = sigwaitinfo(watched, NULL);
        if (number > 0 && number != SIGCHLD) pass_on(child, number);
        if (number == SIGCHLD && waitpid(child, &status, WNOHANG) == child) end_like(status);
    }
}

/* ---- both --------------------------------------------------------------------------------- */

/* Returns in the child, which leads a session; without room for a process, in the caller as it is. */
static void continue_in_own_session(void)
{
    const struct sigaction by_default = { .sa_handler = SIG_DFL };
    const pid_t started = getpid();
    sigset_t watched, before;

    (void)sigemptyset(&watched);
    (void)sigaddset(&watched, SIGCHLD);
    for (int i = 0; i < PASSED_ON; i++) (void)sigaddset(&watched, passed_on[i]);
    (void)sigaction(SIGCHLD, &by_default,
                    NULL); /* an ignored one would leave no status to wait for */
    (void)pthread_sigmask(SIG_BLOCK, &watched, &before);
    (void)fflush(NULL);
    const pid_t child = fork();
    if (child > 0) supervise(child, &watched);
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != started) _exit(128 + SIGKILL);
        (void)setsid();
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void give_way(void)
{
    /* From linux/ioprio.h: the C library has no function for it. */
    enum { OF_PROCESS = 1, THIS_THREAD = 0, CLASS_IDLE = 3, CLASS_SHIFT = 13 };
    const bool counts_sessions = sessions_have_shares();
    if (counts_sessions && !leads_session()) continue_in_own_session();
    if (counts_sessions && leads_session()) take_least_share_of_sessions();
    (void)setpriority(PRIO_PROCESS, THIS_THREAD, LEAST_PRIORITY);
    (void)syscall(SYS_ioprio_set, OF_PROCESS, THIS_THREAD, CLASS_IDLE << CLASS_SHIFT);
}
