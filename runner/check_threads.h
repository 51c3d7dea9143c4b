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
#include "results/outcome.h"
#include "runner/check.h"

enum { CHECK_WINDOW = 256, CHECK_THREADS_MAX = 64 };

/* One of them. */
struct check_thread {
    struct check_threads *all;
    struct checker *checker;
    pthread_t id;
};

struct check_threads {
    const size_t *positions; /* of the calls in the dump, in the order of their rows */
    size_t n_positions;

    pthread_mutex_t mutex;
    pthread_cond_t window_moved, thread_ended;
    size_t taken;     /* calls given to threads */
    size_t committed; /* outcomes that the committer is done with */
    size_t running;   /* threads that have not ended */
    bool stopping;
    struct case_outcome outcomes[CHECK_WINDOW]; /* of call i at i % CHECK_WINDOW */
    bool ready[CHECK_WINDOW];

    int ready_fd; /* readable when the outcome of call `committed` may be ready */
    struct check_thread items[CHECK_THREADS_MAX];
    size_t count;
};

/* Start a thread for each checker (their devices are open). All must stay where they are until
 * check_threads_end. */
struct status check_threads_start(struct check_threads *out, struct checker *checkers,
                                  size_t n_checkers, const size_t *positions, size_t n_positions);

/* The outcome of the next call in order, NULL when it is not ready. Hand it back with
 * check_threads_commit before asking for the next one. */
struct case_outcome *check_threads_next(struct check_threads *threads);
void check_threads_commit(struct check_threads *threads);

/* Take no new call. Those in flight go on. */
void check_threads_stop(struct check_threads *threads);

/* Have all threads ended? Waits for at most `wait_ms`. */
bool check_threads_ended(struct check_threads *threads, int wait_ms);

/* Wait for the threads and free what check_threads_start made. */
void check_threads_end(struct check_threads *threads);

#endif
