/* The command that repeats single calls of a run. */
#ifndef PROBE_RUNNER_REPEAT_COMMAND_H
#define PROBE_RUNNER_REPEAT_COMMAND_H

#include <stddef.h>

#include "core/status.h"
#include "runner/run_options.h"

/* Everything but the name behind "--name ". Arguments are quoted for a shell where they need it.
 * Free with memory_release. */
struct status repeat_command_make(char **out, const struct run_options *options);

/* What a failure on a backend can be told as to somebody without this program (repro/). */
enum reproducer_kind {
    REPRODUCER_NONE,
    REPRODUCER_KERNEL, /* a C program that loads the plugin's library */
    REPRODUCER_TORCH   /* a script for PyTorch */
};
enum reproducer_kind reproducer_kind_of(const struct run_options *options);

/* The command that writes a reproducer, up to the name; NULL where there is none. Free with
 * memory_release. */
struct status reproduce_command_make(char **out, const struct run_options *options);

#endif
