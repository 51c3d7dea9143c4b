/* Frames of msprobe's client, cut out of the bytes of a connection:
 *
 *     length of the body | sequence | rank | step | checksum | body
 *     ack (5 letters)    | sequence | rank | step                    (the answer)
 *
 * Integers are unsigned, 64 bits, big endian. The checksum is that of the body alone, as text: 8
 * digits of CRC-32 or 32 of MD5, which the first frame of a connection tells: 32 lower-case hexadecimal
 * digits behind the integers are MD5, since no body begins with 24 such digits.
 *
 * A length is a claim: memory is taken for what arrives, never for what was announced.
 */
#ifndef PROBE_ONLINE_PEER_FRAMES_H
#define PROBE_ONLINE_PEER_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/status.h"
#include "online/body_checksum.h"
#include "online/receive_memory.h"

enum { PEER_INTEGERS_BYTES = 32, PEER_HEADER_MAX = PEER_INTEGERS_BYTES + CHECKSUM_DIGITS_MAX };

/* What names a frame, in both directions. */
struct peer_numbers {
    uint64_t sequence, rank, step;
};

struct peer_frame {
    struct peer_numbers numbers;
    uint64_t bytes; /* of the body */
    bool is_intact; /* it is not empty, and its checksum is right */
    /* Owned by the reader until somebody sets it to NULL and takes it. NULL too when the body is empty or
     * larger than the memory for bodies, in which case it was read and dropped. */
    unsigned char *body;
};

/* The parser of one connection. */
struct peer_reader {
    struct receive_memory *memory;
    uint64_t limit_bytes; /* a longer body ends the connection */
    enum checksum_kind kind;
    struct body_checksum checksum;
    bool in_body; /* the header of `frame` has come, its body has not yet */
    bool drops;   /* this body is too large to be kept */
    char digits[CHECKSUM_DIGITS_MAX];
    struct peer_frame frame;
    uint64_t arrived; /* bytes of the body */
    size_t capacity;  /* of frame.body; taken from `memory` */
};

void peer_reader_open(struct peer_reader *reader, struct receive_memory *memory,
                      uint64_t limit_bytes);
void peer_reader_close(struct peer_reader *reader);

enum peer_progress {
    PEER_MORE,  /* the rest of the frame is not here yet */
    PEER_FRAME, /* reader->frame is whole; the next call begins behind it */
    PEER_WAITS, /* there is no memory for more of it now */
};

/* Read on.
 *
 *   taken   how many of the bytes are done with. The others, at most PEER_HEADER_MAX - 1 with PEER_MORE,
 *           must be there again in the next call, in front of what follows them
 *   errors  STATUS_BAD_INPUT: a length above the limit; STATUS_SKIP: as body_checksum_start;
 *           STATUS_NO_MEMORY. The connection cannot continue
 */
struct status peer_reader_take(enum peer_progress *progress, size_t *taken,
                               struct peer_reader *reader, const unsigned char *bytes,
                               size_t count);

/* Inside of a large body: where its next bytes may be put without a copy, and how many; 0 where they
 * have to go through peer_reader_take. Then peer_reader_arrived says how many were put there. */
size_t peer_reader_room(struct peer_reader *reader, void **where);
enum peer_progress peer_reader_arrived(struct peer_reader *reader, size_t count);

/* Nothing has come for a while. The first frame may be one whose end cannot be told from the beginning
 * of an MD5 checksum: then it is one with CRC-32. */
void peer_reader_settle(struct peer_reader *reader);

bool peer_frame_is_stop(const struct peer_frame *frame);

/* ---- answers ---------------------------------------------------------------------------- */

enum peer_answer { PEER_OK, PEER_ERROR, PEER_BUSY, PEER_OVER, PEER_KILL };
enum { PEER_ANSWER_BYTES = 29 };
void peer_answer_write(unsigned char out[PEER_ANSWER_BYTES], enum peer_answer answer,
                       const struct peer_numbers *numbers);

#endif
