/* Locks of files, which nobody waits for. */
#include "core/file.h"

#include <errno.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "core/file_calls.h"

static bool lock(const struct file *file, int how)
{
    int result;

    do {
        result = file_call_fails(FILE_LOCK, file->path, NULL) ? -1 : flock(file->fd, how | LOCK_NB);
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
    return file_failed("lock", file->path);
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
    return file_failed("lock", file->path);
}

bool file_is_locked(struct status status) { return status.code == STATUS_BAD_ARGUMENT; }
