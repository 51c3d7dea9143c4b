/* probe-ut merge_result: results of a multi-rank comparison side by side. */
#ifndef PROBE_CLI_MERGE_COMMAND_H
#define PROBE_CLI_MERGE_COMMAND_H

#include "cli/options.h"

extern const struct command merge_command;

#endif
