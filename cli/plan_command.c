/* The options of plan: those of run_ut that matter to a whole job, and how to cut it. */
#include "cli/plan_command.h"

#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "cli/job_options.h"
#include "cli/path_arguments.h"
#include "cli/run_option_rows.h"
#include "cli/warning_printer.h"
#include "cluster/calibration.h"
#include "cluster/job_paths.h"
#include "cluster/plan.h"
#include "cluster/scripts.h"
#include "core/quantity.h"
#include "core/timestamp.h"
#include "runner/environment.h"

struct plan_options {
    struct operands operands;
    struct run_options run;
    const char *job, *calibration;
    int64_t shards;
    double shard_seconds;
};

#define AT(member)     .offset = offsetof(struct plan_options, member)
#define AT_RUN(member) .offset = offsetof(struct plan_options, run.member)

/* clang-format off */
static const struct option_row rows[] = {
    { { "o", "out_path" }, OPTION_DIRECTORY, AT(job), "JOB", .required = true,
      .help = "The directory of the job, on a file system that all hosts have: plan.json and the scripts "
              "go there, and later what the shards find. Created when it does not exist." },
    { { "shards" }, OPTION_INTEGER, AT(shards), "N", .minimum = 1, .maximum = PLAN_SHARDS_MOST,
      .help = "How many shards, all of about the same time." },
    { { "shard-seconds" }, OPTION_SECONDS, AT(shard_seconds), "SECONDS", .minimum = 0,
      .maximum = 10000000,
      .help = "How long a shard may take with the threads of -n, instead of --shards. A call that takes "
              "longer is a shard of its own." },
    { { "calibration" }, OPTION_CHOICE, AT(calibration), "HOW", .choices = calibration_names,
      .help = "How fast a core is: measured (default) in a second or two on this machine, or built-in, "
              "which gives the same plan everywhere." },
    RUN_CHECK_ROWS(AT_RUN),
    RUN_REPORT_ROWS(AT_RUN),
    { { "no-progress" }, OPTION_FLAG, AT_RUN(no_progress), .help = "No progress line." },
    { .names = { NULL } },
};
/* clang-format on */

static const struct plan_options defaults = { .run = RUN_OPTIONS_DEFAULTS };

static struct status check_cut(const struct plan_options *options)
{
    bool seconds = options->shard_seconds > 0;
    if (!options->shards == seconds) return status_ok();
    return status_error(STATUS_BAD_ARGUMENT,
                        seconds ? "--shards and --shard-seconds exclude each other"
                                : "plan needs --shards N or --shard-seconds SECONDS");
}

/* A plan that is there belongs to shards that may be at work. */
static struct status check_job(const char *job, const char *plan)
{
    if (file_exists(plan))
        return status_error(STATUS_BAD_ARGUMENT,
                            "'%s' has a plan; choose another directory or remove this one",
                            file_shown(job).text);
    return file_make_directories(job);
}

/* What the plan says beside its dumps and shards. */
static struct status name_plan(struct plan *plan, struct arena *arena,
                               const struct run_options *run)
{
    char directory[PATH_MAX];
    struct timestamp now;
    TRY(timestamp_of(&now, time(NULL)));
    plan->version = PROBE_VERSION;
    plan->timestamp = arena_copy_string(arena, now.text);
    plan->root = run->api_info;
    plan->directory =
        arena_copy_string(arena, getcwd(directory, sizeof directory) ? directory : ".");
    if (!plan->timestamp || !plan->directory) return status_no_memory(0);
    return job_options_write(plan, arena, run);
}

static void print_plan(const struct plan *plan, const char *path)
{
    size_t calls = 0, refused = 0;
    double longest = 0, all = 0;
    for (size_t i = 0; i < plan->n_shards; i++) {
        const struct plan_shard *shard = &plan->shards[i];
        calls += shard->calls;
        all += shard->seconds;
        if (shard->seconds > longest) longest = shard->seconds;
    }
    for (size_t i = 0; i < plan->n_dumps; i++) refused += plan->dumps[i].refused != NULL;
    printf("%s of %s, about %.3g s of one thread\n", quantity_of(calls, "call").text,
           quantity_of(plan->n_dumps - refused, "dump").text, all);
    if (refused) printf("dumps that cannot be checked: %zu\n", refused);
    printf("%s, the longest about %.3g s, %.3g times the mean\n",
           quantity_of(plan->n_shards, "shard").text, longest,
           all > 0 ? longest * (double)plan->n_shards / all : 1);
    printf("plan: %s\n", path);
}

/* For the engines that clusters run. */
static struct status write_scripts(const struct plan *plan, const struct plan_options *options)
{
    struct scripts_request request = { .job = options->job,
                                       .dump_root = plan->root,
                                       .shards = plan->n_shards,
                                       .threads = options->run.threads,
                                       .memory_bytes = options->run.memory_bytes };
    if (!plan->n_shards) return status_ok();
    for (size_t i = 0; i < plan->n_shards; i++)
        if (plan->shards[i].seconds > request.longest_s)
            request.longest_s = plan->shards[i].seconds;
    TRY(scripts_write(&request));
    printf("submit: sbatch %s/slurm.sh, or kubectl apply -f %s/kubernetes.yaml; by hand: probe-ut "
           "work %s --shard 0 and so on\n",
           options->job, options->job, options->job);
    return status_ok();
}

static struct status make_plan(struct arena *arena, const struct plan_options *options,
                               const struct dump_tree *tree, bool single)
{
    struct plan plan = { .single = single };
    const int64_t threads = options->run.threads ? options->run.threads : environment_cores();
    struct cost_model model;
    const struct plan_request request = { .options = &options->run,
                                          .tree = tree,
                                          .single = single,
                                          .shards = (size_t)options->shards,
                                          .shard_seconds = options->shard_seconds * (double)threads,
                                          .model = &model };
    const char *path = job_path(arena, options->job, "plan.json");
    if (!path) return status_no_memory(0);
    TRY(check_job(options->job, path));
    TRY(calibration_of(&model, options->calibration, &options->run));
    plan.model = model;
    TRY(plan_make(&plan, arena, &request));
    TRY(name_plan(&plan, arena, &options->run));
    TRY(job_options_copy_files(options->job, &options->run));
    TRY(plan_write(&plan, arena, path));
    print_plan(&plan, path);
    return write_scripts(&plan, options);
}

static struct status run(int *exit_status, const void *values)
{
    struct plan_options options = *(const struct plan_options *)values;
    struct arena arena = { 0 };
    struct dump_tree tree;
    bool is_tree;
    *exit_status = 0;
    options.run.api_info = options.operands.items[0];
    options.run.warnings = warning_printer;
    TRY(check_cut(&options));
    const struct path_argument_tree wanted = { options.run.api_info, options.run.steps,
                                               options.run.ranks, options.run.file_policy };
    struct status status = path_argument_dumps(&is_tree, &tree, &arena, &wanted);
    if (!status.code) status = make_plan(&arena, &options, &tree, !is_tree);
    arena_release(&arena);
    return status;
}

const struct command plan_command = {
    .word = "plan",
    .summary = "cut the dumps of a job into shards for a cluster",
    .text =
        "Read all dumps at or below DUMPS, estimate what each call costs, and cut the calls into "
        "shards of about the same time. JOB/plan.json says which; `work` does one of them on any "
        "host "
        "that sees JOB and the dumps, and `merge` puts the results together as the files of one "
        "run.\n\n"
        "The options are those of run_ut and hold for all shards; those about reports are applied "
        "by "
        "merge.",
    .options = rows,
    .operands = "DUMPS",
    .operands_minimum = 1,
    .operands_maximum = 1,
    .operands_offset = offsetof(struct plan_options, operands),
    .bytes = sizeof(struct plan_options),
    .takes_framework = true,
    .framework_offset = offsetof(struct plan_options, run.framework),
    .defaults = &defaults,
    .run = run,
};
