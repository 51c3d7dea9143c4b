/* One pass over the folder per look: markers of beginnings, records by their age, markers of ends. Who may
 * write into the folder may send records, so owners of files are not asked for; links, pipes and devices are
 * refused and removed. */
#include "online/shared_storage.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/directory.h"
#include "core/memory.h"
#include "core/quantity.h"

enum { NAMES_MAX = 1 << 20 };
static const double settled_s = 5;    /* a file that does not grow so long is whole */
static const double complete_s = 1;   /* all ranks have ended */
static const double incomplete_s = 5; /* fewer have ended than the run has ranks */
static const double ambiguous_s = 30; /* markers may have had the same name */

struct growing_file {
    char *name;
    off_t size;
    struct timespec changed;
    double since_s;
    bool is_there; /* it was seen in this pass */
    struct growing_file *next;
};

/* A record's file in one pass. */
struct found_file {
    const char *name;
    struct stat info;
};

struct status shared_storage_open(struct shared_storage *storage)
{
    storage->folder = FILE_NONE;
    storage->changed_s = clock_seconds();
    return file_open_directory(&storage->folder, storage->path, FILES_TRUSTED);
}

static void forget(struct growing_file **at)
{
    struct growing_file *file = *at;
    *at = file->next;
    memory_release(file->name);
    memory_release(file);
}

void shared_storage_close(struct shared_storage *storage)
{
    while (storage->growing) forget(&storage->growing);
    if (storage->pending.body) (void)receive_memory_give(storage->memory, storage->pending.bytes);
    memory_release(storage->pending.body);
    memory_release(storage->pending_name);
    (void)file_close(&storage->folder);
}

/* ---- files that may grow ---------------------------------------------------------------- */

static struct growing_file **find_growing(struct shared_storage *s, const char *name)
{
    struct growing_file **at = &s->growing;
    while (*at && strcmp((*at)->name, name) != 0) at = &(*at)->next;
    return at;
}

static void note(struct growing_file *file, const struct stat *info)
{
    file->size = info->st_size;
    file->changed = info->st_mtim;
    file->since_s = clock_seconds();
}

static bool has_changed(const struct growing_file *file, const struct stat *info)
{
    return file->size != info->st_size || file->changed.tv_sec != info->st_mtim.tv_sec ||
           file->changed.tv_nsec != info->st_mtim.tv_nsec;
}

/* It could not be decoded. *settled: it will not get any better. */
static struct status watch_growing(bool *settled, struct shared_storage *s,
                                   const struct found_file *found)
{
    struct growing_file **at = find_growing(s, found->name);
    *settled = false;
    if (!*at) {
        struct growing_file *file = memory_allocate_zeroed(1, sizeof *file);
        if (!file) return status_no_memory(sizeof *file);
        file->name = memory_copy_string(found->name);
        if (!file->name) {
            memory_release(file);
            return status_no_memory(0);
        }
        note(file, &found->info);
        *at = file;
    } else if (has_changed(*at, &found->info)) {
        note(*at, &found->info);
    } else {
        *settled = clock_seconds() - (*at)->since_s >= settled_s;
    }
    (*at)->is_there = true;
    return status_ok();
}

/* Is it one that was looked at already and is the same since? */
static bool is_unchanged(struct shared_storage *s, const struct found_file *found)
{
    struct growing_file *file = *find_growing(s, found->name);
    if (!file || has_changed(file, &found->info)) return false;
    file->is_there = true;
    return clock_seconds() - file->since_s < settled_s;
}

/* ---- one file --------------------------------------------------------------------------- */

/* Remove it unless it has been written anew since it was read. */
static void remove_file(struct shared_storage *s, const struct found_file *found)
{
    struct stat now;
    struct growing_file **at = find_growing(s, found->name);
    if (*at) forget(at);
    if (fstatat(s->folder.fd, found->name, &now, AT_SYMLINK_NOFOLLOW) ||
        now.st_ino != found->info.st_ino || now.st_size != found->info.st_size ||
        now.st_mtim.tv_nsec != found->info.st_mtim.tv_nsec ||
        now.st_mtim.tv_sec != found->info.st_mtim.tv_sec)
        return;
    if (unlinkat(s->folder.fd, found->name, S_ISDIR(now.st_mode) ? AT_REMOVEDIR : 0))
        event_log_write(&s->log, found->name, "it cannot be removed: %s", strerror(errno));
}

static void refuse(struct shared_storage *s, const struct found_file *found, const char *why)
{
    event_log_write(&s->log, found->name, "%s; the file is removed", why);
    remove_file(s, found);
}

static void note_rank(struct shared_storage *s, int64_t rank)
{
    for (size_t i = 0; i < s->n_ranks; i++)
        if (s->ranks[i] == rank) return;
    if (s->n_ranks < sizeof s->ranks / sizeof *s->ranks) s->ranks[s->n_ranks++] = rank;
}

/* Can the bytes be decoded? */
static bool is_record(struct shared_storage *s, const void *body, size_t bytes, const char *name)
{
    struct arena arena = { .limit_bytes = (size_t)s->memory->share_bytes };
    struct record record;
    struct status status = record_decode(&record, &arena, body, bytes, name);
    if (!status.code && record.has_rank) note_rank(s, record.rank);
    arena_release(&arena);
    return !status.code;
}

/* Read it whole, into memory of the run. */
static struct status read_body(unsigned char **body, size_t *bytes, struct found_file *found,
                               const struct shared_storage *s)
{
    struct file file;
    TRY(file_open_read_in(&file, &s->folder, found->name,
                          (struct file_policy){ .trusted = true, .any_size = true }));
    if (fstat(file.fd, &found->info)) found->info.st_size = 0;
    *bytes = 0;
    *body = memory_allocate((size_t)found->info.st_size + 1);
    struct status status = *body ? file_read_at(bytes, &file, *body, (size_t)found->info.st_size, 0)
                                 : status_no_memory((unsigned long long)found->info.st_size);
    if (status.code) memory_release(*body);
    (void)file_close(&file);
    return status;
}

/* The sink takes the record that waits, or has no room. */
static struct status submit_pending(bool *is_full, struct shared_storage *s)
{
    bool taken;
    *is_full = false;
    if (!s->pending.body) return status_ok();
    TRY(s->sink.submit(&taken, s->sink.context, &s->pending));
    *is_full = !taken;
    if (!taken) return status_ok();
    s->pending.body = NULL;
    memory_release(s->pending_name);
    s->pending_name = NULL;
    return status_ok();
}

/* The body becomes the record that waits. */
static struct status set_pending(struct shared_storage *s, const char *name, unsigned char *body,
                                 size_t bytes)
{
    char *copy = memory_copy_string(name);
    if (!copy) return status_no_memory(0);
    s->pending_name = copy;
    s->pending = (struct judge_submission){
        .origin = { .address = copy, .sequence = s->sequence++ },
        .decode = record_decode,
        .body = body,
        .bytes = bytes,
    };
    return status_ok();
}

/* Is there memory for it? Then it is the sink's, and its file goes. */
static struct status offer(bool *is_full, struct shared_storage *s, const struct found_file *found,
                           unsigned char *body, size_t bytes)
{
    *is_full = !receive_memory_take(s->memory, s, bytes);
    receive_memory_done(s->memory, s);
    struct status status = *is_full ? status_ok() : set_pending(s, found->name, body, bytes);
    if (!*is_full && status.code) (void)receive_memory_give(s->memory, bytes);
    if (*is_full || status.code) {
        memory_release(body);
        return status;
    }
    remove_file(s, found);
    if (s->sink.arrived) TRY(s->sink.arrived(s->sink.context, &s->pending));
    return submit_pending(is_full, s);
}

/* *is_full: this one and the others have to wait. */
static struct status take_record(bool *is_full, struct shared_storage *s, struct found_file *found)
{
    unsigned char *body = NULL;
    size_t bytes = 0;
    if (!S_ISREG(found->info.st_mode)) {
        refuse(s, found, "it is no regular file");
        return status_ok();
    }
    if ((uint64_t)found->info.st_size > s->memory->share_bytes) {
        s->oversized++;
        refuse(s, found, "it is larger than the memory for records (--memory)");
        return status_ok();
    }
    if (is_unchanged(s, found)) return status_ok();
    struct status status = read_body(&body, &bytes, found, s);
    if (status.code == STATUS_NO_MEMORY) return status;
    if (status.code) {
        refuse(s, found, status.text);
        return status_ok();
    }
    bool settled = is_record(s, body, bytes, found->name);
    if (!settled) status = watch_growing(&settled, s, found);
    if (!status.code && settled) return offer(is_full, s, found, body, bytes);
    memory_release(body);
    return status;
}

/* ---- a pass ----------------------------------------------------------------------------- */

static bool begins_with(const char *name, const char *start)
{
    return !strncmp(name, start, strlen(start));
}

static bool ends_with(const char *name, const char *end)
{
    const size_t length = strlen(name), tail = strlen(end);
    return length >= tail && !strcmp(name + length - tail, end);
}

/* Count the markers of a kind, and remove them. */
static size_t take_markers(struct shared_storage *s, const struct directory_names *names,
                           const char *start)
{
    size_t count = 0;
    for (size_t i = 0; i < names->count; i++) {
        if (!begins_with(names->items[i], start) || ends_with(names->items[i], ".pt")) continue;
        if (unlinkat(s->folder.fd, names->items[i], 0)) continue;
        event_log_write(&s->log, names->items[i], "a client has %s",
                        *start == 's' ? "begun" : "ended");
        count++;
    }
    return count;
}

static int by_age(const void *a, const void *b)
{
    const struct found_file *x = a, *y = b;
    const struct timespec *s = &x->info.st_mtim, *t = &y->info.st_mtim;
    if (s->tv_sec != t->tv_sec) return s->tv_sec < t->tv_sec ? -1 : 1;
    if (s->tv_nsec != t->tv_nsec) return s->tv_nsec < t->tv_nsec ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* The records among the names, oldest first. */
static size_t find_records(struct found_file *out, const struct shared_storage *s,
                           const struct directory_names *names)
{
    size_t count = 0;
    for (size_t i = 0; i < names->count; i++) {
        struct found_file *found = &out[count];
        found->name = names->items[i];
        if (ends_with(found->name, ".pt") &&
            !fstatat(s->folder.fd, found->name, &found->info, AT_SYMLINK_NOFOLLOW))
            count++;
    }
    qsort(out, count, sizeof *out, by_age);
    return count;
}

static struct status take_records(bool *found, bool *is_full, struct shared_storage *s,
                                  const struct directory_names *names)
{
    struct found_file *files = memory_allocate_zeroed(names->count + 1, sizeof *files);
    struct status status = files ? status_ok() : status_no_memory(0);
    const size_t count = files ? find_records(files, s, names) : 0;
    const uint64_t before = s->sequence;
    for (size_t i = 0; i < count && !status.code && !*is_full; i++)
        status = take_record(is_full, s, &files[i]);
    *found = s->sequence != before;
    memory_release(files);
    return status;
}

/* Files that somebody else removed. */
static void forget_gone(struct shared_storage *s, bool complete)
{
    for (struct growing_file **at = &s->growing; *at;) {
        const bool is_gone = complete && !(*at)->is_there;
        (*at)->is_there = false;
        if (is_gone) forget(at);
        else at = &(*at)->next;
    }
}

struct status shared_storage_poll(bool *found, bool *is_full, struct shared_storage *storage)
{
    struct directory_names names;
    *found = *is_full = false;
    event_log_tick(&storage->log);
    TRY(submit_pending(is_full, storage));
    if (*is_full) return status_ok();
    TRY(directory_list(&names, storage->path, NAMES_MAX));
    const size_t starts = take_markers(storage, &names, "start");
    struct status status = take_records(found, is_full, storage, &names);
    /* Ends come behind all records, so they are looked at when no record is left waiting for room. */
    const size_t ends = status.code || *is_full ? 0 : take_markers(storage, &names, "end");
    forget_gone(storage, !*is_full);
    directory_release(&names);
    storage->starts += starts;
    storage->ends += ends;
    *found = *found || starts || ends;
    if (*found || *is_full || storage->growing) storage->changed_s = clock_seconds();
    return status;
}

bool shared_storage_is_over(const struct shared_storage *storage, double now_s)
{
    const double quiet_s = now_s - storage->changed_s;
    if (!storage->ends || storage->ends < storage->starts || storage->pending.body) return false;
    if (storage->ends < storage->n_ranks) return quiet_s >= ambiguous_s;
    return quiet_s >= (storage->ends >= storage->expected ? complete_s : incomplete_s);
}
