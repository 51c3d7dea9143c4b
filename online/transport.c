/* Plain sockets; the other branch is tls.c. */
#include "online/transport.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct status transport_open(struct transport *out, int fd, struct tls *tls)
{
    *out = (struct transport){ .fd = fd };
    return tls ? tls_accept(&out->tls, tls, fd) : status_ok();
}

struct status transport_handshake(enum transport_state *state, struct transport *transport)
{
    *state = TRANSPORT_DONE;
    return transport->tls ? tls_handshake(state, transport->tls) : status_ok();
}

static struct status read_plain(enum transport_state *state, size_t *got, int fd, void *bytes,
                                size_t count, int flags)
{
    ssize_t n = recv(fd, bytes, count, flags);
    *got = n > 0 ? (size_t)n : 0;
    *state = n > 0 ? TRANSPORT_DONE : n == 0 ? TRANSPORT_ENDED : TRANSPORT_WANTS_READ;
    if (n >= 0 || errno == EAGAIN || errno == EINTR) return status_ok();
    return status_error(STATUS_IO, "reading failed: %s", strerror(errno));
}

struct status transport_peek(enum transport_state *state, unsigned char *byte,
                             struct transport *transport)
{
    size_t got;
    if (transport->tls) return tls_peek(state, byte, transport->tls);
    return read_plain(state, &got, transport->fd, byte, 1, MSG_PEEK);
}

struct status transport_read(enum transport_state *state, size_t *got, struct transport *transport,
                             void *bytes, size_t count)
{
    if (transport->tls) return tls_read(state, got, transport->tls, bytes, count);
    return read_plain(state, got, transport->fd, bytes, count, 0);
}

struct status transport_write(enum transport_state *state, size_t *written,
                              struct transport *transport, const void *bytes, size_t count)
{
    if (transport->tls) return tls_write(state, written, transport->tls, bytes, count);
    ssize_t n = send(transport->fd, bytes, count, MSG_NOSIGNAL);
    *written = n > 0 ? (size_t)n : 0;
    *state = n >= 0 ? TRANSPORT_DONE : TRANSPORT_WANTS_WRITE;
    if (n >= 0 || errno == EAGAIN || errno == EINTR) return status_ok();
    return status_error(STATUS_IO, "writing failed: %s", strerror(errno));
}

bool transport_has_pending(const struct transport *transport)
{
    return transport->tls && tls_has_pending(transport->tls);
}

void transport_shut(struct transport *transport)
{
    if (transport->tls) tls_say_end(transport->tls);
    (void)shutdown(transport->fd, SHUT_WR);
}

void transport_close(struct transport *transport)
{
    tls_session_close(transport->tls);
    if (transport->fd >= 0) (void)close(transport->fd);
    *transport = (struct transport){ .fd = -1 };
}
