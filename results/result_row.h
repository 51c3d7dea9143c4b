/* The rows of accuracy_checking_result: one per call, made up from its details rows. */
#ifndef PROBE_RESULTS_RESULT_ROW_H
#define PROBE_RESULTS_RESULT_ROW_H

#include "core/status.h"
#include "formats/csv.h"
#include "standards/judge.h"
#include "standards/row_layout.h"

enum result_column {
    RESULT_NAME,
    RESULT_FORWARD,
    RESULT_BACKWARD,
    RESULT_MESSAGE, /* absent from the rows of calls that were not skipped */
    RESULT_COLUMNS
};

/* Header texts, by column. */
extern const char *const result_headers[RESULT_COLUMNS];

/* The verdict of a direction when one more row of it is known; VERDICT_BLANK: no row yet. */
enum verdict result_row_verdict(enum verdict before, enum verdict row);

/* Append the row of a call.
 *
 *   verdicts  forward and backward
 *   messages  of the first row in each direction (of all rows, where layout->joins_messages), NULL
 *             where there is none; a direction that was skipped lends the row its message
 */
struct status result_row_append(struct csv_buffer *out, const struct row_layout *layout,
                                const char *name, const enum verdict verdicts[2],
                                const char *const messages[2]);

#endif
