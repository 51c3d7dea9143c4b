/* A run over one dump names its files; one over many names their directory, and the dumps that matter. */
#include "runner/run_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/directory.h"
#include "core/memory.h"
#include "core/quantity.h"
#include "report/ci_reports.h"
#include "report/html/html_report.h"
#include "runner/environment.h"
#include "runner/repeat_command.h"

enum { REFUSED_SHOWN = 8 };

struct ci_options run_report_ci_options(const struct run_options *options)
{
    return (struct ci_options){ .junit = options->junit,
                                .page = options->report,
                                .has_baseline = options->baseline != NULL,
                                .fail_on = options->fail_on,
                                .min_judged = options->min_judged,
                                .file_policy = options->file_policy };
}

/* Can files be made in a directory, which need not be there yet? The nearest one above it tells. */
static struct status check_directory(const char *option, const char *path)
{
    char at[4096];
    if (strlen(path) >= sizeof at)
        return status_error(STATUS_BAD_ARGUMENT, "'%.80s...' is too long a name", path);
    (void)snprintf(at, sizeof at, "%s", path);
    while (!directory_exists(at)) {
        char *slash = strrchr(at, '/');
        if (file_exists(at))
            return status_error(STATUS_BAD_INPUT, "option '%s': '%s' is no directory", option, at);
        if (slash == at) slash++; /* the root */
        if (slash) *slash = '\0';
        else (void)snprintf(at, sizeof at, ".");
    }
    if (!access(at, W_OK)) return status_ok();
    return status_error(STATUS_BAD_INPUT, "option '%s': '%s' cannot be written in", option, at);
}

/* A large dump takes minutes to read: what cannot be written is told before. */
static struct status check_places(const struct run_options *options)
{
    char folder[4096] = ".";
    if (!options->result_csv_path) TRY(check_directory("-o", options->out_path));
    if (!options->timings) return status_ok();
    const char *slash = strrchr(options->timings, '/');
    size_t length = slash == options->timings ? 1 : slash ? (size_t)(slash - options->timings) : 0;
    if (length) (void)snprintf(folder, sizeof folder, "%.*s", (int)length, options->timings);
    if (directory_exists(folder)) return status_ok();
    return status_error(STATUS_BAD_INPUT, "option '--timings': there is no directory '%s'", folder);
}

struct status run_report_check(const struct run_options *options, const struct dump_tree *tree)
{
    const struct ci_options ci = run_report_ci_options(options);
    if (tree && options->timings)
        return status_error(STATUS_BAD_ARGUMENT, "--timings is for one dump, and '%s' has %zu",
                            options->api_info, tree->count);
    if (tree && options->baseline && !directory_exists(options->baseline))
        return status_error(
            STATUS_BAD_ARGUMENT,
            "--baseline of several dumps is the directory of their earlier results, "
            "and '%s' is none",
            options->baseline);
    TRY(check_places(options));
    return ci_check(&ci);
}

const char *run_report_directory(const struct run_options *options)
{
    return options->result_csv_path ? options->result_csv_path : options->out_path;
}

/* ---- the beginning ---------------------------------------------------------------------- */

static void announce_resumed(const struct run_part *part)
{
    const struct resume_notes *notes = &part->output.resumed;
    if (notes->no_run_file || notes->run_file_lost)
        fprintf(stderr,
                "probe-ut: warning: there is no readable %s, so nothing tells whether these files "
                "are of the same run; new rows are added behind those that are there\n",
                part->output.files.run_path);
    printf("resuming: %zu of %zu calls are done", notes->kept, part->inputs.order.count);
    if (notes->cut_bytes)
        printf(", %s of unfinished rows were cut off", quantity_bytes(notes->cut_bytes).text);
    if (notes->details_were_missing) printf(", the details file is written anew");
    if (notes->results_made)
        printf(", %s made again", quantity_of(notes->results_made, "result row").text);
    printf("\n");
    if (notes->evidence_lost)
        fprintf(stderr,
                "probe-ut: warning: the evidence of %s is lost; the command that "
                "stands in its place shows it again\n",
                quantity_of(notes->evidence_lost, "finished call").text);
}

static void announce_one(const struct run_part *part)
{
    size_t checked = part->inputs.order.count, all = dump_count(part->inputs.dump);
    if (checked < all) printf("calls: %zu of the %zu in the dump are checked\n", checked, all);
    if (part->options.result_csv_path) announce_resumed(part);
    if (!part->options.scratch) printf("results: %s\n", part->output.files.result_path);
    (void)fflush(stdout);
}

static void announce_many(const struct run_parts *parts)
{
    const char *directory = run_report_directory(parts->options);
    printf(
        "dumps: %zu in %s\nresults: %s%sFOLDER/accuracy_checking_*, FOLDER being that of the dump, "
        "such as %s\n",
        parts->total, parts->options->api_info, directory,
        directory[0] && directory[strlen(directory) - 1] == '/' ? "" : "/",
        *parts->tree->items[0].folder ? parts->tree->items[0].folder : ".");
    (void)fflush(stdout);
}

void run_report_opened(const struct run_parts *parts, const struct run_part *part)
{
    if (!parts->tree) announce_one(part);
    else if (parts->options->job) return;
    else if (parts->first == part && !part->place) announce_many(parts);
}

/* ---- the end ---------------------------------------------------------------------------- */

bool run_report_wants_color(const struct run_options *options)
{
    if (!strcmp(options->color, "auto")) return isatty(STDOUT_FILENO) == 1 && !getenv("NO_COLOR");
    return !strcmp(options->color, "always");
}

/* Where the tensors of failing calls are, when there are any. */
static void print_error_data(const struct run_output *output)
{
    if (output->error_directory && file_exists(output->error_directory))
        printf("  %s\n", output->error_directory);
}

static void print_files(const struct run_part *part)
{
    const struct result_files *files = &part->output.files;
    printf("\nfiles\n  %s\n  %s\n  %s\n  %s\n", files->result_path, files->details_path,
           files->evidence_path, files->run_path);
    print_error_data(&part->output);
    if (part->options.timings) printf("  %s\n", part->options.timings);
}

/* What the run file says about the run beside its options. */
static void print_about(const struct run_part *part, const char *before, const char *key)
{
    const char *text = run_record_about(&part->inputs.record, key);
    if (text) printf("%s %s", before, text);
}

/* Where the results are, and what they are of. */
static void print_one(const struct run_part *part)
{
    if (part->options.scratch) {
        print_error_data(&part->output);
        printf("\n");
        return;
    }
    print_files(part);
    printf("\ndump %s", part->options.api_info);
    print_about(part, ", on", "host");
    print_about(part, " at", "date");
    print_about(part, ", device", "device");
    printf("\n");
}

static void print_refused(const struct run_parts *parts)
{
    size_t shown = 0;
    if (!parts->n_refused) return;
    printf("\ndumps that could not be checked: %zu of %zu\n", parts->n_refused, parts->total);
    for (size_t i = 0; i < parts->total && shown < REFUSED_SHOWN; i++) {
        if (!parts->endings[i].status.code) continue;
        printf("  %s: %s\n", file_shown(parts->tree->items[i].folder).text,
               parts->endings[i].status.text);
        shown++;
    }
    if (parts->n_refused > shown) printf("  and %zu more\n", parts->n_refused - shown);
}

static void print_many(const struct run_parts *parts, size_t earlier)
{
    print_refused(parts);
    if (parts->calls < parts->recorded)
        printf("\ncalls: %zu of the %zu in the dumps are checked\n", parts->calls, parts->recorded);
    printf("\n%s of %s, results in the same folders of %s\n",
           quantity_of(parts->total - parts->n_refused, "dump").text, parts->options->api_info,
           run_report_directory(parts->options));
    if (earlier) printf("done before: %s\n", quantity_of(earlier, "call").text);
}

static void print_totals(const struct run_totals *totals)
{
    size_t here = totals->summary->calls - totals->summary->earlier;
    if (totals->work) {
        printf("%s\n", totals->work);
        return;
    }
    double rate = totals->elapsed_s > 0 ? (double)here / totals->elapsed_s : 0;
    const char *core = environment_blas_core_in_use();
    printf("%s in %.2f s (%.0f a second), backend %s, profile %s, %s%s%s\n",
           quantity_of(here, "call").text, totals->elapsed_s, rate, totals->backend,
           totals->profile, quantity_of(totals->threads, "thread").text, core ? ", BLAS core " : "",
           core ? core : "");
}

/* The command that shows the worst call again, up to its name. */
static struct status make_repeat(char **out, const struct run_options *options,
                                 const struct run_totals *totals)
{
    struct run_options one = *options;
    const struct dump_tree *tree = totals->parts->tree;
    if (tree) one.api_info = tree->items[summary_worst_dump(totals->summary)].path;
    return repeat_command_make(out, &one);
}

static struct status print_report(const struct run_options *options,
                                  const struct run_totals *totals)
{
    char *repeat = NULL;
    if (!options->scratch && !options->job) TRY(make_repeat(&repeat, options, totals));
    if (options->told.tell) printf("\n");
    summary_print(stdout, totals->summary, repeat, run_report_wants_color(options));
    memory_release(repeat);
    if (options->job) printf("\n");
    else if (totals->parts->tree) print_many(totals->parts, totals->summary->earlier);
    else print_one(totals->parts->first);
    print_totals(totals);
    return status_ok();
}

void run_report_part(const struct run_options *options, const struct run_totals *totals)
{
    const struct summary *summary = totals->summary;
    if (!summary->calls) return;
    printf("\nso far, %zu of %s%zu calls:\n", summary->calls,
           run_parts_more(totals->parts) ? "about " : "", run_parts_expected_calls(totals->parts));
    summary_print(stdout, summary, NULL, run_report_wants_color(options));
    printf("\n");
    print_totals(totals);
}

/* ---- pages and reports for machines ----------------------------------------------------- */

static struct status make_page(const struct run_options *options, const char **paths, size_t count)
{
    struct html_report_request request = {
        .paths = paths, .count = count, .out_path = options->report, .policy = options->file_policy
    };
    return html_report_make(&request, stdout);
}

static struct status page_of_one(const struct run_options *options, const struct run_part *part)
{
    const struct result_files *files = &part->output.files;
    const char *paths[RESULT_FILES + 1] = { files->result_path, files->details_path,
                                            files->evidence_path, files->run_path,
                                            options->timings };
    return make_page(options, paths, options->timings ? RESULT_FILES + 1 : RESULT_FILES);
}

/* A page of several runs. */
static struct status page_of_many(const struct run_options *options, const struct run_parts *parts)
{
    size_t count = 0;
    const char **paths = memory_allocate_zeroed(RESULT_FILES * parts->total, sizeof *paths);
    if (!paths) return status_no_memory(RESULT_FILES * parts->total * sizeof *paths);
    for (size_t i = 0; i < parts->total; i++)
        for (int file = 0; parts->endings[i].paths[0] && file < RESULT_FILES; file++)
            paths[count++] = parts->endings[i].paths[file];
    struct status status = make_page(options, paths, count);
    memory_release(paths);
    return status;
}

static struct status report_one(int *exit_status, const struct ci_options *ci,
                                const struct run_part *part, const struct ci_counts *counts)
{
    const struct ci_subject subject = { .details_path = part->output.files.details_path,
                                        .evidence_path = part->output.files.evidence_path,
                                        .record = &part->inputs.record,
                                        .seconds = &part->seconds,
                                        .baseline = part->options.baseline };
    return ci_report(exit_status, ci, &subject, 1, counts);
}

static struct status report_many(int *exit_status, const struct ci_options *ci,
                                 const struct run_parts *parts, const struct ci_counts *counts)
{
    size_t count = 0;
    struct ci_subject *subjects = memory_allocate_zeroed(parts->total, sizeof *subjects);
    if (!subjects) return status_no_memory(parts->total * sizeof *subjects);
    for (size_t i = 0; i < parts->total; i++) {
        const struct part_ending *ending = &parts->endings[i];
        if (!ending->paths[RESULT_DETAILS]) continue;
        subjects[count++] = (struct ci_subject){ .details_path = ending->paths[RESULT_DETAILS],
                                                 .evidence_path = ending->paths[RESULT_EVIDENCE],
                                                 .record_path = ending->paths[RESULT_RUN],
                                                 .seconds = &ending->seconds,
                                                 .baseline = ending->baseline,
                                                 .folder = parts->tree->items[i].folder };
    }
    struct status status = ci_report(exit_status, ci, subjects, count, counts);
    memory_release(subjects);
    return status;
}

struct status run_report_status(const struct run_options *options, const struct run_totals *totals)
{
    size_t internal = totals->summary->internal_errors;
    if (internal && !options->job)
        return status_error(STATUS_INTERNAL,
                            "%zu calls met an internal error, which is a fault of this program; "
                            "their rows are SKIP and name it",
                            internal);
    return run_parts_refused(totals->parts);
}

struct status run_report_end(int *exit_status, const struct run_options *options,
                             const struct run_totals *totals)
{
    const struct run_parts *parts = totals->parts;
    const struct ci_options ci = run_report_ci_options(options);
    const struct ci_counts counts = summary_ci_counts(totals->summary);
    TRY(print_report(options, totals));
    if (options->report)
        TRY(parts->tree ? page_of_many(options, parts) : page_of_one(options, parts->first));
    return parts->tree ? report_many(exit_status, &ci, parts, &counts)
                       : report_one(exit_status, &ci, parts->first, &counts);
}
