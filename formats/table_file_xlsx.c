/* Tables as .xlsx by libxlsxwriter in its mode of constant memory: a row is written to a temporary
 * file (in the folder of the result, without a name) as soon as the next one begins; the end packs
 * it into the archive.
 *
 * That mode keeps no note of a write that fails, for want of space for instance, so the stream of
 * the rows is asked before the archive is made.
 */
#include "formats/table_file_internal.h"

#ifdef PROBE_HAS_XLSXWRITER

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <xlsxwriter.h>

#include "core/file.h"
#include "core/memory.h"
#include "formats/csv.h"

struct xlsx_state {
    lxw_workbook *workbook;
    lxw_worksheet *sheet;
    lxw_format *fills[TABLE_FILLS];
    lxw_row_t row;
    struct csv_buffer text; /* a cell, with its NUL */
    char *folder;           /* of the temporary files */
};

static struct status library_error(const struct table_file *file, lxw_error error)
{
    if (error == LXW_ERROR_MEMORY_MALLOC_FAILED) return status_no_memory(0);
    return status_error(STATUS_IO, "cannot write '%s': %s", file_shown(file->file.path).text,
                        lxw_strerror(error));
}

static void release(struct xlsx_state *state)
{
    csv_buffer_release(&state->text);
    memory_release(state->folder);
    memory_release(state);
}

/* The folder of the file, for temporary files. */
static struct status name_folder(struct xlsx_state *state, const char *path)
{
    const char *slash = strrchr(path, '/');
    state->folder = memory_copy_string(slash ? path : ".");
    if (!state->folder) return status_no_memory(strlen(path));
    if (slash) state->folder[slash == path ? 1 : slash - path] = '\0';
    return status_ok();
}

static struct status open_workbook(struct table_file *file, struct xlsx_state *state)
{
    lxw_workbook_options options = { .constant_memory = LXW_TRUE, .use_zip64 = LXW_TRUE };

    TRY(name_folder(state, file->file.part));
    options.tmpdir = state->folder;
    /* The part is there, with the mode that results have; the library opens it again. */
    state->workbook = workbook_new_opt(file->file.part, &options);
    if (!state->workbook) return status_no_memory(0);
    static const lxw_color_t colors[TABLE_FILLS] = {
        [TABLE_YELLOW] = 0xffff00, [TABLE_RED] = 0xff0000
    };
    for (int i = TABLE_PLAIN + 1; i < TABLE_FILLS; i++) {
        state->fills[i] = workbook_add_format(state->workbook);
        if (!state->fills[i]) return status_no_memory(0);
        format_set_bg_color(state->fills[i], colors[i]);
    }
    return status_ok();
}

/* Free a workbook that is not to be written. The library only frees one that it has closed, so it is
 * closed into the unfinished file. */
static void drop_workbook(struct xlsx_state *state)
{
    if (state->workbook) (void)workbook_close(state->workbook);
    state->workbook = NULL;
}

static struct status create(struct table_file *file)
{
    struct xlsx_state *state = memory_allocate_zeroed(1, sizeof *state);
    if (!state) return status_no_memory(sizeof *state);
    struct status status = open_workbook(file, state);
    if (status.code) {
        drop_workbook(state);
        release(state);
        return status;
    }
    file->state = state;
    return status;
}

static struct status add_sheet(struct table_file *file, const char *name)
{
    struct xlsx_state *state = file->state;
    lxw_error error = workbook_validate_sheet_name(state->workbook, name);
    if (error) return library_error(file, error);
    state->sheet = workbook_add_worksheet(state->workbook, name);
    state->row = 0;
    return state->sheet ? status_ok() : status_no_memory(0);
}

/* The text with a NUL behind it, cut to what a cell holds; what XML cannot hold becomes a blank. */
static struct status set_text(struct csv_buffer *out, const char *text, size_t length)
{
    size_t characters = 0, bytes = 0;

    csv_buffer_clear(out);
    for (; bytes < length; bytes++) {
        if (((unsigned char)text[bytes] & 0xc0) != 0x80 && ++characters > TABLE_MAX_TEXT) break;
    }
    TRY(csv_append_bytes(out, text, bytes));
    TRY(csv_append_bytes(out, "", 1));
    for (size_t i = 0; i < bytes; i++) {
        unsigned char *at = (unsigned char *)out->data + i;
        bool is_blank = *at == '\n' || *at == '\t';
        if ((*at < ' ' && !is_blank) || *at == 0x7f) *at = ' ';
        if (*at == 0xef && i + 2 < bytes && at[1] == 0xbf && at[2] >= 0xbe)
            at[0] = at[1] = at[2] = ' ';
    }
    return status_ok();
}

static lxw_error write_number(struct xlsx_state *state, lxw_col_t column, double number,
                              lxw_format *format)
{
    if (isfinite(number))
        return worksheet_write_number(state->sheet, state->row, column, number, format);
    const char *word = isnan(number) ? "nan" : number > 0 ? "inf" : "-inf";
    return worksheet_write_string(state->sheet, state->row, column, word, format);
}

static struct status write_cell(struct table_file *file, lxw_col_t column,
                                const struct table_cell *cell, lxw_format *format)
{
    struct xlsx_state *state = file->state;
    lxw_error error = LXW_NO_ERROR;

    switch (cell->kind) {
    case TABLE_EMPTY:
        if (format) error = worksheet_write_blank(state->sheet, state->row, column, format);
        break;
    case TABLE_NUMBER: error = write_number(state, column, cell->number, format); break;
    case TABLE_INTEGER: error = write_number(state, column, (double)cell->integer, format); break;
    case TABLE_BOOLEAN:
        error = worksheet_write_boolean(state->sheet, state->row, column, cell->boolean, format);
        break;
    default:
        TRY(set_text(&state->text, cell->text.bytes, cell->text.length));
        if (!state->text.data[0]) break; /* an empty cell */
        error = worksheet_write_string(state->sheet, state->row, column, state->text.data, format);
    }
    return error ? library_error(file, error) : status_ok();
}

static struct status add_row(struct table_file *file, const struct table_cell *cells, size_t count,
                             enum table_fill fill)
{
    struct xlsx_state *state = file->state;

    for (size_t i = 0; i < count; i++)
        TRY(write_cell(file, (lxw_col_t)i, &cells[i], state->fills[fill]));
    state->row++;
    return status_ok();
}

/* Have all rows reached their temporary files? */
static struct status check_sheets(struct table_file *file)
{
    struct xlsx_state *state = file->state;
    lxw_worksheet *sheet;

    STAILQ_FOREACH(sheet, state->workbook->worksheets, list_pointers)
    {
        FILE *rows = sheet->optimize_tmpfile;
        if (rows && (fflush(rows) || ferror(rows)))
            return status_error(STATUS_IO, "cannot write '%s': no room for its temporary file",
                                file_shown(file->file.path).text);
    }
    return status_ok();
}

static struct status finish(struct table_file *file)
{
    struct xlsx_state *state = file->state;
    struct status status = check_sheets(file);
    lxw_error error = workbook_close(state->workbook);

    release(state);
    if (!status.code && error) status = library_error(file, error);
    return status;
}

static void discard(struct table_file *file)
{
    struct xlsx_state *state = file->state;
    drop_workbook(state);
    release(state);
}

const struct table_writer table_xlsx_writer = {
    .name = "xlsx",
    .create = create,
    .add_sheet = add_sheet,
    .add_row = add_row,
    .finish = finish,
    .discard = discard,
};

#else

const struct table_writer table_xlsx_writer = { .name = "xlsx" };

#endif
