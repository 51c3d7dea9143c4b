/* One socket, two requests: "fork a child that runs this function with these descriptors" and
 * "how did that child end". Requests are answered in order; a mutex lets the program's threads
 * share the socket. */
#include "runner/devices/process/zygote.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/growing.h"
#include "core/memory.h"

struct zygote {
    pid_t pid;
    int socket;
    pthread_mutex_t lock; /* one request and its answer at a time */
};

enum request_kind { REQUEST_SPAWN, REQUEST_REAP };

struct request {
    enum request_kind kind;
    zygote_entry *entry; /* SPAWN */
    pid_t pid;           /* REAP */
};

struct answer {
    int error; /* errno, 0 when done */
    pid_t pid;
    int wait_status;
};

/* --- the zygote's own side ----------------------------------------------------------------- */

/* Children that have not been reaped yet, to be killed when the program goes away. */
struct children {
    pid_t *pids;
    size_t count, room;
};

static bool children_add(struct children *children, pid_t pid)
{
    if (array_make_room(&children->pids, &children->room, children->count, sizeof *children->pids)
            .code)
        return false;
    children->pids[children->count++] = pid;
    return true;
}

static void children_remove(struct children *children, pid_t pid)
{
    size_t i = 0;
    for (; children->pids[i] != pid; i++)
        assert(i + 1 < children->count); /* it was waited for, so it is one of them */
    children->pids[i] = children->pids[--children->count];
}

/* Descriptors are numbered from 3 on in the child, in the order given, and nothing else stays
 * open. They are first moved out of the way, since one may sit where another has to go. */
static void child_arrange(int *descriptors, size_t count)
{
    int first = 3, above = 3 + ZYGOTE_MAX_DESCRIPTORS;
    for (size_t i = 0; i < count; i++) descriptors[i] = fcntl(descriptors[i], F_DUPFD, above);
    for (size_t i = 0; i < count; i++) descriptors[i] = dup2(descriptors[i], first + (int)i);
    (void)close_range((unsigned)first + (unsigned)count, ~0u, 0);
    int null = open("/dev/null", O_RDONLY);
    if (null >= 0 && null != 0) {
        (void)dup2(null, 0);
        (void)close(null);
    }
}

static void spawn(struct answer *answer, struct children *children, const struct request *request,
                  int *descriptors, size_t count)
{
    pid_t zygote = getpid(), pid = fork();
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != zygote) _exit(0);
        (void)setpgid(0, 0);
        child_arrange(descriptors, count);
        request->entry(descriptors, count);
        _exit(0);
    }
    if (pid < 0) {
        answer->error = errno;
        return;
    }
    (void)setpgid(pid, pid); /* here too: the program may kill the group at once */
    answer->pid = pid;
    if (children_add(children, pid)) return;
    (void)kill(-pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
    answer->error = ENOMEM;
}

static void reap(struct answer *answer, struct children *children, pid_t pid)
{
    pid_t ended;
    do ended = waitpid(pid, &answer->wait_status, 0);
    while (ended < 0 && errno == EINTR);
    if (ended < 0) answer->error = errno;
    else children_remove(children, pid);
}

/* Receive one request with its descriptors. False when the program is gone. */
static bool receive(int socket, struct request *request, int *descriptors, size_t *count)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(ZYGOTE_MAX_DESCRIPTORS * sizeof(int))];
    } control;
    struct iovec part = { request, sizeof *request };
    struct msghdr message = { .msg_iov = &part,
                              .msg_iovlen = 1,
                              .msg_control = control.bytes,
                              .msg_controllen = sizeof control.bytes };
    ssize_t got;
    do got = recvmsg(socket, &message, 0);
    while (got < 0 && errno == EINTR);
    *count = 0;
    if (got != (ssize_t)sizeof *request) return false;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (header) { /* `ask` sends descriptors and nothing else beside a request */
        *count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        memcpy(descriptors, CMSG_DATA(header), *count * sizeof(int));
    }
    return true;
}

static void serve(int inherited)
{
    enum { SOCKET = 3 };
    struct children children = { 0 };
    struct request request;
    int descriptors[ZYGOTE_MAX_DESCRIPTORS];
    size_t count;

    (void)setsid();
    /* Whatever the program had open, another zygote's socket for one, is not ours to keep. */
    int socket = dup2(inherited, SOCKET);
    if (socket != SOCKET) return;
    (void)close_range(SOCKET + 1, ~0u, 0);
    while (receive(socket, &request, descriptors, &count)) {
        struct answer answer = { 0 };
        if (request.kind == REQUEST_SPAWN) spawn(&answer, &children, &request, descriptors, count);
        else reap(&answer, &children, request.pid);
        for (size_t i = 0; i < count; i++) (void)close(descriptors[i]);
        if (send(socket, &answer, sizeof answer, MSG_NOSIGNAL) < 0) break;
    }
    for (size_t i = 0; i < children.count; i++) (void)kill(-children.pids[i], SIGKILL);
    memory_release(children.pids);
}

/* --- the program's side -------------------------------------------------------------------- */

struct status zygote_start(struct zygote **out)
{
    struct zygote *zygote = memory_allocate_zeroed(1, sizeof *zygote);
    if (!zygote) return status_no_memory(sizeof *zygote);
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
        int error = errno;
        memory_release(zygote);
        return status_error(STATUS_IO, "cannot make the socket to kernel processes: %s",
                            strerror(error));
    }
    pid_t pid = fork();
    if (pid == 0) {
        (void)close(pair[0]);
        serve(pair[1]);
        _exit(0);
    }
    int error = errno;
    (void)close(pair[1]);
    if (pid < 0) {
        (void)close(pair[0]);
        memory_release(zygote);
        return status_error(STATUS_IO, "cannot start the process that forks kernel processes: %s",
                            strerror(error));
    }
    zygote->pid = pid;
    zygote->socket = pair[0];
    (void)pthread_mutex_init(&zygote->lock, NULL);
    *out = zygote;
    return status_ok();
}

void zygote_stop(struct zygote *zygote)
{
    if (!zygote) return;
    /* Not just close: a process that was forked meanwhile may hold a copy. */
    (void)shutdown(zygote->socket, SHUT_RDWR);
    (void)close(zygote->socket);
    while (waitpid(zygote->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    (void)pthread_mutex_destroy(&zygote->lock);
    memory_release(zygote);
}

/* Send a request and wait for its answer; errno-style result. */
static int ask(struct zygote *zygote, struct answer *answer, struct request *request,
               const int *descriptors, size_t count)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(ZYGOTE_MAX_DESCRIPTORS * sizeof(int))];
    } control;
    struct iovec part = { request, sizeof *request };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
    if (count) {
        memset(&control, 0, sizeof control);
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(count * sizeof(int));
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(count * sizeof(int));
        memcpy(CMSG_DATA(header), descriptors, count * sizeof(int));
    }
    (void)pthread_mutex_lock(&zygote->lock);
    ssize_t done;
    do done = sendmsg(zygote->socket, &message, MSG_NOSIGNAL);
    while (done < 0 && errno == EINTR);
    if (done >= 0) {
        do done = recv(zygote->socket, answer, sizeof *answer, 0);
        while (done < 0 && errno == EINTR);
    }
    int error = done < 0 ? errno : done == (ssize_t)sizeof *answer ? answer->error : EPIPE;
    (void)pthread_mutex_unlock(&zygote->lock);
    return error;
}

struct status zygote_spawn(struct zygote *zygote, pid_t *pid, zygote_entry *entry,
                           const int *descriptors, size_t count)
{
    if (count > ZYGOTE_MAX_DESCRIPTORS)
        return status_error(STATUS_INTERNAL, "%zu descriptors for a kernel process; at most %d",
                            count, ZYGOTE_MAX_DESCRIPTORS);
    struct request request;
    memset(&request, 0, sizeof request); /* padding travels too */
    request.kind = REQUEST_SPAWN;
    request.entry = entry;
    struct answer answer;
    int error = ask(zygote, &answer, &request, descriptors, count);
    if (error)
        return status_error(error == ENOMEM ? STATUS_NO_MEMORY : STATUS_IO,
                            "cannot start a kernel process: %s", strerror(error));
    *pid = answer.pid;
    return status_ok();
}

struct status zygote_reap(struct zygote *zygote, pid_t pid, int *wait_status)
{
    struct request request;
    memset(&request, 0, sizeof request);
    request.kind = REQUEST_REAP;
    request.pid = pid;
    struct answer answer;
    int error = ask(zygote, &answer, &request, NULL, 0);
    if (error)
        return status_error(STATUS_IO, "cannot tell how kernel process %ld ended: %s", (long)pid,
                            strerror(error));
    *wait_status = answer.wait_status;
    return status_ok();
}
