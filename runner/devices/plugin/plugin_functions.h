/* The functions that a manifest's expressions may call; one table row each. */
#ifndef PROBE_RUNNER_DEVICES_PLUGIN_PLUGIN_FUNCTIONS_H
#define PROBE_RUNNER_DEVICES_PLUGIN_PLUGIN_FUNCTIONS_H

#include "runner/devices/plugin/plugin_value.h"

struct expression_function {
    const char *name;
    size_t least, most; /* number of arguments */
    /* A wrong argument is STATUS_BAD_INPUT with a sentence. */
    struct status (*call)(struct expression_value *out, struct arena *arena,
                          const struct expression_value *arguments, size_t count);
    const char *meaning; /* for the manual */
};

/* The row of a name, or NULL. */
const struct expression_function *expression_function_find(const char *name);

/* The name that is most like this one. */
const char *expression_function_nearest(const char *name);

/* All rows, ended by a NULL name. */
extern const struct expression_function expression_functions[];

#endif
