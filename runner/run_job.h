/* A run that does one shard of a job (cluster/): its files are a part of those of the job, which `merge`
 * puts together, so they say of which job they are and name things as it does. */
#ifndef PROBE_RUNNER_RUN_JOB_H
#define PROBE_RUNNER_RUN_JOB_H

#include <stddef.h>

/* Files of which a job has copies, as its commands name them; NULL where there is none. */
struct told_files {
    const char *config_path, *thresholds, *budget;
};

struct run_job {
    const char *id;
    size_t shard;
    const char *timestamp;  /* in the names of the job's files */
    const char *error_data; /* where tensors of failing calls go when no configuration says */
    struct told_files told; /* as commands in the results name them */
};

#endif
