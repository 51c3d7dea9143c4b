/* The names of all APIs that a dump can have: those of the catalogue, and those that no reference can
 * be computed for. A name that is none of them was mistyped. */
#ifndef PROBE_RUNNER_API_NAMES_H
#define PROBE_RUNNER_API_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "core/arena.h"
#include "core/status.h"

/* All bare names ("conv2d", "linalg.inv"), in `arena`. */
struct status api_names_list(const char *const **names, size_t *count, struct arena *arena);

/* Is this a bare name, in any of its spellings (in-place, dunder)? When not, *nearest is one that
 * is, in `arena` or "" when there is no memory. */
bool api_name_is_known(const char **nearest, struct arena *arena, const char *name);

/* Does the API return uninitialised memory, which nothing can be compared with? */
bool api_returns_garbage(const char *name);

#endif
