/* One thread each time: some 20 us every two seconds, and none in the many runs that are shorter. */
#include "runner/background_sync.h"

static void *work(void *context)
{
    struct background_sync *sync = context;
    sync->status = result_files_sync(&sync->files);
    atomic_store(&sync->done, true);
    return NULL;
}

struct status background_sync_end(struct background_sync *sync)
{
    if (!sync->running) return status_ok();
    (void)pthread_join(sync->thread, NULL);
    sync->running = false;
    return sync->status;
}

/* A run file that is written anew while the thread is at work is durable the next time. */
struct status background_sync_begin(struct background_sync *sync, struct result_files *files)
{
    if (sync->running && !atomic_load(&sync->done)) return status_ok();
    TRY(background_sync_end(sync));
    sync->files = *files;
    atomic_store(&sync->done, false);
    if (pthread_create(&sync->thread, NULL, work, sync)) return result_files_sync(files);
    sync->running = true;
    files->run_is_new = false;
    return status_ok();
}
