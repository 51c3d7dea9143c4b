/* What a run says: where its files are when it begins, what it found when it ends. */
#ifndef PROBE_RUNNER_RUN_REPORT_H
#define PROBE_RUNNER_RUN_REPORT_H

#include <stdbool.h>

#include "core/status.h"
#include "report/ci_reports.h"
#include "report/summary.h"
#include "runner/run_options.h"
#include "runner/run_parts.h"

/* What the options say about the end of a run. */
struct ci_options run_report_ci_options(const struct run_options *options);
bool run_report_wants_color(const struct run_options *options);

/* Check before the work what its end needs: places of reports, options that go together. */
struct status run_report_check(const struct run_options *options, const struct dump_tree *tree);

/* A dump was opened. Said first: whoever has to kill a run needs the name for -csv_path. */
void run_report_opened(const struct run_parts *parts, const struct run_part *part);

/* Where a run over several dumps writes; to be given to -csv_path to resume it. */
const char *run_report_directory(const struct run_options *options);

/* What there is to be told at the end. */
struct run_totals {
    const struct summary *summary;
    const struct run_parts *parts;
    const char *backend, *profile;
    size_t threads;
    double elapsed_s;
    const char *work; /* instead of the last two: who did the calls of a job; or NULL */
};

/* Print what is known when a run ends before its time; nothing when nothing is. */
void run_report_part(const struct run_options *options, const struct run_totals *totals);

/* What the run as a whole comes to when its rows are written: STATUS_INTERNAL when some of them tell of a
 * fault of this program, STATUS_BAD_INPUT when dumps were refused. Of a shard its job tells. */
struct status run_report_status(const struct run_options *options, const struct run_totals *totals);

/* Print the summary, write the reports, find the exit status. */
struct status run_report_end(int *exit_status, const struct run_options *options,
                             const struct run_totals *totals);

#endif
