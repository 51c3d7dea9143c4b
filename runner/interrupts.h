/* SIGINT, SIGTERM and SIGHUP as something to poll: the handler does nothing but write a byte to
 * a pipe. (A signal descriptor would be neater, but it needs the signals blocked in every thread,
 * and libraries may start threads before main.) */
#ifndef PROBE_RUNNER_INTERRUPTS_H
#define PROBE_RUNNER_INTERRUPTS_H

#include <signal.h>
#include <stdbool.h>

#include "core/status.h"
#include "core/stop.h"

enum { INTERRUPT_SIGNALS = 3 };

struct interrupts {
    int fd; /* readable when a signal has come */
    int write_fd;
    struct sigaction before[INTERRUPT_SIGNALS];
};

/* Catch them from now on. One at a time in a process. */
struct status interrupts_open(struct interrupts *out);

/* Has a signal come? Does not wait. */
bool interrupts_take(const struct interrupts *interrupts);

/* The same question for what works below the command line; `interrupts` must outlive it. */
struct stop interrupts_stop(const struct interrupts *interrupts);

/* As before. */
void interrupts_close(struct interrupts *interrupts);

#endif
