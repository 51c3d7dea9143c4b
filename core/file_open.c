/* Opening files to be read, and directories, behind the checks that file.h describes. */
#include "core/file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/file_calls.h"
#include "core/quantity.h"

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
    char parent[FILE_PATH_BYTES + 2];
    const char *base = file_base_name(path);
    size_t length = (size_t)(base - path);
    struct stat info;

    assert(length <= FILE_PATH_BYTES);
    if (length) (void)snprintf(parent, sizeof parent, "%.*s", (int)length, path);
    else (void)snprintf(parent, sizeof parent, ".");
    if (file_call_fails(FILE_STAT, parent, NULL) || stat(parent, &info))
        return file_failed("examine", parent);
    return check_permissions(&info, parent);
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
    if (file_call_fails(FILE_STAT, path, NULL) || fstatat(directory, name, &before, no_follow)) {
        if (errno == ENOENT || errno == ENOTDIR)
            return status_error(STATUS_BAD_INPUT, "'%s' does not exist", file_shown(path).text);
        return file_failed("examine", path);
    }
    if (S_ISLNK(before.st_mode))
        return status_error(STATUS_BAD_INPUT, "'%s' is a symbolic link; name the file itself%s",
                            file_shown(path).text,
                            directory == AT_FDCWD ? " or use --trust-files" : "");
    TRY(check_type(&before, path));
    int fd = file_call_fails(FILE_OPEN, path, NULL)
                 ? -1
                 : file_open_retrying(
                       directory, name,
                       flags | O_NONBLOCK | O_CLOEXEC | O_NOCTTY | (follow ? 0 : O_NOFOLLOW), 0);
    if (fd < 0) return file_failed("open", path);
    if (file_call_fails(FILE_STAT, path, NULL) || fstat(fd, &info)) {
        status = file_failed("examine", path);
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
    int fd = file_call_fails(FILE_OPEN, path, NULL)
                 ? -1
                 : file_open_retrying(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (fd < 0) {
        if (errno == ENOENT)
            return status_error(STATUS_BAD_INPUT, "the directory '%s' does not exist",
                                file_shown(path).text);
        if (errno == ENOTDIR)
            return status_error(STATUS_BAD_INPUT, "'%s' is not a directory", file_shown(path).text);
        return file_failed("open", path);
    }
    if (file_call_fails(FILE_STAT, path, NULL) || fstat(fd, &info))
        status = file_failed("examine", path);
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
    char part[FILE_NAME_BYTES + 1];

    *place = -1;
    for (const char *slash; (slash = strchr(name, '/')); name = slash + 1) {
        size_t length = (size_t)(slash - name);
        if (!length) continue;
        if (length > FILE_NAME_BYTES) {
            if (*place >= 0) (void)close(*place);
            return status_error(STATUS_BAD_INPUT, "a part of the file name is longer than %d bytes",
                                (int)FILE_NAME_BYTES);
        }
        (void)snprintf(part, sizeof part, "%.*s", (int)length, name);
        int from = *place >= 0 ? *place : directory->fd;
        int fd = file_call_fails(FILE_OPEN, part, NULL)
                     ? -1
                     : file_open_retrying(from, part,
                                          O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
        int reason = errno;
        if (*place >= 0) (void)close(*place);
        *place = fd;
        errno = reason;
        if (fd < 0 && (reason == ENOENT || reason == ENOTDIR || reason == ELOOP))
            return status_error(STATUS_BAD_INPUT,
                                "'%s' in '%s' is not a directory (links are not followed)", part,
                                file_shown(directory->path).text);
        if (fd < 0) return file_failed("open", part);
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
    char path[2 * FILE_PATH_BYTES + 2];
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
