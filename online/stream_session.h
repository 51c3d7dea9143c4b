/* The protocol of our own client, as the server knows protocols (online/protocol.h; docs/stream-protocol.md).
 *
 * A connection begins with the client's greeting: its token and its session, which stays the same after a
 * reconnection. The server answers how many records of the session are durable, and the client sends from
 * there on; nothing is taken twice and nothing is left out. Many records may be on their way; whenever some
 * have become durable, one acknowledgement says how far. A frame that is damaged ends the connection, and
 * what was on its way comes again over the next one.
 */
#ifndef PROBE_ONLINE_STREAM_SESSION_H
#define PROBE_ONLINE_STREAM_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/status.h"
#include "online/attendance.h"
#include "online/protocol.h"
#include "online/receive_memory.h"
#include "online/stream_frames.h"
#include "online/stream_store.h"

struct stream;

/* Told of a record, once, before it is stored. The body stays the stream's. */
typedef void stream_arrival(void *context, const struct record_origin *origin, const void *body,
                            size_t bytes);

struct stream_options {
    const char *token; /* that clients must have; NULL: none is asked for. Outlives the stream */
    /* Open the store, when the first client comes. What fails is said to the client. */
    struct status (*open_store)(struct stream_store **out, void *context);
    void *open_context;
    struct receive_memory *memory; /* the store's; its share is the most bytes of a record */
    struct attendance *attendance;
    stream_arrival *arrived; /* on the thread of the server; or NULL */
    void *arrived_context;
};

struct status stream_open(struct stream **out, const struct stream_options *options);
void stream_close(struct stream *stream); /* after the server; NULL is closed */

/* Use a store that is open already. */
void stream_use_store(struct stream *stream, struct stream_store *store);

/* The protocol to hand to the server. */
struct protocol stream_protocol(struct stream *stream);

/* Tell all clients that training shall stop, those that are connected and those that come; `why` is a sentence
 * for the one who trains. Only the first counts. Any thread; the server is to be woken then. */
void stream_stop_training(struct stream *stream, const char *why);

/* Tell all clients that the run is over. On the thread of the server. */
void stream_end_run(struct stream *stream);

/* A client, for people. */
struct stream_client_progress {
    char host[STREAM_HOST_BYTES + 1], address[64];
    int64_t rank; /* -1 outside torch.distributed */
    uint32_t process;
    bool is_connected, has_ended;
    uint64_t received, received_bytes;
    struct stream_client_state state; /* as the client says: queued, dropped */
};

/* All clients that have come so far, in the order of their ranks, in `arena`. Any thread. */
struct status stream_progress(struct stream_client_progress **clients, size_t *count,
                              struct arena *arena, struct stream *stream);

#endif
