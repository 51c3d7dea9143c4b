/* Starting a worker, exchanging lines with it under a time limit, and saying what became of it. */
#include "runner/devices/worker/worker_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/checked.h"
#include "core/memory.h"
#include "core/quantity.h"

enum { PLACE = 64 }; /* offsets of tensors are multiples of it */

/* Where the child finds the command: the start of the shared memory, which holds tensors later. */
struct command_block {
    uint64_t memory_limit;
    uint32_t count, bytes;
    char words[]; /* each ended by a NUL */
};

/* --- the child ------------------------------------------------------------------------------------- */

enum { CHILD_IN, CHILD_OUT, CHILD_LOG, CHILD_MEMORY, CHILD_COUNT };

static void limit_memory(uint64_t bytes)
{
    struct rlimit core = { 0, 0 }, data = { bytes, bytes };
    (void)setrlimit(RLIMIT_CORE, &core);
    if (bytes) (void)setrlimit(RLIMIT_DATA, &data);
}

/* Entry of the forked process: put the descriptors in their places and become the command. */
static void become_command(const int *descriptors, size_t count)
{
    static const char *arguments[256];
    struct command_block head;
    if (count != CHILD_COUNT ||
        pread(descriptors[CHILD_MEMORY], &head, sizeof head, 0) != (ssize_t)sizeof head)
        _exit(127);
    struct command_block *block =
        mmap(NULL, sizeof head + head.bytes, PROT_READ, MAP_SHARED, descriptors[CHILD_MEMORY], 0);
    if (block == MAP_FAILED || head.count >= sizeof arguments / sizeof *arguments) _exit(127);
    const char *word = block->words;
    for (uint32_t i = 0; i < head.count; i++, word += strlen(word) + 1) arguments[i] = word;

    limit_memory(head.memory_limit);
    sigset_t none;
    (void)sigemptyset(&none);
    (void)pthread_sigmask(SIG_SETMASK, &none, NULL);
    (void)signal(SIGPIPE, SIG_DFL);
    (void)signal(SIGINT, SIG_DFL);
    (void)signal(SIGTERM, SIG_DFL);
    (void)dup2(descriptors[CHILD_LOG], 2);
    (void)dup2(descriptors[CHILD_IN], 0);
    (void)dup2(descriptors[CHILD_OUT], 1);
    /* Descriptors arrive numbered from 3 on; the memory takes the first place, the rest goes. */
    (void)dup2(descriptors[CHILD_MEMORY], WORKER_MEMORY_DESCRIPTOR);
    (void)close_range(WORKER_MEMORY_DESCRIPTOR + 1, ~0u, 0);
    (void)execvp(arguments[0], (char *const *)(void *)arguments);
    (void)dprintf(2, "cannot run %s: %s\n", arguments[0], strerror(errno));
    _exit(127);
}

/* --- shared memory ---------------------------------------------------------------------------------- */

/* The file only grows: F_SEAL_SHRINK makes reading it safe whatever the worker does. */
static struct status reserve(struct worker_memory *memory, uint64_t bytes)
{
    struct stat stat;
    if (bytes <= memory->bytes) return status_ok();
    if (fstat(memory->descriptor, &stat))
        return status_error(STATUS_IO, "cannot size shared memory: %s", strerror(errno));
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t wanted = (bytes + page - 1) / page * page;
    if ((uint64_t)stat.st_size < wanted && ftruncate(memory->descriptor, (off_t)wanted))
        return status_error(STATUS_IO, "cannot enlarge shared memory: %s", strerror(errno));
    memory->bytes = (uint64_t)stat.st_size < wanted ? wanted : (uint64_t)stat.st_size;
    return status_ok();
}

void worker_memory_look(struct worker_memory *memory)
{
    struct stat stat;
    if (!fstat(memory->descriptor, &stat)) memory->bytes = (uint64_t)stat.st_size;
}

void worker_memory_trim(struct worker_memory *memory, uint64_t keep_bytes)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t from = memory->first + keep_bytes / page * page;
    uint64_t end = memory->bytes < memory->limit ? memory->bytes : memory->limit;
    if (end > from) (void)madvise(memory->base + from, end - from, MADV_REMOVE);
}

struct status worker_process_open(struct worker_process *process)
{
    void *base = MAP_FAILED;
    process->pid = 0;
    process->to = process->from = -1;
    process->log = PROCESS_LOG_NONE;
    process->memory_descriptor = memfd_create("probe-ut worker", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (process->memory_descriptor < 0)
        return status_error(STATUS_IO, "cannot make shared memory: %s", strerror(errno));
    (void)fcntl(process->memory_descriptor, F_ADD_SEALS, F_SEAL_SHRINK);
    uint64_t limit = (uint64_t)1 << 39;
    for (; limit >= (uint64_t)1 << 30; limit /= 2) {
        base = mmap(NULL, limit, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                    process->memory_descriptor, 0);
        if (base != MAP_FAILED) break;
    }
    if (base == MAP_FAILED) {
        struct status st = status_error(STATUS_IO, "cannot map shared memory: %s", strerror(errno));
        (void)close(process->memory_descriptor);
        return st;
    }
    (void)madvise(base, limit, MADV_DONTDUMP);
    process->memory = (struct worker_memory){
        .base = base, .descriptor = process->memory_descriptor, .limit = limit, .reserve = reserve
    };
    return status_ok();
}

void worker_process_close(struct worker_process *process)
{
    worker_process_stop(process);
    text_release(&process->line);
    if (!process->memory.base) return;
    (void)munmap(process->memory.base, process->memory.limit);
    (void)close(process->memory_descriptor);
    process->memory.base = NULL;
}

/* --- life and death --------------------------------------------------------------------------------- */

static struct status write_command(struct worker_process *process)
{
    size_t bytes = sizeof(struct command_block), used = 0;
    for (size_t i = 0; i < process->n_words; i++) bytes += strlen(process->words[i]) + 1;
    TRY(process->memory.reserve(&process->memory, bytes));
    process->command_bytes = (bytes + PLACE - 1) / PLACE * PLACE;
    struct command_block *block = (struct command_block *)(void *)process->memory.base;
    block->memory_limit = process->memory_limit;
    block->count = (uint32_t)process->n_words;
    block->bytes = (uint32_t)(bytes - sizeof *block);
    for (size_t i = 0; i < process->n_words; i++) {
        size_t length = strlen(process->words[i]) + 1;
        memcpy(block->words + used, process->words[i], length);
        used += length;
    }
    return status_ok();
}

static void close_ends(int ends[3][2], int which)
{
    for (int i = 0; i < 3; i++)
        for (int side = 0; side < 2; side++)
            if (ends[i][side] >= 0 && (which < 0 || side == which)) (void)close(ends[i][side]);
}

struct status worker_process_start(struct worker_process *process)
{
    int ends[3][2] = { { -1, -1 }, { -1, -1 }, { -1, -1 } }; /* [which pipe][child, us] */
    if (process->pid) return status_ok();
    TRY(write_command(process));
    for (int i = 0; i < 3; i++) {
        int pair[2];
        /* Its input is a socket, because writing to a dead worker's pipe would be a signal. */
        if (i == CHILD_IN ? socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)
                          : pipe2(pair, O_CLOEXEC)) {
            struct status st = status_error(STATUS_IO, "cannot make a pipe: %s", strerror(errno));
            close_ends(ends, -1);
            return st;
        }
        bool child_reads = i == CHILD_IN;
        ends[i][0] = pair[child_reads ? 0 : 1];
        ends[i][1] = pair[child_reads ? 1 : 0];
    }
    int given[CHILD_COUNT] = { ends[CHILD_IN][0], ends[CHILD_OUT][0], ends[CHILD_LOG][0],
                               process->memory_descriptor };
    struct status st =
        zygote_spawn(process->zygote, &process->pid, become_command, given, CHILD_COUNT);
    if (st.code) {
        close_ends(ends, -1);
        process->pid = 0;
        return st;
    }
    close_ends(ends, 0);
    process->to = ends[CHILD_IN][1];
    process->from = ends[CHILD_OUT][1];
    (void)fcntl(process->to, F_SETFL, O_NONBLOCK);
    (void)fcntl(process->from, F_SETFL, O_NONBLOCK);
    process_log_open(&process->log, ends[CHILD_LOG][1]);
    process->line.used = process->taken = 0;
    return status_ok();
}

static void forget(struct worker_process *process)
{
    (void)close(process->to);
    (void)close(process->from);
    process_log_close(&process->log);
    process->to = process->from = -1;
    process->pid = 0;
}

/* Is the process running, that is neither gone nor a zombie? */
static bool is_running(pid_t pid)
{
    char path[64], stat[512] = "";
    (void)snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    ssize_t got = read(file, stat, sizeof stat - 1);
    (void)close(file);
    const char *state = got > 0 ? strrchr(stat, ')') : NULL; /* "pid (name) state ..." */
    return state && state[1] == ' ' && state[2] != 'Z';
}

/* A process that has closed its output is about to end; a second lets it do so by itself, so that
 * its own exit status and last words count. */
static void wait_for_end(struct worker_process *process)
{
    const struct timespec pause = { .tv_nsec = 10000000 };
    for (int i = 0; i < 100 && is_running(process->pid); i++) {
        process_log_drain(&process->log);
        (void)nanosleep(&pause, NULL);
    }
}

/* Kill what is left, learn how it ended, put it into words. */
static struct status bury(struct worker_process *process, bool timed_out, double timeout_s,
                          const char *doing)
{
    char words[200], name[32];
    int wait_status = 0;

    if (!timed_out) wait_for_end(process);
    (void)kill(-process->pid, SIGKILL);
    struct status st = zygote_reap(process->zygote, process->pid, &wait_status);
    process_log_drain(&process->log);
    process_log_last_line(&process->log, words, sizeof words);
    forget(process);
    if (st.code) return st;
    const char *colon = *words ? ": " : "";
    if (timed_out)
        return status_error(STATUS_DEVICE, "device hung for %g s in %s%s%s", timeout_s, doing,
                            colon, words);
    if (WIFEXITED(wait_status))
        return status_error(STATUS_DEVICE, "device exited with status %d in %s%s%s",
                            WEXITSTATUS(wait_status), doing, colon, words);
    return status_error(STATUS_DEVICE, "device crashed: %s in %s%s%s",
                        process_signal_name(WTERMSIG(wait_status), name, sizeof name), doing, colon,
                        words);
}

void worker_process_stop(struct worker_process *process)
{
    int wait_status;
    if (!process->pid) return;
    /* The end of its input tells a worker to end. */
    (void)close(process->to);
    process->to = -1;
    struct pollfd end = { .fd = process->from };
    (void)poll(&end, 1, 1000);
    (void)kill(-process->pid, SIGKILL);
    (void)zygote_reap(process->zygote, process->pid, &wait_status);
    forget(process);
}

/* --- lines -------------------------------------------------------------------------------------------- */

static double now_s(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Read what has come; is there a whole line? */
static enum worker_reading read_some(struct worker_process *process)
{
    char buffer[65536];
    struct text *line = &process->line;
    for (;;) {
        ssize_t got = read(process->from, buffer, sizeof buffer);
        if (got == 0) return READING_END;
        if (got < 0) return errno == EAGAIN ? READING_MORE : READING_END;
        if (line->used + (size_t)got > WORKER_LINE_MAX) return READING_TOO_LONG;
        const char *newline = memchr(buffer, '\n', (size_t)got);
        text_reserve(line, (size_t)got);
        if (line->failed) return READING_NO_MEMORY;
        memcpy(line->bytes + line->used, buffer, (size_t)got);
        line->used += (size_t)got;
        if (newline) return READING_LINE;
    }
}

/* Write what the pipe takes. False when the process is gone. */
static bool write_some(struct worker_process *process, const char *line, size_t bytes, size_t *sent)
{
    while (*sent < bytes) {
        ssize_t done = send(process->to, line + *sent, bytes - *sent, MSG_NOSIGNAL);
        if (done < 0) return errno == EAGAIN;
        *sent += (size_t)done;
    }
    return true;
}

size_t worker_process_send(struct worker_process *process, const char *bytes, size_t count)
{
    size_t sent = 0;
    /* Whoever waits for the answer notices when the process is gone. */
    (void)write_some(process, bytes, count, &sent);
    return sent;
}

/* Drop the line that was taken last. What came behind it answers a request that was sent ahead, or, when there was
 * none, came unasked and is dropped, too. */
static enum worker_reading drop_taken(struct worker_process *process, bool is_ahead)
{
    struct text *line = &process->line;
    size_t left = is_ahead ? line->used - process->taken : 0;
    if (left) memmove(line->bytes, line->bytes + process->taken, left);
    line->used = left;
    process->taken = 0;
    return left && memchr(line->bytes, '\n', left) ? READING_LINE : READING_MORE;
}

enum worker_reading worker_process_wait(struct worker_process *process,
                                        const struct worker_line *request)
{
    double deadline = request->timeout_s > 0 ? now_s() + request->timeout_s : 0;
    size_t sent = request->sent;
    enum worker_reading state = drop_taken(process, request->is_ahead);
    while (state == READING_MORE) {
        if (!write_some(process, request->bytes, request->count, &sent)) state = READING_END;
        double left_ms = deadline > 0 ? (deadline - now_s()) * 1e3 : 1e9;
        if (left_ms <= 0) return READING_TOO_SLOW;
        struct pollfd watched[3] = {
            { .fd = process->from, .events = POLLIN },
            { .fd = process->log.descriptor, .events = POLLIN },
            { .fd = sent < request->count ? process->to : -1, .events = POLLOUT },
        };
        int wait_ms = left_ms > 1e8 ? 100000000 : (int)left_ms + 1;
        if (state == READING_MORE && poll(watched, 3, wait_ms) < 0 && errno != EINTR)
            state = READING_END;
        process_log_drain(&process->log);
        if (state == READING_MORE) state = read_some(process);
    }
    return state;
}

/* The rest of a line that is no answer would be read as the next one. */
static struct status refuse_line(struct worker_process *process, enum worker_reading state)
{
    worker_process_stop(process);
    if (state == READING_NO_MEMORY) {
        text_release(&process->line);
        return status_no_memory(WORKER_LINE_MAX);
    }
    return status_error(STATUS_DEVICE, "device sent more than %s without a newline",
                        quantity_bytes(WORKER_LINE_MAX).text);
}

struct status worker_process_take(struct worker_process *process, const char **reply,
                                  size_t *reply_bytes, enum worker_reading state,
                                  const struct worker_line *request)
{
    if (state == READING_TOO_SLOW) return bury(process, true, request->timeout_s, request->doing);
    if (state == READING_END) return bury(process, false, 0, request->doing);
    if (state != READING_LINE) return refuse_line(process, state);
    const char *end = memchr(process->line.bytes, '\n', process->line.used);
    *reply = process->line.bytes;
    *reply_bytes = (size_t)(end - process->line.bytes);
    process->taken = *reply_bytes + 1;
    return status_ok();
}
