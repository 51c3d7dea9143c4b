/* Writing beside the wanted name, and renaming at the end. */
#include "core/new_file.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/memory.h"

static void release(struct new_file *file)
{
    memory_release(file->path);
    memory_release(file->part);
    *file = NEW_FILE_NONE;
}

static struct status create_part(struct new_file *file)
{
    if (file_exists(file->part)) TRY(file_remove(file->part));
    return file_create(&file->file, file->part);
}

struct status new_file_create(struct new_file *out, const char *path)
{
    size_t bytes = strlen(path) + sizeof ".18446744073709551615.part";
    *out = NEW_FILE_NONE;
    out->path = memory_copy_string(path);
    out->part = memory_allocate(bytes);
    struct status status = out->path && out->part ? status_ok() : status_no_memory(bytes);
    if (!status.code) {
        (void)snprintf(out->part, bytes, "%s.%ld.part", path, (long)getpid());
        status = create_part(out);
    }
    if (status.code) release(out);
    return status;
}

static struct status finish(struct new_file *file, struct status status,
                            struct status (*rename_part)(const char *from, const char *to))
{
    struct status closed = file_close(&file->file);
    if (!status.code) status = closed;
    if (!status.code) status = rename_part(file->part, file->path);
    if (status.code && file_exists(file->part)) (void)file_remove(file->part);
    release(file);
    return status;
}

struct status new_file_finish(struct new_file *file)
{
    return finish(file, file_sync(&file->file), file_rename);
}

struct status new_file_finish_later(struct new_file *file)
{
    return finish(file, status_ok(), file_rename_only);
}

void new_file_abandon(struct new_file *file)
{
    if (!file->part) return;
    (void)file_close(&file->file);
    if (file_exists(file->part)) (void)file_remove(file->part);
    release(file);
}

struct status new_file_end(struct new_file *file, struct status so_far)
{
    if (!so_far.code) return new_file_finish(file);
    new_file_abandon(file);
    return so_far;
}
