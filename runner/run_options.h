/* What a run is asked to do, as values: the command line (cli/run_command) and whoever else starts a
 * run fills this in. Texts must outlive the run. */
#ifndef PROBE_RUNNER_RUN_OPTIONS_H
#define PROBE_RUNNER_RUN_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/file.h"
#include "core/integer_list.h"
#include "core/warnings.h"

struct case_outcome;
struct dump_slice;
struct framework_backend;
struct run_job;

/* Who is told of every call when its rows are written, in the order of the rows. All zeros: nobody. */
struct call_listener {
    struct status (*tell)(void *context, const struct case_outcome *outcome, const char *name);
    void *context;
};

struct run_options {
    const char *api_info;           /* dump.json, or a directory of dumps */
    const char *folder;             /* of this dump in a tree of several ("step0/rank3"), or NULL */
    const struct dump_slice *slice; /* only these calls of this dump; NULL: all */
    const struct run_job *job;      /* of which the run is a shard; or NULL */
    const char *steps, *ranks;      /* which dumps of a tree ("0,3-5"); NULL: all */
    const char *out_path;           /* directory of the result files */
    int64_t threads;                /* 0: one per core */
    struct integer_list devices;    /* empty: device 0 */
    const char *result_csv_path;    /* result file or directory to resume; NULL: a new run */
    bool filter_api;
    const char *only; /* names of the calls to check, or NULL for all (runner/call_patterns.h) */
    const char *skip; /* names of calls to leave out, or NULL */
    bool save_error_data;
    const char *evidence; /* "failing": of what is not a pass; "all" or NULL: of every row */
    const char *columns;  /* "english"; "msprobe" or NULL: as the pre-check names them */
    bool jit_compile;
    const char *config_path;                       /* or NULL */
    const char *framework;                         /* of -f; NULL: the dump's own */
    const char *backend;                           /* NULL: what the framework's pre-check tests */
    const struct framework_backend *backend_found; /* what `backend` means, when somebody looked */
    int64_t seed;
    int64_t runs; /* of every call on the device; 0 is 1 */
    const char
        *inputs; /* "random", "hard", "hard-sizes"; "recorded" or NULL: as the dump has them */
    uint64_t memory_bytes;  /* 0: 60 % of what is free */
    const char *profile;    /* NULL: the default one */
    const char *thresholds; /* a user's limits, or NULL */
    const char *budget;     /* file of budgets (standards/budget.h), or NULL */
    const char *allow;      /* modes of kernels ("tf32,ftz", core/kernel_modes.h), or NULL */
    const char *fail_on;    /* "error", "warning", "skip" or NULL */
    const char *min_judged; /* "20" or "95%", or NULL */
    const char *junit;      /* file, or NULL */
    const char *baseline;   /* earlier details file, or NULL */
    const char *timings;    /* file, or NULL */
    const char *report;     /* page, or NULL */
    double case_timeout_s;
    const char *isolate; /* "process" or "none" */
    bool retry_crashed;
    double diagnose_budget_s; /* for each row that fails */
    bool no_diagnose;
    bool no_progress;
    bool nice;         /* everybody else on the machine goes first */
    const char *color; /* "auto", "always", "never" */
    struct file_policy file_policy;
    struct warnings warnings;
    struct call_listener told;
    bool scratch; /* the result files go when the run is over: nobody need hear of them */
};

/* What holds where nothing is said. */
#define RUN_OPTIONS_DEFAULTS                                                        \
    {                                                                               \
        .out_path = "./", .seed = 1234, .case_timeout_s = 60, .isolate = "process", \
        .color = "auto", .diagnose_budget_s = 2,                                    \
    }

#endif
