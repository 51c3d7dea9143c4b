/* `merge`: the shards of a job put together as the files and reports of one run over all its dumps. It
 * streams: memory does not grow with the calls. */
#ifndef PROBE_CLUSTER_MERGE_H
#define PROBE_CLUSTER_MERGE_H

#include <stdbool.h>

#include "cluster/plan_file.h"
#include "core/status.h"
#include "runner/run_options.h"

struct merge_request {
    const char *job; /* directory */
    const struct plan *plan;
    const char *dump_root; /* where the dumps are, for the command that shows a call again */
    /* What is told at the end, as for a run; out_path is where the files go. */
    struct run_options options;
    bool partial; /* take what is there */
};

/* Merge. *exit_status is as ci_report says.
 *
 *   errors  STATUS_BAD_INPUT naming the shards that are missing, unless `partial`, or the file of one that is
 *           not whole or of another job; as for a run, when dumps were refused
 */
struct status merge_job(int *exit_status, const struct merge_request *request);

#endif
