/* A connection takes its turn when its socket is ready and reads a limited number of bytes in it, so that who sends
 * much does not keep the others waiting. What was decrypted already and what a protocol asks for by itself is not told
 * by epoll: such connections are eager.
 */
#include "online/connection.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "core/clock.h"
#include "core/memory.h"

enum {
    TURN_BYTES = 1 << 20, /* read from one connection in a round */
    UNSENT_BYTES = 16384, /* who has so much to fetch is not read from */
};
static const double handshake_s = 30; /* for a handshake */
static const double linger_s = 2;     /* for the other side to close, after we have */
static const double fetch_s = 120;    /* for the other side to fetch something of what is sent */

/* ---- waiting ---------------------------------------------------------------------------- */

void connection_be_eager(struct connection *c)
{
    if (c->is_eager || c->phase == PHASE_DEAD) return;
    c->is_eager = true;
    c->next_eager = c->host->eager;
    c->host->eager = c;
}

static bool is_choked(const struct connection *c)
{
    return c->unsent_end - c->unsent_start > UNSENT_BYTES;
}

/* What its phase waits for. Without any event a socket is not watched at all: epoll reports a lost one
 * again and again, and who cannot read it cannot end it. */
static void rewatch(struct connection *c)
{
    const bool reads = c->phase != PHASE_ENDING &&
                       !(c->phase == PHASE_OPEN && (c->waits || is_choked(c)));
    const bool writes = c->unsent_end > c->unsent_start || c->wants_to_write;
    const uint32_t events = (reads ? EPOLLIN : 0u) | (writes ? EPOLLOUT : 0u);
    struct epoll_event event = { .events = events, .data.ptr = c };
    if (c->is_watched && events == c->events) return;
    const int action = !events ? EPOLL_CTL_DEL : c->is_watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    if (events || c->is_watched) (void)epoll_ctl(c->host->poller, action, c->transport.fd, &event);
    c->is_watched = events != 0;
    c->events = events;
}

/* ---- the end ---------------------------------------------------------------------------- */

static void leave_protocol(struct connection *c, struct status why)
{
    if (c->session) c->protocol->closed(c->session, why);
    c->session = NULL;
}

void connection_close(struct connection *c, struct status why)
{
    if (c->phase == PHASE_DEAD) return;
    c->phase = PHASE_DEAD;
    c->host->has_dead = true;
    leave_protocol(c, why);
    if (c->is_watched) (void)epoll_ctl(c->host->poller, EPOLL_CTL_DEL, c->transport.fd, NULL);
    c->is_watched = false;
    transport_close(&c->transport);
}

void connection_fail(struct connection *c, struct status why)
{
    if (c->phase == PHASE_DEAD) return;
    connection_log(c, "%s; the connection is closed", why.text);
    connection_close(c, why);
}

/* ---- sending ---------------------------------------------------------------------------- */

struct status connection_send(struct connection *c, const void *bytes, size_t count)
{
    if (c->unsent_start && c->unsent_end + count > c->unsent_capacity) {
        memmove(c->unsent, c->unsent + c->unsent_start, c->unsent_end - c->unsent_start);
        c->unsent_end -= c->unsent_start;
        c->unsent_start = 0;
    }
    if (c->unsent_end + count > c->unsent_capacity) {
        size_t capacity = c->unsent_capacity ? 2 * c->unsent_capacity : 256;
        while (capacity < c->unsent_end + count) capacity *= 2;
        unsigned char *unsent = memory_resize(c->unsent, capacity);
        if (!unsent) return status_no_memory(capacity);
        c->unsent = unsent;
        c->unsent_capacity = capacity;
    }
    if (c->unsent_end == c->unsent_start) c->since_s = clock_seconds();
    memcpy(c->unsent + c->unsent_end, bytes, count);
    c->unsent_end += count;
    connection_be_eager(c);
    return status_ok();
}

static void flush(struct connection *c)
{
    while (c->unsent_start < c->unsent_end) {
        size_t written;
        enum transport_state state;
        struct status status = transport_write(&state, &written, &c->transport,
                                               c->unsent + c->unsent_start,
                                               c->unsent_end - c->unsent_start);
        if (status.code) {
            connection_fail(c, status);
            return;
        }
        if (state != TRANSPORT_DONE) return;
        c->unsent_start += written;
        c->since_s = clock_seconds();
    }
    memory_release(c->unsent);
    c->unsent = NULL;
    c->unsent_start = c->unsent_end = c->unsent_capacity = 0;
}

void connection_resume(struct connection *c)
{
    c->waits = false;
    connection_be_eager(c);
}

void connection_end(struct connection *c)
{
    if (c->phase >= PHASE_ENDING) return;
    c->phase = PHASE_ENDING;
    c->since_s = clock_seconds();
    connection_be_eager(c);
}

void connection_prove(struct connection *c) { c->is_proven = true; }

const char *connection_address(const struct connection *c) { return c->address; }

void connection_log(const struct connection *c, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    event_log_write_list(&c->host->log, c->address, format, arguments);
    va_end(arguments);
}

/* ---- turns ------------------------------------------------------------------------------ */

/* Each step of a turn says whether the turn continues. */

static bool shake_hands(struct connection *c)
{
    enum transport_state state;
    struct status status = transport_handshake(&state, &c->transport);
    if (status.code) {
        connection_fail(c, status);
        return false;
    }
    c->wants_to_write = state == TRANSPORT_WANTS_WRITE;
    if (state != TRANSPORT_DONE) return false;
    c->phase = PHASE_SILENT;
    return true;
}

static const struct protocol *protocol_of(const struct connection_host *host, unsigned char first)
{
    const struct protocol *const *p = host->protocols;
    while (*p && (*p)->speaks && !(*p)->speaks(first)) p++;
    return *p;
}

static bool find_protocol(struct connection *c)
{
    unsigned char first;
    enum transport_state state;
    struct status status = transport_peek(&state, &first, &c->transport);
    if (!status.code && state == TRANSPORT_DONE) {
        c->protocol = protocol_of(c->host, first);
        status = c->protocol
                     ? c->protocol->begin(&c->session, c->protocol->context, c)
                     : status_error(STATUS_BAD_INPUT,
                                    "a first byte of 0x%02x begins nothing that is spoken here",
                                    first);
    }
    if (status.code) connection_fail(c, status);
    else if (state == TRANSPORT_ENDED) connection_close(c, status_ok());
    if (c->phase == PHASE_DEAD || state != TRANSPORT_DONE) return false;
    c->phase = PHASE_OPEN;
    return true;
}

/* The other side has closed; what is queued for it is sent before this side does. */
static void leave_in_peace(struct connection *c)
{
    leave_protocol(c, status_ok());
    connection_end(c);
}

/* One read; *budget is what the connection may still read in this round. */
static bool read_some(struct connection *c, size_t *budget)
{
    void *where;
    size_t got, room = c->protocol->room(c->session, &where);
    enum transport_state state;
    c->waits = !room;
    if (c->waits || c->phase != PHASE_OPEN) return false;
    struct status status =
        transport_read(&state, &got, &c->transport, where, room < *budget ? room : *budget);
    if (!status.code && state == TRANSPORT_DONE) status = c->protocol->received(c->session, got);
    if (status.code) connection_fail(c, status);
    else if (state == TRANSPORT_ENDED) leave_in_peace(c);
    if (c->phase == PHASE_DEAD) return false;
    c->wants_to_write = state == TRANSPORT_WANTS_WRITE;
    *budget -= got;
    return state == TRANSPORT_DONE && c->phase == PHASE_OPEN;
}

static void read_all(struct connection *c)
{
    size_t budget = TURN_BYTES;
    while (budget && !is_choked(c) && read_some(c, &budget)) continue;
    if (!budget) connection_be_eager(c);
}

/* What was decrypted already is not told by epoll. */
static void read_pending_later(struct connection *c)
{
    if (c->phase == PHASE_OPEN && !c->waits && !is_choked(c) &&
        transport_has_pending(&c->transport))
        connection_be_eager(c);
}

static void send_rest(struct connection *c)
{
    if (c->unsent_end > c->unsent_start) return;
    transport_shut(&c->transport);
    c->phase = PHASE_LINGERING;
    c->since_s = clock_seconds();
}

/* The other side may still be sending; closing with unread bytes would take back what it was sent. */
static void linger(struct connection *c)
{
    char unread[4096];
    size_t got = 0;
    ssize_t n;
    while (got < TURN_BYTES && (n = recv(c->transport.fd, unread, sizeof unread, 0)) > 0)
        got += (size_t)n;
    if (got < TURN_BYTES && (n == 0 || errno != EAGAIN)) connection_close(c, status_ok());
}

void connection_take_turn(struct connection *c)
{
    if (c->phase == PHASE_HANDSHAKE && !shake_hands(c)) goto out;
    if (c->phase == PHASE_SILENT && !find_protocol(c)) goto out;
    flush(c);
    if (c->phase == PHASE_OPEN && !c->waits) read_all(c);
    if (c->phase != PHASE_DEAD) flush(c);
    read_pending_later(c);
    if (c->phase == PHASE_ENDING) send_rest(c);
    if (c->phase == PHASE_LINGERING) linger(c);
out:
    if (c->phase != PHASE_DEAD) rewatch(c);
}

void connection_check_patience(struct connection *c, double now_s)
{
    const double waited_s = now_s - c->since_s;
    if (c->phase == PHASE_HANDSHAKE && waited_s > handshake_s)
        connection_fail(c, status_error(STATUS_IO, "no TLS handshake within %.0f s", handshake_s));
    else if (c->phase >= PHASE_ENDING && waited_s > linger_s) connection_close(c, status_ok());
    else if (c->unsent_end > c->unsent_start && waited_s > fetch_s)
        connection_fail(
            c, status_error(STATUS_IO, "it has not fetched its answers for %.0f s", fetch_s));
}
