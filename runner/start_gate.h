/* Where the first calls of a run wait when their references are there and the devices are still starting, which takes a
 * framework a second or more. Whoever waits for the devices opens it, or shuts it when there will be none.
 */
#ifndef PROBE_RUNNER_START_GATE_H
#define PROBE_RUNNER_START_GATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

enum gate_state { GATE_CLOSED, GATE_OPEN, GATE_SHUT };

struct start_gate {
    pthread_mutex_t mutex;
    pthread_cond_t decided;
    _Atomic(enum gate_state) state;
};

void start_gate_init(struct start_gate *gate);
void start_gate_destroy(struct start_gate *gate);

/* Let everybody pass, or nobody, from now on. What was done before is seen by who passes. */
void start_gate_open(struct start_gate *gate);
void start_gate_shut(struct start_gate *gate);

/* Wait until it is open; false when it is shut. NULL is a gate that is open. */
bool start_gate_pass(struct start_gate *gate);

#endif
