/* The names that a dump of PyTorch can hold (config/api_surface.json), by group and family, and
 * why those without a bench function have none.
 */
#ifndef PROBE_CLI_API_SURFACE_H
#define PROBE_CLI_API_SURFACE_H

#include <stddef.h>

#include "core/arena.h"
#include "core/status.h"

struct surface_name {
    const char *group; /* "Aten", "Functional", "Tensor", "Torch", "NPU" */
    const char *name;
    const char *family; /* "activation", "loss", ... */
    const char *reason; /* to be given when there is no bench function; NULL: none is known */
};

/* All names, in the order of the file. They live in `arena`. */
struct status api_surface_read(struct surface_name **names, size_t *count, struct arena *arena);

#endif
