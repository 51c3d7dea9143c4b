/* To the disk: one thread writes what has arrived, another makes it durable. */
#include "core/memory.h"
#include "online/stream_store_state.h"

enum { KEPT_PART = 4 }; /* of the memory that bodies may have: for those that wait for the judge */

/* Note how an attempt went, and tell the clients when that is new. The mutex is held. */
static void note_trouble(struct stream_store *store, struct status *trouble, struct status status)
{
    bool is_new = (status.code != 0) != (trouble->code != 0);
    *trouble = status;
    if (is_new) store->options.wake(store->options.wake_context);
}

/* ---- the writer ------------------------------------------------------------------------- */

/* Everything that has arrived is written together. */
enum { BATCH_RECORDS = 1024 };
struct batch {
    struct stream_item *items[BATCH_RECORDS];
    struct spool_record records[BATCH_RECORDS];
    const void *bodies[BATCH_RECORDS];
    size_t count;
};

/* A sync has failed: what it may have lost is to be written anew, in front of what has come since. The mutex is
 * held. */
static void write_anew(struct stream_store *store)
{
    for (struct stream_item *item = store->unsynced.first; item; item = item->next[TO_DISK]) {
        spool_retract(store->spool, &item->record);
        item->is_in_spool = false;
        store->unwritten_bytes += item->record.bytes;
    }
    stream_queue_prepend(&store->arrivals, &store->unsynced);
    store->is_in_doubt = false;
}

/* With the mutex. */
static bool may_write(struct stream_store *store)
{
    return store->arrivals.first && !(store->unsynced.first && spool_begins_segment(store->spool));
}

/* What is there when the store closes is written once more, without waiting for a disk that is full or fails. With the
 * mutex. */
static bool writer_ends(const struct stream_store *store)
{
    return store->closing &&
           (!store->arrivals.first || store->write_trouble.code || store->sync_trouble.code);
}

static bool take_arrivals(struct stream_store *store, struct batch *batch)
{
    batch->count = 0;
    pthread_mutex_lock(&store->mutex);
    for (;;) {
        if (store->is_in_doubt) write_anew(store);
        if (writer_ends(store) || may_write(store)) break;
        pthread_cond_wait(&store->writer_wakes, &store->mutex);
    }
    while (!writer_ends(store) && batch->count < BATCH_RECORDS && store->arrivals.first) {
        struct stream_item *item = stream_queue_take(&store->arrivals);
        batch->items[batch->count] = item;
        batch->records[batch->count] = item->record;
        batch->bodies[batch->count++] = item->body;
    }
    pthread_mutex_unlock(&store->mutex);
    return batch->count > 0;
}

/* True when the next attempt may begin: after a while, unless the store closes. */
static bool try_again(struct stream_store *store, struct status status)
{
    pthread_mutex_lock(&store->mutex);
    note_trouble(store, &store->write_trouble, status);
    bool again = status.code && !store->closing;
    if (again) stream_store_wait(store, &store->writer_wakes);
    again = again && !store->closing;
    pthread_mutex_unlock(&store->mutex);
    return again;
}

/* The bodies are in the spool: the syncer and the feeder have something to do. */
static void hand_over(struct stream_store *store, const struct batch *batch)
{
    pthread_mutex_lock(&store->mutex);
    for (size_t i = 0; i < batch->count; i++) {
        struct stream_item *item = batch->items[i];
        item->record.segment = batch->records[i].segment;
        item->record.offset = batch->records[i].offset;
        item->is_in_spool = true;
        store->unwritten_bytes -= item->record.bytes;
        stream_queue_add(&store->unsynced, item);
        if (item->is_fed) continue; /* it is written anew */
        item->is_fed = item->waits_for_feeder = true;
        stream_queue_add(&store->spooled, item);
    }
    pthread_cond_signal(&store->feeder_wakes);
    pthread_cond_signal(&store->syncer_wakes);
    pthread_mutex_unlock(&store->mutex);
}

/* Put back what could not be written, from the `first` on: it is waiting still, and nobody was told otherwise. */
static void put_back(struct stream_store *store, struct batch *batch, size_t first)
{
    struct stream_queue queue;

    stream_queue_open(&queue, TO_DISK);
    pthread_mutex_lock(&store->mutex);
    for (size_t i = first; i < batch->count; i++) stream_queue_add(&queue, batch->items[i]);
    stream_queue_prepend(&store->arrivals, &queue);
    pthread_mutex_unlock(&store->mutex);
    batch->count = first;
}

/* On a disk that is full there may be room for less, or for what is needed instead of what is not any more. */
static void make_do(struct stream_store *store, struct batch *batch)
{
    if (batch->count > 1) put_back(store, batch, batch->count / 2);
    if (!spool_relieve(store->spool)) return;
    pthread_mutex_lock(&store->mutex);
    store->may_clear = true;
    pthread_cond_signal(&store->feeder_wakes);
    pthread_mutex_unlock(&store->mutex);
}

static void write_batch(struct stream_store *store, struct batch *batch)
{
    struct status status;

    for (;;) {
        status = spool_append(store->spool, batch->records, batch->bodies, batch->count);
        if (!try_again(store, status)) break;
        make_do(store, batch);
    }
    if (status.code) put_back(store, batch, 0);
    else hand_over(store, batch);
}

void *stream_store_write_records(void *context)
{
    struct stream_store *store = context;
    struct batch *batch = memory_allocate(sizeof *batch);

    while (batch && take_arrivals(store, batch)) write_batch(store, batch);
    memory_release(batch);
    return NULL;
}

/* ---- the syncer ------------------------------------------------------------------------- */

/* The first `count` items of `unsynced` are durable. What still waits for the feeder gives its memory back where that
 * does not keep up, and is read again. The mutex is held. */
static void note_durable(struct stream_store *store, size_t count)
{
    uint64_t share = store->options.memory->share_bytes / KEPT_PART;

    for (size_t i = 0; i < count; i++) {
        struct stream_item *item = stream_queue_take(&store->unsynced);
        item->is_durable = true;
        item->client->durable = item->record.sequence + 1;
        if (item->waits_for_feeder && store->kept_bytes + item->record.bytes > share)
            stream_store_release_hold(store, item, TO_JUDGE);
        else if (item->waits_for_feeder) store->kept_bytes += item->record.bytes;
        stream_store_release_hold(store, item, TO_DISK);
        if (item->is_done) stream_store_dispose(store, item);
    }
    store->options.wake(store->options.wake_context);
}

/* Wait for something to sync; how much it is, 0 when the store closes. The mutex is held. */
static size_t await_unsynced(struct stream_store *store)
{
    while (!store->has_written_all && (!store->unsynced.first || store->is_in_doubt))
        pthread_cond_wait(&store->syncer_wakes, &store->mutex);
    return store->is_in_doubt ? 0 : store->unsynced.count;
}

/* Each attempt after a failure takes a segment of its own, so there are few of them. The mutex is held. */
static void pause_syncer(struct stream_store *store)
{
    const struct timespec until = stream_store_later();
    while (!store->closing && !pthread_cond_timedwait(&store->syncer_wakes, &store->mutex, &until))
        continue;
}

void *stream_store_sync_records(void *context)
{
    struct stream_store *store = context;
    size_t count;

    pthread_mutex_lock(&store->mutex);
    while ((count = await_unsynced(store))) {
        pthread_mutex_unlock(&store->mutex);
        struct status status = spool_sync(store->spool);
        pthread_mutex_lock(&store->mutex);
        note_trouble(store, &store->sync_trouble, status);
        if (!status.code) note_durable(store, count);
        else store->is_in_doubt = true;
        pthread_cond_signal(&store->writer_wakes);
        if (status.code) pause_syncer(store);
    }
    pthread_mutex_unlock(&store->mutex);
    return NULL;
}
