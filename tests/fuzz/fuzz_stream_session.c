/* A connection of our own client that carries any bytes, in pieces of any size. The first byte says how large
 * they are, and whether checksums are set right, so that the frames behind them are reached. Store and
 * connection are doubles. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "core/memory.h"
#include "online/stream_session.h"

enum { RECORD_LIMIT = 1 << 20 };

/* ---- the store -------------------------------------------------------------------------- */

struct stream_client {
    uint64_t received;
};
struct stream_store {
    struct stream_client client;
    struct receive_memory *memory;
};

struct stream_client *stream_store_client(struct stream_store *store, const unsigned char *session)
{
    unsigned char copy[STREAM_SESSION_BYTES];
    memcpy(copy, session, sizeof copy);
    return copy[0] == 0xff ? NULL : &store->client; /* now and then there is no memory */
}

uint64_t stream_client_received(const struct stream_client *client) { return client->received; }

const char *stream_client_session(const struct stream_client *client)
{
    (void)client;
    return "00";
}

uint64_t stream_client_durable(struct stream_store *store, const struct stream_client *client)
{
    (void)store;
    return client->received;
}

struct status stream_store_trouble(struct stream_store *store)
{
    return store->client.received % 5 == 4 ? status_error(STATUS_IO, "the disk is full")
                                           : status_ok();
}

struct status stream_store_put(struct stream_store *store, struct stream_client *client, void *body,
                               uint64_t bytes, uint64_t body_sum)
{
    assert(bytes <= RECORD_LIMIT);
    assert(body_sum == stream_bulk_sum(0, body, (size_t)bytes));
    uint64_t sum = 0;
    for (uint64_t i = 0; i < bytes; i++) sum += ((unsigned char *)body)[i]; /* all of it is there */
    if (sum % 251 == 250) return status_no_memory(bytes);
    client->received++;
    receive_memory_give_body(store->memory, body, bytes, bytes);
    return status_ok();
}

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

/* Set the checksums of the frames that are whole. */
static void repair(unsigned char *bytes, size_t count)
{
    while (count >= STREAM_HEADER_BYTES) {
        uint64_t body = stream_u64(bytes + 16), head = stream_u32(bytes + 32);
        if (body > count - STREAM_HEADER_BYTES || head > body) return;
        const unsigned char *at = bytes + STREAM_HEADER_BYTES;
        stream_put_u64(bytes + 24, stream_bulk_sum(0, at + head, (size_t)(body - head)));
        uLong crc = crc32(0, bytes, 36);
        if (head) crc = crc32(crc, at, (uInt)head);
        stream_put_u32(bytes + 36, (uint32_t)crc);
        bytes += STREAM_HEADER_BYTES + body;
        count -= STREAM_HEADER_BYTES + (size_t)body;
    }
}

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
    if (data[0] & 16) repair(bytes, size - 1);
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
