/* `probe-ut ops`: the catalogue of bench functions. */
#ifndef PROBE_CLI_OPS_COMMAND_H
#define PROBE_CLI_OPS_COMMAND_H

#include "cli/options.h"

extern const struct command ops_command;

#endif
