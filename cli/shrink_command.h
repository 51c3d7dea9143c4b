/* probe-ut shrink: the smallest call that fails as a call of a dump does. */
#ifndef PROBE_CLI_SHRINK_COMMAND_H
#define PROBE_CLI_SHRINK_COMMAND_H

#include "cli/options.h"

extern const struct command shrink_command;

#endif
