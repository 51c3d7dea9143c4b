/* probe-ut api_precision_compare: the verdicts of an NPU run in the light of a GPU run. */
#ifndef PROBE_CLI_THREE_WAY_COMMAND_H
#define PROBE_CLI_THREE_WAY_COMMAND_H

#include "cli/options.h"

extern const struct command compare_command;

#endif
