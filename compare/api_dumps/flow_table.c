/* Tables of texts: padded for a terminal, quoted for a file. */
#include "compare/api_dumps/flow_table.h"

#include <string.h>

#include "core/growing.h"
#include "core/memory.h"

struct status flow_table_add(struct flow_table *table, const char *const *cells)
{
    TRY(array_make_room(&table->rows, &table->room, table->n_rows, sizeof *table->rows));
    memcpy(table->rows[table->n_rows++], cells, table->n_columns * sizeof *cells);
    return status_ok();
}

/* ---- for a terminal --------------------------------------------------------------------- */

static const char *shown(const char *cell) { return cell ? cell : "None"; }

/* Characters of the line that begins at `text`. */
static size_t line_width(const char *text)
{
    size_t width = 0;
    for (; *text && *text != '\n'; text++) width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

static size_t cell_width(const char *cell)
{
    size_t widest = 0;
    for (const char *line = cell; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        size_t width = line_width(line);
        if (width > widest) widest = width;
    }
    return widest;
}

static struct status append(struct csv_buffer *out, const char *text)
{
    return csv_append_bytes(out, text, strlen(text));
}

static struct status append_repeated(struct csv_buffer *out, char c, size_t count)
{
    while (count--) TRY(csv_append_bytes(out, &c, 1));
    return status_ok();
}

static struct status append_rule(struct csv_buffer *out, const size_t *widths, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        TRY(append(out, "+"));
        TRY(append_repeated(out, '-', widths[i] + 2));
    }
    return append(out, "+\n");
}

/* The rest of a cell behind its first `lines` lines; NULL when it has no more. */
static const char *line_of(const char *cell, size_t lines)
{
    while (cell && lines--) {
        cell = strchr(cell, '\n');
        if (cell) cell++;
    }
    return cell;
}

static struct status append_line(struct csv_buffer *out, const char *const *cells,
                                 const size_t *widths, size_t n, size_t line)
{
    for (size_t i = 0; i < n; i++) {
        const char *text = line_of(shown(cells[i]), line);
        size_t bytes = text ? strcspn(text, "\n") : 0, width = text ? line_width(text) : 0;
        TRY(append(out, "| "));
        TRY(csv_append_bytes(out, text ? text : "", bytes));
        TRY(append_repeated(out, ' ', widths[i] - width + 1));
    }
    return append(out, "|\n");
}

static struct status append_row(struct csv_buffer *out, const char *const *cells,
                                const size_t *widths, size_t n)
{
    bool more = true;
    for (size_t line = 0; more; line++) {
        TRY(append_line(out, cells, widths, n, line));
        more = false;
        for (size_t i = 0; i < n; i++) more |= line_of(shown(cells[i]), line + 1) != NULL;
    }
    return status_ok();
}

struct status flow_table_show(struct csv_buffer *out, const struct flow_table *table, bool ruled)
{
    size_t widths[FLOW_COLUMNS] = { 0 }, n = table->n_columns;

    for (size_t i = 0; i < n; i++) widths[i] = cell_width(table->headers[i]);
    for (size_t r = 0; r < table->n_rows; r++)
        for (size_t i = 0; i < n; i++) {
            size_t width = cell_width(shown(table->rows[r][i]));
            if (width > widths[i]) widths[i] = width;
        }
    TRY(append(out, table->title));
    TRY(append(out, "\n"));
    TRY(append_rule(out, widths, n));
    TRY(append_row(out, table->headers, widths, n));
    TRY(append_rule(out, widths, n));
    for (size_t r = 0; r < table->n_rows; r++) {
        TRY(append_row(out, table->rows[r], widths, n));
        if (ruled) TRY(append_rule(out, widths, n));
    }
    return ruled ? status_ok() : append_rule(out, widths, n);
}

/* ---- for a file ------------------------------------------------------------------------- */

static struct status write_cells(struct csv_buffer *out, const char *const *cells, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        TRY(append(out, i ? ",\"" : "\""));
        for (const char *at = cells[i] ? cells[i] : ""; *at;) {
            size_t plain = strcspn(at, "\"");
            TRY(csv_append_bytes(out, at, plain));
            at += plain;
            if (!*at) break;
            TRY(append(out, "\"\""));
            at++;
        }
        TRY(append(out, "\""));
    }
    return append(out, "\n");
}

struct status flow_table_write(struct csv_buffer *out, const struct flow_table *table)
{
    TRY(write_cells(out, table->headers, table->n_columns));
    for (size_t r = 0; r < table->n_rows; r++)
        TRY(write_cells(out, table->rows[r], table->n_columns));
    return status_ok();
}
