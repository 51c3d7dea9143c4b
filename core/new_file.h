/* A file that appears under its name when it is whole. Until then it lies beside that name as
 * "<name>.<process>.part", so that two processes which write the same file do not meet, and a process
 * that is killed leaves nothing under the name. An older file of the name is replaced.
 */
#ifndef PROBE_CORE_NEW_FILE_H
#define PROBE_CORE_NEW_FILE_H

#include "core/file.h"

struct new_file {
    char *path, *part; /* owned */
    struct file file;  /* open for writing; mode 0640 */
};
#define NEW_FILE_NONE ((struct new_file){ .file = { .fd = -1 } })

/* Start. A leftover of an earlier process with this number is replaced. */
struct status new_file_create(struct new_file *out, const char *path);

/* Make the bytes durable, close, and give the file its name; nothing is left to release. On failure
 * the part is removed. */
struct status new_file_finish(struct new_file *file);

/* The same, and durable only when whoever writes many files has synced them all (file_sync_system). */
struct status new_file_finish_later(struct new_file *file);

/* Drop what was written. */
void new_file_abandon(struct new_file *file);

/* Finish when all went well so far, abandon otherwise; the first failure is returned. */
struct status new_file_end(struct new_file *file, struct status so_far);

#endif
