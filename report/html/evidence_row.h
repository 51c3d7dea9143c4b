/* A line of an evidence file, as the page holds it: the facts that the table sorts and filters by,
 * and the rest as compact JSON that is decoded when somebody opens the row.
 *
 * Compact means: without what the table has anyway (name, verdict, message and the sentence made of it, standard); each limit
 * with "used", the share of the allowance that was used up, instead of the quotient; and, in rows
 * that passed, numbers of nine digits, which tell any two float32 values apart.
 */
#ifndef PROBE_REPORT_HTML_EVIDENCE_ROW_H
#define PROBE_REPORT_HTML_EVIDENCE_ROW_H

#include <stdbool.h>

#include "formats/csv.h"
#include "standards/metrics/metrics.h"

enum { EVIDENCE_WORD = 64 };

struct evidence_row {
    char standard[EVIDENCE_WORD], decided_by[EVIDENCE_WORD],
        reference[EVIDENCE_WORD];                               /* "" unknown */
    double allowance, worst_ulp, bound_ulp, rounding, elements; /* NaN when unknown */
    uint64_t histogram[ULP_BINS];                               /* of errors in ulp */
    bool has_histogram;
};

/* Is it the line of the row with this name? Lines begin with their name. The apostrophe that disarms
 * a formula in a CSV cell does not count. */
bool evidence_row_is_of(const char *line, size_t length, struct csv_text name);

/* Read a line; the compact JSON replaces what is in `compact`. *fits is false for a line that is no
 * JSON object; `compact` is empty then. */
struct status evidence_row_read(struct evidence_row *out, struct csv_buffer *compact, bool *fits,
                                const char *line, size_t length);

/* How much of what a limit allows was used up: 1 is the limit itself. Shares that must reach their
 * limit (a cosine of at least 0.99) count by what they lack. Infinity where nothing was allowed or
 * the value is not a number. */
double evidence_used_share(const char *metric, double value, double limit, bool holds);

#endif
