/* The CSV files of the pre-check: RFC 4180 in UTF-8, with the byte format that the field's
 * tools expect.
 *
 * Written files start with a byte order mark, once, and end rows with CR LF; a cell is quoted
 * only when it holds a comma, a quote or a line end; a line feed inside a quoted cell stays one.
 * Messages carry text of other programs, so a cell that a spreadsheet would run as a formula is
 * disarmed on the way out.
 *
 * Reading takes what other writers of these files produce: with or without the mark, CR LF, LF
 * or CR row ends, blank lines (skipped), text behind a closing quote (kept, as Python's csv
 * does). A details file has a gigabyte at most and 23 columns of mostly one byte, so the reader
 * goes over the bytes once and hands out cells as pointers into its window.
 */
#ifndef PROBE_FORMATS_CSV_H
#define PROBE_FORMATS_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/file.h"
#include "core/status.h"

/* ---- writing ---------------------------------------------------------------------------- */

/* Growing text. Empty is all zeros: struct csv_buffer b = { 0 }. Every append either adds all of
 * its bytes or fails with STATUS_NO_MEMORY and leaves the buffer as it was. */
struct csv_buffer {
    char *data;
    size_t length;
    size_t capacity;
};

/* The byte order mark: what a file begins with. */
struct status csv_append_mark(struct csv_buffer *buffer);

/* Bytes as they are: for text that is no CSV but grows in the same way. */
struct status csv_append_bytes(struct csv_buffer *buffer, const char *bytes, size_t length);

/* Room for `bytes` more bytes, for who puts them there and adds to the length; is it there already? */
struct status csv_reserve(struct csv_buffer *buffer, size_t bytes);
static inline bool csv_has_room(const struct csv_buffer *buffer, size_t bytes)
{
    return bytes <= buffer->capacity - buffer->length;
}

/* One cell of `length` bytes and a comma. The text is quoted where needed. When it starts with
 * one of + - = % @, their full-width forms, a tab or a carriage return, or has one of them right
 * behind a semicolon, it gets an apostrophe at its start and behind each such semicolon, unless it is a number. */
struct status csv_append_cell(struct csv_buffer *buffer, const char *text, size_t length);

/* The same of a text that needs neither quotes nor an apostrophe: a number, a word of our own. */
struct status csv_append_plain(struct csv_buffer *buffer, const char *text, size_t length);

/* A cell with a number in fixed notation, as printf's %.<decimals>f writes it; "nan", "inf" or
 * "-inf" for what is not finite. `decimals` is 0..20. */
struct status csv_append_fixed(struct csv_buffer *buffer, double value, int decimals);

/* Turn the comma behind the last cell into a row end. At least one cell must have been appended
 * since the last row end. */
struct status csv_end_row(struct csv_buffer *buffer);

/* A whole row of NUL-terminated cells; `count` is at least 1. */
struct status csv_append_row(struct csv_buffer *buffer, const char *const *cells, size_t count);

/* Forget the text but keep the memory; free the memory. */
void csv_buffer_clear(struct csv_buffer *buffer);
void csv_buffer_release(struct csv_buffer *buffer);

/* Would a reader of numbers take the whole text for one? Decimal notation with an optional sign
 * and exponent, "nan", "inf" or "infinity" in any case; blanks around it are allowed. */
bool csv_is_number(const char *text, size_t length);

/* Would a spreadsheet run the text, or a part behind a semicolon, as a formula? A number is none. */
bool csv_is_formula(const char *text, size_t length);

/* ---- reading ---------------------------------------------------------------------------- */

/* Bytes of a cell, not NUL-terminated. Valid until the next row is read. */
struct csv_text {
    const char *bytes;
    size_t length;
};

static inline struct csv_text csv_text_of(const char *string)
{
    return (struct csv_text){ string, strlen(string) };
}

/* Inline, since the length of a literal is known then. */
static inline bool csv_text_equal(struct csv_text text, const char *string)
{
    return strlen(string) == text.length && memcmp(text.bytes, string, text.length) == 0;
}

/* The number that the text is, correctly rounded; false, with *value untouched, when
 * csv_is_number says that it is none. */
bool csv_read_number(double *value, struct csv_text text);

struct csv_row {
    const struct csv_text *cells; /* quotes removed */
    size_t count;                 /* at least 1 */
    uint64_t begin, end;          /* bytes of the row in the file, its line end included */
    uint64_t number;              /* of the row, from 1; blank lines do not count */
    bool torn;                    /* the file ends inside this row: no line end, or an open quote */
};

/* What a reader accepts; a member that is 0 means its default. */
struct csv_limits {
    size_t row_bytes; /* default 64 MiB */
    size_t columns;   /* default 1024 */
    bool ends_at_nul; /* a NUL byte is the end of the file, not a fault */
};

/* The ends of cells in 64 bytes of a window, from `block` on, that lie ahead (formats/csv_flags.h). */
struct csv_ends {
    size_t block;
    uint64_t flags; /* none: not known */
};

/* One pass over a file or a text. Ends with csv_close. */
struct csv_reader {
    const char *name;        /* for messages */
    const struct file *file; /* NULL when the text is all in memory */
    const char *text;        /* window of `bytes` bytes, its first at `window_begin` */
    size_t bytes;
    uint64_t window_begin;
    bool at_end;     /* the window reaches the end of the file */
    size_t position; /* in the window: where the next row starts */
    struct csv_ends ends;
    uint64_t rows;
    struct csv_limits limits;
    char *window; /* memory of the window when read from a file */
    size_t window_capacity;
    struct csv_text *cells;
    size_t cell_capacity;
    struct csv_buffer unquoted; /* texts of cells that had doubled quotes */
};

/* Read an open file from its start; `file` must outlive the reader. A byte order mark is
 * skipped. limits == NULL means the defaults. */
struct status csv_open_file(struct csv_reader *out, const struct file *file,
                            const struct csv_limits *limits);

/* Read a text in memory (a mapped file, for instance), which must outlive the reader. */
struct status csv_open_text(struct csv_reader *out, const char *name, const char *text,
                            size_t bytes, const struct csv_limits *limits);

/* The next row. *more is false at the end of the file, and `row` is untouched then.
 *
 *   errors  STATUS_BAD_INPUT naming file, row and byte: a NUL byte, a row beyond the limits;
 *           what file_read_at reports; STATUS_NO_MEMORY
 */
struct status csv_next(struct csv_reader *reader, struct csv_row *row, bool *more);

void csv_close(struct csv_reader *reader);

#endif
