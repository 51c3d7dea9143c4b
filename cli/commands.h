/* The commands of the program and what is common to them: --help, --version, --man,
 * --completion. */
#ifndef PROBE_CLI_COMMANDS_H
#define PROBE_CLI_COMMANDS_H

#include "core/status.h"

/* Run the command line. *exit_status is set when the status is OK. */
struct status commands_run(int *exit_status, int count, char *const *arguments);

#endif
