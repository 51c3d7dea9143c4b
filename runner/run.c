/* A run is a value: everything it opens lies in struct run and is closed in one place. */
#include "runner/run.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/run_options.h"
#include "core/memory.h"
#include "report/ci_reports.h"
#include "report/progress.h"
#include "report/summary.h"
#include "results/evidence.h"
#include "results/result_files.h"
#include "results/resume.h"
#include "runner/check.h"
#include "runner/check_threads.h"
#include "runner/environment.h"
#include "runner/error_data.h"
#include "runner/interrupts.h"

enum {
    POLL_MS = 200,               /* how often the progress line is looked after */
    GRACE_MS = 1000,             /* how long an interrupted run waits for calls in work */
    BLAS_BUFFER_BYTES = 8 << 20, /* per thread: packed panels, stack */
    SMALLEST_ARENA_KEEP = 1 << 20,
    LARGEST_ARENA_KEEP_GB = 4,
};
static const double sync_every_s = 2; /* most that a power failure can cost */

struct run {
    const struct run_options *options;
    struct arena arena; /* texts of the run */
    struct api_lists lists;
    struct profile *profile;
    struct dump *dump;
    struct call_order order;
    struct run_record record;
    struct result_files files;
    struct resume_notes resumed;
    bool *done;      /* of order.count calls */
    size_t *pending; /* positions of those that are not */
    size_t n_pending;

    struct memory_budget budget;
    sem_t compute_slots;
    bool has_gates; /* budget and slots exist */
    struct error_data error_data;
    char *repeat; /* owned */
    struct check_setup setup;
    struct check_worker *workers;
    size_t n_workers; /* with an open device */
    struct workers *threads;
    bool threads_left; /* some are still at work: nothing they use may be freed */

    struct interrupts interrupts;
    bool has_interrupts;
    struct file timings;
    struct summary summary;
    struct progress progress;
    double started_s, synced_s;
};

static double now_s(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- what the run is -------------------------------------------------------------------- */

static struct status order_calls(struct run *run)
{
    size_t count = dump_count(run->dump);
    bool *keep = memory_allocate_zeroed(count, sizeof *keep);
    struct call_order *order = &run->order;
    order->dump = run->dump;
    order->positions = memory_allocate(count * sizeof *order->positions);
    struct status status = keep && order->positions ? status_ok()
                                                    : status_no_memory(count * sizeof(size_t));
    if (!status.code && run->options->filter_api) status = dump_filter(keep, run->dump);
    for (size_t i = 0; !status.code && i < count; i++)
        if (!run->options->filter_api || keep[i]) order->positions[order->count++] = i;
    memory_release(keep);
    return status;
}

static struct status digest_file(uint64_t *digest, const char *path, struct file_policy policy)
{
    char *text;
    size_t bytes;
    TRY(file_read_text(&text, &bytes, path, policy));
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
    for (size_t i = 0; i < bytes; i++) hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3u;
    memory_release(text);
    *digest = hash;
    return status_ok();
}

/* Everything that decides the bytes of the result files. */
static struct status describe_run(struct run *run)
{
    const struct run_options *o = run->options;
    struct run_record *record = &run->record;
    TRY(run_record_create(record));
    TRY(run_record_add_text(record, "version", PROBE_VERSION));
    TRY(run_record_add_digest(record, "dump_digest", dump_digest(run->dump)));
    TRY(run_record_add_number(record, "calls", (double)run->order.count));
    TRY(run_record_add_text(record, "backend", o->backend));
    TRY(run_record_add_text(record, "profile", profile_name(run->profile)));
    if (o->thresholds) {
        uint64_t digest;
        TRY(digest_file(&digest, o->thresholds, o->file_policy));
        TRY(run_record_add_digest(record, "thresholds_digest", digest));
    }
    TRY(run_record_add_number(record, "seed", (double)o->seed));
    TRY(run_record_add_flag(record, "filter_api", o->filter_api));
    TRY(run_record_add_flag(record, "jit_compile", o->jit_compile));
    TRY(run_record_add_texts(record, "white_list", run->lists.white, run->lists.n_white));
    TRY(run_record_add_texts(record, "black_list", run->lists.black, run->lists.n_black));
    TRY(run_record_add_number(record, "precision", run->lists.precision));
    return run_record_add_text(record, "blas_core", environment_blas_core());
}

/* What is read only when the run is over is refused before it starts. */
static struct status check_baseline(const struct run_options *o)
{
    struct file file;
    if (!o->baseline) return status_ok();
    TRY(file_open_read(&file, o->baseline, o->file_policy));
    return file_close(&file);
}

static struct status open_inputs(struct run *run)
{
    const struct run_options *o = run->options;
    const char *profile = o->profile ? o->profile : profile_names()[0];
    run->lists = api_lists_default();
    if (o->config_path)
        TRY(api_lists_read(&run->lists, &run->arena, o->config_path, o->file_policy));
    TRY(check_baseline(o));
    TRY(profile_load(&run->profile, profile, o->thresholds, o->file_policy));
    TRY(dump_open(&run->dump, o->api_info, o->file_policy));
    TRY(order_calls(run));
    return describe_run(run);
}

/* ---- devices and memory ----------------------------------------------------------------- */

static size_t worker_count(const struct run *run, const struct device_class *class)
{
    size_t wanted = run->options->threads ? (size_t)run->options->threads
                                          : (size_t)environment_cores();
    size_t ids = run->options->devices.count ? run->options->devices.count : 1;
    if (wanted > WORKERS_MAX) wanted = WORKERS_MAX;
    if (class->most_per_id && wanted > class->most_per_id * ids) wanted = class->most_per_id * ids;
    return wanted < run->order.count ? wanted : run->order.count ? run->order.count : 1;
}

static struct status open_devices(struct run *run)
{
    const struct run_options *o = run->options;
    const struct device_class *class = device_find(o->backend);
    if (!class) return status_error(STATUS_BAD_ARGUMENT, "there is no backend '%s'", o->backend);
    size_t wanted = worker_count(run, class);
    run->workers = memory_allocate_zeroed(wanted, sizeof *run->workers);
    if (!run->workers) return status_no_memory(wanted * sizeof *run->workers);
    for (; run->n_workers < wanted; run->n_workers++) {
        struct check_worker *worker = &run->workers[run->n_workers];
        size_t n_ids = o->devices.count;
        const struct device_options options = {
            .backend = o->backend,
            .device_id = n_ids ? (int)o->devices.items[run->n_workers % n_ids] : 0,
            .jit_compile = o->jit_compile,
            .case_timeout_s = o->case_timeout_s,
            .in_process = !strcmp(o->isolate, "none"),
            .file_policy = o->file_policy,
            .dump = run->dump,
        };
        worker->setup = &run->setup;
        TRY(class->open(&worker->device, &options));
    }
    for (size_t i = 0; class->ready && i < run->n_workers; i++)
        TRY(class->ready(run->workers[i].device));
    run->setup.generate.keep_recorded = !class->alter_inputs;
    return status_ok();
}

/* Bytes of memory that the process has now. */
static uint64_t resident_bytes(void)
{
    unsigned long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file) return 0;
    /* NOLINTNEXTLINE(cert-err34-c): the kernel's own digits */
    if (fscanf(file, "%*u %llu", &pages) != 1) pages = 0;
    fclose(file);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* The budget of the calls is what is left of the memory that the user grants when the process
 * itself, the spare blocks of the arenas and the buffers of BLAS are paid for. */
static struct status set_budget(struct run *run)
{
    uint64_t granted = run->options->memory_bytes;
    if (!granted) granted = memory_available_bytes() / 10 * 6;
    size_t cores = (size_t)environment_cores();
    size_t slots = run->n_workers < cores ? run->n_workers : cores;
    uint64_t keep = granted / 4 / run->n_workers;
    if (keep < SMALLEST_ARENA_KEEP) keep = SMALLEST_ARENA_KEEP;
    if (keep > (uint64_t)LARGEST_ARENA_KEEP_GB << 30) keep = (uint64_t)LARGEST_ARENA_KEEP_GB << 30;
    uint64_t fixed = resident_bytes() + run->n_workers * (keep + BLAS_BUFFER_BYTES);
    uint64_t limit = granted > 2 * fixed ? granted - fixed : granted / 2;

    for (size_t i = 0; i < run->n_workers; i++) {
        run->workers[i].arena.keep_bytes = (size_t)keep;
        arena_reserve(&run->workers[i].arena, (size_t)limit);
    }
    memory_budget_init(&run->budget, limit);
    if (sem_init(&run->compute_slots, 0, (unsigned)slots)) {
        memory_budget_destroy(&run->budget);
        return status_error(STATUS_IO, "cannot make a semaphore: %s", strerror(errno));
    }
    run->has_gates = true;
    return status_ok();
}

static void set_up_checks(struct run *run)
{
    run->setup.dump = run->dump;
    run->setup.profile = run->profile;
    run->setup.lists = &run->lists;
    run->setup.generate.seed = (uint64_t)run->options->seed;
    run->setup.precision = run->lists.precision;
    run->setup.budget = &run->budget;
    run->setup.compute_slots = &run->compute_slots;
    run->setup.save_timings = run->options->timings != NULL;
    run->setup.repeat = run->repeat;
}

/* ---- files ------------------------------------------------------------------------------ */

static void count_earlier(void *context, size_t index, struct csv_text forward,
                          struct csv_text backward)
{
    struct run *run = context;
    (void)index;
    summary_add_earlier(&run->summary, forward, backward);
}

static struct status resume_files(struct run *run)
{
    const struct run_options *o = run->options;
    const struct resume_options options = { .file_policy = o->file_policy,
                                            .retry_failed = o->retry_crashed,
                                            .visit = count_earlier,
                                            .context = run };
    TRY(result_files_resume(&run->files, &run->resumed, run->done, o->result_csv_path, &run->record,
                            &run->order, &options));
    if (run->resumed.no_run_file)
        fprintf(stderr,
                "probe-ut: warning: there is no %s, so nothing tells whether these files are of "
                "the same run; new rows are added behind those that are there\n",
                run->files.run_path);
    printf("going on: %zu of %zu calls are done", run->resumed.kept, run->order.count);
    if (run->resumed.cut_bytes)
        printf(", %zu bytes of unfinished rows were cut off", run->resumed.cut_bytes);
    if (run->resumed.details_were_missing) printf(", the details file is written anew");
    printf("\n");
    return status_ok();
}

static struct status list_pending(struct run *run)
{
    run->pending = memory_allocate(run->order.count * sizeof *run->pending);
    if (!run->pending) return status_no_memory(run->order.count * sizeof *run->pending);
    for (size_t i = 0; i < run->order.count; i++)
        if (!run->done[i]) run->pending[run->n_pending++] = run->order.positions[i];
    return status_ok();
}

static struct status open_files(struct run *run)
{
    const struct run_options *o = run->options;
    static const char timing_header[] = "API name,reference s,device s,comparison s\r\n";
    run->done = memory_allocate_zeroed(run->order.count, sizeof *run->done);
    if (!run->done) return status_no_memory(run->order.count);
    if (o->timings) {
        TRY(file_create(&run->timings, o->timings));
        TRY(file_write_all(&run->timings, timing_header, sizeof timing_header - 1));
    }
    if (o->result_csv_path) TRY(resume_files(run));
    else TRY(result_files_create(&run->files, o->out_path, &run->record));
    /* Said first: whoever has to kill a run needs the name for -csv_path. */
    printf("results: %s\n", run->files.result_path);
    (void)fflush(stdout);
    TRY(list_pending(run));
    if (!o->save_error_data) return status_ok();
    const char *base = run->lists.error_data_path ? run->lists.error_data_path : ".";
    run->error_data.directory =
        arena_format(&run->arena, "%s/ut_error_data%s", base, run->files.timestamp);
    if (!run->error_data.directory) return status_no_memory(0);
    run->setup.error_data = &run->error_data;
    return status_ok();
}

/* ---- the loop of the committer ---------------------------------------------------------- */

static struct status write_timings(struct run *run, const struct case_outcome *outcome,
                                   const char *name)
{
    char numbers[96];
    struct csv_buffer row = { 0 };
    struct status status = csv_append_cell(&row, name, strlen(name));
    (void)snprintf(numbers, sizeof numbers, "%.6f,%.6f,%.6f\r\n", outcome->bench_s,
                   outcome->device_s, outcome->judge_s);
    if (!status.code) status = file_write_all(&run->timings, row.data, row.length);
    if (!status.code) status = file_write_all(&run->timings, numbers, strlen(numbers));
    csv_buffer_release(&row);
    return status;
}

static struct status commit(struct run *run, const struct case_outcome *outcome)
{
    if (outcome->fatal.code) return outcome->fatal;
    TRY(result_files_append(&run->files, &outcome->evidence, &outcome->details, &outcome->result));
    TRY(summary_add(&run->summary, outcome));
    progress_count(&run->progress,
                   outcome->forward == VERDICT_ERROR || outcome->backward == VERDICT_ERROR);
    if (run->timings.fd < 0) return status_ok();
    size_t call = run->pending[run->threads->committed];
    return write_timings(run, outcome, dump_name(run->dump, call));
}

static struct status sync_now_and_then(struct run *run, double now)
{
    if (now - run->synced_s < sync_every_s) return status_ok();
    run->synced_s = now;
    return result_files_sync(&run->files);
}

/* The reason why a run ended early, and how to go on. */
static struct status ended_early(const struct run *run, enum status_code code, const char *why)
{
    return status_error(code,
                        "%s, with %zu of %zu calls done; to go on, give the same options and "
                        "-csv_path %s",
                        why, run->summary.calls, run->order.count, run->files.result_path);
}

/* Rows in order as they come, until all are there. */
static struct status commit_all(struct run *run)
{
    struct pollfd events[2] = { { .fd = run->threads->ready_fd, .events = POLLIN },
                                { .fd = run->interrupts.fd, .events = POLLIN } };
    while (run->threads->committed < run->n_pending) {
        struct case_outcome *outcome;
        bool signalled = interrupts_take(&run->interrupts);
        while (!signalled && (outcome = workers_next(run->threads))) {
            TRY(commit(run, outcome));
            workers_commit(run->threads);
            signalled = interrupts_take(&run->interrupts);
        }
        if (signalled) return ended_early(run, STATUS_INTERRUPTED, "interrupted");
        double now = now_s();
        progress_show(&run->progress, now);
        TRY(sync_now_and_then(run, now));
        if (run->threads->committed < run->n_pending) (void)poll(events, 2, POLL_MS);
    }
    progress_show(&run->progress, now_s());
    return status_ok();
}

/* End the threads. After a failure the calls in work are waited for; after an interruption only
 * for a moment. */
static struct status stop_threads(struct run *run, struct status status)
{
    workers_stop(run->threads);
    memory_budget_close(&run->budget);
    bool ended = workers_ended(run->threads, GRACE_MS);
    while (!ended && status.code != STATUS_INTERRUPTED) {
        if (interrupts_take(&run->interrupts)) status.code = STATUS_INTERRUPTED;
        else ended = workers_ended(run->threads, POLL_MS);
    }
    run->threads_left = !ended;
    if (ended) workers_end(run->threads);
    return status;
}

static struct status check_all(struct run *run)
{
    run->threads = memory_allocate_zeroed(1, sizeof *run->threads);
    if (!run->threads) return status_no_memory(sizeof *run->threads);
    size_t n = run->n_workers < run->n_pending ? run->n_workers : run->n_pending;
    if (!n) return status_ok();

    TRY(interrupts_open(&run->interrupts));
    run->has_interrupts = true;
    progress_start(
        &run->progress, stderr, !run->options->no_progress, run->order.count, run->summary.earlier,
        run->summary.counts[0][VERDICT_ERROR] + run->summary.counts[1][VERDICT_ERROR], now_s());
    run->synced_s = now_s();
    TRY(workers_start(run->threads, run->workers, n, run->pending, run->n_pending));
    struct status status = commit_all(run);
    progress_end(&run->progress);
    if (status.code && status.code != STATUS_INTERRUPTED)
        status = ended_early(run, status.code, status.text);
    return stop_threads(run, status);
}

/* ---- report ----------------------------------------------------------------------------- */

static bool wants_color(const struct run_options *options)
{
    if (!strcmp(options->color, "auto")) return isatty(STDOUT_FILENO) == 1 && !getenv("NO_COLOR");
    return !strcmp(options->color, "always");
}

static void print_files(const struct run *run)
{
    printf("\nfiles\n  %s\n  %s\n  %s\n  %s\n", run->files.result_path, run->files.details_path,
           run->files.evidence_path, run->files.run_path);
    if (run->setup.error_data && file_exists(run->error_data.directory))
        printf("  %s\n", run->error_data.directory);
    if (run->options->timings) printf("  %s\n", run->options->timings);
}

static void report(const struct run *run)
{
    double elapsed = now_s() - run->started_s;
    size_t here = run->summary.calls - run->summary.earlier;
    summary_print(stdout, &run->summary, wants_color(run->options));
    print_files(run);
    printf("\n%zu calls in %.2f s (%.0f a second), backend %s, profile %s, %zu threads, BLAS "
           "core %s\n",
           here, elapsed, elapsed > 0 ? (double)here / elapsed : 0, run->options->backend,
           profile_name(run->profile), run->n_workers, environment_blas_core());
}

/* ---- all of it -------------------------------------------------------------------------- */

static struct status run_open(struct run *run)
{
    TRY(open_inputs(run));
    TRY(open_devices(run));
    TRY(set_budget(run));
    TRY(evidence_repeat_command(&run->repeat, run->options));
    set_up_checks(run);
    return open_files(run);
}

static struct status report_to_ci(int *exit_status, const struct run *run)
{
    const struct run_options *options = run->options;
    bool warnings = options->fail_on && !strcmp(options->fail_on, "warning");
    struct ci_options ci = { .junit = options->junit,
                             .baseline = options->baseline,
                             .fail_on = options->fail_on,
                             .file_policy = options->file_policy };
    return ci_report(exit_status, &ci, run->files.details_path, "probe-ut run_ut",
                     summary_has_failures(&run->summary, warnings));
}

static struct status run_finish(int *exit_status, struct run *run)
{
    TRY(result_files_sync(&run->files));
    TRY(file_close(&run->timings));
    report(run);
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
    if (run->has_interrupts) interrupts_close(&run->interrupts);
    for (size_t i = 0; i < run->n_workers; i++) {
        run->workers[i].device->class->close(run->workers[i].device);
        arena_release(&run->workers[i].arena);
    }
    memory_release(run->workers);
    memory_release(run->threads);
    if (run->has_gates) {
        memory_budget_destroy(&run->budget);
        (void)sem_destroy(&run->compute_slots);
    }
    (void)file_close(&run->timings);
    (void)result_files_close(&run->files);
    memory_release(run->done);
    memory_release(run->pending);
    memory_release(run->repeat);
    memory_release(run->order.positions);
    run_record_release(&run->record);
    if (run->dump) dump_close(run->dump);
    if (run->profile) profile_release(run->profile);
    summary_release(&run->summary);
    arena_release(&run->arena);
}

struct status run_checks(int *exit_status, const void *options)
{
    struct run run = {
        .options = options, .files = RESULT_FILES_NONE, .timings = FILE_NONE, .started_s = now_s()
    };
    struct status status = run_open(&run);
    if (!status.code) status = check_all(&run);
    if (!status.code) status = run_finish(exit_status, &run);
    else if (status.code == STATUS_INTERRUPTED && run.files.result.fd >= 0)
        (void)result_files_sync(&run.files);
    /* Threads that are still at work use everything here; the process is about to end. */
    if (!run.threads_left) run_close(&run);
    return status;
}

/* ---- one call ------------------------------------------------------------------------------- */

/* Position of the call whose name this is, or which a row of this name belongs to. */
static struct status find_call(size_t *position, const struct run *run, const char *name)
{
    struct csv_text cell = { name, strlen(name) };
    for (size_t i = 0; i < run->order.count; i++) {
        const char *call = call_order_name(&run->order, i);
        if (strcmp(call, name) != 0 && !resume_row_belongs(cell, call)) continue;
        *position = run->order.positions[i];
        return status_ok();
    }
    return status_error(STATUS_BAD_ARGUMENT, "%s has no call '%s'", run->options->api_info, name);
}

static struct status check_one(struct case_outcome *out, struct run *run, const char *name)
{
    size_t position = 0;
    TRY(open_inputs(run));
    TRY(find_call(&position, run, name));
    TRY(open_devices(run));
    TRY(set_budget(run));
    TRY(evidence_repeat_command(&run->repeat, run->options));
    set_up_checks(run);
    if (!case_check(out, &run->workers[0], position))
        return status_error(STATUS_INTERNAL, "the check of %s was stopped", name);
    return out->fatal;
}

struct status run_one_call(struct case_outcome *out, const struct run_options *options,
                           const char *name)
{
    struct run run = { .options = options, .files = RESULT_FILES_NONE, .timings = FILE_NONE };
    struct status status = check_one(out, &run, name);
    run_close(&run);
    return status;
}
