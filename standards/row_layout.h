/* What of a judged row a details file shows, and what of a call a result file does: the file formats of
 * the pre-check for PyTorch and of that for MindSpore, as values. */
#ifndef PROBE_STANDARDS_ROW_LAYOUT_H
#define PROBE_STANDARDS_ROW_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>

#include "standards/details_column.h"

struct layout_column {
    enum details_column column;
    const char *header;
};

struct row_layout {
    const struct layout_column *columns;
    size_t count;
    const char *call_header; /* of the names in a result file */
    const char *blank;       /* an empty cell, and the verdict of a direction without rows */
    /* The row of a call always has a message: those of all its rows, one behind the other. Otherwise it
     * has one only when the call was skipped, and that is the message of the first row. */
    bool joins_messages;
};

/* The 23 columns of the pre-check for PyTorch. */
extern const struct row_layout layout_precheck;

/* Cosine, MaxAbsErr and MaxRelativeErr: the nine columns of the pre-check for MindSpore. */
extern const struct row_layout layout_distances;

/* The layout whose rows have so many columns. */
const struct row_layout *row_layout_of(size_t columns);

/* The headers of the layout, in its order; `headers` has room for COLUMN_COUNT. */
void layout_headers(const char *headers[COLUMN_COUNT], const struct row_layout *layout);

/* The cells of a row (by column, as struct judged has them) in the layout's order; `cells` has room for COLUMN_COUNT. */
void layout_cells(const char *cells[COLUMN_COUNT], const struct row_layout *layout,
                  const char *const row[COLUMN_COUNT]);

/* Where a column stands in a row of the layout; SIZE_MAX when it does not. */
size_t layout_place(const struct row_layout *layout, enum details_column column);

#endif
