/* A run is four things opened one after the other and closed in one place: inputs, checkers, output,
 * threads. The committer between the last two is a single loop. */
#include "runner/run.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/memory.h"
#include "core/quantity.h"
#include "report/ci_reports.h"
#include "report/html/html_report.h"
#include "report/progress.h"
#include "report/summary.h"
#include "runner/check_threads.h"
#include "runner/checkers.h"
#include "runner/environment.h"
#include "runner/interrupts.h"
#include "runner/one_call.h"
#include "runner/run_inputs.h"
#include "runner/run_output.h"

enum {
    POLL_MS = 200,   /* how often the progress line is looked after */
    GRACE_MS = 1000, /* how long an interrupted run waits for calls in flight */
};
static const double sync_every_s = 2; /* most that a power failure can cost */

struct run {
    const struct run_options *options;
    struct run_inputs inputs;
    struct checkers checkers;
    struct run_output output;
    struct check_threads *threads;
    struct summary summary;
    struct progress progress;
    struct call_seconds seconds; /* for a JUnit report */
    double started_s;
};

/* ---- the loop of the committer ---------------------------------------------------------- */

static struct status commit(struct run *run, const struct case_outcome *outcome)
{
    if (outcome->fatal.code) return outcome->fatal;
    size_t call = run->output.pending[run->threads->committed];
    const char *name = dump_name(run->inputs.dump, call);
    TRY(run_output_add(&run->output, outcome, name));
    TRY(summary_add(&run->summary, outcome, name));
    if (run->options->told.tell)
        TRY(run->options->told.tell(run->options->told.context, outcome, name));
    if (run->options->junit)
        TRY(call_seconds_add(&run->seconds, name, stage_times_total(&outcome->times)));
    progress_count(&run->progress,
                   outcome->forward == VERDICT_ERROR || outcome->backward == VERDICT_ERROR);
    return status_ok();
}

static struct status sync_now_and_then(struct run *run, double *synced_s, double now_s)
{
    if (now_s - *synced_s < sync_every_s) return status_ok();
    *synced_s = now_s;
    return result_files_sync(&run->output.files);
}

/* The reason why a run ended early, and how to resume it. */
static struct status ended_early(const struct run *run, enum status_code code, const char *why)
{
    if (run->options->scratch)
        return status_error(code, "%s, with %zu of %zu calls done", why, run->summary.calls,
                            run->inputs.order.count);
    return status_error(code,
                        "%s, with %zu of %zu calls done; to resume, give the same options and "
                        "-csv_path %s",
                        why, run->summary.calls, run->inputs.order.count,
                        run->output.files.result_path);
}

/* Rows in order as they come, until all are there. */
static struct status commit_all(struct run *run, const struct interrupts *interrupts)
{
    struct check_threads *threads = run->threads;
    size_t n = run->output.n_pending;
    double synced_s = clock_seconds();
    struct pollfd events[2] = { { .fd = threads->ready_fd, .events = POLLIN },
                                { .fd = interrupts->fd, .events = POLLIN } };
    while (threads->committed < n) {
        struct case_outcome *outcome;
        bool signalled = interrupts_take(interrupts);
        while (!signalled && (outcome = check_threads_next(threads))) {
            TRY(commit(run, outcome));
            check_threads_commit(threads);
            signalled = interrupts_take(interrupts);
        }
        if (signalled) return ended_early(run, STATUS_INTERRUPTED, "interrupted");
        double now_s = clock_seconds();
        progress_show(&run->progress, now_s);
        TRY(sync_now_and_then(run, &synced_s, now_s));
        if (threads->committed < n) (void)poll(events, 2, POLL_MS);
    }
    progress_show(&run->progress, clock_seconds());
    return status_ok();
}

/* End the threads. After a failure the calls in flight are waited for; after an interruption only
 * for a moment. *left: some are still at work, and nothing that they use may be freed. */
static struct status stop_threads(bool *left, struct run *run, const struct interrupts *interrupts,
                                  struct status status)
{
    check_threads_stop(run->threads);
    memory_budget_close(&run->checkers.budget);
    bool ended = check_threads_ended(run->threads, GRACE_MS);
    while (!ended && status.code != STATUS_INTERRUPTED) {
        if (interrupts_take(interrupts)) status.code = STATUS_INTERRUPTED;
        else ended = check_threads_ended(run->threads, POLL_MS);
    }
    *left = !ended;
    if (ended) check_threads_end(run->threads);
    return status;
}

static struct status check_pending(bool *left, struct run *run, const struct interrupts *interrupts)
{
    const struct run_output *output = &run->output;
    size_t n = run->checkers.count < output->n_pending ? run->checkers.count : output->n_pending;
    const size_t *failing = run->summary.counts[0], *failing_backward = run->summary.counts[1];
    progress_start(&run->progress, stderr, !run->options->no_progress, run->inputs.order.count,
                   run->summary.earlier, failing[VERDICT_ERROR] + failing_backward[VERDICT_ERROR],
                   clock_seconds());
    TRY(check_threads_start(run->threads, run->checkers.items, n, output->pending,
                            output->n_pending));
    struct status status = commit_all(run, interrupts);
    progress_end(&run->progress);
    if (status.code && status.code != STATUS_INTERRUPTED)
        status = ended_early(run, status.code, status.text);
    return stop_threads(left, run, interrupts, status);
}

static struct status check_all(bool *left, struct run *run)
{
    struct interrupts interrupts;
    if (!run->output.n_pending) return status_ok();
    run->threads = memory_allocate_zeroed(1, sizeof *run->threads);
    if (!run->threads) return status_no_memory(sizeof *run->threads);
    TRY(interrupts_open(&interrupts));
    struct status status = check_pending(left, run, &interrupts);
    interrupts_close(&interrupts);
    return status;
}

/* ---- report ----------------------------------------------------------------------------- */

static bool wants_color(const struct run_options *options)
{
    if (!strcmp(options->color, "auto")) return isatty(STDOUT_FILENO) == 1 && !getenv("NO_COLOR");
    return !strcmp(options->color, "always");
}

static void announce_resumed(const struct run *run)
{
    const struct resume_notes *notes = &run->output.resumed;
    if (notes->no_run_file || notes->run_file_lost)
        fprintf(stderr,
                "probe-ut: warning: there is no readable %s, so nothing tells whether these files "
                "are of the same run; new rows are added behind those that are there\n",
                run->output.files.run_path);
    printf("resuming: %zu of %zu calls are done", notes->kept, run->inputs.order.count);
    if (notes->cut_bytes)
        printf(", %llu bytes of unfinished rows were cut off",
               (unsigned long long)notes->cut_bytes);
    if (notes->details_were_missing) printf(", the details file is written anew");
    if (notes->results_made) printf(", %zu result rows were made again", notes->results_made);
    printf("\n");
    if (notes->evidence_lost)
        fprintf(stderr,
                "probe-ut: warning: the evidence of %zu finished calls is lost; the command that "
                "stands in its place shows it again\n",
                notes->evidence_lost);
}

/* Said first: whoever has to kill a run needs the name for -csv_path. */
static void announce_output(const struct run *run)
{
    size_t checked = run->inputs.order.count, all = dump_count(run->inputs.dump);
    if (checked < all)
        printf("calls: %zu of the %zu in the dump are checked\n", checked, all);
    if (run->options->result_csv_path) announce_resumed(run);
    if (!run->options->scratch) printf("results: %s\n", run->output.files.result_path);
    (void)fflush(stdout);
}

/* Where the tensors of failing calls are, when there are any. */
static void print_error_data(const struct run_output *output)
{
    if (output->error_directory && file_exists(output->error_directory))
        printf("  %s\n", output->error_directory);
}

static void print_files(const struct run *run)
{
    const struct result_files *files = &run->output.files;
    printf("\nfiles\n  %s\n  %s\n  %s\n  %s\n", files->result_path, files->details_path,
           files->evidence_path, files->run_path);
    print_error_data(&run->output);
    if (run->options->timings) printf("  %s\n", run->options->timings);
}

/* What the run file says about the run beside its options. */
static void print_about(const struct run *run, const char *before, const char *key)
{
    const char *text = run_record_about(&run->inputs.record, key);
    if (text) printf("%s %s", before, text);
}

/* Where the results are, and what they are of. */
static void print_origin(const struct run *run)
{
    print_files(run);
    printf("\ndump %s", run->options->api_info);
    print_about(run, ", on", "host");
    print_about(run, " at", "date");
}

static void report(const struct run *run)
{
    double elapsed = clock_seconds() - run->started_s;
    size_t here = run->summary.calls - run->summary.earlier;
    bool scratch = run->options->scratch;
    if (run->options->told.tell) printf("\n");
    summary_print(stdout, &run->summary, scratch ? NULL : run->checkers.repeat,
                  wants_color(run->options));
    if (scratch) print_error_data(&run->output);
    else print_origin(run);
    printf("\n%s in %.2f s (%.0f a second), backend %s, profile %s, %s, BLAS core %s\n",
           quantity_of(here, "call").text, elapsed, elapsed > 0 ? (double)here / elapsed : 0,
           run->inputs.backend, profile_name(run->inputs.profile),
           quantity_of(run->checkers.count, "thread").text, environment_blas_core());
}

static struct ci_options ci_options_of(const struct run_options *options)
{
    return (struct ci_options){ .junit = options->junit,
                                .page = options->report,
                                .baseline = options->baseline,
                                .fail_on = options->fail_on,
                                .min_judged = options->min_judged,
                                .file_policy = options->file_policy };
}

static struct status report_to_ci(int *exit_status, const struct run *run)
{
    const struct ci_options ci = ci_options_of(run->options);
    const struct ci_counts counts = summary_ci_counts(&run->summary);
    const struct ci_subject subject = { .details_path = run->output.files.details_path,
                                        .evidence_path = run->output.files.evidence_path,
                                        .record = &run->inputs.record,
                                        .seconds = &run->seconds };
    return ci_report(exit_status, &ci, &subject, &counts);
}

/* The page of --report. */
static struct status make_page(const struct run *run)
{
    const struct result_files *files = &run->output.files;
    const char *paths[5] = { files->result_path, files->details_path, files->evidence_path,
                             files->run_path, run->options->timings };
    struct html_report_request request = { paths, run->options->timings ? 5 : 4,
                                           run->options->report, run->options->file_policy };
    return run->options->report ? html_report_make(&request, stdout) : status_ok();
}

/* ---- all of it -------------------------------------------------------------------------- */

static struct status run_open(struct run *run)
{
    const struct ci_options ci = ci_options_of(run->options);
    TRY(ci_check(&ci));
    TRY(run_inputs_open(&run->inputs, run->options));
    TRY(checkers_open(&run->checkers, run->options, &run->inputs));
    TRY(run_output_open(&run->output, &run->summary, run->checkers.repeat, run->options,
                        &run->inputs));
    if (run->output.error_directory) run->checkers.setup.error_data = &run->output.error_data;
    announce_output(run);
    return status_ok();
}

static struct status run_finish(int *exit_status, struct run *run)
{
    TRY(result_files_sync(&run->output.files));
    TRY(file_close(&run->output.timings));
    report(run);
    TRY(make_page(run));
    TRY(report_to_ci(exit_status, run));
    if (run->summary.internal_errors)
        return status_error(STATUS_INTERNAL,
                            "%zu calls met an internal error, which is a fault of this program; "
                            "their rows are SKIP and name it",
                            run->summary.internal_errors);
    return status_ok();
}

static void run_close(struct run *run)
{
    memory_release(run->threads);
    run_output_close(&run->output);
    checkers_close(&run->checkers);
    run_inputs_close(&run->inputs);
    summary_release(&run->summary);
    call_seconds_release(&run->seconds);
}

struct status run_checks(int *exit_status, const struct run_options *options)
{
    struct run run = { .options = options,
                       .output = RUN_OUTPUT_NONE,
                       .started_s = clock_seconds() };
    bool left = false;
    struct status status = run_open(&run);
    if (!status.code) status = check_all(&left, &run);
    if (!status.code) status = run_finish(exit_status, &run);
    else if (status.code == STATUS_INTERRUPTED && run.output.files.result.fd >= 0)
        (void)result_files_sync(&run.output.files);
    /* Threads that are still at work use everything here; the process is about to end. */
    if (!left) run_close(&run);
    return status;
}

/* ---- one call --------------------------------------------------------------------------- */

struct status run_one_call(struct case_outcome *out, const struct run_options *options,
                           const char *name)
{
    struct one_call call;
    struct status status = one_call_open(&call, options, name);
    if (!status.code && !case_check(out, one_call_checker(&call), call.position))
        status = status_error(STATUS_INTERNAL, "the check of %s was stopped", name);
    if (!status.code) status = out->fatal;
    one_call_close(&call);
    return status;
}
