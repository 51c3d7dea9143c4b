/* Frames and records of our own client, put together byte by byte for tests (docs/stream-protocol.md). */
#ifndef PROBE_TESTS_ONLINE_STREAM_BYTES_H
#define PROBE_TESTS_ONLINE_STREAM_BYTES_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "online/stream_frames.h"

struct bytes {
    unsigned char *at;
    size_t count;
};

static inline void bytes_add(struct bytes *bytes, const void *more, size_t count)
{
    bytes->at = realloc(bytes->at, bytes->count + count + 1);
    ck_assert_ptr_nonnull(bytes->at);
    if (count) memcpy(bytes->at + bytes->count, more, count);
    bytes->count += count;
}

static inline void bytes_release(struct bytes *bytes)
{
    free(bytes->at);
    *bytes = (struct bytes){ NULL, 0 };
}

/* A frame whose body is `head_bytes` of head and the rest bulk. */
static inline void add_frame(struct bytes *out, enum stream_kind kind, uint64_t sequence,
                             const void *body, size_t bytes, size_t head_bytes)
{
    unsigned char header[STREAM_HEADER_BYTES] = "UTS1";
    const unsigned char *bulk = (const unsigned char *)body + head_bytes;
    uint64_t sum = 0;

    for (size_t i = 0; i < bytes - head_bytes; i++) sum += (uint64_t)bulk[i] << 8 * (i % 8);
    stream_put_u16(header + 4, (uint16_t)kind);
    stream_put_u64(header + 8, sequence);
    stream_put_u64(header + 16, bytes);
    stream_put_u64(header + 24, sum);
    stream_put_u32(header + 32, (uint32_t)head_bytes);
    uLong crc = crc32(0, header, 36);
    if (head_bytes) crc = crc32(crc, body, (uInt)head_bytes);
    stream_put_u32(header + 36, (uint32_t)crc);
    bytes_add(out, header, sizeof header);
    bytes_add(out, body, bytes);
}

static inline void add_greeting(struct bytes *out, const char *session, const char *token,
                                uint32_t flags)
{
    unsigned char body[200] = { 0 };
    size_t length = strlen(token);

    memcpy(body, session, STREAM_SESSION_BYTES);
    stream_put_u32(body + 16, UINT32_MAX); /* no rank */
    stream_put_u32(body + 20, 4711);
    stream_put_u32(body + 24, flags);
    stream_put_u16(body + 28, (uint16_t)length);
    stream_put_u16(body + 30, 4);
    memcpy(body + 32, token, length);
    memcpy(body + 32 + length, "node", 4);
    add_frame(out, STREAM_HELLO, 0, body, 36 + length, 36 + length);
}

/* The body of a record; tensor i has `tensor_bytes[i]` bytes at tensors[i]. */
static inline struct bytes record_body(const char *name, const char *entry, int32_t rank,
                                       int64_t step, size_t n_tensors, const void *const *tensors,
                                       const size_t *tensor_bytes)
{
    static const unsigned char zeros[16];
    unsigned char number[8];
    struct bytes body = { NULL, 0 };
    uint32_t start[] = { (uint32_t)strlen(name), (uint32_t)strlen(entry), (uint32_t)n_tensors,
                         (uint32_t)rank };
    size_t at = 24 + 16 * n_tensors + strlen(name) + strlen(entry);

    for (int i = 0; i < 4; i++) {
        stream_put_u32(number, start[i]);
        bytes_add(&body, number, 4);
    }
    stream_put_u64(number, (uint64_t)step);
    bytes_add(&body, number, 8);
    for (size_t i = 0; i < n_tensors; i++) {
        at = (at + 15) / 16 * 16;
        stream_put_u64(number, at);
        bytes_add(&body, number, 8);
        stream_put_u64(number, tensor_bytes[i]);
        bytes_add(&body, number, 8);
        at += tensor_bytes[i];
    }
    bytes_add(&body, name, strlen(name));
    bytes_add(&body, entry, strlen(entry));
    for (size_t i = 0; i < n_tensors; i++) {
        bytes_add(&body, zeros, (16 - body.count % 16) % 16);
        bytes_add(&body, tensors[i], tensor_bytes[i]);
    }
    return body;
}

#endif
