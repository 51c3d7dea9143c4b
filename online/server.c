/* One loop over epoll. Connections that have ended are released when the round is over, because events of it may name
 * them. Those that need no event stand in a list of their own.
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
#include "online/connection.h"

enum {
    EVENTS = 256,
    ACCEPTS = 64, /* new connections in a round */
    TICK_MS = 250,
};
static const double tick_s = 0.25;

struct server {
    struct server_options options;
    struct connection_host host;
    char address[ADDRESS_BYTES];
    uint16_t port;
    int listener, wake;
    struct connection *first;
    size_t count;
    double ticked_s;
    bool accepts_later; /* there were no descriptors */
};

/* ---- the list of connections ------------------------------------------------------------ */

static void unlink_connection(struct server *server, struct connection *c)
{
    if (c->previous) c->previous->next = c->next;
    else server->first = c->next;
    if (c->next) c->next->previous = c->previous;
    server->count--;
}

static void release_connection(struct server *server, struct connection *c)
{
    unlink_connection(server, c);
    memory_release(c->unsent);
    memory_release(c);
}

static void bury_dead(struct server *server)
{
    if (!server->host.has_dead) return;
    server->host.has_dead = false;
    for (struct connection *c = server->first, *next; c; c = next) {
        next = c->next;
        if (c->phase != PHASE_DEAD) continue;
        if (c->is_eager)
            server->host.has_dead = true; /* until the next round has emptied that list */
        else release_connection(server, c);
    }
}

static void serve_eager(struct server *server)
{
    struct connection *c = server->host.eager, *next;
    server->host.eager = NULL;
    for (; c; c = next) {
        next = c->next_eager;
        c->is_eager = false;
        if (c->phase != PHASE_DEAD) connection_take_turn(c);
    }
}

/* ---- new connections -------------------------------------------------------------------- */

static struct status watch(const struct server *server, int fd, uint32_t events, void *who)
{
    struct epoll_event event = { .events = events, .data.ptr = who };
    if (!epoll_ctl(server->host.poller, EPOLL_CTL_ADD, fd, &event)) return status_ok();
    return status_error(STATUS_IO, "cannot wait for a connection: %s", strerror(errno));
}

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
    event_log_write(&server->host.log, address, "refused: %s", why);
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
    c->host = &server->host;
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
    (void)epoll_ctl(server->host.poller, EPOLL_CTL_DEL, server->listener, NULL);
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

static void wake_protocols(const struct server *server)
{
    for (const struct protocol *const *p = server->host.protocols; *p; p++)
        if ((*p)->woken) (*p)->woken((*p)->context);
}

static void tick(struct server *server, double now_s)
{
    server->ticked_s = now_s;
    accept_again(server);
    for (struct connection *c = server->first; c; c = c->next) connection_check_patience(c, now_s);
    event_log_tick(&server->host.log);
}

/* ---- rounds ----------------------------------------------------------------------------- */

struct status server_serve(struct server *server, int other_fd)
{
    struct epoll_event events[EVENTS];
    bool woken = false;
    if (other_fd >= 0) TRY(watch(server, other_fd, EPOLLIN, server));
    int count = epoll_wait(server->host.poller, events, EVENTS, server->host.eager ? 0 : TICK_MS);
    if (other_fd >= 0) (void)epoll_ctl(server->host.poller, EPOLL_CTL_DEL, other_fd, NULL);
    if (count < 0 && errno != EINTR)
        return status_error(STATUS_IO, "waiting for connections failed: %s", strerror(errno));
    for (int i = 0; i < count; i++) {
        void *who = events[i].data.ptr;
        uint64_t value;
        if (who == server) continue;
        if (who == &server->listener) accept_new(server);
        else if (who == &server->wake) woken = read(server->wake, &value, sizeof value) > 0;
        else if (((struct connection *)who)->phase != PHASE_DEAD) connection_take_turn(who);
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
    server->host.poller = epoll_create1(EPOLL_CLOEXEC);
    server->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (server->host.poller < 0 || server->wake < 0)
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
    server->host.protocols = server->options.protocols;
    server->host.log.out = options->log;
    server->listener = server->host.poller = server->wake = -1;
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
    const struct protocol *const *p = server->host.protocols;
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
    for (struct connection *c = server->first; c; c = c->next) connection_close(c, status_ok());
    while (server->first) release_connection(server, server->first);
    server_refuse_new(server);
    if (server->host.poller >= 0) (void)close(server->host.poller);
    if (server->wake >= 0) (void)close(server->wake);
    memory_release(server);
}
