/* Rows of a worksheet part and of a .csv.
 *
 * Cells of a row are collected while its element is open: texts behind each other in one buffer, which
 * may move, so that cells keep offsets until the row ends and the parser is suspended. */
#include "formats/sheet_read.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "formats/sheet_internal.h"
#include "formats/xml_part.h"

enum { IN_SHEET = 1, IN_DATA, IN_ROW, IN_CELL, IN_VALUE, IN_INLINE, IN_RUN, IN_TEXT };

/* What the stored value of a cell is: attribute t. */
enum stored { STORED_NUMBER, STORED_SHARED, STORED_TEXT, STORED_INLINE, STORED_BOOL };
static const struct {
    const char *type;
    enum stored stored;
} stored_types[] = {
    { "n", STORED_NUMBER },         { "s", STORED_SHARED }, { "str", STORED_TEXT },
    { "inlineStr", STORED_INLINE }, { "b", STORED_BOOL },   { "e", STORED_TEXT },
    { "d", STORED_TEXT }, /* a date of ISO 8601 */
};

struct sheet_reader {
    struct sheet_book *book;
    struct xml_part *part; /* of a workbook */
    struct csv_reader csv; /* of a .csv */
    struct sheet_cell *cells;
    size_t *starts; /* of each cell's text in `texts`, while the row is open; NOT_IN_TEXTS */
    size_t count, room;
    struct csv_buffer texts;
    uint64_t row_number;
    uint64_t all_cells;
    enum stored stored; /* of the open cell */
};
#define NOT_IN_TEXTS SIZE_MAX

/* Room for `count` cells. */
static struct status reserve_cells(struct sheet_reader *reader, size_t count)
{
    if (count <= reader->room) return status_ok();
    size_t room = reader->room ? reader->room : 32;
    while (room < count) room *= 2;
    struct sheet_cell *cells = memory_resize(reader->cells, room * sizeof *cells);
    if (!cells) return status_no_memory(room * sizeof *cells);
    reader->cells = cells;
    size_t *starts = memory_resize(reader->starts, room * sizeof *starts);
    if (!starts) return status_no_memory(room * sizeof *starts);
    reader->starts = starts;
    reader->room = room;
    return status_ok();
}

/* A whole number from 1 to `most` that fills the text; 0 when it does not. */
static uint64_t read_count(const char *text, uint64_t most)
{
    uint64_t value = 0;
    for (; *text >= '0' && *text <= '9' && value <= most; text++)
        value = value * 10 + (uint64_t)(*text - '0');
    return *text || value > most ? 0 : value;
}

/* The column of a reference such as "AB12", from 0; SHEET_MAX_COLUMNS when it is none. */
static size_t read_column(const char *reference)
{
    size_t column = 0;
    const char *at = reference;
    for (; *at >= 'A' && *at <= 'Z' && column <= SHEET_MAX_COLUMNS; at++)
        column = column * 26 + (size_t)(*at - 'A') + 1;
    if (at == reference || column > SHEET_MAX_COLUMNS || *at < '1' || *at > '9')
        return SHEET_MAX_COLUMNS;
    return column - 1;
}

static void start_row(struct sheet_reader *reader, struct xml_part *part, const char **attributes)
{
    const char *number = xml_attribute(attributes, "r");
    uint64_t row = number ? read_count(number, SHEET_MAX_ROWS) : reader->row_number + 1;

    if (!row || row <= reader->row_number || row > SHEET_MAX_ROWS) {
        xml_part_refuse(part, "rows out of order, or more than 1048576");
        return;
    }
    reader->row_number = row;
    reader->count = 0;
    csv_buffer_clear(&reader->texts);
}

static void add_blank(struct sheet_reader *reader)
{
    reader->starts[reader->count] = NOT_IN_TEXTS;
    reader->cells[reader->count++] = (struct sheet_cell){ .kind = SHEET_BLANK, .text = "" };
}

static void start_cell(struct sheet_reader *reader, struct xml_part *part, const char **attributes)
{
    const char *reference = xml_attribute(attributes, "r"), *type = xml_attribute(attributes, "t");
    size_t column = reference ? read_column(reference) : reader->count, before = reader->count;

    if (column < reader->count || column >= SHEET_MAX_COLUMNS) {
        xml_part_refuse(part, "cells out of order, or more than 16384 in a row");
        return;
    }
    reader->all_cells += column + 1 - before;
    if (reader->all_cells > SHEET_MAX_CELLS) {
        xml_part_refuse(part, "more than 268435456 cells");
        return;
    }
    size_t i = 0, n_types = sizeof stored_types / sizeof *stored_types;
    while (type && i < n_types && strcmp(stored_types[i].type, type) != 0) i++;
    if (i == n_types) {
        xml_part_refuse(part, "a cell of an unknown type");
        return;
    }
    reader->stored = stored_types[i].stored;
    struct status status = reserve_cells(reader, column + 1);
    if (status.code) {
        xml_part_fail(part, status);
        return;
    }
    while (reader->count <= column) add_blank(reader);
    reader->starts[column] = reader->texts.length;
}

/* What a stored value means, now that it has been read. */
static const char *finish_cell(struct sheet_reader *reader)
{
    struct sheet_cell *cell = &reader->cells[reader->count - 1];
    size_t start = reader->starts[reader->count - 1];
    size_t length = reader->texts.length - start;

    if (!length) {
        reader->starts[reader->count - 1] = NOT_IN_TEXTS;
        /* an inline text may be empty, a value cannot */
        if (reader->stored == STORED_INLINE) cell->kind = SHEET_TEXT;
        return NULL;
    }
    char *text = reader->texts.data + start;
    struct csv_text stored = { text, length };
    cell->kind = SHEET_TEXT;
    cell->length = length;
    switch (reader->stored) {
    case STORED_NUMBER:
        if (csv_read_number(&cell->number, stored) && isfinite(cell->number))
            cell->kind = SHEET_NUMBER;
        else cell->number = 0;
        return NULL;
    case STORED_TEXT:
    case STORED_INLINE:
        cell->length = sheet_decode(text, length);
        reader->texts.length = start + cell->length;
        return NULL;
    case STORED_BOOL:
        if (length != 1 || (*text != '0' && *text != '1'))
            return "a truth value other than 0 and 1";
        cell->kind = SHEET_BOOL;
        cell->number = *text - '0';
        cell->text = *text == '1' ? "True" : "False";
        cell->length = strlen(cell->text);
        break;
    case STORED_SHARED: {
        double number;
        if (!csv_read_number(&number, stored) || !(number >= 0) ||
            !(number < (double)reader->book->n_strings) || number != floor(number))
            return "a shared string that is not there";
        const struct csv_text *shared = &reader->book->strings[(size_t)number];
        cell->text = shared->bytes;
        cell->length = shared->length;
        break;
    }
    }
    reader->starts[reader->count - 1] = NOT_IN_TEXTS;
    reader->texts.length = start;
    return NULL;
}

static void on_start(void *context, struct xml_part *part, unsigned code, const char **attributes)
{
    if (code == IN_ROW) start_row(context, part, attributes);
    if (code == IN_CELL) start_cell(context, part, attributes);
}

static void on_text(void *context, struct xml_part *part, unsigned code, const char *text,
                    size_t length)
{
    struct sheet_reader *reader = context;
    bool is_inline = reader->stored == STORED_INLINE;
    if (code != (is_inline ? IN_TEXT : IN_VALUE)) return;
    if (length > SHEET_MAX_ROW_BYTES - reader->texts.length)
        xml_part_refuse(part, "more than 64 MiB of text in a row");
    else xml_part_fail(part, csv_append_bytes(&reader->texts, text, length));
}

static void on_end(void *context, struct xml_part *part, unsigned code)
{
    struct sheet_reader *reader = context;
    const char *problem = code == IN_CELL ? finish_cell(reader) : NULL;
    if (problem) xml_part_refuse(part, problem);
    if (code == IN_ROW && reader->count) xml_part_suspend(part);
}

static const struct xml_element elements[] = {
    { "worksheet", IN_SHEET, 1 },
    { "sheetData", IN_DATA, 1u << IN_SHEET },
    { "row", IN_ROW, 1u << IN_DATA },
    { "c", IN_CELL, 1u << IN_ROW },
    { "v", IN_VALUE, 1u << IN_CELL },
    { "is", IN_INLINE, 1u << IN_CELL },
    { "r", IN_RUN, 1u << IN_INLINE },
    { "t", IN_TEXT, 1u << IN_INLINE | 1u << IN_RUN },
    { 0 },
};
static const struct xml_reader row_reader = { elements, on_start, on_end, on_text };

struct status sheet_open(struct sheet_reader **out, struct sheet_book *book, size_t index)
{
    assert(index < book->n_sheets);
    const struct zip_entry *entry = book->sheets[index].entry;
    struct sheet_reader *reader = memory_allocate_zeroed(1, sizeof *reader);
    if (!reader) return status_no_memory(sizeof *reader);
    reader->book = book;
    struct status status =
        entry ? xml_part_open(&reader->part, &book->zip, entry, &row_reader, reader)
              : csv_open_file(&reader->csv, &book->file, NULL);
    if (status.code) sheet_close(reader);
    else *out = reader;
    return status;
}

static struct status next_csv_row(struct sheet_reader *reader, struct sheet_row *out, bool *more)
{
    struct csv_row row;

    TRY(csv_next(&reader->csv, &row, more));
    if (!*more) return status_ok();
    TRY(reserve_cells(reader, row.count));
    for (size_t i = 0; i < row.count; i++) {
        struct sheet_cell *cell = &reader->cells[i];
        *cell = (struct sheet_cell){ .text = row.cells[i].bytes, .length = row.cells[i].length };
        if (!cell->length) cell->kind = SHEET_BLANK;
        else if (csv_read_number(&cell->number, row.cells[i]) && isfinite(cell->number))
            cell->kind = SHEET_NUMBER;
        else cell->kind = SHEET_TEXT, cell->number = 0;
    }
    *out = (struct sheet_row){ reader->cells, row.count, row.number };
    return status_ok();
}

struct status sheet_next(struct sheet_reader *reader, struct sheet_row *out, bool *more)
{
    if (!reader->part) return next_csv_row(reader, out, more);
    TRY(xml_part_continue(reader->part, more));
    if (!*more) return status_ok();
    for (size_t i = 0; i < reader->count; i++)
        if (reader->starts[i] != NOT_IN_TEXTS)
            reader->cells[i].text = reader->texts.data + reader->starts[i];
    *out = (struct sheet_row){ reader->cells, reader->count, reader->row_number };
    return status_ok();
}

void sheet_close(struct sheet_reader *reader)
{
    if (!reader) return;
    if (reader->part) xml_part_close(reader->part);
    else csv_close(&reader->csv);
    csv_buffer_release(&reader->texts);
    memory_release(reader->cells);
    memory_release(reader->starts);
    memory_release(reader);
}
