/* What changed since an earlier run: rows that fail now and did not, rows that no longer do. A
 * known failure need not stop a pipeline; a new one should.
 */
#ifndef PROBE_REPORT_BASELINE_H
#define PROBE_REPORT_BASELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "core/file.h"
#include "core/status.h"
#include "report/failing.h"

enum baseline_change {
    BASELINE_NEW,   /* fails; did not, or was not there */
    BASELINE_WORSE, /* fails with a worse verdict than it failed with */
    BASELINE_STILL, /* failed and fails */
    BASELINE_FIXED, /* failed and is a pass (or a warning that does not count) */
    BASELINE_GONE,  /* failed and is not judged any more: SKIP, or not there */
    BASELINE_CHANGES
};

enum { BASELINE_SHOWN = 20 };

struct baseline {
    size_t counts[BASELINE_CHANGES];
    char *names[BASELINE_CHANGES][BASELINE_SHOWN]; /* the first of each kind, in file order */
};

/* Compare two details files, both of runs or both of comparisons, by row name.
 *
 *   all          what was found so far, all zeros at first; gains what is found here. To be released
 *                with baseline_release, also on failure
 *   folder       stands before the names, where several are compared; or NULL
 *   old_path     NULL: there is none, and all that fails is new
 *   new_path     the file we have just written
 *   failing      which verdicts are failures
 *   policy       how far the old one is trusted
 */
struct status baseline_compare(struct baseline *all, const char *folder, const char *old_path,
                               const char *new_path, enum failing failing,
                               struct file_policy policy);

void baseline_print(FILE *out, const struct baseline *baseline);

void baseline_release(struct baseline *baseline);

#endif
