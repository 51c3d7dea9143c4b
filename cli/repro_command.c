/* The options of a reproducer. */
#include "cli/repro_command.h"

#include <stddef.h>
#include <stdio.h>

#include "cli/call_options.h"
#include "report/ci_reports.h"
#include "repro/repro.h"

struct repro_options {
    struct call_options call;
    const char *directory;
};

#define AT(member) .offset = offsetof(struct repro_options, member)

/* clang-format off */
static const struct option_row rows[] = {
    CALL_OF_DUMP_ROWS(struct repro_options),
    { { "o", "out_path" }, OPTION_DIRECTORY, AT(directory), "DIR",
      .help = "Where the files go; created when it does not exist. By default a directory called "
              "after the call, {name}.reproducer." },
    { { "case-timeout" }, OPTION_SECONDS, AT(call.run.case_timeout_s), "SECONDS", .minimum = 0,
      .maximum = 1000000, .help = "Longest time a kernel or worker may take, 60 by default." },
    { .names = { NULL } },
};
/* clang-format on */

static const struct repro_options defaults = { .call.run = RUN_OPTIONS_DEFAULTS };

static struct status repro_into(int *exit_status, const struct run_options *run, const char *name,
                                const char *directory)
{
    struct repro_result result;
    struct status status = repro_write(&result, run, name, directory);
    /* What cannot be told in another form is an argument of this command, and no row. */
    if (status.code == STATUS_SKIP) status.code = STATUS_BAD_ARGUMENT;
    TRY(status);
    printf("%s\n", result.text);
    if (result.fails) printf("the reproducer is in %s\n", directory);
    *exit_status = result.fails ? 0 : result.judged ? EXIT_FAILURES : EXIT_NO_VERDICT;
    return status;
}

static struct status repro(int *exit_status, const void *values)
{
    const struct repro_options *options = values;
    struct run_options run;
    struct arena arena = { 0 };
    char dump[PATH_ARGUMENT_BYTES];
    TRY(call_options_resolve(&run, dump, &options->call));
    const char *directory =
        call_options_directory(&arena, &options->call, options->directory, ".reproducer");
    struct status status = directory ? repro_into(exit_status, &run, options->call.name, directory)
                                     : status_no_memory(0);
    arena_release(&arena);
    return status;
}

const struct command repro_command = {
    .word = "repro",
    .summary = "write a program that shows a failing call to somebody without this one",
    .text =
        "Check a call of a dump again and, when it fails, write a folder for the author of the "
        "kernel: for a plugin a C program that loads the library and makes the same calls, for "
        "PyTorch a script. Both have the inputs and what is right in them, print which elements "
        "are wrong, and exit with 1 when the fault is there, 0 when not, and 2 when the library "
        "or device cannot be used.\n\n"
        "shrink makes the call small first.",
    .options = rows,
    .bytes = sizeof(struct repro_options),
    .takes_framework = true,
    .framework_offset = offsetof(struct repro_options, call.run.framework),
    .defaults = &defaults,
    .run = repro,
};
