/* A JUnit report of a run or a comparison, which CI systems show: a test case per API call and
 * direction, a failure with what is wrong with its failing rows. It has the form that Jenkins'
 * plugin xunit describes (junit-10.xsd) and GitLab and GitHub actions read.
 */
#ifndef PROBE_REPORT_JUNIT_H
#define PROBE_REPORT_JUNIT_H

#include "core/status.h"
#include "report/call_seconds.h"
#include "report/failing.h"
#include "results/run_record.h"

/* One run or comparison. */
struct junit_suite {
    const char *details_path;  /* accuracy_checking_details or api_precision_compare_details */
    const char *evidence_path; /* accuracy_checking_evidence; or NULL */
    const char *name;          /* of the suite, where there is no record */
    const struct run_record *record;    /* names suite, time and host; or NULL */
    const char *record_path;            /* of the run file, where it is to be read; or NULL */
    const struct call_seconds *seconds; /* or NULL */
};

/* Write the report of details files of ours, a suite for each. One suite is held in memory at a time.
 *
 *   path     the XML file; an older one is replaced, in one step
 *   failing  a verdict that is no failure is noted in the output of a passed case
 */
struct status junit_write(const char *path, const struct junit_suite *suites, size_t count,
                          enum failing failing);

#endif
