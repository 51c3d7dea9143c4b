/* What a server and the protocols that are spoken over its connections know of each other. The server
 * owns sockets, encryption, addresses, unsent bytes and time; a protocol owns what the bytes mean.
 *
 * All callbacks run on the thread of the server. Only server_wake may be called from others.
 */
#ifndef PROBE_ONLINE_PROTOCOL_H
#define PROBE_ONLINE_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>

#include "core/status.h"

struct connection;

/* One protocol. `context` is handed to begin and woken; a session is what begin made. */
struct protocol {
    const char *name; /* of who speaks it, for the log: "msprobe client" */
    void *context;

    /* Is it spoken on a connection whose first byte is this? NULL: on all that no other takes. */
    bool (*speaks)(unsigned char first);

    /* A connection has sent its first byte. */
    struct status (*begin)(void **session, void *context, struct connection *connection);

    /* Bytes are there to be read. Where to, and how many at most? 0: none for now; the protocol asks
     * for them with connection_resume when it can continue. */
    size_t (*room)(void *session, void **where);

    /* So many bytes were put there. A failure ends the connection, and the log says why. */
    struct status (*received)(void *session, size_t bytes);

    /* The connection has ended; OK: the other side closed it, or connection_end was called. The session
     * is to be released. */
    void (*closed)(void *session, struct status why);

    /* After server_wake, and some times a second: what waits may be able to continue. May be NULL. */
    void (*woken)(void *context);
};

/* Queue bytes, which are copied. What is queued in one round leaves in one write. Who does not fetch
 * what is sent is not read from either. */
struct status connection_send(struct connection *connection, const void *bytes, size_t count);

/* Go on asking for room, after it was 0. */
void connection_resume(struct connection *connection);

/* Send what is queued, then close; nothing is read any more. */
void connection_end(struct connection *connection);

/* It has shown that it is a client. When there are too many connections those that have not make room. */
void connection_prove(struct connection *connection);

/* End it at once, and log why. Its session is told, and released, before this returns. */
void connection_fail(struct connection *connection, struct status why);

/* "10.0.0.7:41234", for messages. */
const char *connection_address(const struct connection *connection);

/* Write a line about the connection into the log of its server. */
void connection_log(const struct connection *connection, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
