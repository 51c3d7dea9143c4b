/* Reading accuracy_checking_details files of any maker: this program and msprobe in its three
 * generations, which spell some headers and verdicts differently. Columns are found by name.
 */
#ifndef PROBE_RESULTS_DETAILS_FILE_H
#define PROBE_RESULTS_DETAILS_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/file.h"
#include "core/status.h"
#include "formats/csv.h"
#include "standards/judge.h"

struct details_file {
    struct file file; /* not open for a text in memory */
    struct csv_reader reader;
    size_t columns;              /* of the header */
    size_t places[COLUMN_COUNT]; /* where a column stands in a row; SIZE_MAX when it is absent */
    bool in_order;               /* each column stands at its own number */
    struct csv_text mapped[COLUMN_COUNT]; /* the cells of the last row, unless that is so */
    bool torn;                            /* the last row was cut and is left out */
    uint64_t rows;                        /* given out */
};
#define DETAILS_FILE_NONE ((struct details_file){ .file = FILE_NONE })

/* A row; its cells are valid until the next one is read. */
struct details_row {
    const struct csv_text *cells; /* by details_column; empty where the file has no such column */
    uint64_t number;              /* in the file, the header being 1 */
    bool overlong;                /* it has more cells than the header */
};

/* Open a file and read its header.
 *
 *   required, count   columns without which the file cannot be used
 *   errors            STATUS_BAD_INPUT, naming all missing columns; what file_open_read reports
 */
struct status details_file_open(struct details_file *out, const char *path,
                                struct file_policy policy, const enum details_column *required,
                                size_t count);

/* The same of a text in memory, which must outlive it; `name` is for messages. */
struct status details_file_open_text(struct details_file *out, const char *name, const char *text,
                                     size_t bytes, const enum details_column *required,
                                     size_t count);

struct status details_file_next(struct details_file *details, struct details_row *row, bool *more);

void details_file_close(struct details_file *details);

/* Where a column stands in a header row, whatever its blanks and case, and in English too; SIZE_MAX when
 * it does not. */
size_t details_find_column(const struct csv_row *header, const char *name);

/* Where all columns stand, in the layouts of both frameworks. */
void details_find_columns(size_t places[COLUMN_COUNT], const struct csv_row *header);

/* The verdict a Status cell spells, in any case and with blanks around it; VERDICT_BLANK for
 * anything else. */
enum verdict details_verdict(struct csv_text cell);

/* The parts of a row name such as "Torch.linalg.inv.0.backward.output.1". */
struct row_name {
    struct csv_text full_name; /* "Torch.linalg.inv.0" */
    struct csv_text api;       /* "linalg.inv" */
    bool backward;
    struct csv_text index; /* "1" */
};

/* False when the text is no row name: six or seven segments, of which the third from the end is
 * "forward" or "backward" and the second "output". */
bool row_name_split(struct row_name *out, struct csv_text text);

#endif
