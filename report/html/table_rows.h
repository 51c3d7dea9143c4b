/* The rows of a result table, CSV or workbook, one after the other. A workbook with several sheets,
 * as comparisons of more than a million rows have, reads as one table: the header of the first
 * sheet counts, those of the others are passed over. Rows of a sheet are as wide as its header,
 * because blank cells at their ends are not stored.
 */
#ifndef PROBE_REPORT_HTML_TABLE_ROWS_H
#define PROBE_REPORT_HTML_TABLE_ROWS_H

#include <stdbool.h>

#include "core/file.h"
#include "formats/csv.h"
#include "formats/sheet_read.h"

struct table_rows {
    struct file file; /* of a CSV */
    struct csv_reader csv;
    bool csv_open;
    struct sheet_book *book; /* of a workbook */
    struct sheet_reader *sheet;
    size_t sheets_read;
    uint64_t rows;
    struct csv_text *cells; /* of the last row of a sheet */
    size_t capacity, width; /* of `cells`; of the header */
};

/* Is it a table, by its suffix? */
bool table_rows_suffix(const char *path);

/* Open a table. Ends with table_rows_close, also when this fails. */
struct status table_rows_open(struct table_rows *out, const char *path, struct file_policy policy);

/* The next row, the header first; its cells are valid until the next call. What csv_next and
 * sheet_next report. */
struct status table_rows_next(struct table_rows *table, struct csv_row *row, bool *more);

void table_rows_close(struct table_rows *table);

#endif
