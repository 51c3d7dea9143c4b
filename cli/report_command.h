/* probe-ut report: results as one page to look at. */
#ifndef PROBE_CLI_REPORT_COMMAND_H
#define PROBE_CLI_REPORT_COMMAND_H

#include "cli/options.h"

extern const struct command report_command;

#endif
