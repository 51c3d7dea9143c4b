/* The directory of segments. What a client has been told to be durable depends on three rules: nothing is
 * acknowledged before the sync that follows its write, no segment is begun before everything in front of it
 * is durable, and a segment goes only after the rows of all its records are durable. */
#include "online/spool.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/directory.h"
#include "core/file.h"
#include "core/growing.h"
#include "core/memory.h"

enum { SPARES = 4 };

struct spool {
    char *directory;
    uint64_t segment_bytes;
    struct file lock;
    pthread_mutex_t mutex; /* of `segments`, what they hold, `spares` and `sessions` */
    struct spool_segment **segments;
    size_t n_segments;
    struct file spares[SPARES]; /* of segments that are done; for the next ones */
    size_t n_spares;
    bool is_pressed; /* the disk is full: no file is kept */
    struct spool_progress *sessions;
    size_t n_sessions, session_room;
    struct spool_record *left;
    size_t n_left, left_room;
    struct spool_batch batch;
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

static char *spare_path(const struct spool *spool, size_t i)
{
    char name[40];
    (void)snprintf(name, sizeof name, "spare%zu.spool", i);
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

static struct spool_progress *find_session(const struct spool *spool, const unsigned char *session)
{
    for (size_t i = 0; i < spool->n_sessions; i++)
        if (!memcmp(spool->sessions[i].session, session, SPOOL_SESSION_BYTES))
            return &spool->sessions[i];
    return NULL;
}

static uint64_t next_of(const struct spool *spool, const unsigned char *session)
{
    const struct spool_progress *progress = find_session(spool, session);
    return progress ? progress->next : 0;
}

uint64_t spool_next(struct spool *spool, const unsigned char *session)
{
    pthread_mutex_lock(&spool->mutex);
    uint64_t next = next_of(spool, session);
    pthread_mutex_unlock(&spool->mutex);
    return next;
}

static struct status set_next(struct spool *spool, const unsigned char *session, uint64_t next)
{
    struct spool_progress *progress = find_session(spool, session);

    if (!progress) {
        TRY(array_make_room(&spool->sessions, &spool->session_room, spool->n_sessions,
                            sizeof *spool->sessions));
        progress = &spool->sessions[spool->n_sessions++];
        memcpy(progress->session, session, SPOOL_SESSION_BYTES);
        progress->next = 0;
    }
    if (next > progress->next) progress->next = next;
    return status_ok();
}

/* ---- appending -------------------------------------------------------------------------- */

static struct spool_segment *newest(const struct spool *spool)
{
    return spool->segments[spool->n_segments - 1];
}

/* A segment without a file, in the list; NULL when there is no memory. */
static struct spool_segment *list_segment(struct spool *spool, uint64_t number)
{
    struct spool_segment **grown =
        memory_resize(spool->segments, (spool->n_segments + 1) * sizeof *spool->segments);
    if (!grown) return NULL;
    spool->segments = grown;
    struct spool_segment *segment = memory_allocate_zeroed(1, sizeof *segment);
    if (!segment) return NULL;
    segment->number = number;
    segment->file = segment->direct = FILE_NONE;
    spool->segments[spool->n_segments++] = segment;
    return segment;
}

static void unlist_newest(struct spool *spool)
{
    struct spool_segment *segment = spool->segments[--spool->n_segments];
    spool_segment_close(segment);
    memory_release(segment);
}

/* A spare file under its new name, or a new one. */
static struct status open_file(struct file *out, struct spool *spool, const char *path)
{
    if (!spool->n_spares) return file_create(out, path);
    struct file *spare = &spool->spares[spool->n_spares - 1];
    TRY(file_rename_only(spare->path, path));
    char *name = memory_copy_string(path);
    if (!name) return status_no_memory(0); /* the file is lost to us, and goes with the spool */
    memory_release(spare->path);
    *out = (struct file){ .fd = spare->fd, .path = name };
    spool->n_spares--;
    return status_ok();
}

/* Begin a segment with the progress of all sessions. */
static struct status add_segment(struct spool *spool, uint64_t number)
{
    char *path = segment_path(spool, number);
    struct spool_segment *segment = path ? list_segment(spool, number) : NULL;
    struct status status = segment ? open_file(&segment->file, spool, path) : status_no_memory(0);

    if (!status.code) {
        segment->is_ours = true;
        (void)file_open_direct(&segment->direct, path); /* without it, through the page cache */
        status = spool_segment_begin(segment, &spool->batch, spool->sessions, spool->n_sessions);
        if (status.code) (void)file_remove(path);
        segment->first_bytes = segment->bytes;
    }
    if (segment && status.code) unlist_newest(spool);
    memory_release(path);
    return status;
}

static bool is_full(const struct spool *spool)
{
    return newest(spool)->bytes > spool->segment_bytes || newest(spool)->is_lost;
}

bool spool_begins_segment(struct spool *spool)
{
    pthread_mutex_lock(&spool->mutex);
    bool begins = is_full(spool);
    pthread_mutex_unlock(&spool->mutex);
    return begins;
}

/* The records are in the file. */
static struct status note_appended(struct spool *spool, struct spool_segment *segment, uint64_t end,
                                   const struct spool_record *records, size_t count)
{
    segment->bytes = end;
    segment->waiting += count;
    spool->is_pressed = false;
    for (size_t i = 0; i < count; i++)
        TRY(set_next(spool, records[i].session, records[i].sequence + 1));
    return status_ok();
}

struct status spool_append(struct spool *spool, struct spool_record *records,
                           const void *const *bodies, size_t count)
{
    struct status status = status_ok();
    uint64_t end;

    pthread_mutex_lock(&spool->mutex);
    if (is_full(spool)) status = add_segment(spool, newest(spool)->number + 1);
    struct spool_segment *segment = newest(spool);
    pthread_mutex_unlock(&spool->mutex);
    if (!status.code)
        status = spool_segment_write(&end, segment, &spool->batch, records, bodies, count);
    if (status.code) return status;
    pthread_mutex_lock(&spool->mutex);
    status = note_appended(spool, segment, end, records, count);
    pthread_mutex_unlock(&spool->mutex);
    return status;
}

/* ---- durability ------------------------------------------------------------------------- */

/* What memory still shows of it may not be on the disk: no process shall find it there. */
static void give_up(struct spool_segment *segment)
{
    segment->is_lost = true;
    (void)file_truncate(&segment->file, segment->synced_bytes);
}

struct status spool_sync(struct spool *spool)
{
    pthread_mutex_lock(&spool->mutex);
    struct spool_segment *segment = newest(spool);
    uint64_t bytes = segment->bytes;
    bool is_lost = segment->is_lost, is_named = segment->is_named;
    pthread_mutex_unlock(&spool->mutex);
    if (is_lost)
        return status_error(STATUS_IO, "'%s' could not be synced",
                            file_shown(segment->file.path).text);
    struct status status = file_sync(&segment->file);
    if (!status.code && !is_named) status = file_sync_directory(spool->directory);
    pthread_mutex_lock(&spool->mutex);
    if (status.code) give_up(segment);
    else if (bytes > segment->synced_bytes) segment->synced_bytes = bytes;
    segment->is_named = segment->is_named || !status.code;
    pthread_mutex_unlock(&spool->mutex);
    return status;
}

static struct spool_segment *find_segment(const struct spool *spool, uint64_t number)
{
    for (size_t i = 0; i < spool->n_segments; i++)
        if (spool->segments[i]->number == number) return spool->segments[i];
    return NULL;
}

void spool_retract(struct spool *spool, const struct spool_record *record)
{
    pthread_mutex_lock(&spool->mutex);
    struct spool_segment *segment = find_segment(spool, record->segment);
    struct spool_progress *session = find_session(spool, record->session);
    assert(segment && segment->is_lost && session);
    segment->waiting--;
    segment->bytes = segment->synced_bytes;
    if (record->sequence < session->next) session->next = record->sequence;
    pthread_mutex_unlock(&spool->mutex);
}

/* ---- reading and removing --------------------------------------------------------------- */

static struct spool_segment *segment_of(struct spool *spool, const struct spool_record *record)
{
    pthread_mutex_lock(&spool->mutex);
    struct spool_segment *found = find_segment(spool, record->segment);
    pthread_mutex_unlock(&spool->mutex);
    assert(found);
    return found;
}

struct status spool_read(struct spool *spool, const struct spool_record *record, void *body)
{
    const struct spool_segment *segment = segment_of(spool, record);
    size_t got;

    TRY(file_read_at(&got, &segment->file, body, (size_t)record->bytes, record->offset));
    if (got < record->bytes)
        return status_error(STATUS_IO, "'%s' became shorter while it was in use",
                            file_shown(segment->file.path).text);
    return status_ok();
}

bool spool_done(struct spool *spool, const struct spool_record *record)
{
    struct spool_segment *segment = segment_of(spool, record);

    pthread_mutex_lock(&spool->mutex);
    bool may_go = --segment->waiting == 0 && spool->n_segments > 1; /* it, or those before it */
    pthread_mutex_unlock(&spool->mutex);
    return may_go;
}

static struct status remove_file(struct file *file)
{
    char *path = memory_copy_string(file->path);
    if (!path) return status_no_memory(0);
    struct status closed = file_close(file);
    struct status removed = file_remove(path);
    memory_release(path);
    return closed.code ? closed : removed;
}

/* All that is in the newest segment is done and durable, and it is more than the progress of the sessions. */
static bool may_be_left(const struct spool_segment *segment)
{
    return !segment->waiting && !segment->is_lost && segment->synced_bytes == segment->bytes &&
           segment->bytes > segment->first_bytes;
}

bool spool_relieve(struct spool *spool)
{
    pthread_mutex_lock(&spool->mutex);
    struct spool_segment *segment = newest(spool);
    spool->is_pressed = true;
    while (spool->n_spares) (void)remove_file(&spool->spares[--spool->n_spares]);
    /* What the failed append has written takes the room that the rows of others need. */
    struct status status = file_truncate(&segment->file, segment->bytes);
    bool begins = !status.code && may_be_left(segment);
    if (begins) status = add_segment(spool, segment->number + 1);
    pthread_mutex_unlock(&spool->mutex);
    return begins && !status.code && !spool_sync(spool).code;
}

/* Keep the file for the next segment. What is not of the usual size is not worth it, and where a sync has failed the
 * disk may be bad. */
static bool keep_file(struct spool *spool, struct spool_segment *segment)
{
    uint64_t most = 2 * spool->segment_bytes;
    if (spool->is_pressed || spool->n_spares == SPARES || !segment->is_ours || segment->is_lost ||
        segment->bytes > most)
        return false;
    char *path = spare_path(spool, spool->n_spares);
    if (!path || file_rename_only(segment->file.path, path).code) {
        memory_release(path);
        return false;
    }
    memory_release(segment->file.path);
    segment->file.path = path;
    spool->spares[spool->n_spares++] = segment->file;
    segment->file = FILE_NONE;
    return true;
}

/* Mark what is done; the newest segment only when `all`. Until the newest one is durable, the progress of the sessions
 * is in those before it. */
static bool mark_done(struct spool *spool, bool all)
{
    bool any = false;

    pthread_mutex_lock(&spool->mutex);
    for (size_t i = 0; i < spool->n_segments; i++) {
        struct spool_segment *segment = spool->segments[i];
        segment->goes = !segment->waiting && (all || i + 1 < spool->n_segments) &&
                        (all || newest(spool)->synced_bytes);
        any = any || segment->goes;
    }
    pthread_mutex_unlock(&spool->mutex);
    return any;
}

static struct status remove_marked(struct spool *spool, bool finished)
{
    struct status status = status_ok();
    size_t kept = 0;

    pthread_mutex_lock(&spool->mutex);
    for (size_t i = 0; i < spool->n_segments; i++) {
        struct spool_segment *segment = spool->segments[i];
        if (!segment->goes) {
            spool->segments[kept++] = segment;
            continue;
        }
        if (finished || !keep_file(spool, segment)) {
            struct status removed = remove_file(&segment->file);
            if (!status.code) status = removed;
        }
        spool_segment_close(segment);
        memory_release(segment);
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
    return remove_marked(spool, false);
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

static struct status remember_left(struct spool *spool, const struct spool_record *record)
{
    TRY(array_make_room(&spool->left, &spool->left_room, spool->n_left, sizeof *spool->left));
    spool->left[spool->n_left++] = *record;
    return status_ok();
}

/* A record that was written anew may be there twice, and what is behind a gap was never acknowledged. */
static struct status take_record(void *context, const struct spool_record *record)
{
    struct spool *spool = context;

    if (record->sequence != next_of(spool, record->session)) return status_ok();
    newest(spool)->waiting++;
    TRY(remember_left(spool, record));
    return set_next(spool, record->session, record->sequence + 1);
}

static struct status take_progress(void *context, const struct spool_progress *progress)
{
    return set_next(context, progress->session, progress->next);
}

static struct status open_segment(struct spool *spool, uint64_t number)
{
    const struct spool_reader reader = { take_record, take_progress, spool };
    char *path = segment_path(spool, number);
    struct spool_segment *segment = path ? list_segment(spool, number) : NULL;
    struct status status = segment ? file_open_append(&segment->file, path, FILES_CHECKED)
                                   : status_no_memory(0);

    memory_release(path);
    /* What a killed process had written and not yet synced is told to clients as durable. */
    if (!status.code) status = file_sync(&segment->file);
    if (!status.code) status = spool_segment_read(segment, &spool->batch, &reader);
    if (segment && status.code) unlist_newest(spool);
    return status;
}

/* All segments that are there, in order, and a new one: what a killed process left behind the last whole entry is
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
    if (!status.code) status = add_segment(spool, last + 1);
    return status.code ? status : spool_sync(spool);
}

/* A spare file of an earlier process is as good as none. */
static struct status remove_spares(const struct spool *spool)
{
    struct status status = status_ok();

    for (size_t i = 0; !status.code && i < SPARES; i++) {
        char *path = spare_path(spool, i);
        if (!path) return status_no_memory(0);
        if (file_exists(path)) status = file_remove(path);
        memory_release(path);
    }
    return status;
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
    while (spool->n_segments) unlist_newest(spool);
    while (spool->n_spares) (void)file_close(&spool->spares[--spool->n_spares]);
    (void)file_close(&spool->lock);
    (void)pthread_mutex_destroy(&spool->mutex);
    memory_release(spool->segments);
    memory_release(spool->sessions);
    memory_release(spool->left);
    memory_release(spool->batch.bytes);
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
    spool->batch.bytes = memory_allocate(SPOOL_BATCH_BYTES);
    struct status status = spool->directory && spool->batch.bytes
                               ? take_lock(spool)
                               : status_no_memory(SPOOL_BATCH_BYTES);
    if (!status.code) status = remove_spares(spool);
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

static struct status remove_all(struct spool *spool)
{
    (void)mark_done(spool, true);
    TRY(remove_marked(spool, true));
    while (spool->n_spares) TRY(remove_file(&spool->spares[--spool->n_spares]));
    if (spool->n_segments) return status_ok();
    TRY(file_remove(spool->lock.path));
    return file_remove_directory(spool->directory);
}

struct status spool_close(struct spool *spool, bool finished)
{
    if (!spool) return status_ok();
    struct status status = finished ? remove_all(spool) : status_ok();
    release(spool);
    return status;
}
