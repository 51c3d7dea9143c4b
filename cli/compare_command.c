/* The options of a comparison of dumps, and its jobs on threads: dumps without tensors run side by
 * side, rank by rank; a dump with tensors has all threads to itself. What jobs say is printed in
 * their order.
 */
#include "cli/compare_command.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/choices.h"
#include "cli/compare_ranks.h"
#include "cli/compare_trees.h"
#include "cli/warning_printer.h"
#include "compare/dumps/input.h"
#include "compare/dumps/job.h"
#include "core/clock.h"
#include "core/memory.h"
#include "report/ci_reports.h"
#include "report/html/html_report.h"
#include "report/progress.h"
#include "runner/interrupts.h"

struct compare_options {
    const char *framework; /* of the program's command line */
    const char *input, *target, *golden, *output;
    bool diff_analyze, show_stacks, compare_only, fuzzy, highlight, xlsx, log_rows;
    const char *format, *schema;
    bool bench_only, schema_only, json, no_progress;
    struct integer_list ranks, steps;
    int64_t threads;
    const char *profile, *fail_on, *tensor_fix, *report;
    bool consistency;
    const char *backend;
    const char *api_mapping, *cell_mapping, *data_mapping, *layer_mapping; /* built_in for none */
    struct file_policy file_policy;
};

/* A mapping without a file. */
static const char built_in[] = "";

/* ---- progress and interrupts ------------------------------------------------------------ */

struct watching {
    struct progress progress;
    const struct interrupts *interrupts;
    pthread_mutex_t lock; /* jobs side by side share the watch */
    bool started, enabled, stopped;
};

static bool go_on(void *context, size_t done, size_t total)
{
    struct watching *w = context;

    (void)pthread_mutex_lock(&w->lock);
    if (!w->started) {
        progress_start(&w->progress, stderr, w->enabled, total, 0, 0, clock_seconds());
        w->progress.unit = "rows";
        w->progress.unjudged = true;
        w->started = true;
    }
    w->progress.done = done;
    progress_show(&w->progress, clock_seconds());
    if (interrupts_take(w->interrupts)) w->stopped = true;
    bool stopped = w->stopped;
    (void)pthread_mutex_unlock(&w->lock);
    return !stopped;
}

static void end_progress(struct watching *w)
{
    if (w->started) progress_end(&w->progress);
    w->started = false;
}

/* ---- jobs ------------------------------------------------------------------------------- */

struct jobs {
    const struct dump_plan *plan;
    const struct job_request *request;
    struct job_outcome *outcomes;
    atomic_size_t next;
    struct watching *watching;
};

static void *run_jobs(void *argument)
{
    struct jobs *jobs = argument;
    for (;;) {
        size_t i = atomic_fetch_add(&jobs->next, 1);
        if (i >= jobs->plan->count) return NULL;
        if (jobs->watching->stopped)
            jobs->outcomes[i].status = status_error(STATUS_INTERRUPTED, "interrupted");
        else job_run(&jobs->outcomes[i], &jobs->plan->jobs[i], jobs->request);
    }
}

/* Jobs side by side; those of tensors use their threads for rows instead. */
static void run_all(struct jobs *jobs, unsigned threads)
{
    pthread_t others[64];
    unsigned started = 0;

    while (started + 1 < threads && started + 1 < jobs->plan->count && started < 64 &&
           !pthread_create(&others[started], NULL, run_jobs, jobs))
        started++;
    (void)run_jobs(jobs);
    for (unsigned i = 0; i < started; i++) (void)pthread_join(others[i], NULL);
}

/* ---- what the user sees ----------------------------------------------------------------- */

static void print_warnings(const struct csv_buffer *warnings)
{
    for (size_t at = 0; at < warnings->length;) {
        const char *line = warnings->data + at, *end = memchr(line, '\n', warnings->length - at);
        size_t length = end ? (size_t)(end - line) : warnings->length - at;
        (void)fprintf(stderr, "warning: %.*s\n", (int)length, line);
        at += length + 1;
    }
}

static struct status print_json(struct jobs *jobs)
{
    cJSON *root = cJSON_CreateObject();
    cJSON *list = root ? cJSON_AddArrayToObject(root, "comparisons") : NULL;
    cJSON *skipped = root ? cJSON_AddArrayToObject(root, "skipped") : NULL;
    bool complete = list && skipped;

    for (size_t i = 0; complete && i < jobs->plan->count; i++) {
        struct job_outcome *outcome = &jobs->outcomes[i];
        if (outcome->json) {
            complete = cJSON_AddItemToArray(list, outcome->json);
            if (complete) outcome->json = NULL;
            continue;
        }
        cJSON *item = cJSON_CreateObject();
        complete = item && cJSON_AddItemToArray(skipped, item) &&
                   cJSON_AddStringToObject(item, "npu_path", jobs->plan->jobs[i].npu_path) &&
                   cJSON_AddStringToObject(item, "reason", outcome->status.text);
    }
    char *text = complete ? cJSON_Print(root) : NULL;
    cJSON_Delete(root);
    if (!text) return status_no_memory(0);
    (void)puts(text);
    cJSON_free(text);
    return status_ok();
}

static void print_outcome(const struct dump_job *job, const struct job_outcome *outcome,
                          bool several, bool json)
{
    print_warnings(&outcome->warnings);
    if (outcome->status.code && several)
        (void)fprintf(stderr, "warning: %s is skipped: %s\n", file_shown(job->npu_path).text,
                      outcome->status.text);
    if (json || outcome->status.code) return;
    if (several) (void)printf("%s%s\n", job->folder, *job->suffix ? job->suffix + 1 : "");
    (void)fwrite(outcome->report.data ? outcome->report.data : "", 1, outcome->report.length,
                 stdout);
}

/* The first failure when no job was done, or one that ends everything. */
static struct status overall_status(const struct jobs *jobs)
{
    struct status first = status_ok();
    bool any_done = false;

    for (size_t i = 0; i < jobs->plan->count; i++) {
        struct status status = jobs->outcomes[i].status;
        if (!status.code) any_done = true;
        else if (status.code != STATUS_BAD_INPUT && status.code != STATUS_BAD_ARGUMENT)
            return status;
        else if (!first.code) first = status;
    }
    return any_done ? status_ok() : first;
}

static bool fails_on_warning(const struct compare_options *options)
{
    return options->fail_on && !strcmp(options->fail_on, "warning");
}

static struct status report(int *exit_status, struct jobs *jobs,
                            const struct compare_options *options)
{
    uint64_t judged = 0, errors = 0, suspicious = 0;

    TRY(overall_status(jobs));
    for (size_t i = 0; i < jobs->plan->count; i++) {
        print_outcome(&jobs->plan->jobs[i], &jobs->outcomes[i], jobs->plan->count > 1,
                      options->json);
        judged += jobs->outcomes[i].judged;
        errors += jobs->outcomes[i].errors;
        suspicious += jobs->outcomes[i].suspicious;
    }
    if (options->json) TRY(print_json(jobs));
    bool failed = errors || (fails_on_warning(options) && suspicious);
    *exit_status = !options->fail_on ? 0 : failed ? EXIT_FAILURES : judged ? 0 : EXIT_NO_VERDICT;
    return status_ok();
}

/* The page of --report, of all results that were written. */
static struct status make_page(const struct jobs *jobs, const struct compare_options *options)
{
    size_t count = 0, most = jobs->plan->count;
    if (!options->report) return status_ok();
    const char **paths = memory_allocate(most * sizeof *paths);
    struct html_report_sides *sides = memory_allocate(most * sizeof *sides);
    for (size_t i = 0; paths && sides && i < most; i++) {
        if (!jobs->outcomes[i].table_path) continue;
        const struct dump_job *job = &jobs->plan->jobs[i];
        sides[count] = (struct html_report_sides){ job->npu_path, job->bench_path };
        paths[count++] = jobs->outcomes[i].table_path;
    }
    const struct html_report_request request = { .paths = paths,
                                                 .count = count,
                                                 .sides = sides,
                                                 .out_path = options->report,
                                                 .policy = options->file_policy };
    struct status status = status_ok();
    if (!paths || !sides) status = status_no_memory(most * sizeof *sides);
    else if (count) status = html_report_make(&request, options->json ? stderr : stdout);
    memory_release(sides);
    memory_release(paths);
    return status;
}

/* ---- the command ------------------------------------------------------------------------ */

static enum table_format choose_format(const struct compare_options *options)
{
    bool third = options->target != NULL; /* whose command line writes CSV unless told otherwise */
    if (options->format) return strcmp(options->format, "csv") ? TABLE_XLSX : TABLE_CSV;
    return third && !options->xlsx && !options->highlight ? TABLE_CSV : TABLE_XLSX;
}

static unsigned thread_count(const struct compare_options *options)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (options->threads) return (unsigned)options->threads;
    return cores < 1 ? 1 : cores > 64 ? 64 : (unsigned)cores;
}

/* From the comparison file, or from -tp and -gp. */
static struct status read_input(struct comparison_input *out, const struct compare_options *options)
{
    if (options->input && (options->target || options->golden))
        return status_error(STATUS_BAD_ARGUMENT, "give either -i or -tp and -gp");
    if (options->input)
        return comparison_input_read(out, options->input, true, options->file_policy);
    if (!options->target || !options->golden)
        return status_error(STATUS_BAD_ARGUMENT, "give -i FILE, or -tp TARGET and -gp GOLDEN");
    TRY(comparison_input_of_paths(out, options->target, options->golden));
    out->print_rows = options->log_rows;
    return status_ok();
}

/* The first mapping that is asked for, in the order API, cell, data; a layer mapping becomes a data
 * mapping, and comes before one that is given. */
static struct status open_mapping(struct mapping **out, const struct compare_options *options)
{
    const struct {
        const char *path;
        enum mapping_kind kind;
    } asked[] = {
        { options->api_mapping, MAPPING_API },
        { options->cell_mapping, MAPPING_CELL },
        { options->layer_mapping, MAPPING_LAYER },
        { options->data_mapping, MAPPING_DATA },
    };
    bool mindspore = options->framework && !strcmp(options->framework, "mindspore");

    *out = NULL;
    if (options->consistency && !options->data_mapping)
        warn(warning_printer,
             "--consistent_check: there is no table of what training and inference call "
             "the same thing; names meet where they are equal, give -dm FILE for others");
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        if (!asked[i].path) continue;
        if (asked[i].kind == MAPPING_API && !mindspore) {
            warn(warning_printer,
                 "-am maps MindSpore's APIs; it needs -f mindspore before the word "
                 "compare, and is ignored");
            continue;
        }
        return mapping_open(out, asked[i].kind, *asked[i].path ? asked[i].path : NULL,
                            options->file_policy, warning_printer);
    }
    return status_ok();
}

static struct status make_request(struct job_request *out, const struct compare_options *options,
                                  const struct comparison_input *input, struct watching *watching)
{
    const struct comparison_watch watch = { go_on, watching };

    *out = (struct job_request){
        .comparison = { .stack_path = input->stack_path,
                        .show_stacks = options->show_stacks,
                        .framework = options->framework && !strcmp(options->framework, "mindspore")
                                         ? FRAMEWORK_MINDSPORE
                                         : FRAMEWORK_PYTORCH,
                        .generation = generation_of(options->schema),
                        .fuzzy = options->fuzzy,
                        .highlight = options->highlight || options->schema[1] == '1',
                        .file_policy = options->file_policy,
                        .threads = thread_count(options),
                        .watch = watch },
        .table = { .format = choose_format(options),
                   .threads = thread_count(options),
                   .extras = !options->schema_only,
                   .bench_only = options->bench_only,
                   .watch = watch },
        .output = options->output,
        .advise = !options->compare_only && options->schema[1] != '3',
        .print_rows = input->print_rows,
    };
    return timestamp_of(&out->stamp, time(NULL));
}

static struct status compare_plan(int *exit_status, const struct dump_plan *plan,
                                  struct job_request *request,
                                  const struct compare_options *options, struct watching *watching)
{
    struct jobs jobs = { .plan = plan, .request = request, .watching = watching };

    if (plan->count > 1) request->table.threads = 1; /* the others have their own tables */
    jobs.outcomes = memory_allocate_zeroed(plan->count, sizeof *jobs.outcomes);
    if (!jobs.outcomes) return status_no_memory(plan->count * sizeof *jobs.outcomes);
    run_all(&jobs, request->comparison.threads);
    end_progress(watching);
    struct status status = report(exit_status, &jobs, options);
    if (!status.code) status = make_page(&jobs, options);
    for (size_t i = 0; i < plan->count; i++) job_outcome_release(&jobs.outcomes[i]);
    memory_release(jobs.outcomes);
    return status;
}

static struct status compare(int *exit_status, const struct compare_options *options,
                             const struct comparison_input *input, struct watching *watching)
{
    const struct plan_request wanted = { .ranks = options->ranks.items,
                                         .n_ranks = options->ranks.count,
                                         .steps = options->steps.items,
                                         .n_steps = options->steps.count,
                                         .name_both_ranks = options->schema[1] == '1' };
    struct job_request request;
    struct dump_plan plan;
    struct profile *profile = NULL;
    struct mapping *mapping = NULL;
    struct tensor_fix fix = { 0 };

    TRY(make_request(&request, options, input, watching));
    const struct stop stop = interrupts_stop(watching->interrupts);
    const struct compare_trees_request trees = { .input = input,
                                                 .output = options->output,
                                                 .format = request.table.format,
                                                 .fail_on_error = options->fail_on != NULL,
                                                 .fail_on_warning = fails_on_warning(options),
                                                 .policy = options->file_policy,
                                                 .stop = stop };
    bool done;
    TRY(compare_trees(&done, exit_status, &trees));
    if (done) return status_ok();
    TRY(dump_plan_make(&plan, input->npu_path, input->bench_path, &wanted, warning_printer));
    struct status status = status_ok();
    if (options->profile)
        status = profile_load(&profile, options->profile, NULL, options->file_policy);
    if (!status.code) status = open_mapping(&mapping, options);
    if (!status.code && options->tensor_fix)
        status = tensor_fix_read(&fix, options->tensor_fix, options->file_policy);
    request.comparison.profile = profile;
    request.comparison.mapping = mapping;
    request.comparison.fix = options->tensor_fix ? &fix : NULL;
    if (!status.code)
        status = options->diff_analyze
                     ? compare_ranks(exit_status, &plan, &request, options->fail_on != NULL, stop)
                     : compare_plan(exit_status, &plan, &request, options, watching);
    if (profile) profile_release(profile);
    mapping_close(mapping);
    tensor_fix_release(&fix);
    dump_plan_release(&plan);
    return status;
}

static struct status run(int *exit_status, const void *values)
{
    const struct compare_options *options = values;
    struct comparison_input input;
    struct interrupts interrupts;

    TRY(read_input(&input, options));
    struct status status = interrupts_open(&interrupts);
    if (!status.code) {
        struct watching watching = { .interrupts = &interrupts,
                                     .lock = PTHREAD_MUTEX_INITIALIZER,
                                     .enabled = !options->no_progress };
        status = compare(exit_status, options, &input, &watching);
        if (!status.code && interrupts_take(&interrupts))
            status = status_error(STATUS_INTERRUPTED, "interrupted");
        interrupts_close(&interrupts);
    }
    comparison_input_release(&input);
    return status;
}

static const char *const *format_choices(void)
{
    static const char *const choices[] = { "xlsx", "csv", NULL };
    return choices;
}

static const char *const *backend_choices(void)
{
    static const char *const choices[] = { "fsdp", "megatron", NULL };
    return choices;
}

#define AT(member) .offset = offsetof(struct compare_options, member)

/* clang-format off */
static const struct option_row rows[] = {
    { { "i", "input_path" }, OPTION_FILE, AT(input), "FILE", .suffix = ".json",
      .help = "The comparison file: npu_path and bench_path, two dump.json, two debug.json or two "
              "folders of ranks or steps; stack_path." },
    { { "tp", "target_path" }, OPTION_FILE, AT(target), "PATH",
      .help = "The side under test, instead of a comparison file. Results are CSV then, unless --xlsx or -hl." },
    { { "gp", "golden_path" }, OPTION_FILE, AT(golden), "PATH",
      .help = "The reference, with -tp." },
    { { "o", "output_path" }, OPTION_DIRECTORY, AT(output), "DIR", .bare = "./output",
      .help = "Where the results go; created when it does not exist; ./output by default." },
    { { "s", "stack_mode" }, OPTION_FLAG, AT(show_stacks),
      .help = "Show stacks (NPU_Stack_Info) where the comparison file names a stack_path. Without "
              "one, stack.json beside the dump is shown if there is one." },
    { { "c", "compare_only" }, OPTION_FLAG, AT(compare_only), .help = "Write no advice." },
    { { "f", "fm", "fuzzy_match" }, OPTION_FLAG, AT(fuzzy),
      .help = "Ignore the counters of calls when matching: calls meet in order." },
    { { "hl", "highlight" }, OPTION_FLAG, AT(highlight),
      .help = "A workbook with suspicious rows in color; the reasons stand in Err_message." },
    { { "am", "api_mapping" }, OPTION_FILE, AT(api_mapping), "[FILE]", .bare = built_in,
      .help = "MindSpore against PyTorch: names of APIs by the built-in table, and by a YAML file over "
              "it." },
    { { "cm", "cell_mapping" }, OPTION_FILE, AT(cell_mapping), "[FILE]", .bare = built_in,
      .help = "Cells against modules; a YAML file maps {cell path}.{Class} to {module path}.{Class}." },
    { { "dm", "data_mapping" }, OPTION_FILE, AT(data_mapping), "FILE",
      .help = "A YAML file that maps names of NPU rows to names of Bench rows." },
    { { "lm", "layer_mapping" }, OPTION_FILE, AT(layer_mapping), "[FILE]", .bare = built_in,
      .help = "Match along the hierarchy of modules (construct.json, stack.json), with the names of a "
              "YAML file. The matches are saved as data_mapping_{timestamp}.yaml." },
    { { "tensor-fix" }, OPTION_FILE, AT(tensor_fix), "FILE",
      .help = "A YAML file with corrections of tensors before they are compared: padding rows, "
              "calibration matrices." },
    { { "da", "diff_analyze" }, OPTION_FLAG, AT(diff_analyze),
      .help = "Find where ranks begin to differ, following their communications: compare_result_{rank}.json "
              "of each rank, diff_analyze_{time}.json of all." },
    { { "rank" }, OPTION_INTEGERS, AT(ranks), "N", .minimum = 0, .maximum = 999999999,
      .help = "Only these ranks: --rank 0,1." },
    { { "step" }, OPTION_INTEGERS, AT(steps), "N", .minimum = 0, .maximum = 999999999,
      .help = "Only these steps." },
    { { "result-schema" }, OPTION_CHOICE, AT(schema), "NAME", .choices = generation_words,
      .help = "Columns and verdicts of a generation of msprobe: g2 (default), g1, g3." },
    { { "format" }, OPTION_CHOICE, AT(format), "NAME", .choices = format_choices,
      .help = "xlsx or csv: xlsx by default with a comparison file or -hl, else csv." },
    { { "xlsx" }, OPTION_FLAG, AT(xlsx), .help = "The same as --format xlsx." },
    { { "schema-only" }, OPTION_FLAG, AT(schema_only),
      .help = "Only the columns of the schema, without ours at the right (Verdict, counts of nan and "
              "inf)." },
    { { "show-bench-only" }, OPTION_FLAG, AT(bench_only),
      .help = "Rows that only Bench has, at the end of the table." },
    { { "json" }, OPTION_FLAG, AT(json), .help = "Print a summary as JSON instead of text." },
    { { "tensor_log" }, OPTION_FLAG, AT(log_rows), .help = "With -tp: a line per compared tensor." },
    { { "n", "num_threads" }, OPTION_INTEGER, AT(threads), "N", .minimum = 1, .maximum = 64,
      .help = "Threads, 1 to 64; one per core by default. The results are the same bytes for every N." },
    { { "profile" }, OPTION_CHOICE, AT(profile), "NAME", .choices = profile_names,
      .help = "Judge tensors by the limits that run_ut has for their dtype, in the column Verdict." },
    { { "consistent_check" }, OPTION_FLAG, AT(consistency),
      .help = "A dump of training against one of inference; their names meet where they are equal, others by "
              "-dm." },
    { { "backend" }, OPTION_CHOICE, AT(backend), "NAME", .choices = backend_choices,
      .help = "With --consistent_check: fsdp or megatron." },
    { { "fail-on" }, OPTION_CHOICE, AT(fail_on), "VERDICT", .choices = fail_on_verdicts,
      .help = "Exit with status 1 when a row has this verdict or a worse one; warning includes rows "
              "without a partner. Without it what is found does not change the exit status." },
    { { "report" }, OPTION_FILE, AT(report), "FILE", .suffix = ".html",
      .help = "Write a page to look at, as the command report does, of all results of this "
              "comparison. An older one of this name is replaced." },
    { { "no-progress" }, OPTION_FLAG, AT(no_progress), .help = "No progress line." },
    { { "trust-files" }, OPTION_FLAG, AT(file_policy.trusted),
      .help = "Read files that are links, belong to another user, may be written by others or are "
              "larger than usual." },
    { .names = { NULL } },
};
/* clang-format on */

static const struct compare_options defaults = { .output = "./output", .schema = "g2" };

const struct command compare_dumps_command = {
    .word = "compare",
    .summary = "compare two dumps of the same step, row by row",
    .text = "Reads two dumps of the same training step (two devices, two versions of a library, "
            "MindSpore and PyTorch), matches their rows, and writes "
            "compare_result_{timestamp}.xlsx: for tensors cosine, distance and errors, for "
            "statistics their differences, for checksums whether they are equal.\n\n"
            "The summary names the first row that differs and the first output that differs "
            "while its inputs agree: the call where the difference arises.\n\n"
            "Folders of ranks or steps are compared pair by pair, one result each.",
    .options = rows,
    .bytes = sizeof(struct compare_options),
    .framework_offset = offsetof(struct compare_options, framework),
    .takes_framework = true,
    .defaults = &defaults,
    .run = run,
};
