/* Writing and reading of recordings. A body is some kilobytes; the head of a record is 48 bytes. */
#include "online/recording.h"

#include <string.h>

#include "core/memory.h"
#include "formats/crc32.h"
#include "online/stream_record.h"

static const char title[] = "probe-ut online recording 1\n";
static const char mark[4] = { 'R', 'E', 'C', '1' };
enum { TITLE_BYTES = sizeof title - 1, HEAD_BYTES = 48 };

/* What decodes the bodies of a kind, and whether they come in sessions that outlive connections. */
static const struct {
    record_decoder *decode;
    bool has_sessions;
} kinds[RECORDING_KINDS] = {
    [RECORDING_PEER] = { record_decode, false },
    [RECORDING_STREAM] = { stream_record_decode, true },
};

/* ---- numbers ---------------------------------------------------------------------------- */

static unsigned char *put(unsigned char *out, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) *out++ = (unsigned char)(value >> (8 * i));
    return out;
}

static uint64_t get(const unsigned char **in, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++) value |= (uint64_t) * (*in)++ << (8 * i);
    return value;
}

static uint32_t checksum(const void *body, size_t bytes) { return crc32_append(0, body, bytes); }

/* ---- writing ---------------------------------------------------------------------------- */

struct status recording_create(struct recording *out, const char *path)
{
    *out = RECORDING_NONE;
    TRY(file_create(&out->file, path));
    return file_write_all(&out->file, title, TITLE_BYTES);
}

struct status recording_add(struct recording *recording, enum recording_kind kind,
                            const struct record_origin *origin, const void *body, size_t bytes)
{
    unsigned char head[HEAD_BYTES], *at = head;
    const char *from = origin->session ? origin->session : origin->address;
    const size_t name = from ? strnlen(from, RECORDING_NAME_BYTES - 1) : 0;
    if (recording->has_failed || recording->file.fd < 0) return status_ok();
    memcpy(at, mark, sizeof mark);
    at = put(at + sizeof mark, kind, 4);
    at = put(at, name, 4);
    at = put(at, checksum(body, bytes), 4);
    at = put(at, origin->sequence, 8);
    at = put(at, (uint64_t)origin->rank, 8);
    at = put(at, (uint64_t)origin->step, 8);
    (void)put(at, bytes, 8);
    struct status status = file_write_all(&recording->file, head, HEAD_BYTES);
    if (!status.code) status = file_write_all(&recording->file, from, name);
    if (!status.code) status = file_write_all(&recording->file, body, bytes);
    recording->has_failed = status.code != STATUS_OK;
    return status;
}

struct status recording_close(struct recording *recording) { return file_close(&recording->file); }

/* ---- reading ---------------------------------------------------------------------------- */

static struct status fault(const struct recording_reader *r, const char *sentence)
{
    return status_error(STATUS_BAD_INPUT, "%s, byte %llu: %s", r->file.path,
                        (unsigned long long)r->at, sentence);
}

/* *whole: all bytes were there. */
static struct status read_whole(bool *whole, struct recording_reader *r, void *out, size_t bytes,
                                uint64_t at)
{
    size_t got;
    TRY(file_read_at(&got, &r->file, out, bytes, at));
    *whole = got == bytes;
    return status_ok();
}

struct status recording_open(struct recording_reader *out, const char *path,
                             struct file_policy policy)
{
    char text[TITLE_BYTES];
    bool whole;
    policy.any_size = true;
    *out = (struct recording_reader){ .file = FILE_NONE };
    TRY(file_open_read(&out->file, path, policy));
    struct status status = file_size(&out->size, &out->file);
    if (!status.code) status = read_whole(&whole, out, text, TITLE_BYTES, 0);
    if (!status.code && (!whole || memcmp(text, title, TITLE_BYTES) != 0))
        status = fault(out, "this is no recording of serve --record");
    out->at = TITLE_BYTES;
    if (status.code) recording_reader_close(out);
    return status;
}

/* Name and body behind a head. */
static struct status read_rest(bool *whole, struct judge_submission *out,
                               struct recording_reader *r, size_t name, uint32_t crc)
{
    TRY(read_whole(whole, r, r->name, name, r->at + HEAD_BYTES));
    r->name[name] = '\0';
    if (!*whole) return status_ok();
    out->body = memory_allocate(out->bytes ? out->bytes : 1);
    if (!out->body) return status_no_memory(out->bytes);
    struct status status = read_whole(whole, r, out->body, out->bytes, r->at + HEAD_BYTES + name);
    if (!status.code && *whole && checksum(out->body, out->bytes) != crc)
        status = fault(r, "the body of this record is damaged");
    if (status.code || !*whole) memory_release(out->body);
    return status;
}

struct status recording_next(bool *more, struct judge_submission *out,
                             struct recording_reader *reader, uint64_t limit_bytes)
{
    unsigned char head[HEAD_BYTES];
    const unsigned char *at = head + sizeof mark;
    TRY(read_whole(more, reader, head, HEAD_BYTES, reader->at));
    if (!*more) return status_ok();
    const uint64_t kind = get(&at, 4), name = get(&at, 4), crc = get(&at, 4);
    if (memcmp(head, mark, sizeof mark) != 0 || kind >= RECORDING_KINDS ||
        name >= RECORDING_NAME_BYTES)
        return fault(reader, "no record of a recording begins here");
    *out = (struct judge_submission){ .decode = kinds[kind].decode };
    out->origin.address = reader->name;
    out->origin.session = kinds[kind].has_sessions ? reader->name : NULL;
    out->origin.sequence = get(&at, 8);
    out->origin.rank = (int64_t)get(&at, 8);
    out->origin.step = (int64_t)get(&at, 8);
    const uint64_t bytes = get(&at, 8);
    if (bytes > reader->size) *more = false; /* cut short */
    if (!*more) return status_ok();
    if (bytes > limit_bytes) return fault(reader, "this record is larger than the memory allows");
    out->bytes = (size_t)bytes;
    TRY(read_rest(more, out, reader, (size_t)name, (uint32_t)crc));
    reader->at += HEAD_BYTES + name + bytes;
    return status_ok();
}

void recording_reader_close(struct recording_reader *reader) { (void)file_close(&reader->file); }
