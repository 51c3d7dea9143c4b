/* Segments of appended records. What a client has been told to be durable depends on two rules: nothing
 * is acknowledged before the sync that follows its write, and a segment goes only after the rows of all
 * its records are durable. */
#include "online/spool.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "core/directory.h"
#include "core/file.h"
#include "core/memory.h"
#include "online/stream_frames.h"

#define SEGMENT_MAGIC "UTSPOOL1"
enum {
    MAGIC_BYTES = 8,
    ENTRY_BYTES = 48,
    ALIGNMENT = 16,
    BATCH_BYTES = 1 << 20,
    DIRECT_BYTES = 1 << 18,
    PIECE_BYTES = 8 << 20
};
#define ENTRY_MAGIC UINT32_C(0x59524e45) /* "ENRY" */

/* An entry in the file: ENTRY_MAGIC xor the CRC-32 of what follows up to the body, kind, session, sequence,
 * bytes and sum of the body (stream_bulk_sum). Of ENTRY_PROGRESS, the sequence is that of the
 * session's next record, and there is no body. */
enum entry_kind { ENTRY_RECORD = 1, ENTRY_PROGRESS = 2 };
enum { AT_KIND = 4, AT_SESSION = 8, AT_SEQUENCE = 24, AT_BYTES = 32, AT_SUM = 40 };

struct segment {
    uint64_t number, bytes;
    size_t waiting; /* records that are not done */
    bool goes;      /* marked to be removed */
    struct file file;
};

struct progress {
    unsigned char session[SPOOL_SESSION_BYTES];
    uint64_t next;
};

struct spool {
    char *directory;
    uint64_t segment_bytes;
    struct file lock;
    pthread_mutex_t mutex; /* of `segments`, what they hold, and `sessions` */
    struct segment **segments;
    size_t n_segments;
    struct progress *sessions;
    size_t n_sessions, session_room;
    struct spool_record *left;
    size_t n_left, left_room;
    unsigned char *batch;
    size_t batch_used;
    bool torn; /* a write that failed could not be taken back: the newest segment gets no more */
};

/* ---- names ------------------------------------------------------------------------------ */

static char *path_in(const struct spool *spool, const char *name)
{
    size_t bytes = strlen(spool->directory) + strlen(name) + 2;
    char *path = memory_allocate(bytes);
    if (path) (void)snprintf(path, bytes, "%s/%s", spool->directory, name);
    return path;
}

static char *segment_path(const struct spool *spool, uint64_t number)
{
    char name[40];
    (void)snprintf(name, sizeof name, "segment%08" PRIu64 ".spool", number);
    return path_in(spool, name);
}

/* The number in a segment's name; false for other names. */
static bool segment_number(uint64_t *number, const char *name)
{
    char again[40], *end;

    if (strncmp(name, "segment", 7) != 0) return false;
    *number = strtoull(name + 7, &end, 10);
    (void)snprintf(again, sizeof again, "segment%08" PRIu64 ".spool", *number);
    return !strcmp(again, name);
}

/* ---- sessions --------------------------------------------------------------------------- */

static struct progress *find_session(const struct spool *spool, const unsigned char *session)
{
    for (size_t i = 0; i < spool->n_sessions; i++)
        if (!memcmp(spool->sessions[i].session, session, SPOOL_SESSION_BYTES))
            return &spool->sessions[i];
    return NULL;
}

uint64_t spool_next(struct spool *spool, const unsigned char *session)
{
    pthread_mutex_lock(&spool->mutex);
    const struct progress *progress = find_session(spool, session);
    uint64_t next = progress ? progress->next : 0;
    pthread_mutex_unlock(&spool->mutex);
    return next;
}

/* Room for one more item of an array that doubles. */
static struct status make_room(void **items, size_t *room, size_t count, size_t size)
{
    if (count < *room) return status_ok();
    size_t wanted = *room ? 2 * *room : 16;
    void *grown = memory_resize(*items, wanted * size);
    if (!grown) return status_no_memory(wanted * size);
    *items = grown;
    *room = wanted;
    return status_ok();
}

static struct status set_next(struct spool *spool, const unsigned char *session, uint64_t next)
{
    struct progress *progress = find_session(spool, session);

    if (!progress) {
        void *items = spool->sessions;
        TRY(make_room(&items, &spool->session_room, spool->n_sessions, sizeof *spool->sessions));
        spool->sessions = items;
        progress = &spool->sessions[spool->n_sessions++];
        memcpy(progress->session, session, SPOOL_SESSION_BYTES);
        progress->next = 0;
    }
    if (next > progress->next) progress->next = next;
    return status_ok();
}

/* ---- entries ---------------------------------------------------------------------------- */

static uint64_t padded(uint64_t bytes) { return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

static void put_entry(unsigned char *out, enum entry_kind kind, const unsigned char *session,
                      uint64_t sequence, uint64_t bytes, uint64_t sum)
{
    stream_put_u32(out + AT_KIND, (uint32_t)kind);
    memcpy(out + AT_SESSION, session, SPOOL_SESSION_BYTES);
    stream_put_u64(out + AT_SEQUENCE, sequence);
    stream_put_u64(out + AT_BYTES, bytes);
    stream_put_u64(out + AT_SUM, sum);
    stream_put_u32(out, ENTRY_MAGIC ^ (uint32_t)crc32_z(0, out + 4, ENTRY_BYTES - 4));
}

static bool entry_is_intact(const unsigned char *entry)
{
    return stream_u32(entry) == (ENTRY_MAGIC ^ (uint32_t)crc32_z(0, entry + 4, ENTRY_BYTES - 4));
}

/* ---- writing ---------------------------------------------------------------------------- */

static struct segment *newest(const struct spool *spool)
{
    return spool->segments[spool->n_segments - 1];
}

static struct status flush_batch(struct spool *spool, const struct file *file)
{
    size_t used = spool->batch_used;
    spool->batch_used = 0;
    return used ? file_write_all(file, spool->batch, used) : status_ok();
}

/* The disk works while the next piece is copied. */
static struct status write_large(const struct file *file, const unsigned char *bytes, size_t count)
{
    for (size_t at = 0; at < count; at += PIECE_BYTES) {
        size_t part = count - at < PIECE_BYTES ? count - at : PIECE_BYTES;
        TRY(file_write_all(file, bytes + at, part));
        if (part == PIECE_BYTES) file_begin_sync(file);
    }
    return status_ok();
}

static struct status put_bytes(struct spool *spool, const struct file *file, const void *bytes,
                               size_t count)
{
    if (count > BATCH_BYTES - spool->batch_used) TRY(flush_batch(spool, file));
    if (count >= DIRECT_BYTES) {
        TRY(flush_batch(spool, file));
        return write_large(file, bytes, count);
    }
    if (count) memcpy(spool->batch + spool->batch_used, bytes, count);
    spool->batch_used += count;
    return status_ok();
}

/* Begin a segment with the progress of all sessions. */
static struct status add_segment(struct spool *spool, uint64_t number)
{
    unsigned char entry[ENTRY_BYTES];
    struct segment **grown =
        memory_resize(spool->segments, (spool->n_segments + 1) * sizeof(struct segment *));
    if (!grown) return status_no_memory(0);
    spool->segments = grown;
    struct segment *segment = memory_allocate_zeroed(1, sizeof *segment);
    char *path = segment_path(spool, number);
    struct status status = segment && path ? file_create(&segment->file, path)
                                           : status_no_memory(0);
    if (status.code) goto release;

    spool->batch_used = 0;
    status = put_bytes(spool, &segment->file, SEGMENT_MAGIC, MAGIC_BYTES);
    static const unsigned char zeros[ALIGNMENT];
    if (!status.code) status = put_bytes(spool, &segment->file, zeros, ALIGNMENT - MAGIC_BYTES);
    for (size_t i = 0; !status.code && i < spool->n_sessions; i++) {
        put_entry(entry, ENTRY_PROGRESS, spool->sessions[i].session, spool->sessions[i].next, 0, 0);
        status = put_bytes(spool, &segment->file, entry, sizeof entry);
    }
    if (!status.code) status = flush_batch(spool, &segment->file);
    if (!status.code) status = file_sync(&segment->file);
    if (!status.code) status = file_sync_directory(spool->directory);
    if (status.code) {
        (void)file_close(&segment->file);
        (void)file_remove(path);
        goto release;
    }
    segment->number = number;
    segment->bytes = ALIGNMENT + spool->n_sessions * ENTRY_BYTES;
    spool->segments[spool->n_segments++] = segment;
    segment = NULL;
release:
    memory_release(path);
    memory_release(segment);
    return status;
}

static struct status append_record(struct spool *spool, struct segment *segment, uint64_t *end,
                                   struct spool_record *record, const void *body)
{
    static const unsigned char zeros[ALIGNMENT];
    unsigned char entry[ENTRY_BYTES];
    size_t bytes = (size_t)record->bytes;

    put_entry(entry, ENTRY_RECORD, record->session, record->sequence, bytes,
              stream_bulk_sum(0, body, bytes));
    TRY(put_bytes(spool, &segment->file, entry, sizeof entry));
    TRY(put_bytes(spool, &segment->file, body, bytes));
    TRY(put_bytes(spool, &segment->file, zeros, (size_t)(padded(bytes) - bytes)));
    record->segment = segment->number;
    record->offset = *end + ENTRY_BYTES;
    *end = record->offset + padded(bytes);
    return status_ok();
}

static struct status append_records(struct spool *spool, struct segment *segment, uint64_t *end,
                                    struct spool_record *records, const void *const *bodies,
                                    size_t count)
{
    for (size_t i = 0; i < count; i++)
        TRY(append_record(spool, segment, end, &records[i], bodies[i]));
    return flush_batch(spool, &segment->file);
}

/* The records are in the file. */
static struct status note_appended(struct spool *spool, struct segment *segment, uint64_t end,
                                   const struct spool_record *records, size_t count)
{
    segment->bytes = end;
    segment->waiting += count;
    for (size_t i = 0; i < count; i++)
        TRY(set_next(spool, records[i].session, records[i].sequence + 1));
    return status_ok();
}

struct status spool_append(struct spool *spool, struct spool_record *records,
                           const void *const *bodies, size_t count)
{
    struct status status = status_ok();

    if (newest(spool)->bytes > spool->segment_bytes || spool->torn) {
        pthread_mutex_lock(&spool->mutex);
        status = add_segment(spool, newest(spool)->number + 1);
        pthread_mutex_unlock(&spool->mutex);
        if (status.code) return status;
        spool->torn = false;
    }
    struct segment *segment = newest(spool);
    uint64_t end = segment->bytes;
    status = append_records(spool, segment, &end, records, bodies, count);
    if (status.code) {
        spool->batch_used = 0;
        spool->torn = file_truncate(&segment->file, segment->bytes).code != STATUS_OK;
        return status;
    }
    pthread_mutex_lock(&spool->mutex);
    status = note_appended(spool, segment, end, records, count);
    pthread_mutex_unlock(&spool->mutex);
    return status;
}

struct status spool_sync(struct spool *spool) { return file_sync(&newest(spool)->file); }

/* ---- reading and removing --------------------------------------------------------------- */

static struct segment *find_segment(struct spool *spool, uint64_t number)
{
    struct segment *found = NULL;

    pthread_mutex_lock(&spool->mutex);
    for (size_t i = 0; i < spool->n_segments && !found; i++)
        if (spool->segments[i]->number == number) found = spool->segments[i];
    pthread_mutex_unlock(&spool->mutex);
    return found;
}

struct status spool_read(struct spool *spool, const struct spool_record *record, void *body)
{
    struct segment *segment = find_segment(spool, record->segment);
    size_t got;

    assert(segment);
    TRY(file_read_at(&got, &segment->file, body, (size_t)record->bytes, record->offset));
    if (got < record->bytes)
        return status_error(STATUS_IO, "'%s' became shorter while it was in use",
                            file_shown(segment->file.path).text);
    return status_ok();
}

bool spool_done(struct spool *spool, const struct spool_record *record)
{
    struct segment *segment = find_segment(spool, record->segment);

    assert(segment);
    pthread_mutex_lock(&spool->mutex);
    bool may_go = --segment->waiting == 0 && segment != newest(spool);
    pthread_mutex_unlock(&spool->mutex);
    return may_go;
}

static struct status remove_segment(struct segment *segment)
{
    char *path = memory_copy_string(segment->file.path);
    if (!path) return status_no_memory(0);
    struct status closed = file_close(&segment->file);
    struct status removed = file_remove(path);
    memory_release(path);
    memory_release(segment);
    return closed.code ? closed : removed;
}

/* Mark what is done; the newest segment only when `all`. */
static bool mark_done(struct spool *spool, bool all)
{
    bool any = false;

    pthread_mutex_lock(&spool->mutex);
    for (size_t i = 0; i < spool->n_segments; i++) {
        struct segment *segment = spool->segments[i];
        segment->goes = !segment->waiting && (all || i + 1 < spool->n_segments);
        any = any || segment->goes;
    }
    pthread_mutex_unlock(&spool->mutex);
    return any;
}

static struct status remove_marked(struct spool *spool)
{
    struct status status = status_ok();
    size_t kept = 0;

    pthread_mutex_lock(&spool->mutex);
    for (size_t i = 0; i < spool->n_segments; i++) {
        struct segment *segment = spool->segments[i];
        if (!segment->goes) {
            spool->segments[kept++] = segment;
            continue;
        }
        struct status removed = remove_segment(segment);
        if (!status.code) status = removed;
    }
    spool->n_segments = kept;
    pthread_mutex_unlock(&spool->mutex);
    return status;
}

struct status spool_clear(struct spool *spool, struct status (*make_durable)(void *context),
                          void *context)
{
    if (!mark_done(spool, false)) return status_ok();
    TRY(make_durable(context));
    return remove_marked(spool);
}

uint64_t spool_bytes(struct spool *spool)
{
    uint64_t bytes = 0;

    pthread_mutex_lock(&spool->mutex);
    for (size_t i = 0; i < spool->n_segments; i++) bytes += spool->segments[i]->bytes;
    pthread_mutex_unlock(&spool->mutex);
    return bytes;
}

/* ---- opening ---------------------------------------------------------------------------- */

/* Is the body at `offset` what its entry says? */
static struct status check_body(bool *is_intact, const struct file *file, unsigned char *buffer,
                                uint64_t offset, uint64_t bytes, uint64_t sum)
{
    uint64_t found = 0;

    for (uint64_t at = 0; at < bytes; at += BATCH_BYTES) {
        size_t part = (size_t)(bytes - at < BATCH_BYTES ? bytes - at : BATCH_BYTES), got;
        TRY(file_read_at(&got, file, buffer, part, offset + at));
        if (got < part) break;
        found = stream_bulk_sum(found, buffer, part);
    }
    *is_intact = found == sum;
    return status_ok();
}

static struct status remember_left(struct spool *spool, const struct spool_record *record)
{
    void *items = spool->left;
    TRY(make_room(&items, &spool->left_room, spool->n_left, sizeof *spool->left));
    spool->left = items;
    spool->left[spool->n_left++] = *record;
    return status_ok();
}

/* Take the entry at *end, and *end behind it; *found is false when there is no whole one. */
static struct status read_entry(bool *found, uint64_t *end, struct spool *spool,
                                struct segment *segment, uint64_t size)
{
    unsigned char entry[ENTRY_BYTES];
    size_t got;

    *found = false;
    TRY(file_read_at(&got, &segment->file, entry, sizeof entry, *end));
    if (got < sizeof entry || !entry_is_intact(entry)) return status_ok();
    struct spool_record record = { .sequence = stream_u64(entry + AT_SEQUENCE),
                                   .bytes = stream_u64(entry + AT_BYTES),
                                   .segment = segment->number,
                                   .offset = *end + ENTRY_BYTES };
    memcpy(record.session, entry + AT_SESSION, SPOOL_SESSION_BYTES);
    if (record.bytes > size - record.offset) return status_ok();
    TRY(check_body(found, &segment->file, spool->batch, record.offset, record.bytes,
                   stream_u64(entry + AT_SUM)));
    if (!*found) return status_ok();
    *end = record.offset + padded(record.bytes);
    if (stream_u32(entry + AT_KIND) == ENTRY_PROGRESS)
        return set_next(spool, record.session, record.sequence);
    segment->waiting++;
    TRY(remember_left(spool, &record));
    return set_next(spool, record.session, record.sequence + 1);
}

/* What a segment holds; *end is where the last whole entry ends. */
static struct status read_segment(struct spool *spool, struct segment *segment)
{
    char magic[MAGIC_BYTES];
    uint64_t size, end = ALIGNMENT;
    size_t got;

    /* What a killed process had written and not yet synced is told to clients as durable. */
    TRY(file_sync(&segment->file));
    TRY(file_size(&size, &segment->file));
    TRY(file_read_at(&got, &segment->file, magic, sizeof magic, 0));
    bool more = got == sizeof magic && !memcmp(magic, SEGMENT_MAGIC, sizeof magic) && size >= end;
    while (more && end + ENTRY_BYTES <= size) TRY(read_entry(&more, &end, spool, segment, size));
    segment->bytes = end < size ? end : size;
    return status_ok();
}

static struct status open_segment(struct spool *spool, uint64_t number)
{
    struct segment **grown =
        memory_resize(spool->segments, (spool->n_segments + 1) * sizeof(struct segment *));
    if (!grown) return status_no_memory(0);
    spool->segments = grown;
    struct segment *segment = memory_allocate_zeroed(1, sizeof *segment);
    char *path = segment_path(spool, number);
    struct status status = segment && path ? file_open_append(&segment->file, path, FILES_CHECKED)
                                           : status_no_memory(0);
    memory_release(path);
    if (!status.code) {
        segment->number = number;
        status = read_segment(spool, segment);
        if (!status.code) {
            spool->segments[spool->n_segments++] = segment;
            return status;
        }
        (void)file_close(&segment->file);
    }
    memory_release(segment);
    return status;
}

/* All segments that are there, and a new one: what a killed process left behind the last whole entry is
 * not written over, because the records in front of it may be all there is. */
static struct status open_segments(struct spool *spool)
{
    struct directory_names names;
    uint64_t number, last = 0;

    TRY(directory_list(&names, spool->directory, 1000000));
    struct status status = status_ok();
    for (size_t i = 0; !status.code && i < names.count; i++)
        if (segment_number(&number, names.items[i])) {
            status = open_segment(spool, number);
            last = number > last ? number : last;
        }
    directory_release(&names);
    return status.code ? status : add_segment(spool, last + 1);
}

static struct status take_lock(struct spool *spool)
{
    char *path = path_in(spool, "lock");
    if (!path) return status_no_memory(0);
    struct status status = file_create(&spool->lock, path);
    if (file_already_exists(status)) status = file_open_append(&spool->lock, path, FILES_CHECKED);
    memory_release(path);
    return status.code ? status : file_lock(&spool->lock);
}

static void release(struct spool *spool)
{
    for (size_t i = 0; i < spool->n_segments; i++) {
        (void)file_close(&spool->segments[i]->file);
        memory_release(spool->segments[i]);
    }
    (void)file_close(&spool->lock);
    (void)pthread_mutex_destroy(&spool->mutex);
    memory_release(spool->segments);
    memory_release(spool->sessions);
    memory_release(spool->left);
    memory_release(spool->batch);
    memory_release(spool->directory);
    memory_release(spool);
}

struct status spool_open(struct spool **out, const char *directory, uint64_t segment_bytes)
{
    *out = NULL;
    TRY(file_make_directories(directory));
    struct spool *spool = memory_allocate_zeroed(1, sizeof *spool);
    if (!spool) return status_no_memory(sizeof *spool);
    spool->segment_bytes = segment_bytes;
    spool->lock = FILE_NONE;
    (void)pthread_mutex_init(&spool->mutex, NULL);
    spool->directory = memory_copy_string(directory);
    spool->batch = memory_allocate(BATCH_BYTES);
    struct status status = spool->directory && spool->batch ? take_lock(spool)
                                                            : status_no_memory(BATCH_BYTES);
    if (!status.code) status = open_segments(spool);
    if (status.code) release(spool);
    else *out = spool;
    return status;
}

size_t spool_left(const struct spool *spool, const struct spool_record **records)
{
    *records = spool->left;
    return spool->n_left;
}

struct status spool_close(struct spool *spool, bool finished)
{
    struct status status = status_ok();

    if (!spool) return status;
    if (finished) {
        (void)mark_done(spool, true);
        status = remove_marked(spool);
        if (!status.code && !spool->n_segments) status = file_remove(spool->lock.path);
        if (!status.code && !spool->n_segments) status = file_remove_directory(spool->directory);
    }
    release(spool);
    return status;
}
