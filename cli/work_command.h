/* `work`: one shard of a job. */
#ifndef PROBE_CLI_WORK_COMMAND_H
#define PROBE_CLI_WORK_COMMAND_H

#include "cli/options.h"

extern const struct command work_command;

#endif
