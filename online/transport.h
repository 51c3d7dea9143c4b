/* The bytes of a socket, plain or through TLS. Nothing here waits: what cannot be done now says for what
 * the socket has to be polled. */
#ifndef PROBE_ONLINE_TRANSPORT_H
#define PROBE_ONLINE_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "core/status.h"
#include "online/tls.h"

struct transport {
    int fd;
    struct tls_session *tls; /* NULL: plain */
};

/* Take over a connected socket that does not block.
 *
 *   tls  of the server, or NULL
 */
struct status transport_open(struct transport *out, int fd, struct tls *tls);

/* Agree on keys; done at once without TLS.
 *
 *   state   TRANSPORT_DONE, or what to wait for
 *   errors  STATUS_IO with what is wrong, in one line
 */
struct status transport_handshake(enum transport_state *state, struct transport *transport);

/* The next byte, which stays to be read. */
struct status transport_peek(enum transport_state *state, unsigned char *byte,
                             struct transport *transport);

/* Read at most `count` bytes (> 0). TRANSPORT_DONE: *got of them; TRANSPORT_ENDED: the other side has
 * closed. */
struct status transport_read(enum transport_state *state, size_t *got, struct transport *transport,
                             void *bytes, size_t count);

/* Write at most `count` bytes (> 0). */
struct status transport_write(enum transport_state *state, size_t *written,
                              struct transport *transport, const void *bytes, size_t count);

/* Are there bytes that were received and of which polling does not tell? */
bool transport_has_pending(const struct transport *transport);

/* Say that nothing more will be written. */
void transport_shut(struct transport *transport);
void transport_close(struct transport *transport);

#endif
