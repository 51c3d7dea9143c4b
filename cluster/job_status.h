/* How far a job is, read from what lies in its directory while others work in it. */
#ifndef PROBE_CLUSTER_JOB_STATUS_H
#define PROBE_CLUSTER_JOB_STATUS_H

#include <stdint.h>
#include <stdio.h>

#include "cluster/plan_file.h"
#include "core/file.h"
#include "core/status.h"

struct job_status {
    size_t done, begun;               /* shards; begun and not done */
    size_t active;                    /* of these, whose files grew in the last minutes */
    size_t calls_done, calls_all;     /* those of attempts too */
    size_t failing;                   /* of the calls done: with an error or a warning */
    double seconds_done, seconds_all; /* estimated, of one thread */
    int64_t began;                    /* of the first attempt of all, seconds since 1970; 0: none */
};

struct status job_status_read(struct job_status *out, const char *job, const struct plan *plan,
                              struct file_policy policy);

/* Shards, calls, rate and time left, failing calls so far. `now` in seconds since 1970. */
void job_status_print(FILE *out, const struct job_status *status, const struct plan *plan,
                      int64_t now);

#endif
