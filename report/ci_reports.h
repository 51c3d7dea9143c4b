/* What a finished run or comparison tells a CI system: the JUnit report, what changed since a
 * baseline, and the exit status. */
#ifndef PROBE_REPORT_CI_REPORTS_H
#define PROBE_REPORT_CI_REPORTS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/file.h"
#include "core/status.h"
#include "report/call_seconds.h"
#include "results/run_record.h"

struct ci_options {
    const char *junit;      /* XML file to write, or NULL */
    const char *page;       /* page of --report, or NULL; only its place is looked at */
    bool has_baseline;      /* each subject is compared with its own */
    const char *fail_on;    /* "error", "warning", "skip" or NULL */
    const char *min_judged; /* "20" or "95%", or NULL */
    struct file_policy file_policy;
};

/* Verdicts of the calls of a run, or of the APIs of a comparison. One is judged when either direction
 * has a verdict other than SKIP. */
struct ci_counts {
    size_t errors, warnings; /* in either direction: at least one where there is one */
    size_t skipped;          /* forward */
    size_t judged, all;
};

/* Exit statuses beside those of enum status_code. */
enum { EXIT_FAILURES = 1, EXIT_NO_VERDICT = 5 };

/* Check the options before the work: a share that is none, a JUnit file or page that cannot be written. */
struct status ci_check(const struct ci_options *options);

/* What the reports are made of: one run or comparison. */
struct ci_subject {
    const char *details_path;  /* the finished details file */
    const char *evidence_path; /* beside it; or NULL */
    const char *suite;         /* name of the JUnit suite of a comparison; a run's has its own */
    const struct run_record *record;    /* of a run; or NULL */
    const char *record_path;            /* of a run file that is to be read; or NULL */
    const struct call_seconds *seconds; /* or NULL */
    const char *baseline;               /* earlier details file of it; or NULL */
    const char *folder;                 /* of it among several, or NULL */
};

/* Write and print the reports, over all subjects.
 *
 *   exit_status  EXIT_NO_VERDICT when nothing was judged. EXIT_FAILURES when fewer were judged than
 *                 --min-judged asks for; with a baseline, when there are failures that are new or
 *                 worse; without one, when --fail-on was given and there are failures. 0 otherwise
 */
struct status ci_report(int *exit_status, const struct ci_options *options,
                        const struct ci_subject *subjects, size_t n_subjects,
                        const struct ci_counts *counts);

#endif
