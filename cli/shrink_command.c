/* The options of a search, its progress line, and what it found. */
#include "cli/shrink_command.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/call_options.h"
#include "report/ci_reports.h"
#include "runner/interrupts.h"
#include "shrink/shrink.h"

struct shrink_options {
    struct call_options call;
    const char *directory;
    int64_t repeat, most_calls;
    double time_s;
};

#define AT(member) .offset = offsetof(struct shrink_options, member)

/* clang-format off */
static const struct option_row rows[] = {
    CALL_OF_DUMP_ROWS(struct shrink_options),
    { { "o", "out_path" }, OPTION_DIRECTORY, AT(directory), "DIR",
      .help = "Where the dump of the smallest call goes: dump.json and dump_tensor_data. By default "
              "a directory called after the call, {name}.smallest." },
    { { "repeat" }, OPTION_INTEGER, AT(repeat), "N", .minimum = 1, .maximum = 1000,
      .help = "Try every candidate up to N times, for a kernel that fails now and then, and say how "
              "often the smallest call fails in N runs. 1 by default." },
    { { "max-calls" }, OPTION_INTEGER, AT(most_calls), "N", .minimum = 2, .maximum = 1000000,
      .help = "Most calls of the device, 2000 by default." },
    { { "time-limit" }, OPTION_SECONDS, AT(time_s), "SECONDS", .minimum = 1, .maximum = 1000000,
      .help = "Longest time that the search takes, 600 by default." },
    { { "case-timeout" }, OPTION_SECONDS, AT(call.run.case_timeout_s), "SECONDS", .minimum = 0,
      .maximum = 1000000,
      .help = "Longest time a kernel or worker may take for a call, 10 by default: a kernel that "
              "hangs costs that much for each candidate that hangs." },
    { { "no-progress" }, OPTION_FLAG, AT(call.run.no_progress), .help = "No progress line." },
    { .names = { NULL } },
};
/* clang-format on */

static const struct shrink_options defaults = {
    .call.run = { .backend = "cpu", .seed = 1234, .case_timeout_s = 10, .isolate = "process" },
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
    struct status status = shrink_call(&result, run, options->call.name, directory, &limits, news,
                                       interrupts_stop(&interrupts));
    if (terminal && news.tell) (void)fputs("\r\033[K", stderr);
    if (!status.code) print_result(exit_status, &result, directory);
    shrink_result_release(&result);
    interrupts_close(&interrupts);
    return status;
}

/* Every candidate is a new call. */
static struct status check_device(const char *backend)
{
    if (strcmp(backend, "recorded")) return status_ok();
    return status_error(
        STATUS_BAD_ARGUMENT,
        "shrink asks the device again for every smaller call, and 'recorded' has only "
        "the outputs of the dump; name the device that failed with --backend");
}

static struct status shrink(int *exit_status, const void *values)
{
    const struct shrink_options *options = values;
    struct run_options run;
    struct arena arena = { 0 };
    char dump[PATH_ARGUMENT_BYTES];
    TRY(check_device(options->call.run.backend));
    TRY(call_options_resolve(&run, dump, &options->call));
    const char *directory =
        call_options_directory(&arena, &options->call, options->directory, ".smallest");
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
        "way. The name of a row (Torch.matmul.3.backward.output.1) means the failure of that row, "
        "the name of a call that of its worst.\n\n"
        "The smallest call is written as a dump with its tensors and what the device "
        "returned, for every command here; what is printed says from which extents on it "
        "fails and which element is the first wrong one. The exit status is 0 when the call "
        "fails, 1 when it passes, 5 when it is not judged.",
    .options = rows,
    .bytes = sizeof(struct shrink_options),
    .takes_framework = true,
    .framework_offset = offsetof(struct shrink_options, call.run.framework),
    .defaults = &defaults,
    .run = shrink,
};
