/* What is common to all operations on files: the hook of tests, names, and closing. The operations themselves stand in file_open.c,
 * file_read.c, file_write.c, file_lock.c and file_names.c. */
#include "core/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/file_calls.h"
#include "core/memory.h"

int (*file_fault)(enum file_operation operation, const char *path);

bool file_call_fails(enum file_operation operation, const char *path, bool *is_short)
{
    int answer = file_fault ? file_fault(operation, path) : 0;
    if (is_short) *is_short = answer == FILE_SHORT;
    if (answer == 0 || answer == FILE_SHORT) return false;
    errno = answer;
    return true;
}

struct file_shown_name file_shown(const char *path)
{
    enum { TAIL = 180 };
    struct file_shown_name name;
    size_t length = strlen(path);

    if (length < sizeof name.text) {
        memcpy(name.text, path, length + 1);
        return name;
    }
    const char *tail = path + length - TAIL;
    while ((*tail & 0xc0) == 0x80) tail++;
    (void)snprintf(name.text, sizeof name.text, "...%s", tail);
    return name;
}

struct status file_failed(const char *what, const char *path)
{
    int reason = errno;
    char text[128];

    if (reason == ENOMEM)
        return status_error(STATUS_NO_MEMORY, "cannot %s '%s': out of memory", what,
                            file_shown(path).text);
    return status_error(STATUS_IO, "cannot %s '%s': %s", what, file_shown(path).text,
                        strerror_r(reason, text, sizeof text));
}

/* ---- names ----------------------------------------------------------------------------- */

const char *file_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

struct status file_check_name(const char *path)
{
    size_t length = strlen(path);

    if (!length) return status_error(STATUS_BAD_INPUT, "the file name is empty");
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)path[i] < 0x20 || path[i] == 0x7f)
            return status_error(STATUS_BAD_INPUT,
                                "a file name has the control character 0x%02x at byte %zu",
                                (unsigned)(unsigned char)path[i], i + 1);
    if (length > FILE_PATH_BYTES)
        return status_error(STATUS_BAD_INPUT,
                            "the path '%.80s...' has %zu bytes; at most %d are "
                            "accepted",
                            path, length, (int)FILE_PATH_BYTES);
    if (strlen(file_base_name(path)) > FILE_NAME_BYTES)
        return status_error(STATUS_BAD_INPUT,
                            "the file name '%.80s...' has %zu bytes; at most %d "
                            "are accepted",
                            file_base_name(path), strlen(file_base_name(path)),
                            (int)FILE_NAME_BYTES);
    return status_ok();
}

uint64_t file_size_limit(const char *path)
{
    static const struct {
        const char *suffix;
        uint64_t bytes;
    } limits[] = {
        { ".json", UINT64_C(10) << 30 }, { ".jsonl", UINT64_C(10) << 30 },
        { ".npy", UINT64_C(10) << 30 },  { ".pt", UINT64_C(10) << 30 },
        { ".zip", UINT64_C(10) << 30 },  { ".log", UINT64_C(10) << 30 },
        { ".db", UINT64_C(10) << 30 },   { ".csv", UINT64_C(1) << 30 },
        { ".xlsx", UINT64_C(1) << 30 },  { ".yaml", UINT64_C(1) << 30 },
        { ".ir", UINT64_C(1) << 30 },    { ".pkl", UINT64_C(1) << 30 },
    };
    const char *suffix = strrchr(file_base_name(path), '.');
    for (size_t i = 0; suffix && i < sizeof limits / sizeof *limits; i++)
        if (!strcmp(suffix, limits[i].suffix)) return limits[i].bytes;
    return UINT64_C(1) << 20;
}

bool file_exists(const char *path)
{
    struct stat info;
    return lstat(path, &info) == 0;
}

/* ---- descriptors ----------------------------------------------------------------------- */

struct status file_take(struct file *out, int fd, const char *path)
{
    char *copy = memory_copy_string(path);
    if (!copy) {
        (void)close(fd);
        return status_no_memory(strlen(path) + 1);
    }
    *out = (struct file){ .fd = fd, .path = copy };
    return status_ok();
}

int file_open_retrying(int directory, const char *name, int flags, mode_t mode)
{
    int fd;
    do {
        fd = openat(directory, name, flags, mode);
    } while (fd < 0 && errno == EINTR);
    return fd;
}

struct status file_close(struct file *file)
{
    struct status status = status_ok();

    if (file->fd >= 0) {
        /* On Linux the descriptor is gone even when close fails or is interrupted. */
        bool injected = file_call_fails(FILE_CLOSE, file->path, NULL);
        int reason = errno;
        int result = close(file->fd);
        if (injected) errno = reason;
        if (injected || (result && errno != EINTR)) status = file_failed("close", file->path);
    }
    memory_release(file->path);
    *file = FILE_NONE;
    return status;
}
