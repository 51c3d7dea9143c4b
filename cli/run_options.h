/* Options of the main job, under all of its names. */
#ifndef PROBE_CLI_RUN_OPTIONS_H
#define PROBE_CLI_RUN_OPTIONS_H

#include "cli/options.h"
#include "core/file.h"

struct run_options {
    const char *api_info;        /* dump.json */
    const char *out_path;        /* directory of the result files */
    int64_t threads;             /* 0: one per core */
    struct integer_list devices; /* empty: device 0 */
    const char *result_csv_path; /* NULL: a new run */
    bool filter_api;
    bool save_error_data;
    bool jit_compile;
    const char *config_path; /* or NULL */
    const char *backend;
    int64_t seed;
    uint64_t memory_bytes;  /* 0: 60 % of what is free */
    const char *profile;    /* NULL: the default one */
    const char *thresholds; /* a user's limits, or NULL */
    const char *fail_on;    /* "error", "warning" or NULL */
    const char *junit;      /* file, or NULL */
    const char *baseline;   /* earlier details file, or NULL */
    const char *timings;    /* file, or NULL */
    double case_timeout_s;
    const char *isolate; /* "process" or "none" */
    bool retry_crashed;
    bool no_progress;
    const char *color; /* "auto", "always", "never" */
    struct file_policy file_policy;
};

extern const struct command run_command;

#endif
