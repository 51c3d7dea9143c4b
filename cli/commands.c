/* Finds the command of a command line, parses its options, runs it, and turns a status into an exit
 * status. */
#include "cli/commands.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/api_dump_command.h"
#include "cli/budget_command.h"
#include "cli/case_command.h"
#include "cli/collectives_command.h"
#include "cli/compare_command.h"
#include "cli/completion.h"
#include "cli/diff_command.h"
#include "cli/doctor_command.h"
#include "cli/graph_command.h"
#include "cli/merge_command.h"
#include "cli/merge_job_command.h"
#include "cli/ops_command.h"
#include "cli/option_text.h"
#include "cli/plan_command.h"
#include "cli/plugin_command.h"
#include "cli/report_command.h"
#include "cli/repro_command.h"
#include "cli/run_command.h"
#include "cli/serve_command.h"
#include "cli/shrink_command.h"
#include "cli/standards_command.h"
#include "cli/three_way_command.h"
#include "cli/try_command.h"
#include "cli/work_command.h"
#include "core/memory.h"
#include "core/nearest_name.h"
#include "runner/environment.h"

/* The first one is meant when no word is given. */
/* clang-format off */
static const struct command *const commands[] = {
    &run_command,
    &plan_command,
    &work_command,
    &merge_job_command,
    &serve_command,
    &compare_command,
    &budget_command,
    &compare_dumps_command,
    &graph_command,
    &merge_command,
    &collectives_command,
    &api_dump_command,
    &report_command,
    &diff_command,
    &case_command,
    &shrink_command,
    &repro_command,
    &try_command,
    &ops_command,
    &standards_command,
    &plugin_command,
    &doctor_command,
};
/* clang-format on */
enum { N_COMMANDS = sizeof commands / sizeof commands[0], WORDS_MAX = 64 };

static const struct program_text program = {
    .name = "probe-ut",
    .version = PROBE_VERSION,
    .summary = "checks the precision of recorded API calls against certified references",
    .text = "probe-ut reads dump.json, the recorded API calls of a training step, gives every "
            "call its inputs back, computes what it should return in high precision, and judges "
            "what a device returns.",
    .commands = commands,
    .n_commands = N_COMMANDS,
};

/* ---- options of the program itself ------------------------------------------------------ */

static void print_version(FILE *out)
{
    fprintf(out, "%s %s\nBLAS core %s\n", program.name, program.version, environment_blas_core());
}

static const struct {
    const char *name, *value;
    void (*print)(FILE *out);
    void (*print_program)(FILE *out, const struct program_text *program);
} program_options[] = {
    { "version", NULL, print_version, NULL },
    { "V", NULL, print_version, NULL },
    { "help", NULL, NULL, help_print_commands },
    { "h", NULL, NULL, help_print_commands },
    { "man", NULL, NULL, help_print_manual },
    { "completion", "bash", NULL, completion_print_bash },
    { "completion", "zsh", NULL, completion_print_zsh },
    { "completion", "fish", NULL, completion_print_fish },
};

/* Was the first argument an option of the program itself? */
static bool run_program_option(struct status *status, int count, char *const *arguments)
{
    const char *name = arguments[1] + strspn(arguments[1], "-");
    *status = status_ok();
    if (arguments[1][0] != '-') return false;
    for (size_t i = 0; i < sizeof program_options / sizeof program_options[0]; i++) {
        size_t length = strlen(program_options[i].name);
        if (strncmp(name, program_options[i].name, length)) continue;
        const char *value = name[length] == '=' ? name + length + 1
                            : name[length]      ? NULL
                            : count > 2         ? arguments[2]
                                                : "";
        if (!value) continue;
        if (program_options[i].value && strcmp(value, program_options[i].value)) {
            *status = status_error(STATUS_BAD_ARGUMENT,
                                   "option '--%s' does not know '%s'; it takes bash, zsh or fish",
                                   program_options[i].name, value);
            continue;
        }
        *status = status_ok();
        if (program_options[i].print) program_options[i].print(stdout);
        else program_options[i].print_program(stdout, &program);
        return true;
    }
    return status->code != STATUS_OK;
}

/* ---- words ------------------------------------------------------------------------------ */

/* The command of a word; its words are added to `words` for the message about an unknown one. */
static const struct command *find_command(const char *word, const char **words, size_t *n_words)
{
    for (size_t i = 0; i < N_COMMANDS; i++) {
        if (!strcmp(word, commands[i]->word)) return commands[i];
        if (*n_words < WORDS_MAX) words[(*n_words)++] = commands[i]->word;
        for (size_t k = 0; commands[i]->aliases && commands[i]->aliases[k]; k++) {
            if (!strcmp(word, commands[i]->aliases[k])) return commands[i];
            if (*n_words < WORDS_MAX) words[(*n_words)++] = commands[i]->aliases[k];
        }
    }
    return NULL;
}

/* msprobe's command lines start with "-f pytorch" before the word. NULL when this one does not. */
static struct status take_framework(const char **out, int *first, int count, char *const *arguments)
{
    static const char *const known[] = { "pytorch", "mindspore", "mindtorch", NULL };

    *out = NULL;
    if (count < 4 || (strcmp(arguments[1], "-f") && strcmp(arguments[1], "--framework")) ||
        arguments[2][0] == '-')
        return status_ok();
    for (size_t i = 0; known[i]; i++)
        if (!strcmp(arguments[2], known[i])) *out = known[i];
    if (!*out) return options_unknown_choice(arguments[1], arguments[2], known);
    *first = 3;
    return status_ok();
}

static struct status hand_on_framework(void *values, const struct command *command,
                                       const char *framework)
{
    if (!framework) return status_ok();
    if (command->takes_framework) {
        *(const char **)(void *)((char *)values + command->framework_offset) = framework;
        return status_ok();
    }
    if (!strcmp(framework, "pytorch")) return status_ok();
    return status_error(STATUS_BAD_ARGUMENT, "%s knows the framework pytorch only, not '%s'",
                        command->word, framework);
}

/* Inputs and kernels come from elsewhere, and for root the checks of owners do not hold. `ops` reads
 * nothing but what is compiled in. */
static void warn_about_root(const struct command *command)
{
    if (geteuid() == 0 && command != &ops_command)
        (void)fprintf(stderr, "probe-ut: warning: running as root; what a kernel, a worker or an "
                              "input can do, it can do to the whole machine\n");
}

static struct status run_command_line(int *exit_status, const struct command *command,
                                      const char *framework, int count, char *const *arguments)
{
    bool help;
    void *values = memory_allocate_zeroed(1, command->bytes);
    if (!values) return status_no_memory(command->bytes);
    struct status status = options_parse(values, &help, command, count, arguments);
    if (!status.code) status = hand_on_framework(values, command, framework);
    if (!status.code && help) {
        help_print_command(stdout, &program, command);
    } else if (!status.code) {
        warn_about_root(command);
        status = command->run(exit_status, values);
    }
    /* After an interruption threads may still read the options; the process ends at once. */
    if (status.code != STATUS_INTERRUPTED) memory_release(values);
    return status;
}

struct status commands_run(int *exit_status, int count, char *const *arguments)
{
    const char *words[WORDS_MAX];
    size_t n_words = 0;
    const char *framework;
    int first = 1;
    struct status status;

    *exit_status = 0;
    if (count < 2) {
        help_print_commands(stdout, &program);
        return status_ok();
    }
    if (run_program_option(&status, count, arguments)) return status;
    TRY(take_framework(&framework, &first, count, arguments));
    if (arguments[first][0] == '-')
        return run_command_line(exit_status, commands[0], framework, count - first,
                                arguments + first);
    const struct command *command = find_command(arguments[first], words, &n_words);
    if (!command)
        return status_error(STATUS_BAD_ARGUMENT, "unknown command '%s', the nearest is '%s'",
                            arguments[first], nearest_name(arguments[first], words, n_words));
    return run_command_line(exit_status, command, framework, count - first - 1,
                            arguments + first + 1);
}
