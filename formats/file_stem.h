/* The name of a call as the start of a file name. */
#ifndef PROBE_FORMATS_FILE_STEM_H
#define PROBE_FORMATS_FILE_STEM_H

#include "core/arena.h"

/* A name that a dumper makes stays; in others, bytes that mean something to a path or a shell
 * become "_", the rest of a long one goes, and a digest of the whole name keeps two of them apart.
 * At most 177 bytes, for a file name has 255. NULL when there is no memory. */
const char *file_stem(struct arena *arena, const char *name);

#endif
