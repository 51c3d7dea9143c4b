/* The program's side: processes, time limits and the diagnosis. */
#include "runner/devices/process/isolation.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/memory.h"
#include "runner/devices/process/isolation_child.h"
#include "runner/devices/process/process_log.h"

/* Freed memory that an isolation keeps for the next call; faulting it in again costs more than
 * most kernels. */
#define KEEP_BYTES ((uint64_t)256 << 20)

/* Loading libraries may start a GPU driver, so it gets at least this long. */
#define START_TIMEOUT_S 60.0

struct isolation {
    struct isolation_options options;
    void *start;
    uint64_t start_bytes;
    struct space space;

    pid_t pid; /* 0: no process */
    int socket;
    struct process_log log;
    uint64_t sequence;
    unsigned starts;

    /* In process: the second mapping and the handler's state. */
    struct space_view view;
    struct isolated isolated;
    bool started;
};

struct status isolation_open(struct isolation **out, const struct isolation_options *options,
                             const void *start, uint64_t start_bytes)
{
    struct isolation *isolation = memory_allocate_zeroed(1, sizeof *isolation);
    if (!isolation) return status_no_memory(sizeof *isolation);
    isolation->options = *options;
    isolation->socket = -1;
    isolation->log = PROCESS_LOG_NONE;
    isolation->start = memory_allocate(start_bytes);
    struct status st = isolation->start ? space_open(&isolation->space)
                                        : status_no_memory(start_bytes);
    if (st.code) {
        memory_release(isolation->start);
        memory_release(isolation);
        return st;
    }
    memcpy(isolation->start, start, start_bytes);
    isolation->start_bytes = start_bytes;
    *out = isolation;
    return status_ok();
}

struct space *isolation_space(struct isolation *isolation) { return &isolation->space; }

unsigned isolation_starts(const struct isolation *isolation) { return isolation->starts; }

/* --- diagnosis ------------------------------------------------------------------------------ */

/* " in softmax_f16", from a header that a wild write may have filled with anything. */
static void describe_place(char *text, size_t bytes, const struct space_header *header)
{
    char doing[sizeof header->doing];
    memcpy(doing, header->doing, sizeof doing);
    doing[sizeof doing - 1] = '\0';
    for (char *p = doing; *p; p++)
        if (*p < ' ' || *p > '~') *p = '?';
    (void)snprintf(text, bytes, *doing ? " in %s" : "%s", doing);
}

/* The process touched a page that it must not. Which one says what it tried. */
static bool diagnose_fence(struct status *st, const struct isolation *isolation, const char *place)
{
    const struct space_header *header = space_header(&isolation->space);
    uint64_t offset = header->fault_address - header->fault_space;
    if (header->fault_signal != SIGSEGV || header->fault_address < header->fault_space ||
        offset >= isolation->space.bytes)
        return false;
    const struct space_buffer *buffer = space_find(&isolation->space, offset);
    if (offset < isolation->space.inputs) { /* requests, which may be read */
        *st = status_error(STATUS_DEVICE, "device modified the arguments of the call%s", place);
        return true;
    }
    if (!buffer) {
        bool input = offset < isolation->space.outputs;
        *st = status_error(STATUS_DEVICE, "device crashed: SIGSEGV%s, far outside its %s", place,
                           input ? "inputs" : "outputs");
        return true;
    }
    if (buffer->role == SPACE_INPUT && offset < buffer->fence + buffer->fence_bytes) {
        bool inside = offset >= buffer->offset && offset < buffer->offset + buffer->bytes;
        *st = status_error(STATUS_DEVICE, "device %s %s%s",
                           inside ? "modified" : "wrote just outside", buffer->label, place);
        return true;
    }
    const char *verb = header->fault_is_write == 1   ? "wrote"
                       : header->fault_is_write == 0 ? "read"
                                                     : "went";
    *st = status_error(STATUS_DEVICE, "device %s past %s%s (at byte %llu of %llu)", verb,
                       buffer->label, place, (unsigned long long)(offset - buffer->offset),
                       (unsigned long long)buffer->bytes);
    return true;
}

static bool is_stack_overflow(const struct space_header *header)
{
    uint64_t low = header->fault_stack_low, reach = (uint64_t)1 << 20;
    return header->fault_signal == SIGSEGV && low && header->fault_address < low + reach / 16 &&
           header->fault_address + reach > low && header->fault_stack_pointer < low + reach / 16;
}

static struct status diagnose_signal(const struct isolation *isolation, int signal,
                                     const char *place, const char *words)
{
    const struct space_header *header = space_header(&isolation->space);
    uint64_t limit = isolation->options.memory_limit;
    char name[32], tail[200] = "";
    struct status st;

    (void)process_signal_name(signal, name, sizeof name);
    if (*words) (void)snprintf(tail, sizeof tail, ": %s", words);
    bool spoke = header->fault_signal == signal;
    uint64_t used = header->private_bytes - header->private_start;
    if (limit &&
        ((spoke && header->private_bytes > header->private_start && used >= limit - limit / 8) ||
         strstr(words, "bad_alloc")))
        return status_error(STATUS_DEVICE, "device ran out of memory (limit %.2f GB)%s: %s",
                            (double)limit / 1e9, place, name);
    if (spoke && diagnose_fence(&st, isolation, place)) return st;
    if (spoke && is_stack_overflow(header))
        return status_error(STATUS_DEVICE, "device overflowed its stack%s", place);
    if (spoke && (signal == SIGSEGV || signal == SIGBUS))
        return status_error(STATUS_DEVICE, "device crashed: %s%s at address %#llx%s", name, place,
                            (unsigned long long)header->fault_address, tail);
    if (signal == SIGKILL)
        return status_error(STATUS_DEVICE,
                            "device was killed%s: by the system for want of memory, or it closed "
                            "its connection%s",
                            place, tail);
    return status_error(STATUS_DEVICE, "device crashed: %s%s%s", name, place, tail);
}

/* End the process, learn how it ended, and put that into words. */
static struct status bury(struct isolation *isolation, bool timed_out, double timeout_s)
{
    char place[160], words[160];
    int wait_status = 0;

    (void)kill(-isolation->pid, SIGKILL);
    struct status st = zygote_reap(isolation->options.zygote, isolation->pid, &wait_status);
    isolation->pid = 0;
    (void)close(isolation->socket);
    isolation->socket = -1;
    process_log_drain(&isolation->log);
    process_log_last_line(&isolation->log, words, sizeof words);
    process_log_close(&isolation->log);
    if (st.code) return st;

    describe_place(place, sizeof place, space_header(&isolation->space));
    const char *colon = *words ? ": " : "";
    if (timed_out)
        return status_error(STATUS_DEVICE, "device hung for %g s%s%s%s", timeout_s, place, colon,
                            words);
    if (WIFEXITED(wait_status))
        return status_error(STATUS_DEVICE, "device exited with status %d%s%s%s",
                            WEXITSTATUS(wait_status), place, colon, words);
    return diagnose_signal(isolation, WTERMSIG(wait_status), place, words);
}

/* --- calls ---------------------------------------------------------------------------------- */

static double now_s(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Wait for the answer while reading what the process prints. */
static struct status wait_answer(struct isolation *isolation, double timeout_s)
{
    double deadline = timeout_s > 0 ? now_s() + timeout_s : 0;
    struct pollfd watched[2] = { { .fd = isolation->socket, .events = POLLIN },
                                 { .fd = isolation->log.descriptor, .events = POLLIN } };
    for (;;) {
        double left_ms = deadline > 0 ? (deadline - now_s()) * 1e3 : -1;
        if (deadline > 0 && left_ms <= 0) return bury(isolation, true, timeout_s);
        int wait_ms = deadline <= 0 ? -1 : left_ms > 1e9 ? 1000000000 : (int)left_ms + 1;
        int ready = poll(watched, 2, wait_ms);
        if (ready < 0 && errno != EINTR)
            return status_error(STATUS_IO, "cannot wait for a kernel process: %s", strerror(errno));
        if (ready <= 0) continue;
        if (watched[1].revents) {
            process_log_drain(&isolation->log);
            watched[1].fd = isolation->log.descriptor;
        }
        if (!watched[0].revents) continue;
        struct isolation_message answer;
        ssize_t got = recv(isolation->socket, &answer, sizeof answer, MSG_DONTWAIT);
        if (got < 0 && errno == EAGAIN) continue;
        if (got != (ssize_t)sizeof answer || answer.sequence != isolation->sequence)
            return bury(isolation, false, 0);
        return status_ok();
    }
}

/* The handler's status, as it stands in the header. */
static struct status handler_status(const struct isolation *isolation)
{
    const struct space_header *header = space_header(&isolation->space);
    struct status st =
        status_error(STATUS_DEVICE, "%.*s", (int)sizeof header->text - 1, header->text);
    switch (header->code) {
    case STATUS_OK: return status_ok();
    case STATUS_BAD_ARGUMENT:
    case STATUS_BAD_INPUT:
    case STATUS_INTERNAL:
    case STATUS_SKIP:
    case STATUS_NO_MEMORY:
    case STATUS_IO: st.code = (enum status_code)header->code; break;
    default: break;
    }
    return st;
}

static void clear_notes(struct isolation *isolation)
{
    struct space_header *header = space_header(&isolation->space);
    header->doing[0] = '\0';
    header->text[0] = '\0';
    header->code = STATUS_INTERNAL;
    header->fault_signal = 0;
}

/* Let the process wake up on the processor that is about to wait for it. Waking an idle one
 * takes 35 us in a virtual machine, changing to a process on the same one 2 us. The process
 * itself widens its choice again before it works. */
static void bring_near(pid_t pid)
{
    cpu_set_t here;
    int cpu = sched_getcpu();
    if (cpu < 0 || cpu >= CPU_SETSIZE) return;
    CPU_ZERO(&here);
    CPU_SET((size_t)cpu, &here);
    (void)sched_setaffinity(pid, sizeof here, &here);
}

static struct status exchange(struct isolation *isolation, uint64_t offset, uint64_t bytes,
                              bool starting)
{
    const struct isolation_options *options = &isolation->options;
    clear_notes(isolation);
    if (options->in_process) {
        if (!space_view_fence(&isolation->view))
            return status_error(STATUS_IO, "cannot protect the tensors of a call");
        isolated_handle(&isolation->isolated, options->handler, isolation->view.base + offset,
                        bytes, starting);
        return handler_status(isolation);
    }
    struct isolation_message message;
    memset(&message, 0, sizeof message);
    message.sequence = ++isolation->sequence;
    message.offset = offset;
    message.bytes = bytes;
    message.starting = starting;
    message.handler = options->handler;
    message.finish = options->finish;
    message.memory_limit = options->memory_limit;
    double timeout_s = options->timeout_s;
    if (starting && timeout_s > 0 && timeout_s < START_TIMEOUT_S) timeout_s = START_TIMEOUT_S;
    bring_near(isolation->pid);
    /* A failing send means that the process died between calls. */
    if (send(isolation->socket, &message, sizeof message, MSG_NOSIGNAL) < 0)
        return bury(isolation, false, 0);
    TRY(wait_answer(isolation, timeout_s));
    return handler_status(isolation);
}

static struct status spawn(struct isolation *isolation)
{
    int pair[2], log[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
        return status_error(STATUS_IO, "cannot make a socket: %s", strerror(errno));
    if (pipe2(log, O_CLOEXEC)) {
        struct status st = status_error(STATUS_IO, "cannot make a pipe: %s", strerror(errno));
        (void)close(pair[0]);
        (void)close(pair[1]);
        return st;
    }
    int given[CHILD_DESCRIPTORS] = {
        [CHILD_SOCKET] = pair[1], [CHILD_MEMORY] = isolation->space.descriptor, [CHILD_LOG] = log[1]
    };
    struct status st = zygote_spawn(isolation->options.zygote, &isolation->pid, isolation_child,
                                    given, CHILD_DESCRIPTORS);
    (void)close(pair[1]);
    (void)close(log[1]);
    if (st.code) {
        (void)close(pair[0]);
        (void)close(log[0]);
        return st;
    }
    isolation->socket = pair[0];
    process_log_open(&isolation->log, log[0]);
    return status_ok();
}

/* The start request takes the place of the call's in the space, which is therefore saved. Buffers
 * that were placed stay as they are. */
static struct status run_start(struct isolation *isolation)
{
    struct space *space = &isolation->space;
    uint64_t offset, used = space->request_used;
    TRY(space_request(space, &offset, isolation->start_bytes));
    memcpy(space_at(space, offset), isolation->start, isolation->start_bytes);
    struct status st = exchange(isolation, offset, isolation->start_bytes, true);
    space->request_used = used;
    return st;
}

static void stop(struct isolation *isolation)
{
    if (!isolation->pid) return;
    int wait_status;
    /* Closing the socket lets the process finish by itself: a device may want to close its
     * handles. It is not waited for longer than that may take. */
    (void)shutdown(isolation->socket, SHUT_WR);
    struct pollfd end = { .fd = isolation->socket, .events = POLLIN };
    (void)poll(&end, 1, 2000);
    (void)kill(-isolation->pid, SIGKILL);
    (void)zygote_reap(isolation->options.zygote, isolation->pid, &wait_status);
    (void)close(isolation->socket);
    process_log_close(&isolation->log);
    isolation->pid = 0;
}

struct status isolation_start(struct isolation *isolation)
{
    if (isolation->options.in_process) {
        if (isolation->started) return status_ok();
        TRY(space_view_open(&isolation->view, isolation->space.descriptor));
        isolation->isolated.base = isolation->view.base;
        isolation->isolated.header = (struct space_header *)(void *)isolation->view.base;
        isolation->starts++;
        struct status st = run_start(isolation);
        isolation->started = !st.code;
        if (st.code) space_view_close(&isolation->view);
        return st;
    }
    if (isolation->pid) return status_ok();
    TRY(spawn(isolation));
    isolation->starts++;
    struct status st = run_start(isolation);
    if (st.code) stop(isolation);
    return st;
}

struct status isolation_call(struct isolation *isolation, uint64_t offset, uint64_t bytes)
{
    const struct space_buffer *buffer;
    int64_t where;
    char place[160];

    space_publish_guards(&isolation->space);
    TRY(isolation_start(isolation));
    TRY(exchange(isolation, offset, bytes, false));
    if (!space_damaged(&isolation->space, &buffer, &where)) return status_ok();
    /* What else it has overwritten in its own process cannot be known. */
    stop(isolation);
    describe_place(place, sizeof place, space_header(&isolation->space));
    return status_error(STATUS_DEVICE, "device wrote %s %s%s (at byte %lld of %llu)",
                        where < 0 ? "before" : "past", buffer->label, place,
                        (long long)(where < 0 ? where : (int64_t)buffer->bytes + where),
                        (unsigned long long)buffer->bytes);
}

void isolation_close(struct isolation *isolation)
{
    if (!isolation) return;
    if (isolation->options.in_process) {
        if (isolation->started && isolation->options.finish)
            isolation->options.finish(isolation->isolated.state);
        space_view_close(&isolation->view);
    } else {
        stop(isolation);
    }
    space_close(&isolation->space);
    memory_release(isolation->start);
    memory_release(isolation);
}
