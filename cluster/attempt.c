/* Directories made, copied and renamed. */
#include "cluster/attempt.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cluster/attempt_name.h"
#include "cluster/job_paths.h"
#include "core/directory.h"
#include "core/memory.h"
#include "results/result_files.h"
#include "results/run_record.h"
#include "runner/environment.h"

enum { ATTEMPTS_MOST = 100000, TAKING_TRIED = 20 };

/* ---- the longest attempt ---------------------------------------------------------------- */

static uint64_t bytes_of(const char *path, struct file_policy policy)
{
    struct file file;
    uint64_t bytes = 0;
    policy.any_size = true;
    if (!path || file_open_read(&file, path, policy).code) return 0;
    (void)file_size(&bytes, &file);
    (void)file_close(&file);
    return bytes;
}

/* Can these files be resumed here: are they of this job, and were they made with the arithmetic that
 * this host has? */
static bool is_ours(const char *run_path, const struct plan *plan, struct file_policy policy)
{
    struct run_record record = { .object = NULL };
    if (run_record_read(&record, run_path, policy).code || !record.object) return false;
    const char *job = run_record_text(&record, "job"),
               *core = run_record_text(&record, RUN_RECORD_CORE);
    bool ours = job && !strcmp(job, plan->id) && (!core || !strcmp(core, environment_blas_core()));
    run_record_release(&record);
    return ours;
}

/* Bytes of the details of all dumps of the shard. */
static struct status measure(uint64_t *bytes, struct arena *arena, const char *attempt,
                             const struct plan *plan, const struct shard_slices *slices,
                             struct file_policy policy)
{
    *bytes = 0;
    for (size_t i = 0; i < slices->count; i++) {
        char *paths[RESULT_FILES];
        const char *folder = path_join(arena, attempt, plan->dumps[slices->items[i].dump].folder);
        if (!folder) return status_no_memory(0);
        if (result_files_find(paths, folder).code || !paths[0]) continue;
        if (is_ours(paths[RESULT_RUN], plan, policy))
            *bytes += bytes_of(paths[RESULT_DETAILS], policy);
        result_files_release_paths(paths);
    }
    return status_ok();
}

static struct status find_longest(const char **out, struct arena *arena, const char *shard,
                                  const struct plan *plan, const struct shard_slices *slices,
                                  struct file_policy policy)
{
    struct directory_names names;
    uint64_t most = 0;
    *out = NULL;
    TRY(directory_list(&names, shard, ATTEMPTS_MOST));
    struct status status = status_ok();
    for (size_t i = 0; i < names.count && !status.code; i++) {
        uint64_t bytes = 0;
        if (!attempt_name_is(names.items[i])) continue;
        const char *attempt = path_join(arena, shard, names.items[i]);
        status = attempt ? measure(&bytes, arena, attempt, plan, slices, policy)
                         : status_no_memory(0);
        if (status.code || bytes <= most) continue;
        most = bytes;
        *out = attempt;
    }
    directory_release(&names);
    return status;
}

/* ---- copying ---------------------------------------------------------------------------- */

static struct status copy_file(const char *to, const char *from, struct file_policy policy)
{
    struct file source, copy;
    policy.any_size = true;
    TRY(file_open_read(&source, from, policy));
    struct status status = file_create(&copy, to);
    if (!status.code) {
        status = file_append_from(&copy, &source, 0);
        const struct status closed = file_close(&copy);
        if (!status.code) status = closed;
    }
    (void)file_close(&source);
    return status;
}

/* The result file first: its rows are written last, so of what is copied later there is no less, however
 * fast the other goes on. */
static struct status copy_run(char *from[RESULT_FILES], const char *folder,
                              struct file_policy policy)
{
    static const int order[] = { RESULT_RUN, RESULT_CALLS, RESULT_DETAILS, RESULT_EVIDENCE };
    struct arena arena = { 0 };
    struct status status = file_make_directories(folder);
    for (size_t i = 0; i < sizeof order / sizeof *order && !status.code; i++) {
        const char *path = from[order[i]], *name = strrchr(path, '/');
        const char *to = path_join(&arena, folder, name ? name + 1 : path);
        if (!file_exists(path)) continue;
        status = to ? copy_file(to, path, policy) : status_no_memory(0);
    }
    arena_release(&arena);
    return status;
}

static struct status copy_folder(struct arena *arena, const char *to, const char *from,
                                 const char *folder, const struct plan *plan,
                                 struct file_policy policy)
{
    char *paths[RESULT_FILES];
    const char *source = path_join(arena, from, folder), *target = path_join(arena, to, folder);
    if (!source || !target) return status_no_memory(0);
    TRY(result_files_find(paths, source));
    struct status status = status_ok();
    if (paths[0] && is_ours(paths[RESULT_RUN], plan, policy))
        status = copy_run(paths, target, policy);
    result_files_release_paths(paths);
    return status;
}

static struct status copy_folders(const struct attempt *attempt, const char *to,
                                  struct arena *arena, const struct plan *plan,
                                  const struct shard_slices *slices, struct file_policy policy)
{
    for (size_t i = 0; i < slices->count; i++)
        TRY(copy_folder(arena, to, attempt->resumed, plan->dumps[slices->items[i].dump].folder,
                        plan, policy));
    return status_ok();
}

/* A process that is killed while it copies leaves files that do not fit each other, so a copy is no attempt
 * before it is whole. */
static struct status copy_attempt(const struct attempt *attempt, struct arena *arena,
                                  const struct plan *plan, const struct shard_slices *slices,
                                  struct file_policy policy)
{
    const char *name = attempt_name_of_part(arena, strrchr(attempt->directory, '/') + 1);
    const char *copy = name ? path_join(arena, attempt->shard, name) : NULL;
    if (!copy) return status_no_memory(0);
    struct status status = file_make_directories(copy);
    if (!status.code) status = copy_folders(attempt, copy, arena, plan, slices, policy);
    if (!status.code && !directory_exists(attempt->resumed))
        status = status_error(STATUS_IO, "'%s' is gone", file_shown(attempt->resumed).text);
    if (!status.code) status = file_rename(copy, attempt->directory);
    if (status.code) directory_remove(copy);
    return status;
}

/* Make the longest attempt our own: that of a process that has ended as it is, any other as a copy. */
static struct status take_over(const struct attempt *attempt, struct arena *arena,
                               const struct plan *plan, const struct shard_slices *slices,
                               struct file_policy policy)
{
    if (!attempt->resumed) return file_make_directories(attempt->directory);
    if (attempt_name_is_dead(strrchr(attempt->resumed, '/') + 1))
        return file_rename(attempt->resumed, attempt->directory);
    return copy_attempt(attempt, arena, plan, slices, policy);
}

/* Others may take over or remove what is being taken over here; then there is another longest one. */
static struct status begin_with_longest(struct attempt *attempt, struct arena *arena,
                                        const struct plan *plan, const struct shard_slices *slices,
                                        struct file_policy policy)
{
    struct status status = status_ok();
    for (int i = 0; i < TAKING_TRIED; i++) {
        TRY(find_longest(&attempt->resumed, arena, attempt->shard, plan, slices, policy));
        status = take_over(attempt, arena, plan, slices, policy);
        if (!status.code || !attempt->resumed || directory_exists(attempt->resumed)) return status;
    }
    return status;
}

static bool is_leftover(const char *name)
{
    return attempt_name_is(name) || attempt_name_is_part(name);
}

/* Remove it, under a name that is no attempt's: whoever is killed here leaves a part of the files. */
static void discard(struct arena *arena, const char *shard, const char *name)
{
    const char *part = attempt_name_is_part(name) ? name : attempt_name_of_part(arena, name);
    const char *from = path_join(arena, shard, name);
    const char *to = part ? path_join(arena, shard, part) : NULL;
    if (!from || !to) return;
    if (part == name || !file_rename_only(from, to).code) directory_remove(to);
}

/* What processes left that have ended is not needed any more. */
static void remove_dead(const struct attempt *attempt, struct arena *arena)
{
    struct directory_names names;
    if (directory_list(&names, attempt->shard, ATTEMPTS_MOST).code) return;
    for (size_t i = 0; i < names.count; i++) {
        if (is_leftover(names.items[i]) && attempt_name_is_dead(names.items[i]))
            discard(arena, attempt->shard, names.items[i]);
    }
    directory_release(&names);
}

struct status attempt_begin(struct attempt *out, struct arena *arena, const char *job, size_t shard,
                            const struct plan *plan, const struct shard_slices *slices,
                            struct file_policy policy)
{
    *out = (struct attempt){ .shard = job_shard_path(arena, job, shard),
                             .done = job_done_path(arena, job, shard),
                             .host = attempt_host(arena),
                             .began = (int64_t)time(NULL) };
    const char *name = attempt_name_make(arena, out->began);
    if (!out->shard || !out->done || !out->host || !name) return status_no_memory(0);
    out->directory = path_join(arena, out->shard, name);
    if (!out->directory) return status_no_memory(0);
    TRY(file_make_directories(out->shard));
    TRY(begin_with_longest(out, arena, plan, slices, policy));
    remove_dead(out, arena);
    return status_ok();
}

/* ---- the end ---------------------------------------------------------------------------- */

bool attempt_is_done(const struct attempt *attempt) { return directory_exists(attempt->done); }

void attempt_remove_all(const char *shard_directory)
{
    struct arena arena = { 0 };
    struct directory_names names;
    if (directory_list(&names, shard_directory, ATTEMPTS_MOST).code) return;
    for (size_t i = 0; i < names.count; i++) {
        if (is_leftover(names.items[i])) discard(&arena, shard_directory, names.items[i]);
    }
    directory_release(&names);
    arena_release(&arena);
}

/* The directories from `folder` up to the attempt's own. */
static struct status sync_folder(const char *attempt, const char *folder)
{
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s", attempt, folder);
    size_t root = strlen(attempt);
    while (strlen(path) > root) {
        if (path[strlen(path) - 1] != '/') TRY(file_sync_directory(path));
        *strrchr(path, '/') = '\0';
    }
    return status_ok();
}

struct status attempt_finish(bool *was_first, const struct attempt *attempt,
                             const struct plan *plan, const struct shard_slices *slices)
{
    for (size_t i = 0; i < slices->count; i++)
        TRY(sync_folder(attempt->directory, plan->dumps[slices->items[i].dump].folder));
    TRY(file_sync_directory(attempt->directory));
    struct status status = file_rename(attempt->directory, attempt->done);
    *was_first = !status.code;
    if (status.code && !attempt_is_done(attempt)) return status;
    attempt_remove_all(attempt->shard);
    return status_ok();
}
