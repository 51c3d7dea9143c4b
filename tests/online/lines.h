/* Connections without a network: what a protocol sends is kept, and a test hands it the bytes that a client
 * would have sent, in pieces of any size. */
#ifndef PROBE_TESTS_ONLINE_LINES_H
#define PROBE_TESTS_ONLINE_LINES_H

#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "online/protocol.h"

enum { LINE_BYTES = 1 << 20 };

struct connection {
    const struct protocol *protocol;
    void *session;
    unsigned char sent[LINE_BYTES]; /* by the protocol */
    size_t sent_bytes, read_bytes;
    bool ended, resumed;
    char log[4096];
};

struct status connection_send(struct connection *connection, const void *bytes, size_t count)
{
    ck_assert_uint_le(count, LINE_BYTES - connection->sent_bytes);
    memcpy(connection->sent + connection->sent_bytes, bytes, count);
    connection->sent_bytes += count;
    return status_ok();
}

void connection_prove(struct connection *connection) { (void)connection; }
void connection_resume(struct connection *connection) { connection->resumed = true; }
void connection_end(struct connection *connection) { connection->ended = true; }
const char *connection_address(const struct connection *connection)
{
    (void)connection;
    return "10.0.0.7:41234";
}

void connection_log(const struct connection *connection, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(((struct connection *)(uintptr_t)connection)->log, sizeof connection->log, format,
              arguments);
    va_end(arguments);
}

static inline struct connection *line_open(const struct protocol *protocol)
{
    struct connection *line = calloc(1, sizeof *line);
    ck_assert_ptr_nonnull(line);
    line->protocol = protocol;
    ck_assert_int_eq(protocol->begin(&line->session, protocol->context, line).code, STATUS_OK);
    return line;
}

/* Hand over bytes in pieces of at most `piece`; stops at a failure and where there is no room. *taken is how many
 * were taken. */
static inline struct status line_feed(size_t *taken, struct connection *line, const void *bytes,
                                      size_t count, size_t piece)
{
    size_t at = 0;
    struct status status = status_ok();

    while (at < count && !status.code) {
        void *where;
        size_t room = line->protocol->room(line->session, &where);
        size_t part = count - at < piece ? count - at : piece;
        if (part > room) part = room;
        if (!part) break;
        memcpy(where, (const char *)bytes + at, part);
        at += part;
        status = line->protocol->received(line->session, part);
    }
    *taken = at;
    return status;
}

static inline void line_close(struct connection *line, struct status why)
{
    line->protocol->closed(line->session, why);
    free(line);
}

#endif
