/* probe-ut run_ut: the main job, under all of its names. */
#ifndef PROBE_CLI_RUN_COMMAND_H
#define PROBE_CLI_RUN_COMMAND_H

#include "cli/options.h"

extern const struct command run_command;

#endif
