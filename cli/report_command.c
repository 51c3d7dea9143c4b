/* The options of report. */
#include "cli/report_command.h"

#include <stddef.h>
#include <stdio.h>

#include "report/html/html_report.h"
#include "runner/interrupts.h"

struct report_options {
    const char *out;
    struct file_policy policy;
    struct operands paths;
};

static struct status run(int *exit_status, const void *values)
{
    const struct report_options *options = values;
    struct interrupts interrupts;
    *exit_status = 0;
    TRY(interrupts_open(&interrupts));
    const struct html_report_request request = { .paths = options->paths.items,
                                                 .count = options->paths.count,
                                                 .out_path = options->out,
                                                 .policy = options->policy,
                                                 .stop = interrupts_stop(&interrupts) };
    struct status status = html_report_make(&request, stdout);
    interrupts_close(&interrupts);
    return status;
}

#define AT(member) .offset = offsetof(struct report_options, member)

/* clang-format off */
static const struct option_row rows[] = {
    { { "o", "out_path" }, OPTION_FILE, AT(out), "FILE", .suffix = ".html",
      .help = "The page; report.html by default. An older one of this name is replaced." },
    { { "trust-files" }, OPTION_FLAG, AT(policy.trusted),
      .help = "Read files that are links, belong to another user, may be written by others or "
              "are larger than usual." },
    { .names = { NULL } },
};
/* clang-format on */

static const struct report_options defaults = { .out = "report.html" };

const struct command report_command = {
    .word = "report",
    .summary = "make a page to look at from results",
    .text = "Makes one HTML page from result files: what was checked, which calls went wrong and "
            "why, what was skipped, where the time went, all rows to search, filter and sort, and "
            "for each its errors, limits, worst elements and the command that repeats it. The page "
            "is one file that needs a browser and no network.\n\n"
            "RESULT is a directory, searched with those below it, or a file: what run_ut and "
            "api_precision_compare write, details files of msprobe, and CSV files of a comparison "
            "of dumps. Several runs (ranks, steps, before and after, NPU and GPU) come to stand "
            "beside each other, in the order given.",
    .options = rows,
    .operands = "RESULT ...",
    .operands_minimum = 1,
    .operands_maximum = OPERANDS_MAX,
    .operands_offset = offsetof(struct report_options, paths),
    .bytes = sizeof(struct report_options),
    .defaults = &defaults,
    .run = run,
};
