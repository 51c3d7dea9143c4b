/* One reader over two formats: csv.h and sheet_read.h. */
#include "report/html/table_rows.h"

#include <string.h>

#include "core/memory.h"

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && !strcmp(text + length - tail, end);
}

bool table_rows_suffix(const char *path)
{
    return ends_with(path, ".csv") || ends_with(path, ".xlsx");
}

struct status table_rows_open(struct table_rows *out, const char *path, struct file_policy policy)
{
    *out = (struct table_rows){ .file = FILE_NONE };
    if (!ends_with(path, ".csv")) return sheet_book_open(&out->book, path, policy);
    TRY(file_open_read(&out->file, path, policy));
    TRY(csv_open_file(&out->csv, &out->file, NULL));
    out->csv_open = true;
    return status_ok();
}

void table_rows_close(struct table_rows *table)
{
    if (table->csv_open) csv_close(&table->csv);
    (void)file_close(&table->file);
    if (table->sheet) sheet_close(table->sheet);
    if (table->book) sheet_book_close(table->book);
    memory_release(table->cells);
    *table = (struct table_rows){ .file = FILE_NONE };
}

/* A row of the sheet as one of a CSV. */
static struct status take_cells(struct table_rows *table, struct csv_row *row,
                                const struct sheet_row *from)
{
    if (!table->rows) table->width = from->count;
    size_t count = from->count > table->width ? from->count : table->width;
    if (count > table->capacity) {
        struct csv_text *cells = memory_resize(table->cells, count * sizeof *cells);
        if (!cells) return status_no_memory(count * sizeof *cells);
        table->cells = cells;
        table->capacity = count;
    }
    for (size_t i = 0; i < count; i++)
        table->cells[i] = i < from->count
                              ? (struct csv_text){ from->cells[i].text, from->cells[i].length }
                              : (struct csv_text){ "", 0 };
    *row = (struct csv_row){ .cells = table->cells, .count = count, .number = ++table->rows };
    return status_ok();
}

/* A row of the sheet that is open, or of the next one. */
static struct status next_of_sheets(struct table_rows *table, struct sheet_row *row, bool *more)
{
    for (*more = false;;) {
        if (table->sheet) TRY(sheet_next(table->sheet, row, more));
        if (*more) return status_ok();
        if (table->sheet) sheet_close(table->sheet);
        table->sheet = NULL;
        if (table->sheets_read == sheet_count(table->book)) return status_ok();
        TRY(sheet_open(&table->sheet, table->book, table->sheets_read));
        /* The header of a later sheet is that of the first. */
        if (table->sheets_read++) TRY(sheet_next(table->sheet, row, more));
    }
}

struct status table_rows_next(struct table_rows *table, struct csv_row *row, bool *more)
{
    struct sheet_row sheet_row;
    if (table->csv_open) return csv_next(&table->csv, row, more);
    TRY(next_of_sheets(table, &sheet_row, more));
    return *more ? take_cells(table, row, &sheet_row) : status_ok();
}
