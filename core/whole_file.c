#include "core/whole_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/file.h"
#include "core/memory.h"

static struct status restrict_mode(const char *path, mode_t mode)
{
    if (!chmod(path, mode)) return status_ok();
    return status_error(STATUS_IO, "cannot change the permissions of '%s': %s",
                        file_shown(path).text, strerror(errno)); /* NOLINT(concurrency-mt-unsafe) */
}

static struct status write_part(const char *path, const void *data, size_t bytes,
                                enum file_readers readers)
{
    struct file file = FILE_NONE;

    /* What a process of this number left behind when it was killed. */
    if (file_exists(path)) TRY(file_remove(path));
    TRY(file_create(&file, path));
    struct status status = readers == READERS_NONE ? restrict_mode(path, 0600) : status_ok();
    if (!status.code) status = file_write_all(&file, data, bytes);
    if (!status.code) status = file_sync(&file);
    struct status closed = file_close(&file);
    return status.code ? status : closed;
}

struct status whole_file_write(const char *path, const void *data, size_t bytes,
                               enum file_readers readers)
{
    size_t room = strlen(path) + sizeof ".12345678901234567890.part";
    char *part = memory_allocate(room);

    if (!part) return status_no_memory(room);
    (void)snprintf(part, room, "%s.%ld.part", path, (long)getpid());
    struct status status = write_part(part, data, bytes, readers);
    if (!status.code) status = file_rename(part, path);
    if (status.code && file_exists(part)) (void)file_remove(part);
    memory_release(part);
    return status;
}

struct status private_directory_make(const char *path)
{
    struct stat info;
    bool is_there = stat(path, &info) == 0;
    TRY(file_make_directories(path));
    return is_there ? status_ok() : restrict_mode(path, 0700);
}
