/* What becomes of the records of our own client behind the connection: into the spool, durable, judged, done.
 *
 *     stream_store_put ─▶ writer: append ─▶ syncer ─▶ durable, the client may be told
 *                            └─▶ feeder ─▶ judge ─▶ stream_store_done ─▶ the segment goes
 *
 * Between a client and the judge lies the disk: a long queue waits there and not in memory, and a judge that is
 * slow slows nobody down. Nor does a disk that takes its time to sync: a thread of its own waits for that, one sync
 * for all that was appended meanwhile. All threads sleep when there is nothing to do. While the disk is full the
 * writer tries again and again, and the clients are told that the server is busy. A body stays in memory until it is
 * durable: after a sync that has failed it is written anew.
 *
 * A process that is killed leaves its spool. The next one on the same directory judges what is in it, but
 * for what has rows already (judge_committed).
 */
#ifndef PROBE_ONLINE_STREAM_STORE_H
#define PROBE_ONLINE_STREAM_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/status.h"
#include "online/judge.h"
#include "online/receive_memory.h"

struct stream_store;

/* Who judges; judge.h behind it, or a test. */
struct stream_judge {
    void *context;
    struct status (*submit)(bool *taken, void *context, const struct judge_submission *record);
    uint64_t (*committed)(void *context, const char *session);
    struct status (*sync)(void *context);
};

struct stream_store_options {
    const char *directory;  /* of the spool */
    uint64_t segment_bytes; /* 0: 128 MiB */
    struct stream_judge judge;
    struct receive_memory
        *memory; /* bodies that arrive and bodies that the judge has are taken from it */
    void (*wake)(void *context); /* something is durable now, or is not; any thread */
    void *wake_context;
};

/* Open the spool, start the threads, and judge what an earlier process left. */
struct status stream_store_open(struct stream_store **out,
                                const struct stream_store_options *options);

/* A session of a client as the store knows it; lives as long as the store. */
struct stream_client;
struct stream_client *stream_store_client(struct stream_store *store, const unsigned char *session);

/* The session in hexadecimal digits, as the evidence has it. */
const char *stream_client_session(const struct stream_client *client);

/* How many records have come, and how many of them are durable. */
uint64_t stream_client_received(const struct stream_client *client);
uint64_t stream_client_durable(struct stream_store *store, const struct stream_client *client);

/* Take over the next record of a client. The body is one of options.memory, all of it taken; it goes back there
 * when it is durable and the judge has released it.
 *
 *   sum     stream_bulk_sum of the body
 *   errors  STATUS_NO_MEMORY: nothing was taken
 */
struct status stream_store_put(struct stream_store *store, struct stream_client *client, void *body,
                               uint64_t bytes, uint64_t sum);

/* The judge does not need the body of a submission any more. Before stream_store_done. */
void stream_store_release(struct stream_store *store, void *ticket);

/* Of the judge's listener: what became of a record of the store, and that there is room again. */
void stream_store_done(struct stream_store *store, const struct record_done *done);
void stream_store_room(struct stream_store *store);

/* Why nothing can be stored now; OK when all is well. */
struct status stream_store_trouble(struct stream_store *store);

struct stream_store_progress {
    uint64_t arrived, arrived_bytes; /* in this process */
    uint64_t unwritten_bytes;        /* not on disk yet */
    uint64_t waiting;                /* on disk, not done */
    uint64_t spool_bytes;
};
struct stream_store_progress stream_store_progress(struct stream_store *store);

/* Is everything that came judged? */
bool stream_store_is_idle(struct stream_store *store);

/* End the threads, so that nothing is submitted any more. */
void stream_store_halt(struct stream_store *store);

/* Close; the judge has been closed, or is idle. `finished`: the rows of all records are durable, and the spool goes; otherwise what is not
 * done stays for the next process. NULL is closed. */
struct status stream_store_close(struct stream_store *store, bool finished);

#endif
