/* Files that appear under their name when they are whole. */
#ifndef PROBE_CORE_WHOLE_FILE_H
#define PROBE_CORE_WHOLE_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/status.h"

/* Who may read a new file or directory besides its owner. */
enum file_readers { READERS_GROUP /* mode 0640 */, READERS_NONE /* mode 0600; directories 0700 */ };

/* Write a text beside the wanted name ("<path>.<process>.part"), make it durable, and rename it; an older
 * file of the name is replaced. On failure nothing is left and the older file stays. */
struct status whole_file_write(const char *path, const void *data, size_t bytes,
                               enum file_readers readers);

/* A directory that nobody else may enter: made with its missing parents. One that is there stays as it
 * is. */
struct status private_directory_make(const char *path);

#endif
