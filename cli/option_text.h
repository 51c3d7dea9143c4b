/* What users read about the commands, rendered from their option tables: --help and the
 * manual page. */
#ifndef PROBE_CLI_OPTION_TEXT_H
#define PROBE_CLI_OPTION_TEXT_H

#include <stddef.h>
#include <stdio.h>

#include "cli/options.h"

/* The program: its commands, the first one being meant when no word is given. */
struct program_text {
    const char *name, *version, *summary;
    const char *text; /* paragraphs, split by "\n\n" */
    const struct command *const *commands;
    size_t n_commands;
};

/* Help of one command, at most 80 columns wide. */
void help_print_command(FILE *out, const struct program_text *program,
                        const struct command *command);

/* The commands with one line each. */
void help_print_commands(FILE *out, const struct program_text *program);

/* A manual page in man(7) macros, section 1. */
void help_print_manual(FILE *out, const struct program_text *program);

/* How a name is shown: "--" before a word, "-" before a letter. */
static inline const char *option_dashes(const char *name) { return name[1] ? "--" : "-"; }

#endif
