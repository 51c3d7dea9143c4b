/* One comparison from paths to files: the table, the advice, and a report of what came out, for people
 * and as JSON. Jobs are independent; several may run at the same time.
 */
#ifndef PROBE_COMPARE_DUMPS_JOB_H
#define PROBE_COMPARE_DUMPS_JOB_H

#include <cjson/cJSON.h>

#include "compare/dumps/comparison.h"
#include "compare/dumps/plan.h"
#include "compare/dumps/suspects.h"
#include "compare/dumps/table.h"
#include "core/timestamp.h"

struct job_request {
    struct comparison_request comparison; /* without the paths of the dumps */
    struct table_request table;
    const char *output;     /* folder of the results */
    struct timestamp stamp; /* in the names of results */
    bool advise;            /* write the advice */
    bool print_rows;        /* a line per tensor row in the report */
};

struct job_outcome {
    struct status status;
    struct csv_buffer report;   /* lines for people */
    struct csv_buffer warnings; /* lines, one each */
    cJSON *json;                /* the same for programs; NULL when the job failed */
    char *table_path;           /* of the result; NULL when none was written */
    uint64_t judged;            /* rows: pass, warning or error */
    uint64_t errors,
        suspicious; /* rows: errors; errors, warnings, rows without a partner or a usable file */
};

/* Do it. `out->status` says whether it was done; a table exists only then. Release in any case. */
void job_run(struct job_outcome *out, const struct dump_job *job,
             const struct job_request *request);
void job_outcome_release(struct job_outcome *outcome);

#endif
