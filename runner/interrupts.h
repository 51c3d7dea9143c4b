/* SIGINT, SIGTERM and SIGHUP as something to poll, so that nothing has to be safe inside a signal
 * handler. */
#ifndef PROBE_RUNNER_INTERRUPTS_H
#define PROBE_RUNNER_INTERRUPTS_H

#include <signal.h>
#include <stdbool.h>

#include "core/status.h"

struct interrupts {
    int fd; /* readable when a signal has come */
    sigset_t before;
};

/* Catch them from now on, in this thread and in those it starts. */
struct status interrupts_open(struct interrupts *out);

/* The number of a signal that came, 0 when there is none. Does not wait. */
int interrupts_take(const struct interrupts *interrupts);

/* As before. Signals that came and were not taken are dropped. */
void interrupts_close(struct interrupts *interrupts);

#endif
