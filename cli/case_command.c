/* One call again, with everything that was measured about it. */
#include "cli/case_command.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cli/call_options.h"
#include "report/ci_reports.h"
#include "report/failing.h"
#include "results/outcome.h"
#include "results/row_print.h"
#include "runner/run.h"

struct case_options {
    struct call_options call;
    bool json;
};

#define AT(member) .offset = offsetof(struct case_options, member)

/* clang-format off */
static const struct option_row rows[] = {
    CALL_OF_DUMP_ROWS(struct case_options),
    { { "save_error_data" }, OPTION_FLAG, AT(call.run.save_error_data),
      .help = "Save inputs and both sides' outputs as .pt files in ut_error_data{timestamp} when the "
              "call is not a pass, as for run_ut." },
    { { "case-timeout" }, OPTION_SECONDS, AT(call.run.case_timeout_s), "SECONDS", .minimum = 0,
      .maximum = 1000000, .help = "Longest time a kernel or worker may take, 60 by default." },
    { { "no-diagnose" }, OPTION_FLAG, AT(call.run.no_diagnose),
      .help = "Do not ask which mistake a row that fails looks like." },
    { { "diagnose-budget" }, OPTION_SECONDS, AT(call.run.diagnose_budget_s), "SECONDS", .minimum = 0,
      .maximum = 1000000,
      .help = "How long to look for the mistake of a row that fails, 2 by default: seconds of a common "
              "core, counted in steps of arithmetic, so that the answer is the same everywhere." },
    { { "fail-on" }, OPTION_CHOICE, AT(call.run.fail_on), "VERDICT", .choices = failing_names,
      .help = "Exit with status 1 when the call has this verdict or a worse one, for git bisect." },
    { { "json" }, OPTION_FLAG, AT(json), .help = "Print the lines of the evidence file as they are." },
    { .names = { NULL } },
};
/* clang-format on */

static const struct case_options defaults = { .call.run = RUN_OPTIONS_DEFAULTS };

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
    struct run_options run;
    char dump[PATH_ARGUMENT_BYTES];
    TRY(call_options_resolve(&run, dump, &options->call));
    struct status status = run_one_call(&outcome, &run, options->call.name);
    if (!status.code) status = print_outcome(&outcome, options->json);
    if (!status.code) *exit_status = exit_status_of(&outcome, options->call.run.fail_on);
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
    .framework_offset = offsetof(struct case_options, call.run.framework),
    .defaults = &defaults,
    .run = run_case,
};
