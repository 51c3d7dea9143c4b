/* Headers and control bodies of our own client's frames: every number is checked here, before anything
 * is allocated or read for it. */
#include "online/stream_frames.h"

#include <string.h>

#include "formats/crc32.h"

static uint64_t integer(const unsigned char *at, int bytes)
{
    uint64_t value = 0;
    for (int i = bytes - 1; i >= 0; i--) value = value << 8 | at[i];
    return value;
}

static void put_integer(unsigned char *at, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++, value >>= 8) at[i] = (unsigned char)(value & 0xff);
}

uint16_t stream_u16(const unsigned char *at) { return (uint16_t)integer(at, 2); }
uint32_t stream_u32(const unsigned char *at) { return (uint32_t)integer(at, 4); }
uint64_t stream_u64(const unsigned char *at) { return integer(at, 8); }
void stream_put_u16(unsigned char *at, uint16_t value) { put_integer(at, value, 2); }
void stream_put_u32(unsigned char *at, uint32_t value) { put_integer(at, value, 4); }
void stream_put_u64(unsigned char *at, uint64_t value) { put_integer(at, value, 8); }

/* ---- frames ----------------------------------------------------------------------------- */

enum {
    AT_KIND = 4,
    AT_ZERO = 6,
    AT_SEQUENCE = 8,
    AT_BODY = 16,
    AT_SUM = 24,
    AT_HEAD = 32,
    AT_CRC = 36
};

struct status stream_frame_read(struct stream_frame *out, const unsigned char *header,
                                uint64_t record_limit)
{
    unsigned kind = stream_u16(header + AT_KIND);
    uint64_t body_bytes = stream_u64(header + AT_BODY);
    uint32_t head_bytes = stream_u32(header + AT_HEAD);

    if (stream_u32(header) != STREAM_MAGIC)
        return status_error(STATUS_BAD_INPUT, "a frame that does not begin with UTS1");
    if (kind < STREAM_HELLO || kind > STREAM_REFUSED || stream_u16(header + AT_ZERO))
        return status_error(STATUS_BAD_INPUT, "a frame of the unknown kind %u", kind);
    uint64_t limit = kind == STREAM_RECORD ? record_limit : STREAM_CONTROL_BYTES;
    if (body_bytes > limit)
        return status_error(STATUS_BAD_INPUT, "a frame of %llu bytes; the most is %llu",
                            (unsigned long long)body_bytes, (unsigned long long)limit);
    if (head_bytes > body_bytes || head_bytes > STREAM_HEAD_BYTES ||
        (kind != STREAM_RECORD && head_bytes != body_bytes))
        return status_error(STATUS_BAD_INPUT, "a frame of %llu bytes with a head of %u",
                            (unsigned long long)body_bytes, head_bytes);
    *out = (struct stream_frame){
        .kind = (enum stream_kind)kind,
        .sequence = stream_u64(header + AT_SEQUENCE),
        .body_bytes = body_bytes,
        .bulk_sum = stream_u64(header + AT_SUM),
        .head_bytes = head_bytes,
        .crc = stream_u32(header + AT_CRC),
    };
    return status_ok();
}

static uint32_t checksum(const unsigned char *header, const unsigned char *head, size_t bytes)
{
    return crc32_append(crc32_append(0, header, AT_CRC), head, bytes);
}

uint64_t stream_bulk_sum(uint64_t sum, const unsigned char *bulk, size_t bytes)
{
    uint64_t word;
    size_t i = 0;

    for (; i + sizeof word <= bytes; i += sizeof word) {
        memcpy(&word, bulk + i, sizeof word);
        sum += word;
    }
    return sum + integer(bulk + i, (int)(bytes - i));
}

bool stream_frame_agrees(const struct stream_frame *frame, const unsigned char *header,
                         const unsigned char *body, uint64_t bulk_sum)
{
    return checksum(header, body, frame->head_bytes) == frame->crc && bulk_sum == frame->bulk_sum;
}

bool stream_frame_is_intact(const struct stream_frame *frame, const unsigned char *header,
                            const unsigned char *body)
{
    size_t bulk_bytes = (size_t)(frame->body_bytes - frame->head_bytes);
    return stream_frame_agrees(frame, header, body,
                               bulk_bytes ? stream_bulk_sum(0, body + frame->head_bytes, bulk_bytes)
                                          : 0);
}

/* Behind a head of whole words the words of the bulk are those of the body. */
uint64_t stream_frame_body_sum(const struct stream_frame *frame, const unsigned char *body)
{
    if (frame->head_bytes % sizeof(uint64_t) || !frame->bulk_sum)
        return stream_bulk_sum(0, body, (size_t)frame->body_bytes);
    return stream_bulk_sum(frame->bulk_sum, body, frame->head_bytes);
}

size_t stream_frame_write(unsigned char *out, enum stream_kind kind, uint64_t sequence,
                          const void *body, size_t bytes)
{
    stream_put_u32(out, STREAM_MAGIC);
    stream_put_u16(out + AT_KIND, (uint16_t)kind);
    stream_put_u16(out + AT_ZERO, 0);
    stream_put_u64(out + AT_SEQUENCE, sequence);
    stream_put_u64(out + AT_BODY, bytes);
    stream_put_u64(out + AT_SUM, 0);
    stream_put_u32(out + AT_HEAD, (uint32_t)bytes);
    if (bytes) memcpy(out + STREAM_HEADER_BYTES, body, bytes);
    stream_put_u32(out + AT_CRC, checksum(out, out + STREAM_HEADER_BYTES, bytes));
    return STREAM_HEADER_BYTES + bytes;
}

/* ---- control bodies --------------------------------------------------------------------- */

struct status stream_hello_read(struct stream_hello *out, const unsigned char *body, size_t bytes)
{
    enum { AT_RANK = 16, AT_PROCESS = 20, AT_FLAGS = 24, AT_TOKEN = 28, AT_HOST = 30, FIXED = 32 };

    if (bytes < FIXED) return status_error(STATUS_BAD_INPUT, "a greeting of %zu bytes", bytes);
    size_t token_bytes = stream_u16(body + AT_TOKEN), host_bytes = stream_u16(body + AT_HOST);
    if (token_bytes > STREAM_TOKEN_BYTES || host_bytes > STREAM_HOST_BYTES ||
        bytes != FIXED + token_bytes + host_bytes)
        return status_error(STATUS_BAD_INPUT,
                            "a greeting of %zu bytes with a token of %zu and a name of %zu", bytes,
                            token_bytes, host_bytes);
    *out = (struct stream_hello){
        .rank = (int32_t)stream_u32(body + AT_RANK),
        .process = stream_u32(body + AT_PROCESS),
        .flags = stream_u32(body + AT_FLAGS),
        .token = body + FIXED,
        .token_bytes = token_bytes,
    };
    if (out->rank < -1) return status_error(STATUS_BAD_INPUT, "a greeting of rank %d", out->rank);
    memcpy(out->session, body, STREAM_SESSION_BYTES);
    memcpy(out->host, body + FIXED + token_bytes, host_bytes);
    for (size_t i = 0; i < host_bytes; i++)
        if (!out->host[i]) out->host[i] = '?';
    text_tidy(out->host);
    return status_ok();
}

bool stream_token_is(const unsigned char *token, size_t bytes, const char *expected)
{
    size_t wanted = strlen(expected);
    unsigned different = wanted != bytes;

    for (size_t i = 0; i < bytes; i++)
        different |= (unsigned)(token[i] ^ (wanted ? (unsigned char)expected[i % wanted] : 1));
    return !different;
}

struct status stream_state_read(struct stream_client_state *out, const unsigned char *body,
                                size_t bytes)
{
    if (bytes != 32) return status_error(STATUS_BAD_INPUT, "a state of %zu bytes", bytes);
    *out = (struct stream_client_state){
        .queued_records = stream_u64(body),
        .queued_bytes = stream_u64(body + 8),
        .dropped_records = stream_u64(body + 16),
        .dropped_bytes = stream_u64(body + 24),
    };
    return status_ok();
}
