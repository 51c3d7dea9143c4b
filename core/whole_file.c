/* Whole texts and directories that others may not read. */
#include "core/whole_file.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "core/file.h"
#include "core/new_file.h"

static struct status restrict_mode(const char *path, mode_t mode)
{
    if (!chmod(path, mode)) return status_ok();
    return status_error(STATUS_IO, "cannot change the permissions of '%s': %s",
                        file_shown(path).text, strerror(errno)); /* NOLINT(concurrency-mt-unsafe) */
}

struct status whole_file_write(const char *path, const void *data, size_t bytes,
                               enum file_readers readers)
{
    struct new_file file;
    TRY(new_file_create(&file, path));
    struct status status = readers == READERS_NONE ? restrict_mode(file.part, 0600) : status_ok();
    if (!status.code) status = file_write_all(&file.file, data, bytes);
    return new_file_end(&file, status);
}

struct status whole_file_write_later(const char *path, const void *data, size_t bytes)
{
    struct new_file file;
    TRY(new_file_create(&file, path));
    struct status status = file_write_all(&file.file, data, bytes);
    if (!status.code) return new_file_finish_later(&file);
    new_file_abandon(&file);
    return status;
}

struct status private_directory_make(const char *path)
{
    struct stat info;
    bool is_there = stat(path, &info) == 0;
    TRY(file_make_directories(path));
    return is_there ? status_ok() : restrict_mode(path, 0700);
}
