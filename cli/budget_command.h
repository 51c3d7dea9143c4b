/* probe-ut budget: learn, and tighten, how much of its limits a device uses. */
#ifndef PROBE_CLI_BUDGET_COMMAND_H
#define PROBE_CLI_BUDGET_COMMAND_H

#include "cli/options.h"

extern const struct command budget_command;

#endif
