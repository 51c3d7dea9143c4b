/* The names in a directory, sorted, for commands that take a directory of results.
 */
#ifndef PROBE_CORE_DIRECTORY_H
#define PROBE_CORE_DIRECTORY_H

#include <stdbool.h>
#include <stddef.h>

#include "core/file.h"
#include "core/status.h"

struct directory_names {
    char **items; /* rank2 before rank10; released with directory_release */
    size_t count;
};

/* Names of files and directories in `path`, without those that begin with a dot. More than `most`
 * of them are refused. `out` is empty on failure. */
struct status directory_list(struct directory_names *out, const char *path, size_t most);

void directory_release(struct directory_names *names);

/* Remove a directory with all that is in it; links are removed and not followed. What cannot be removed
 * stays. */
void directory_remove(const char *path);

/* Is it a directory, or a link to one? */
bool directory_exists(const char *path);

/* May a walk through a tree go on in there: a directory, or, where files are trusted, a link to one?
 * Links of strangers could lead in circles. */
bool directory_may_enter(const char *path, struct file_policy policy);

#endif
