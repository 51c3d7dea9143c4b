/* The options of the three-way comparison, its files, and the counts that it prints. */
#include "cli/three_way_command.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/path_arguments.h"
#include "compare/details.h"
#include "core/file.h"
#include "core/memory.h"
#include "core/quantity.h"
#include "core/timestamp.h"
#include "report/ci_reports.h"
#include "report/failing.h"
#include "report/html/html_report.h"
#include "report/summary.h"
#include "results/evidence_table.h"
#include "results/run_pairing.h"
#include "results/verdict_file.h"
#include "runner/threshold_names.h"
#include "standards/three_way/three_way.h"
#include "standards/three_way/three_way_sentence.h"

struct compare_options {
    struct operands npus, gpus; /* as typed: files and directories */
    const char *npu, *gpu, *out_path, *profile, *thresholds, *fail_on, *min_judged, *junit,
        *baseline, *report, *columns;
    bool force;
    struct file_policy file_policy;
};

/* ---- output files ----------------------------------------------------------------------- */

enum {
    PRECISION = 14,
    SECONDS_TRIED = 60,
    NAME_BYTES = 1024,
    SUITE_NAME_BYTES = 2 * PATH_ARGUMENT_BYTES + 64
};

struct output_files {
    char *result_path, *details_path;
    struct file result, details;
    bool result_exists, details_exists; /* created by us */
};
#define OUTPUT_FILES_NONE ((struct output_files){ .result = FILE_NONE, .details = FILE_NONE })

static char *output_path(const char *directory, const char *kind, const char *stamp)
{
    const char *slash = *directory && directory[strlen(directory) - 1] == '/' ? "" : "/";
    size_t bytes = strlen(directory) + strlen(kind) + TIMESTAMP_DIGITS +
                   sizeof "/api_precision_compare__.csv";
    char *path = memory_allocate(bytes);
    if (path)
        (void)snprintf(path, bytes, "%s%sapi_precision_compare_%s_%s.csv", directory, slash, kind,
                       stamp);
    return path;
}

static void close_files(struct output_files *files)
{
    (void)file_close(&files->result);
    (void)file_close(&files->details);
    memory_release(files->result_path);
    memory_release(files->details_path);
    *files = OUTPUT_FILES_NONE;
}

/* Take away what a failed comparison left: half a file would pass for a whole one. */
static void discard_files(struct output_files *files)
{
    if (files->details_exists) (void)file_remove(files->details_path);
    if (files->result_exists) (void)file_remove(files->result_path);
    close_files(files);
}

/* Create both files for the second `when`; a file of that name is somebody else's. */
static struct status create_at(struct output_files *out, const char *directory, time_t when)
{
    struct timestamp stamp;

    *out = OUTPUT_FILES_NONE;
    TRY(timestamp_of(&stamp, when));
    out->result_path = output_path(directory, "result", stamp.text);
    out->details_path = output_path(directory, "details", stamp.text);
    struct status status = status_no_memory(0);
    if (out->result_path && out->details_path) status = file_create(&out->result, out->result_path);
    out->result_exists = !status.code;
    if (!status.code) status = file_create(&out->details, out->details_path);
    out->details_exists = !status.code;
    if (status.code) discard_files(out);
    return status;
}

/* Files of this second, or of the next that is free: two comparisons may start at once. */
static struct status create_files(struct output_files *out, const char *directory)
{
    time_t now = time(NULL);
    TRY(file_make_directories(directory));
    struct status status = create_at(out, directory, now);
    for (int later = 1; file_already_exists(status) && later < SECONDS_TRIED; later++)
        status = create_at(out, directory, now + later);
    return status;
}

/* ---- what the user sees ----------------------------------------------------------------- */

static void warn_about_rows(const struct compare_options *options,
                            const struct compare_counts *counts)
{
    if (counts->npu_torn)
        fprintf(stderr, "warning: the last row of %s is cut off; it is left out\n", options->npu);
    if (counts->gpu_torn)
        fprintf(stderr, "warning: the last row of %s is cut off; it is left out\n", options->gpu);
    if (counts->assumed_zero)
        fprintf(stderr,
                "warning: %llu rows lack numbers of the benchmark standard, which profile %s "
                "takes as 0, so that they may pass unseen\n",
                (unsigned long long)counts->assumed_zero, options->profile);
}

static void print_rows(const struct compare_counts *counts)
{
    printf("%s, %s, %s\n\n", quantity_of(counts->npu_rows, "NPU row").text,
           quantity_of(counts->gpu_rows, "GPU row").text, quantity_of(counts->apis, "call").text);
}

static void print_unpaired(const struct compare_counts *counts)
{
    if (counts->mispaired)
        printf("of another shape in the GPU file: %s\n",
               quantity_of(counts->mispaired, "row").text);
    if (counts->only_npu + counts->only_gpu + counts->repeated)
        printf("not compared: %s only in the NPU file, %llu only in the GPU file, %llu repeated\n",
               quantity_of(counts->only_npu, "row").text, (unsigned long long)counts->only_gpu,
               (unsigned long long)counts->repeated);
}

/* What the run file beside a side's details file says of the run. */
static struct status print_side(const char *side, const char *path, struct file_policy policy)
{
    static const struct {
        const char *before, *key;
    } facts[] = {
        { ", device", "device" }, { ", dump", "dump" }, { ", on", "host" }, { " at", "date" }
    };
    struct run_record record;
    TRY(run_record_beside(&record, path, policy));
    const char *backend = record.object ? run_record_text(&record, "backend") : NULL;
    if (backend) printf("%s: backend %s", side, backend);
    for (size_t i = 0; backend && i < sizeof facts / sizeof *facts; i++) {
        const char *text = run_record_about(&record, facts[i].key);
        if (text) printf("%s %s", facts[i].before, text);
    }
    if (backend) printf("\n");
    run_record_release(&record);
    return status_ok();
}

/* ---- the summary, as a run has it ------------------------------------------------------- */

/* A copy with a NUL behind it, in `buffer` where it fits; NULL without memory. */
static char *copy_name(char *buffer, size_t bytes, struct csv_text text)
{
    if (text.length >= bytes) return memory_copy_bytes(text.bytes, text.length);
    memcpy(buffer, text.bytes, text.length);
    buffer[text.length] = '\0';
    return buffer;
}

/* Most rows of a bad comparison fail; the sentence is put together for those that are shown. */
static struct status add_failing_row(void *context, const struct compare_note *row)
{
    char sentence[THREE_WAY_SENTENCE_BYTES], row_buffer[NAME_BYTES], call_buffer[NAME_BYTES];
    char *name = copy_name(row_buffer, sizeof row_buffer, row->row);
    char *call = copy_name(call_buffer, sizeof call_buffer, row->call);
    struct row_note note = { .verdict = row->verdict->verdict,
                             .excess = three_way_excess(row->verdict, row->npu),
                             .name = name,
                             .sentence = sentence };
    bool is_worst = false;
    sentence[0] = '\0';
    struct status status = name && call ? summary_count_failing(&is_worst, context, &note, call)
                                        : status_no_memory(row->row.length);
    if (is_worst) three_way_sentence(sentence, row->verdict, row->npu, row->message);
    if (is_worst) status = summary_add_note(context, &note, call);
    if (name != row_buffer) memory_release(name);
    if (call != call_buffer) memory_release(call);
    return status;
}

/* A call with its verdicts, and why it has none. */
static struct status add_result(void *context, const struct compare_result *result)
{
    TRY(summary_add_call(context, result->forward, result->backward, result->name));
    if (result->forward != VERDICT_SKIP) return status_ok();
    char name[NAME_BYTES], reason[NAME_BYTES];
    const struct row_note note = { .verdict = VERDICT_SKIP, .name = name, .sentence = reason };
    (void)snprintf(name, sizeof name, "%s", result->name);
    (void)snprintf(reason, sizeof reason, "%s", result->message);
    text_tidy(reason);
    return summary_add_note(context, &note, result->name);
}

static void forget_rows(void *context) { summary_release(context); }

static struct ci_counts ci_counts_of(const struct compare_counts *counts)
{
    const uint64_t *forward = counts->verdicts[0], *backward = counts->verdicts[1];
    return (struct ci_counts){ .errors = forward[VERDICT_ERROR] + backward[VERDICT_ERROR],
                               .warnings = forward[VERDICT_WARNING] + backward[VERDICT_WARNING],
                               .skipped = forward[VERDICT_SKIP],
                               .judged = counts->judged,
                               .all = counts->apis };
}

static struct ci_options ci_options_of(const struct compare_options *options)
{
    return (struct ci_options){ .junit = options->junit,
                                .page = options->report,
                                .has_baseline = options->baseline != NULL,
                                .fail_on = options->fail_on,
                                .min_judged = options->min_judged,
                                .file_policy = options->file_policy };
}

/* ---- the command ------------------------------------------------------------------------ */

static struct status load_rules(struct three_way_rules **rules,
                                const struct compare_options *options)
{
    char *text = NULL;
    size_t bytes;
    if (options->thresholds)
        TRY(file_read_text(&text, &bytes, options->thresholds, options->file_policy));
    struct status status = three_way_rules_load(rules, options->profile, options->thresholds, text);
    memory_release(text);
    if (status.code) return status;
    /* Rows may be of APIs that only the makers of the files know, so a name is not refused. */
    struct status names = threshold_names_check(options->thresholds, options->file_policy);
    if (names.code) fprintf(stderr, "warning: %s\n", names.text);
    return status;
}

static struct status compare_into(struct output_files *files, struct compare_counts *counts,
                                  const struct compare_request *request)
{
    TRY(compare_run(counts, &files->details, &files->result, request));
    TRY(file_close(&files->details));
    return file_close(&files->result);
}

static struct status report(int *exit_status, const struct compare_options *options,
                            const struct compare_counts *counts, const struct summary *summary,
                            const char *details_path)
{
    const struct ci_options ci = ci_options_of(options);
    const struct ci_counts verdicts = ci_counts_of(counts);
    warn_about_rows(options, counts);
    TRY(print_side("NPU", options->npu, options->file_policy));
    TRY(print_side("GPU", options->gpu, options->file_policy));
    print_rows(counts);
    summary_print(stdout, summary, NULL, false);
    print_unpaired(counts);
    char suite[SUITE_NAME_BYTES];
    (void)snprintf(suite, sizeof suite, "api_precision_compare %s against %s", options->npu,
                   options->gpu);
    const struct ci_subject subject = { .details_path = details_path,
                                        .suite = suite,
                                        .baseline = options->baseline };
    return ci_report(exit_status, &ci, &subject, 1, &verdicts);
}

/* The page of --report: the comparison, and both sides of it. */
static struct status make_page(const struct compare_options *options,
                               const struct output_files *files)
{
    const char *paths[] = { files->result_path, files->details_path, options->npu, options->gpu };
    struct html_report_request request = { .paths = paths,
                                           .count = sizeof paths / sizeof paths[0],
                                           .out_path = options->report,
                                           .policy = options->file_policy };
    return options->report ? html_report_make(&request, stdout) : status_ok();
}

/* ---- evidence --------------------------------------------------------------------------- */

/* What the error model said of one side's rows. Rows of a side whose evidence is not there are SKIP, and say so. */
static struct status read_evidence(struct compare_evidence *out, struct evidence_table **table,
                                   const char *details_path, struct file_policy policy)
{
    struct run_record record;
    char *path;
    TRY(run_record_beside(&record, details_path, policy));
    const char *profile = record.object ? run_record_text(&record, "profile") : NULL;
    out->by_model = profile && !strcmp(profile, "strict");
    run_record_release(&record);
    TRY(run_file_beside(&path, details_path, "evidence", ".jsonl"));
    struct status status = status_ok();
    if (path && file_exists(path)) status = evidence_table_read(table, path, policy);
    else fprintf(stderr, "warning: there is no evidence beside %s\n", details_path);
    if (!status.code && *table && evidence_table_unreadable(*table))
        fprintf(stderr, "warning: %llu lines of %s cannot be read\n",
                (unsigned long long)evidence_table_unreadable(*table), path);
    memory_release(path);
    out->table = *table;
    return status;
}

/* Whose evidence a comparison by evidence goes by; of others nothing is read. */
struct evidence_pair {
    struct evidence_table *npu, *gpu;
    struct compare_evidence npu_evidence, gpu_evidence;
};

static struct status read_pair(struct evidence_pair *out, const struct three_way_rules *rules,
                               const struct compare_options *options)
{
    if (!rules->by_evidence) return status_ok();
    TRY(read_evidence(&out->npu_evidence, &out->npu, options->npu, options->file_policy));
    return read_evidence(&out->gpu_evidence, &out->gpu, options->gpu, options->file_policy);
}

/* Compare into new files, which stay when a report about them cannot be made. */
static struct status write_comparison(int *exit_status, const struct compare_options *options,
                                      const struct compare_request *request)
{
    struct output_files files = OUTPUT_FILES_NONE;
    struct compare_counts counts;
    struct summary summary = { .calls = 0 };
    TRY(create_files(&files, options->out_path));
    printf("Compare task result will be saved in %s\n", files.result_path);
    printf("Compare task detail will be saved in %s\n", files.details_path);
    struct compare_request with_summary = *request;
    with_summary.context = &summary;
    struct status status = compare_into(&files, &counts, &with_summary);
    if (status.code) {
        discard_files(&files);
    } else {
        status = report(exit_status, options, &counts, &summary, files.details_path);
        if (!status.code) status = make_page(options, &files);
        close_files(&files);
    }
    summary_release(&summary);
    return status;
}

static struct status compare_details(int *exit_status, const struct compare_options *options)
{
    struct three_way_rules *rules;
    struct evidence_pair evidence = { .npu = NULL };
    const struct ci_options ci = ci_options_of(options);
    TRY(ci_check(&ci));
    if (options->baseline) TRY(verdict_file_check(options->baseline, options->file_policy));
    if (!options->force) TRY(run_pairing_check(options->npu, options->gpu, options->file_policy));
    TRY(load_rules(&rules, options));
    struct status status = read_pair(&evidence, rules, options);
    struct compare_request request = { .npu_path = options->npu,
                                       .gpu_path = options->gpu,
                                       .file_policy = options->file_policy,
                                       .rules = rules,
                                       .npu_evidence = evidence.npu_evidence,
                                       .gpu_evidence = evidence.gpu_evidence,
                                       .precision = PRECISION,
                                       .language = header_language_from_name(options->columns),
                                       .tell = add_failing_row,
                                       .tell_result = add_result,
                                       .start_over = forget_rows };
    if (!status.code) status = write_comparison(exit_status, options, &request);
    evidence_table_release(evidence.npu);
    evidence_table_release(evidence.gpu);
    three_way_rules_release(rules);
    return status;
}

static struct status run(int *exit_status, const void *values)
{
    struct compare_options options = *(const struct compare_options *)values;
    char npu[PATH_ARGUMENT_BYTES], gpu[PATH_ARGUMENT_BYTES], baseline[PATH_ARGUMENT_BYTES];
    TRY(path_argument_newest(npu, "-npu", options.npus.items, options.npus.count, PATH_DETAILS,
                             options.file_policy));
    TRY(path_argument_newest(gpu, "-gpu", options.gpus.items, options.gpus.count, PATH_DETAILS,
                             options.file_policy));
    if (options.baseline)
        TRY(path_argument_newest(baseline, "--baseline", &options.baseline, 1, PATH_VERDICTS,
                                 options.file_policy));
    options.npu = npu;
    options.gpu = gpu;
    options.baseline = options.baseline ? baseline : NULL;
    return compare_details(exit_status, &options);
}

#define AT(member) .offset = offsetof(struct compare_options, member)

/* clang-format off */
static const struct option_row rows[] = {
    { { "npu", "npu_csv_path" }, OPTION_FILES, AT(npus), "FILE", .required = true,
      .suffix = ".csv", .or_directory = true,
      .help = "The accuracy_checking_details CSV of the NPU run; of several, or of a directory of results, "
              "that of the newest complete run." },
    { { "gpu", "gpu_csv_path" }, OPTION_FILES, AT(gpus), "FILE", .required = true,
      .suffix = ".csv", .or_directory = true,
      .help = "The same of the GPU run, on the same dump." },
    { { "o", "out_path" }, OPTION_DIRECTORY, AT(out_path), "DIR",
      .help = "Where the two result files go; created when it does not exist. The working "
              "directory by default." },
    { { "profile" }, OPTION_CHOICE, AT(profile), "NAME", .choices = three_way_profiles,
      .help = "The rules of the verdicts; doc by default." },
    { { "thresholds" }, OPTION_FILE, AT(thresholds), "FILE",
      .help = "A JSON file with rules of your own over those of the profile, in the form of "
              "config/three_way.json." },
    { { "fail-on" }, OPTION_CHOICE, AT(fail_on), "VERDICT", .choices = failing_names,
      .help = "Exit with status 1 when an API has this verdict or a worse one; skip: when an API was "
              "not judged, too. Without it verdicts do not change the exit status." },
    { { "min-judged" }, OPTION_TEXT, AT(min_judged), "N|P%",
      .help = "Exit with status 1 when fewer APIs, or a smaller share of them, were judged: 20 or "
              "95%. When none at all was, the status is 5 anyway." },
    { { "junit" }, OPTION_FILE, AT(junit), "FILE",
      .help = "Write a JUnit report: a test case per API and direction. An older report of this "
              "name is replaced." },
    { { "report" }, OPTION_FILE, AT(report), "FILE", .suffix = ".html",
      .help = "Write a page to look at, with the comparison and both details files, as the command "
              "report does. An older one of this name is replaced." },
    { { "baseline" }, OPTION_FILE, AT(baseline), "FILE",
      .help = "An earlier api_precision_compare_details CSV, or a directory with one: say which failures are new, still "
              "there or fixed, and exit with status 1 only for new ones and those that became worse." },
    { { "columns" }, OPTION_CHOICE, AT(columns), "NAMES", .choices = header_language_names,
      .help = "Names of the columns of the details: those of msprobe (default), or english." },
    { { "force" }, OPTION_FLAG, AT(force),
      .help = "Compare although the run files beside the two details files say that dump, seed or "
              "profile differ." },
    { { "trust-files" }, OPTION_FLAG, AT(file_policy.trusted),
      .help = "Read files that are links, belong to another user, may be written by others or "
              "are larger than usual." },
    { .names = { NULL } },
};
/* clang-format on */

static const struct compare_options defaults = { .out_path = ".", .profile = "doc" };

const struct command compare_command = {
    .word = "api_precision_compare",
    .summary = "judge an NPU run by a GPU run",
    .text = "Reads the details files of an NPU run and of a GPU run of the same dump, compares "
            "the errors that both have against the reference, and writes "
            "api_precision_compare_result_{timestamp}.csv (one row per API) and "
            "api_precision_compare_details_{timestamp}.csv (one row per output).\n\n"
            "Rows are joined by name, in any order. A row that only one file has, or that a file "
            "has twice, becomes a SKIP row that says so. Files of msprobe and of probe-ut may be "
            "mixed.",
    .options = rows,
    .bytes = sizeof(struct compare_options),
    .defaults = &defaults,
    .run = run,
};
