/* A server of many connections on one thread. It accepts, decrypts, hands the bytes to the protocol of
 * the connection (online/protocol.h), sends what that queues, and logs what goes wrong with the address
 * of the other side. A failure ends the connection that it happened on and nothing else.
 */
#ifndef PROBE_ONLINE_SERVER_H
#define PROBE_ONLINE_SERVER_H

#include <stdint.h>

#include "core/status.h"
#include "core/warnings.h"
#include "online/protocol.h"
#include "online/tls.h"

struct server;

/* More are refused; of those that are there the ones that have not shown to be clients make room. */
enum { SERVER_CONNECTIONS_MAX = 2048, SERVER_PROTOCOLS_MAX = 4 };

struct server_options {
    const char *address; /* numeric, to listen on; NULL: all of IPv4 */
    uint16_t port;       /* 0: any that is free */
    struct tls *tls;     /* NULL: plain text */
    const struct protocol
        *protocols[SERVER_PROTOCOLS_MAX]; /* ended by NULL; the first that speaks */
    struct warnings log;
};

/* Listen. Options and what they point to must outlive the server.
 *
 *   errors  STATUS_BAD_ARGUMENT: the address is none, or cannot be listened on; STATUS_IO
 */
struct status server_open(struct server **out, const struct server_options *options);

/* "0.0.0.0:8899" */
const char *server_address(const struct server *server);
uint16_t server_port(const struct server *server);

/* Wait for something to happen, for a quarter of a second at most, and do what is to be done.
 *
 *   other_fd  one more descriptor that ends the waiting when it can be read; or -1
 *   errors    of the server as a whole: STATUS_IO, STATUS_NO_MEMORY
 */
struct status server_serve(struct server *server, int other_fd);

/* Have the protocols' woken called. May be called from any thread. */
void server_wake(struct server *server);

/* Accept nobody any more. Connections stay. */
void server_refuse_new(struct server *server);

/* How many connections are open? */
size_t server_connections(const struct server *server);

/* Go through the sessions of a protocol. The action may end connections. */
void server_each_session(struct server *server, const struct protocol *protocol,
                         void (*action)(void *session, void *context), void *context);

/* Who has not sent a byte yet is taken for a client of the protocol that speaks NULL, so that it can be
 * told something. */
void server_adopt_silent(struct server *server);

/* connection_end for all. */
void server_end_all(struct server *server);

/* Close everything at once; sessions are told. NULL is closed. */
void server_close(struct server *server);

#endif
