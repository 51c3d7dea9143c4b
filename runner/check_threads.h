/* The threads of a run. They take calls in order, dump after dump, finish them in any order, and hand
 * over their outcomes in order to one committer.
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

/* The calls of one dump. All but the last two are set by whoever adds it. */
struct check_batch {
    const struct check_setup *setup;
    const size_t *positions; /* of the calls in the dump, in the order of their rows */
    size_t count;
    size_t first; /* number of the first of them among all calls that were added */
    struct check_batch *next;
};

/* One of the threads. */
struct check_thread {
    struct check_threads *all;
    struct checker *checker;
    pthread_t id;
};

struct check_threads {
    pthread_mutex_t mutex;
    pthread_cond_t may_take, thread_ended;
    struct check_batch *taking, *last; /* with calls that no thread has; NULL when there are none */
    size_t added;                      /* calls of all batches */
    bool closed;                       /* no batch will be added */
    size_t taken;                      /* calls given to threads */
    size_t committed;                  /* outcomes that the committer is done with */
    size_t running;                    /* threads that have not ended */
    bool stopping;
    struct case_outcome outcomes[CHECK_WINDOW]; /* of call i at i % CHECK_WINDOW */
    bool ready[CHECK_WINDOW];

    int ready_fd; /* readable when the outcome of call `committed` may be ready */
    struct check_thread items[CHECK_THREADS_MAX];
    size_t count;
};

/* Start a thread for each checker (their devices are open). All must stay where they are until
 * check_threads_end. The threads wait for calls. */
struct status check_threads_start(struct check_threads *out, struct checker *checkers,
                                  size_t n_checkers);

/* Have these calls checked behind those that were added before. The batch must stay where it is until
 * the last of them is committed. */
void check_threads_add(struct check_threads *threads, struct check_batch *batch);

/* Nothing more will be added: threads that find no call end. */
void check_threads_close(struct check_threads *threads);

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
