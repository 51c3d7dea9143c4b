/* A whole connection of the server, over a socket: any bytes, in pieces of any size, with the end of the client behind
 * them. Their first one says which of the two protocols has them, as in `serve`; records are decoded, and what they hold is
 * read. Only the store and the judge are doubles. The first byte of the input says how large the pieces are and
 * whether checksums are set right. */
#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/memory.h"
#include "fuzz/stream_store_double.h"
#include "fuzz/touch_record.h"
#include "online/peer_frames.h"
#include "online/peer_sessions.h"
#include "online/server.h"
#include "online/stream_record.h"
#include "online/stream_session.h"

enum { ROUNDS = 10000, INPUT_BYTES = 1 << 17 /* fits into the buffers of a socket */ };

struct fixture {
    struct receive_memory memory;
    struct attendance attendance;
    struct peer_sessions peers;
    struct stream_store store;
    struct stream *stream;
    struct protocol stream_protocol;
    struct server *server;
    struct sockaddr_in address;
    int ready; /* can always be read, so that the server never waits */
    unsigned records;
};

static struct fixture fixture;

static void decode_record(record_decoder *decode, const void *body, size_t bytes)
{
    struct arena arena = { .limit_bytes = 64 << 20 };
    struct record record;
    struct status status = decode(&record, &arena, body, bytes, "the record");
    if (status.code) assert(status.text[0]);
    else touch_record(&record);
    arena_release(&arena);
}

static void stream_arrived(const void *body, size_t bytes)
{
    decode_record(stream_record_decode, body, bytes);
}

/* Every third time there is no room at first. */
static struct status submit(bool *taken, void *context, const struct judge_submission *record)
{
    (void)context;
    *taken = fixture.records++ % 3 != 2;
    if (!*taken) return status_ok();
    decode_record(record->decode, record->body, record->bytes);
    memory_release(record->body);
    (void)receive_memory_give(&fixture.memory, record->bytes);
    return status_ok();
}

static void forget(void *context, const char *text)
{
    (void)context;
    assert(text[0]);
}

static void open_fixture(void)
{
    struct fixture *f = &fixture;
    receive_memory_open(&f->memory, RECORD_LIMIT);
    f->peers = (struct peer_sessions){ .sink = { NULL, submit, NULL },
                                       .attendance = &f->attendance,
                                       .memory = &f->memory,
                                       .limit_bytes = RECORD_LIMIT };
    f->store = (struct stream_store){ .memory = &f->memory, .arrived = stream_arrived };
    const struct stream_options stream = { .memory = &f->memory, .attendance = &f->attendance };
    f->ready = eventfd(1, 0);
    if (f->ready < 0 || peer_sessions_open(&f->peers).code || stream_open(&f->stream, &stream).code)
        abort();
    stream_use_store(f->stream, &f->store);
    f->stream_protocol = stream_protocol(f->stream);
    const struct server_options options = { .address = "127.0.0.1",
                                            .protocols = { &f->stream_protocol,
                                                           &f->peers.protocol },
                                            .log = { forget, NULL } };
    if (server_open(&f->server, &options).code) abort();
    f->address = (struct sockaddr_in){ .sin_family = AF_INET,
                                       .sin_port = htons(server_port(f->server)),
                                       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

static void serve(void)
{
    server_wake(fixture.server);
    if (server_serve(fixture.server, fixture.ready).code) abort();
}

/* What the server answers is read, or it would not read on. False: it has closed. */
static bool fetch_answers(int fd)
{
    char answers[4096];
    ssize_t got;
    while ((got = recv(fd, answers, sizeof answers, MSG_DONTWAIT)) > 0) continue;
    return got < 0;
}

/* Frames of msprobe's client, with the CRC-32 of their bodies. */
static void repair_peer_frames(unsigned char *bytes, size_t count)
{
    enum { NUMBERS = 32, SUM = 8 };
    while (count >= NUMBERS + SUM) {
        uint64_t length = 0;
        for (int i = 0; i < 8; i++) length = length << 8 | bytes[i];
        if (!length || length > count - NUMBERS - SUM) return;
        char text[SUM + 1];
        (void)snprintf(text, sizeof text, "%08lx",
                       crc32(0, bytes + NUMBERS + SUM, (uInt)length) & 0xffffffff);
        memcpy(bytes + NUMBERS, text, SUM);
        bytes += NUMBERS + SUM + length;
        count -= NUMBERS + SUM + (size_t)length;
    }
}

static void converse(unsigned char *bytes, size_t count, size_t piece)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const struct linger at_once = { .l_onoff = 1 }; /* or ports would run out */
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once) ||
        connect(fd, (void *)&fixture.address, sizeof fixture.address))
        abort();
    bool is_open = true;
    for (size_t at = 0; at < count && is_open; at += piece) {
        size_t part = piece < count - at ? piece : count - at;
        is_open = send(fd, bytes + at, part, MSG_NOSIGNAL | MSG_DONTWAIT) > 0;
        serve();
        is_open = is_open && fetch_answers(fd);
    }
    (void)shutdown(fd, SHUT_WR);
    for (int i = 0; i < ROUNDS && is_open; i++) {
        serve();
        is_open = fetch_answers(fd);
    }
    assert(!is_open);
    (void)close(fd);
    for (int i = 0; i < ROUNDS && server_connections(fixture.server); i++) serve();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static unsigned char bytes[INPUT_BYTES];
    if (size < 2 || size > INPUT_BYTES) return 0;
    if (!fixture.server) open_fixture();
    const size_t piece = data[0] & 15 ? (size_t)1 << (data[0] & 15) << 2 : INPUT_BYTES,
                 count = size - 1;
    memcpy(bytes, data + 1, count);
    if (data[0] & 16) {
        if (bytes[0] == 'U') repair_stream_frames(bytes, count);
        else repair_peer_frames(bytes, count);
    }
    fixture.store.client.received = 0;
    fixture.records = 0;
    converse(bytes, count, piece);
    assert(!server_connections(fixture.server) && !fixture.memory.used_bytes);
    return 0;
}
