/* Dumps are opened as the threads come near their calls and closed when their last row is written, so
 * that a job of ten thousand dumps holds two or three of them. The committer is a single loop. */
#include "runner/run.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/memory.h"
#include "core/timestamp.h"
#include "report/ci_reports.h"
#include "report/progress.h"
#include "report/summary.h"
#include "runner/background_sync.h"
#include "runner/call_estimates.h"
#include "runner/check_threads.h"
#include "runner/checkers.h"
#include "runner/committer.h"
#include "runner/interrupts.h"
#include "runner/one_call.h"
#include "runner/run_inputs.h"
#include "runner/run_parts.h"
#include "runner/run_report.h"
#include "runner/start_gate.h"

enum {
    POLL_MS = 200,                  /* how often the progress line is looked after */
    GRACE_MS = 1000,                /* how long an interrupted run waits for calls in flight */
    CALLS_AHEAD = 2 * CHECK_WINDOW, /* that are to be there for the threads */
};
static const double sync_every_s = 2; /* most that a power failure can cost */

struct run {
    const struct run_options *options;
    struct run_parts parts;
    char *backend, *profile; /* names of those of the first dump; owned */
    struct checkers checkers;
    struct check_threads *threads; /* started with the first call; or NULL */
    struct start_gate gate;        /* of the devices */
    bool goes_ahead;               /* the calls are handed over before the devices are ready */
    struct summary summary;
    struct progress progress;
    struct background_sync sync; /* of the files of parts.first */
    double started_s, synced_s;
};

/* ---- dumps ------------------------------------------------------------------------------ */

static struct status start_threads(struct run *run)
{
    if (run->threads) return status_ok();
    struct check_threads *threads = memory_allocate_zeroed(1, sizeof *threads);
    if (!threads) return status_no_memory(sizeof *threads);
    struct checkers *checkers = &run->checkers;
    struct status status = check_threads_start(
        threads, checkers->items, checkers->count + checkers->n_ahead, &checkers->team);
    if (!status.code) run->threads = threads;
    else memory_release(threads);
    return status;
}

/* What the last calls of the run may take, so that a large one does not begin last. */
static struct status expect_last(struct run *run, const struct run_part *part)
{
    double seconds[LAST_CALLS];
    size_t count = part->batch.count < LAST_CALLS ? part->batch.count : LAST_CALLS;
    size_t first = part->batch.count - count;
    if (run->checkers.count < 2 || run_parts_more(&run->parts)) return status_ok();
    TRY(call_estimates(seconds, &part->inputs, part->batch.positions + first, count));
    check_threads_expect(run->threads, seconds, count);
    return status_ok();
}

static struct status hand_over(struct run *run, struct run_part *part)
{
    if (!part->batch.count) return status_ok();
    TRY(start_threads(run));
    check_threads_add(run->threads, &part->batch);
    return expect_last(run, part);
}

/* The calls of a dump that was opened: some are done, the others are for the threads, where these do not have them
 * yet. */
static struct status take_calls(struct run *run, struct run_part *part)
{
    const struct ci_counts counts = summary_ci_counts(&run->summary);
    progress_expect(&run->progress, run_parts_expected_calls(&run->parts), run->summary.earlier,
                    counts.errors, clock_seconds());
    return run->goes_ahead ? status_ok() : hand_over(run, part);
}

/* The backend of the first dump is that of all. */
static struct status open_checkers(struct run *run, const struct run_inputs *inputs)
{
    run->backend = memory_copy_string(inputs->backend);
    run->profile = memory_copy_string(profile_name(inputs->profile));
    if (!run->backend || !run->profile) return status_no_memory(0);
    if (run->goes_ahead)
        return checkers_begin(&run->checkers, run->options, run->backend, inputs->order.count);
    return checkers_open(&run->checkers, run->options, run->backend,
                         run->parts.tree ? SIZE_MAX : inputs->order.count);
}

/* Of a new run over one dump it is known which calls there will be: their inputs and references are made while the
 * devices start. */
static struct status go_ahead(struct run *run, struct run_part *part)
{
    if (run->checkers.class->ready) {
        TRY(run_part_prepare(part, &run->checkers));
        part->setup.gate = &run->gate;
        TRY(hand_over(run, part));
        return checkers_ready(&run->checkers);
    }
    run->goes_ahead = false;
    return status_ok();
}

/* The next dump, *out, NULL when it was refused. Files are opened when everything else is ready, so that
 * a run that cannot start leaves none. */
static struct status open_next(struct run_part **out, struct run *run)
{
    struct run_parts *parts = &run->parts;
    TRY(run_parts_read_next(parts));
    struct run_part *part = parts->read;
    *out = NULL;
    if (!part) return status_ok();
    if (!run->checkers.count) TRY(open_checkers(run, &part->inputs));
    if (run->goes_ahead) TRY(go_ahead(run, part));
    TRY(run_parts_admit(parts, &run->checkers, &run->summary));
    if (parts->last != part) return status_ok();
    start_gate_open(&run->gate);
    run_report_opened(parts, part);
    *out = part;
    return status_ok();
}

/* Are there calls for the threads while a dump is read? */
static bool has_calls_ahead(const struct run *run)
{
    const struct check_threads *threads = run->threads;
    return threads && threads->added >= threads->committed + CALLS_AHEAD;
}

static struct status open_ahead(struct run *run)
{
    while (run_parts_more(&run->parts) && !has_calls_ahead(run)) {
        struct run_part *part;
        TRY(open_next(&part, run));
        if (part) TRY(take_calls(run, part));
    }
    if (run->threads && !run_parts_more(&run->parts)) check_threads_close(run->threads);
    return status_ok();
}

/* Of one dump alone the files stay open: they are reported. */
static struct status close_finished(struct run *run)
{
    struct run_parts *parts = &run->parts;
    while (parts->tree && parts->first && !run_part_calls_left(parts->first)) {
        TRY(background_sync_end(&run->sync));
        TRY(run_parts_finish_first(parts));
    }
    return status_ok();
}

/* ---- the loop of the committer ---------------------------------------------------------- */

/* Those of `ready` outcomes that are of the first dump and come before one that ends the run, whose
 * reason is *fatal then. */
static size_t committable(struct status *fatal, const struct run *run, size_t ready)
{
    size_t left = run_part_calls_left(run->parts.first);
    if (ready > left) ready = left;
    for (size_t i = 0; i < ready; i++) {
        *fatal = check_threads_outcome(run->threads, i)->fatal;
        if (fatal->code) return i;
    }
    return ready;
}

static struct status commit(struct run *run, size_t ready)
{
    const struct committer committer = { &run->summary, &run->progress, &run->options->told };
    const struct case_outcome *outcomes[CHECK_SLOTS];
    struct status fatal = status_ok();
    size_t count = committable(&fatal, run, ready);
    for (size_t i = 0; i < count; i++) outcomes[i] = check_threads_outcome(run->threads, i);
    TRY(committer_take(&committer, run->parts.first, outcomes, count));
    check_threads_commit(run->threads, count);
    return fatal;
}

/* The rows of the first dump that are ready. */
static struct status commit_ready(struct run *run, const struct interrupts *interrupts)
{
    size_t ready;
    while (run_part_calls_left(run->parts.first) && (ready = check_threads_ready(run->threads))) {
        TRY(commit(run, ready));
        if (interrupts_take(interrupts)) return status_error(STATUS_INTERRUPTED, "interrupted");
    }
    return status_ok();
}

static struct status sync_now_and_then(struct run *run, double now_s)
{
    if (now_s - run->synced_s < sync_every_s) return status_ok();
    run->synced_s = now_s;
    return background_sync_begin(&run->sync, &run->parts.first->output.files);
}

/* Rows in order as they come, until all are there. */
static struct status check_calls(struct run *run, const struct interrupts *interrupts)
{
    for (;;) {
        if (interrupts_take(interrupts)) return status_error(STATUS_INTERRUPTED, "interrupted");
        TRY(open_ahead(run));
        TRY(close_finished(run));
        if (!run->parts.first || !run_part_calls_left(run->parts.first)) return status_ok();
        TRY(commit_ready(run, interrupts));
        double now_s = clock_seconds();
        if (run_part_calls_left(run->parts.first))
            progress_wait_for(&run->progress,
                              run_part_name(run->parts.first, run->parts.first->committed), now_s);
        progress_show(&run->progress, now_s);
        TRY(sync_now_and_then(run, now_s));
        if (!run_part_calls_left(run->parts.first)) continue;
        struct pollfd events[2] = { { .fd = run->threads->ready_fd, .events = POLLIN },
                                    { .fd = interrupts->fd, .events = POLLIN } };
        (void)poll(events, 2, POLL_MS);
    }
}

/* ---- starting and ending ---------------------------------------------------------------- */

/* The reason why a run ended early, and how to resume it. */
static struct status ended_early(const struct run *run, struct status why)
{
    const struct run_parts *parts = &run->parts;
    if (!parts->tree && !parts->first) return why;
    if (run->options->scratch || run->options->job)
        return status_error(why.code, "%s, with %zu of %zu calls done", why.text,
                            run->summary.calls, parts->calls);
    return status_error(why.code,
                        "%s, with %zu of %s%zu calls done; to resume, give the same options and "
                        "-csv_path %s",
                        why.text, run->summary.calls, run_parts_more(parts) ? "about " : "",
                        run_parts_expected_calls(parts),
                        parts->tree ? run_report_directory(run->options)
                                    : parts->first->output.files.result_path);
}

/* End the threads. After a failure the calls in flight are waited for; after an interruption only
 * for a moment. *left: some are still at work, and nothing that they use may be freed. */
static struct status stop_threads(bool *left, struct run *run, const struct interrupts *interrupts,
                                  struct status status)
{
    if (!run->threads) return status;
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

/* The threads that went ahead of devices which did not start, or of files that could not be made. */
static struct status not_started(bool *left, struct run *run, struct status status)
{
    if (!run->threads) return status;
    start_gate_shut(&run->gate);
    check_threads_stop(run->threads);
    memory_budget_close(&run->checkers.budget);
    *left = !check_threads_ended(run->threads, GRACE_MS);
    if (!*left) check_threads_end(run->threads);
    return status;
}

/* Until there is a dump to check a signal ends the process at once, as nothing is lost then. */
static struct status check_all(bool *left, struct run *run)
{
    struct interrupts interrupts;
    struct run_part *part = NULL;
    struct status opened = status_ok();
    while (!opened.code && run_parts_more(&run->parts) && !part) opened = open_next(&part, run);
    if (!opened.code && part) opened = interrupts_open(&interrupts);
    if (opened.code) return not_started(left, run, opened);
    if (!part) return status_ok();
    progress_start(&run->progress, stderr, !run->options->no_progress, 0, 0, 0, run->started_s);
    run->synced_s = clock_seconds();
    struct status status = take_calls(run, part);
    if (!status.code) status = check_calls(run, &interrupts);
    struct status synced = background_sync_end(&run->sync);
    if (!status.code) status = synced;
    progress_end(&run->progress);
    if (status.code && run->threads) status = ended_early(run, status);
    status = stop_threads(left, run, &interrupts, status);
    interrupts_close(&interrupts);
    return status;
}

static struct run_totals totals_of(const struct run *run)
{
    return (struct run_totals){ .summary = &run->summary,
                                .parts = &run->parts,
                                .backend = run->backend,
                                .profile = run->profile,
                                .threads = run->checkers.n_working,
                                .elapsed_s = clock_seconds() - run->started_s };
}

/* Ended by a signal: what is there is made durable before anything else, then told. */
static void run_break_off(struct run *run)
{
    const struct run_totals totals = totals_of(run);
    if (run->parts.first) (void)result_files_sync(&run->parts.first->output.files);
    run_report_part(run->options, &totals);
}

static struct status run_finish(int *exit_status, struct run *run)
{
    const struct run_parts *parts = &run->parts;
    const struct run_totals totals = totals_of(run);
    if (!parts->tree) TRY(run_part_finish(parts->first));
    TRY(run_parts_nothing_selected(parts));
    TRY(run_report_end(exit_status, run->options, &totals));
    return run_report_status(run->options, &totals);
}

static void run_close(struct run *run)
{
    start_gate_destroy(&run->gate);
    memory_release(run->threads);
    run_parts_close(&run->parts);
    checkers_close(&run->checkers);
    memory_release(run->backend);
    memory_release(run->profile);
    summary_release(&run->summary);
}

struct status run_checks(int *exit_status, const struct run_options *options,
                         const struct dump_tree *tree)
{
    struct run *run = memory_allocate_zeroed(1, sizeof *run);
    bool left = false;
    if (!run) return status_no_memory(sizeof *run);
    *run = (struct run){ .options = options,
                         .summary.tree = tree,
                         .goes_ahead = !tree && !options->result_csv_path,
                         .started_s = clock_seconds() };
    start_gate_init(&run->gate);
    struct status status = run_report_check(options, tree);
    if (!status.code) status = run_parts_open(&run->parts, options, tree);
    if (!status.code) status = check_all(&left, run);
    if (!status.code) status = run_finish(exit_status, run);
    else if (status.code == STATUS_INTERRUPTED) run_break_off(run);
    /* Threads that are still at work use everything here; the process is about to end. */
    if (left) return status;
    run_close(run);
    memory_release(run);
    return status;
}

/* ---- one call --------------------------------------------------------------------------- */

/* Where the tensors of the call go, named by the time: there are no files of a run. */
static struct status name_error_data(struct run_output *output, struct one_call *call)
{
    struct timestamp now;
    if (!call->options.save_error_data) return status_ok();
    TRY(timestamp_of(&now, time(NULL)));
    TRY(run_output_name_error_data(output, call->inputs.lists.error_data_path, "", now.text));
    call->setup.error_data = &output->error_data;
    return status_ok();
}

struct status run_one_call(struct case_outcome *out, const struct run_options *options,
                           const char *name)
{
    struct one_call call;
    struct run_output output = RUN_OUTPUT_NONE;
    struct status status = one_call_open(&call, options, name);
    if (!status.code) status = name_error_data(&output, &call);
    if (!status.code && !case_check(out, one_call_checker(&call), call.position))
        status = status_error(STATUS_INTERNAL, "the check of %s was stopped", name);
    if (!status.code) status = out->fatal;
    if (output.error_directory && file_exists(output.error_directory))
        fprintf(stderr, "probe-ut: the tensors of the call are in %s\n", output.error_directory);
    run_output_close(&output);
    one_call_close(&call);
    return status;
}
