/* `probe-ut doctor`: what this machine and this installation have, and what to do about the rest. */
#ifndef PROBE_CLI_DOCTOR_COMMAND_H
#define PROBE_CLI_DOCTOR_COMMAND_H

#include "cli/options.h"

extern const struct command doctor_command;

#endif
