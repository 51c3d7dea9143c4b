/* `merge`: the shards of a job put together, or how far they are. */
#ifndef PROBE_CLI_MERGE_JOB_COMMAND_H
#define PROBE_CLI_MERGE_JOB_COMMAND_H

#include "cli/options.h"

extern const struct command merge_job_command;

#endif
