/* A directory for files that the program makes for itself, and that go with it. */
#ifndef PROBE_CORE_SCRATCH_DIRECTORY_H
#define PROBE_CORE_SCRATCH_DIRECTORY_H

#include "core/status.h"

struct scratch_directory {
    char path[4096];
};

/* Make one in TMPDIR, or /tmp, which nobody else may enter. */
struct status scratch_directory_make(struct scratch_directory *out);

/* Remove it with all that is in it. */
void scratch_directory_remove(const struct scratch_directory *directory);

#endif
