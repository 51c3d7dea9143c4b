/* The options of a run and where they go. */
#include "cli/run_command.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cli/path_arguments.h"
#include "cli/run_option_rows.h"
#include "cli/serve_command.h"
#include "cli/warning_printer.h"
#include "core/arena.h"
#include "online/online_config.h"
#include "runner/devices/worker/framework_backend.h"
#include "runner/give_way.h"
#include "runner/run.h"
#include "runner/run_options.h"

#define AT(member) .offset = offsetof(struct run_options, member)

/* Calls that processes send while they train need no dump: `-config` alone, with is_online true. */
static bool says_online(const void *options)
{
    const struct run_options *o = options;
    return online_config_says_online(o->config_path, o->file_policy);
}

/* clang-format off */
static const struct option_row rows[] = {
    { { "api_info", "api_info_file" }, OPTION_FILE, AT(api_info), "FILE", .required = true,
      .is_spared = says_online, .suffix = ".json", .or_directory = true,
      .help = "The dump.json to check, recorded at level L1 or mix. Its tensors, if it has any, lie "
              "in dump_tensor_data beside it. A directory stands for all dumps at or below it "
              "(step0/rank3/dump.json): they are checked as one job, each with its files in its "
              "folder below DIR of -o." },
    { { "o", "out_path" }, OPTION_DIRECTORY, AT(out_path), "DIR",
      .help = "Where the result files go; created when it does not exist. The working directory "
              "by default." },
    { { "csv_path", "result_csv_path" }, OPTION_FILE, AT(result_csv_path), "FILE",
      .suffix = ".csv", .or_directory = true,
      .help = "Resume an unfinished run: its accuracy_checking_result_{timestamp}.csv, or the "
              "directory of its results, which means the newest run there, of several dumps the "
              "newest of each. What is torn is cut off, what is done stays, and the files end up as those of a run "
              "that was never interrupted. The other options must be those of that run." },
    RUN_CHECK_ROWS(AT),
    RUN_REPORT_ROWS(AT),
    { { "timings" }, OPTION_FILE, AT(timings), "FILE",
      .help = "Write the seconds that each call took in reference, device and comparison to a "
              "new CSV file." },
    { { "retry-crashed" }, OPTION_FLAG, AT(retry_crashed),
      .help = "When a run is resumed, go back to the first call whose kernel crashed or hung "
              "and repeat everything from there; otherwise such a call keeps its error row." },
    RUN_NICE_ROW(AT),
    { { "no-progress" }, OPTION_FLAG, AT(no_progress), .help = "No progress line." },
    { .names = { NULL } },
};
/* clang-format on */

static const struct run_options defaults = RUN_OPTIONS_DEFAULTS;

/* What is not typed is said: which interpreter and which worker `torch` means here. Looking for them takes long
 * enough to be done once. */
static struct status announce_torch(struct run_options *o, struct framework_backend *found,
                                    struct arena *arena)
{
    if (!o->backend || !framework_backend_is_meant(o->backend)) return status_ok();
    TRY(framework_backend_find(found, arena, o->backend, o->file_policy));
    (void)fprintf(stderr, "probe-ut: %s: %s runs %s\n", o->backend, found->python, found->worker);
    o->backend_found = found;
    return status_ok();
}

/* A directory of results stands for the newest complete run in it, which is named; of several dumps
 * each has its own. */
static struct status find_baseline(struct run_options *o, struct arena *arena)
{
    char path[PATH_ARGUMENT_BYTES];
    if (!o->baseline) return status_ok();
    TRY(path_argument_newest(path, "--baseline", &o->baseline, 1, PATH_DETAILS, o->file_policy));
    o->baseline = arena_copy_string(arena, path);
    return o->baseline ? status_ok() : status_no_memory(0);
}

/* A directory with several dumps is a job of all of them; one that holds a single dump means that. */
static struct status run_dumps(int *exit_status, struct run_options *o, struct arena *arena)
{
    struct dump_tree tree;
    bool is_tree;
    const struct path_argument_tree wanted = { o->api_info, o->steps, o->ranks, o->file_policy };
    TRY(path_argument_dumps(&is_tree, &tree, arena, &wanted));
    if (is_tree) return run_checks(exit_status, o, &tree);
    if (strcmp(tree.items[0].path, o->api_info) != 0) printf("dump: %s\n", tree.items[0].path);
    o->api_info = tree.items[0].path;
    TRY(find_baseline(o, arena));
    return run_checks(exit_status, o, NULL);
}

static struct status run(int *exit_status, const void *options)
{
    if (!((const struct run_options *)options)->api_info)
        return serve_by_config(exit_status, options);
    struct run_options resolved = *(const struct run_options *)options;
    struct arena arena = { 0 };
    struct framework_backend found;
    resolved.warnings = warning_printer;
    if (resolved.nice) give_way();
    struct status status = announce_torch(&resolved, &found, &arena);
    if (!status.code) status = run_dumps(exit_status, &resolved, &arena);
    /* After an interruption threads may still use what lies there; the process is about to end. */
    if (status.code != STATUS_INTERRUPTED) arena_release(&arena);
    return status;
}

static const char *const aliases[] = { "multi_run_ut", "acc_check", "multi_acc_check", NULL };

const struct command run_command = {
    .word = "run_ut",
    .aliases = aliases,
    .summary = "check every API call of a dump (the default command)",
    .text = "Give every recorded API call its inputs back, compute what it should return with a "
            "proven bound on the error, ask the device what it does return, and write for each "
            "output and gradient whether the difference is what honest rounding explains.\n\n"
            "The verdicts go to accuracy_checking_result_{timestamp}.csv, one row per call, and "
            "accuracy_checking_details_{timestamp}.csv, one row per output and gradient, in the "
            "order of the dump.",
    .options = rows,
    .bytes = sizeof(struct run_options),
    .takes_framework = true,
    .framework_offset = offsetof(struct run_options, framework),
    .defaults = &defaults,
    .run = run,
};
