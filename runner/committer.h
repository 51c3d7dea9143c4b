/* The one end of all threads of a run: outcomes of calls, in order, become rows in files, counts and progress. Whatever it
 * does for a call no thread can share, so it only appends bytes that the threads have made (tests/perf/bench_commit).
 */
#ifndef PROBE_RUNNER_COMMITTER_H
#define PROBE_RUNNER_COMMITTER_H

#include "report/progress.h"
#include "report/summary.h"
#include "results/outcome.h"
#include "runner/run_options.h"
#include "runner/run_part.h"

/* Who is told of calls whose rows are written. */
struct committer {
    struct summary *summary;
    struct progress *progress;
    const struct call_listener *listener;
};

/* Write the rows of the next `count` calls of `part`, in as few writes as there are files, then tell of them. */
struct status committer_take(const struct committer *committer, struct run_part *part,
                             const struct case_outcome *const *outcomes, size_t count);

#endif
