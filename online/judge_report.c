/* The same reports as those of a run over a tree of dumps, with the ranks in the place of the dumps. */
#include "online/judge_report.h"

#include <stdio.h>

#include "core/memory.h"
#include "core/quantity.h"
#include "report/ci_reports.h"
#include "report/html/html_report.h"
#include "runner/environment.h"
#include "runner/run_report.h"

enum { FOLDER_BYTES = 32 };

static void print_files(const struct rank_set *ranks, bool has_second)
{
    printf("\nfiles\n");
    for (size_t i = 0; i < ranks->count; i++) printf("  %s\n", ranks->items[i]->files.result_path);
    printf("  and beside %s: details, evidence, run and records\n",
           ranks->count == 1 ? "it" : "each of them");
    if (has_second)
        printf("  and of the second device accuracy_checking_two_way_result and _details, "
               "api_precision_compare_result and _details\n");
}

static void print_totals(const struct judge_outcome *outcome)
{
    const struct judge_totals *totals = outcome->totals;
    size_t here = outcome->summary->calls - outcome->summary->earlier;
    if (totals->filtered)
        printf("\nwithout a row: %s of other ranks or of APIs that the lists leave out\n",
               quantity_of((size_t)totals->filtered, "record").text);
    if (totals->refused)
        printf("\nrefused: %s without a record (see the log)\n",
               quantity_of((size_t)totals->refused, "body").text);
    printf("\n%s in the %.1f s that it ran, profile %s, %s, BLAS core %s\n",
           quantity_of(here, "call").text, totals->running_s, outcome->profile,
           quantity_of(outcome->threads, "thread").text, environment_blas_core());
}

static struct status make_page(const struct run_options *options, const struct rank_set *ranks)
{
    size_t count = RESULT_FILES * ranks->count;
    const char **paths = memory_allocate_zeroed(count, sizeof *paths);
    if (!paths) return status_no_memory(count * sizeof *paths);
    for (size_t i = 0; i < ranks->count; i++) {
        const struct result_files *files = &ranks->items[i]->files;
        paths[RESULT_FILES * i + RESULT_CALLS] = files->result_path;
        paths[RESULT_FILES * i + RESULT_DETAILS] = files->details_path;
        paths[RESULT_FILES * i + RESULT_EVIDENCE] = files->evidence_path;
        paths[RESULT_FILES * i + RESULT_RUN] = files->run_path;
    }
    struct html_report_request request = {
        .paths = paths, .count = count, .out_path = options->report, .policy = options->file_policy
    };
    struct status status = html_report_make(&request, stdout);
    memory_release(paths);
    return status;
}

static struct status report_ranks(int *exit_status, const struct run_options *options,
                                  const struct judge_outcome *outcome, struct ci_subject *subjects,
                                  char (*folders)[FOLDER_BYTES])
{
    const struct rank_set *ranks = outcome->ranks;
    const struct ci_options ci = run_report_ci_options(options);
    const struct ci_counts counts = summary_ci_counts(outcome->summary);
    for (size_t i = 0; i < ranks->count; i++) {
        const struct rank_files *files = ranks->items[i];
        (void)snprintf(folders[i], FOLDER_BYTES, "rank%lld", (long long)files->rank);
        subjects[i] = (struct ci_subject){ .details_path = files->files.details_path,
                                           .evidence_path = files->files.evidence_path,
                                           .record = outcome->record,
                                           .baseline = options->baseline,
                                           .folder = folders[i] };
    }
    return ci_report(exit_status, &ci, subjects, ranks->count, &counts);
}

static struct status report(int *exit_status, const struct run_options *options,
                            const struct judge_outcome *outcome)
{
    size_t count = outcome->ranks->count;
    struct ci_subject *subjects = memory_allocate_zeroed(count, sizeof *subjects);
    char(*folders)[FOLDER_BYTES] = memory_allocate_zeroed(count, sizeof *folders);
    struct status status = subjects && folders ? status_ok() : status_no_memory(0);
    if (!status.code) status = report_ranks(exit_status, options, outcome, subjects, folders);
    memory_release(subjects);
    memory_release(folders);
    return status;
}

struct status judge_report(int *exit_status, const struct run_options *options,
                           const struct judge_outcome *outcome)
{
    summary_print(stdout, outcome->summary, NULL, run_report_wants_color(options));
    print_files(outcome->ranks, outcome->has_second);
    print_totals(outcome);
    (void)fflush(stdout);
    if (options->report && outcome->ranks->count) TRY(make_page(options, outcome->ranks));
    return report(exit_status, options, outcome);
}
