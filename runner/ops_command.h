/* `probe-ut ops`: the catalogue of bench functions. */
#ifndef PROBE_RUNNER_OPS_COMMAND_H
#define PROBE_RUNNER_OPS_COMMAND_H

#include "runner/options.h"

extern const struct command ops_command;

#endif
