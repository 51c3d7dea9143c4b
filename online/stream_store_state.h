/* What the threads of a store share. Only its files include this. */
#ifndef PROBE_ONLINE_STREAM_STORE_STATE_H
#define PROBE_ONLINE_STREAM_STORE_STATE_H

#include <pthread.h>

#include "online/stream_queue.h"
#include "online/stream_store.h"

enum { SESSION_DIGITS = 2 * SPOOL_SESSION_BYTES };

struct stream_client {
    struct stream_client *next;
    unsigned char session[SPOOL_SESSION_BYTES];
    char digits[SESSION_DIGITS + 1];
    uint64_t received; /* of the thread that puts */
    uint64_t durable;
};

struct stream_store {
    struct stream_store_options options;
    struct spool *spool;
    pthread_t writer, syncer, feeder;
    bool has_writer, has_syncer, has_feeder;
    pthread_mutex_t mutex; /* of everything below */
    pthread_cond_t writer_wakes, syncer_wakes, feeder_wakes;
    struct stream_client *clients;
    struct stream_queue arrivals; /* not in the spool */
    struct stream_queue unsynced; /* in the spool, and not durable */
    struct stream_queue spooled;  /* for the feeder */
    struct stream_item *judging;  /* the judge has them */
    bool is_in_doubt;             /* a sync has failed: `unsynced` is to be written anew */
    uint64_t arrived, arrived_bytes, unwritten_bytes;
    uint64_t kept_bytes; /* of bodies in `spooled` that are durable */
    uint64_t waiting;    /* items from store_put, or from the spool, to done */
    bool may_clear, closing, has_written_all;
    struct status write_trouble, sync_trouble; /* no record is stored */
    struct status failure;                     /* of the feeder: no record is judged */
};

/* A moment a little later, for the next attempt of what has failed. */
struct timespec stream_store_later(void);

/* Wait for a signal, at most until then. The mutex is held. */
void stream_store_wait(struct stream_store *store, pthread_cond_t *condition);

/* One of the two ways needs the body no longer. The mutex is held. */
void stream_store_release_hold(struct stream_store *store, struct stream_item *item,
                               enum stream_way way);

/* The item is done and durable: it is released. The mutex is held. */
void stream_store_dispose(struct stream_store *store, struct stream_item *item);

/* The threads; `context` is the store. */
void *stream_store_write_records(void *context); /* what has arrived to the spool */
void *stream_store_sync_records(void *context);  /* what is in the spool to the disk */
void *stream_store_feed_records(void *context);  /* what is in the spool to the judge */

#endif
