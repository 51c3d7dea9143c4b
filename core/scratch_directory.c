/* mkdtemp of the C library. */
#include "core/scratch_directory.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/directory.h"

struct status scratch_directory_make(struct scratch_directory *out)
{
    const char *base = getenv("TMPDIR");
    if (!base || !*base) base = "/tmp";
    int length = snprintf(out->path, sizeof out->path, "%s/probe-ut-XXXXXX", base);
    bool fits = length > 0 && (size_t)length < sizeof out->path;
    if (fits && mkdtemp(out->path)) return status_ok();
    return status_error(STATUS_IO, "cannot make a directory in '%.200s': %s", base,
                        fits ? strerror(errno) : "the name is too long");
}

void scratch_directory_remove(const struct scratch_directory *directory)
{
    directory_remove(directory->path);
}
