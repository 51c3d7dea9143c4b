/* Streams one workbook and keeps the rows that are wanted. */
#include "compare/merge/rank_rows.h"

#include <string.h>

#include "core/growing.h"
#include "core/memory.h"
#include "core/shortest.h"
#include "core/text_pool.h"
#include "formats/csv.h"

enum { ROWS_BETWEEN_STOPS = 1024 };

/* Where the columns stand in one file. */
struct places {
    size_t name, npu_max, bench_max;
    size_t *merged; /* one for each merged column */
};

struct rank_reader {
    struct rank_rows *rows;
    const struct merge_config *config;
    const struct merged_columns *columns;
    const char *path;
    struct places places;
    struct text_pool texts;
    struct stop stop;
};

static struct status bad(const char *path, const char *problem)
{
    return status_error(STATUS_BAD_INPUT, "%s %s", file_shown(path).text, problem);
}

/* The first row of the first sheet. */
static struct status read_header(struct sheet_row *header, struct sheet_reader *reader,
                                 const char *path)
{
    bool more;
    TRY(sheet_next(reader, header, &more));
    return more ? status_ok() : bad(path, "is empty");
}

static struct status open_sheet(struct sheet_book **book, struct sheet_reader **reader,
                                const char *path, struct file_policy policy)
{
    TRY(sheet_book_open(book, path, policy));
    return sheet_open(reader, *book, 0);
}

/* ---- columns ---------------------------------------------------------------------------- */

static struct status list_columns(struct merged_columns *columns, struct arena *arena,
                                  const struct sheet_row *header)
{
    enum { MOST = 16 };
    enum dump_kind kind;
    const char **names = arena_allocate_array(arena, MOST, sizeof *names);

    if (!names) return status_no_memory(0);
    *columns = (struct merged_columns){ .names = names };
    if (!result_kind(&kind, header)) return status_ok();
    for (const char *const *all = result_indices(kind); *all && columns->count < MOST; all++)
        if (result_column(header, *all) < SIZE_MAX) names[columns->count++] = *all;
    return status_ok();
}

struct status rank_columns(struct merged_columns *columns, struct arena *arena, const char *path,
                           struct file_policy policy)
{
    struct sheet_book *book = NULL;
    struct sheet_reader *reader = NULL;
    struct sheet_row header;

    struct status status = open_sheet(&book, &reader, path, policy);
    if (!status.code) status = read_header(&header, reader, path);
    if (!status.code) status = list_columns(columns, arena, &header);
    sheet_close(reader);
    sheet_book_close(book);
    return status;
}

/* Is the column one that can be merged of this kind? "MaxRelativeErr" is one of two. */
static bool is_of_kind(enum dump_kind kind, const char *name)
{
    const char *const *all = result_indices(kind);
    while (*all && strcmp(*all, name) != 0) all++;
    return *all != NULL;
}

static struct status find_places(struct rank_reader *reader, const struct sheet_row *header)
{
    struct places *places = &reader->places;
    size_t count = reader->columns->count;
    enum dump_kind kind;

    if (!result_kind(&kind, header))
        return bad(reader->path, "has not the columns of a comparison");
    if (kind == DUMP_MD5) return bad(reader->path, "compares checksums");
    *places = (struct places){ .name = result_column(header, "NPU Name"),
                               .npu_max = result_column(header, "NPU max"),
                               .bench_max = result_column(header, "Bench max") };
    places->merged = arena_allocate_array(&reader->rows->arena, count, sizeof *places->merged);
    if (!places->merged) return status_no_memory(count * sizeof *places->merged);
    for (size_t i = 0; i < count; i++) {
        const char *name = reader->columns->names[i];
        places->merged[i] = is_of_kind(kind, name) ? result_column(header, name) : SIZE_MAX;
        if (places->merged[i] == SIZE_MAX)
            return status_error(STATUS_BAD_INPUT, "%s has no column '%s'",
                                file_shown(reader->path).text, name);
    }
    return status_ok();
}

/* ---- rows ------------------------------------------------------------------------------- */

static const struct sheet_cell *cell_at(const struct sheet_row *row, size_t column)
{
    static const struct sheet_cell blank = { .kind = SHEET_BLANK, .text = "" };
    return column < row->count ? &row->cells[column] : &blank;
}

static bool is_text(const struct sheet_cell *cell, const char *text)
{
    return cell->kind == SHEET_TEXT && cell->length == strlen(text) &&
           !memcmp(cell->text, text, cell->length);
}

/* Is there a value? Communication calls compare members of groups and scalars, which have none. */
static bool has_value(const struct sheet_cell *cell)
{
    return !is_text(cell, "N/A") && !is_text(cell, "unsupported") && !is_text(cell, "Nan");
}

/* A cell as Python prints what it reads in it. */
struct cell_words {
    const char *bytes;
    int length;
    char number[SHORTEST_BYTES];
};

static void cell_words(struct cell_words *out, const struct sheet_cell *cell)
{
    bool whole = true;
    for (size_t i = 0; i < cell->length; i++) whole &= !strchr(".eE", cell->text[i]);
    if (cell->kind == SHEET_BLANK) {
        out->bytes = "nan";
        out->length = 3;
    } else if (cell->kind == SHEET_NUMBER && !whole) {
        out->bytes = out->number;
        out->length = (int)shortest_double(out->number, cell->number);
    } else {
        out->bytes = cell->text;
        out->length = cell->length > TABLE_MAX_TEXT ? TABLE_MAX_TEXT : (int)cell->length;
    }
}

/* A text of our arena; what a spreadsheet would run is disarmed by an apostrophe. */
static struct status copy_text(struct table_cell *out, struct rank_reader *reader, const char *text,
                               size_t length)
{
    struct arena *arena = &reader->rows->arena;
    const char *copy = csv_is_formula(text, length)
                           ? arena_format(arena, "'%.*s", (int)length, text)
                           : text_pool_copy(&reader->texts, text, length);
    if (!copy) return status_no_memory(length);
    *out = table_text(copy, strlen(copy));
    return status_ok();
}

static struct status copy_maxima(struct table_cell *out, struct rank_reader *reader,
                                 const struct sheet_row *row)
{
    struct cell_words npu, bench;

    cell_words(&npu, cell_at(row, reader->places.npu_max));
    cell_words(&bench, cell_at(row, reader->places.bench_max));
    const char *text = arena_format(&reader->rows->arena, "NPU:%.*s  Bench:%.*s", npu.length,
                                    npu.bytes, bench.length, bench.bytes);
    if (!text) return status_no_memory(0);
    *out = table_text(text, strlen(text));
    return status_ok();
}

static struct status copy_value(struct table_cell *out, struct rank_reader *reader,
                                const struct sheet_row *row, const struct sheet_cell *cell)
{
    *out = (struct table_cell){ .kind = TABLE_EMPTY };
    if (!has_value(cell)) return copy_maxima(out, reader, row);
    switch (cell->kind) {
    case SHEET_NUMBER:
        *out = (struct table_cell){ .kind = TABLE_NUMBER, .number = cell->number };
        break;
    case SHEET_BOOL:
        *out = (struct table_cell){ .kind = TABLE_BOOLEAN, .boolean = cell->number != 0 };
        break;
    case SHEET_TEXT: return copy_text(out, reader, cell->text, cell->length);
    case SHEET_BLANK: break;
    }
    return status_ok();
}

static struct status take_row(struct rank_reader *reader, const struct sheet_row *row)
{
    const struct sheet_cell *name = cell_at(row, reader->places.name);
    size_t count = reader->columns->count;
    size_t api = merge_config_api(reader->config, name->text, name->length);
    struct table_cell name_text;

    if (api == reader->config->n_apis) return status_ok();
    TRY(array_make_room(&reader->rows->items, &reader->rows->room, reader->rows->count,
                        sizeof *reader->rows->items));
    struct table_cell *cells = arena_allocate_array(&reader->rows->arena, count, sizeof *cells);
    if (!cells) return status_no_memory(count * sizeof *cells);
    TRY(copy_text(&name_text, reader, name->text, name->length));
    for (size_t i = 0; i < count; i++)
        TRY(copy_value(&cells[i], reader, row, cell_at(row, reader->places.merged[i])));
    reader->rows->items[reader->rows->count++] =
        (struct rank_row){ name_text.text.bytes, name_text.text.length, api, cells };
    return status_ok();
}

static struct status read_rows(struct rank_reader *reader, struct sheet_reader *sheet)
{
    struct sheet_row row;
    bool more = true;

    TRY(read_header(&row, sheet, reader->path));
    TRY(find_places(reader, &row));
    while (more) {
        TRY(sheet_next(sheet, &row, &more));
        if (more) TRY(take_row(reader, &row));
        if (row.number % ROWS_BETWEEN_STOPS == 0) TRY(stop_check(reader->stop));
    }
    return status_ok();
}

struct status rank_rows_read(struct rank_rows *out, const char *path,
                             const struct merge_config *config,
                             const struct merged_columns *columns, struct file_policy policy,
                             struct stop stop)
{
    struct rank_reader reader = {
        .rows = out, .config = config, .columns = columns, .path = path, .stop = stop
    };
    struct sheet_book *book = NULL;
    struct sheet_reader *sheet = NULL;

    reader.texts.arena = &out->arena;
    struct status status = open_sheet(&book, &sheet, path, policy);
    if (!status.code) status = read_rows(&reader, sheet);
    sheet_close(sheet);
    sheet_book_close(book);
    return status;
}

void rank_rows_release(struct rank_rows *rows)
{
    memory_release(rows->items);
    arena_release(&rows->arena);
    *rows = (struct rank_rows){ 0 };
}
