/* The main job: all calls of a dump, or of a tree of dumps, checked, their rows committed in dump order. */
#ifndef PROBE_RUNNER_RUN_H
#define PROBE_RUNNER_RUN_H

#include "core/status.h"
#include "formats/dump_tree.h"
#include "results/outcome.h"
#include "runner/run_options.h"

/* Run. *exit_status is as ci_report says (report/ci_reports.h).
 *
 *   tree    the dumps to check, each with its files in its folder below options->out_path; NULL for the
 *           one that the options name
 *   errors  STATUS_INTERRUPTED after SIGINT, SIGTERM or SIGHUP: threads may still be at work, so
 *           the process has to end at once, and `options` must stay
 */
struct status run_checks(int *exit_status, const struct run_options *options,
                         const struct dump_tree *tree);

/* Check the one call of this name (or of which this is a row) as a run with these options would,
 * and write no files but those of save_error_data. */
struct status run_one_call(struct case_outcome *out, const struct run_options *options,
                           const char *name);

#endif
