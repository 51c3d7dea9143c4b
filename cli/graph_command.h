/* `probe-ut graph`: the hierarchy of a model, or of two compared. */
#ifndef PROBE_CLI_GRAPH_COMMAND_H
#define PROBE_CLI_GRAPH_COMMAND_H

#include "cli/options.h"

extern const struct command graph_command;

#endif
