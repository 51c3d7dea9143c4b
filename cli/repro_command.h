/* probe-ut repro: a folder with which somebody without this program sees a fault. */
#ifndef PROBE_CLI_REPRO_COMMAND_H
#define PROBE_CLI_REPRO_COMMAND_H

#include "cli/options.h"

extern const struct command repro_command;

#endif
