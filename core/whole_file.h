/* Files that appear under their name when they are whole. */
#ifndef PROBE_CORE_WHOLE_FILE_H
#define PROBE_CORE_WHOLE_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/status.h"

/* Who may read a new file or directory besides its owner. */
enum file_readers { READERS_GROUP /* mode 0640 */, READERS_NONE /* mode 0600; directories 0700 */ };

/* Write a text as a file that appears when it is whole (core/new_file.h). On failure nothing is left and
 * an older file of the name stays. */
struct status whole_file_write(const char *path, const void *data, size_t bytes,
                               enum file_readers readers);

/* The same with mode 0640, and durable only when whoever writes several files has synced them (core/new_file.h). */
struct status whole_file_write_later(const char *path, const void *data, size_t bytes);

/* A directory that nobody else may enter: made with its missing parents. One that is there stays as it
 * is. */
struct status private_directory_make(const char *path);

#endif
