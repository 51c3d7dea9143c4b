/* Names in directories: made durable, given to another file, removed, and directories made. */
#include "core/file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/file_calls.h"

enum { MISSING_DIRECTORY_LIMIT = 16 };

static void parent_of(char *parent, size_t bytes, const char *path)
{
    const char *base = file_base_name(path);
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
    char parent[FILE_PATH_BYTES + 2];
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
    int result = file_call_fails(FILE_SYNC, path, NULL) ? -1 : syncfs(directory.fd);
    struct status status = result ? file_failed("sync", path) : status_ok();
    struct status closed = file_close(&directory);
    return status.code ? status : closed;
}

struct status file_rename_only(const char *from, const char *to)
{
    TRY(file_check_name(from));
    TRY(file_check_name(to));
    if (file_call_fails(FILE_RENAME, from, NULL) || rename(from, to))
        return file_failed("rename", from);
    return status_ok();
}

struct status file_rename(const char *from, const char *to)
{
    char parent[FILE_PATH_BYTES + 2], left[FILE_PATH_BYTES + 2];

    TRY(file_rename_only(from, to));
    parent_of(parent, sizeof parent, to);
    TRY(file_sync_directory(parent));
    parent_of(left, sizeof left, from);
    return strcmp(left, parent) ? file_sync_directory(left) : status_ok();
}

struct status file_remove(const char *path)
{
    if (file_call_fails(FILE_REMOVE, path, NULL) || unlink(path))
        return file_failed("remove", path);
    return status_ok();
}

struct status file_remove_directory(const char *path)
{
    if (file_call_fails(FILE_REMOVE, path, NULL) || rmdir(path)) return file_failed("remove", path);
    return status_ok();
}

static bool is_directory(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

struct status file_make_directories(const char *path)
{
    char part[FILE_PATH_BYTES + 1];
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
        if (file_call_fails(FILE_MAKE_DIRECTORY, part, NULL) || mkdir(part, 0750)) {
            int reason = errno;
            /* Another process may have made it meanwhile. */
            if (reason == EEXIST && is_directory(part)) continue;
            errno = reason;
            return file_failed("create the directory", part);
        }
    }
    return status_ok();
}
