/* Writing files: made anew, written to their end or at a place, cut, and made durable. */
#include "core/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/file_calls.h"
#include "core/memory.h"

enum { COPY_BYTES = 1 << 18 };

struct status file_create(struct file *out, const char *path)
{
    *out = FILE_NONE;
    TRY(file_check_name(path));
    int fd = file_call_fails(FILE_CREATE, path, NULL)
                 ? -1
                 : file_open_retrying(AT_FDCWD, path,
                                      O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0640);
    if (fd < 0 && errno == EEXIST)
        return status_error(STATUS_BAD_ARGUMENT, "'%s' exists already", file_shown(path).text);
    if (fd < 0) return file_failed("create", path);
    struct status status = file_take(out, fd, path);
    if (status.code) (void)unlink(path); /* closed, empty, and nobody would know of it */
    return status;
}

struct status file_open_direct(struct file *out, const char *path)
{
    *out = FILE_NONE;
    int fd =
        file_call_fails(FILE_OPEN, path, NULL)
            ? -1
            : file_open_retrying(AT_FDCWD, path, O_WRONLY | O_DIRECT | O_NOFOLLOW | O_CLOEXEC, 0);
    return fd < 0 ? file_failed("open", path) : file_take(out, fd, path);
}

bool file_already_exists(struct status status) { return status.code == STATUS_BAD_ARGUMENT; }

/* To the end of what was written, or at a place. */
static struct status write_fully(const struct file *file, const void *data, size_t bytes,
                                 const uint64_t *place)
{
    const char *from = data;
    uint64_t at = place ? *place : 0;

    while (bytes) {
        bool is_short;
        size_t wanted = bytes;
        if (file_call_fails(FILE_WRITE, file->path, &is_short)) {
            if (errno == EINTR) continue;
            return file_failed("write", file->path);
        }
        if (is_short) wanted = 1;
        ssize_t n = place ? pwrite(file->fd, from, wanted, (off_t)at)
                          : write(file->fd, from, wanted);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return file_failed("write", file->path);
        from += n;
        at += (uint64_t)n;
        bytes -= (size_t)n;
    }
    return status_ok();
}

struct status file_write_all(const struct file *file, const void *data, size_t bytes)
{
    return write_fully(file, data, bytes, NULL);
}

struct status file_write_at(const struct file *file, const void *data, size_t bytes,
                            uint64_t offset)
{
    return write_fully(file, data, bytes, &offset);
}

void file_begin_sync(const struct file *file)
{
    (void)sync_file_range(file->fd, 0, 0, SYNC_FILE_RANGE_WRITE);
}

struct status file_append_from(const struct file *to, const struct file *from, uint64_t offset)
{
    char *buffer = memory_allocate(COPY_BYTES);
    struct status status = buffer ? status_ok() : status_no_memory(COPY_BYTES);
    for (size_t got = COPY_BYTES; !status.code && got == COPY_BYTES; offset += got) {
        status = file_read_at(&got, from, buffer, COPY_BYTES, offset);
        if (!status.code) status = file_write_all(to, buffer, got);
    }
    memory_release(buffer);
    return status;
}

struct status file_sync(const struct file *file)
{
    if (file_call_fails(FILE_SYNC, file->path, NULL) || fsync(file->fd))
        return file_failed("sync", file->path);
    return status_ok();
}

struct status file_truncate(const struct file *file, uint64_t bytes)
{
    if (bytes > INT64_MAX)
        return status_error(STATUS_IO, "cannot resize '%s' to %llu bytes",
                            file_shown(file->path).text, (unsigned long long)bytes);
    if (file_call_fails(FILE_TRUNCATE, file->path, NULL) || ftruncate(file->fd, (off_t)bytes))
        return file_failed("resize", file->path);
    if (lseek(file->fd, (off_t)bytes, SEEK_SET) < 0) return file_failed("resize", file->path);
    return status_ok();
}
