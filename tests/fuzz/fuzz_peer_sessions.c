/* A connection of msprobe's client, any bytes, read in pieces of any size by a session whose judge now and
 * then has no room: every frame is answered once, in order, and BUSY_ only before an answer. What stands
 * for the server here only counts. */
#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/memory.h"
#include "online/peer_frames.h"
#include "online/peer_sessions.h"

enum { SHARE = 1 << 16, LIMIT = 1 << 20 };

struct connection {
    struct receive_memory memory;
    size_t answers, busy, records;
    bool is_full, resumed, ended;
};

struct status connection_send(struct connection *c, const void *bytes, size_t count)
{
    assert(count == PEER_ANSWER_BYTES);
    if (!memcmp(bytes, "BUSY_", 5)) c->busy++;
    else c->answers++;
    assert(c->busy <= c->answers + 1);
    return status_ok();
}

void connection_resume(struct connection *c) { c->resumed = true; }
void connection_prove(struct connection *c) { (void)c; }
void connection_end(struct connection *c) { c->ended = true; }
void connection_fail(struct connection *c, struct status why)
{
    assert(why.code && why.text[0]);
    c->ended = true;
}
const char *connection_address(const struct connection *c) { return (void)c, "10.0.0.7:41234"; }
void connection_log(const struct connection *c, const char *format, ...)
{
    char text[600];
    va_list arguments;
    (void)c;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
}

static struct status submit(bool *taken, void *context, const struct judge_submission *record)
{
    struct connection *c = context;
    *taken = !c->is_full;
    if (c->is_full) return status_ok();
    assert(record->body && record->bytes && record->bytes <= SHARE);
    c->records++;
    (void)receive_memory_give(&c->memory, record->bytes);
    memory_release(record->body);
    return status_ok();
}

/* Feed it as the server does: ask for room, put bytes there. */
static void feed(struct connection *c, const struct protocol *protocol, void *session,
                 const uint8_t *data, size_t size, size_t piece)
{
    while (size && !c->ended) {
        void *where;
        size_t room = protocol->room(session, &where);
        if (!room) {
            c->is_full = false;
            c->resumed = false;
            protocol->woken(protocol->context);
            assert(c->resumed || c->ended);
            continue;
        }
        size_t n = piece < size ? piece : size;
        if (n > room) n = room;
        memcpy(where, data, n);
        data += n;
        size -= n;
        c->is_full = n & 1;
        if (protocol->received(session, n).code) return;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct connection c = { .answers = 0 };
    struct attendance attendance = { .expected = 1 };
    struct peer_sessions sessions = { .sink = { NULL, submit, &c },
                                      .attendance = &attendance,
                                      .memory = &c.memory,
                                      .limit_bytes = LIMIT };
    void *session;
    if (size < 2) return 0;
    receive_memory_open(&c.memory, SHARE);
    if (peer_sessions_open(&sessions).code) return 0;
    const struct protocol *protocol = &sessions.protocol;
    if (!protocol->begin(&session, protocol->context, &c).code) {
        feed(&c, protocol, session, data + 1, size - 1, 1u + data[0]);
        assert(c.records <= c.answers + 1);
        protocol->closed(session, status_ok());
    }
    assert(!attendance.active && !attendance.damaged && !c.memory.used_bytes && !sessions.first);
    peer_sessions_close(&sessions);
    receive_memory_close(&c.memory);
    return 0;
}
