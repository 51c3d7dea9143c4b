/* probe-ut standards: how tight the standards are. */
#ifndef PROBE_CLI_STANDARDS_COMMAND_H
#define PROBE_CLI_STANDARDS_COMMAND_H

#include "cli/options.h"

extern const struct command standards_command;

#endif
