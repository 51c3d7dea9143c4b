/* compare -da: the first difference over all ranks. */
#ifndef PROBE_CLI_COMPARE_RANKS_H
#define PROBE_CLI_COMPARE_RANKS_H

#include "compare/dumps/job.h"
#include "core/stop.h"

/* For each folder of the plan (a step, mostly): write compare_result_{rank}_{time}.json of every rank, find
 * where they begin to differ, and write diff_analyze_{ns}.json if they do. Ranks that cannot be compared are
 * skipped with a warning, as long as one can. */
struct status compare_ranks(int *exit_status, const struct dump_plan *plan,
                            const struct job_request *request, bool fail_on_difference,
                            struct stop stop);

#endif
