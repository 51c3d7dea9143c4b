/* The options of a reproducer. */
#include "cli/repro_command.h"

#include <stddef.h>
#include <stdio.h>

#include "cli/path_arguments.h"
#include "cli/warning_printer.h"
#include "formats/file_stem.h"
#include "report/ci_reports.h"
#include "repro/repro.h"
#include "runner/devices/device_classes.h"
#include "runner/run_options.h"
#include "standards/profile.h"

struct repro_options {
    struct run_options run;
    const char *name, *directory;
};

#define AT(member) .offset = offsetof(struct repro_options, member)

/* clang-format off */
static const struct option_row rows[] = {
    { { "api_info", "api_info_file" }, OPTION_FILE, AT(run.api_info), "FILE", .required = true,
      .suffix = ".json", .or_directory = true,
      .help = "The dump.json that has the call, or a directory with one at or below it." },
    { { "name" }, OPTION_TEXT, AT(name), "NAME", .required = true,
      .help = "The call, as for case, or the row of it that is meant; otherwise its worst row is." },
    { { "backend" }, OPTION_CHOICE, AT(run.backend), "NAME", .required = true,
      .choices = device_names,
      .help = "What fails: plugin:FILE.json becomes a C program; torch, torch:cpu, torch:cuda[:N], "
              "torch:npu[:N] and recorded become a script for PyTorch." },
    { { "o", "out_path" }, OPTION_DIRECTORY, AT(directory), "DIR",
      .help = "Where the files go; created when it does not exist. By default a directory called "
              "after the call, {name}.reproducer." },
    { { "case-timeout" }, OPTION_SECONDS, AT(run.case_timeout_s), "SECONDS", .minimum = 0,
      .maximum = 1000000, .help = "Longest time a kernel or worker may take, 60 by default." },
    { { "profile" }, OPTION_CHOICE, AT(run.profile), "NAME", .choices = profile_names,
      .help = "The rules of the verdicts, as for run_ut." },
    { { "thresholds" }, OPTION_FILE, AT(run.thresholds), "FILE",
      .help = "Limits of your own, as for run_ut." },
    { { "seed" }, OPTION_INTEGER, AT(run.seed), "N", .minimum = 0, .maximum = 999999999999999,
      .help = "Seed of random inputs, 1234 by default." },
    { { "config", "config_path" }, OPTION_FILE, AT(run.config_path), "FILE",
      .suffix = ".json",
      .help = "The configuration of the run; only its precision matters here." },
    { { "d", "device" }, OPTION_INTEGERS, AT(run.devices), "ID", .minimum = 0, .maximum = 4095,
      .help = "Device number, handed to the backend." },
    { { "trust-files" }, OPTION_FLAG, AT(run.file_policy.trusted),
      .help = "Read files that are symbolic links, belong to somebody else, can be written by "
              "everybody or are larger than their kind should be." },
    { .names = { NULL } },
};
/* clang-format on */

static const struct repro_options defaults = { .run = RUN_OPTIONS_DEFAULTS };

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
    struct run_options run = options->run;
    struct arena arena = { 0 };
    char dump[PATH_ARGUMENT_BYTES];
    TRY(path_argument_dump(dump, run.api_info, run.file_policy));
    run.api_info = dump;
    run.warnings = warning_printer;
    const char *stem = file_stem(&arena, options->name), *directory = options->directory;
    if (stem && !directory) directory = arena_format(&arena, "%s.reproducer", stem);
    struct status status = directory ? repro_into(exit_status, &run, options->name, directory)
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
    .defaults = &defaults,
    .run = repro,
};
