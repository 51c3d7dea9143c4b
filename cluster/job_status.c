/* Of a shard that is done its note says all; of one that is begun the result rows of its longest attempt are
 * counted. */
#include "cluster/job_status.h"

#include <sys/stat.h>
#include <time.h>

#include "cluster/attempt_name.h"
#include "cluster/job_paths.h"
#include "cluster/shard_note.h"
#include "cluster/shard_slices.h"
#include "core/directory.h"
#include "core/quantity.h"
#include "results/result_files.h"
#include "results/resume.h"

enum { ATTEMPTS_MOST = 100000, ACTIVE_S = 120 };

struct reading {
    struct job_status *out;
    const char *job;
    const struct plan *plan;
    struct file_policy policy;
    struct arena arena; /* of a shard */
    int64_t now;
};

static void note_begin(struct job_status *status, int64_t began)
{
    if (began > 0 && (!status->began || began < status->began)) status->began = began;
}

/* ---- attempts --------------------------------------------------------------------------- */

/* Rows of one dump. What cannot be read, because somebody is just writing or removing it, counts for
 * nothing. */
static void count_folder(struct result_counts *counts, bool *active, const struct reading *r,
                         const char *folder)
{
    char *paths[RESULT_FILES];
    struct file result;
    struct stat info;
    if (result_files_find(paths, folder).code || !paths[0]) return;
    if (!file_open_read(&result, paths[RESULT_CALLS], r->policy).code) {
        (void)result_counts_add(counts, &result);
        *active |= !fstat(result.fd, &info) && r->now - (int64_t)info.st_mtime < ACTIVE_S;
        (void)file_close(&result);
    }
    result_files_release_paths(paths);
}

static struct status count_attempt(struct result_counts *counts, bool *active, struct reading *r,
                                   const char *attempt, const struct shard_slices *slices)
{
    for (size_t i = 0; i < slices->count; i++) {
        const char *folder =
            path_join(&r->arena, attempt, r->plan->dumps[slices->items[i].dump].folder);
        if (!folder) return status_no_memory(0);
        count_folder(counts, active, r, folder);
    }
    return status_ok();
}

static struct status read_attempts(struct reading *r, size_t shard, const char *directory,
                                   const struct directory_names *names)
{
    struct job_status *out = r->out;
    struct shard_slices slices;
    struct result_counts most = { 0, 0 };
    bool begun = false, active = false;
    TRY(shard_slices_list(&slices, &r->arena, r->plan, shard));
    for (size_t i = 0; i < names->count; i++) {
        struct result_counts counts = { 0, 0 };
        const char *name = names->items[i], *attempt = path_join(&r->arena, directory, name);
        if (!attempt_name_is(name)) continue;
        if (!attempt) return status_no_memory(0);
        TRY(count_attempt(&counts, &active, r, attempt, &slices));
        note_begin(out, attempt_name_began(name));
        if (counts.calls >= most.calls) most = counts;
        begun = true;
    }
    const struct plan_shard *planned = &r->plan->shards[shard];
    double share = planned->calls ? (double)most.calls / (double)planned->calls : 0;
    out->begun += begun;
    out->active += active;
    out->calls_done += most.calls;
    out->failing += most.failing;
    out->seconds_done += planned->seconds * (share < 1 ? share : 1);
    return status_ok();
}

/* ---- shards ----------------------------------------------------------------------------- */

static struct status read_done(struct reading *r, size_t shard, const char *done)
{
    struct shard_note note;
    const char *path = path_join(&r->arena, done, "shard.json");
    if (!path) return status_no_memory(0);
    TRY(shard_note_read(&note, &r->arena, path, r->policy));
    r->out->done++;
    r->out->calls_done += note.calls;
    r->out->failing += note.failing;
    r->out->seconds_done += r->plan->shards[shard].seconds;
    note_begin(r->out, note.began);
    return status_ok();
}

static struct status read_shard(struct reading *r, size_t shard)
{
    struct directory_names names;
    const char *directory = job_shard_path(&r->arena, r->job, shard);
    const char *done = job_done_path(&r->arena, r->job, shard);
    if (!directory || !done) return status_no_memory(0);
    if (directory_exists(done)) return read_done(r, shard, done);
    if (!directory_exists(directory)) return status_ok();
    TRY(directory_list(&names, directory, ATTEMPTS_MOST));
    struct status status = read_attempts(r, shard, directory, &names);
    directory_release(&names);
    return status;
}

struct status job_status_read(struct job_status *out, const char *job, const struct plan *plan,
                              struct file_policy policy)
{
    struct reading r = { .out = out,
                         .job = job,
                         .plan = plan,
                         .policy = { .trusted = policy.trusted, .any_size = true },
                         .now = (int64_t)time(NULL) };
    struct status status = status_ok();
    *out = (struct job_status){ .done = 0 };
    for (size_t i = 0; i < plan->n_shards && !status.code; i++) {
        out->calls_all += plan->shards[i].calls;
        out->seconds_all += plan->shards[i].seconds;
        status = read_shard(&r, i);
        arena_reset(&r.arena);
    }
    arena_release(&r.arena);
    return status;
}

/* ---- for people ------------------------------------------------------------------------- */

/* "95 s", "12 min", "7.5 h". */
static void print_duration(FILE *out, double seconds)
{
    if (seconds < 120) fprintf(out, "%.0f s", seconds);
    else if (seconds < 7200) fprintf(out, "%.0f min", seconds / 60);
    else fprintf(out, "%.1f h", seconds / 3600);
}

/* Rate and time left, from what was done since the first attempt began. */
static void print_pace(FILE *out, const struct job_status *status, int64_t now)
{
    double elapsed_s = (double)(now - status->began);
    double left = status->seconds_all - status->seconds_done;
    if (!status->began || elapsed_s < 1 || !(status->seconds_done > 0)) return;
    double rate = (double)status->calls_done / elapsed_s;
    fprintf(out, "rate    %.*f calls a second", rate < 10 ? 2 : 0, rate);
    if (status->active) {
        fprintf(out, ", about ");
        print_duration(out, elapsed_s * left / status->seconds_done);
        fprintf(out, " left");
    }
    fprintf(out, "\n");
}

void job_status_print(FILE *out, const struct job_status *status, const struct plan *plan,
                      int64_t now)
{
    size_t waiting = plan->n_shards - status->done - status->begun;
    fprintf(out,
            "shards  %zu of %zu done, %zu begun (%zu of them active in the last %d minutes), %zu "
            "waiting\n",
            status->done, plan->n_shards, status->begun, status->active, ACTIVE_S / 60, waiting);
    fprintf(out, "calls   %zu of %zu done, %zu failing so far\n", status->calls_done,
            status->calls_all, status->failing);
    if (status->done < plan->n_shards) print_pace(out, status, now);
}
