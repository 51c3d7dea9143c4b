/* probe-ut plugin check FILE.json: does a manifest fit its libraries? */
#ifndef PROBE_RUNNER_PLUGIN_COMMAND_H
#define PROBE_RUNNER_PLUGIN_COMMAND_H

#include "runner/options.h"

extern const struct command plugin_command;

#endif
