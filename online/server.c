/* One loop over epoll. A connection takes its turn when its socket is ready and reads a limited number of
 * bytes in it, so that who sends much does not keep the others waiting. What was decrypted already and what a
 * protocol asks for by itself is not told by epoll: such connections stand in a list of their own.
 * Connections that have ended are released when the round is over, because events of it may name them.
 */
#include "online/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/descriptors.h"
#include "core/memory.h"
#include "online/event_log.h"
#include "online/transport.h"

enum {
    EVENTS = 256,
    ACCEPTS = 64,         /* new connections in a round */
    TURN_BYTES = 1 << 20, /* read from one connection in a round */
    UNSENT_BYTES = 16384, /* who has so much to fetch is not read from */
    TICK_MS = 250,
    ADDRESS_BYTES = INET6_ADDRSTRLEN + 10,
};
static const double tick_s = 0.25;
static const double handshake_s = 30; /* for a handshake */
static const double linger_s = 2;     /* for the other side to close, after we have */
static const double fetch_s = 120;    /* for the other side to fetch something of what is sent */

enum phase {
    PHASE_HANDSHAKE,
    PHASE_SILENT,    /* no byte has come */
    PHASE_OPEN,      /* a protocol has it */
    PHASE_ENDING,    /* what is queued is sent */
    PHASE_LINGERING, /* we have closed our side */
    PHASE_DEAD,
};

struct connection {
    struct server *server;
    struct transport transport;
    char address[ADDRESS_BYTES];
    enum phase phase;
    const struct protocol *protocol;
    void *session;
    uint32_t events;     /* that are waited for */
    bool is_watched;     /* by epoll */
    bool waits;          /* its protocol had no room */
    bool is_eager;       /* in the list of those who need no event */
    bool wants_to_write; /* TLS does, in order to read */
    bool is_proven;      /* its protocol knows it for a client */
    unsigned char *unsent;
    size_t unsent_start, unsent_end, unsent_capacity;
    double opened_s;
    double since_s; /* of the phase, or of the last byte that was sent */
    struct connection *previous, *next;
    struct connection *next_eager;
};

struct server {
    struct server_options options;
    struct event_log log;
    char address[ADDRESS_BYTES];
    uint16_t port;
    int listener, poller, wake;
    struct connection *first;
    size_t count;
    struct connection *eager;
    double ticked_s;
    bool has_dead;
    bool accepts_later; /* there were no descriptors */
};

/* ---- waiting ---------------------------------------------------------------------------- */

static struct status watch(const struct server *server, int fd, uint32_t events, void *who)
{
    struct epoll_event event = { .events = events, .data.ptr = who };
    if (!epoll_ctl(server->poller, EPOLL_CTL_ADD, fd, &event)) return status_ok();
    return status_error(STATUS_IO, "cannot wait for a connection: %s", strerror(errno));
}

static void be_eager(struct connection *c)
{
    if (c->is_eager || c->phase == PHASE_DEAD) return;
    c->is_eager = true;
    c->next_eager = c->server->eager;
    c->server->eager = c;
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
    if (events || c->is_watched)
        (void)epoll_ctl(c->server->poller, action, c->transport.fd, &event);
    c->is_watched = events != 0;
    c->events = events;
}

/* ---- ends of connections ---------------------------------------------------------------- */

static void leave_protocol(struct connection *c, struct status why)
{
    if (c->session) c->protocol->closed(c->session, why);
    c->session = NULL;
}

static void die(struct connection *c, struct status why)
{
    if (c->phase == PHASE_DEAD) return;
    c->phase = PHASE_DEAD;
    c->server->has_dead = true;
    leave_protocol(c, why);
    if (c->is_watched) (void)epoll_ctl(c->server->poller, EPOLL_CTL_DEL, c->transport.fd, NULL);
    c->is_watched = false;
    transport_close(&c->transport);
}

void connection_fail(struct connection *c, struct status why)
{
    if (c->phase == PHASE_DEAD) return;
    connection_log(c, "%s; the connection is closed", why.text);
    die(c, why);
}

static void unlink_connection(struct connection *c)
{
    struct server *server = c->server;
    if (c->previous) c->previous->next = c->next;
    else server->first = c->next;
    if (c->next) c->next->previous = c->previous;
    server->count--;
}

static void release_connection(struct connection *c)
{
    unlink_connection(c);
    memory_release(c->unsent);
    memory_release(c);
}

static void bury_dead(struct server *server)
{
    if (!server->has_dead) return;
    server->has_dead = false;
    for (struct connection *c = server->first, *next; c; c = next) {
        next = c->next;
        if (c->phase != PHASE_DEAD) continue;
        if (c->is_eager) server->has_dead = true; /* until the next round has emptied that list */
        else release_connection(c);
    }
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
    be_eager(c);
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
    be_eager(c);
}

void connection_end(struct connection *c)
{
    if (c->phase >= PHASE_ENDING) return;
    c->phase = PHASE_ENDING;
    c->since_s = clock_seconds();
    be_eager(c);
}

void connection_prove(struct connection *c) { c->is_proven = true; }

const char *connection_address(const struct connection *c) { return c->address; }

void connection_log(const struct connection *c, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    event_log_write_list(&c->server->log, c->address, format, arguments);
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

static const struct protocol *protocol_of(const struct server *server, unsigned char first)
{
    const struct protocol *const *p = server->options.protocols;
    while (*p && (*p)->speaks && !(*p)->speaks(first)) p++;
    return *p;
}

static bool find_protocol(struct connection *c)
{
    unsigned char first;
    enum transport_state state;
    struct status status = transport_peek(&state, &first, &c->transport);
    if (!status.code && state == TRANSPORT_DONE) {
        c->protocol = protocol_of(c->server, first);
        status = c->protocol
                     ? c->protocol->begin(&c->session, c->protocol->context, c)
                     : status_error(STATUS_BAD_INPUT,
                                    "a first byte of 0x%02x begins nothing that is spoken here",
                                    first);
    }
    if (status.code) connection_fail(c, status);
    else if (state == TRANSPORT_ENDED) die(c, status_ok());
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
    if (!budget) be_eager(c);
}

/* What was decrypted already is not told by epoll. */
static void read_pending_later(struct connection *c)
{
    if (c->phase == PHASE_OPEN && !c->waits && !is_choked(c) &&
        transport_has_pending(&c->transport))
        be_eager(c);
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
    if (got < TURN_BYTES && (n == 0 || errno != EAGAIN)) die(c, status_ok());
}

static void take_turn(struct connection *c)
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

static void serve_eager(struct server *server)
{
    struct connection *c = server->eager, *next;
    server->eager = NULL;
    for (; c; c = next) {
        next = c->next_eager;
        c->is_eager = false;
        if (c->phase != PHASE_DEAD) take_turn(c);
    }
}

/* ---- new connections -------------------------------------------------------------------- */

static void write_address(char text[ADDRESS_BYTES], uint16_t *port,
                          const struct sockaddr_storage *from)
{
    char host[INET6_ADDRSTRLEN] = "?";
    *port = 0;
    if (from->ss_family == AF_INET) {
        const struct sockaddr_in *in = (const void *)from;
        (void)inet_ntop(AF_INET, &in->sin_addr, host, sizeof host);
        *port = ntohs(in->sin_port);
    } else if (from->ss_family == AF_INET6) {
        const struct sockaddr_in6 *in = (const void *)from;
        (void)inet_ntop(AF_INET6, &in->sin6_addr, host, sizeof host);
        *port = ntohs(in->sin6_port);
    }
    (void)snprintf(text, ADDRESS_BYTES, strchr(host, ':') ? "[%s]:%u" : "%s:%u", host, *port);
}

/* Acks are small and must not wait for each other; a host that is gone is noticed in some minutes. */
static void prepare_socket(int fd)
{
    static const struct {
        int level, name, value;
    } options[] = {
        { IPPROTO_TCP, TCP_NODELAY, 1 },   { SOL_SOCKET, SO_KEEPALIVE, 1 },
        { IPPROTO_TCP, TCP_KEEPIDLE, 60 }, { IPPROTO_TCP, TCP_KEEPINTVL, 15 },
        { IPPROTO_TCP, TCP_KEEPCNT, 6 },
    };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        (void)setsockopt(fd, options[i].level, options[i].name, &options[i].value,
                         sizeof options[i].value);
}

/* The oldest of those that have not shown to be clients makes room. */
static bool displace_unproven(struct server *server)
{
    struct connection *oldest = NULL;
    for (struct connection *c = server->first; c; c = c->next)
        if (!c->is_proven && c->phase <= PHASE_OPEN && (!oldest || c->opened_s < oldest->opened_s))
            oldest = c;
    if (!oldest) return false;
    connection_fail(
        oldest,
        status_error(STATUS_IO,
                     "there are too many connections, and this one has not shown to be a client"));
    return true;
}

static void refuse(struct server *server, int fd, const struct sockaddr_storage *from,
                   const char *why)
{
    char address[ADDRESS_BYTES];
    uint16_t port;
    write_address(address, &port, from);
    event_log_write(&server->log, address, "refused: %s", why);
    (void)close(fd);
}

/* Without memory for it a connection is refused; the others stay. */
static void add_connection(struct server *server, int fd, const struct sockaddr_storage *from)
{
    uint16_t port;
    struct connection *c = memory_allocate_zeroed(1, sizeof *c);
    if (!c) {
        refuse(server, fd, from, "there is no memory for it");
        return;
    }
    c->server = server;
    c->phase = server->options.tls ? PHASE_HANDSHAKE : PHASE_SILENT;
    c->opened_s = c->since_s = clock_seconds();
    write_address(c->address, &port, from);
    prepare_socket(fd);
    c->next = server->first;
    if (c->next) c->next->previous = c;
    server->first = c;
    server->count++;
    struct status status = transport_open(&c->transport, fd, server->options.tls);
    if (!status.code) status = watch(server, fd, EPOLLIN, c);
    c->is_watched = !status.code;
    c->events = EPOLLIN;
    if (status.code) connection_fail(c, status);
}

/* Without descriptors who knocks would wake the loop again and again. */
static void pause_accepting(struct server *server)
{
    (void)epoll_ctl(server->poller, EPOLL_CTL_DEL, server->listener, NULL);
    server->accepts_later = true;
}

static void accept_again(struct server *server)
{
    if (!server->accepts_later || server->listener < 0) return;
    server->accepts_later = watch(server, server->listener, EPOLLIN, &server->listener).code != 0;
}

static void accept_new(struct server *server)
{
    for (int i = 0; i < ACCEPTS; i++) {
        struct sockaddr_storage from;
        socklen_t bytes = sizeof from;
        int fd = accept4(server->listener, (void *)&from, &bytes, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0 && (errno == EMFILE || errno == ENFILE)) {
            if (displace_unproven(server)) continue;
            pause_accepting(server);
        }
        if (fd < 0) return; /* nobody, or somebody who has gone again */
        if (server->count >= SERVER_CONNECTIONS_MAX && !displace_unproven(server))
            refuse(server, fd, &from, "there are too many connections");
        else add_connection(server, fd, &from);
    }
}

/* ---- time ------------------------------------------------------------------------------- */

static void check_patience(struct connection *c, double now_s)
{
    const double waited_s = now_s - c->since_s;
    if (c->phase == PHASE_HANDSHAKE && waited_s > handshake_s)
        connection_fail(c, status_error(STATUS_IO, "no TLS handshake within %.0f s", handshake_s));
    else if (c->phase >= PHASE_ENDING && waited_s > linger_s) die(c, status_ok());
    else if (c->unsent_end > c->unsent_start && waited_s > fetch_s)
        connection_fail(
            c, status_error(STATUS_IO, "it has not fetched its answers for %.0f s", fetch_s));
}

static void wake_protocols(const struct server *server)
{
    for (const struct protocol *const *p = server->options.protocols; *p; p++)
        if ((*p)->woken) (*p)->woken((*p)->context);
}

static void tick(struct server *server, double now_s)
{
    server->ticked_s = now_s;
    accept_again(server);
    for (struct connection *c = server->first; c; c = c->next) check_patience(c, now_s);
    event_log_tick(&server->log);
}

/* ---- rounds ----------------------------------------------------------------------------- */

struct status server_serve(struct server *server, int other_fd)
{
    struct epoll_event events[EVENTS];
    bool woken = false;
    if (other_fd >= 0) TRY(watch(server, other_fd, EPOLLIN, server));
    int count = epoll_wait(server->poller, events, EVENTS, server->eager ? 0 : TICK_MS);
    if (other_fd >= 0) (void)epoll_ctl(server->poller, EPOLL_CTL_DEL, other_fd, NULL);
    if (count < 0 && errno != EINTR)
        return status_error(STATUS_IO, "waiting for connections failed: %s", strerror(errno));
    for (int i = 0; i < count; i++) {
        void *who = events[i].data.ptr;
        uint64_t value;
        if (who == server) continue;
        if (who == &server->listener) accept_new(server);
        else if (who == &server->wake) woken = read(server->wake, &value, sizeof value) > 0;
        else if (((struct connection *)who)->phase != PHASE_DEAD) take_turn(who);
    }
    const double now_s = clock_seconds();
    const bool is_due = now_s - server->ticked_s >= tick_s;
    if (is_due) tick(server, now_s);
    if (woken || is_due) wake_protocols(server);
    serve_eager(server);
    bury_dead(server);
    return status_ok();
}

void server_wake(struct server *server)
{
    const uint64_t one = 1;
    ssize_t written = write(server->wake, &one, sizeof one);
    (void)written; /* a full counter wakes too */
}

/* ---- starting and ending ---------------------------------------------------------------- */

static struct status resolve(struct sockaddr_storage *out, socklen_t *bytes,
                             const struct server_options *o)
{
    struct sockaddr_in *in = (void *)out;
    struct sockaddr_in6 *in6 = (void *)out;
    memset(out, 0, sizeof *out);
    *bytes = sizeof *in;
    in->sin_family = AF_INET;
    in->sin_port = htons(o->port);
    in->sin_addr.s_addr = htonl(INADDR_ANY);
    if (!o->address || inet_pton(AF_INET, o->address, &in->sin_addr) == 1) return status_ok();
    *bytes = sizeof *in6;
    in6->sin6_family = AF_INET6;
    in6->sin6_port = htons(o->port);
    if (inet_pton(AF_INET6, o->address, &in6->sin6_addr) == 1) return status_ok();
    return status_error(STATUS_BAD_ARGUMENT, "'%s' is no numeric address to listen on", o->address);
}

static struct status listen_on(struct server *server)
{
    struct sockaddr_storage address;
    socklen_t bytes;
    const int on = 1;
    TRY(resolve(&address, &bytes, &server->options));
    server->listener = socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (server->listener < 0)
        return status_error(STATUS_IO, "cannot make a socket: %s", strerror(errno));
    (void)setsockopt(server->listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(server->listener, (void *)&address, bytes) || listen(server->listener, SOMAXCONN))
        return status_error(STATUS_BAD_ARGUMENT, "cannot listen on %s port %u: %s",
                            server->options.address ? server->options.address : "0.0.0.0",
                            server->options.port, strerror(errno));
    (void)getsockname(server->listener, (void *)&address, &bytes);
    write_address(server->address, &server->port, &address);
    return status_ok();
}

static struct status start(struct server *server)
{
    /* A thousand idle connections must not leave the run without descriptors for its files. */
    descriptors_allow(SERVER_CONNECTIONS_MAX);
    server->poller = epoll_create1(EPOLL_CLOEXEC);
    server->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (server->poller < 0 || server->wake < 0)
        return status_error(STATUS_IO, "cannot wait for connections: %s", strerror(errno));
    TRY(listen_on(server));
    TRY(watch(server, server->wake, EPOLLIN, &server->wake));
    return watch(server, server->listener, EPOLLIN, &server->listener);
}

struct status server_open(struct server **out, const struct server_options *options)
{
    struct server *server = memory_allocate_zeroed(1, sizeof *server);
    if (!server) return status_no_memory(sizeof *server);
    server->options = *options;
    server->log.out = options->log;
    server->listener = server->poller = server->wake = -1;
    struct status status = start(server);
    if (status.code) server_close(server);
    else *out = server;
    return status;
}

const char *server_address(const struct server *server) { return server->address; }
uint16_t server_port(const struct server *server) { return server->port; }
size_t server_connections(const struct server *server) { return server->count; }

void server_refuse_new(struct server *server)
{
    if (server->listener >= 0) (void)close(server->listener);
    server->listener = -1;
}

void server_each_session(struct server *server, const struct protocol *protocol,
                         void (*action)(void *session, void *context), void *context)
{
    for (struct connection *c = server->first; c; c = c->next)
        if (c->session && c->protocol == protocol && c->phase == PHASE_OPEN)
            action(c->session, context);
}

void server_adopt_silent(struct server *server)
{
    const struct protocol *const *p = server->options.protocols;
    while (*p && (*p)->speaks) p++;
    if (!*p) return;
    for (struct connection *c = server->first; c; c = c->next) {
        if (c->phase != PHASE_SILENT) continue;
        c->protocol = *p;
        c->phase = PHASE_OPEN;
        struct status status = c->protocol->begin(&c->session, c->protocol->context, c);
        if (status.code) connection_fail(c, status);
    }
}

void server_end_all(struct server *server)
{
    for (struct connection *c = server->first; c; c = c->next) connection_end(c);
}

void server_close(struct server *server)
{
    if (!server) return;
    for (struct connection *c = server->first; c; c = c->next) die(c, status_ok());
    while (server->first) release_connection(server->first);
    server_refuse_new(server);
    if (server->poller >= 0) (void)close(server->poller);
    if (server->wake >= 0) (void)close(server->wake);
    memory_release(server);
}
