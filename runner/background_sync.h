/* What a run has written is made durable now and then by a thread of its own: a disk may take seconds for that, and the rows that
 * are ready meanwhile would wait for it, then the threads for room.
 */
#ifndef PROBE_RUNNER_BACKGROUND_SYNC_H
#define PROBE_RUNNER_BACKGROUND_SYNC_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "core/status.h"
#include "results/result_files.h"

/* All zeros: none is under way. */
struct background_sync {
    pthread_t thread;
    bool running;              /* a thread that was not waited for */
    atomic_bool done;          /* it has nothing more to do */
    struct result_files files; /* what it makes durable: descriptors and names of the caller's */
    struct status status;      /* what came of it */
};

/* Make durable what is in the files now, unless that is still under way from the last time. The files must stay open until
 * background_sync_end.
 *
 *   errors  that of the last time
 */
struct status background_sync_begin(struct background_sync *sync, struct result_files *files);

/* Wait for what is under way, if anything is. */
struct status background_sync_end(struct background_sync *sync);

#endif
