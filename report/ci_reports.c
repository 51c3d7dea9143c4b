/* Reports first, the exit status from them: a pipeline that stops has something to show. */
#include "report/ci_reports.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/directory.h"
#include "core/memory.h"
#include "report/baseline.h"
#include "report/failing.h"
#include "report/junit.h"

/* How many of `all` the option asks for, rounded up; false when it is neither a number nor a share. */
static bool read_least(size_t *least, const char *text, size_t all)
{
    char *end;
    if (text[0] < '0' || text[0] > '9') return false;
    double number = strtod(text, &end);
    bool share = !strcmp(end, "%") && number <= 100;
    if (!share && (*end || strspn(text, "0123456789") != strlen(text))) return false;
    double wanted = share ? (double)all * number / 100 : number;
    *least = wanted < (double)SIZE_MAX / 2 ? (size_t)wanted : SIZE_MAX / 2;
    *least += (double)*least < wanted;
    return true;
}

/* A report is written beside its place and renamed, so the directory must take new files. It is made,
 * as that of the result files is. */
static struct status check_report_path(const char *option, const char *path)
{
    char directory[4096];
    const char *slash = strrchr(path, '/');
    if (directory_exists(path))
        return status_error(STATUS_BAD_ARGUMENT, "option '--%s': '%s' is a directory", option,
                            path);
    size_t length = slash ? (size_t)(slash - path) : 0;
    if (length >= sizeof directory)
        return status_error(STATUS_BAD_ARGUMENT, "'%s' is too long a name", path);
    memcpy(directory, slash ? path : ".", slash ? length : 1);
    directory[slash ? length : 1] = '\0';
    if (slash && !length) memcpy(directory, "/", 2);
    TRY(file_make_directories(directory));
    if (!access(directory, W_OK)) return status_ok();
    return status_error(STATUS_BAD_ARGUMENT, "option '--%s': '%s' cannot be written in", option,
                        directory);
}

struct status ci_check(const struct ci_options *options)
{
    size_t least;
    if (options->min_judged && !read_least(&least, options->min_judged, 1))
        return status_error(STATUS_BAD_ARGUMENT,
                            "option '--min-judged': '%s' is neither a number of calls nor a share "
                            "such as 95%%",
                            options->min_judged);
    if (options->junit) TRY(check_report_path("junit", options->junit));
    return options->page ? check_report_path("report", options->page) : status_ok();
}

static struct status compare_with_baselines(bool *fails, const struct ci_options *options,
                                            const struct ci_subject *subjects, size_t n_subjects,
                                            enum failing failing)
{
    struct baseline baseline = { 0 };
    struct status status = status_ok();
    for (size_t i = 0; i < n_subjects && !status.code; i++)
        status = baseline_compare(&baseline, subjects[i].folder, subjects[i].baseline,
                                  subjects[i].details_path, failing, options->file_policy);
    if (!status.code) baseline_print(stdout, &baseline);
    *fails = baseline.counts[BASELINE_NEW] || baseline.counts[BASELINE_WORSE];
    baseline_release(&baseline);
    return status;
}

static bool has_failures(const struct ci_counts *counts, enum failing failing)
{
    return (counts->errors && failing_severity(failing, VERDICT_ERROR)) ||
           (counts->warnings && failing_severity(failing, VERDICT_WARNING)) ||
           (counts->skipped && failing_severity(failing, VERDICT_SKIP));
}

/* Was enough judged to speak of a verdict? Sets the exit status if not. */
static void look_at_judged(int *exit_status, const struct ci_options *options,
                           const struct ci_counts *counts)
{
    size_t least = 0;
    if (options->min_judged) (void)read_least(&least, options->min_judged, counts->all);
    if (counts->judged < least) {
        printf("\n%zu of %zu were judged, fewer than the %zu that --min-judged asks for\n",
               counts->judged, counts->all, least);
        *exit_status = EXIT_FAILURES;
    }
    if (counts->judged) return;
    printf("\nno verdict: nothing was judged\n");
    *exit_status = EXIT_NO_VERDICT;
}

static struct status write_junit(const char *path, const struct ci_subject *subjects,
                                 size_t n_subjects, enum failing failing)
{
    struct junit_suite *suites = memory_allocate_zeroed(n_subjects, sizeof *suites);
    if (!suites) return status_no_memory(n_subjects * sizeof *suites);
    for (size_t i = 0; i < n_subjects; i++)
        suites[i] = (struct junit_suite){ .details_path = subjects[i].details_path,
                                          .evidence_path = subjects[i].evidence_path,
                                          .name = subjects[i].suite,
                                          .record = subjects[i].record,
                                          .record_path = subjects[i].record_path,
                                          .seconds = subjects[i].seconds };
    struct status status = junit_write(path, suites, n_subjects, failing);
    memory_release(suites);
    return status;
}

struct status ci_report(int *exit_status, const struct ci_options *options,
                        const struct ci_subject *subjects, size_t n_subjects,
                        const struct ci_counts *counts)
{
    enum failing failing = failing_from_name(options->fail_on);
    bool fails = options->fail_on && has_failures(counts, failing);
    if (options->junit) TRY(write_junit(options->junit, subjects, n_subjects, failing));
    if (options->has_baseline)
        TRY(compare_with_baselines(&fails, options, subjects, n_subjects, failing));
    *exit_status = fails ? EXIT_FAILURES : 0;
    look_at_judged(exit_status, options, counts);
    return status_ok();
}
