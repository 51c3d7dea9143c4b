/* What the writers of tables share; not for others.
 *
 *   table_file.c       names and the choice of the writer
 *   table_file_csv.c   .csv
 *   table_file_xlsx.c  .xlsx, through zip_write.h
 */
#ifndef PROBE_FORMATS_TABLE_FILE_INTERNAL_H
#define PROBE_FORMATS_TABLE_FILE_INTERNAL_H

#include "core/new_file.h"
#include "formats/table_file.h"

struct table_file {
    const struct table_writer *writer;
    struct new_file file; /* its part is what the writer fills */
    unsigned threads;     /* that may help to write */
    void *state;          /* of the writer */
};

/* One format. `finish` and `discard` free `state`; on failure `create` leaves none. */
struct table_writer {
    const char *name;
    struct status (*create)(struct table_file *file);
    struct status (*add_sheet)(struct table_file *file, const char *name);
    struct status (*add_row)(struct table_file *file, const struct table_cell *cells, size_t count,
                             enum table_fill fill);
    struct status (*finish)(struct table_file *file);
    void (*discard)(struct table_file *file);
};

extern const struct table_writer table_csv_writer, table_xlsx_writer;

#endif
