/* `work`: one shard of a job, done as a run over its slices. */
#ifndef PROBE_CLUSTER_WORK_H
#define PROBE_CLUSTER_WORK_H

#include <stddef.h>

#include "cluster/plan_file.h"
#include "core/status.h"
#include "runner/run_job.h"
#include "runner/run_options.h"

struct work_request {
    const char *job; /* directory */
    const struct plan *plan;
    size_t shard;
    const char *dump_root; /* where the dumps are */
    /* Of the job and of this host; the files that they name are the copies in the job. */
    struct run_options options;
    struct told_files told; /* as `plan` was told */
};

/* Do the shard, or what is left of it. OK also when another copy of the shard was faster, and whatever the
 * verdicts are: those are for `merge`.
 *
 *   request  must stay after STATUS_INTERRUPTED, as for run_checks
 */
struct status work_do(const struct work_request *request);

#endif
