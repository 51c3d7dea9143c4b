/* Where things lie in the directory of a job:
 *
 *     JOB/plan.json                      what the job is
 *     JOB/config.json, thresholds.json, budget.json   copies of the files that options of these names named
 *     JOB/shards/3/attempt-*             what somebody has of shard 3, in the folders of its dumps
 *     JOB/shards/3/done                  all of it
 *     JOB/error_data                     tensors of failing calls (-save_error_data)
 */
#ifndef PROBE_CLUSTER_JOB_PATHS_H
#define PROBE_CLUSTER_JOB_PATHS_H

#include <stddef.h>

#include "cluster/plan_file.h"
#include "core/arena.h"

/* Texts in the arena; NULL when there is no memory. */
const char *job_path(struct arena *arena, const char *job, const char *name);
const char *job_shard_path(struct arena *arena, const char *job, size_t shard);
const char *job_done_path(struct arena *arena, const char *job, size_t shard);

/* `name` below `directory`, either of which may be "". */
const char *path_join(struct arena *arena, const char *directory, const char *name);

/* The dumps' root: `told` where it is given, the name that `plan` was told where there is something of that
 * name, and otherwise that name seen from where `plan` was called. */
const char *job_dump_root(struct arena *arena, const struct plan *plan, const char *told);

#endif
