/* The options of merge: where to, and what to tell. */
#include "cli/merge_job_command.h"

#include <stddef.h>
#include <stdio.h>
#include <time.h>

#include "cli/job_options.h"
#include "cli/run_option_rows.h"
#include "cli/warning_printer.h"
#include "cluster/job_paths.h"
#include "cluster/job_status.h"
#include "cluster/merge.h"

struct merge_job_options {
    struct operands operands;
    const char *out_path, *dump_root;
    bool partial, status;
    struct run_options run; /* what is given here goes before what the plan says */
};

#define AT(member)     .offset = offsetof(struct merge_job_options, member)
#define AT_RUN(member) .offset = offsetof(struct merge_job_options, run.member)

/* clang-format off */
static const struct option_row rows[] = {
    { { "o", "out_path" }, OPTION_DIRECTORY, AT(out_path), "DIR",
      .help = "Where the result files go, those of each dump in its folder, as run_ut over the dumps "
              "writes them; created when it does not exist. Those of an earlier merge are replaced." },
    { { "partial" }, OPTION_FLAG, AT(partial),
      .help = "Merge the shards that are done and leave out the others, which are named." },
    { { "status" }, OPTION_FLAG, AT(status),
      .help = "Merge nothing, and say how far the job is: shards, calls, rate, time left, failing calls "
              "so far. It may be at work." },
    { { "dump-root" }, OPTION_FILE, AT(dump_root), "DUMPS", .or_directory = true,
      .help = "Where this host has the dumps, for the command that shows the worst call again." },
    RUN_REPORT_ROWS(AT_RUN),
    { { "no-progress" }, OPTION_FLAG, AT_RUN(no_progress), .help = "No progress line." },
    { { "trust-files" }, OPTION_FLAG, AT_RUN(file_policy.trusted),
      .help = "Read files that are symbolic links, belong to somebody else, can be written by "
              "everybody or are larger than their kind should be." },
    { .names = { NULL } },
};
/* clang-format on */

static const struct merge_job_options defaults = { .run = RUN_OPTIONS_DEFAULTS };

static void override(struct run_options *options, const struct run_options *given)
{
    const char **const places[] = { &options->fail_on, &options->min_judged, &options->junit,
                                    &options->baseline, &options->report };
    const char *const values[] = { given->fail_on, given->min_judged, given->junit, given->baseline,
                                   given->report };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (values[i]) *places[i] = values[i];
    options->color = given->color;
    options->no_progress |= given->no_progress;
    options->warnings = warning_printer;
}

static struct status show_status(const struct job *job)
{
    struct job_status status;
    TRY(job_status_read(&status, job->directory, &job->plan, job->options.file_policy));
    job_status_print(stdout, &status, &job->plan, (int64_t)time(NULL));
    return status_ok();
}

static struct status merge(int *exit_status, struct job *job,
                           const struct merge_job_options *options)
{
    TRY(job_open(job, options->operands.items[0], options->run.file_policy));
    if (options->status) return show_status(job);
    override(&job->options, &options->run);
    struct merge_request request = { .job = job->directory,
                                     .plan = &job->plan,
                                     .dump_root = options->dump_root ? options->dump_root
                                                                     : job->plan.root,
                                     .options = job->options,
                                     .partial = options->partial };
    request.options.api_info = request.dump_root;
    request.options.out_path = options->out_path;
    request.options.config_path = job->told.config_path;
    request.options.thresholds = job->told.thresholds;
    request.options.budget = job->told.budget;
    return merge_job(exit_status, &request);
}

static struct status run(int *exit_status, const void *values)
{
    const struct merge_job_options *options = values;
    struct job job = { .directory = NULL };
    *exit_status = 0;
    if (!options->out_path && !options->status)
        return status_error(STATUS_BAD_ARGUMENT, "merge needs -o DIR, or --status");
    struct status status = merge(exit_status, &job, options);
    job_close(&job);
    return status;
}

const struct command merge_job_command = {
    .word = "merge",
    .summary = "put the shards of a job together as one run",
    .text =
        "Write the files that one run over all dumps of the job writes, byte for byte, from what "
        "its "
        "shards found, and tell the same: summary, reports, exit status. Every shard is read and "
        "checked: a file that is not whole, or is of another job, is named.",
    .options = rows,
    .operands = "JOB",
    .operands_minimum = 1,
    .operands_maximum = 1,
    .operands_offset = offsetof(struct merge_job_options, operands),
    .bytes = sizeof(struct merge_job_options),
    .defaults = &defaults,
    .run = run,
};
