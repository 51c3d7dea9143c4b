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
    struct worker_memory memory;

    pid_t pid; /* 0: no process */
    int to, from;
    struct process_log log;
    struct text line; /* what was read, from `from` */
};

/* Make the shared memory. `process` has its first four members set. */
struct status worker_process_open(struct worker_process *process);
void worker_process_close(struct worker_process *process);

/* Give back memory that earlier calls took beyond `keep_bytes`. */
void worker_process_trim(struct worker_process *process, uint64_t keep_bytes);

/* Start the command, if it does not run. */
struct status worker_process_start(struct worker_process *process);

/* Send one line (a newline is added) and wait for the one that answers. *reply points into the
 * process until the next call.
 *
 *   timeout_s  0 = none
 *   returns    STATUS_DEVICE with the diagnosis when the process died or was too slow; it is
 *              gone then
 */
struct status worker_process_exchange(struct worker_process *process, const char **reply,
                                      size_t *reply_bytes, const char *line, size_t bytes,
                                      double timeout_s, const char *doing);

/* End the process: close its input, give it a moment, kill it. */
void worker_process_stop(struct worker_process *process);

#endif
