/* What a run found, for the terminal: counts by verdict, how sure the references are, the worst
 * rows, why calls were skipped.
 */
#ifndef PROBE_REPORT_SUMMARY_H
#define PROBE_REPORT_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "report/ci_reports.h"
#include "results/outcome.h"

enum { SUMMARY_WORST = 10, SUMMARY_REASONS = 256, SUMMARY_REASONS_SHOWN = 12 };

struct worst_row {
    enum verdict verdict;
    char *name;
    const char *metric;
    double value, limit;
    size_t order; /* of the row in the run: earlier ones first among equals */
};

struct skip_reason {
    char *text;
    size_t count;
};

struct summary {
    size_t counts[2][VERDICT_SKIP + 1]; /* [forward, backward][verdict], by call */
    size_t calls, earlier;              /* `earlier`: done before this part of the run */
    size_t judged;                      /* calls with a verdict other than SKIP in a direction */
    struct worst_row worst[SUMMARY_WORST];
    size_t n_worst, rows;
    struct skip_reason reasons[SUMMARY_REASONS]; /* of rows; more kinds go uncounted */
    size_t n_reasons, other_reasons;
    size_t internal_errors;
    struct reference_use references; /* of this part of the run */
};

/* Add the outcome of a call. */
struct status summary_add(struct summary *summary, const struct case_outcome *outcome);

/* Add a call that an earlier part of the run did, by the cells of its result row. */
void summary_add_earlier(struct summary *summary, struct csv_text forward,
                         struct csv_text backward);

/* The verdicts of the calls, for the exit status. */
struct ci_counts summary_ci_counts(const struct summary *summary);

void summary_print(FILE *out, const struct summary *summary, bool color);

void summary_release(struct summary *summary);

#endif
