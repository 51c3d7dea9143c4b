/* The judge of the online pre-check: records in, rows in the files of their rank out.
 *
 *     body -> record -> inputs and result -> reference -> verdicts -> rows of the rank
 *
 * Bodies wait in a queue with a limit, threads decode and check them, and one committer appends the rows of a
 * rank in the order in which its records were submitted, a whole call at a time, so that the files do not
 * depend on the number of threads. What it knows of a rank's files stands in a journal beside them, so
 * that a process that was killed resumes without a row twice (online/rank_files.h).
 *
 * Everything but judge_open, judge_finish and judge_close may be called from any thread.
 */
#ifndef PROBE_ONLINE_JUDGE_H
#define PROBE_ONLINE_JUDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/status.h"
#include "online/judge_types.h"
#include "runner/run_options.h"

struct judge;

/* Who is told. Each may be NULL. The calls come from threads of the judge and must not wait; they must not
 * call the judge, but for judge_progress. */
struct judge_listener {
    void *context;
    /* The body is not needed any more; before done(). NULL: memory_release. */
    void (*release)(void *context, const struct judge_submission *record);
    /* The rows of a record can be read in the files; for each record, in the order of its rank. */
    void (*done)(void *context, const struct record_done *done);
    /* A submission that was refused for want of room may be tried again. */
    void (*room)(void *context);
};

struct judge_config {
    /* What applies: out_path, threads, memory_bytes, config_path (lists), profile, thresholds, seed, evidence,
     * columns, diagnose budget, fail_on, min_judged, junit, report, color, file_policy, warnings (of refused
     * bodies); result_csv_path: a result file of the run to resume, or its directory. They must
     * outlive the judge. The backend is `recorded`. */
    const struct run_options *options;
    /* A device that the records are given to as well (online/second_device.h); or NULL. Must outlive the judge. */
    const char *second_backend;
    const int64_t *ranks; /* copied; records of others have no rows. None: all, as they come */
    size_t n_ranks;
    /* Memory for bodies that wait or are in work, of which each counts twice, as what is decoded of it may be a
     * copy; 0: a quarter of all. */
    uint64_t queue_bytes;
    struct judge_listener listener;
};

/* Open the files of all ranks and start the threads.
 *
 *   errors  STATUS_BAD_ARGUMENT, STATUS_BAD_INPUT: what the options name cannot be used
 */
struct status judge_open(struct judge **out, const struct judge_config *config);

/* Have a record judged. *taken is false when there is no room now: the caller keeps the body, and tries again
 * after room(). A body that is larger than the limit of the queue is taken when nothing else waits.
 * Records of a session that are committed already are the caller's to leave out (judge_committed).
 *
 *   errors  STATUS_NO_MEMORY; the failure that ended the judge (judge_failure)
 */
struct status judge_submit(bool *taken, struct judge *judge, const struct judge_submission *record);

/* How many records of a session have been committed, in this process or before it: those with a sequence below
 * this number. Holds for sessions whose records are of one rank and come in order from 0. */
uint64_t judge_committed(struct judge *judge, const char *session);

/* Bytes of bodies that the judge holds. Is everything that was submitted committed? */
uint64_t judge_bytes_held(struct judge *judge);
bool judge_is_idle(struct judge *judge);

/* Why nothing more will be written: OK while there is no reason. A full disk is none: rows wait until there is
 * room again (judge_totals.waiting_for says so) and submissions are refused meanwhile. */
struct status judge_failure(struct judge *judge);

/* Make durable what is written. To be called before the only other copy of a record goes. */
struct status judge_sync(struct judge *judge);

/* ---- what is going on, for people -------------------------------------------------------- */

/* The totals, and the cells of all ranks and steps in order, in `arena`. */
struct status judge_progress(struct judge_totals *totals, struct judge_cell **cells,
                             size_t *n_cells, struct arena *arena, struct judge *judge);

/* The files of a rank, for who shows them while they grow: paths by RESULT_CALLS, ... (results/result_files.h),
 * in `arena`. False when there is no such rank. */
bool judge_files(const char *paths[4], struct arena *arena, struct judge *judge, int64_t rank);

/* ---- the end ------------------------------------------------------------------------------ */

/* Judge what was submitted, write everything, print the summary and make the reports that the options name.
 * *exit_status is as ci_report says (report/ci_reports.h). Nothing may be submitted meanwhile or after. */
struct status judge_finish(int *exit_status, struct judge *judge);

/* End without it, keeping what is written; also after judge_finish. NULL is closed. */
void judge_close(struct judge *judge);

#endif
