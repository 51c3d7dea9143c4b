/* The rows that a run wrote, call by call, read back as the outcomes that a summary is made of, and checked on the
 * way: every call has its result row, its details rows and their evidence, in this order and nothing besides. */
#ifndef PROBE_RESULTS_WRITTEN_ROWS_H
#define PROBE_RESULTS_WRITTEN_ROWS_H

#include <stdbool.h>

#include "core/file.h"
#include "results/evidence.h"
#include "results/outcome.h"
#include "results/result_files.h"
#include "results/row_source.h"

struct written_rows {
    const char *const *paths; /* RESULT_FILES of them */
    enum evidence_extent extent;
    struct file files[RESULT_RUN]; /* all but the run file */
    struct row_source results, details;
    bool results_open, details_open;
    size_t columns, status, message;    /* of the details: how many, and where these stand */
    struct evidence_reader *reader;     /* owned */
    uint64_t result_body, details_body; /* where the rows begin */
    struct csv_buffer name;             /* of the call, with a NUL behind it */
    struct csv_buffer texts;            /* of a row */
};

/* Open the files. To be closed also when this fails; `paths` must stay. */
struct status written_rows_open(struct written_rows *out, char *const paths[RESULT_FILES],
                                enum evidence_extent extent, struct file_policy policy);

/* The next call.
 *
 *   name     of the call, valid until the next one; NULL at the end
 *   outcome  is cleared and gets the verdicts and notes
 *   errors   STATUS_BAD_INPUT naming the file that lacks something
 */
struct status written_rows_next(struct written_rows *rows, const char **name,
                                struct case_outcome *outcome);

void written_rows_close(struct written_rows *rows);

#endif
