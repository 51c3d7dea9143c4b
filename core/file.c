/* Every system call on files, behind the checks of file.h and the hook of tests. */
#include "core/file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/checked.h"
#include "core/memory.h"
#include "core/quantity.h"

enum { PATH_LIMIT = 4096, NAME_LIMIT = 255, MISSING_DIRECTORY_LIMIT = 16, COPY_BYTES = 1 << 18 };

int (*file_fault)(enum file_operation operation, const char *path);

/* Ask the hook; true with errno set when the operation shall fail. */
static bool fault(enum file_operation operation, const char *path, bool *is_short)
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

static struct status failed(const char *what, const char *path)
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

static const char *base_name(const char *path)
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
    if (length > PATH_LIMIT)
        return status_error(STATUS_BAD_INPUT,
                            "the path '%.80s...' has %zu bytes; at most %d are "
                            "accepted",
                            path, length, (int)PATH_LIMIT);
    if (strlen(base_name(path)) > NAME_LIMIT)
        return status_error(STATUS_BAD_INPUT,
                            "the file name '%.80s...' has %zu bytes; at most %d "
                            "are accepted",
                            base_name(path), strlen(base_name(path)), (int)NAME_LIMIT);
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
    const char *suffix = strrchr(base_name(path), '.');
    for (size_t i = 0; suffix && i < sizeof limits / sizeof *limits; i++)
        if (!strcmp(suffix, limits[i].suffix)) return limits[i].bytes;
    return UINT64_C(1) << 20;
}

bool file_exists(const char *path)
{
    struct stat info;
    return lstat(path, &info) == 0;
}

/* ---- opening --------------------------------------------------------------------------- */

/* Hand `fd` over to a struct file. */
static struct status file_take(struct file *out, int fd, const char *path)
{
    char *copy = memory_copy_string(path);
    if (!copy) {
        (void)close(fd);
        return status_no_memory(strlen(path) + 1);
    }
    *out = (struct file){ .fd = fd, .path = copy };
    return status_ok();
}

static struct status check_type(const struct stat *info, const char *path)
{
    if (S_ISREG(info->st_mode)) return status_ok();
    const char *kind = S_ISDIR(info->st_mode)    ? "a directory"
                       : S_ISFIFO(info->st_mode) ? "a FIFO"
                       : S_ISSOCK(info->st_mode) ? "a socket"
                                                 : "a device";
    return status_error(STATUS_BAD_INPUT, "'%s' is %s; a regular file is needed",
                        file_shown(path).text, kind);
}

static struct status check_owner(const struct stat *info, const char *path)
{
    uid_t caller = geteuid();
    if (caller == 0 || info->st_uid == caller || info->st_uid == 0) return status_ok();
    return status_error(STATUS_BAD_INPUT,
                        "'%s' belongs to another user (uid %u); use --trust-files to read it",
                        file_shown(path).text, (unsigned)info->st_uid);
}

static struct status check_size(const struct stat *info, const char *path)
{
    uint64_t limit = file_size_limit(path);
    if ((uint64_t)info->st_size < limit) return status_ok();
    return status_error(STATUS_BAD_INPUT,
                        "'%s' has %s; files of this suffix have less than %s (use "
                        "--trust-files to read it)",
                        file_shown(path).text, quantity_bytes((uint64_t)info->st_size).text,
                        quantity_bytes(limit).text);
}

static struct status check_permissions(const struct stat *info, const char *path)
{
    if (!(info->st_mode & S_IWOTH)) return status_ok();
    /* In a sticky directory (/tmp) others can add files but not replace this one. */
    if (S_ISDIR(info->st_mode) && (info->st_mode & S_ISVTX)) return status_ok();
    return status_error(STATUS_BAD_INPUT,
                        "'%s' can be written by every user; take that away (chmod o-w) or use "
                        "--trust-files",
                        file_shown(path).text);
}

/* The directory in which the file lies: who can write there can replace the file. */
static struct status check_parent(const char *path)
{
    char parent[PATH_LIMIT + 2];
    const char *base = base_name(path);
    size_t length = (size_t)(base - path);
    struct stat info;

    assert(length <= PATH_LIMIT);
    if (length) (void)snprintf(parent, sizeof parent, "%.*s", (int)length, path);
    else (void)snprintf(parent, sizeof parent, ".");
    if (fault(FILE_STAT, parent, NULL) || stat(parent, &info)) return failed("examine", parent);
    return check_permissions(&info, parent);
}

/* open, again after a signal. */
static int open_retrying(int directory, const char *name, int flags, mode_t mode)
{
    int fd;
    do {
        fd = openat(directory, name, flags, mode);
    } while (fd < 0 && errno == EINTR);
    return fd;
}

/* Open a regular file that passes the checks. `name` is looked up in `directory`, `path` is
 * what messages say. The type is checked before the open, because opening a device can have
 * effects, and the rest after it, on the very file that was opened. */
static struct status open_checked(struct file *out, int directory, const char *name,
                                  const char *path, int flags, bool follow,
                                  struct file_policy policy)
{
    struct stat before, info;
    struct status status;
    int no_follow = follow ? 0 : AT_SYMLINK_NOFOLLOW;

    *out = FILE_NONE;
    if (fault(FILE_STAT, path, NULL) || fstatat(directory, name, &before, no_follow)) {
        if (errno == ENOENT || errno == ENOTDIR)
            return status_error(STATUS_BAD_INPUT, "'%s' does not exist", file_shown(path).text);
        return failed("examine", path);
    }
    if (S_ISLNK(before.st_mode))
        return status_error(STATUS_BAD_INPUT, "'%s' is a symbolic link; name the file itself%s",
                            file_shown(path).text,
                            directory == AT_FDCWD ? " or use --trust-files" : "");
    TRY(check_type(&before, path));
    int fd = fault(FILE_OPEN, path, NULL)
                 ? -1
                 : open_retrying(
                       directory, name,
                       flags | O_NONBLOCK | O_CLOEXEC | O_NOCTTY | (follow ? 0 : O_NOFOLLOW), 0);
    if (fd < 0) return failed("open", path);
    if (fault(FILE_STAT, path, NULL) || fstat(fd, &info)) {
        status = failed("examine", path);
    } else {
        status = check_type(&info, path);
        if (!status.code && !policy.trusted) status = check_owner(&info, path);
        if (!status.code && !policy.trusted) status = check_permissions(&info, path);
        if (!status.code && !policy.trusted && !policy.any_size) status = check_size(&info, path);
    }
    if (status.code) {
        (void)close(fd);
        return status;
    }
    return file_take(out, fd, path);
}

struct status file_open_read(struct file *out, const char *path, struct file_policy policy)
{
    *out = FILE_NONE;
    TRY(file_check_name(path));
    if (!policy.trusted && file_exists(path)) TRY(check_parent(path));
    return open_checked(out, AT_FDCWD, path, path, O_RDONLY, policy.trusted, policy);
}

struct status file_open_append(struct file *out, const char *path, struct file_policy policy)
{
    *out = FILE_NONE;
    TRY(file_check_name(path));
    if (!policy.trusted && file_exists(path)) TRY(check_parent(path));
    policy.any_size = true;
    return open_checked(out, AT_FDCWD, path, path, O_RDWR | O_APPEND, policy.trusted, policy);
}

struct status file_open_directory(struct file *out, const char *path, struct file_policy policy)
{
    struct stat info;
    struct status status = status_ok();

    *out = FILE_NONE;
    TRY(file_check_name(path));
    int fd = fault(FILE_OPEN, path, NULL)
                 ? -1
                 : open_retrying(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (fd < 0) {
        if (errno == ENOENT)
            return status_error(STATUS_BAD_INPUT, "the directory '%s' does not exist",
                                file_shown(path).text);
        if (errno == ENOTDIR)
            return status_error(STATUS_BAD_INPUT, "'%s' is not a directory", file_shown(path).text);
        return failed("open", path);
    }
    if (fault(FILE_STAT, path, NULL) || fstat(fd, &info)) status = failed("examine", path);
    if (!status.code && !policy.trusted) status = check_owner(&info, path);
    if (!status.code && !policy.trusted) status = check_permissions(&info, path);
    if (status.code) {
        (void)close(fd);
        return status;
    }
    return file_take(out, fd, path);
}

/* Step into the sub-directories of `name`. *last is the base name, *place the directory
 * that holds it: a new descriptor, or -1 when it is `directory` itself. */
static struct status descend(int *place, const char **last, const struct file *directory,
                             const char *name)
{
    char part[NAME_LIMIT + 1];

    *place = -1;
    for (const char *slash; (slash = strchr(name, '/')); name = slash + 1) {
        size_t length = (size_t)(slash - name);
        if (!length) continue;
        if (length > NAME_LIMIT) {
            if (*place >= 0) (void)close(*place);
            return status_error(STATUS_BAD_INPUT, "a part of the file name is longer than %d bytes",
                                (int)NAME_LIMIT);
        }
        (void)snprintf(part, sizeof part, "%.*s", (int)length, name);
        int from = *place >= 0 ? *place : directory->fd;
        int fd =
            fault(FILE_OPEN, part, NULL)
                ? -1
                : open_retrying(from, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
        int reason = errno;
        if (*place >= 0) (void)close(*place);
        *place = fd;
        errno = reason;
        if (fd < 0 && (reason == ENOENT || reason == ENOTDIR || reason == ELOOP))
            return status_error(STATUS_BAD_INPUT,
                                "'%s' in '%s' is not a directory (links are not followed)", part,
                                file_shown(directory->path).text);
        if (fd < 0) return failed("open", part);
    }
    *last = name;
    return status_ok();
}

/* "..", as one of the parts of a name. */
static bool climbs(const char *name)
{
    for (const char *part = name; part; part = strchr(part, '/')) {
        part += *part == '/';
        if (part[0] == '.' && part[1] == '.' && (part[2] == '/' || !part[2])) return true;
    }
    return false;
}

struct status file_open_read_in(struct file *out, const struct file *directory, const char *name,
                                struct file_policy policy)
{
    char path[2 * PATH_LIMIT + 2];
    const char *last = name;
    int place;

    *out = FILE_NONE;
    TRY(file_check_name(name));
    if (name[0] == '/' || climbs(name))
        return status_error(STATUS_BAD_INPUT, "the file name '%s' leaves the directory '%s'",
                            file_shown(name).text, file_shown(directory->path).text);
    (void)snprintf(path, sizeof path, "%s/%s", directory->path, name);
    TRY(descend(&place, &last, directory, name));
    struct status status =
        open_checked(out, place >= 0 ? place : directory->fd, last, path, O_RDONLY, false, policy);
    if (place >= 0) (void)close(place);
    return status;
}

/* ---- reading --------------------------------------------------------------------------- */

struct status file_size(uint64_t *bytes, const struct file *file)
{
    struct stat info;
    if (fault(FILE_STAT, file->path, NULL) || fstat(file->fd, &info))
        return failed("examine", file->path);
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
        if (fault(FILE_READ, file->path, &is_short)) {
            if (errno == EINTR) continue;
            return failed("read", file->path);
        }
        if (is_short) wanted = 1;
        ssize_t n = pread(file->fd, (char *)buffer + done, wanted, (off_t)(offset + done));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return failed("read", file->path);
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

struct status file_read_path(char **text, size_t *bytes, const char *path,
                             struct file_policy policy)
{
    struct file file;
    TRY(file_open_read(&file, path, policy));
    struct status status = file_read_all(text, bytes, &file);
    struct status closed = file_close(&file);
    if (status.code) return status;
    if (closed.code) memory_release(*text);
    return closed;
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

struct status file_read_text(char **text, size_t *bytes, const char *path,
                             struct file_policy policy)
{
    struct file file;
    TRY(file_open_read(&file, path, policy));
    struct status status = read_text(text, bytes, &file);
    struct status closed = file_close(&file);
    if (status.code) return status;
    if (closed.code) memory_release(*text);
    return closed;
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
    void *data = fault(FILE_MAP, file->path, NULL)
                     ? MAP_FAILED
                     : mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, file->fd, 0);
    if (data == MAP_FAILED) return failed("map", file->path);
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

/* ---- writing --------------------------------------------------------------------------- */

struct status file_create(struct file *out, const char *path)
{
    *out = FILE_NONE;
    TRY(file_check_name(path));
    int fd = fault(FILE_CREATE, path, NULL)
                 ? -1
                 : open_retrying(AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                                 0640);
    if (fd < 0 && errno == EEXIST)
        return status_error(STATUS_BAD_ARGUMENT, "'%s' exists already", file_shown(path).text);
    if (fd < 0) return failed("create", path);
    struct status status = file_take(out, fd, path);
    if (status.code) (void)unlink(path); /* closed, empty, and nobody would know of it */
    return status;
}

struct status file_open_direct(struct file *out, const char *path)
{
    *out = FILE_NONE;
    int fd = fault(FILE_OPEN, path, NULL)
                 ? -1
                 : open_retrying(AT_FDCWD, path, O_WRONLY | O_DIRECT | O_NOFOLLOW | O_CLOEXEC, 0);
    return fd < 0 ? failed("open", path) : file_take(out, fd, path);
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
        if (fault(FILE_WRITE, file->path, &is_short)) {
            if (errno == EINTR) continue;
            return failed("write", file->path);
        }
        if (is_short) wanted = 1;
        ssize_t n = place ? pwrite(file->fd, from, wanted, (off_t)at)
                          : write(file->fd, from, wanted);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return failed("write", file->path);
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
    if (fault(FILE_SYNC, file->path, NULL) || fsync(file->fd)) return failed("sync", file->path);
    return status_ok();
}

struct status file_truncate(const struct file *file, uint64_t bytes)
{
    if (bytes > INT64_MAX)
        return status_error(STATUS_IO, "cannot resize '%s' to %llu bytes",
                            file_shown(file->path).text, (unsigned long long)bytes);
    if (fault(FILE_TRUNCATE, file->path, NULL) || ftruncate(file->fd, (off_t)bytes))
        return failed("resize", file->path);
    if (lseek(file->fd, (off_t)bytes, SEEK_SET) < 0) return failed("resize", file->path);
    return status_ok();
}

struct status file_close(struct file *file)
{
    struct status status = status_ok();

    if (file->fd >= 0) {
        /* On Linux the descriptor is gone even when close fails or is interrupted. */
        bool injected = fault(FILE_CLOSE, file->path, NULL);
        int reason = errno;
        int result = close(file->fd);
        if (injected) errno = reason;
        if (injected || (result && errno != EINTR)) status = failed("close", file->path);
    }
    memory_release(file->path);
    *file = FILE_NONE;
    return status;
}

static bool lock(const struct file *file, int how)
{
    int result;

    do {
        result = fault(FILE_LOCK, file->path, NULL) ? -1 : flock(file->fd, how | LOCK_NB);
    } while (result && errno == EINTR);
    return !result;
}

/* Not every file system has locks (NFS as some mount it): there nobody holds one, and nobody is kept away. */
static bool has_no_locks(void) { return errno == ENOLCK || errno == EOPNOTSUPP; }

struct status file_lock_shared(const struct file *file)
{
    if (lock(file, LOCK_SH) || has_no_locks()) return status_ok();
    if (errno == EWOULDBLOCK)
        return status_error(STATUS_BAD_INPUT, "'%s' is being written by another process",
                            file_shown(file->path).text);
    return failed("lock", file->path);
}

void file_unlock(const struct file *file)
{
    (void)lock(file, LOCK_UN); /* closing does it otherwise */
}

struct status file_lock(const struct file *file)
{
    if (lock(file, LOCK_EX) || has_no_locks()) return status_ok();
    if (errno == EWOULDBLOCK)
        return status_error(STATUS_BAD_ARGUMENT,
                            "'%s' is in use by another run; wait for it or choose another output "
                            "directory",
                            file_shown(file->path).text);
    return failed("lock", file->path);
}

bool file_is_locked(struct status status) { return status.code == STATUS_BAD_ARGUMENT; }

static void parent_of(char *parent, size_t bytes, const char *path)
{
    const char *base = base_name(path);
    if (base == path) (void)snprintf(parent, bytes, ".");
    else (void)snprintf(parent, bytes, "%.*s", (int)(base - path), path);
}

struct status file_sync_directory(const char *path)
{
    struct file directory;
    TRY(file_open_directory(&directory, path, FILES_TRUSTED));
    struct status status = file_sync(&directory);
    struct status closed = file_close(&directory);
    return status.code ? status : closed;
}

struct status file_sync_named(const char *path)
{
    struct file file;
    char parent[PATH_LIMIT + 2];
    TRY(file_open_read(&file, path, FILES_TRUSTED));
    struct status status = file_sync(&file);
    struct status closed = file_close(&file);
    if (status.code) return status;
    TRY(closed);
    parent_of(parent, sizeof parent, path);
    return file_sync_directory(parent);
}

struct status file_sync_system(const char *path)
{
    struct file directory;
    TRY(file_open_directory(&directory, path, FILES_TRUSTED));
    int result = fault(FILE_SYNC, path, NULL) ? -1 : syncfs(directory.fd);
    struct status status = result ? failed("sync", path) : status_ok();
    struct status closed = file_close(&directory);
    return status.code ? status : closed;
}

struct status file_rename_only(const char *from, const char *to)
{
    TRY(file_check_name(from));
    TRY(file_check_name(to));
    if (fault(FILE_RENAME, from, NULL) || rename(from, to)) return failed("rename", from);
    return status_ok();
}

struct status file_rename(const char *from, const char *to)
{
    char parent[PATH_LIMIT + 2], left[PATH_LIMIT + 2];

    TRY(file_rename_only(from, to));
    parent_of(parent, sizeof parent, to);
    TRY(file_sync_directory(parent));
    parent_of(left, sizeof left, from);
    return strcmp(left, parent) ? file_sync_directory(left) : status_ok();
}

struct status file_remove(const char *path)
{
    if (fault(FILE_REMOVE, path, NULL) || unlink(path)) return failed("remove", path);
    return status_ok();
}

struct status file_remove_directory(const char *path)
{
    if (fault(FILE_REMOVE, path, NULL) || rmdir(path)) return failed("remove", path);
    return status_ok();
}

static bool is_directory(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

struct status file_make_directories(const char *path)
{
    char part[PATH_LIMIT + 1];
    int made = 0;

    TRY(file_check_name(path));
    size_t length = strlen(path);
    for (size_t end = 1; end <= length; end++) {
        if (path[end] != '/' && path[end]) continue;
        memcpy(part, path, end);
        part[end] = '\0';
        if (is_directory(part)) continue;
        if (++made > MISSING_DIRECTORY_LIMIT)
            return status_error(STATUS_BAD_INPUT, "'%s' needs more than %d new directories",
                                file_shown(path).text, (int)MISSING_DIRECTORY_LIMIT);
        if (fault(FILE_MAKE_DIRECTORY, part, NULL) || mkdir(part, 0750)) {
            int reason = errno;
            /* Another process may have made it meanwhile. */
            if (reason == EEXIST && is_directory(part)) continue;
            errno = reason;
            return failed("create the directory", part);
        }
    }
    return status_ok();
}
