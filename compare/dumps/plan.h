/* Which dumps of two folders are compared with each other.
 *
 *   two files                      one comparison
 *   rank*, rank, proc* below both  one for each pair of ranks that has dump.json, one for debug.json
 *   step* below both               the same in each step that both have, results in step{N}/
 *   graph, pynative below both     the same in each of them that both have, and each step of those
 *   dump.json in both              one comparison
 */
#ifndef PROBE_COMPARE_DUMPS_PLAN_H
#define PROBE_COMPARE_DUMPS_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/status.h"
#include "core/warnings.h"

struct dump_job {
    char *npu_path, *bench_path; /* dump.json or debug.json */
    char *folder;                /* below the folder of results: "", "step1/", "graph/step0/" */
    char *suffix;                /* of result names: "", "_rank3" or "_rank3-rank3" */
    bool is_debug;
    bool beside_dump; /* debug.json of a folder whose dump.json is another job */
};

struct dump_plan {
    struct dump_job *jobs;
    size_t count, room;
};

struct plan_request {
    const int64_t *ranks, *steps; /* only these; NULL or none: all */
    size_t n_ranks, n_steps;
    bool name_both_ranks; /* "_rank0-rank0", as the first generation did, instead of "_rank0" */
};

/* Make the plan. Warnings tell what is skipped and what was paired by position. STATUS_BAD_INPUT: one path
 * is a file, the other a folder; a folder that holds something else; numbers of ranks that differ; nothing
 * that both have. */
struct status dump_plan_make(struct dump_plan *out, const char *npu_path, const char *bench_path,
                             const struct plan_request *request, struct warnings warnings);
void dump_plan_release(struct dump_plan *plan);

/* Do both folders hold sub-folders named graph or pynative? */
bool dump_plan_is_mixed(const char *npu_path, const char *bench_path);

#endif
