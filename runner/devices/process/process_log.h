/* The last words of a child process: what it printed, kept short.
 *
 * The process writes into a pipe; whoever waits for the process reads it from time to time, so
 * that it never blocks, and keeps the end. The last line often says why the process died
 * (an assertion, an uncaught exception), so it becomes part of the diagnosis.
 */
#ifndef PROBE_RUNNER_DEVICES_PROCESS_PROCESS_LOG_H
#define PROBE_RUNNER_DEVICES_PROCESS_PROCESS_LOG_H

#include <stddef.h>

struct process_log {
    int descriptor; /* read end, -1 when closed */
    size_t used;
    char text[4096];
};

#define PROCESS_LOG_NONE ((struct process_log){ .descriptor = -1 })

/* Take over the read end of a pipe. */
void process_log_open(struct process_log *log, int descriptor);

/* Read what there is, without waiting. At the end of the pipe the descriptor is closed. */
void process_log_drain(struct process_log *log);

/* The last line that is not blank, printable characters only, cut to `bytes`; "" when none. A
 * Python traceback ends in the exception, so the last line is the right one there as well. */
void process_log_last_line(const struct process_log *log, char *text, size_t bytes);

void process_log_close(struct process_log *log);

/* "SIGSEGV", or "signal 64" for one without a name. Returns `text`. */
const char *process_signal_name(int signal, char *text, size_t bytes);

#endif
