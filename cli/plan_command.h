/* `plan`: a tree of dumps cut into shards. */
#ifndef PROBE_CLI_PLAN_COMMAND_H
#define PROBE_CLI_PLAN_COMMAND_H

#include "cli/options.h"

extern const struct command plan_command;

#endif
