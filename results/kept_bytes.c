/* Cutting files back: in place where the kept bytes are the start of the file, which is every file
 * of our own, and by way of a copy for files whose rows stand in any order. */
#include "results/kept_bytes.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/growing.h"
#include "core/memory.h"

struct status kept_bytes_add(struct kept_bytes *kept, uint64_t begin, uint64_t end)
{
    if (kept->count && kept->items[kept->count - 1].end == begin) {
        kept->items[kept->count - 1].end = end;
        return status_ok();
    }
    TRY(array_make_room(&kept->items, &kept->capacity, kept->count, sizeof *kept->items));
    kept->items[kept->count++] = (struct byte_range){ begin, end };
    return status_ok();
}

void kept_bytes_release(struct kept_bytes *kept)
{
    memory_release(kept->items);
    *kept = (struct kept_bytes){ .items = NULL };
}

static struct status copy_range(const struct file *to, const struct file *from,
                                struct byte_range range)
{
    enum { CHUNK = 1 << 20 };
    char *buffer = memory_allocate(CHUNK);
    struct status status = buffer ? status_ok() : status_no_memory(CHUNK);
    while (!status.code && range.begin < range.end) {
        uint64_t left = range.end - range.begin;
        size_t got = 0;
        status = file_read_at(&got, from, buffer, left < CHUNK ? (size_t)left : CHUNK, range.begin);
        if (!status.code && !got)
            status = status_error(STATUS_IO, "%s became shorter while it was read", from->path);
        if (!status.code) status = file_write_all(to, buffer, got);
        range.begin += got;
    }
    memory_release(buffer);
    return status;
}

/* A copy with the kept bytes only, put in the place of the file by one rename. */
static struct status write_kept(struct file *copy, const struct file *file, const char *part,
                                const struct kept_bytes *kept)
{
    if (file_exists(part)) TRY(file_remove(part));
    TRY(file_create(copy, part));
    TRY(file_lock(copy));
    for (size_t i = 0; i < kept->count; i++) TRY(copy_range(copy, file, kept->items[i]));
    TRY(file_sync(copy));
    return file_rename(part, file->path);
}

static struct status rewrite(struct file *file, struct file *replaced,
                             const struct kept_bytes *kept)
{
    size_t bytes = strlen(file->path) + sizeof ".part";
    char *part = memory_allocate(bytes), *path = memory_copy_string(file->path);
    struct file copy = FILE_NONE;
    struct status status = part && path ? status_ok() : status_no_memory(bytes);
    if (!status.code) {
        (void)snprintf(part, bytes, "%s.part", file->path);
        status = write_kept(&copy, file, part, kept);
    }
    if (status.code) {
        (void)file_close(&copy);
        if (part && file_exists(part)) (void)file_remove(part);
        memory_release(path);
    } else {
        *replaced = *file;
        *file = copy;
        memory_release(file->path);
        file->path = path;
    }
    memory_release(part);
    return status;
}

struct status kept_bytes_cut(struct file *file, struct file *replaced, uint64_t *cut_bytes,
                             const struct kept_bytes *kept)
{
    uint64_t size, stays = 0;
    TRY(file_size(&size, file));
    for (size_t i = 0; i < kept->count; i++) stays += kept->items[i].end - kept->items[i].begin;
    *cut_bytes += size - stays;
    if (size == stays) return status_ok();
    assert(!kept->count || !kept->items[0].begin); /* the header comes first */
    if (kept->count > 1) return rewrite(file, replaced, kept);
    return file_truncate(file, stays);
}
