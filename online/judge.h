/* The judge of the online pre-check: records in, rows in the files of their rank out.
 *
 *     body -> record -> inputs and result -> reference -> verdicts -> rows of the rank
 *
 * Bodies wait in a queue with a limit, threads decode and check them, and one committer appends the rows of a
 * rank in the order in which its records were submitted, a whole call at a time, so that the files do not
 * depend on the number of threads. What it knows of a rank's files stands in a journal beside them, so
 * that a process that is killed goes on without a row twice (online/rank_files.h).
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
#include "online/record.h"
#include "runner/run_options.h"
#include "standards/judged.h"

struct judge;

/* Where a record came from. */
struct record_origin {
    const char
        *session; /* of our transport: its id, which survives reconnects; otherwise the connection's
                            address. In the evidence; copied */
    uint64_t sequence;  /* in the session */
    int64_t rank, step; /* as the frame says */
};

/* What became of a record. */
enum record_fate {
    RECORD_JUDGED,   /* its rows are written: verdicts, or SKIP with the reason */
    RECORD_FILTERED, /* another rank, or an API that the lists leave out: no row */
    RECORD_REFUSED,  /* no record: logged; no row */
};

struct record_done {
    struct record_origin origin; /* texts valid during the call */
    void *ticket;                /* of the submission */
    enum record_fate fate;
    const char *name;   /* of the call; NULL when it could not be told */
    int64_t rank, step; /* of the record */
    enum verdict
        verdict; /* the worst of its rows: error before warning before pass before SKIP; BLANK
                             without rows */
    const char *sentence; /* what is wrong with the worst row, or why it was refused; or NULL */
};

/* Who is told. Each may be NULL. The calls come from threads of the judge and must not wait; they must not
 * call the judge, but for judge_progress. */
struct judge_listener {
    void *context;
    /* The body is not needed any more. NULL: memory_release. */
    void (*release)(void *context, void *body, size_t bytes);
    /* The rows of a record can be read in the files; for each record, in the order of its rank. */
    void (*done)(void *context, const struct record_done *done);
    /* A submission that was refused for want of room may be tried again. */
    void (*room)(void *context);
};

struct judge_config {
    /* What applies: out_path, threads, memory_bytes, config_path (lists), profile, thresholds, seed, evidence,
     * columns, diagnose budget, fail_on, min_judged, junit, report, color, file_policy, warnings (of refused
     * bodies); result_csv_path: a result file of the run that is to go on, or its directory. They must
     * outlive the judge. The backend is `recorded`. */
    const struct run_options *options;
    const int64_t *ranks; /* copied; records of others have no rows. None: all, as they come */
    size_t n_ranks;
    uint64_t queue_bytes; /* of bodies that wait or are in work; 0: a quarter of the memory */
    struct judge_listener listener;
};

/* Open the files of all ranks and start the threads.
 *
 *   errors  STATUS_BAD_ARGUMENT, STATUS_BAD_INPUT: what the options name cannot be used
 */
struct status judge_open(struct judge **out, const struct judge_config *config);

struct judge_submission {
    struct record_origin origin;
    record_decoder *decode; /* of this kind of body: record_decode, stream_record_decode */
    void *body;             /* the judge's when it is taken; 16-byte aligned (memory_allocate) */
    size_t bytes;
    void *ticket; /* handed to done() */
};

/* Have a record judged. *taken is false when there is no room now: the caller keeps the body, and tries again
 * after room(). A body that is larger than the limit of the queue is taken when nothing else waits.
 * Records of a session that are committed already are the caller's to leave out (judge_committed).
 *
 *   errors  STATUS_NO_MEMORY; the failure that ended the judge (judge_failure)
 */
struct status judge_submit(bool *taken, struct judge *judge, const struct judge_submission *record);

/* How many records of a session have been committed, in this process or before it: those with a sequence below
 * this number. Holds for sessions whose records are of one rank and come in order from 0. */
uint64_t judge_committed(const struct judge *judge, const char *session);

/* Bytes of bodies that the judge holds. Is everything that was submitted committed? */
uint64_t judge_bytes_held(const struct judge *judge);
bool judge_is_idle(const struct judge *judge);

/* Why nothing more will be written: OK while there is no reason. A full disk is none: rows wait until there is
 * room again (judge_totals.waiting_for says so) and submissions are refused meanwhile. */
struct status judge_failure(const struct judge *judge);

/* Make durable what is written. To be called before the only other copy of a record goes. */
struct status judge_sync(struct judge *judge);

/* ---- what is going on, for people -------------------------------------------------------- */

enum { JUDGE_NAME_BYTES = 160, JUDGE_SENTENCE_BYTES = 320 };

/* Calls of one rank and step by their verdict. */
struct judge_cell {
    int64_t rank, step;
    uint64_t calls[VERDICT_SKIP + 1]; /* by the worst verdict of their rows */
};

/* A call that is not a pass. */
struct judge_call {
    bool is_set;
    enum verdict verdict;
    char name[JUDGE_NAME_BYTES]; /* of the row */
    char sentence[JUDGE_SENTENCE_BYTES];
    int64_t rank, step;
    uint64_t sequence;
    double excess; /* times what is allowed; infinite without numbers */
};

struct judge_totals {
    uint64_t submitted, judged, filtered, refused;
    uint64_t calls[VERDICT_SKIP + 1];
    uint64_t waiting, waiting_bytes; /* not committed yet */
    double lag_s;                    /* how long the oldest of these has been waiting */
    double mean_s, worst_s;          /* from submission to row, of the last calls (some hundred) */
    double rate;                     /* records a second, over the last ten seconds */
    double running_s;
    struct judge_call first_bad, worst;     /* warnings and errors */
    char waiting_for[JUDGE_SENTENCE_BYTES]; /* why rows cannot be written now; "" otherwise */
};

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
