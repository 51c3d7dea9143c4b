/* Reading files: pieces, whole files, texts, mappings. */
#include "core/file.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/file_calls.h"
#include "core/memory.h"
#include "core/quantity.h"

struct status file_size(uint64_t *bytes, const struct file *file)
{
    struct stat info;
    if (file_call_fails(FILE_STAT, file->path, NULL) || fstat(file->fd, &info))
        return file_failed("examine", file->path);
    *bytes = (uint64_t)info.st_size;
    return status_ok();
}

struct status file_read_at(size_t *got, const struct file *file, void *buffer, size_t bytes,
                           uint64_t offset)
{
    size_t done = 0;

    while (done < bytes) {
        bool is_short;
        size_t wanted = bytes - done;
        if (file_call_fails(FILE_READ, file->path, &is_short)) {
            if (errno == EINTR) continue;
            return file_failed("read", file->path);
        }
        if (is_short) wanted = 1;
        ssize_t n = pread(file->fd, (char *)buffer + done, wanted, (off_t)(offset + done));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return file_failed("read", file->path);
        if (n == 0) break;
        done += (size_t)n;
    }
    *got = done;
    return status_ok();
}

struct status file_read_all(char **text, size_t *bytes, const struct file *file)
{
    uint64_t size;
    size_t got;

    TRY(file_size(&size, file));
    if (size >= file_size_limit(file->path) || size >= SIZE_MAX)
        return status_error(STATUS_BAD_INPUT, "'%s' has %s; files of this suffix have less than %s",
                            file_shown(file->path).text, quantity_bytes(size).text,
                            quantity_bytes(file_size_limit(file->path)).text);
    char *buffer = memory_allocate((size_t)size + 1);
    if (!buffer) return status_no_memory(size + 1);
    struct status status = file_read_at(&got, file, buffer, (size_t)size, 0);
    if (status.code) {
        memory_release(buffer);
        return status;
    }
    buffer[got] = '\0';
    *text = buffer;
    *bytes = got;
    return status_ok();
}

static struct status read_text(char **text, size_t *bytes, const struct file *file)
{
    uint64_t size;

    TRY(file_size(&size, file));
    if (size > FILE_TEXT_BYTES)
        return status_error(STATUS_BAD_INPUT, "'%s' has %s; a file of this use may have %s",
                            file_shown(file->path).text, quantity_bytes(size).text,
                            quantity_bytes(FILE_TEXT_BYTES).text);
    TRY(file_read_all(text, bytes, file));
    const char *nul = memchr(*text, '\0', *bytes);
    if (!nul) return status_ok();
    struct status status = status_error(STATUS_BAD_INPUT, "'%s' is no text: byte %zu is a NUL",
                                        file_shown(file->path).text, (size_t)(nul - *text));
    memory_release(*text);
    return status;
}

/* A file opened, read as a whole by one of the two, and closed. */
static struct status read_path(char **text, size_t *bytes, const char *path,
                               struct file_policy policy,
                               struct status (*read)(char **text, size_t *bytes,
                                                     const struct file *file))
{
    struct file file;
    TRY(file_open_read(&file, path, policy));
    struct status status = read(text, bytes, &file);
    struct status closed = file_close(&file);
    if (status.code) return status;
    if (closed.code) memory_release(*text);
    return closed;
}

struct status file_read_path(char **text, size_t *bytes, const char *path,
                             struct file_policy policy)
{
    return read_path(text, bytes, path, policy, file_read_all);
}

struct status file_read_text(char **text, size_t *bytes, const char *path,
                             struct file_policy policy)
{
    return read_path(text, bytes, path, policy, read_text);
}

struct status file_map(struct file_map *out, const struct file *file)
{
    uint64_t size;

    TRY(file_size(&size, file));
    if (size > PTRDIFF_MAX)
        return status_error(STATUS_BAD_INPUT, "'%s' is too large to be mapped",
                            file_shown(file->path).text);
    if (!size) {
        *out = (struct file_map){ .data = "", .bytes = 0 };
        return status_ok();
    }
    void *data = file_call_fails(FILE_MAP, file->path, NULL)
                     ? MAP_FAILED
                     : mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, file->fd, 0);
    if (data == MAP_FAILED) return file_failed("map", file->path);
    *out = (struct file_map){ .data = data, .bytes = (size_t)size };
    return status_ok();
}

void file_unmap(struct file_map *map)
{
    if (map->bytes) (void)munmap((void *)(uintptr_t)map->data, map->bytes);
    *map = (struct file_map){ 0 };
}

void file_map_forget(const struct file_map *map, size_t from, size_t to)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    from = (from + page - 1) / page * page;
    to = to == map->bytes ? to : to / page * page;
    if (!map->bytes || from >= to || to > map->bytes) return;
    (void)madvise((void *)((uintptr_t)map->data + from), to - from, MADV_DONTNEED);
}
