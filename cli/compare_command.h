/* probe-ut compare: two dumps of the same step, one table. */
#ifndef PROBE_CLI_COMPARE_COMMAND_H
#define PROBE_CLI_COMPARE_COMMAND_H

#include "cli/options.h"

extern const struct command compare_dumps_command;

#endif
