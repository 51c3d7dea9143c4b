/* Three threads around the spool. All that they share is behind one mutex; files are touched outside it. */
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

/* A file that is used again costs less than a new one, so segments are many and not large. */
#define SEGMENT_BYTES ((uint64_t)128 << 20)
enum { KEPT_PART = 4 }; /* of the memory that bodies may have: for those that wait for the judge */
enum { RETRY_MS = 250, SESSION_DIGITS = 2 * SPOOL_SESSION_BYTES };

struct stream_client {
    struct stream_client *next;
    unsigned char session[SPOOL_SESSION_BYTES];
    char digits[SESSION_DIGITS + 1];
    uint64_t received; /* of the thread that puts */
    uint64_t durable;
};

/* The two ways that a record goes at once, and what holds its body: the one to the disk, in case that a sync fails
 * and it has to be written anew, and the one to the judge. */
enum way { TO_DISK, TO_JUDGE, WAYS };

struct item {
    struct item *next[WAYS];
    struct item **place; /* in `judging`: what points to it */
    struct stream_client *client;
    struct spool_record record;
    void *body;
    bool holds[WAYS];
    bool is_in_spool, is_fed, is_durable, is_done;
    bool waits_for_feeder; /* in `spooled` */
};

struct queue {
    enum way way;
    struct item *first, **last;
    size_t count;
};

struct stream_store {
    struct stream_store_options options;
    struct spool *spool;
    pthread_t writer, syncer, feeder;
    bool has_writer, has_syncer, has_feeder;
    pthread_mutex_t mutex; /* of everything below */
    pthread_cond_t writer_wakes, syncer_wakes, feeder_wakes;
    struct stream_client *clients;
    struct queue arrivals; /* not in the spool */
    struct queue unsynced; /* in the spool, and not durable */
    struct queue spooled;  /* for the feeder */
    struct item *judging;  /* the judge has them */
    bool is_in_doubt;      /* a sync has failed: `unsynced` is to be written anew */
    uint64_t arrived, arrived_bytes, unwritten_bytes;
    uint64_t kept_bytes; /* of bodies in `spooled` that are durable */
    uint64_t waiting;    /* items from store_put, or from the spool, to done */
    bool may_clear, closing, has_written_all;
    struct status write_trouble, sync_trouble; /* no record is stored */
    struct status failure;                     /* of the feeder: no record is judged */
};

/* ---- queues ----------------------------------------------------------------------------- */

static void queue_open(struct queue *queue, enum way way)
{
    *queue = (struct queue){ .way = way, .last = &queue->first };
}

static void queue_add(struct queue *queue, struct item *item)
{
    item->next[queue->way] = NULL;
    *queue->last = item;
    queue->last = &item->next[queue->way];
    queue->count++;
}

static struct item *queue_take(struct queue *queue)
{
    struct item *item = queue->first;

    if (!item) return NULL;
    queue->first = item->next[queue->way];
    if (!queue->first) queue->last = &queue->first;
    queue->count--;
    return item;
}

/* Put all of `from` in front of `queue`. */
static void queue_prepend(struct queue *queue, struct queue *from)
{
    if (!from->first) return;
    *from->last = queue->first;
    if (!queue->first) queue->last = from->last;
    queue->first = from->first;
    queue->count += from->count;
    queue_open(from, from->way);
}

/* The judge has the item, from now on or no longer. The mutex is held. */
static void judging_add(struct stream_store *store, struct item *item)
{
    item->next[TO_JUDGE] = store->judging;
    item->place = &store->judging;
    if (store->judging) store->judging->place = &item->next[TO_JUDGE];
    store->judging = item;
}

static void judging_remove(struct item *item)
{
    *item->place = item->next[TO_JUDGE];
    if (item->next[TO_JUDGE]) item->next[TO_JUDGE]->place = item->place;
}

/* RETRY_MS from now. */
static struct timespec in_a_while(void)
{
    struct timespec until;

    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += RETRY_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    return until;
}

/* Wait for a signal, at most so long. The mutex is held. */
static void wait_a_while(struct stream_store *store, pthread_cond_t *condition)
{
    const struct timespec until = in_a_while();
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

/* One of the two ways needs the body no longer. The mutex is held. */
static void release_hold(struct stream_store *store, struct item *item, enum way way)
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
    release_hold(store, ticket, TO_JUDGE);
    pthread_mutex_unlock(&store->mutex);
}

/* The item is done and durable. The mutex is held. */
static void dispose(struct stream_store *store, struct item *item)
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
    struct item *item = memory_allocate_zeroed(1, sizeof *item);
    if (!item) return status_no_memory(sizeof *item);

    item->client = client;
    item->body = body;
    item->holds[TO_DISK] = item->holds[TO_JUDGE] = true;
    item->record.sequence = client->received++;
    item->record.bytes = bytes;
    item->record.sum = sum;
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

/* ---- the writer ------------------------------------------------------------------------- */

/* Everything that has arrived is written together. */
enum { BATCH_RECORDS = 1024 };
struct batch {
    struct item *items[BATCH_RECORDS];
    struct spool_record records[BATCH_RECORDS];
    const void *bodies[BATCH_RECORDS];
    size_t count;
};

/* A sync has failed: what it may have lost is to be written anew, in front of what has come since. The mutex is
 * held. */
static void write_anew(struct stream_store *store)
{
    for (struct item *item = store->unsynced.first; item; item = item->next[TO_DISK]) {
        spool_retract(store->spool, &item->record);
        item->is_in_spool = false;
        store->unwritten_bytes += item->record.bytes;
    }
    queue_prepend(&store->arrivals, &store->unsynced);
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
        struct item *item = queue_take(&store->arrivals);
        batch->items[batch->count] = item;
        batch->records[batch->count] = item->record;
        batch->bodies[batch->count++] = item->body;
    }
    pthread_mutex_unlock(&store->mutex);
    return batch->count > 0;
}

/* Note how an attempt went, and tell the clients when that is new. The mutex is held. */
static void note_trouble(struct stream_store *store, struct status *trouble, struct status status)
{
    bool is_new = (status.code != 0) != (trouble->code != 0);
    *trouble = status;
    if (is_new) store->options.wake(store->options.wake_context);
}

/* True when the next attempt may begin: after a while, unless the store closes. */
static bool try_again(struct stream_store *store, struct status status)
{
    pthread_mutex_lock(&store->mutex);
    note_trouble(store, &store->write_trouble, status);
    bool again = status.code && !store->closing;
    if (again) wait_a_while(store, &store->writer_wakes);
    again = again && !store->closing;
    pthread_mutex_unlock(&store->mutex);
    return again;
}

/* The bodies are in the spool: the syncer and the feeder have something to do. */
static void hand_over(struct stream_store *store, const struct batch *batch)
{
    pthread_mutex_lock(&store->mutex);
    for (size_t i = 0; i < batch->count; i++) {
        struct item *item = batch->items[i];
        item->record.segment = batch->records[i].segment;
        item->record.offset = batch->records[i].offset;
        item->is_in_spool = true;
        store->unwritten_bytes -= item->record.bytes;
        queue_add(&store->unsynced, item);
        if (item->is_fed) continue; /* it is written anew */
        item->is_fed = item->waits_for_feeder = true;
        queue_add(&store->spooled, item);
    }
    pthread_cond_signal(&store->feeder_wakes);
    pthread_cond_signal(&store->syncer_wakes);
    pthread_mutex_unlock(&store->mutex);
}

/* Put back what could not be written, from the `first` on: it is waiting still, and nobody was told otherwise. */
static void put_back(struct stream_store *store, struct batch *batch, size_t first)
{
    struct queue queue;

    queue_open(&queue, TO_DISK);
    pthread_mutex_lock(&store->mutex);
    for (size_t i = first; i < batch->count; i++) queue_add(&queue, batch->items[i]);
    queue_prepend(&store->arrivals, &queue);
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

static void *write_records(void *context)
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
        struct item *item = queue_take(&store->unsynced);
        item->is_durable = true;
        item->client->durable = item->record.sequence + 1;
        if (item->waits_for_feeder && store->kept_bytes + item->record.bytes > share)
            release_hold(store, item, TO_JUDGE);
        else if (item->waits_for_feeder) store->kept_bytes += item->record.bytes;
        release_hold(store, item, TO_DISK);
        if (item->is_done) dispose(store, item);
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
    const struct timespec until = in_a_while();
    while (!store->closing && !pthread_cond_timedwait(&store->syncer_wakes, &store->mutex, &until))
        continue;
}

static void *sync_records(void *context)
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

struct status stream_store_trouble(struct stream_store *store)
{
    pthread_mutex_lock(&store->mutex);
    struct status status = store->failure.code         ? store->failure
                           : store->write_trouble.code ? store->write_trouble
                                                       : store->sync_trouble;
    pthread_mutex_unlock(&store->mutex);
    return status;
}

/* ---- the feeder ------------------------------------------------------------------------- */

/* The rows of a record are written. What is done before it is durable waits for that. */
static void finish_item(struct stream_store *store, struct item *item)
{
    pthread_mutex_lock(&store->mutex);
    judging_remove(item);
    item->is_done = true;
    bool idle = !--store->waiting;
    if (item->is_durable) dispose(store, item);
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
        if (!item && !store->may_clear && !store->closing)
            pthread_cond_wait(&store->feeder_wakes, &store->mutex);
    }
    if (item) {
        item->waits_for_feeder = false;
        if (item->is_durable && item->body) store->kept_bytes -= item->record.bytes;
        judging_add(store, item);
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

static bool is_closing(struct stream_store *store)
{
    pthread_mutex_lock(&store->mutex);
    bool closing = store->closing;
    pthread_mutex_unlock(&store->mutex);
    return closing;
}

/* Hand the body to the judge, as soon as it has room. *taken is false when the store closes first. */
static struct status submit(bool *taken, struct stream_store *store, struct item *item)
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
static struct status read_body(struct stream_store *store, struct item *item)
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

static struct status feed(struct stream_store *store, struct item *item)
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
        item->is_in_spool = item->is_fed = item->is_durable = item->waits_for_feeder = true;
        item->client = stream_store_client(store, left[i].session);
        queue_add(&store->spooled, item);
        store->waiting++;
        if (!item->client) return status_no_memory(0);
    }
    return status_ok();
}

static void release_item(struct stream_store *store, struct item *item)
{
    release_hold(store, item, TO_DISK);
    release_hold(store, item, TO_JUDGE);
    memory_release(item);
}

/* What is on its way to the disk may be on its way to the judge too: it is released with the latter. */
static void release_to_disk(struct stream_store *store, struct queue *queue)
{
    struct item *item;

    while (queue->last && (item = queue_take(queue))) {
        if (item->is_done && item->is_in_spool) (void)spool_done(store->spool, &item->record);
        if (!item->is_fed || item->is_done) release_item(store, item);
    }
}

static void release_items(struct stream_store *store)
{
    struct item *item;

    release_to_disk(store, &store->arrivals);
    release_to_disk(store, &store->unsynced);
    while (store->spooled.last && (item = queue_take(&store->spooled))) release_item(store, item);
    while ((item = store->judging)) {
        judging_remove(item);
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
    TRY(start_thread(&store->has_syncer, &store->syncer, sync_records, store));
    TRY(start_thread(&store->has_writer, &store->writer, write_records, store));
    return start_thread(&store->has_feeder, &store->feeder, feed_records, store);
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
    queue_open(&store->arrivals, TO_DISK);
    queue_open(&store->unsynced, TO_DISK);
    queue_open(&store->spooled, TO_JUDGE);
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
