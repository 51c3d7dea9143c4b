/* Two results of one second get names of two seconds, so that neither replaces the other. */
#include "cli/result_path.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/file.h"
#include "core/memory.h"
#include "core/timestamp.h"

struct status result_path_make(char **out, const char *directory, const char *stem,
                               const char *suffix)
{
    size_t bytes = strlen(directory) + strlen(stem) + strlen(suffix) + TIMESTAMP_DIGITS +
                   sizeof "/_.";
    char *path = memory_allocate(bytes);
    time_t now = time(NULL);
    struct timestamp stamp;
    struct status status;

    if (!path) return status_no_memory(bytes);
    do {
        status = timestamp_of(&stamp, now++);
        if (!status.code)
            (void)snprintf(path, bytes, "%s/%s_%s.%s", directory, stem, stamp.text, suffix);
    } while (!status.code && file_exists(path));
    if (status.code) memory_release(path);
    else *out = path;
    return status;
}
