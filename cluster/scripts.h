/* The scripts that bring a planned job to the engines that clusters run: JOB/slurm.sh and
 * JOB/kubernetes.yaml, made from the templates of cluster/templates. */
#ifndef PROBE_CLUSTER_SCRIPTS_H
#define PROBE_CLUSTER_SCRIPTS_H

#include <stddef.h>
#include <stdint.h>

#include "core/status.h"

struct scripts_request {
    const char *job;       /* directory of the job, which exists */
    const char *dump_root; /* directory of the dumps, or the one dump.json */
    size_t shards;         /* at least 1 */
    int64_t threads;       /* of a shard; 0: not said */
    uint64_t memory_bytes; /* of a shard; 0: not said */
    double longest_s;      /* the longest shard on one thread, estimated */
};

/* Write both. They name the job by its absolute path and the dumps not at all: those are the plan's, or
 * where `--dump-root` says. Existing ones are replaced.
 *
 *   errors  of the directory and the files
 */
struct status scripts_write(const struct scripts_request *request);

#endif
