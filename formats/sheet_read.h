/* The rows of a table file, one after the other: .xlsx (ECMA-376, as Excel, openpyxl, libxlsxwriter
 * and LibreOffice write it) and our own .csv.
 *
 * A workbook is a zip archive of XML parts. A part is inflated and parsed piece by piece, so the
 * memory of a reader is one row and, where the file has one, the table of shared strings; a sheet of
 * a million rows takes as much as one of ten. Formulas are not computed: a cell has the value that
 * was stored for it.
 *
 * The file is untrusted. Document types are refused, and with them every entity that is not one of
 * XML's five (formats/xml_part.h says what else); cells, rows and shared strings have limits.
 */
#ifndef PROBE_FORMATS_SHEET_READ_H
#define PROBE_FORMATS_SHEET_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/file.h"
#include "core/status.h"

enum {
    SHEET_MAX_ROWS = 1 << 20,
    SHEET_MAX_COLUMNS = 1 << 14,
    SHEET_MAX_CELLS = 1 << 28,       /* of a sheet, blank ones before the last of a row included */
    SHEET_MAX_ROW_BYTES = 64 << 20,  /* of texts */
    SHEET_MAX_STRINGS = 1 << 24,     /* shared ones, */
    SHEET_MAX_STRING_BYTES = 1 << 29 /* and their bytes */
};

enum sheet_cell_kind {
    SHEET_BLANK,  /* nothing was stored; text "" */
    SHEET_TEXT,   /* also errors such as #N/A */
    SHEET_NUMBER, /* a finite one; `text` is how it stands in the file */
    SHEET_BOOL    /* number 1 or 0, text "True" or "False"; never in a .csv */
};

struct sheet_cell {
    enum sheet_cell_kind kind;
    const char *text; /* UTF-8 (a .csv: any bytes), not NUL-terminated; valid until the next row */
    size_t length;
    double number;
};

struct sheet_row {
    const struct sheet_cell *cells;
    size_t count;
    uint64_t number; /* from 1; empty rows are left out and counted */
};

/* A file and the names of its sheets. */
struct sheet_book;

/* Open by path with the checks of core/file.h; .csv by suffix, anything else is read as .xlsx. The
 * book ends with sheet_book_close. STATUS_BAD_INPUT naming the file (and the part of it), when it
 * is no workbook or has no sheet. */
struct status sheet_book_open(struct sheet_book **out, const char *path, struct file_policy policy);
void sheet_book_close(struct sheet_book *book);

/* Sheets in their order; a .csv is one sheet without a name. A name is UTF-8, at most 255 bytes. */
size_t sheet_count(const struct sheet_book *book);
const char *sheet_name(const struct sheet_book *book, size_t index);

/* One pass over one sheet. Ends with sheet_close, before the book does. */
struct sheet_reader;
struct status sheet_open(struct sheet_reader **out, struct sheet_book *book, size_t index);

/* The next row. *more is false at the end, and `row` is untouched then.
 *
 *   errors  STATUS_BAD_INPUT naming file, part, line and column: damaged or not what a sheet is
 *           made of, beyond the limits; STATUS_NO_MEMORY
 */
struct status sheet_next(struct sheet_reader *reader, struct sheet_row *row, bool *more);

void sheet_close(struct sheet_reader *reader);

#endif
