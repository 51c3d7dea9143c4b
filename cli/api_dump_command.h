/* probe-ut api_dump_compare: two API dumps by the flow of their calls. */
#ifndef PROBE_CLI_API_DUMP_COMMAND_H
#define PROBE_CLI_API_DUMP_COMMAND_H

#include "cli/options.h"

extern const struct command api_dump_command;

#endif
