/* collectives: communication calls of all ranks checked against each other. */
#ifndef PROBE_CLI_COLLECTIVES_COMMAND_H
#define PROBE_CLI_COLLECTIVES_COMMAND_H

#include "cli/options.h"

extern const struct command collectives_command;

#endif
