/* The threads of a run. They take calls in order, finish them in any order, and hand over their
 * outcomes in order to one committer.
 *
 * Calls run ahead of the committer by a window, so that a slow call does not make the finished
 * ones behind it pile up. The committer learns of the next outcome through a descriptor that it
 * can poll together with signals.
 */
#ifndef PROBE_RUNNER_CHECK_THREADS_H
#define PROBE_RUNNER_CHECK_THREADS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/status.h"
#include "runner/check.h"

enum { WORKERS_WINDOW = 256, WORKERS_MAX = 64 };

struct workers {
    const size_t *positions; /* of the calls in the dump, in the order of their rows */
    size_t n_positions;

    pthread_mutex_t mutex;
    pthread_cond_t window_moved;
    size_t taken;     /* calls given to threads */
    size_t committed; /* outcomes that the committer is done with */
    size_t running;   /* threads that have not ended */
    bool stopping;
    struct case_outcome outcomes[WORKERS_WINDOW]; /* of call i at i % WORKERS_WINDOW */
    bool ready[WORKERS_WINDOW];

    int ready_fd; /* readable when the outcome of call `committed` may be ready */
    struct check_worker *workers;
    pthread_t threads[WORKERS_MAX];
    size_t n_threads;
};

/* Start a thread for each worker (their devices are open). `workers` of this struct must stay
 * where they are until workers_end. */
struct status workers_start(struct workers *out, struct check_worker *workers, size_t n_workers,
                            const size_t *positions, size_t n_positions);

/* The outcome of the next call in order, NULL when it is not ready. Hand it back with
 * workers_commit before asking for the next one. */
struct case_outcome *workers_next(struct workers *workers);
void workers_commit(struct workers *workers);

/* Take no new call. Those in work go on. */
void workers_stop(struct workers *workers);

/* Have all threads ended? Waits for at most `wait_ms`. */
bool workers_ended(struct workers *workers, int wait_ms);

/* Wait for the threads and free what workers_start made. */
void workers_end(struct workers *workers);

#endif
