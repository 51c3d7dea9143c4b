/* What the sources behind core/file.h share: the hook before a system call, and what its failure is called. */
#ifndef PROBE_CORE_FILE_CALLS_H
#define PROBE_CORE_FILE_CALLS_H

#include <stdbool.h>

#include "core/file.h"

enum {
    FILE_PATH_BYTES = 4096,
    FILE_NAME_BYTES = 255
}; /* accepted, of a path and of its base name */

/* Ask the hook; true with errno set when the operation shall fail. */
bool file_call_fails(enum file_operation operation, const char *path, bool *is_short);

/* "cannot WHAT 'PATH': ", and why, by errno. */
struct status file_failed(const char *what, const char *path);

/* What stands behind the last slash. */
const char *file_base_name(const char *path);

/* Hand `fd` over to a struct file. */
struct status file_take(struct file *out, int fd, const char *path);

/* openat, again after a signal. */
int file_open_retrying(int directory, const char *name, int flags, mode_t mode);

#endif
