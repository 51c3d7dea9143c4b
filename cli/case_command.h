/* probe-ut case: one call of a dump checked again, its evidence printed for a reader. */
#ifndef PROBE_CLI_CASE_COMMAND_H
#define PROBE_CLI_CASE_COMMAND_H

#include "cli/options.h"

extern const struct command case_command;

#endif
