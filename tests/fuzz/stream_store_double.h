/* A store of records that forgets them, for sessions of our own client; and checksums that are set right, so that what is
 * behind them is reached. Defines the functions of online/stream_store.h that a session calls. */
#ifndef PROBE_TESTS_FUZZ_STREAM_STORE_DOUBLE_H
#define PROBE_TESTS_FUZZ_STREAM_STORE_DOUBLE_H

#include <assert.h>
#include <string.h>
#include <zlib.h>

#include "online/receive_memory.h"
#include "online/stream_frames.h"
#include "online/stream_store.h"

enum { RECORD_LIMIT = 1 << 20 };

struct stream_client {
    uint64_t received;
};
struct stream_store {
    struct stream_client client;
    struct receive_memory *memory;
    void (*arrived)(const void *body, size_t bytes); /* or NULL */
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
    if (store->arrived) store->arrived(body, (size_t)bytes);
    client->received++;
    receive_memory_give_body(store->memory, body, bytes, bytes);
    return status_ok();
}

/* Set the checksums of the frames that are whole. */
static inline void repair_stream_frames(unsigned char *bytes, size_t count)
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

#endif
