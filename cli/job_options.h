/* The options of run_ut that a job keeps in its plan: written when it is made, read by whoever works on it
 * or merges it. */
#ifndef PROBE_CLI_JOB_OPTIONS_H
#define PROBE_CLI_JOB_OPTIONS_H

#include "cluster/plan_file.h"
#include "core/arena.h"
#include "runner/run_job.h"
#include "runner/run_options.h"

/* A job that is open; all zeros and released with job_close. */
struct job {
    struct arena arena;
    const char *directory;
    struct plan plan;
    struct run_options options; /* of the plan; files that it has copies of are these */
    struct told_files told;     /* as the plan was told */
};

/* Put the options into the plan. Texts go to `arena`. */
struct status job_options_write(struct plan *plan, struct arena *arena,
                                const struct run_options *options);

/* Copy the files that the options name into the directory of the job: hosts need not have them. */
struct status job_options_copy_files(const char *directory, const struct run_options *options);

/* Open the job in a directory. To be closed also when this fails. */
struct status job_open(struct job *out, const char *directory, struct file_policy policy);
void job_close(struct job *job);

#endif
