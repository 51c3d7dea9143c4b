/* Headers once, then the rows of slice after slice, as bytes; each slice is read before it is copied, so that
 * nothing goes into the files that is not whole. */
#include "cluster/merged_dump.h"

#include <stdio.h>
#include <string.h>

#include "cluster/job_paths.h"
#include "core/memory.h"
#include "results/outcome.h"
#include "results/written_rows.h"
#include "runner/run_about.h"

/* ---- the record ------------------------------------------------------------------------- */

static const char *const shard_members[] = { "job", "shard", "first_call" };

static struct status of_another(const char *path, const char *what)
{
    return status_error(STATUS_BAD_INPUT, "%s is of another %s", file_shown(path).text, what);
}

/* Are the files those of this slice of this job? */
static struct status check_record(const struct run_record *record, const struct merged_dump *merged,
                                  const struct done_slice *done, const char *path)
{
    const char *job = run_record_text(record, "job"),
               *dump = run_record_text(record, "dump_digest");
    char digest[17];
    (void)snprintf(digest, sizeof digest, "%016llx",
                   (unsigned long long)merged->plan->dumps[merged->dump].digest);
    if (!job || strcmp(job, merged->plan->id) != 0) return of_another(path, "job");
    if (!dump || strcmp(dump, digest) != 0) return of_another(path, "dump");
    if (run_record_number(record, "shard") != (double)done->shard ||
        run_record_number(record, "first_call") != (double)done->slice->slice.calls.first)
        return of_another(path, "shard");
    return status_ok();
}

/* The record of a slice as one of the whole dump. */
static struct status widen_record(struct run_record *record, const struct merged_dump *merged)
{
    for (size_t i = 0; i < sizeof shard_members / sizeof *shard_members; i++)
        run_record_remove(record, shard_members[i]);
    return run_record_set_number(record, "calls",
                                 (double)merged->plan->dumps[merged->dump].checked);
}

/* The first slice says what the run is; the others must agree but for the core that they were computed on,
 * which the job is asked about (cluster/merge.c). */
static struct status take_record(struct merged_dump *merged, struct run_record *record,
                                 const char *path)
{
    const char *own_core = run_record_text(record, RUN_RECORD_CORE);
    (void)snprintf(merged->core, sizeof merged->core, "%s", own_core ? own_core : "");
    TRY(widen_record(record, merged));
    if (!merged->record.object) {
        const char *device = run_record_about(record, "device");
        merged->device = device ? memory_copy_string(device) : NULL;
        if (device && !merged->device) return status_no_memory(0);
        run_record_remove(record, "about");
        merged->record = *record;
        record->object = NULL;
        return status_ok();
    }
    run_record_remove(record, RUN_RECORD_CORE);
    if (merged->core[0] && !run_record_text(&merged->record, RUN_RECORD_CORE))
        TRY(run_record_name_core(&merged->record, merged->core));
    return run_record_compare(&merged->record, record, file_shown(path).text);
}

/* *calls: how many rows of calls the slice has. */
static struct status read_record(size_t *calls, enum evidence_extent *extent,
                                 struct merged_dump *merged, const struct done_slice *done,
                                 const char *path)
{
    struct run_record record = { .object = NULL };
    TRY(run_record_read(&record, path, done->policy));
    if (!record.object)
        return status_error(STATUS_BAD_INPUT, "%s is no run file", file_shown(path).text);
    struct status status = check_record(&record, merged, done, path);
    double number = run_record_number(&record, "calls");
    *calls = number >= 0 && number < 9e15 ? (size_t)number : SIZE_MAX;
    *extent = evidence_extent_from_name(run_record_text(&record, "evidence"));
    if (!status.code) status = take_record(merged, &record, path);
    run_record_release(&record);
    return status;
}

/* ---- rows ------------------------------------------------------------------------------- */

static struct status visit_rows(size_t *calls, struct written_rows *rows, struct summary *summary,
                                size_t dump)
{
    struct case_outcome outcome = { 0 };
    struct status status = status_ok();
    for (*calls = 0; !status.code; ++*calls) {
        const char *name;
        status = written_rows_next(rows, &name, &outcome);
        if (status.code || !name) break;
        status = summary_add(summary, &outcome, name, summary->tree ? dump : 0);
    }
    case_outcome_release(&outcome);
    return status;
}

static struct status copy_slice(struct merged_dump *merged, const struct written_rows *rows,
                                bool is_first)
{
    const struct new_file *files = merged->files;
    TRY(file_append_from(&files[RESULT_CALLS].file, &rows->files[RESULT_CALLS],
                         is_first ? 0 : rows->result_body));
    TRY(file_append_from(&files[RESULT_DETAILS].file, &rows->files[RESULT_DETAILS],
                         is_first ? 0 : rows->details_body));
    return file_append_from(&files[RESULT_EVIDENCE].file, &rows->files[RESULT_EVIDENCE], 0);
}

static struct status add_files(struct merged_dump *merged, struct summary *summary,
                               const struct done_slice *done, char *const paths[RESULT_FILES])
{
    struct written_rows rows;
    enum evidence_extent extent = EVIDENCE_ALL;
    size_t wanted = 0, calls = 0;
    bool is_first = !merged->record.object;
    TRY(read_record(&wanted, &extent, merged, done, paths[RESULT_RUN]));
    struct status status = written_rows_open(&rows, paths, extent, done->policy);
    if (!status.code) status = visit_rows(&calls, &rows, summary, merged->dump);
    if (!status.code && calls != wanted)
        status = status_error(STATUS_BAD_INPUT, "%s is not whole: it has %zu of %zu calls",
                              file_shown(paths[RESULT_CALLS]).text, calls, wanted);
    if (!status.code) status = copy_slice(merged, &rows, is_first);
    if (!status.code) merged->calls += calls;
    written_rows_close(&rows);
    return status;
}

struct status merged_dump_add(struct merged_dump *merged, struct summary *summary,
                              const struct done_slice *done)
{
    char *paths[RESULT_FILES];
    TRY(result_files_find(paths, done->folder));
    struct status status = paths[0] ? add_files(merged, summary, done, paths)
                                    : status_error(STATUS_BAD_INPUT,
                                                   "shard %zu is not whole: '%s' has no files",
                                                   done->shard, file_shown(done->folder).text);
    result_files_release_paths(paths);
    return status;
}

/* ---- the files -------------------------------------------------------------------------- */

struct status merged_dump_begin(struct merged_dump *out, const struct plan *plan, size_t dump,
                                const char *directory)
{
    *out = (struct merged_dump){ .plan = plan, .dump = dump, .is_open = true };
    for (int i = 0; i < RESULT_FILES; i++) out->files[i] = NEW_FILE_NONE;
    TRY(result_files_paths(out->paths, directory, plan->timestamp));
    TRY(file_make_directories(directory));
    for (int i = 0; i < RESULT_FILES; i++) TRY(new_file_create(&out->files[i], out->paths[i]));
    return status_ok();
}

static struct status write_record(struct merged_dump *merged)
{
    struct arena arena = { 0 };
    struct csv_buffer text = { 0 };
    const struct plan *plan = merged->plan;
    const char *told = path_join(&arena, plan->root, plan->dumps[merged->dump].path);
    struct status status = told ? run_about_add(&merged->record, told) : status_no_memory(0);
    if (!status.code && merged->device)
        status = run_record_add_about(&merged->record, "device", merged->device);
    if (!status.code) status = run_record_print(&text, &merged->record);
    if (!status.code)
        status = file_write_all(&merged->files[RESULT_RUN].file, text.data, text.length);
    csv_buffer_release(&text);
    arena_release(&arena);
    return status;
}

struct status merged_dump_finish(struct merged_dump *merged)
{
    struct status status = write_record(merged);
    for (int i = 0; i < RESULT_FILES; i++)
        if (!status.code) status = new_file_finish_later(&merged->files[i]);
        else new_file_abandon(&merged->files[i]);
    run_record_release(&merged->record);
    memory_release(merged->device);
    merged->is_open = false;
    return status;
}

void merged_dump_abandon(struct merged_dump *merged)
{
    if (!merged->is_open) return;
    for (int i = 0; i < RESULT_FILES; i++)
        if (merged->files[i].path) new_file_abandon(&merged->files[i]);
    run_record_release(&merged->record);
    memory_release(merged->device);
    result_files_release_paths(merged->paths);
    merged->is_open = false;
}
