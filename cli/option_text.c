/* Help and manual page from the tables of options: wrapped at the width of a terminal, escaped for troff. */
#include "cli/option_text.h"

#include <string.h>

enum { WIDTH = 80, HELP_INDENT = 8 };

/* ---- help ------------------------------------------------------------------------------- */

/* Paragraphs, wrapped at WIDTH columns and indented. */
static void print_wrapped(FILE *out, const char *text, size_t indent)
{
    size_t column = 0;
    while (*text) {
        if (!strncmp(text, "\n\n", 2)) {
            fputs("\n\n", out);
            text += 2;
            column = 0;
            continue;
        }
        size_t word = strcspn(text, " \n");
        if (column && column + 1 + word > WIDTH) {
            fputc('\n', out);
            column = 0;
        }
        if (!column) column = (size_t)fprintf(out, "%*s", (int)indent, "");
        else column += (size_t)fprintf(out, " ");
        column += fwrite(text, 1, word, out);
        text += word;
        if (*text == ' ' || (*text == '\n' && text[1] != '\n')) text++;
    }
    fputc('\n', out);
}

static void print_names(FILE *out, const struct option_row *row)
{
    for (size_t i = 0; i < OPTION_NAMES && row->names[i]; i++)
        fprintf(out, "%s%s%s", i ? ", " : "", option_dashes(row->names[i]), row->names[i]);
    if (row->argument) fprintf(out, " %s", row->argument);
    if (row->kind == OPTION_INTEGERS || row->kind == OPTION_FILES) fputs(" ...", out);
}

static void print_choices(FILE *out, const struct option_row *row)
{
    const char *const *choices = row->choices();
    for (size_t i = 0; choices[i]; i++) fprintf(out, "%s%s", i ? " | " : "", choices[i]);
}

static void print_usage(FILE *out, const struct program_text *program,
                        const struct command *command)
{
    fprintf(out, "Usage: %s %s", program->name, command->word);
    for (const struct option_row *row = command->options; row && row->names[0]; row++)
        if (row->required) fprintf(out, " -%s %s", row->names[0], row->argument);
    if (command->options) fputs(" [options]", out);
    if (command->operands) fprintf(out, " %s", command->operands);
    fputc('\n', out);
}

void help_print_command(FILE *out, const struct program_text *program,
                        const struct command *command)
{
    print_usage(out, program, command);
    if (command->aliases && command->aliases[0]) {
        fputs("The same command:", out);
        for (size_t i = 0; command->aliases[i]; i++) fprintf(out, " %s", command->aliases[i]);
        fputc('\n', out);
    }
    fputc('\n', out);
    print_wrapped(out, command->text, 0);
    if (!command->options) return;
    fputs("\nOptions (one or two dashes, value after a space or '='):\n", out);
    for (const struct option_row *row = command->options; row->names[0]; row++) {
        fputs("  ", out);
        print_names(out, row);
        fputc('\n', out);
        print_wrapped(out, row->help, HELP_INDENT);
        if (row->kind == OPTION_CHOICE) {
            fprintf(out, "%*s", HELP_INDENT, "");
            print_choices(out, row);
            fputc('\n', out);
        }
    }
}

void help_print_commands(FILE *out, const struct program_text *program)
{
    fprintf(out, "%s %s: %s\n\nUsage: %s [command] [options]\n\n", program->name, program->version,
            program->summary, program->name);
    print_wrapped(out, program->text, 0);
    fputs("\nCommands:\n", out);
    for (size_t i = 0; i < program->n_commands; i++)
        fprintf(out, "  %-22s %s\n", program->commands[i]->word, program->commands[i]->summary);
    fprintf(out, "\n'%s <command> --help' lists the options of a command.\n", program->name);
}

/* ---- manual page ------------------------------------------------------------------------ */

/* Text for roff: backslashes, leading dots and quotes, and dashes that must stay dashes. */
static void print_roff(FILE *out, const char *text)
{
    bool line_start = true;
    for (; *text; text++) {
        if (line_start && (*text == '.' || *text == '\'')) fputs("\\&", out);
        line_start = false;
        if (*text == '\\') fputs("\\e", out);
        else if (*text == '-') fputs("\\-", out);
        else if (*text == '\n') {
            if (text[1] == '\n') {
                fputs("\n.PP\n", out);
                text++;
                line_start = true;
            } else fputc(' ', out);
        } else fputc(*text, out);
    }
}

static void print_manual_option(FILE *out, const struct option_row *row)
{
    fputs(".TP\n", out);
    for (size_t i = 0; i < OPTION_NAMES && row->names[i]; i++) {
        fputs(i ? ", \\fB" : "\\fB", out);
        print_roff(out, option_dashes(row->names[i]));
        print_roff(out, row->names[i]);
        fputs("\\fR", out);
    }
    if (row->argument) {
        fputs(" \\fI", out);
        print_roff(out, row->argument);
        fputs("\\fR", out);
        if (row->kind == OPTION_INTEGERS || row->kind == OPTION_FILES) fputs(" ...", out);
    }
    fputc('\n', out);
    print_roff(out, row->help);
    fputc('\n', out);
    if (row->kind != OPTION_CHOICE) return;
    fputs("One of: ", out);
    const char *const *choices = row->choices();
    for (size_t i = 0; choices[i]; i++) {
        if (i) fputs(", ", out);
        print_roff(out, choices[i]);
    }
    fputs(".\n", out);
}

/* What the program leaves behind when it ends. */
static const struct {
    const char *code, *meaning;
} exit_statuses[] = {
    { "0", "The work was done. Precision verdicts do not change the status unless asked." },
    { "1", "--fail-on was given and a call has that verdict or a worse one, a --baseline has new "
           "or worse "
           "failures, or fewer calls were judged than --min-judged asks for." },
    { "2", "The command line is wrong; nothing was done." },
    { "3", "A file cannot be used: the dump, a configuration, or a result file." },
    { "4", "An internal error." },
    { "5", "No verdict: nothing at all was judged, because every call was skipped." },
    { "130", "Interrupted; what was done is in the files, and -csv_path resumes from there." },
};

void help_print_manual(FILE *out, const struct program_text *program)
{
    fprintf(out, ".TH PROBE-UT 1 \"\" \"%s %s\"\n.SH NAME\n", program->name, program->version);
    print_roff(out, program->name);
    fputs(" \\- ", out);
    print_roff(out, program->summary);
    fputs("\n.SH SYNOPSIS\n.B ", out);
    print_roff(out, program->name);
    fputs("\n[\\fIcommand\\fR] [\\fIoptions\\fR]\n.SH DESCRIPTION\n", out);
    print_roff(out, program->text);
    fputs("\n.SH COMMANDS\n", out);
    for (size_t i = 0; i < program->n_commands; i++) {
        const struct command *command = program->commands[i];
        fputs(".SS ", out);
        print_roff(out, command->word);
        if (command->operands) {
            fputc(' ', out);
            print_roff(out, command->operands);
        }
        fputc('\n', out);
        print_roff(out, command->text);
        fputc('\n', out);
        for (const struct option_row *row = command->options; row && row->names[0]; row++)
            print_manual_option(out, row);
    }
    fputs(".SH EXIT STATUS\n", out);
    for (size_t i = 0; i < sizeof exit_statuses / sizeof exit_statuses[0]; i++) {
        fprintf(out, ".TP\n.B %s\n", exit_statuses[i].code);
        print_roff(out, exit_statuses[i].meaning);
        fputc('\n', out);
    }
}
