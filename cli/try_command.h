/* `probe-ut try`: calls without a dump. */
#ifndef PROBE_CLI_TRY_COMMAND_H
#define PROBE_CLI_TRY_COMMAND_H

#include "cli/options.h"

extern const struct command try_command;

/* The options of a call alone (struct try_call), as a line of a batch has them. */
extern const struct command try_line_command;

#endif
