/* probe-ut serve: calls of processes that train, judged while they train. */
#ifndef PROBE_CLI_SERVE_COMMAND_H
#define PROBE_CLI_SERVE_COMMAND_H

#include "cli/options.h"
#include "runner/run_options.h"

extern const struct command serve_command;

/* What run_ut does with a configuration that says is_online: serve by it. */
struct status serve_by_config(int *exit_status, const struct run_options *run);

#endif
