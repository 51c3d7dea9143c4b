/* The graphs of a plan, one after the other, into result files.
 */
#ifndef PROBE_GRAPH_JOB_H
#define PROBE_GRAPH_JOB_H

#include "core/timestamp.h"
#include "core/warnings.h"
#include "graph/graph.h"
#include "graph/parallel_file.h"
#include "graph/plan.h"

enum graph_format { GRAPH_VIS = 1, GRAPH_DATABASE = 2, GRAPH_HTML = 4 }; /* bits */

struct graph_job {
    const struct graph_plan *plan;
    /* Merge the ranks of each step (parallel_file.h): `plan` has those of the NPU alone, and bench_plan, NULL
     * to build, those of Bench. NULL: a graph for each task of the plan. */
    const struct parallel_merge *parallel;
    const struct graph_plan *bench_plan;
    const char *output; /* folder, made when it is missing */
    unsigned formats;   /* bits of enum graph_format */
    struct timestamp stamp;
    struct graph_options options;
};

/* What came out, for people and the exit status. */
struct graph_counts {
    uint32_t graphs, nodes, matched,
        suspicious; /* nodes of the NPU side; index in the last bands */
    uint32_t overflowing;
    uint32_t met;               /* matched, roots and collections aside */
    uint32_t by_hand;           /* matches of the file */
    uint32_t failed;            /* graphs that could not be made; the others are there */
    char first_suspicious[256]; /* in the order of execution; "" when there is none */
    unsigned first_step, first_rank;
};

/* Does the job compare two sides, or build graphs of one? */
bool graph_job_compares(const struct graph_job *job);

/* Make all graphs. A rank that cannot be used is told and left out; it is an error when no graph is
 * left. */
struct status graph_job_run(struct graph_counts *out, const struct graph_job *job,
                            struct warnings warnings);

#endif
