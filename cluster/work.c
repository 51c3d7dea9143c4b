/* The run loop of run_ut over the slices of the shard, in a directory of its own (cluster/attempt.h). */
#include "cluster/work.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cluster/attempt.h"
#include "cluster/job_paths.h"
#include "cluster/shard_note.h"
#include "cluster/shard_slices.h"
#include "core/clock.h"
#include "core/directory.h"
#include "core/memory.h"
#include "core/quantity.h"
#include "report/ci_reports.h"
#include "results/result_files.h"
#include "results/resume.h"
#include "runner/environment.h"
#include "runner/run.h"

static const double look_every_s = 10; /* whether another copy has finished the shard */

/* All that the run needs. It stays when the run is interrupted, as threads may still be at work. */
struct work {
    const struct work_request *request;
    struct arena arena;
    struct shard_slices slices;
    struct dump_tree tree;
    struct attempt attempt;
    struct run_job job;
    struct run_options options;
    struct shard_note note;
    double looked_s;
};

/* ---- what the run tells ----------------------------------------------------------------- */

static struct status count_call(void *context, const struct case_outcome *outcome, const char *name)
{
    struct work *work = context;
    (void)name;
    reference_use_add(&work->note.references, &outcome->references);
    work->note.work_seconds += stage_times_total(&outcome->times);
    work->note.done_here++;
    double now_s = clock_seconds();
    if (now_s - work->looked_s < look_every_s) return status_ok();
    work->looked_s = now_s;
    if (!attempt_is_done(&work->attempt)) return status_ok();
    return status_error(STATUS_IO, "another copy has finished the shard");
}

/* Calls of the whole shard, those of earlier attempts too. */
static struct status count_rows(struct work *work)
{
    struct file_policy policy = { .trusted = work->options.file_policy.trusted, .any_size = true };
    struct result_counts counts = { 0, 0 };
    struct status status = status_ok();
    for (size_t i = 0; i < work->tree.count && !status.code; i++) {
        char *paths[RESULT_FILES];
        struct file result;
        const char *folder =
            path_join(&work->arena, work->attempt.directory, work->tree.items[i].folder);
        if (!folder) return status_no_memory(0);
        TRY(result_files_find(paths, folder));
        status = paths[0] ? file_open_read(&result, paths[RESULT_CALLS], policy)
                          : status_error(STATUS_INTERNAL, "'%s' has no files", folder);
        if (!status.code) {
            status = result_counts_add(&counts, &result);
            (void)file_close(&result);
        }
        result_files_release_paths(paths);
    }
    work->note.calls = counts.calls;
    work->note.failing = counts.failing;
    return status;
}

/* ---- the shard -------------------------------------------------------------------------- */

static struct status set_options(struct work *work)
{
    const struct work_request *request = work->request;
    struct run_options *o = &work->options;
    work->job = (struct run_job){ .id = request->plan->id,
                                  .shard = request->shard,
                                  .timestamp = request->plan->timestamp,
                                  .error_data = job_path(&work->arena, request->job, "error_data"),
                                  .told = request->told };
    if (!work->job.error_data) return status_no_memory(0);
    *o = request->options;
    o->api_info = request->dump_root;
    o->job = &work->job;
    o->out_path = o->result_csv_path = work->attempt.directory;
    /* These are for the whole job. */
    o->fail_on = o->min_judged = o->junit = o->baseline = o->report = NULL;
    o->told = (struct call_listener){ count_call, work };
    return status_ok();
}

static void announce(const struct work *work)
{
    const struct plan *plan = work->request->plan;
    const struct plan_shard *shard = &plan->shards[work->request->shard];
    printf("shard %zu of %zu: %s of %s, about %.3g s on one thread\n", work->request->shard,
           plan->n_shards, quantity_of(shard->calls, "call").text,
           quantity_of(work->tree.count, "dump").text, shard->seconds);
    if (work->attempt.resumed) printf("resuming %s\n", work->attempt.resumed);
    (void)fflush(stdout);
}

static struct status write_note(struct work *work)
{
    struct shard_note *note = &work->note;
    const char *path = path_join(&work->arena, work->attempt.directory, "shard.json");
    if (!path) return status_no_memory(0);
    TRY(count_rows(work));
    note->host = work->attempt.host;
    note->began = work->attempt.began;
    note->ended = (int64_t)time(NULL);
    note->threads = (size_t)(work->options.threads ? work->options.threads : environment_cores());
    return shard_note_write(note, path);
}

static struct status finish(struct work *work)
{
    bool was_first = false;
    const struct plan *plan = work->request->plan;
    TRY(write_note(work));
    TRY(attempt_finish(&was_first, &work->attempt, plan, &work->slices));
    printf("shard %zu is done%s: %s\n", work->request->shard,
           was_first ? "" : ", by another copy of it", work->attempt.done);
    return status_ok();
}

static struct status run_shard(struct work *work)
{
    const struct work_request *request = work->request;
    int exit_status;
    TRY(attempt_begin(&work->attempt, &work->arena, request->job, request->shard, request->plan,
                      &work->slices, request->options.file_policy));
    TRY(set_options(work));
    announce(work);
    TRY(run_checks(&exit_status, &work->options, &work->tree));
    return finish(work);
}

/* A shard that somebody finished meanwhile is done, whatever went wrong here. */
static struct status settle(const struct work *work, struct status status)
{
    if (status.code == STATUS_INTERRUPTED)
        return status_error(status.code, "%s; start it again, and the shard resumes from there",
                            status.text);
    if (!status.code || !work->attempt.done || !attempt_is_done(&work->attempt)) return status;
    printf("shard %zu is done, by another copy of it: %s\n", work->request->shard,
           work->attempt.done);
    attempt_remove_all(work->attempt.shard);
    return status_ok();
}

static struct status open_shard(bool *is_done, struct work *work)
{
    const struct work_request *request = work->request;
    const char *done = job_done_path(&work->arena, request->job, request->shard);
    if (!done) return status_no_memory(0);
    *is_done = directory_exists(done);
    if (*is_done) {
        /* Whoever finished it may have been killed before this. */
        const char *shard = job_shard_path(&work->arena, request->job, request->shard);
        if (shard) attempt_remove_all(shard);
        printf("shard %zu is done: %s\n", request->shard, done);
        return status_ok();
    }
    TRY(shard_slices_list(&work->slices, &work->arena, request->plan, request->shard));
    return shard_slices_tree(&work->tree, &work->arena, request->plan, &work->slices,
                             request->dump_root);
}

struct status work_do(const struct work_request *request)
{
    bool is_done = false;
    struct work *work = memory_allocate_zeroed(1, sizeof *work);
    if (!work) return status_no_memory(sizeof *work);
    *work = (struct work){ .request = request, .looked_s = clock_seconds() };
    struct status status = open_shard(&is_done, work);
    if (!status.code && !is_done) status = settle(work, run_shard(work));
    if (status.code == STATUS_INTERRUPTED) return status;
    arena_release(&work->arena);
    memory_release(work);
    return status;
}
