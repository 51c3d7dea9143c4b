/* What a finished run or comparison tells a CI system: the JUnit report, what changed since a
 * baseline, and the exit status. */
#ifndef PROBE_REPORT_CI_REPORTS_H
#define PROBE_REPORT_CI_REPORTS_H

#include <stdbool.h>

#include "core/file.h"
#include "core/status.h"

struct ci_options {
    const char *junit;    /* XML file to write, or NULL */
    const char *baseline; /* earlier details file, or NULL */
    const char *fail_on;  /* "error", "warning" or NULL */
    struct file_policy file_policy;
};

/* Write and print the reports.
 *
 *   exit_status   0 or 1. With a baseline 1 means new failures; without one, that --fail-on was
 *                 given and there are failures. `fail_on` also says whether a warning is one.
 *   details_path  the finished details file
 *   suite         name of the JUnit suite
 *   has_failures  does anything have the verdict of --fail-on or a worse one?
 */
struct status ci_report(int *exit_status, const struct ci_options *options,
                        const char *details_path, const char *suite, bool has_failures);

#endif
