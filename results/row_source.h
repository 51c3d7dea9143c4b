/* Rows of a result or details file read one ahead, so that whoever groups them by call can look at
 * the next one. */
#ifndef PROBE_RESULTS_ROW_SOURCE_H
#define PROBE_RESULTS_ROW_SOURCE_H

#include <stdbool.h>

#include "formats/csv.h"

struct row_source {
    struct csv_reader reader;
    struct csv_row row; /* the next one, when there is `more` */
    bool more;
    bool
        forgiving; /* bytes that are no CSV (a file system's zeros) end the file instead of failing */
};

/* Open with the first row in hand. Ends with row_source_close, unless it fails. */
struct status row_source_open(struct row_source *out, const struct file *file, bool forgiving);
struct status row_source_next(struct row_source *source);
void row_source_close(struct row_source *source);

/* Is the row in hand the header of a result or details file? *usable is false when it is torn or
 * missing; a whole row that does not start as a header does is another kind of file:
 * STATUS_BAD_INPUT. */
struct status row_source_header(bool *usable, const struct row_source *source, size_t columns);

/* Is the row in hand a whole row of a result file? */
bool row_source_is_result(const struct row_source *source);

#endif
