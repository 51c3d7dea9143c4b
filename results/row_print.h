/* A judged row in full, for people: what `case` and `diff` show. */
#ifndef PROBE_RESULTS_ROW_PRINT_H
#define PROBE_RESULTS_ROW_PRINT_H

#include <stddef.h>
#include <stdio.h>

#include "core/status.h"
#include "formats/csv.h"

/* Print one line of evidence.
 *
 *   cells  the row of the details file, whose columns are shown too; NULL when there is none
 */
struct status row_print(FILE *out, const char *line, size_t length, const struct csv_row *cells);

/* Print all rows of a call: its lines of evidence and as many rows of the details file. */
struct status rows_print(FILE *out, const struct csv_buffer *evidence,
                         const struct csv_buffer *details);

#endif
