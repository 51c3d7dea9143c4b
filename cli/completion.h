/* Completion scripts for shells, rendered from the option tables of the commands. */
#ifndef PROBE_CLI_COMPLETION_H
#define PROBE_CLI_COMPLETION_H

#include <stdio.h>

#include "cli/option_text.h"

void completion_print_bash(FILE *out, const struct program_text *program);
void completion_print_zsh(FILE *out, const struct program_text *program);
void completion_print_fish(FILE *out, const struct program_text *program);

#endif
