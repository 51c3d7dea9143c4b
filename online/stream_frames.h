/* The frames of our own client, runner/devices/torch_stream.py (docs/stream-protocol.md).
 *
 * A frame is a header of STREAM_HEADER_BYTES and a body. All integers are little endian:
 *
 *      0  u32  magic "UTS1"
 *      4  u16  kind
 *      6  u16  0
 *      8  u64  sequence
 *     16  u64  bytes of the body
 *     24  u64  sum of the bulk: what follows the head, as 64-bit words, the last one filled up with zeros
 *     32  u32  bytes of the head: the first part of the body
 *     36  u32  CRC-32 (zlib's) of bytes 0 to 35 and the head
 *
 * The bulk holds the large tensors of a record; everything else is head. PyTorch adds 64-bit words at the
 * speed of memory, while a CRC-32 of all bytes would take as long as sending them.
 *
 * What stands here is read from a network: each number is checked before it is used, nothing is
 * allocated, and only the sizes a header names decide how much is read.
 */
#ifndef PROBE_ONLINE_STREAM_FRAMES_H
#define PROBE_ONLINE_STREAM_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/status.h"

/* "UTS1" are the first bytes of a connection; msprobe's client begins with 0, TLS with 0x16. */
#define STREAM_MAGIC UINT32_C(0x31535455)

enum {
    STREAM_HEADER_BYTES = 40,
    STREAM_SESSION_BYTES = 16,
    STREAM_CONTROL_BYTES = 4096, /* most bytes of a body that is no record */
    STREAM_HEAD_BYTES = 64 << 20 /* most bytes of a record's head */
};

enum stream_kind {
    STREAM_HELLO = 1, /* client: who it is */
    STREAM_WELCOME,   /* server: `sequence` records of the session are durable here */
    STREAM_RECORD,    /* client: number `sequence` of the session, from 0 */
    STREAM_ACK,       /* server: `sequence` records are durable */
    STREAM_BUSY,      /* server: nothing can be stored now; the body says why */
    STREAM_STOP,      /* server: training shall stop; the body says why */
    STREAM_STATE,     /* client: what it has queued and dropped */
    STREAM_BYE,       /* client: there are `sequence` records; server: they are durable */
    STREAM_REFUSED,   /* server: the body says why; the connection ends */
};

struct stream_frame {
    enum stream_kind kind;
    uint64_t sequence, body_bytes, bulk_sum;
    uint32_t head_bytes, crc;
};

/* Read a header.
 *
 *   header        STREAM_HEADER_BYTES
 *   record_limit  most bytes of a record's body
 *   errors        STATUS_BAD_INPUT: not a header of this protocol, or a size above its limit
 */
struct status stream_frame_read(struct stream_frame *out, const unsigned char *header,
                                uint64_t record_limit);

/* Do the checksums of the header agree with the body? */
bool stream_frame_is_intact(const struct stream_frame *frame, const unsigned char *header,
                            const unsigned char *body);

/* The same of a body whose bulk was summed while it came. */
bool stream_frame_agrees(const struct stream_frame *frame, const unsigned char *header,
                         const unsigned char *body, uint64_t bulk_sum);

/* stream_bulk_sum of the whole body of an intact frame. */
uint64_t stream_frame_body_sum(const struct stream_frame *frame, const unsigned char *body);

/* Write a frame whose body is all head: `bytes` at most STREAM_CONTROL_BYTES.
 *
 *   out      room for STREAM_HEADER_BYTES + bytes
 *   returns  what was written
 */
size_t stream_frame_write(unsigned char *out, enum stream_kind kind, uint64_t sequence,
                          const void *body, size_t bytes);

/* The sum of the bulk so far and `bytes` more of it; only the last part may be no multiple of 8. */
uint64_t stream_bulk_sum(uint64_t sum, const unsigned char *bulk, size_t bytes);

/* What a client says first:
 *
 *      0  16 bytes  session: random, the same after a reconnection
 *     16  i32       rank, -1 outside torch.distributed
 *     20  u32       process
 *     24  u32       flags: 1 = stop me when --stop-on says so
 *     28  u16       bytes of the token
 *     30  u16       bytes of the host's name
 *     32            token, host
 */
enum { STREAM_WANTS_STOP = 1, STREAM_TOKEN_BYTES = 1024, STREAM_HOST_BYTES = 255 };

struct stream_hello {
    unsigned char session[STREAM_SESSION_BYTES];
    int32_t rank;
    uint32_t process, flags;
    const unsigned char *token; /* inside the body */
    size_t token_bytes;
    char host[STREAM_HOST_BYTES + 1]; /* tidied */
};
struct status stream_hello_read(struct stream_hello *out, const unsigned char *body, size_t bytes);

/* Are the tokens equal? Takes the same time whatever they hold. */
bool stream_token_is(const unsigned char *token, size_t bytes, const char *expected);

/* What a client has in its queue and has given up, as four u64. */
struct stream_client_state {
    uint64_t queued_records, queued_bytes, dropped_records, dropped_bytes;
};
struct status stream_state_read(struct stream_client_state *out, const unsigned char *body,
                                size_t bytes);

/* Little-endian integers at any address. */
uint16_t stream_u16(const unsigned char *at);
uint32_t stream_u32(const unsigned char *at);
uint64_t stream_u64(const unsigned char *at);
void stream_put_u16(unsigned char *at, uint16_t value);
void stream_put_u32(unsigned char *at, uint32_t value);
void stream_put_u64(unsigned char *at, uint64_t value);

#endif
