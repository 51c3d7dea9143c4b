/* A connection of a server: what it waits for, what it sends, and its turns. Only the server includes this; protocols
 * see protocol.h. */
#ifndef PROBE_ONLINE_CONNECTION_H
#define PROBE_ONLINE_CONNECTION_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "online/event_log.h"
#include "online/protocol.h"
#include "online/transport.h"

enum { ADDRESS_BYTES = INET6_ADDRSTRLEN + 10 };

enum phase {
    PHASE_HANDSHAKE,
    PHASE_SILENT,    /* no byte has come */
    PHASE_OPEN,      /* a protocol has it */
    PHASE_ENDING,    /* what is queued is sent */
    PHASE_LINGERING, /* we have closed our side */
    PHASE_DEAD,
};

/* What connections know of the server that has them. */
struct connection_host {
    const struct protocol *const *protocols; /* the last one is NULL */
    struct event_log log;
    int poller;
    struct connection *eager; /* those that need no event */
    bool has_dead;
};

struct connection {
    struct connection_host *host;
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

/* Take a turn in this round even without an event. */
void connection_be_eager(struct connection *c);

/* One turn: what can be read and sent now, up to a limit. */
void connection_take_turn(struct connection *c);

/* End one that waits too long, `now_s` by clock_seconds. */
void connection_check_patience(struct connection *c, double now_s);

/* Its end, at once: its session is told why. It is released when the round is over. */
void connection_close(struct connection *c, struct status why);

#endif
