/* The tables of a comparison of API dumps: texts in rows, for a terminal and for a file. */
#ifndef PROBE_COMPARE_API_DUMPS_FLOW_TABLE_H
#define PROBE_COMPARE_API_DUMPS_FLOW_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/status.h"
#include "formats/csv.h"

enum { FLOW_COLUMNS = 8 };

struct flow_table {
    const char *title;
    const char *headers[FLOW_COLUMNS];
    size_t n_columns;
    const char *(*rows)[FLOW_COLUMNS]; /* NULL: nothing there. Free with memory_release */
    size_t n_rows, room;
};

/* Add a row; the cells must outlive the table. */
struct status flow_table_add(struct flow_table *table, const char *const *cells);

/* The table in lines and boxes; what is not there is the word None. Cells may have several lines; with
 * `ruled` a line parts the rows. */
struct status flow_table_show(struct csv_buffer *out, const struct flow_table *table, bool ruled);

/* As CSV: a header, all cells quoted, lines end in LF; what is not there is empty. */
struct status flow_table_write(struct csv_buffer *out, const struct flow_table *table);

#endif
