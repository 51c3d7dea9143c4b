/* One call again, with everything that was measured about it. */
#include "cli/case_command.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cli/path_arguments.h"
#include "cli/warning_printer.h"
#include "report/ci_reports.h"
#include "report/failing.h"
#include "results/outcome.h"
#include "results/row_print.h"
#include "runner/devices/device_classes.h"
#include "runner/run.h"
#include "runner/run_options.h"
#include "standards/profile.h"

struct case_options {
    struct run_options run;
    const char *name;
    bool json;
};

#define AT(member) .offset = offsetof(struct case_options, member)

/* clang-format off */
static const struct option_row rows[] = {
    { { "api_info", "api_info_file" }, OPTION_FILE, AT(run.api_info), "FILE", .required = true,
      .suffix = ".json", .or_directory = true,
      .help = "The dump.json that has the call, or a directory with one at or below it." },
    { { "name" }, OPTION_TEXT, AT(name), "NAME", .required = true,
      .help = "The call under any name that is printed or read: Torch.matmul.3 of the result file, "
              "Torch.matmul.3.forward of the dump or a JUnit report, a row of the details." },
    { { "backend" }, OPTION_CHOICE, AT(run.backend), "NAME", .choices = device_names,
      .help = "What is tested, as for run_ut." },
    { { "profile" }, OPTION_CHOICE, AT(run.profile), "NAME", .choices = profile_names,
      .help = "The rules of the verdicts, as for run_ut." },
    { { "thresholds" }, OPTION_FILE, AT(run.thresholds), "FILE",
      .help = "Limits of your own, as for run_ut." },
    { { "seed" }, OPTION_INTEGER, AT(run.seed), "N", .minimum = 0, .maximum = 999999999999999,
      .help = "Seed of random inputs, 1234 by default." },
    { { "config", "config_path" }, OPTION_FILE, AT(run.config_path), "FILE",
      .suffix = ".json",
      .help = "The configuration of the run; its precision and error_data_path matter here." },
    { { "save_error_data" }, OPTION_FLAG, AT(run.save_error_data),
      .help = "Save inputs and both sides' outputs as .pt files in ut_error_data{timestamp} when the "
              "call is not a pass, as for run_ut." },
    { { "d", "device" }, OPTION_INTEGERS, AT(run.devices), "ID", .minimum = 0, .maximum = 4095,
      .help = "Device number, handed to the backend." },
    { { "case-timeout" }, OPTION_SECONDS, AT(run.case_timeout_s), "SECONDS", .minimum = 0,
      .maximum = 1000000, .help = "Longest time a kernel or worker may take, 60 by default." },
    { { "no-diagnose" }, OPTION_FLAG, AT(run.no_diagnose),
      .help = "Do not ask which mistake a row that fails looks like." },
    { { "diagnose-budget" }, OPTION_SECONDS, AT(run.diagnose_budget_s), "SECONDS", .minimum = 0,
      .maximum = 1000000,
      .help = "How long to look for the mistake of a row that fails, 1 by default: seconds of a common "
              "core, counted in steps of arithmetic, so that the answer is the same everywhere." },
    { { "fail-on" }, OPTION_CHOICE, AT(run.fail_on), "VERDICT", .choices = failing_names,
      .help = "Exit with status 1 when the call has this verdict or a worse one, for git bisect." },
    { { "json" }, OPTION_FLAG, AT(json), .help = "Print the lines of the evidence file as they are." },
    { { "trust-files" }, OPTION_FLAG, AT(run.file_policy.trusted),
      .help = "Read files that are symbolic links, belong to somebody else, can be written by "
              "everybody or are larger than their kind should be." },
    { .names = { NULL } },
};
/* clang-format on */

static const struct case_options defaults = { .run = RUN_OPTIONS_DEFAULTS };

static struct status print_outcome(const struct case_outcome *outcome, bool json)
{
    if (!json) return rows_print(stdout, &outcome->evidence, &outcome->details);
    (void)fwrite(outcome->evidence.data, 1, outcome->evidence.length, stdout);
    return status_ok();
}

static int exit_status_of(const struct case_outcome *outcome, const char *fail_on)
{
    if (!verdict_is_judgement(outcome->forward) && !verdict_is_judgement(outcome->backward))
        return EXIT_NO_VERDICT;
    enum failing failing = failing_from_name(fail_on);
    bool fails = failing_severity(failing, outcome->forward) ||
                 failing_severity(failing, outcome->backward);
    return fail_on && fails ? EXIT_FAILURES : 0;
}

static struct status run_case(int *exit_status, const void *values)
{
    const struct case_options *options = values;
    struct case_outcome outcome = { 0 };
    struct run_options run = options->run;
    char dump[PATH_ARGUMENT_BYTES];
    TRY(path_argument_dump(dump, run.api_info, run.file_policy));
    run.api_info = dump;
    run.warnings = warning_printer;
    struct status status = run_one_call(&outcome, &run, options->name);
    if (!status.code) status = print_outcome(&outcome, options->json);
    if (!status.code) *exit_status = exit_status_of(&outcome, options->run.fail_on);
    case_outcome_release(&outcome);
    return status;
}

const struct command case_command = {
    .word = "case",
    .summary = "check one call again and show the evidence",
    .text = "Check one call of a dump with the inputs that a run would give it, and print for each "
            "output and gradient what was measured against which limit, the worst elements and "
            "the distribution of the errors.",
    .options = rows,
    .bytes = sizeof(struct case_options),
    .takes_framework = true,
    .framework_offset = offsetof(struct case_options, run.framework),
    .defaults = &defaults,
    .run = run_case,
};
