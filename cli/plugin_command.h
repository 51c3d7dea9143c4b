/* probe-ut plugin check FILE.json: does a manifest fit its libraries? */
#ifndef PROBE_CLI_PLUGIN_COMMAND_H
#define PROBE_CLI_PLUGIN_COMMAND_H

#include "cli/options.h"

extern const struct command plugin_command;

#endif
