/* Tables as workbooks (ECMA-376, Office Open XML): a ZIP archive with a part of XML for each sheet, whose
 * rows are written as they come, and a few small parts around them. Texts stand in their cells ("inlineStr"),
 * so that none has to be kept.
 *
 * Numbers have all their digits, and the bytes are the same for any number of threads that deflate.
 */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/memory.h"
#include "core/shortest.h"
#include "formats/csv.h"
#include "formats/table_file_internal.h"
#include "formats/zip_write.h"

enum {
    SHEETS_MAX = 1024,
    NAME_MAX_BYTES = 31,
    COLUMNS_MAX = 16384,
    PIECE = 64 << 10, /* of XML, collected before it goes to the archive */
};

struct xlsx_sheet {
    char part[40]; /* its name in the archive */
    char name[NAME_MAX_BYTES + 1];
};

struct xlsx_state {
    struct zip_writer *zip;
    struct xlsx_sheet *sheets;
    size_t n_sheets;
    uint32_t row;      /* of the sheet that is open, from 1; 0 before the first */
    char row_text[12]; /* its number and a quotation mark, which end the place of its cells */
    size_t row_length;
    struct csv_buffer xml;
};

#define XML_HEAD      "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n"
#define SCHEMA        "http://schemas.openxmlformats.org/"
#define SHEET_SCHEMA  SCHEMA "spreadsheetml/2006/main"
#define OFFICE_SCHEMA SCHEMA "officeDocument/2006/relationships"
#define PACKAGE       SCHEMA "package/2006/"
#define CONTENT       "application/vnd.openxmlformats-"
#define SHEET_CONTENT CONTENT "officedocument.spreadsheetml."

static const char sheet_head[] = XML_HEAD "<worksheet xmlns=\"" SHEET_SCHEMA "\"><sheetData>";
static const char sheet_tail[] = "</sheetData></worksheet>";

/* Formats of cells: 0 plain, then the fills in the order of enum table_fill. */
#define FILL(color) \
    "<fill><patternFill patternType=\"solid\"><fgColor rgb=\"FF" color "\"/></patternFill></fill>"
#define FORMAT(fill)                                 \
    "<xf numFmtId=\"0\" fontId=\"0\" fillId=\"" fill \
    "\" borderId=\"0\" xfId=\"0\" applyFill=\"1\"/>"
static const char styles[] = XML_HEAD
    "<styleSheet xmlns=\"" SHEET_SCHEMA "\">"
    "<fonts count=\"1\"><font><sz val=\"11\"/><name val=\"Calibri\"/><family "
    "val=\"2\"/></font></fonts>"
    "<fills count=\"4\"><fill><patternFill patternType=\"none\"/></fill>"
    "<fill><patternFill patternType=\"gray125\"/></fill>" FILL("FFFF00") FILL(
        "FF0000") "</fills>"
                  "<borders "
                  "count=\"1\"><border><left/><right/><top/><bottom/><diagonal/></border></borders>"
                  "<cellStyleXfs count=\"1\"><xf numFmtId=\"0\" fontId=\"0\" fillId=\"0\" "
                  "borderId=\"0\"/></cellStyleXfs>"
                  "<cellXfs count=\"3\"><xf numFmtId=\"0\" fontId=\"0\" fillId=\"0\" "
                  "borderId=\"0\" xfId=\"0\"/>" FORMAT("2")
                      FORMAT("3") "</cellXfs>"
                                  "<cellStyles count=\"1\"><cellStyle name=\"Normal\" xfId=\"0\" "
                                  "builtinId=\"0\"/></cellStyles>"
                                  "</styleSheet>";

static const char package_relations[] = XML_HEAD
    "<Relationships xmlns=\"" PACKAGE
    "relationships\"><Relationship Id=\"rId1\" Type=\"" OFFICE_SCHEMA
    "/officeDocument\" Target=\"xl/workbook.xml\"/></Relationships>";

/* ---- XML -------------------------------------------------------------------------------- */

static struct status put(struct xlsx_state *state, const char *text)
{
    return csv_append_bytes(&state->xml, text, strlen(text));
}

/* Give the archive what was collected. */
static struct status flush(struct xlsx_state *state)
{
    struct status status = zip_writer_add(state->zip, state->xml.data, state->xml.length);
    csv_buffer_clear(&state->xml);
    return status;
}

/* What stands for the character at `at`, of `bytes` bytes; NULL: itself. XML has no control characters
 * and not the two that are none; they become blanks. */
static const char *replacement(const char *at, size_t left, size_t *bytes)
{
    unsigned char c = (unsigned char)*at;

    *bytes = 1;
    switch (c) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '"': return "&quot;";
    case '\n':
    case '\t': return NULL;
    case 0xef:
        if (left < 3 || (unsigned char)at[1] != 0xbf || (unsigned char)at[2] < 0xbe) return NULL;
        *bytes = 3;
        return " ";
    default: return c < ' ' || c == 0x7f ? " " : NULL;
    }
}

static struct status put_escaped(struct xlsx_state *state, const char *text, size_t length)
{
    size_t plain = 0, bytes;

    for (size_t i = 0; i < length; i += bytes) {
        const char *instead = replacement(text + i, length - i, &bytes);
        if (!instead) continue;
        TRY(csv_append_bytes(&state->xml, text + plain, i - plain));
        TRY(put(state, instead));
        plain = i + bytes;
    }
    return csv_append_bytes(&state->xml, text + plain, length - plain);
}

/* ---- the archive ------------------------------------------------------------------------ */

static struct status add_part(struct xlsx_state *state, const char *name)
{
    TRY(zip_writer_begin(state->zip, name));
    TRY(flush(state));
    return zip_writer_end(state->zip);
}

static struct status add_fixed_part(struct xlsx_state *state, const char *name, const char *text)
{
    TRY(put(state, text));
    return add_part(state, name);
}

static __attribute__((format(printf, 2, 3))) struct status put_format(struct xlsx_state *state,
                                                                      const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return put(state, text);
}

static struct status add_content_types(struct xlsx_state *state)
{
    TRY(put(state, XML_HEAD
            "<Types xmlns=\"" PACKAGE "content-types\">"
            "<Default Extension=\"rels\" ContentType=\"" CONTENT "package.relationships+xml\"/>"
            "<Default Extension=\"xml\" ContentType=\"application/xml\"/>"
            "<Override PartName=\"/xl/workbook.xml\" ContentType=\"" SHEET_CONTENT
            "sheet.main+xml\"/>"
            "<Override PartName=\"/xl/styles.xml\" ContentType=\"" SHEET_CONTENT "styles+xml\"/>"));
    for (size_t i = 0; i < state->n_sheets; i++)
        TRY(put_format(
            state, "<Override PartName=\"/%s\" ContentType=\"" SHEET_CONTENT "worksheet+xml\"/>",
            state->sheets[i].part));
    TRY(put(state, "</Types>"));
    return add_part(state, "[Content_Types].xml");
}

static struct status add_workbook(struct xlsx_state *state)
{
    TRY(put(state, XML_HEAD "<workbook xmlns=\"" SHEET_SCHEMA "\" xmlns:r=\"" OFFICE_SCHEMA
                            "\"><sheets>"));
    for (size_t i = 0; i < state->n_sheets; i++) {
        TRY(put(state, "<sheet name=\""));
        TRY(put_escaped(state, state->sheets[i].name, strlen(state->sheets[i].name)));
        TRY(put_format(state, "\" sheetId=\"%zu\" r:id=\"rId%zu\"/>", i + 1, i + 1));
    }
    TRY(put(state, "</sheets></workbook>"));
    return add_part(state, "xl/workbook.xml");
}

static struct status add_workbook_relations(struct xlsx_state *state)
{
    TRY(put(state, XML_HEAD "<Relationships xmlns=\"" PACKAGE "relationships\">"));
    for (size_t i = 0; i < state->n_sheets; i++)
        TRY(put_format(state,
                       "<Relationship Id=\"rId%zu\" Type=\"" OFFICE_SCHEMA
                       "/worksheet\" Target=\"worksheets/sheet%zu.xml\"/>",
                       i + 1, i + 1));
    TRY(put_format(state,
                   "<Relationship Id=\"rId%zu\" Type=\"" OFFICE_SCHEMA
                   "/styles\" Target=\"styles.xml\"/></Relationships>",
                   state->n_sheets + 1));
    return add_part(state, "xl/_rels/workbook.xml.rels");
}

static void release(struct xlsx_state *state)
{
    zip_writer_release(state->zip);
    csv_buffer_release(&state->xml);
    memory_release(state->sheets);
    memory_release(state);
}

static struct status create(struct table_file *file)
{
    struct xlsx_state *state = memory_allocate_zeroed(1, sizeof *state);

    if (!state) return status_no_memory(sizeof *state);
    state->sheets = memory_allocate_zeroed(SHEETS_MAX, sizeof *state->sheets);
    struct status status = state->sheets
                               ? zip_writer_create(&state->zip, &file->file.file, file->threads)
                               : status_no_memory(SHEETS_MAX * sizeof *state->sheets);
    if (status.code) release(state);
    else file->state = state;
    return status;
}

/* ---- sheets ----------------------------------------------------------------------------- */

static struct status end_sheet(struct xlsx_state *state)
{
    if (!state->n_sheets) return status_ok();
    TRY(put(state, sheet_tail));
    TRY(flush(state));
    return zip_writer_end(state->zip);
}

static struct status refused(const struct table_file *file, const char *what)
{
    return status_error(STATUS_IO, "cannot write '%s': %s", file_shown(file->file.path).text, what);
}

static struct status add_sheet(struct table_file *file, const char *name)
{
    struct xlsx_state *state = file->state;

    TRY(end_sheet(state));
    if (!*name || strlen(name) > NAME_MAX_BYTES || strpbrk(name, "[]:*?/\\") || *name == '\'')
        return refused(file, "this is no name for a sheet");
    if (state->n_sheets == SHEETS_MAX) return refused(file, "it has too many sheets");
    struct xlsx_sheet *sheet = &state->sheets[state->n_sheets++];
    (void)snprintf(sheet->name, sizeof sheet->name, "%s", name);
    (void)snprintf(sheet->part, sizeof sheet->part, "xl/worksheets/sheet%zu.xml", state->n_sheets);
    state->row = 0;
    TRY(put(state, sheet_head));
    return zip_writer_begin(state->zip, sheet->part);
}

/* ---- cells ------------------------------------------------------------------------------ */

/* "AB": a number in letters, from 1. */
static size_t column_letters(char letters[4], size_t column)
{
    size_t n = column < 26 ? 1 : column < 26 + 26 * 26 ? 2 : 3;
    for (size_t i = n; i-- > 0; column = column / 26 - 1) letters[i] = (char)('A' + column % 26);
    return n;
}

/* The beginning of a cell, up to its type: where it stands, and its format. */
static struct status put_cell_start(struct xlsx_state *state, size_t column, enum table_fill fill)
{
    char text[32] = "<c r=\"";
    size_t length = 6 + column_letters(text + 6, column);

    memcpy(text + length, state->row_text, state->row_length);
    TRY(csv_append_bytes(&state->xml, text, length + state->row_length));
    return fill == TABLE_PLAIN ? status_ok() : put_format(state, " s=\"%d\"", (int)fill);
}

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n'; }

/* Blanks at the ends would be passed over. */
static bool has_blank_ends(const char *text, size_t length)
{
    return is_blank(text[0]) || is_blank(text[length - 1]);
}

static struct status put_text(struct xlsx_state *state, size_t column, const char *text,
                              size_t length, enum table_fill fill)
{
    size_t characters = 0, bytes = 0;

    for (; bytes < length; bytes++)
        if (((unsigned char)text[bytes] & 0xc0) != 0x80 && ++characters > TABLE_MAX_TEXT) break;
    TRY(put_cell_start(state, column, fill));
    TRY(put(state, has_blank_ends(text, bytes) ? " t=\"inlineStr\"><is><t xml:space=\"preserve\">"
                                               : " t=\"inlineStr\"><is><t>"));
    TRY(put_escaped(state, text, bytes));
    return put(state, "</t></is></c>");
}

/* A value that is no text. */
static struct status put_value(struct xlsx_state *state, size_t column, const char *type,
                               const char *value, enum table_fill fill)
{
    TRY(put_cell_start(state, column, fill));
    TRY(put(state, type));
    TRY(put(state, value));
    return put(state, "</v></c>");
}

static struct status put_number(struct xlsx_state *state, size_t column, double number,
                                enum table_fill fill)
{
    char text[SHORTEST_BYTES];
    size_t length = shortest_double(text, number);
    /* whole numbers as spreadsheets write them */
    if (length > 2 && !strcmp(text + length - 2, ".0")) text[length - 2] = '\0';
    return isfinite(number) ? put_value(state, column, "><v>", text, fill)
                            : put_text(state, column, text, length, fill);
}

static struct status put_integer(struct xlsx_state *state, size_t column, int64_t integer,
                                 enum table_fill fill)
{
    char text[24];
    (void)snprintf(text, sizeof text, "%" PRId64, integer);
    return put_value(state, column, "><v>", text, fill);
}

static struct status put_empty(struct xlsx_state *state, size_t column, enum table_fill fill)
{
    if (fill == TABLE_PLAIN) return status_ok();
    TRY(put_cell_start(state, column, fill));
    return put(state, "/>");
}

static struct status put_cell(struct xlsx_state *state, size_t column,
                              const struct table_cell *cell, enum table_fill fill)
{
    switch (cell->kind) {
    case TABLE_NUMBER: return put_number(state, column, cell->number, fill);
    case TABLE_INTEGER: return put_integer(state, column, cell->integer, fill);
    case TABLE_BOOLEAN:
        return put_value(state, column, " t=\"b\"><v>", cell->boolean ? "1" : "0", fill);
    case TABLE_TEXT:
        if (cell->text.length)
            return put_text(state, column, cell->text.bytes, cell->text.length, fill);
        /* fall through */
    default: return put_empty(state, column, fill);
    }
}

static struct status add_row(struct table_file *file, const struct table_cell *cells, size_t count,
                             enum table_fill fill)
{
    struct xlsx_state *state = file->state;

    if (state->row == TABLE_MAX_ROWS) return refused(file, "a sheet has too many rows");
    if (count > COLUMNS_MAX) return refused(file, "a row has too many cells");
    state->row++;
    state->row_length =
        (size_t)snprintf(state->row_text, sizeof state->row_text, "%" PRIu32 "\"", state->row);
    TRY(put(state, "<row r=\""));
    TRY(put(state, state->row_text));
    TRY(put(state, ">"));
    for (size_t i = 0; i < count; i++) TRY(put_cell(state, i, &cells[i], fill));
    TRY(put(state, "</row>"));
    return state->xml.length < PIECE ? status_ok() : flush(state);
}

/* ---- the end ---------------------------------------------------------------------------- */

static struct status write_rest(struct table_file *file)
{
    struct xlsx_state *state = file->state;

    if (!state->n_sheets) TRY(add_sheet(file, "Sheet1")); /* a workbook has one at least */
    TRY(end_sheet(state));
    TRY(add_fixed_part(state, "xl/styles.xml", styles));
    TRY(add_workbook(state));
    TRY(add_workbook_relations(state));
    TRY(add_fixed_part(state, "_rels/.rels", package_relations));
    TRY(add_content_types(state));
    return zip_writer_finish(state->zip);
}

static struct status finish(struct table_file *file)
{
    struct status status = write_rest(file);
    release(file->state);
    return status;
}

static void discard(struct table_file *file) { release(file->state); }

const struct table_writer table_xlsx_writer = {
    .name = "xlsx",
    .create = create,
    .add_sheet = add_sheet,
    .add_row = add_row,
    .finish = finish,
    .discard = discard,
};
