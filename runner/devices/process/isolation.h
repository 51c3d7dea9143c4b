/* Calls into code that may crash, hang or write where it must not.
 *
 * The code runs in a process of its own, forked by a zygote, on tensors in shared memory
 * (isolation_space.h). One message there and one back make a call, 7 us on the machine this was
 * written on. Whatever happens to the process becomes a status that says what it was:
 *
 *     device crashed: SIGSEGV in softmax_f16 at address 0x7f3a00001000
 *     device wrote past output 0 in softmax_f16 (4 bytes after its end)
 *     device modified input 1 in softmax_f16
 *     device overflowed its stack in softmax_f16
 *     device hung for 60 s in softmax_f16
 *     device exited with status 3 in softmax_f16
 *     device ran out of memory (limit 1.0 GB) in softmax_f16: SIGSEGV
 *
 * and the next call finds a fresh process. Without a process (`in_process`) the same handler
 * runs on the same fenced memory in this one, so that only deaths and hangs are fatal.
 */
#ifndef PROBE_RUNNER_DEVICES_PROCESS_ISOLATION_H
#define PROBE_RUNNER_DEVICES_PROCESS_ISOLATION_H

#include "core/status.h"
#include "runner/devices/process/isolated.h"
#include "runner/devices/process/isolation_space.h"
#include "runner/devices/process/zygote.h"

struct isolation;

struct isolation_options {
    struct zygote *zygote; /* NULL with in_process */
    bool in_process;
    double timeout_s;      /* of a call; 0 = none */
    uint64_t memory_limit; /* private bytes beyond what the process starts with; 0 = none */
    isolation_handler *handler;
    void (*finish)(void *state); /* undo what `state` holds when a process ends in peace */
};

/* Ready to be called; no process is started yet. `start` is copied. */
struct status isolation_open(struct isolation **out, const struct isolation_options *options,
                             const void *start, uint64_t start_bytes);
void isolation_close(struct isolation *isolation);

/* Start the process, and run the handler on the start request, unless one is running. */
struct status isolation_start(struct isolation *isolation);

/* Where the buffers of the next call are placed. The caller begins with space_begin. */
struct space *isolation_space(struct isolation *isolation);

/* Run the handler on a request that lies at `offset` of the space.
 *
 *   returns  the handler's status, or STATUS_DEVICE with the diagnosis. Outputs may be read
 *            when it is STATUS_OK
 */
struct status isolation_call(struct isolation *isolation, uint64_t offset, uint64_t bytes);

/* How many processes have been started: 1 + those that had to be replaced. */
unsigned isolation_starts(const struct isolation *isolation);

#endif
