/* probe-ut diff: two tensor files through the metrics and standards of the pre-check. */
#ifndef PROBE_CLI_DIFF_COMMAND_H
#define PROBE_CLI_DIFF_COMMAND_H

#include "cli/options.h"

extern const struct command diff_command;

#endif
