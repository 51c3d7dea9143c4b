/* Entries to bytes and back. Bodies are checked by their sum, which the one who sends them has computed already. */
#include "online/spool_segment.h"

#include <string.h>

#include "formats/crc32.h"
#include "online/receive_memory.h"
#include "online/stream_frames.h"

#define SEGMENT_MAGIC "UTSPOOL2"
enum {
    MAGIC_BYTES = 8,
    START_BYTES = 16,
    ENTRY_BYTES = 48,
    ALIGNMENT = 16,
    DIRECT_BYTES = 1 << 18,
    PIECE_BYTES = 8 << 20
};
#define ENTRY_MAGIC UINT32_C(0x59524e45) /* "ENRY" */

/* An entry in the file: ENTRY_MAGIC xor the CRC-32 of the segment's number and what follows up to the body; kind,
 * session, sequence, bytes and sum of the body. Of ENTRY_PROGRESS, the sequence is that of the session's next
 * record, and there is no body. The body of ENTRY_BLOCKS lies in blocks of its own. */
enum entry_kind { ENTRY_RECORD = 1, ENTRY_PROGRESS = 2, ENTRY_BLOCKS = 3 };
enum { AT_KIND = 4, AT_SESSION = 8, AT_SEQUENCE = 24, AT_BYTES = 32, AT_SUM = 40 };

static uint64_t rounded_up(uint64_t bytes, uint64_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

static enum entry_kind kind_of(const struct spool_record *record)
{
    return record->bytes >= RECEIVE_MEMORY_LARGE_BYTES ? ENTRY_BLOCKS : ENTRY_RECORD;
}

/* Where the body of an entry at `at` begins, and where the next entry does. */
static uint64_t body_place(enum entry_kind kind, uint64_t at)
{
    at += ENTRY_BYTES;
    return kind == ENTRY_BLOCKS ? rounded_up(at, FILE_BLOCK_BYTES) : at;
}

static uint64_t entry_end(enum entry_kind kind, const struct spool_record *record)
{
    return rounded_up(record->offset + record->bytes,
                      kind == ENTRY_BLOCKS ? FILE_BLOCK_BYTES : ALIGNMENT);
}

static uint32_t entry_check(const unsigned char *entry, uint64_t number)
{
    unsigned char salt[8];
    stream_put_u64(salt, number);
    return ENTRY_MAGIC ^
           crc32_append(crc32_append(0, salt, sizeof salt), entry + 4, ENTRY_BYTES - 4);
}

static void put_entry(unsigned char *out, uint64_t number, enum entry_kind kind,
                      const struct spool_record *record)
{
    stream_put_u32(out + AT_KIND, (uint32_t)kind);
    memcpy(out + AT_SESSION, record->session, SPOOL_SESSION_BYTES);
    stream_put_u64(out + AT_SEQUENCE, record->sequence);
    stream_put_u64(out + AT_BYTES, record->bytes);
    stream_put_u64(out + AT_SUM, record->sum);
    stream_put_u32(out, entry_check(out, number));
}

/* ---- writing ---------------------------------------------------------------------------- */

static struct status flush_batch(struct spool_batch *batch, const struct file *file)
{
    size_t used = batch->used;
    uint64_t at = batch->at;
    batch->used = 0;
    batch->at += used;
    return used ? file_write_at(file, batch->bytes, used, at) : status_ok();
}

/* The disk works while the next piece is copied. */
static struct status write_pieces(struct spool_batch *batch, const struct file *file,
                                  const unsigned char *bytes, size_t count)
{
    for (size_t done = 0; done < count;) {
        size_t part = count - done < PIECE_BYTES ? count - done : PIECE_BYTES;
        TRY(file_write_at(file, bytes + done, part, batch->at));
        batch->at += part;
        done += part;
        if (part == PIECE_BYTES) file_begin_sync(file);
    }
    return status_ok();
}

static struct status put_bytes(struct spool_batch *batch, const struct file *file,
                               const void *bytes, size_t count)
{
    if (count > SPOOL_BATCH_BYTES - batch->used) TRY(flush_batch(batch, file));
    if (count >= DIRECT_BYTES) {
        TRY(flush_batch(batch, file));
        return write_pieces(batch, file, bytes, count);
    }
    if (count) memcpy(batch->bytes + batch->used, bytes, count);
    batch->used += count;
    return status_ok();
}

static struct status put_zeros(struct spool_batch *batch, const struct file *file, uint64_t count)
{
    static const unsigned char zeros[FILE_BLOCK_BYTES];
    return put_bytes(batch, file, zeros, (size_t)count);
}

/* The whole blocks of a body go to the disk as they are, where memory and file system allow that, the rest with what
 * follows. */
static struct status put_blocks(struct spool_batch *batch, const struct spool_segment *segment,
                                const unsigned char *body, size_t bytes)
{
    size_t whole = bytes / FILE_BLOCK_BYTES * FILE_BLOCK_BYTES;
    bool may_be_direct = segment->direct.fd >= 0 && (uintptr_t)body % FILE_BLOCK_BYTES == 0;

    TRY(flush_batch(batch, &segment->file));
    if (!may_be_direct || file_write_at(&segment->direct, body, whole, batch->at).code)
        return put_bytes(batch, &segment->file, body, bytes);
    batch->at += whole;
    return put_bytes(batch, &segment->file, body + whole, bytes - whole);
}

void spool_segment_close(struct spool_segment *segment)
{
    (void)file_close(&segment->file);
    (void)file_close(&segment->direct);
}

struct status spool_segment_begin(struct spool_segment *segment, struct spool_batch *batch,
                                  const struct spool_progress *progress, size_t count)
{
    unsigned char start[START_BYTES], entry[ENTRY_BYTES];

    *batch = (struct spool_batch){ .bytes = batch->bytes };
    memcpy(start, SEGMENT_MAGIC, MAGIC_BYTES);
    stream_put_u64(start + MAGIC_BYTES, segment->number);
    TRY(put_bytes(batch, &segment->file, start, sizeof start));
    for (size_t i = 0; i < count; i++) {
        struct spool_record record = { .sequence = progress[i].next };
        memcpy(record.session, progress[i].session, SPOOL_SESSION_BYTES);
        put_entry(entry, segment->number, ENTRY_PROGRESS, &record);
        TRY(put_bytes(batch, &segment->file, entry, sizeof entry));
    }
    TRY(flush_batch(batch, &segment->file));
    segment->bytes = START_BYTES + count * ENTRY_BYTES;
    return status_ok();
}

static struct status write_record(const struct spool_segment *segment, struct spool_batch *batch,
                                  uint64_t *end, struct spool_record *record, const void *body)
{
    enum entry_kind kind = kind_of(record);
    unsigned char entry[ENTRY_BYTES];
    size_t bytes = (size_t)record->bytes;

    record->segment = segment->number;
    record->offset = body_place(kind, *end);
    put_entry(entry, segment->number, kind, record);
    TRY(put_bytes(batch, &segment->file, entry, sizeof entry));
    TRY(put_zeros(batch, &segment->file, record->offset - *end - sizeof entry));
    TRY(kind == ENTRY_BLOCKS ? put_blocks(batch, segment, body, bytes)
                             : put_bytes(batch, &segment->file, body, bytes));
    *end = entry_end(kind, record);
    return put_zeros(batch, &segment->file, *end - record->offset - bytes);
}

struct status spool_segment_write(uint64_t *end, const struct spool_segment *segment,
                                  struct spool_batch *batch, struct spool_record *records,
                                  const void *const *bodies, size_t count)
{
    *end = batch->at = segment->bytes;
    batch->used = 0;
    for (size_t i = 0; i < count; i++)
        TRY(write_record(segment, batch, end, &records[i], bodies[i]));
    return flush_batch(batch, &segment->file);
}

/* ---- reading ---------------------------------------------------------------------------- */

/* Is the body what its entry says? */
static struct status check_body(bool *is_intact, const struct file *file, struct spool_batch *batch,
                                const struct spool_record *record)
{
    uint64_t found = 0;

    for (uint64_t at = 0; at < record->bytes; at += SPOOL_BATCH_BYTES) {
        uint64_t left = record->bytes - at;
        size_t part = left < SPOOL_BATCH_BYTES ? (size_t)left : SPOOL_BATCH_BYTES, got;
        TRY(file_read_at(&got, file, batch->bytes, part, record->offset + at));
        if (got < part) break;
        found = stream_bulk_sum(found, batch->bytes, part);
    }
    *is_intact = found == record->sum;
    return status_ok();
}

/* Take the entry at *end, and *end behind it; *found is false when there is no whole one. */
static struct status read_entry(bool *found, uint64_t *end, const struct spool_segment *segment,
                                uint64_t size, struct spool_batch *batch,
                                const struct spool_reader *reader)
{
    unsigned char entry[ENTRY_BYTES];
    size_t got;

    *found = false;
    TRY(file_read_at(&got, &segment->file, entry, sizeof entry, *end));
    if (got < sizeof entry || stream_u32(entry) != entry_check(entry, segment->number))
        return status_ok();
    enum entry_kind kind = (enum entry_kind)stream_u32(entry + AT_KIND);
    struct spool_record record = { .sequence = stream_u64(entry + AT_SEQUENCE),
                                   .bytes = stream_u64(entry + AT_BYTES),
                                   .sum = stream_u64(entry + AT_SUM),
                                   .segment = segment->number,
                                   .offset = body_place(kind, *end) };
    memcpy(record.session, entry + AT_SESSION, SPOOL_SESSION_BYTES);
    if (record.offset > size || record.bytes > size - record.offset) return status_ok();
    TRY(check_body(found, &segment->file, batch, &record));
    if (!*found) return status_ok();
    *end = entry_end(kind, &record);
    if (kind != ENTRY_PROGRESS) return reader->record(reader->context, &record);
    struct spool_progress progress = { .next = record.sequence };
    memcpy(progress.session, record.session, SPOOL_SESSION_BYTES);
    return reader->progress(reader->context, &progress);
}

struct status spool_segment_read(struct spool_segment *segment, struct spool_batch *batch,
                                 const struct spool_reader *reader)
{
    unsigned char start[START_BYTES];
    uint64_t size, end = START_BYTES;
    size_t got;

    TRY(file_size(&size, &segment->file));
    TRY(file_read_at(&got, &segment->file, start, sizeof start, 0));
    bool more = got == sizeof start && !memcmp(start, SEGMENT_MAGIC, MAGIC_BYTES) &&
                stream_u64(start + MAGIC_BYTES) == segment->number;
    while (more && end + ENTRY_BYTES <= size)
        TRY(read_entry(&more, &end, segment, size, batch, reader));
    segment->bytes = segment->synced_bytes = end < size ? end : size;
    return status_ok();
}
