/* Tables for people and spreadsheets: rows of cells into a .csv or an .xlsx file, written as they
 * come, in memory that does not grow with their number.
 *
 * The file appears under its name when it is whole: it is written beside it under a name of its own
 * ("<name>.<process>.part") and renamed by table_file_finish. Mode 0640. CSV is that of formats/csv.h.
 *
 * What starts like a formula is a text in xlsx, and is disarmed in CSV (csv_append_cell).
 */
#ifndef PROBE_FORMATS_TABLE_FILE_H
#define PROBE_FORMATS_TABLE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/status.h"

enum table_format { TABLE_CSV, TABLE_XLSX };

/* "csv" or "xlsx": also the suffix of the file. */
const char *table_format_name(enum table_format format);

enum table_cell_kind { TABLE_EMPTY, TABLE_TEXT, TABLE_NUMBER, TABLE_INTEGER, TABLE_BOOLEAN };

/* One cell. Numbers print as Python prints them ("0.1", "1e-05"); one that is not finite is a text
 * ("inf", "-inf", "nan") in both formats. Booleans are True and False. A text is UTF-8. */
struct table_cell {
    enum table_cell_kind kind;
    union {
        double number;
        int64_t integer;
        bool boolean;
        struct {
            const char *bytes;
            size_t length;
        } text;
    };
};

static inline struct table_cell table_text(const char *bytes, size_t length)
{
    struct table_cell cell = { .kind = TABLE_TEXT };
    cell.text.bytes = bytes;
    cell.text.length = length;
    return cell;
}

/* Background of a row; CSV has none. */
enum table_fill { TABLE_PLAIN, TABLE_YELLOW /* FFFF00 */, TABLE_RED /* FF0000 */, TABLE_FILLS };

enum {
    TABLE_MAX_ROWS = 1048576, /* of a sheet, its header included; CSV has no limit */
    TABLE_MAX_TEXT = 32767    /* characters of an xlsx cell; longer texts are cut there */
};

struct table_file;

/* Start the file `path`. An older file of the name stays until table_file_finish.
 *
 *   threads  how many may work on it, the caller's included; they change nothing in the file
 *   errors   STATUS_IO, STATUS_NO_MEMORY. Nothing is left then. */
struct status table_file_create(struct table_file **out, const char *path, enum table_format format,
                                unsigned threads);

/* Start a sheet of this name (at most 31 characters, none of []:*?/\). A CSV file has one, whose name
 * is not written. Must be called before the first row. */
struct status table_file_add_sheet(struct table_file *file, const char *name);

/* The next row. */
struct status table_file_add_row(struct table_file *file, const struct table_cell *cells,
                                 size_t count, enum table_fill fill);

/* Write what is left and give the file its name; the writer is gone, whatever the result. On failure
 * the unfinished file is removed. */
struct status table_file_finish(struct table_file *file);

/* Give up: no file stays. NULL is fine. */
void table_file_discard(struct table_file *file);

#endif
