/* probe-ut api_precision_compare: the verdicts of an NPU run in the light of a GPU run. */
#ifndef PROBE_RUNNER_COMPARE_COMMAND_H
#define PROBE_RUNNER_COMPARE_COMMAND_H

#include "runner/options.h"

extern const struct command compare_command;

#endif
