/* What a judge says when it is over. */
#ifndef PROBE_ONLINE_JUDGE_REPORT_H
#define PROBE_ONLINE_JUDGE_REPORT_H

#include "online/judge_types.h"
#include "online/rank_set.h"
#include "report/summary.h"
#include "runner/run_options.h"

struct judge_outcome {
    const struct summary *summary;
    const struct rank_set *ranks;
    const struct judge_totals *totals;
    const struct run_record *record;
    const char *profile;
    size_t threads;
    bool has_second; /* there are files of a second device */
};

/* Print the summary, write the page and the JUnit report that the options name, find the exit status. */
struct status judge_report(int *exit_status, const struct run_options *options,
                           const struct judge_outcome *outcome);

#endif
