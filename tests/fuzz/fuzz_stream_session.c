/* A connection of our own client that carries any bytes, in pieces of any size. The first byte says how large
 * they are, and whether checksums are set right, so that the frames behind them are reached. Store and
 * connection are doubles. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/stream_store_double.h"
#include "online/stream_session.h"

/* ---- the connection --------------------------------------------------------------------- */

struct connection {
    bool ended;
};

struct status connection_send(struct connection *connection, const void *bytes, size_t count)
{
    struct stream_frame frame;
    (void)connection;
    assert(count >= STREAM_HEADER_BYTES);
    assert(!stream_frame_read(&frame, bytes, 0).code);
    return status_ok();
}
void connection_prove(struct connection *connection) { (void)connection; }
void connection_resume(struct connection *connection) { (void)connection; }
void connection_end(struct connection *connection) { connection->ended = true; }
const char *connection_address(const struct connection *connection)
{
    (void)connection;
    return "10.0.0.7:1";
}
void connection_log(const struct connection *connection, const char *format, ...)
{
    (void)connection, (void)format;
}

/* ---- the input -------------------------------------------------------------------------- */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size) return 0;
    size_t piece = (size_t)1 << (data[0] & 15);
    unsigned char *bytes = malloc(size);
    struct receive_memory memory;
    struct stream_store store = { .memory = &memory };
    struct attendance attendance = { 0 };
    struct connection connection = { 0 };
    struct stream *stream;
    void *session, *where;

    if (!bytes) abort();
    memcpy(bytes, data + 1, size - 1);
    if (data[0] & 16) repair_stream_frames(bytes, size - 1);
    receive_memory_open(&memory, RECORD_LIMIT);
    const struct stream_options options = { .token = data[0] & 32 ? "secret" : NULL,
                                            .memory = &memory,
                                            .attendance = &attendance };
    if (stream_open(&stream, &options).code) abort();
    stream_use_store(stream, &store);
    struct protocol protocol = stream_protocol(stream);
    struct status status = protocol.begin(&session, protocol.context, &connection);
    for (size_t at = 0; at < size - 1 && !status.code && !connection.ended;) {
        size_t room = protocol.room(session, &where), part = size - 1 - at;
        if (part > piece) part = piece;
        if (part > room) part = room;
        if (!part) break;
        memcpy(where, bytes + at, part);
        at += part;
        status = protocol.received(session, part);
        if (!status.code && data[0] & 64) protocol.woken(protocol.context);
    }
    protocol.closed(session, status);
    assert(memory.used_bytes == 0);
    stream_close(stream);
    receive_memory_close(&memory);
    free(bytes);
    return 0;
}
