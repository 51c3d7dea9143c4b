/* The protocol of msprobe's client, server side: every frame is answered, in order; records go to whoever
 * judges them.
 *
 *     OK___  arrived with a right checksum, whatever is in it; repetitions too, which go nowhere
 *     ERROR  empty, or damaged: it will come again
 *     BUSY_  there is no room for it now; once, and before its answer
 *     OVER_  to STOP_
 *     KILL_  to all at the end of the run
 */
#ifndef PROBE_ONLINE_PEER_SESSIONS_H
#define PROBE_ONLINE_PEER_SESSIONS_H

#include <stdint.h>

#include "core/status.h"
#include "online/attendance.h"
#include "online/protocol.h"
#include "online/receive_memory.h"
#include "online/record_sink.h"

struct peer_session;

/* All that the sessions share. Must stay where it is while there are any. */
struct peer_sessions {
    struct record_sink sink;
    struct attendance *attendance;
    struct receive_memory *memory; /* of the bodies, which the sink gives back */
    uint64_t limit_bytes;          /* a longer body ends its connection */
    struct protocol protocol;      /* for the server */
    unsigned char *scratch;        /* what was read last; owned */
    struct peer_session *first;
    uint64_t oversized; /* bodies that were received and dropped: larger than the memory for them */
};

/* Set up. The members above `protocol` have been set. */
struct status peer_sessions_open(struct peer_sessions *out);
void peer_sessions_close(struct peer_sessions *sessions);

/* Tell the clients that the run is over, and close their connections. */
void peer_sessions_end(struct peer_sessions *sessions);

#endif
