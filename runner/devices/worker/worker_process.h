/* A worker's process: a command, two pipes for lines, a file of shared memory, a time limit.
 *
 * The command runs with the shared memory open as descriptor 3, its standard input and output
 * connected to us (a socket and a pipe) and its standard error kept for diagnoses, in a session of its own, forked by
 * a zygote so that it dies with the program.
 */
#ifndef PROBE_RUNNER_DEVICES_WORKER_WORKER_PROCESS_H
#define PROBE_RUNNER_DEVICES_WORKER_WORKER_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/status.h"
#include "runner/devices/process/process_log.h"
#include "runner/devices/process/zygote.h"
#include "runner/devices/worker/worker_message.h"

enum { WORKER_MEMORY_DESCRIPTOR = 3 };

/* Longest line that is read from a worker. */
#define WORKER_LINE_MAX ((size_t)64 << 20)

struct worker_process {
    struct zygote *zygote;
    const char *const *words; /* of the command, ended by NULL */
    size_t n_words;
    uint64_t memory_limit; /* private bytes, 0 = none */

    int memory_descriptor;
    struct worker_memory memory; /* all of it */
    uint64_t command_bytes;      /* at its start, until the process has begun */

    pid_t pid; /* 0: no process */
    int to, from;
    struct process_log log;
    struct text line; /* what was read, from `from` */
    size_t taken;     /* bytes of it that were an answer */
};

/* A request on its way. */
struct worker_line {
    const char *bytes; /* ended by a newline */
    size_t count;
    size_t sent;      /* of these, with worker_process_send */
    bool is_ahead;    /* that began while another request was in work */
    double timeout_s; /* for the answer, from when all before it were taken; 0 = none */
    const char *doing;
};

/* What reading an answer came to. */
enum worker_reading {
    READING_MORE,
    READING_LINE,
    READING_END,
    READING_TOO_LONG,
    READING_TOO_SLOW,
    READING_NO_MEMORY
};

/* Make the shared memory. `process` has its first four members set. */
struct status worker_process_open(struct worker_process *process);
void worker_process_close(struct worker_process *process);

/* Give back memory that earlier calls took beyond `keep_bytes`. */
void worker_memory_trim(struct worker_memory *memory, uint64_t keep_bytes);

/* See how long the file is now. */
void worker_memory_look(struct worker_memory *memory);

/* Start the command, if it does not run. */
struct status worker_process_start(struct worker_process *process);

/* Write as much of a request as goes without waiting; returns how much. Only when all that were begun before are sent
 * to their ends. */
size_t worker_process_send(struct worker_process *process, const char *bytes, size_t count);

/* Send what is left of a request and wait until its answer is there, or cannot come. The answers to all requests
 * before it were taken. */
enum worker_reading worker_process_wait(struct worker_process *process,
                                        const struct worker_line *request);

/* The answer that was waited for. *reply points into the process until the next is waited for.
 *
 *   returns    STATUS_DEVICE with the diagnosis when the process died or was too slow; it is
 *              gone then
 */
struct status worker_process_take(struct worker_process *process, const char **reply,
                                  size_t *reply_bytes, enum worker_reading state,
                                  const struct worker_line *request);

/* End the process: close its input, give it a moment, kill it. */
void worker_process_stop(struct worker_process *process);

#endif
