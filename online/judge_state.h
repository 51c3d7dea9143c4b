/* What the threads of a judge share. Only its files include this. */
#ifndef PROBE_ONLINE_JUDGE_STATE_H
#define PROBE_ONLINE_JUDGE_STATE_H

#include <pthread.h>

#include "online/judge.h"
#include "online/judge_live.h"
#include "online/rank_set.h"
#include "online/record_queue.h"
#include "online/second_device.h"
#include "report/summary.h"
#include "runner/check_threads.h"
#include "runner/checkers.h"
#include "runner/run_inputs.h"

struct judge_thread {
    struct judge *judge;
    struct checker *checker;
    struct arena decoded; /* of the record at hand */
    pthread_t id;
};

struct judge {
    struct run_options options; /* with the memory of the checkers */
    struct judge_listener listener;
    struct run_inputs inputs;
    struct checkers checkers;
    struct check_setup setup;
    struct second_device *second; /* or NULL */
    struct rank_set ranks;
    bool has_ranks;
    uint64_t queue_bytes, decoded_bytes;

    pthread_mutex_t lock; /* of what follows, up to the threads */
    pthread_cond_t work, done, syncing;
    struct record_queue queue;
    const struct queued_record *committing; /* the committer has it */
    uint64_t bytes_held;
    bool refused_for_room; /* a submission, since room() was called last */
    bool closing;          /* nothing will be submitted */
    bool stopping;         /* nothing will be written */
    struct status failure;
    char waiting_for[JUDGE_SENTENCE_BYTES];
    struct judge_live live;

    pthread_mutex_t telling; /* of options.warnings */
    struct summary summary;  /* the committer's */
    struct judge_thread threads[CHECK_THREADS_MAX];
    size_t n_threads;
    pthread_t committer, syncer;
    bool has_committer, has_syncer;
};

/* Wait for a signal, at most so long. With the lock. */
void judge_wait_seconds(struct judge *judge, pthread_cond_t *condition, int seconds);

/* The judge is over: why. The first failure counts. Without the lock. */
void judge_fail(struct judge *judge, struct status why);

/* Warn of a record, with its place. */
void judge_tell(struct judge *judge, const struct queued_record *record, const struct status *why);

/* Its body is no longer needed. Without the lock. */
void judge_release_body(struct judge *judge, struct queued_record *record);

/* The threads: `context` is a struct judge_thread for those that check, the judge for the others. */
void *judge_run_thread(void *context);
void *judge_run_committer(void *context);
void *judge_run_syncer(void *context);

#endif
