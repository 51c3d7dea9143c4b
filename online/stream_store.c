/* Two threads around the spool. All that they share is behind one mutex; files are touched outside it. */
#include "online/stream_store.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/memory.h"
#include "online/spool.h"
#include "online/stream_record.h"

#define SEGMENT_BYTES ((uint64_t)256 << 20)
/* Faulting in a body on pages of 4 KB takes as long as everything else that is done with it. */
#define LARGE_BODY_BYTES ((uint64_t)4 << 20)
enum { KEPT_PART = 4 }; /* of the memory that bodies may have: for those that wait for the judge */
enum { RETRY_MS = 250, SESSION_DIGITS = 2 * SPOOL_SESSION_BYTES };

struct stream_client {
    struct stream_client *next;
    unsigned char session[SPOOL_SESSION_BYTES];
    char digits[SESSION_DIGITS + 1];
    uint64_t received; /* of the thread that puts */
    uint64_t durable;
};

/* A record on its way: first with its body, then as a place in the spool. */
struct item {
    struct item *next, **place; /* in `judging`: what points to it */
    struct stream_client *client;
    struct spool_record record;
    void *body; /* until it is written, and on to the judge while there is memory */
};

struct queue {
    struct item *first, **last;
    size_t count;
};

struct stream_store {
    struct stream_store_options options;
    struct spool *spool;
    pthread_t writer, feeder;
    bool has_writer, has_feeder;
    pthread_mutex_t mutex; /* of everything below */
    pthread_cond_t writer_wakes, feeder_wakes;
    struct stream_client *clients;
    struct queue arrivals, spooled;
    struct item *judging; /* the judge has them */
    uint64_t arrived, arrived_bytes, unwritten_bytes;
    uint64_t kept_bytes; /* of bodies in `spooled` */
    uint64_t waiting;    /* items from store_put, or from the spool, to done */
    bool may_clear, closing;
    struct status trouble; /* of the writer: no record is stored */
    struct status failure; /* of the feeder: no record is judged */
};

/* ---- queues ----------------------------------------------------------------------------- */

static void queue_open(struct queue *queue) { *queue = (struct queue){ .last = &queue->first }; }

static void queue_add(struct queue *queue, struct item *item)
{
    item->next = NULL;
    *queue->last = item;
    queue->last = &item->next;
    queue->count++;
}

static struct item *queue_take(struct queue *queue)
{
    struct item *item = queue->first;

    if (!item) return NULL;
    queue->first = item->next;
    if (!queue->first) queue->last = &queue->first;
    queue->count--;
    return item;
}

/* The judge has the item, from now on or no longer. The mutex is held. */
static void judging_add(struct stream_store *store, struct item *item)
{
    item->next = store->judging;
    item->place = &store->judging;
    if (item->next) item->next->place = &item->next;
    store->judging = item;
}

static void judging_remove(struct item *item)
{
    *item->place = item->next;
    if (item->next) item->next->place = item->place;
}

/* Wait for a signal, at most RETRY_MS. The mutex is held. */
static void wait_a_while(struct stream_store *store, pthread_cond_t *condition)
{
    struct timespec until;

    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += RETRY_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
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

void *stream_body_allocate(uint64_t bytes)
{
    void *body = memory_allocate((size_t)bytes + !bytes);
    if (body && bytes >= LARGE_BODY_BYTES) memory_use_huge_pages(body, (size_t)bytes);
    return body;
}

/* ---- the writer ------------------------------------------------------------------------- */

struct status stream_store_put(struct stream_store *store, struct stream_client *client, void *body,
                               uint64_t bytes)
{
    struct item *item = memory_allocate_zeroed(1, sizeof *item);
    if (!item) return status_no_memory(sizeof *item);

    item->client = client;
    item->body = body;
    item->record.sequence = client->received++;
    item->record.bytes = bytes;
    memcpy(item->record.session, client->session, SPOOL_SESSION_BYTES);
    pthread_mutex_lock(&store->mutex);
    queue_add(&store->arrivals, item);
    store->waiting++;
    store->arrived++;
    store->arrived_bytes += bytes;
    store->unwritten_bytes += bytes;
    pthread_cond_signal(&store->writer_wakes);
    pthread_mutex_unlock(&store->mutex);
    return status_ok();
}

/* Everything that has arrived is written and synced together. */
enum { BATCH_RECORDS = 1024 };
struct batch {
    struct item *items[BATCH_RECORDS];
    struct spool_record records[BATCH_RECORDS];
    const void *bodies[BATCH_RECORDS];
    size_t count;
};

static bool take_arrivals(struct stream_store *store, struct batch *batch)
{
    batch->count = 0;
    pthread_mutex_lock(&store->mutex);
    while (!store->arrivals.first && !store->closing)
        pthread_cond_wait(&store->writer_wakes, &store->mutex);
    while (batch->count < BATCH_RECORDS && store->arrivals.first) {
        struct item *item = queue_take(&store->arrivals);
        batch->items[batch->count] = item;
        batch->records[batch->count] = item->record;
        batch->bodies[batch->count++] = item->body;
    }
    pthread_mutex_unlock(&store->mutex);
    return batch->count > 0;
}

/* Note how an attempt went. True when the next one may begin: after a while, unless the store closes. */
static bool try_again(struct stream_store *store, struct status status)
{
    pthread_mutex_lock(&store->mutex);
    bool changed = (status.code != 0) != (store->trouble.code != 0);
    bool again = status.code && !store->closing;
    store->trouble = status;
    if (changed) store->options.wake(store->options.wake_context);
    if (again) wait_a_while(store, &store->writer_wakes);
    again = again && !store->closing;
    pthread_mutex_unlock(&store->mutex);
    return again;
}

static void release_body(struct stream_store *store, struct item *item)
{
    memory_release(item->body);
    item->body = NULL;
    if (receive_memory_give(store->options.memory, item->record.bytes))
        store->options.wake(store->options.wake_context);
}

/* The bodies are on disk. The feeder has something to do, and where it does not keep up, it will read the
 * bodies again, and their memory goes back. */
static void hand_over(struct stream_store *store, struct batch *batch)
{
    uint64_t share = store->options.memory->share_bytes / KEPT_PART;

    pthread_mutex_lock(&store->mutex);
    for (size_t i = 0; i < batch->count; i++) {
        struct item *item = batch->items[i];
        item->record = batch->records[i];
        store->unwritten_bytes -= item->record.bytes;
        if (store->kept_bytes + item->record.bytes > share) release_body(store, item);
        else store->kept_bytes += item->record.bytes;
        queue_add(&store->spooled, item);
    }
    pthread_cond_signal(&store->feeder_wakes);
    pthread_mutex_unlock(&store->mutex);
}

static void note_durable(struct stream_store *store, const struct batch *batch,
                         struct stream_client *const *clients)
{
    pthread_mutex_lock(&store->mutex);
    for (size_t i = 0; i < batch->count; i++) clients[i]->durable = batch->records[i].sequence + 1;
    pthread_mutex_unlock(&store->mutex);
    store->options.wake(store->options.wake_context);
}

/* Put back what could not be written: it is waiting still, and nobody was told otherwise. */
static void put_back(struct stream_store *store, const struct batch *batch)
{
    pthread_mutex_lock(&store->mutex);
    for (size_t i = 0; i < batch->count; i++) queue_add(&store->arrivals, batch->items[i]);
    pthread_mutex_unlock(&store->mutex);
}

static void write_batch(struct stream_store *store, struct batch *batch)
{
    struct stream_client *clients[BATCH_RECORDS]; /* items may be done before they are durable */
    struct status status;

    for (size_t i = 0; i < batch->count; i++) clients[i] = batch->items[i]->client;
    do status = spool_append(store->spool, batch->records, batch->bodies, batch->count);
    while (try_again(store, status));
    if (status.code) {
        put_back(store, batch);
        return;
    }
    hand_over(store, batch);
    do status = spool_sync(store->spool);
    while (try_again(store, status));
    if (!status.code) note_durable(store, batch, clients);
}

static bool is_closing(struct stream_store *store)
{
    pthread_mutex_lock(&store->mutex);
    bool closing = store->closing;
    pthread_mutex_unlock(&store->mutex);
    return closing;
}

static void *write_records(void *context)
{
    struct stream_store *store = context;
    struct batch *batch = memory_allocate(sizeof *batch);

    if (!batch) return NULL;
    /* What is there when the store closes is written once more, without waiting for a full disk. */
    while (take_arrivals(store, batch)) {
        write_batch(store, batch);
        if (is_closing(store) && store->trouble.code) break;
    }
    memory_release(batch);
    return NULL;
}

struct status stream_store_trouble(struct stream_store *store)
{
    pthread_mutex_lock(&store->mutex);
    struct status status = store->failure.code ? store->failure : store->trouble;
    pthread_mutex_unlock(&store->mutex);
    return status;
}

/* ---- the feeder ------------------------------------------------------------------------- */

/* A record is done: its segment may go after the next sync of the rows. */
static void finish_item(struct stream_store *store, struct item *item)
{
    bool may_clear = spool_done(store->spool, &item->record);

    pthread_mutex_lock(&store->mutex);
    judging_remove(item);
    store->waiting--;
    store->may_clear = store->may_clear || may_clear;
    if (may_clear) pthread_cond_signal(&store->feeder_wakes);
    bool idle = !store->waiting;
    pthread_mutex_unlock(&store->mutex);
    memory_release(item);
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
static struct item *next_spooled(struct stream_store *store)
{
    struct item *item = NULL;

    pthread_mutex_lock(&store->mutex);
    while (!store->closing && !item) {
        if (store->may_clear) {
            pthread_mutex_unlock(&store->mutex);
            (void)clear_segments(store); /* a segment that stays is tried again with the next one */
            pthread_mutex_lock(&store->mutex);
        }
        item = queue_take(&store->spooled);
        if (item && item->body) store->kept_bytes -= item->record.bytes;
        if (item) judging_add(store, item);
        if (!item && !store->may_clear && !store->closing)
            pthread_cond_wait(&store->feeder_wakes, &store->mutex);
    }
    pthread_mutex_unlock(&store->mutex);
    return item;
}

static void wait_for_room(struct stream_store *store)
{
    pthread_mutex_lock(&store->mutex);
    if (!store->closing) wait_a_while(store, &store->feeder_wakes);
    pthread_mutex_unlock(&store->mutex);
}

/* Hand a body to the judge, as soon as it has room. *taken is false when the store closes first. */
static struct status submit(bool *taken, struct stream_store *store, struct item *item, void *body)
{
    const struct judge_submission submission = {
        .origin = { .session = item->client->digits, .sequence = item->record.sequence, .rank = 0 },
        .decode = stream_record_decode,
        .body = body,
        .bytes = (size_t)item->record.bytes,
        .ticket = item,
    };

    for (;;) {
        TRY(store->options.judge.submit(taken, store->options.judge.context, &submission));
        if (*taken || is_closing(store)) return status_ok();
        wait_for_room(store);
    }
}

/* Have the body of an item in memory again. It is not there, without a failure, when the store closes first. */
static struct status read_body(struct stream_store *store, struct item *item)
{
    struct receive_memory *memory = store->options.memory;
    uint64_t bytes = item->record.bytes;

    if (item->body) return status_ok();
    while (!receive_memory_take(memory, store, bytes)) {
        if (is_closing(store)) return status_ok();
        wait_for_room(store);
    }
    receive_memory_done(memory, store);
    item->body = stream_body_allocate(bytes);
    struct status status = item->body ? spool_read(store->spool, &item->record, item->body)
                                      : status_no_memory(bytes);
    if (status.code) release_body(store, item);
    return status;
}

static struct status feed(struct stream_store *store, struct item *item)
{
    bool taken = false;

    if (item->record.sequence <
        store->options.judge.committed(store->options.judge.context, item->client->digits)) {
        if (item->body) release_body(store, item);
        finish_item(store, item);
        return status_ok();
    }
    TRY(read_body(store, item));
    if (!item->body) return status_ok();
    struct status status = submit(&taken, store, item, item->body);
    if (taken) return status;
    release_body(store, item);
    return status;
}

static void *feed_records(void *context)
{
    struct stream_store *store = context;
    struct item *item;

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

/* ---- opening and closing ---------------------------------------------------------------- */

/* What an earlier process left is to be fed like what arrives. */
static struct status take_over_spool(struct stream_store *store)
{
    const struct spool_record *left;
    size_t count = spool_left(store->spool, &left);

    for (size_t i = 0; i < count; i++) {
        struct item *item = memory_allocate_zeroed(1, sizeof *item);
        if (!item) return status_no_memory(sizeof *item);
        item->record = left[i];
        item->client = stream_store_client(store, left[i].session);
        queue_add(&store->spooled, item);
        store->waiting++;
        if (!item->client) return status_no_memory(0);
    }
    return status_ok();
}

static void release_queue(struct stream_store *store, struct queue *queue)
{
    struct item *item;

    /* not opened when the store could not be */
    while (queue->last && (item = queue_take(queue))) {
        if (item->body) release_body(store, item);
        memory_release(item);
    }
}

void stream_store_halt(struct stream_store *store)
{
    pthread_mutex_lock(&store->mutex);
    store->closing = true;
    pthread_cond_signal(&store->writer_wakes);
    pthread_cond_signal(&store->feeder_wakes);
    pthread_mutex_unlock(&store->mutex);
    if (store->has_writer) (void)pthread_join(store->writer, NULL);
    if (store->has_feeder) (void)pthread_join(store->feeder, NULL);
    store->has_writer = store->has_feeder = false;
}

struct status stream_store_close(struct stream_store *store, bool finished)
{
    if (!store) return status_ok();
    stream_store_halt(store);
    struct status status = spool_close(store->spool, finished);
    release_queue(store, &store->arrivals);
    release_queue(store, &store->spooled);
    while (store->judging) {
        struct item *item = store->judging;
        judging_remove(item);
        memory_release(item);
    }
    while (store->clients) {
        struct stream_client *client = store->clients;
        store->clients = client->next;
        memory_release(client);
    }
    (void)pthread_cond_destroy(&store->writer_wakes);
    (void)pthread_cond_destroy(&store->feeder_wakes);
    (void)pthread_mutex_destroy(&store->mutex);
    memory_release(store);
    return status;
}

static struct status start_threads(struct stream_store *store)
{
    int failed = pthread_create(&store->writer, NULL, write_records, store);

    store->has_writer = !failed;
    if (!failed) failed = pthread_create(&store->feeder, NULL, feed_records, store);
    store->has_feeder = !failed;
    return failed ? status_error(STATUS_NO_MEMORY, "cannot start a thread: %s", strerror(failed))
                  : status_ok();
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
    (void)pthread_cond_init(&store->feeder_wakes, NULL);
    queue_open(&store->arrivals);
    queue_open(&store->spooled);
    struct status status =
        spool_open(&store->spool, options->directory, store->options.segment_bytes);
    if (!status.code) status = take_over_spool(store);
    if (!status.code) status = start_threads(store);
    if (status.code) (void)stream_store_close(store, false);
    else *out = store;
    return status;
}

/* ---- progress --------------------------------------------------------------------------- */

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
