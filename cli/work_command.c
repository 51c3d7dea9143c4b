/* The options of work: which shard, and what differs from host to host. */
#include "cli/work_command.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "cli/job_options.h"
#include "cli/warning_printer.h"
#include "cluster/job_paths.h"
#include "cluster/work.h"
#include "core/memory.h"

struct work_options {
    struct operands operands;
    int64_t shard; /* -1: the environment says */
    const char *dump_root;
    struct run_options run; /* what is given here goes before what the plan says */
};

#define AT(member) .offset = offsetof(struct work_options, member)

/* clang-format off */
static const struct option_row rows[] = {
    { { "shard" }, OPTION_INTEGER, AT(shard), "I", .minimum = 0, .maximum = PLAN_SHARDS_MOST - 1,
      .help = "Which shard, from 0. Without it SLURM_ARRAY_TASK_ID says which, or JOB_COMPLETION_INDEX, "
              "which array jobs of Slurm and indexed jobs of Kubernetes set." },
    { { "dump-root" }, OPTION_FILE, AT(dump_root), "DUMPS", .or_directory = true,
      .help = "Where this host has the dumps, when that is elsewhere than where plan had them. The "
              "results name them as plan did." },
    { { "n", "num_splits" }, OPTION_INTEGER, AT(run.threads), "N", .minimum = 1, .maximum = 64,
      .help = "Threads, as for run_ut." },
    { { "memory" }, OPTION_BYTES, AT(run.memory_bytes), "BYTES",
      .help = "Memory for all calls in work together, as for run_ut." },
    { { "d", "device" }, OPTION_INTEGERS, AT(run.devices), "ID", .minimum = 0, .maximum = 4095,
      .help = "Device numbers, as for run_ut." },
    { { "no-progress" }, OPTION_FLAG, AT(run.no_progress), .help = "No progress line." },
    { { "trust-files" }, OPTION_FLAG, AT(run.file_policy.trusted),
      .help = "Read files that are symbolic links, belong to somebody else, can be written by "
              "everybody or are larger than their kind should be." },
    { .names = { NULL } },
};
/* clang-format on */

static const struct work_options defaults = { .shard = -1, .run = RUN_OPTIONS_DEFAULTS };

/* ---- which shard ------------------------------------------------------------------------ */

static const char *const shard_variables[] = { "SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX" };

static struct status read_variable(int64_t *shard, const char *name, const char *text)
{
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (end == text || *end || errno || number < 0)
        return status_error(STATUS_BAD_ARGUMENT, "%s is '%s', which is the number of no shard",
                            name, text);
    *shard = number;
    return status_ok();
}

static struct status find_shard(size_t *out, const struct work_options *options,
                                const struct plan *plan)
{
    int64_t shard = options->shard;
    for (size_t i = 0; shard < 0 && i < sizeof shard_variables / sizeof *shard_variables; i++) {
        const char *text = getenv(shard_variables[i]); /* NOLINT(concurrency-mt-unsafe) */
        if (text && *text) TRY(read_variable(&shard, shard_variables[i], text));
    }
    if (shard < 0)
        return status_error(STATUS_BAD_ARGUMENT,
                            "which shard? --shard I says it, or SLURM_ARRAY_TASK_ID or "
                            "JOB_COMPLETION_INDEX in the environment");
    if ((size_t)shard >= plan->n_shards)
        return status_error(STATUS_BAD_ARGUMENT,
                            "there is no shard %lld: the job has %zu, numbered from 0",
                            (long long)shard, plan->n_shards);
    *out = (size_t)shard;
    return status_ok();
}

/* ---- all of it -------------------------------------------------------------------------- */

static void override(struct run_options *options, const struct run_options *given)
{
    if (given->threads) options->threads = given->threads;
    if (given->memory_bytes) options->memory_bytes = given->memory_bytes;
    if (given->devices.count) options->devices = given->devices;
    options->no_progress |= given->no_progress;
    options->warnings = warning_printer;
}

struct working {
    struct job job;
    struct work_request request;
};

static struct status work(struct working *working, const struct work_options *options)
{
    struct job *job = &working->job;
    struct work_request *request = &working->request;
    TRY(job_open(job, options->operands.items[0], options->run.file_policy));
    *request =
        (struct work_request){ .job = job->directory, .plan = &job->plan, .told = job->told };
    TRY(find_shard(&request->shard, options, &job->plan));
    override(&job->options, &options->run);
    request->options = job->options;
    request->dump_root = job_dump_root(&job->arena, &job->plan, options->dump_root);
    if (!request->dump_root) return status_no_memory(0);
    return work_do(request);
}

static struct status run(int *exit_status, const void *values)
{
    struct working *working = memory_allocate_zeroed(1, sizeof *working);
    if (!working) return status_no_memory(sizeof *working);
    *exit_status = 0;
    struct status status = work(working, values);
    /* After an interruption threads may still use what lies there; the process is about to end. */
    if (status.code == STATUS_INTERRUPTED) return status;
    job_close(&working->job);
    memory_release(working);
    return status;
}

const struct command work_command = {
    .word = "work",
    .summary = "do one shard of a job",
    .text = "Check the calls of one shard of the job that `plan` made. Killed at any moment and "
            "started "
            "again, on this host or another, it resumes where it stopped; two copies of a shard at "
            "once do no "
            "harm, and of a shard that is done nothing is done again.\n\n"
            "The exit status is 0 when the shard is done, whatever the verdicts are: merge judges "
            "the job.",
    .options = rows,
    .operands = "JOB",
    .operands_minimum = 1,
    .operands_maximum = 1,
    .operands_offset = offsetof(struct work_options, operands),
    .bytes = sizeof(struct work_options),
    .defaults = &defaults,
    .run = run,
};
