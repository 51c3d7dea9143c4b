/* probe-ut diff: two tensor files through the metrics and standards of the pre-check. */
#ifndef PROBE_RUNNER_DIFF_COMMAND_H
#define PROBE_RUNNER_DIFF_COMMAND_H

#include "runner/options.h"

extern const struct command diff_command;

#endif
