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

struct junit_request {
    const char *path;          /* the XML file; an older one is replaced, in one step */
    const char *details_path;  /* accuracy_checking_details or api_precision_compare_details */
    const char *evidence_path; /* accuracy_checking_evidence; or NULL */
    const char *suite;         /* name of the test suite, where there is no record */
    const struct run_record *record;    /* names suite, time and host; or NULL */
    const struct call_seconds *seconds; /* or NULL */
    enum failing failing; /* a verdict that is no failure is noted in the output of a passed case */
};

/* Write the report of a details file of ours. */
struct status junit_write(const struct junit_request *request);

#endif
