/* Framing of msprobe's client. A record of a training step is some kilobytes, one of a large layer
 * hundreds of megabytes: small bodies are copied out of what was read, large ones are read in place. */
#include "online/peer_frames.h"

#include <string.h>

#include "core/memory.h"
#include "core/quantity.h"

enum { FIRST_BYTES = 64 << 10 }; /* memory for a body of which nothing has come */

void peer_reader_open(struct peer_reader *reader, struct receive_memory *memory,
                      uint64_t limit_bytes)
{
    *reader = (struct peer_reader){ .memory = memory, .limit_bytes = limit_bytes };
}

static void drop_body(struct peer_reader *r)
{
    if (r->frame.body) (void)receive_memory_give(r->memory, r->capacity);
    receive_memory_done(r->memory, r);
    memory_release(r->frame.body);
    r->frame.body = NULL;
    r->capacity = 0;
}

void peer_reader_close(struct peer_reader *reader)
{
    drop_body(reader);
    body_checksum_release(&reader->checksum);
}

/* ---- header ----------------------------------------------------------------------------- */

static uint64_t read_integer(const unsigned char *bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < 8; i++) value = value << 8 | bytes[i];
    return value;
}

static bool is_digit(unsigned char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

/* Is this a short frame with CRC-32, whole and with the right checksum? Only one that is shorter than the
 * header of a frame with MD5 may be waited for in vain. */
static bool is_short_with_crc(const unsigned char *bytes, size_t count)
{
    struct body_checksum sum = { .kind = CHECKSUM_NONE };
    const size_t header = PEER_INTEGERS_BYTES + CHECKSUM_CRC32_DIGITS;
    const uint64_t length = read_integer(bytes);
    if (length >= PEER_HEADER_MAX - header || count < header + length) return false;
    (void)body_checksum_start(&sum, CHECKSUM_CRC32);
    body_checksum_add(&sum, bytes + header, (size_t)length);
    return body_checksum_is(&sum, (const char *)bytes + PEER_INTEGERS_BYTES);
}

/* Which checksum the first frame has, when the bytes tell. */
static enum checksum_kind find_kind(const unsigned char *bytes, size_t count)
{
    const size_t end = count < PEER_HEADER_MAX ? count : PEER_HEADER_MAX;
    if (is_short_with_crc(bytes, count)) return CHECKSUM_CRC32;
    for (size_t i = PEER_INTEGERS_BYTES; i < end; i++)
        if (!is_digit(bytes[i])) return CHECKSUM_CRC32;
    return end == PEER_HEADER_MAX ? CHECKSUM_MD5 : CHECKSUM_NONE;
}

void peer_reader_settle(struct peer_reader *reader)
{
    if (reader->kind == CHECKSUM_NONE) reader->kind = CHECKSUM_CRC32;
}

/* The header, when all of it is there; *taken is its size then, otherwise 0. */
static struct status take_header(size_t *taken, struct peer_reader *r, const unsigned char *bytes,
                                 size_t count)
{
    *taken = 0;
    if (count < 8) return status_ok();
    const uint64_t length = read_integer(bytes);
    if (length > r->limit_bytes)
        return status_error(STATUS_BAD_INPUT,
                            "a frame says that its body has %llu bytes; at most %s are accepted",
                            (unsigned long long)length, quantity_bytes(r->limit_bytes).text);
    if (count < PEER_INTEGERS_BYTES) return status_ok();
    if (r->kind == CHECKSUM_NONE) r->kind = find_kind(bytes, count);
    const size_t digits = checksum_digits(r->kind);
    if (!digits || count < PEER_INTEGERS_BYTES + digits) return status_ok();
    TRY(body_checksum_start(&r->checksum, r->kind));
    memcpy(r->digits, bytes + PEER_INTEGERS_BYTES, digits);
    r->frame = (struct peer_frame){ .numbers = { read_integer(bytes + 8), read_integer(bytes + 16),
                                                 read_integer(bytes + 24) },
                                    .bytes = length };
    r->arrived = 0;
    r->capacity = 0;
    r->drops = length > r->memory->share_bytes;
    r->in_body = true;
    *taken = PEER_INTEGERS_BYTES + digits;
    return status_ok();
}

/* ---- body ------------------------------------------------------------------------------- */

/* Room behind what has arrived. The block doubles until it has the size of the body. *waits: there is
 * no memory for it now. */
static struct status grow(bool *waits, struct peer_reader *r)
{
    *waits = false;
    if (r->arrived < r->capacity) return status_ok();
    const uint64_t wanted = r->capacity ? 2 * (uint64_t)r->capacity : FIRST_BYTES;
    const size_t capacity = (size_t)(wanted < r->frame.bytes ? wanted : r->frame.bytes);
    const size_t more = capacity - r->capacity;
    *waits = !receive_memory_take(r->memory, r, more);
    if (*waits) return status_ok();
    unsigned char *body = memory_resize(r->frame.body, capacity);
    if (!body) {
        (void)receive_memory_give(r->memory, more);
        return status_no_memory(capacity);
    }
    r->frame.body = body;
    r->capacity = capacity;
    return status_ok();
}

static enum peer_progress finish_body(struct peer_reader *r)
{
    r->in_body = false;
    r->frame.is_intact = body_checksum_is(&r->checksum, r->digits) && r->frame.bytes;
    receive_memory_done(r->memory, r);
    return PEER_FRAME;
}

/* As much of the body as there is memory for. */
static struct status take_body(enum peer_progress *progress, size_t *taken, struct peer_reader *r,
                               const unsigned char *bytes, size_t count)
{
    bool waits = false;
    *taken = 0;
    while (r->arrived < r->frame.bytes && *taken < count && !waits) {
        const uint64_t missing = r->frame.bytes - r->arrived;
        size_t n = count - *taken < missing ? count - *taken : (size_t)missing;
        if (!r->drops) {
            TRY(grow(&waits, r));
            if (waits) break;
            if (n > r->capacity - r->arrived) n = r->capacity - (size_t)r->arrived;
            memcpy(r->frame.body + r->arrived, bytes + *taken, n);
        }
        body_checksum_add(&r->checksum, bytes + *taken, n);
        r->arrived += n;
        *taken += n;
    }
    *progress = r->arrived == r->frame.bytes ? finish_body(r) : waits ? PEER_WAITS : PEER_MORE;
    return status_ok();
}

struct status peer_reader_take(enum peer_progress *progress, size_t *taken,
                               struct peer_reader *reader, const unsigned char *bytes, size_t count)
{
    size_t header = 0;
    *progress = PEER_MORE;
    *taken = 0;
    if (!reader->in_body) {
        drop_body(reader); /* nobody took the last one */
        TRY(take_header(&header, reader, bytes, count));
        if (!header) return status_ok();
    }
    TRY(take_body(progress, taken, reader, bytes + header, count - header));
    *taken += header;
    return status_ok();
}

/* Only what is left of bodies that are larger than a read. */
size_t peer_reader_room(struct peer_reader *reader, void **where)
{
    bool waits;
    if (!reader->in_body || reader->drops || reader->frame.bytes <= FIRST_BYTES) return 0;
    if (grow(&waits, reader).code || waits) return 0;
    *where = reader->frame.body + reader->arrived;
    return reader->capacity - (size_t)reader->arrived;
}

enum peer_progress peer_reader_arrived(struct peer_reader *reader, size_t count)
{
    body_checksum_add(&reader->checksum, reader->frame.body + reader->arrived, count);
    reader->arrived += count;
    return reader->arrived == reader->frame.bytes ? finish_body(reader) : PEER_MORE;
}

/* ---- words ------------------------------------------------------------------------------ */

bool peer_frame_is_stop(const struct peer_frame *frame)
{
    static const char stop[] = "STOP_";
    return frame->body && frame->bytes == sizeof stop - 1 &&
           !memcmp(frame->body, stop, sizeof stop - 1);
}

static void write_integer(unsigned char *out, uint64_t value)
{
    for (int i = 0; i < 8; i++) out[i] = (unsigned char)(value >> (56 - 8 * i));
}

void peer_answer_write(unsigned char out[PEER_ANSWER_BYTES], enum peer_answer answer,
                       const struct peer_numbers *numbers)
{
    static const char words[][6] = { [PEER_OK] = "OK___",
                                     [PEER_ERROR] = "ERROR",
                                     [PEER_BUSY] = "BUSY_",
                                     [PEER_OVER] = "OVER_",
                                     [PEER_KILL] = "KILL_" };
    memcpy(out, words[answer], 5);
    write_integer(out + 5, numbers->sequence);
    write_integer(out + 13, numbers->rank);
    write_integer(out + 21, numbers->step);
}
