/* The threads of a run. They take calls in order, dump after dump (the last ones as runner/last_calls.h says),
 * finish them in any order, and hand over their outcomes in order to one committer.
 *
 * Calls run ahead of the committer by a window, so that a slow call does not make the finished
 * ones behind it pile up. The committer learns of outcomes through a descriptor that it can poll
 * together with signals. Small calls take less time than waking it does, so it is told of them by
 * the batch: a call that ends soon after another one was told of waits for more of its kind.
 */
#ifndef PROBE_RUNNER_CHECK_THREADS_H
#define PROBE_RUNNER_CHECK_THREADS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/status.h"
#include "results/outcome.h"
#include "runner/check.h"
#include "runner/last_calls.h"

enum { CHECK_WINDOW = 512, CHECK_SLOTS = CHECK_WINDOW + LAST_CALLS, CHECK_THREADS_MAX = 64 };

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
    pthread_cond_t thread_ended;
    struct team *team; /* where threads wait for calls, and help each other meanwhile */
    size_t waiting;    /* threads, for calls */
    struct check_batch *taking, *last; /* with calls that no thread has; NULL when there are none */
    size_t added;                      /* calls of all batches */
    bool closed;                       /* no batch will be added */
    size_t taken;                      /* calls given to threads */
    size_t committed;                  /* outcomes that the committer is done with */
    size_t finished;                   /* outcomes that are there, with all before them */
    size_t told;                       /* of these the committer was told, */
    double told_s;                     /* at this moment */
    size_t running;                    /* threads that have not ended */
    bool stopping;
    struct last_calls last_calls;
    size_t last_first;                         /* number of the first of these among all calls */
    struct case_outcome outcomes[CHECK_SLOTS]; /* of call i at i % CHECK_SLOTS */
    bool ready[CHECK_SLOTS];

    int ready_fd; /* readable when check_threads_ready may have more to say */
    struct check_thread items[CHECK_THREADS_MAX];
    size_t count, lasting; /* `lasting`: those that take one call after the other */
};

/* Start a thread for each checker (their devices are open, those that check one call come last); `team` is theirs. All must stay where they are until
 * check_threads_end. The threads wait for calls. `out` is all zeros as yet: it is large, and a run of few calls
 * touches little of it. */
struct status check_threads_start(struct check_threads *out, struct checker *checkers,
                                  size_t n_checkers, struct team *team);

/* Have these calls checked behind those that were added before. The batch must stay where it is until
 * the last of them is committed. */
void check_threads_add(struct check_threads *threads, struct check_batch *batch);

/* The last `count` of the calls that were added are the last of the run: `seconds` is what each is estimated to
 * take. To be called, if at all, before the threads come near them: right behind the batch that has them. */
void check_threads_expect(struct check_threads *threads, const double *seconds, size_t count);

/* Nothing more will be added: threads that find no call end. */
void check_threads_close(struct check_threads *threads);

/* How many outcomes of the next calls in order are ready; outcome `i` of them, which stays where it is
 * until it is handed back; hand back the first `count`. For one committer. */
size_t check_threads_ready(struct check_threads *threads);
struct case_outcome *check_threads_outcome(struct check_threads *threads, size_t i);
void check_threads_commit(struct check_threads *threads, size_t count);

/* Take no new call. Those in flight go on. */
void check_threads_stop(struct check_threads *threads);

/* Have all threads ended? Waits for at most `wait_ms`. */
bool check_threads_ended(struct check_threads *threads, int wait_ms);

/* Wait for the threads and free what check_threads_start made. */
void check_threads_end(struct check_threads *threads);

#endif
