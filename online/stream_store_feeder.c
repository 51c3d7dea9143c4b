/* From the spool to the judge. */
#include "online/stream_record.h"
#include "online/stream_store_state.h"

/* The rows of a record are written. What is done before it is durable waits for that. */
static void finish_item(struct stream_store *store, struct stream_item *item)
{
    pthread_mutex_lock(&store->mutex);
    stream_item_unlink(item);
    item->is_done = true;
    bool idle = !--store->waiting;
    if (item->is_durable) stream_store_dispose(store, item);
    pthread_mutex_unlock(&store->mutex);
    if (idle) store->options.wake(store->options.wake_context);
}

void stream_store_done(struct stream_store *store, const struct record_done *done)
{
    finish_item(store, done->ticket);
}

void stream_store_room(struct stream_store *store)
{
    pthread_mutex_lock(&store->mutex);
    pthread_cond_signal(&store->feeder_wakes);
    pthread_mutex_unlock(&store->mutex);
}

static struct status clear_segments(struct stream_store *store)
{
    const struct stream_judge *judge = &store->options.judge;

    pthread_mutex_lock(&store->mutex);
    store->may_clear = false;
    pthread_mutex_unlock(&store->mutex);
    return spool_clear(store->spool, judge->sync, judge->context);
}

/* The next record to feed; NULL when the store closes. Segments that may go, go meanwhile. */
static struct stream_item *next_spooled(struct stream_store *store)
{
    struct stream_item *item = NULL;

    pthread_mutex_lock(&store->mutex);
    while (!store->closing && !item) {
        if (store->may_clear) {
            pthread_mutex_unlock(&store->mutex);
            (void)clear_segments(store); /* a segment that stays is tried again with the next one */
            pthread_mutex_lock(&store->mutex);
        }
        item = stream_queue_take(&store->spooled);
        if (!item && !store->may_clear && !store->closing)
            pthread_cond_wait(&store->feeder_wakes, &store->mutex);
    }
    if (item) {
        item->waits_for_feeder = false;
        if (item->is_durable && item->body) store->kept_bytes -= item->record.bytes;
        stream_item_link(&store->judging, item);
    }
    pthread_mutex_unlock(&store->mutex);
    return item;
}

static void wait_for_room(struct stream_store *store)
{
    pthread_mutex_lock(&store->mutex);
    if (!store->closing) stream_store_wait(store, &store->feeder_wakes);
    pthread_mutex_unlock(&store->mutex);
}

static bool is_closing(struct stream_store *store)
{
    pthread_mutex_lock(&store->mutex);
    bool closing = store->closing;
    pthread_mutex_unlock(&store->mutex);
    return closing;
}

/* Hand the body to the judge, as soon as it has room. *taken is false when the store closes first. */
static struct status submit(bool *taken, struct stream_store *store, struct stream_item *item)
{
    const struct judge_submission submission = {
        .origin = { .session = item->client->digits, .sequence = item->record.sequence, .rank = 0 },
        .decode = stream_record_decode,
        .body = item->body,
        .bytes = (size_t)item->record.bytes,
        .ticket = item,
    };

    for (;;) {
        TRY(store->options.judge.submit(taken, store->options.judge.context, &submission));
        if (*taken || is_closing(store)) return status_ok();
        wait_for_room(store);
    }
}

/* Have the body of an item in memory again, which is durable then. It is not there, without a failure, when the store
 * closes first. */
static struct status read_body(struct stream_store *store, struct stream_item *item)
{
    struct receive_memory *memory = store->options.memory;
    uint64_t bytes = item->record.bytes;

    void *body = receive_memory_reuse(memory, store, bytes);
    while (!body && !receive_memory_take(memory, store, bytes)) {
        if (is_closing(store)) return status_ok();
        wait_for_room(store);
    }
    receive_memory_done(memory, store);
    if (!body) body = receive_memory_body(bytes);
    struct status status = body ? spool_read(store->spool, &item->record, body)
                                : status_no_memory(bytes);
    if (status.code) {
        (void)receive_memory_give_body(memory, body, bytes, bytes);
        return status;
    }
    item->body = body;
    item->holds[TO_JUDGE] = true;
    return status;
}

static struct status feed(struct stream_store *store, struct stream_item *item)
{
    const struct stream_judge *judge = &store->options.judge;
    bool taken = false;

    if (item->record.sequence < judge->committed(judge->context, item->client->digits)) {
        stream_store_release(store, item);
        finish_item(store, item);
        return status_ok();
    }
    if (!item->holds[TO_JUDGE]) TRY(read_body(store, item));
    if (!item->holds[TO_JUDGE]) return status_ok();
    struct status status = submit(&taken, store, item);
    if (!taken) stream_store_release(store, item);
    return status;
}

void *stream_store_feed_records(void *context)
{
    struct stream_store *store = context;
    struct stream_item *item;

    while ((item = next_spooled(store))) {
        struct status status = feed(store, item);
        if (!status.code) continue;
        pthread_mutex_lock(&store->mutex);
        store->failure = status;
        pthread_mutex_unlock(&store->mutex);
        store->options.wake(store->options.wake_context);
        break;
    }
    return NULL;
}
