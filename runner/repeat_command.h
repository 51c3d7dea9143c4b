/* The command that repeats single calls of a run. */
#ifndef PROBE_RUNNER_REPEAT_COMMAND_H
#define PROBE_RUNNER_REPEAT_COMMAND_H

#include "core/status.h"
#include "runner/run_options.h"

/* Everything but the name behind "--name ". Arguments are quoted for a shell where they need it.
 * Free with memory_release. */
struct status repeat_command_make(char **out, const struct run_options *options);

#endif
