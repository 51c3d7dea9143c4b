/* Shard after shard, slice after slice: the order of the rows is that of the dumps. */
#include "cluster/merge.h"

#include <stdio.h>
#include <string.h>

#include "cluster/job_paths.h"
#include "cluster/merged_dump.h"
#include "cluster/shard_note.h"
#include "cluster/shard_slices.h"
#include "core/clock.h"
#include "core/directory.h"
#include "core/memory.h"
#include "core/quantity.h"
#include "core/text_table.h"
#include "report/progress.h"
#include "runner/run_report.h"

enum { RANGES_SHOWN = 12, CORES_BYTES = 400 };

struct merging {
    const struct merge_request *request;
    const struct plan *plan;
    struct arena arena;   /* of the job */
    struct arena scratch; /* of a shard */
    struct dump_tree tree;
    struct run_parts parts;
    struct summary summary;
    struct merged_dump dump; /* whose files are open */
    size_t missing;          /* shards */
    struct text_table hosts;
    char cores[CORES_BYTES]; /* that were computed on: "Haswell, Zen" */
    char *backend, *profile; /* owned; NULL while none is known */
    double work_seconds;
    bool resumed; /* what was not written down of the shards is of a part of their calls */
};

/* ---- what is missing -------------------------------------------------------------------- */

static bool is_done(struct merging *m, size_t shard)
{
    const char *path = job_done_path(&m->scratch, m->request->job, shard);
    return path && directory_exists(path);
}

/* Append "3" or "5-8". */
static void add_range(char *list, size_t bytes, size_t first, size_t last)
{
    size_t used = strlen(list);
    (void)snprintf(list + used, bytes - used, first == last ? "%s%zu" : "%s%zu-%zu",
                   used ? ", " : "", first, last);
}

static void list_missing(struct merging *m, char *list, size_t bytes)
{
    size_t ranges = 0;
    for (size_t i = 0; i < m->plan->n_shards; i++) {
        size_t first = i;
        while (i < m->plan->n_shards && !is_done(m, i)) i++;
        arena_reset(&m->scratch);
        if (i == first) continue;
        m->missing += i - first;
        if (ranges++ < RANGES_SHOWN) add_range(list, bytes, first, i - 1);
    }
    if (ranges > RANGES_SHOWN) (void)snprintf(list + strlen(list), bytes - strlen(list), ", ...");
}

static struct status check_missing(struct merging *m)
{
    char list[RANGES_SHOWN * 16 + 16] = "";
    const size_t all = m->plan->n_shards;
    list_missing(m, list, sizeof list);
    if (!m->missing) return status_ok();
    if (m->missing == all)
        return status_error(STATUS_BAD_INPUT, "none of the %zu shards of '%s' is done", all,
                            file_shown(m->request->job).text);
    if (!m->request->partial)
        return status_error(
            STATUS_BAD_INPUT,
            "%zu of %zu shards are not done: %s; with --partial the others are merged", m->missing,
            all, list);
    (void)fprintf(stderr, "probe-ut: warning: %zu of %zu shards are not done and left out: %s\n",
                  m->missing, all, list);
    return status_ok();
}

/* ---- shards ----------------------------------------------------------------------------- */

static struct status finish_dump(struct merging *m)
{
    struct merged_dump *dump = &m->dump;
    if (!dump->is_open) return status_ok();
    TRY(merged_dump_finish(dump));
    m->parts.calls += m->request->partial ? dump->calls : m->plan->dumps[dump->dump].checked;
    memcpy(m->parts.endings[dump->dump].paths, dump->paths, sizeof dump->paths);
    return status_ok();
}

static struct status begin_dump(struct merging *m, size_t dump)
{
    if (m->dump.is_open && m->dump.dump == dump) return status_ok();
    TRY(finish_dump(m));
    const char *directory =
        path_join(&m->arena, m->request->options.out_path, m->plan->dumps[dump].folder);
    if (!directory) return status_no_memory(0);
    return merged_dump_begin(&m->dump, m->plan, dump, directory);
}

/* Calls of different kinds of cores differ in their last digits. */
static void note_core(struct merging *m, const char *core)
{
    size_t used = strlen(m->cores);
    if (!core || strstr(m->cores, core)) return;
    (void)snprintf(m->cores + used, sizeof m->cores - used, "%s%s", used ? ", " : "", core);
}

static struct status note_run(struct merging *m, const struct run_record *record)
{
    const char *backend = run_record_text(record, "backend");
    const char *profile = run_record_text(record, "profile");
    if (m->backend) return status_ok();
    m->backend = memory_copy_string(backend ? backend : "?");
    m->profile = memory_copy_string(profile ? profile : "?");
    return m->backend && m->profile ? status_ok() : status_no_memory(0);
}

static struct status add_slice(struct merging *m, size_t shard, const struct shard_slice *slice)
{
    const char *done = job_done_path(&m->scratch, m->request->job, shard);
    const char *folder = done ? path_join(&m->scratch, done, m->plan->dumps[slice->dump].folder)
                              : NULL;
    if (!folder) return status_no_memory(0);
    const struct done_slice part = {
        .folder = folder, .shard = shard, .slice = slice, .policy = m->request->options.file_policy
    };
    TRY(begin_dump(m, slice->dump));
    TRY(merged_dump_add(&m->dump, &m->summary, &part));
    note_core(m, m->dump.core);
    return note_run(m, &m->dump.record);
}

static struct status add_note(struct merging *m, size_t shard)
{
    struct shard_note note;
    uint32_t number;
    const char *done = job_done_path(&m->scratch, m->request->job, shard);
    const char *path = done ? path_join(&m->scratch, done, "shard.json") : NULL;
    if (!path) return status_no_memory(0);
    TRY(shard_note_read(&note, &m->scratch, path, m->request->options.file_policy));
    m->work_seconds += note.work_seconds;
    m->resumed |= note.done_here < note.calls;
    reference_use_add(&m->summary.references, &note.references);
    return text_table_add(&number, NULL, &m->hosts, note.host, strlen(note.host));
}

static struct status add_shard(struct merging *m, size_t shard)
{
    struct shard_slices slices;
    if (!is_done(m, shard)) return status_ok();
    TRY(add_note(m, shard));
    TRY(shard_slices_list(&slices, &m->scratch, m->plan, shard));
    for (size_t i = 0; i < slices.count; i++) TRY(add_slice(m, shard, &slices.items[i]));
    return status_ok();
}

static struct status add_shards(struct merging *m)
{
    struct progress progress;
    progress_start(&progress, stderr, !m->request->options.no_progress, m->plan->n_shards, 0, 0,
                   clock_seconds());
    progress.unit = "shards";
    progress.unjudged = true;
    struct status status = status_ok();
    for (size_t i = 0; i < m->plan->n_shards && !status.code; i++) {
        status = add_shard(m, i);
        arena_reset(&m->scratch);
        progress_count(&progress, false);
        progress_show(&progress, clock_seconds());
    }
    progress_end(&progress);
    if (!status.code) status = finish_dump(m);
    return status.code ? status : file_sync_system(m->request->options.out_path);
}

/* ---- the end ---------------------------------------------------------------------------- */

/* What `plan` said of the dumps, for the report. */
static struct status set_endings(struct merging *m)
{
    for (size_t i = 0; i < m->plan->n_dumps; i++) {
        const struct plan_dump *dump = &m->plan->dumps[i];
        struct part_ending *ending = &m->parts.endings[i];
        m->parts.recorded += dump->calls;
        m->parts.n_refused += dump->refused != NULL;
        if (dump->refused) ending->status = status_error(STATUS_BAD_INPUT, "%s", dump->refused);
        TRY(run_part_baseline(&ending->baseline, m->request->options.baseline, dump->folder));
    }
    m->parts.opened = m->parts.total;
    return status_ok();
}

static struct status report(int *exit_status, struct merging *m)
{
    char work[1000];
    const char *error_data = job_path(&m->arena, m->request->job, "error_data");
    const struct plan *plan = m->plan;
    (void)snprintf(
        work, sizeof work,
        "%s in %zu of %s, done on %s, %.3g s of one thread%s, backend %s, profile %s%s%s",
        quantity_of(m->summary.calls, "call").text, plan->n_shards - m->missing,
        quantity_of(plan->n_shards, "shard").text, quantity_of(m->hosts.count, "host").text,
        m->work_seconds, m->resumed ? " and more" : "", m->backend, m->profile,
        m->cores[0] ? ", BLAS core " : "", m->cores);
    const struct run_totals totals = { .summary = &m->summary,
                                       .parts = &m->parts,
                                       .backend = m->backend,
                                       .profile = m->profile,
                                       .work = work };
    if (strchr(m->cores, ','))
        (void)fprintf(stderr,
                      "probe-ut: warning: the shards were done on different BLAS cores (%s); the "
                      "last digits of their rows may differ\n",
                      m->cores);
    /* Of the calls of earlier attempts nothing is known that is not in their rows. */
    if (m->resumed) m->summary.references = (struct reference_use){ .components = 0 };
    TRY(run_report_end(exit_status, &m->request->options, &totals));
    if (error_data && directory_exists(error_data))
        printf("\ntensors of failing calls: %s\n", error_data);
    return run_report_status(&m->request->options, &totals);
}

static struct status merge(int *exit_status, struct merging *m)
{
    const struct merge_request *request = m->request;
    TRY(plan_tree(&m->tree, &m->arena, m->plan, request->dump_root));
    TRY(run_report_check(&request->options, m->plan->single ? NULL : &m->tree));
    TRY(check_missing(m));
    if (!m->plan->single) m->summary.tree = &m->tree;
    TRY(text_table_create(&m->hosts));
    TRY(run_parts_open(&m->parts, &request->options, &m->tree));
    TRY(set_endings(m));
    TRY(add_shards(m));
    return report(exit_status, m);
}

struct status merge_job(int *exit_status, const struct merge_request *request)
{
    struct merging m = { .request = request, .plan = request->plan };
    struct status status = merge(exit_status, &m);
    merged_dump_abandon(&m.dump);
    run_parts_close(&m.parts);
    summary_release(&m.summary);
    if (m.hosts.slots) text_table_release(&m.hosts);
    memory_release(m.backend);
    memory_release(m.profile);
    arena_release(&m.scratch);
    arena_release(&m.arena);
    return status;
}
