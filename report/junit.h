/* A JUnit report of a run or a comparison, which CI systems show: a test case per API call and
 * direction, a failure with the messages of its failing rows.
 */
#ifndef PROBE_REPORT_JUNIT_H
#define PROBE_REPORT_JUNIT_H

#include "core/status.h"
#include "report/failing.h"

/* Write the report of a details file of ours. An older report of the same name is replaced, in one step.
 *
 *   path          the XML file
 *   details_path  accuracy_checking_details or api_precision_compare_details
 *   suite         name of the test suite
 *   warnings      a warning is a failure; otherwise it is noted in the output of a passed case
 */
struct status junit_write(const char *path, const char *details_path, const char *suite,
                          enum failing failing);

#endif
