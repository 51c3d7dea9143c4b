/* Three threads around the spool. All that they share is behind one mutex; files are touched outside it. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/memory.h"
#include "online/stream_store_state.h"

/* A file that is used again costs less than a new one, so segments are many and not large. */
#define SEGMENT_BYTES ((uint64_t)128 << 20)
enum { RETRY_MS = 250 };

/* ---- waiting ---------------------------------------------------------------------------- */

struct timespec stream_store_later(void)
{
    struct timespec until;

    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += RETRY_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    return until;
}

void stream_store_wait(struct stream_store *store, pthread_cond_t *condition)
{
    const struct timespec until = stream_store_later();
    (void)pthread_cond_timedwait(condition, &store->mutex, &until);
}

/* ---- clients ---------------------------------------------------------------------------- */

static struct stream_client *add_client(struct stream_store *store, const unsigned char *session)
{
    struct stream_client *client = memory_allocate_zeroed(1, sizeof *client);
    if (!client) return NULL;
    memcpy(client->session, session, SPOOL_SESSION_BYTES);
    for (size_t i = 0; i < SPOOL_SESSION_BYTES; i++)
        (void)snprintf(client->digits + 2 * i, 3, "%02x", session[i]);
    client->received = client->durable = spool_next(store->spool, session);
    client->next = store->clients;
    store->clients = client;
    return client;
}

struct stream_client *stream_store_client(struct stream_store *store, const unsigned char *session)
{
    pthread_mutex_lock(&store->mutex);
    struct stream_client *client = store->clients;
    while (client && memcmp(client->session, session, SPOOL_SESSION_BYTES) != 0)
        client = client->next;
    if (!client) client = add_client(store, session);
    pthread_mutex_unlock(&store->mutex);
    return client;
}

const char *stream_client_session(const struct stream_client *client) { return client->digits; }
uint64_t stream_client_received(const struct stream_client *client) { return client->received; }

uint64_t stream_client_durable(struct stream_store *store, const struct stream_client *client)
{
    pthread_mutex_lock(&store->mutex);
    uint64_t durable = client->durable;
    pthread_mutex_unlock(&store->mutex);
    return durable;
}

/* ---- bodies ----------------------------------------------------------------------------- */

void stream_store_release_hold(struct stream_store *store, struct stream_item *item,
                               enum stream_way way)
{
    item->holds[way] = false;
    if (!item->body || item->holds[TO_DISK] || item->holds[TO_JUDGE]) return;
    bool wake = receive_memory_give_body(store->options.memory, item->body, item->record.bytes,
                                         item->record.bytes);
    item->body = NULL;
    if (wake) store->options.wake(store->options.wake_context);
}

void stream_store_release(struct stream_store *store, void *ticket)
{
    pthread_mutex_lock(&store->mutex);
    stream_store_release_hold(store, ticket, TO_JUDGE);
    pthread_mutex_unlock(&store->mutex);
}

void stream_store_dispose(struct stream_store *store, struct stream_item *item)
{
    if (spool_done(store->spool, &item->record)) {
        store->may_clear = true;
        pthread_cond_signal(&store->feeder_wakes);
    }
    memory_release(item);
}

/* ---- arrival ---------------------------------------------------------------------------- */

struct status stream_store_put(struct stream_store *store, struct stream_client *client, void *body,
                               uint64_t bytes, uint64_t sum)
{
    struct stream_item *item = memory_allocate_zeroed(1, sizeof *item);
    if (!item) return status_no_memory(sizeof *item);

    item->client = client;
    item->body = body;
    item->holds[TO_DISK] = item->holds[TO_JUDGE] = true;
    item->record.sequence = client->received++;
    item->record.bytes = bytes;
    item->record.sum = sum;
    memcpy(item->record.session, client->session, SPOOL_SESSION_BYTES);
    pthread_mutex_lock(&store->mutex);
    stream_queue_add(&store->arrivals, item);
    store->waiting++;
    store->arrived++;
    store->arrived_bytes += bytes;
    store->unwritten_bytes += bytes;
    pthread_cond_signal(&store->writer_wakes);
    pthread_mutex_unlock(&store->mutex);
    return status_ok();
}

/* ---- opening and closing ---------------------------------------------------------------- */

/* What an earlier process left is to be fed like what arrives. */
static struct status take_over_spool(struct stream_store *store)
{
    const struct spool_record *left;
    size_t count = spool_left(store->spool, &left);

    for (size_t i = 0; i < count; i++) {
        struct stream_item *item = memory_allocate_zeroed(1, sizeof *item);
        if (!item) return status_no_memory(sizeof *item);
        item->record = left[i];
        item->is_in_spool = item->is_fed = item->is_durable = item->waits_for_feeder = true;
        item->client = stream_store_client(store, left[i].session);
        stream_queue_add(&store->spooled, item);
        store->waiting++;
        if (!item->client) return status_no_memory(0);
    }
    return status_ok();
}

static void release_item(struct stream_store *store, struct stream_item *item)
{
    stream_store_release_hold(store, item, TO_DISK);
    stream_store_release_hold(store, item, TO_JUDGE);
    memory_release(item);
}

/* What is on its way to the disk may be on its way to the judge too: it is released with the latter. */
static void release_to_disk(struct stream_store *store, struct stream_queue *queue)
{
    struct stream_item *item;

    while (queue->last && (item = stream_queue_take(queue))) {
        if (item->is_done && item->is_in_spool) (void)spool_done(store->spool, &item->record);
        if (!item->is_fed || item->is_done) release_item(store, item);
    }
}

static void release_items(struct stream_store *store)
{
    struct stream_item *item;

    release_to_disk(store, &store->arrivals);
    release_to_disk(store, &store->unsynced);
    while (store->spooled.last && (item = stream_queue_take(&store->spooled)))
        release_item(store, item);
    while ((item = store->judging)) {
        stream_item_unlink(item);
        release_item(store, item);
    }
}

/* The writer needs the syncer, up to its end. */
void stream_store_halt(struct stream_store *store)
{
    pthread_mutex_lock(&store->mutex);
    store->closing = true;
    pthread_cond_signal(&store->writer_wakes);
    pthread_cond_signal(&store->syncer_wakes);
    pthread_cond_signal(&store->feeder_wakes);
    pthread_mutex_unlock(&store->mutex);
    if (store->has_writer) (void)pthread_join(store->writer, NULL);
    pthread_mutex_lock(&store->mutex);
    store->has_written_all = true;
    pthread_cond_signal(&store->syncer_wakes);
    pthread_mutex_unlock(&store->mutex);
    if (store->has_syncer) (void)pthread_join(store->syncer, NULL);
    if (store->has_feeder) (void)pthread_join(store->feeder, NULL);
    store->has_writer = store->has_syncer = store->has_feeder = false;
}

struct status stream_store_close(struct stream_store *store, bool finished)
{
    if (!store) return status_ok();
    stream_store_halt(store);
    release_items(store);
    struct status status = spool_close(store->spool, finished);
    while (store->clients) {
        struct stream_client *client = store->clients;
        store->clients = client->next;
        memory_release(client);
    }
    (void)pthread_cond_destroy(&store->writer_wakes);
    (void)pthread_cond_destroy(&store->syncer_wakes);
    (void)pthread_cond_destroy(&store->feeder_wakes);
    (void)pthread_mutex_destroy(&store->mutex);
    memory_release(store);
    return status;
}

static struct status start_thread(bool *has_one, pthread_t *thread, void *(*run)(void *context),
                                  struct stream_store *store)
{
    int failed = pthread_create(thread, NULL, run, store);

    *has_one = !failed;
    return failed ? status_error(STATUS_NO_MEMORY, "cannot start a thread: %s", strerror(failed))
                  : status_ok();
}

static struct status start_threads(struct stream_store *store)
{
    TRY(start_thread(&store->has_syncer, &store->syncer, stream_store_sync_records, store));
    TRY(start_thread(&store->has_writer, &store->writer, stream_store_write_records, store));
    return start_thread(&store->has_feeder, &store->feeder, stream_store_feed_records, store);
}

struct status stream_store_open(struct stream_store **out,
                                const struct stream_store_options *options)
{
    *out = NULL;
    struct stream_store *store = memory_allocate_zeroed(1, sizeof *store);
    if (!store) return status_no_memory(sizeof *store);
    store->options = *options;
    if (!store->options.segment_bytes) store->options.segment_bytes = SEGMENT_BYTES;
    (void)pthread_mutex_init(&store->mutex, NULL);
    (void)pthread_cond_init(&store->writer_wakes, NULL);
    (void)pthread_cond_init(&store->syncer_wakes, NULL);
    (void)pthread_cond_init(&store->feeder_wakes, NULL);
    stream_queue_open(&store->arrivals, TO_DISK);
    stream_queue_open(&store->unsynced, TO_DISK);
    stream_queue_open(&store->spooled, TO_JUDGE);
    struct status status =
        spool_open(&store->spool, options->directory, store->options.segment_bytes);
    if (!status.code) status = take_over_spool(store);
    if (!status.code) status = start_threads(store);
    if (status.code) (void)stream_store_close(store, false);
    else *out = store;
    return status;
}

/* ---- progress --------------------------------------------------------------------------- */

struct status stream_store_trouble(struct stream_store *store)
{
    pthread_mutex_lock(&store->mutex);
    struct status status = store->failure.code         ? store->failure
                           : store->write_trouble.code ? store->write_trouble
                                                       : store->sync_trouble;
    pthread_mutex_unlock(&store->mutex);
    return status;
}

bool stream_store_is_idle(struct stream_store *store)
{
    pthread_mutex_lock(&store->mutex);
    bool idle = !store->waiting;
    pthread_mutex_unlock(&store->mutex);
    return idle;
}

struct stream_store_progress stream_store_progress(struct stream_store *store)
{
    pthread_mutex_lock(&store->mutex);
    struct stream_store_progress progress = {
        .arrived = store->arrived,
        .arrived_bytes = store->arrived_bytes,
        .unwritten_bytes = store->unwritten_bytes,
        .waiting = store->waiting,
    };
    pthread_mutex_unlock(&store->mutex);
    progress.spool_bytes = spool_bytes(store->spool);
    return progress;
}
