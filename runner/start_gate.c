/* Opened or shut once, and asked by every call after that: an atomic, with a lock for those who have to wait. */
#include "runner/start_gate.h"

#include <stddef.h>

void start_gate_init(struct start_gate *gate)
{
    pthread_mutex_init(&gate->mutex, NULL);
    pthread_cond_init(&gate->decided, NULL);
    atomic_init(&gate->state, GATE_CLOSED);
}

void start_gate_destroy(struct start_gate *gate)
{
    pthread_cond_destroy(&gate->decided);
    pthread_mutex_destroy(&gate->mutex);
}

static void decide(struct start_gate *gate, enum gate_state state)
{
    pthread_mutex_lock(&gate->mutex);
    atomic_store(&gate->state, state);
    pthread_cond_broadcast(&gate->decided);
    pthread_mutex_unlock(&gate->mutex);
}

void start_gate_open(struct start_gate *gate) { decide(gate, GATE_OPEN); }
void start_gate_shut(struct start_gate *gate) { decide(gate, GATE_SHUT); }

bool start_gate_pass(struct start_gate *gate)
{
    if (!gate || atomic_load(&gate->state) == GATE_OPEN) return true;
    pthread_mutex_lock(&gate->mutex);
    while (atomic_load(&gate->state) == GATE_CLOSED)
        pthread_cond_wait(&gate->decided, &gate->mutex);
    pthread_mutex_unlock(&gate->mutex);
    return atomic_load(&gate->state) == GATE_OPEN;
}
