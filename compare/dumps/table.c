/* Writes the rows of a comparison through a list of columns. */
#include "compare/dumps/table.h"

#include <stdio.h>
#include <string.h>

#include "compare/dumps/columns.h"

enum { SHEET_ROWS = 1048500, WATCHED_ROWS = 8192 };

struct writing {
    const struct comparison *c;
    struct table_file *file;
    struct column_list columns;
    struct row_cells cells;
    uint64_t written, sheet_rows;
    bool several; /* sheets */
    struct comparison_watch watch;
};

static struct status write_header(struct writing *w)
{
    for (size_t i = 0; i < w->columns.count; i++) {
        const char *header = column_header(&w->columns, i);
        w->cells.cell[i] = table_text(header, strlen(header));
    }
    return table_file_add_row(w->file, w->cells.cell, w->columns.count, TABLE_PLAIN);
}

/* Begin the next sheet when this one is full. */
static struct status turn_sheet(struct writing *w)
{
    char name[32];
    if (w->written % w->sheet_rows) return status_ok();
    if (w->several)
        (void)snprintf(name, sizeof name, "part_%llu",
                       (unsigned long long)(w->written / w->sheet_rows));
    else (void)snprintf(name, sizeof name, "%s", w->c->highlighted ? "Sheet" : "Sheet1");
    TRY(table_file_add_sheet(w->file, name));
    return write_header(w);
}

static struct status write_row(struct writing *w, enum table_fill fill)
{
    TRY(table_file_add_row(w->file, w->cells.cell, w->columns.count,
                           w->several ? TABLE_PLAIN : fill));
    w->written++;
    if (w->written % WATCHED_ROWS || !w->watch.go_on) return status_ok();
    return w->watch.go_on(w->watch.context, w->written, w->c->npu.n_rows)
               ? status_ok()
               : status_error(STATUS_INTERRUPTED, "interrupted");
}

static struct status write_rows(struct writing *w, bool bench_only)
{
    const struct comparison *c = w->c;

    for (uint32_t row = 0; row < c->npu.n_rows; row++) {
        TRY(turn_sheet(w));
        TRY(row_cells_make(&w->cells, c, &w->columns, row));
        TRY(write_row(w, c->rows[row].fill));
    }
    for (uint32_t row = 0; bench_only && row < c->bench.n_rows; row++) {
        if (c->pairing.bench_taken[row]) continue;
        TRY(turn_sheet(w));
        TRY(row_cells_make_bench_only(&w->cells, c, &w->columns, row));
        TRY(write_row(w, TABLE_PLAIN));
    }
    return status_ok();
}

/* Sheets of equal size; CSV has one. */
static void plan_sheets(struct writing *w, const struct table_request *request)
{
    uint64_t rows = w->c->npu.n_rows + (request->bench_only ? w->c->pairing.n_bench_only : 0);
    uint64_t most = request->sheet_rows ? request->sheet_rows : SHEET_ROWS;
    uint64_t sheets = request->format == TABLE_CSV ? 1 : (rows + most - 1) / most;

    if (!sheets) sheets = 1;
    w->several = sheets > 1;
    w->sheet_rows = (rows + sheets - 1) / sheets;
    if (!w->sheet_rows) w->sheet_rows = 1;
}

struct status comparison_write_table(const struct comparison *c, const char *path,
                                     const struct table_request *request)
{
    struct writing w = { .c = c,
                         .watch = request->watch,
                         .columns = column_list_make(c, request->extras, request->format) };

    plan_sheets(&w, request);
    TRY(table_file_create(&w.file, path, request->format, request->threads));
    struct status status = write_rows(&w, request->bench_only);
    row_cells_release(&w.cells);
    if (!status.code) return table_file_finish(w.file);
    table_file_discard(w.file);
    return status;
}
