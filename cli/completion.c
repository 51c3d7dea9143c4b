/* One script per shell. Each knows the commands with their aliases, the options of each, and what an
 * option takes: a file, a directory, one of some words, or something that nobody can guess. */
#include "cli/completion.h"

#include <stdlib.h>
#include <string.h>

/* The commands as words, aliases included, with a space behind each. */
static void print_words(FILE *out, const struct program_text *program, size_t first)
{
    for (size_t i = first; i < program->n_commands; i++) {
        const struct command *command = program->commands[i];
        fprintf(out, "%s ", command->word);
        for (size_t k = 0; command->aliases && command->aliases[k]; k++)
            fprintf(out, "%s ", command->aliases[k]);
    }
}

/* The words of one command, with `separator` between them. */
static void print_command_words(FILE *out, const struct command *command, const char *separator)
{
    fputs(command->word, out);
    for (size_t k = 0; command->aliases && command->aliases[k]; k++)
        fprintf(out, "%s%s", separator, command->aliases[k]);
}

static void print_choices(FILE *out, const struct option_row *row)
{
    const char *const *choices = row->choices();
    for (size_t i = 0; choices[i]; i++) fprintf(out, "%s%s", i ? " " : "", choices[i]);
}

/* The first sentence of a text with a backslash before each of the marks. */
static void print_sentence(FILE *out, const char *text, const char *marks)
{
    for (; *text; text++) {
        if (*text == '.' && (!text[1] || text[1] == ' ' || text[1] == '\n')) return;
        if (strchr(marks, *text)) fputc('\\', out);
        fputc(*text == '\n' ? ' ' : *text, out);
    }
}

/* ---- bash --------------------------------------------------------------------------------- */

/* `case` patterns that name the option with one and with two dashes. */
static void print_patterns(FILE *out, const struct option_row *row)
{
    for (size_t i = 0; i < OPTION_NAMES && row->names[i]; i++)
        fprintf(out, "%s-%s|--%s", i ? "|" : "", row->names[i], row->names[i]);
}

static void print_value_completion(FILE *out, const struct option_row *row)
{
    const char *action = NULL;
    switch (row->kind) {
    case OPTION_FILE:
    case OPTION_FILES: action = "compgen -f"; break;
    case OPTION_DIRECTORY: action = "compgen -d"; break;
    case OPTION_CHOICE: {
        fputs("        ", out);
        print_patterns(out, row);
        fputs(")\n            COMPREPLY=( $(compgen -W \"", out);
        print_choices(out, row);
        fputs("\" -- \"$word\") ); return ;;\n", out);
        return;
    }
    case OPTION_FLAG: return;
    default: action = "true"; break;
    }
    fputs("        ", out);
    print_patterns(out, row);
    fprintf(out, ")\n            COMPREPLY=( $(%s -- \"$word\") ); return ;;\n", action);
}

static void print_command_completion(FILE *out, const struct command *command)
{
    fputs("    ", out);
    print_command_words(out, command, "|");
    fputs(")\n        case \"$previous\" in\n", out);
    for (const struct option_row *row = command->options; row && row->names[0]; row++)
        print_value_completion(out, row);
    fputs("        esac\n        options=\"", out);
    for (const struct option_row *row = command->options; row && row->names[0]; row++)
        for (size_t i = 0; i < OPTION_NAMES && row->names[i]; i++)
            fprintf(out, "%s%s ", option_dashes(row->names[i]), row->names[i]);
    fputs("--help\" ;;\n", out);
}

void completion_print_bash(FILE *out, const struct program_text *program)
{
    fprintf(out,
            "# bash completion of %s, made by '%s --completion bash'.\n"
            "_probe_ut()\n{\n"
            "    local word=\"${COMP_WORDS[COMP_CWORD]}\"\n"
            "    local previous=\"${COMP_WORDS[COMP_CWORD-1]}\"\n"
            "    local command=\"${COMP_WORDS[1]}\" words=\"",
            program->name, program->name);
    print_words(out, program, 0);
    fprintf(out,
            "\"\n    local options=\"\"\n"
            "    [[ \" $words \" == *\" $command \"* ]] || command=%s\n"
            "    case \"$command\" in\n",
            program->commands[0]->word);
    for (size_t i = 0; i < program->n_commands; i++)
        print_command_completion(out, program->commands[i]);
    fprintf(out,
            "    esac\n"
            "    if [[ \"$word\" == -* ]]; then\n"
            "        COMPREPLY=( $(compgen -W \"$options\" -- \"$word\") )\n"
            "    elif [[ $COMP_CWORD -eq 1 ]]; then\n"
            "        COMPREPLY=( $(compgen -W \"$words --help --version\" -- \"$word\") )\n"
            "    else\n"
            "        COMPREPLY=( $(compgen -f -- \"$word\") )\n"
            "    fi\n}\n"
            "complete -o filenames -F _probe_ut %s\n",
            program->name);
}

/* ---- zsh ---------------------------------------------------------------------------------- */

/* In $'...' quotes, in which a backslash keeps a quote. Colons and brackets end parts of a
 * specification of _arguments, so they get a backslash that survives the quotes. */
static void print_zsh_text(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '.' && (!text[1] || text[1] == ' ' || text[1] == '\n')) return;
        if (strchr("[]:\\", *text)) fputs("\\\\", out);
        if (*text == '\'' || *text == '\\') fputc('\\', out);
        fputc(*text == '\n' ? ' ' : *text, out);
    }
}

/* Options that may be given more than once. */
static bool is_list(enum option_kind kind)
{
    return kind == OPTION_INTEGERS || kind == OPTION_TEXTS || kind == OPTION_FILES;
}

static void print_zsh_option(FILE *out, const struct option_row *row)
{
    for (size_t i = 0; i < OPTION_NAMES && row->names[i]; i++) {
        fprintf(out, " \\\n            $'%s%s%s[", is_list(row->kind) ? "*" : "",
                option_dashes(row->names[i]), row->names[i]);
        print_zsh_text(out, row->help);
        fputc(']', out);
        if (row->kind != OPTION_FLAG) {
            fputc(':', out);
            print_zsh_text(out, row->argument ? row->argument : "value");
            fputc(':', out);
        }
        if (row->kind == OPTION_FILE || row->kind == OPTION_FILES) fputs("_files", out);
        if (row->kind == OPTION_DIRECTORY) fputs("_files -/", out);
        if (row->kind == OPTION_CHOICE) {
            fputs("(", out);
            const char *const *choices = row->choices();
            for (size_t k = 0; choices[k]; k++) {
                if (k) fputc(' ', out);
                print_zsh_text(out, choices[k]);
            }
            fputs(")", out);
        }
        fputc('\'', out);
    }
}

void completion_print_zsh(FILE *out, const struct program_text *program)
{
    fprintf(out,
            "#compdef %s\n# zsh completion of %s, made by '%s --completion zsh'.\n"
            "local command=${words[2]}\nlocal -a commands=(\n",
            program->name, program->name, program->name);
    for (size_t i = 0; i < program->n_commands; i++) {
        const struct command *command = program->commands[i];
        for (size_t k = 0; !k || (command->aliases && command->aliases[k - 1]); k++) {
            fprintf(out, "    $'%s:", k ? command->aliases[k - 1] : command->word);
            print_zsh_text(out, command->summary);
            fputs("'\n", out);
        }
    }
    fprintf(out,
            ")\nif (( CURRENT == 2 )) && [[ $command != -* ]]; then\n"
            "    _describe command commands\n    return\nfi\n"
            "if [[ $command == -* ]]; then\n    command=%s\nelse\n"
            "    shift words\n    (( CURRENT-- ))\nfi\ncase $command in\n",
            program->commands[0]->word);
    for (size_t i = 0; i < program->n_commands; i++) {
        fputs("    ", out);
        print_command_words(out, program->commands[i], "|");
        fputs(")\n        _arguments", out);
        for (const struct option_row *row = program->commands[i]->options; row && row->names[0];
             row++)
            print_zsh_option(out, row);
        fputs(" \\\n            '--help[show the options]' '*:file:_files' ;;\n", out);
    }
    fputs("esac\n", out);
}

/* ---- fish --------------------------------------------------------------------------------- */

/* In single quotes, in which only ' and \ are special. */
static void print_fish_option(FILE *out, const struct program_text *program,
                              const struct option_row *row, const char *condition)
{
    fprintf(out, "complete -c %s -n '%s'", program->name, condition);
    for (size_t i = 0; i < OPTION_NAMES && row->names[i]; i++)
        fprintf(out, " -%c %s", row->names[i][1] ? 'l' : 's', row->names[i]);
    switch (row->kind) {
    case OPTION_FLAG: break;
    case OPTION_FILE:
    case OPTION_FILES: fputs(" -r -F", out); break;
    case OPTION_DIRECTORY: fputs(" -x -a '(__fish_complete_directories)'", out); break;
    case OPTION_CHOICE:
        fputs(" -x -a '", out);
        print_choices(out, row);
        fputs("'", out);
        break;
    default: fputs(" -x", out); break;
    }
    fputs(" -d '", out);
    print_sentence(out, row->help, "'\\");
    fputs("'\n", out);
}

void completion_print_fish(FILE *out, const struct program_text *program)
{
    fprintf(out, "# fish completion of %s, made by '%s --completion fish'.\n", program->name,
            program->name);
    for (size_t i = 0; i < program->n_commands; i++) {
        const struct command *command = program->commands[i];
        char *condition = NULL;
        size_t length;
        for (size_t k = 0; !k || (command->aliases && command->aliases[k - 1]); k++) {
            fprintf(out, "complete -c %s -n __fish_use_subcommand -a %s -d '", program->name,
                    k ? command->aliases[k - 1] : command->word);
            print_sentence(out, command->summary, "'\\");
            fputs("'\n", out);
        }
        /* The first command is meant when no word is given: when none of the others is. */
        FILE *text = open_memstream(&condition, &length);
        if (!text) return;
        fputs(i ? "__fish_seen_subcommand_from " : "not __fish_seen_subcommand_from ", text);
        if (i) print_command_words(text, command, " ");
        else print_words(text, program, 1);
        (void)fclose(text);
        for (const struct option_row *row = command->options; row && row->names[0]; row++)
            print_fish_option(out, program, row, condition);
        free(condition);
    }
    fprintf(out, "complete -c %s -l help -d 'show the options'\n", program->name);
}
