/* The columns of a comparison's table: which ones a kind of dump has in a generation, and the cells of
 * a row.
 */
#ifndef PROBE_COMPARE_DUMPS_COLUMNS_H
#define PROBE_COMPARE_DUMPS_COLUMNS_H

#include "compare/dumps/result.h"

enum { COLUMNS_MAX = 40 };

/* Columns in order. Create with column_list_make. */
struct column_list {
    uint8_t column[COLUMNS_MAX];
    size_t count;
    const char *before_inf, *behind_inf; /* around the texts inf and -inf */
    bool booleans_are_text;
};

/* The columns of a comparison: those of its generation and kind; to their right, with `extras`, ours:
 * the verdict that every row has and, for tensors, how many elements are nan or inf. Highlighted
 * workbooks show booleans as texts and a tab behind inf, CSV of the third generation a blank before
 * it. */
struct column_list column_list_make(const struct comparison *c, bool extras,
                                    enum table_format format);

/* Only what was measured and said of a matched row: metrics, agreement of requires_grad and, for
 * checksums, the verdict. */
struct column_list column_list_make_metrics(const struct comparison *c);

/* The header of column `index`. */
const char *column_header(const struct column_list *columns, size_t index);

/* Memory for the cells of one row. All zeros at first; free with row_cells_release. */
struct row_cells {
    struct table_cell cell[COLUMNS_MAX];
    struct csv_buffer text; /* what texts of cells point into */
    struct {
        size_t start, length;
    } place[COLUMNS_MAX];
};

/* The cells of NPU row `row`. They stay valid until the next call. */
struct status row_cells_make(struct row_cells *out, const struct comparison *c,
                             const struct column_list *columns, uint32_t row);

/* The cells of a Bench row that no NPU row was matched with. */
struct status row_cells_make_bench_only(struct row_cells *out, const struct comparison *c,
                                        const struct column_list *columns, uint32_t bench_row);

void row_cells_release(struct row_cells *cells);

/* The texts of a verdict's cell ("Yes", "Warning", ...; "" for none). */
const char *row_verdict_text(enum row_verdict verdict);

#endif
