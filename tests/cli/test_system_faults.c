/* System calls that fail, one after the other, in the program and in the processes that devices
 * fork: sockets, pipes, shared memory, mappings, forks, threads. No call hangs or crashes the
 * program. What a signal interrupts changes no byte. Any other failure ends the run with a line, and
 * going on ends in the bytes of the undisturbed run; or it costs calls, whose rows say so; or nothing.
 *
 * The linker puts the functions of this file in the place of the calls (--wrap, CMakeLists.txt).
 * Descriptors that run out are the real thing: limits from far too few to enough.
 */
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#include "runner/environment.h"
#include "support/cases.h"
#include "support/dumps.h"
#include "support/faults.h"
#include "support/suite.h"
#include "support/trees.h"

/* ---- the calls -------------------------------------------------------------------------- */

enum call {
    CALL_NONE,
    CALL_EVENTFD,
    CALL_FOPEN,
    CALL_FORK,
    CALL_FSTAT,
    CALL_FTRUNCATE,
    CALL_GETRANDOM,
    CALL_LOCALTIME,
    CALL_MEMFD_CREATE,
    CALL_MMAP,
    CALL_MPROTECT,
    CALL_OPEN,
    CALL_PIPE2,
    CALL_POLL,
    CALL_PREAD,
    CALL_PTHREAD_CREATE,
    CALL_PTHREAD_GETATTR,
    CALL_READ,
    CALL_RECV,
    CALL_RECVMSG,
    CALL_SCHED_GETAFFINITY,
    CALL_SCHED_GETCPU,
    CALL_SEM_INIT,
    CALL_SEND,
    CALL_SENDMSG,
    CALL_SOCKETPAIR,
    CALL_WAITPID,
    CALL_DUP2,
};

/* In memory that children share, so that a failure happens once in all processes. */
static struct {
    atomic_int call;
    atomic_long left;
    int error;
} * armed;

static bool fails(enum call call)
{
    if (!armed || atomic_load(&armed->call) != (int)call) return false;
    if (atomic_fetch_sub(&armed->left, 1) != 1) return false;
    errno = armed->error;
    return true;
}

#define WRAP(type, name, call, failure, parameters, arguments) \
    type __real_##name parameters;                             \
    type __wrap_##name parameters;                             \
    type __wrap_##name parameters { return fails(call) ? (failure) : __real_##name arguments; }

WRAP(int, eventfd, CALL_EVENTFD, -1, (unsigned value, int flags), (value, flags))
WRAP(FILE *, fopen, CALL_FOPEN, NULL, (const char *path, const char *mode), (path, mode))
WRAP(pid_t, fork, CALL_FORK, -1, (void), ())
WRAP(int, fstat, CALL_FSTAT, -1, (int fd, struct stat *info), (fd, info))
WRAP(int, ftruncate, CALL_FTRUNCATE, -1, (int fd, off_t bytes), (fd, bytes))
WRAP(ssize_t, getrandom, CALL_GETRANDOM, -1, (void *out, size_t bytes, unsigned flags),
     (out, bytes, flags))
WRAP(struct tm *, localtime_r, CALL_LOCALTIME, NULL, (const time_t *when, struct tm *out),
     (when, out))
WRAP(int, memfd_create, CALL_MEMFD_CREATE, -1, (const char *name, unsigned flags), (name, flags))
WRAP(void *, mmap, CALL_MMAP, MAP_FAILED,
     (void *at, size_t bytes, int rights, int flags, int fd, off_t offset),
     (at, bytes, rights, flags, fd, offset))
WRAP(int, mprotect, CALL_MPROTECT, -1, (void *at, size_t bytes, int rights), (at, bytes, rights))
WRAP(int, pipe2, CALL_PIPE2, -1, (int ends[2], int flags), (ends, flags))
WRAP(int, poll, CALL_POLL, -1, (struct pollfd * events, nfds_t count, int ms), (events, count, ms))
WRAP(ssize_t, pread, CALL_PREAD, -1, (int fd, void *out, size_t bytes, off_t offset),
     (fd, out, bytes, offset))
WRAP(int, pthread_create, CALL_PTHREAD_CREATE, armed->error,
     (pthread_t * out, const pthread_attr_t *how, void *(*start)(void *), void *argument),
     (out, how, start, argument))
WRAP(int, pthread_getattr_np, CALL_PTHREAD_GETATTR, armed->error,
     (pthread_t thread, pthread_attr_t *out), (thread, out))
WRAP(ssize_t, recvmsg, CALL_RECVMSG, -1, (int fd, struct msghdr *message, int flags),
     (fd, message, flags))
WRAP(int, sched_getaffinity, CALL_SCHED_GETAFFINITY, -1, (pid_t pid, size_t bytes, cpu_set_t *out),
     (pid, bytes, out))
WRAP(int, sched_getcpu, CALL_SCHED_GETCPU, -1, (void), ())
WRAP(int, sem_init, CALL_SEM_INIT, -1, (sem_t * out, int shared, unsigned value),
     (out, shared, value))
WRAP(ssize_t, send, CALL_SEND, -1, (int fd, const void *data, size_t bytes, int flags),
     (fd, data, bytes, flags))
WRAP(ssize_t, sendmsg, CALL_SENDMSG, -1, (int fd, const struct msghdr *message, int flags),
     (fd, message, flags))
WRAP(int, socketpair, CALL_SOCKETPAIR, -1, (int domain, int type, int protocol, int ends[2]),
     (domain, type, protocol, ends))
WRAP(pid_t, waitpid, CALL_WAITPID, -1, (pid_t pid, int *status, int options),
     (pid, status, options))
WRAP(int, dup2, CALL_DUP2, -1, (int from, int to), (from, to))

/* A signal interrupts only what waits. */
static bool interrupts(bool waits) { return waits || armed->error != EINTR; }

ssize_t __real_read(int fd, void *out, size_t bytes);
ssize_t __wrap_read(int fd, void *out, size_t bytes);
ssize_t __wrap_read(int fd, void *out, size_t bytes)
{
    bool fail = armed && interrupts(!(fcntl(fd, F_GETFL) & O_NONBLOCK)) && fails(CALL_READ);
    return fail ? -1 : __real_read(fd, out, bytes);
}

ssize_t __real_recv(int fd, void *out, size_t bytes, int flags);
ssize_t __wrap_recv(int fd, void *out, size_t bytes, int flags);
ssize_t __wrap_recv(int fd, void *out, size_t bytes, int flags)
{
    bool fail = armed && interrupts(!(flags & MSG_DONTWAIT)) && fails(CALL_RECV);
    return fail ? -1 : __real_recv(fd, out, bytes, flags);
}

/* It takes a mode now and then. */
int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, unsigned mode);
int __wrap_open(const char *path, int flags, unsigned mode)
{
    return fails(CALL_OPEN) ? -1 : __real_open(path, flags, mode);
}

/* Failures as they happen. ABSORBED ones change nothing at all. */
enum { ABSORBED = 1 };

static const struct {
    const char *name;
    enum call call;
    int error, flags;
} failures[] = {
    { "poll: EINTR", CALL_POLL, EINTR, ABSORBED },
    { "read: EINTR", CALL_READ, EINTR, ABSORBED },
    { "recv: EINTR", CALL_RECV, EINTR, ABSORBED },
    { "recvmsg: EINTR", CALL_RECVMSG, EINTR, ABSORBED },
    { "sendmsg: EINTR", CALL_SENDMSG, EINTR, ABSORBED },
    { "waitpid: EINTR", CALL_WAITPID, EINTR, ABSORBED },
    { "getrandom: EAGAIN", CALL_GETRANDOM, EAGAIN, ABSORBED },
    { "sched_getcpu: ENOSYS", CALL_SCHED_GETCPU, ENOSYS, ABSORBED },
    { "sched_getaffinity: EINVAL", CALL_SCHED_GETAFFINITY, EINVAL, ABSORBED },
    { "pthread_getattr_np: ENOENT", CALL_PTHREAD_GETATTR, ENOENT, ABSORBED },
    { "fopen: EMFILE", CALL_FOPEN, EMFILE, ABSORBED }, /* of what the system says of itself */
    { "eventfd: EMFILE", CALL_EVENTFD, EMFILE, 0 },
    { "fork: EAGAIN", CALL_FORK, EAGAIN, 0 },
    { "fork: ENOMEM", CALL_FORK, ENOMEM, 0 },
    { "fstat: EIO", CALL_FSTAT, EIO, 0 },
    { "ftruncate: ENOSPC", CALL_FTRUNCATE, ENOSPC, 0 },
    { "localtime_r: EOVERFLOW", CALL_LOCALTIME, EOVERFLOW, 0 },
    { "memfd_create: ENFILE", CALL_MEMFD_CREATE, ENFILE, 0 },
    { "mmap: ENOMEM", CALL_MMAP, ENOMEM, 0 },
    { "mprotect: ENOMEM", CALL_MPROTECT, ENOMEM, 0 },
    { "open: EMFILE", CALL_OPEN, EMFILE, 0 },
    { "pipe2: EMFILE", CALL_PIPE2, EMFILE, 0 },
    { "poll: ENOMEM", CALL_POLL, ENOMEM, 0 },
    { "pread: EIO", CALL_PREAD, EIO, 0 },
    { "pthread_create: EAGAIN", CALL_PTHREAD_CREATE, EAGAIN, 0 },
    { "read: EIO", CALL_READ, EIO, 0 },
    { "recv: ECONNRESET", CALL_RECV, ECONNRESET, 0 },
    { "recvmsg: ENOBUFS", CALL_RECVMSG, ENOBUFS, 0 },
    { "send: EPIPE", CALL_SEND, EPIPE, 0 },
    { "sendmsg: EPIPE", CALL_SENDMSG, EPIPE, 0 },
    { "sem_init: ENOSYS", CALL_SEM_INIT, ENOSYS, 0 },
    { "socketpair: EMFILE", CALL_SOCKETPAIR, EMFILE, 0 },
    { "waitpid: ECHILD", CALL_WAITPID, ECHILD, 0 },
    { "dup2: EBUSY", CALL_DUP2, EBUSY, 0 },
};
enum { N_FAILURES = sizeof failures / sizeof *failures };

/* ---- runs ------------------------------------------------------------------------------- */

static struct workspace place;
static char worker_backend[1200];

static const struct {
    const char *name, *threads, *backend, *isolate;
} runs[] = {
    { "cpu, two threads", "2", "cpu", "process" },
    { "plugin", "1", "plugin:manifest.json", "process" },
    { "plugin, two threads", "2", "plugin:manifest.json", "process" },
    { "plugin in process", "1", "plugin:manifest.json", "none" },
    { "worker", "1", worker_backend, "process" },
};
enum { N_RUNS = sizeof runs / sizeof *runs };

/* A failing call, a limit of descriptors (0: none), or neither. */
struct trouble {
    enum call call;
    int error;
    long at;
    rlim_t descriptors;
};

static struct rlimit limit_descriptors(rlim_t most)
{
    struct rlimit before, limit;
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
    limit = before;
    if (most) limit.rlim_cur = most;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    return before;
}

static struct command_outcome run(size_t which, const char *result, const struct trouble *trouble,
                                  bool *reached)
{
    const char *words[] = { "probe-ut",
                            "run_ut",
                            "-api_info",
                            "dump.json",
                            "--backend",
                            runs[which].backend,
                            "-n",
                            runs[which].threads,
                            "--isolate",
                            runs[which].isolate,
                            "--case_timeout",
                            "20",
                            "--no-progress",
                            "--memory",
                            "1G",
                            result ? "-csv_path" : "-o",
                            result ? result : "out",
                            NULL };
    struct command_outcome o = { .exit_status = 0 };
    int count = 0;
    while (words[count]) count++;
    fflush(stdout);
    fflush(stderr);
    struct capture out = capture_begin(STDOUT_FILENO), err = capture_begin(STDERR_FILENO);
    struct rlimit before = limit_descriptors(trouble ? trouble->descriptors : 0);
    if (trouble) {
        armed->error = trouble->error;
        atomic_store(&armed->left, trouble->at);
        atomic_store(&armed->call, (int)trouble->call);
    }
    o.status = commands_run(&o.exit_status, count, (char *const *)(void *)words);
    atomic_store(&armed->call, CALL_NONE);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
    fflush(stdout);
    fflush(stderr);
    o.out = capture_end(&out);
    o.err = capture_end(&err);
    if (reached) *reached = atomic_load(&armed->left) <= 0;
    return o;
}

static char *output(const char *directory, const char *kind)
{
    char pattern[100];
    snprintf(pattern, sizeof pattern, "%s/accuracy_checking_%s_*.csv", directory, kind);
    char *text = read_file(only_match(&place, pattern), NULL);
    ck_assert_ptr_nonnull(text);
    return text;
}

/* Rows that are not those of the undisturbed run say that they could not be, and why. */
static void check_rows(const char *what)
{
    char *want = output("whole", "details"), *got = output("out", "details");
    char *rest = got, *start = want, *end;
    for (; (end = strstr(rest, "\r\n")); rest = end + 2) {
        *end = '\0';
        if (strstr(start, rest)) continue;
        const char *verdict = strstr(rest, ",SKIP,");
        if (!verdict) verdict = strstr(rest, ",error,");
        ck_assert_msg(verdict && strlen(strchr(verdict + 1, ',')) > 15, "%s: %s", what, rest);
        ck_assert_msg(!strstr(rest, "internal"), "%s: %s", what, rest);
    }
    free(want);
    free(got);
    want = output("whole", "result");
    got = output("out", "result");
    ck_assert_msg(count_lines(want) == count_lines(got), "%s:\n%s", what, got);
    free(want);
    free(got);
}

static const char *result_file(void)
{
    static const char pattern[] = "out/accuracy_checking_result_*.csv";
    return count_matches(&place, pattern) ? only_match(&place, pattern) : NULL;
}

static void check_end(size_t which, struct command_outcome *got, bool absorbed, const char *what)
{
    if (!got->status.code) {
        if (absorbed) tree_compare("whole", "out", 0, what);
        else check_rows(what);
        return;
    }
    ck_assert_msg(!absorbed, "%s: %s", what, got->status.text);
    ck_assert_msg(got->status.text[0] && !strchr(got->status.text, '\n'), "%s: '%s'", what,
                  got->status.text);
    ck_assert_msg(got->status.code == STATUS_IO || got->status.code == STATUS_NO_MEMORY ||
                      got->status.code == STATUS_BAD_INPUT || got->status.code == STATUS_DEVICE,
                  "%s: %d, %s", what, (int)got->status.code, got->status.text);
    const char *result = result_file();
    if (!result) return;
    struct command_outcome again = run(which, result, NULL, NULL);
    ck_assert_msg(!again.status.code, "resuming after %s (%s): %s", what, got->status.text,
                  again.status.text);
    command_outcome_free(&again);
    check_rows(what);
}

static void open_descriptors(char *text, size_t room)
{
    size_t used = 0;
    text[0] = '\0';
    for (int fd = 0; fd < 64; fd++)
        if (fcntl(fd, F_GETFD) >= 0) used += (size_t)snprintf(text + used, room - used, "%d ", fd);
}

/* One run in trouble. False when the call that was to fail was not made. */
static bool run_in(size_t which, const struct trouble *trouble, bool absorbed, const char *name)
{
    char what[300], before[400], after[400];
    bool reached;
    snprintf(what, sizeof what, "%s: %s, number %ld", runs[which].name, name, trouble->at);
    tree_remove("out");
    open_descriptors(before, sizeof before);
    struct command_outcome got = run(which, NULL, trouble, &reached);
    check_end(which, &got, absorbed || (trouble->call && !reached), what);
    command_outcome_free(&got);
    open_descriptors(after, sizeof after);
    ck_assert_msg(!strcmp(before, after), "%s: descriptors %sbefore, %safterwards", what, before,
                  after);
    return reached;
}

/* ---- tests ------------------------------------------------------------------------------ */

static void undisturbed(size_t which)
{
    tree_remove("out");
    tree_remove("whole");
    struct command_outcome o = run(which, NULL, NULL, NULL);
    ck_assert_msg(!o.status.code, "%s: %s", runs[which].name, o.status.text);
    command_outcome_free(&o);
    ck_assert_int_eq(rename("out", "whole"), 0);
}

/* Of calls that are made more often than that a sample. */
enum { ALL = 16 };

START_TEST(system_calls_fail)
{
    size_t which = (size_t)_i;
    undisturbed(which);
    for (size_t i = 0; i < N_FAILURES; i++) {
        struct trouble t = { .call = failures[i].call, .error = failures[i].error, .at = 1 };
        long tried = 0;
        while (run_in(which, &t, failures[i].flags & ABSORBED, failures[i].name)) {
            tried++;
            t.at += t.at < ALL ? 1 : 1 + t.at / 3;
        }
        printf("%s: %s, %ld times\n", runs[which].name, failures[i].name, tried);
        fflush(stdout);
    }
}
END_TEST

/* Every number of descriptors, from none for the program to as many as it wants. */
START_TEST(descriptors_run_out)
{
    size_t which = (size_t)_i;
    int first = dup(STDOUT_FILENO); /* two more are taken while the output is captured */
    close(first);
    undisturbed(which);
    rlim_t most = (rlim_t)first + 2;
    bool whole = false;
    for (long failed = 0; !whole; most++) {
        char what[100];
        struct trouble t = { .at = LONG_MAX, .descriptors = most };
        snprintf(what, sizeof what, "%lu descriptors", (unsigned long)most);
        run_in(which, &t, false, what);
        const char *result = result_file();
        whole = result && tree_read("out").count == tree_read("whole").count &&
                tree_same_bytes(only_match(&place, "out/*details*"),
                                only_match(&place, "whole/*details*"), false);
        failed += !whole;
        ck_assert_uint_lt(most, 100);
        if (whole) ck_assert_int_gt(failed, 1);
    }
    printf("%s: enough with %lu descriptors\n", runs[which].name, (unsigned long)most - 1);
}
END_TEST

static void write_everything(void)
{
    static const char manifest[] =
        "{ \"plugin\": 1, \"libraries\": { \"math\": \"libm.so.6\" },\n"
        "  \"kernels\": [ { \"apis\": [\"Torch.exp\"], \"parameters\": [\"x\"],\n"
        "    \"outputs\": [ { \"name\": \"y\", \"shape\": \"shape(x)\", \"dtype\": \"'float32'\" } "
        "],\n"
        "    \"steps\": [ { \"call\": \"expf\", \"loop\": \"y\",\n"
        "      \"arguments\": [ { \"element\": \"x\", \"type\": \"f32\" } ],\n"
        "      \"returns\": { \"type\": \"f32\", \"element\": \"y\" } } ] } ] }\n";
    static const size_t sizes[] = { 4, 40000, 4 }; /* one beyond the first pages of shared memory */
    char ut[] = PROBE_UT;
    struct dump_text d;
    armed =
        __real_mmap(NULL, sizeof *armed, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert(armed != MAP_FAILED);
    place = faults_workspace();
    snprintf(worker_backend, sizeof worker_backend, "worker:'%s/tests/plugin/worker-peer' well",
             dirname(ut));
    write_text("manifest.json", manifest);
    dump_begin(&d);
    for (int i = 0; i < 3; i++) {
        char name[40], body[800];
        snprintf(name, sizeof name, "Torch.exp.%d.forward", i);
        snprintf(body, sizeof body, "\"input_args\":[%s],\"input_kwargs\":{},\"output\":[%s]",
                 tensor_text(sizes[i], -1, 1), tensor_text(sizes[i], 0, 3));
        dump_entry(&d, name, body);
    }
    dump_write(&d, "dump.json");
}

static void remove_everything(void) { workspace_remove(&place); }

int main(int argc, char **argv)
{
    (void)argc;
    if (environment_prepare(argv).code) return 1;
    Suite *suite = suite_create("system_faults");
    TCase *tests = tcase_create("system_faults");
    tcase_set_timeout(tests, 600);
    tcase_add_unchecked_fixture(tests, write_everything, remove_everything);
    tcase_add_loop_test(tests, system_calls_fail, 0, N_RUNS);
    tcase_add_loop_test(tests, descriptors_run_out, 0, N_RUNS);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
