/* The options of a search, its progress line, and what it found. */
#include "cli/shrink_command.h"

#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/path_arguments.h"
#include "cli/warning_printer.h"
#include "formats/file_stem.h"
#include "report/ci_reports.h"
#include "runner/devices/device_classes.h"
#include "runner/interrupts.h"
#include "runner/run_options.h"
#include "shrink/shrink.h"
#include "standards/profile.h"

struct shrink_options {
    struct run_options run;
    const char *name;
    int64_t repeat, most_calls;
    double time_s;
};

#define AT(member) .offset = offsetof(struct shrink_options, member)

/* clang-format off */
static const struct option_row rows[] = {
    { { "api_info", "api_info_file" }, OPTION_FILE, AT(run.api_info), "FILE", .required = true,
      .suffix = ".json", .or_directory = true,
      .help = "The dump.json that has the call, or a directory with one at or below it." },
    { { "name" }, OPTION_TEXT, AT(name), "NAME", .required = true,
      .help = "The call, as for case. The name of a row (Torch.matmul.3.backward.output.1) shrinks "
              "the failure of that row, otherwise it is that of the worst." },
    { { "backend" }, OPTION_CHOICE, AT(run.backend), "NAME", .choices = device_names,
      .help = "What is tested, as for run_ut." },
    { { "o", "out_path" }, OPTION_DIRECTORY, AT(run.out_path), "DIR",
      .help = "Where the dump of the smallest call goes: dump.json and dump_tensor_data. By default "
              "a directory called after the call, {name}.smallest." },
    { { "repeat" }, OPTION_INTEGER, AT(repeat), "N", .minimum = 1, .maximum = 1000,
      .help = "Try every candidate up to N times, for a kernel that fails now and then, and say how "
              "often the smallest call fails in N runs. 1 by default." },
    { { "max-calls" }, OPTION_INTEGER, AT(most_calls), "N", .minimum = 2, .maximum = 1000000,
      .help = "Most calls of the device, 2000 by default." },
    { { "time-limit" }, OPTION_SECONDS, AT(time_s), "SECONDS", .minimum = 1, .maximum = 1000000,
      .help = "Longest time that the search takes, 600 by default." },
    { { "case-timeout" }, OPTION_SECONDS, AT(run.case_timeout_s), "SECONDS", .minimum = 0,
      .maximum = 1000000,
      .help = "Longest time a kernel or worker may take for a call, 10 by default: a kernel that "
              "hangs costs that much for each candidate that hangs." },
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
    { { "no-progress" }, OPTION_FLAG, AT(run.no_progress), .help = "No progress line." },
    { { "trust-files" }, OPTION_FLAG, AT(run.file_policy.trusted),
      .help = "Read files that are symbolic links, belong to somebody else, can be written by "
              "everybody or are larger than their kind should be." },
    { .names = { NULL } },
};
/* clang-format on */

static const struct shrink_options defaults = {
    .run = { .backend = "cpu", .seed = 1234, .case_timeout_s = 10, .isolate = "process" },
    .repeat = 1,
    .most_calls = 2000,
    .time_s = 600,
};

/* One line that is drawn again on a terminal, one line per hundred calls in a log. */
static void show_progress(void *context, size_t calls, double elapsed_s, const char *shapes)
{
    const bool *terminal = context;
    if (*terminal) (void)fprintf(stderr, "\r\033[K%zu calls, %.0f s: %s", calls, elapsed_s, shapes);
    else if (calls % 100 == 0)
        (void)fprintf(stderr, "probe-ut: %zu calls, %.0f s: %s\n", calls, elapsed_s, shapes);
    (void)fflush(stderr);
}

static struct status check_directory(const char *directory)
{
    char path[PATH_ARGUMENT_BYTES];
    (void)snprintf(path, sizeof path, "%s/dump.json", directory);
    if (!file_exists(path)) return status_ok();
    return status_error(STATUS_BAD_ARGUMENT, "%s is there already; name another directory with -o",
                        file_shown(path).text);
}

/* What was found, or why there is nothing; the exit status says the same. */
static void print_result(int *exit_status, const struct shrink_result *result,
                         const char *directory)
{
    for (size_t i = 0; i < result->count; i++) printf("%s\n", result->lines[i]);
    if (result->fails) printf("\n%zu calls; the smallest is in %s\n", result->calls, directory);
    *exit_status = !result->judged                     ? EXIT_NO_VERDICT
                   : !result->fails                    ? EXIT_FAILURES
                   : result->end == SHRINK_INTERRUPTED ? 130
                                                       : 0;
}

static struct status shrink_into(int *exit_status, const struct shrink_options *options,
                                 const struct run_options *run, const char *directory)
{
    const struct shrink_limits limits = { .most_calls = (size_t)options->most_calls,
                                          .repeat = (size_t)options->repeat,
                                          .time_s = options->time_s };
    bool terminal = isatty(STDERR_FILENO) == 1;
    const struct shrink_news news = { run->no_progress ? NULL : show_progress, &terminal };
    struct shrink_result result = { .count = 0 };
    struct interrupts interrupts;
    TRY(check_directory(directory));
    TRY(interrupts_open(&interrupts));
    struct status status = shrink_call(&result, run, options->name, directory, &limits, news,
                                       interrupts_stop(&interrupts));
    if (terminal && news.tell) (void)fputs("\r\033[K", stderr);
    if (!status.code) print_result(exit_status, &result, directory);
    shrink_result_release(&result);
    interrupts_close(&interrupts);
    return status;
}

static struct status shrink(int *exit_status, const void *values)
{
    const struct shrink_options *options = values;
    struct run_options run = options->run;
    struct arena arena = { 0 };
    char dump[PATH_ARGUMENT_BYTES];
    TRY(path_argument_dump(dump, run.api_info, run.file_policy));
    run.api_info = dump;
    run.warnings = warning_printer;
    const char *stem = file_stem(&arena, options->name), *directory = run.out_path;
    if (stem && !directory) directory = arena_format(&arena, "%s.smallest", stem);
    struct status status = directory ? shrink_into(exit_status, options, &run, directory)
                                     : status_no_memory(0);
    arena_release(&arena);
    return status;
}

const struct command shrink_command = {
    .word = "shrink",
    .summary = "find the smallest call that fails as a call of a dump does",
    .text =
        "Check a call of a dump again and, when it fails, take away what the failure does not "
        "need: arguments, narrow dtypes, extents, values. Every candidate is a call of the device "
        "with a time limit, and stays when the same output or gradient fails in the same "
        "way.\n\n"
        "The smallest call is written as a dump with its tensors and what the device "
        "returned, for every command here; what is printed says from which extents on it "
        "fails and which element is the first wrong one. The exit status is 0 when the call "
        "fails, 1 when it passes, 5 when it is not judged.",
    .options = rows,
    .bytes = sizeof(struct shrink_options),
    .defaults = &defaults,
    .run = shrink,
};
