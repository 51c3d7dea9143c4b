/* Rows of workbooks and .csv files: what cells become, what is refused, and that openpyxl reads the
 * same in workbooks that it wrote itself. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "formats/sheet_read.h"
#include "formats/zip_maker.h"
#include "support/scratch.h"
#include "support/suite.h"

#define WORKBOOK(sheets)                                                   \
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?><workbook "                 \
    "xmlns=\"http://schemas.openxmlformats.org/spreadsheetml/2006/main\" " \
    "xmlns:r=\"http://schemas.openxmlformats.org/officeDocument/2006/"     \
    "relationships\"><sheets>" sheets "</sheets></workbook>"
#define TYPE "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
#define RELATION(id, type, target) \
    "<Relationship Id=\"" id "\" Type=\"" TYPE "/" type "\" Target=\"" target "\"/>"
#define RELATIONS(list)                                                                           \
    "<Relationships xmlns=\"http://schemas.openxmlformats.org/package/2006/relationships\">" list \
    "</Relationships>"
#define SHEET(rows)                                                                              \
    "<worksheet xmlns=\"http://schemas.openxmlformats.org/spreadsheetml/2006/main\"><dimension " \
    "ref=\"A1\"/><sheetData>" rows "</sheetData><pageMargins left=\"1\"/></worksheet>"
#define STRINGS(items) "<sst count=\"9\">" items "</sst>"

static struct scratch scratch;

static void setup(void) { scratch = scratch_make(); }

static void teardown(void) { scratch_remove(&scratch); }

static const char *write_book(const struct made_entry *entries, size_t count)
{
    struct made_bytes bytes =
        made_archive(&(struct made_zip){ .count = count, .entries = entries });
    const char *path = scratch_write(&scratch, "book.xlsx", bytes.data, bytes.count);
    free(bytes.data);
    return path;
}

static struct made_entry entry(const char *name, const char *text)
{
    return (struct made_entry){ .name = name, .data = text, .bytes = strlen(text), .deflate = 1 };
}

/* A workbook of one sheet and shared strings. */
static const char *write_sheet(const char *sheet, const char *strings)
{
    const struct made_entry entries[] = {
        entry("xl/workbook.xml", WORKBOOK("<sheet name=\"Sheet1\" sheetId=\"1\" r:id=\"rId1\"/>")),
        entry("xl/_rels/workbook.xml.rels",
              RELATIONS(RELATION("rId1", "worksheet", "/xl/worksheets/sheet1.xml")
                            RELATION("rId2", "sharedStrings", "sharedStrings.xml"))),
        entry("xl/worksheets/sheet1.xml", sheet),
        entry("xl/sharedStrings.xml", strings ? strings : STRINGS("")),
    };
    return write_book(entries, 4);
}

static void show_row(FILE *out, const struct sheet_row *row)
{
    static const char marks[] = {
        [SHEET_BLANK] = '_', [SHEET_TEXT] = '\'', [SHEET_NUMBER] = '#', [SHEET_BOOL] = '?'
    };
    fprintf(out, "%d:", (int)row->number);
    for (size_t i = 0; i < row->count; i++) {
        const struct sheet_cell *cell = &row->cells[i];
        fprintf(out, "%s%c%.*s", i ? "|" : "", marks[cell->kind], (int)cell->length, cell->text);
        if (cell->kind == SHEET_NUMBER) fprintf(out, "=%.17g", cell->number);
    }
    fprintf(out, "\n");
}

/* All rows of a sheet as a text, to be freed; the status of what went wrong, if so. */
static char *read_rows(struct status *status, const char *path, size_t index)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    struct sheet_book *book = NULL;
    struct sheet_reader *reader = NULL;
    struct sheet_row row;
    bool more = true;

    *status = sheet_book_open(&book, path, FILES_TRUSTED);
    if (!status->code) *status = sheet_open(&reader, book, index);
    while (!status->code && more) {
        *status = sheet_next(reader, &row, &more);
        if (!status->code && more) show_row(out, &row);
    }
    sheet_close(reader);
    sheet_book_close(book);
    fclose(out);
    return text;
}

static const struct {
    const char *sheet, *strings, *rows;
} accepted[] = {
    { SHEET(""), NULL, "" },
    { SHEET("<row r=\"1\"><c r=\"A1\" t=\"inlineStr\"><is><t>NPU Name</t></is></c>"
            "<c r=\"B1\"><v>0.5</v></c><c r=\"C1\" t=\"b\"><v>1</v></c></row>"),
      NULL, "1:'NPU Name|#0.5=0.5|?True\n" },
    /* numbers as they stand; what is none is a text */
    { SHEET("<row><c><v>1e-05</v></c><c t=\"n\"><v>-3</v></c><c><v>#NUM!</v></c>"
            "<c><v>nan</v></c><c t=\"e\"><v>#N/A</v></c></row>"),
      NULL, "1:#1e-05=1.0000000000000001e-05|#-3=-3|'#NUM!|'nan|'#N/A\n" },
    /* gaps: blank cells, rows left out */
    { SHEET("<row r=\"2\"><c r=\"C2\"><v>1</v></c><c r=\"E2\" s=\"3\"/></row><row r=\"4\"/>"
            "<row r=\"1048576\"><c r=\"AA1048576\"><v>2</v></c></row>"),
      NULL,
      "2:_|_|#1=1|_|_\n"
      "1048576:_|_|_|_|_|_|_|_|_|_|_|_|_|_|_|_|_|_|_|_|_|_|_|_|_|_|#2=2\n" },
    /* shared strings: runs are one text, phonetic hints none of it */
    { SHEET("<row><c t=\"s\"><v>1</v></c><c t=\"s\"><v>0</v></c><c t=\"s\"><v>2</v></c></row>"),
      STRINGS(
          "<si><t>a &amp; b</t></si><si><r><rPr/><t>one</t></r><r><t xml:space=\"preserve\"> two"
          "</t></r><rPh><t>no</t></rPh></si><si/>"),
      "1:'one two|'a & b|'\n" },
    { SHEET("<row><c t=\"inlineStr\"><is><r><t>x</t></r><r><t>y</t></r></is></c>"
            "<c t=\"str\"><f>A1</f><v>of a formula</v></c><c "
            "t=\"inlineStr\"><is><t/></is></c></row>"),
      NULL, "1:'xy|'of a formula|'\n" },
    /* escapes and references */
    { SHEET("<row><c t=\"str\"><v>nan_x0009_|_x005F_x0041_|_x00e9_|_x4E2D_|_x0000_|_xD800_|_x12"
            "</v></c><c t=\"str\"><v>&lt;&#20013;&#x9;</v></c></row>"),
      NULL, "1:'nan\t|_x0041_|\xc3\xa9|\xe4\xb8\xad|_x0000_|_xD800_|_x12|'<\xe4\xb8\xad\t\n" },
    /* prefixes, elements of others, comments */
    { "<x:worksheet xmlns:x=\"m\"><y:row xmlns:y=\"n\"/><x:sheetData><!-- c --><x:row><x:c>"
      "<x:v>7</x:v><z><v>8</v></z></x:c></x:row></x:sheetData><row><c><v>9</v></c></row>"
      "</x:worksheet>",
      NULL, "1:#7=7\n" },
};

START_TEST(cells_become_texts_and_numbers)
{
    struct status status;
    char *rows = read_rows(&status, write_sheet(accepted[_i].sheet, accepted[_i].strings), 0);
    ck_assert_msg(!status.code, "%s", status.text);
    ck_assert_str_eq(rows, accepted[_i].rows);
    free(rows);
}
END_TEST

#define LAUGHS \
    "<!DOCTYPE x [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;\">]>"
#define DEEP16 "<a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a>"

static const struct {
    const char *sheet, *strings, *message;
} refused[] = {
    { "", NULL, "line 1, column 1: no element found" },
    { "<worksheet><sheetData><row>", NULL, "line 1, column 28: no element found" },
    { "<worksheet><sheetData></worksheet>", NULL, "mismatched tag" },
    { "<html/>", NULL, "this is another kind of part than its place says" },
    { LAUGHS "<worksheet/>", NULL, "document types are not accepted" },
    { "<!DOCTYPE x SYSTEM \"/etc/passwd\"><worksheet/>", NULL, "document types are not accepted" },
    { SHEET("<row><c t=\"str\"><v>&xxe;</v></c></row>"), NULL, "undefined entity" },
    { SHEET(DEEP16 DEEP16), NULL, "too many elements inside of each other" },
    { SHEET("<row r=\"2\"><c/></row><row r=\"2\"><c/></row>"), NULL, "rows out of order" },
    { SHEET("<row r=\"1048577\"><c/></row>"), NULL, "rows out of order, or more than 1048576" },
    { SHEET("<row r=\"-1\"><c/></row>"), NULL, "rows out of order" },
    { SHEET("<row r=\"99999999999999999999999\"><c/></row>"), NULL, "rows out of order" },
    { SHEET("<row><c r=\"B1\"/><c r=\"A1\"/></row>"), NULL, "cells out of order" },
    { SHEET("<row><c r=\"XFE1\"/></row>"), NULL, "cells out of order, or more than 16384" },
    { SHEET("<row><c r=\"AAAAAAAAAAAAAAAA1\"/></row>"), NULL, "cells out of order" },
    { SHEET("<row><c r=\"1\"/></row>"), NULL, "cells out of order" },
    { SHEET("<row><c t=\"q\"/></row>"), NULL, "a cell of an unknown type" },
    { SHEET("<row><c t=\"b\"><v>yes</v></c></row>"), NULL, "a truth value other than 0 and 1" },
    { SHEET("<row><c t=\"s\"><v>0</v></c></row>"), NULL, "a shared string that is not there" },
    { SHEET("<row><c t=\"s\"><v>-1</v></c></row>"), STRINGS("<si/>"), "a shared string that is" },
    { SHEET("<row><c t=\"s\"><v>0.5</v></c></row>"), STRINGS("<si/>"), "a shared string that is" },
    { SHEET("<row><c t=\"s\"><v>1</v></c></row>"), STRINGS("<si/>"), "a shared string that is" },
    { SHEET(""), LAUGHS "<sst/>", "xl/sharedStrings.xml, line 1" },
    { SHEET(""), "<worksheet/>", "this is another kind of part" },
};

START_TEST(what_is_no_sheet_is_refused)
{
    struct status status;
    free(read_rows(&status, write_sheet(refused[_i].sheet, refused[_i].strings), 0));
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    ck_assert_msg(strstr(status.text, refused[_i].message) != NULL, "%s", status.text);
    ck_assert_ptr_nonnull(strstr(status.text, "book.xlsx"));
}
END_TEST

/* Sheets are known by their relations, in the order of the workbook; charts are no tables. */
START_TEST(sheets_have_names_and_places)
{
    const struct made_entry entries[] = {
        entry("xl/workbook.xml", WORKBOOK("<sheet name=\"second &amp; file\" r:id=\"b\"/>"
                                          "<sheet name=\"chart\" r:id=\"c\"/>"
                                          "<sheet name=\"first file\" r:id=\"a\"/>")),
        entry("xl/_rels/workbook.xml.rels",
              RELATIONS(RELATION("a", "worksheet", "worksheets/one.xml")
                            RELATION("b", "worksheet", "/xl/Worksheets/TWO.xml")
                                RELATION("c", "chartsheet", "charts/c.xml"))),
        entry("xl/worksheets/one.xml", SHEET("<row><c><v>1</v></c></row>")),
        entry("xl/worksheets/two.xml", SHEET("<row><c><v>2</v></c></row>")),
        entry("xl/charts/c.xml", "<chart/>"),
    };
    const char *path = write_book(entries, 5);
    struct sheet_book *book;
    struct status status = sheet_book_open(&book, path, FILES_TRUSTED);
    ck_assert_msg(!status.code, "%s", status.text);
    ck_assert_uint_eq(sheet_count(book), 2);
    ck_assert_str_eq(sheet_name(book, 0), "second & file");
    ck_assert_str_eq(sheet_name(book, 1), "first file");
    sheet_book_close(book);
    for (size_t i = 0; i < 2; i++) {
        char *rows = read_rows(&status, path, i);
        ck_assert_str_eq(rows, i ? "1:#1=1\n" : "1:#2=2\n");
        free(rows);
    }
}
END_TEST

START_TEST(what_is_no_workbook_is_refused)
{
    const struct made_entry nothing[] = { entry("a.txt", "x") };
    const struct made_entry no_sheet[] = {
        entry("xl/workbook.xml", WORKBOOK("")),
        entry("xl/_rels/workbook.xml.rels", RELATIONS("")),
    };
    const struct made_entry nowhere[] = {
        entry("xl/workbook.xml", WORKBOOK("<sheet name=\"x\" r:id=\"a\"/>")),
        entry("xl/_rels/workbook.xml.rels", RELATIONS(RELATION("a", "worksheet", "../../etc"))),
    };
    struct status status;
    free(read_rows(&status, write_book(nothing, 1), 0));
    ck_assert_ptr_nonnull(strstr(status.text, "it is no workbook: it has no xl/workbook.xml"));
    free(read_rows(&status, write_book(no_sheet, 2), 0));
    ck_assert_ptr_nonnull(strstr(status.text, "it has no sheet"));
    free(read_rows(&status, write_book(nowhere, 2), 0));
    ck_assert_ptr_nonnull(strstr(status.text, "it has no sheet"));
    free(read_rows(&status, scratch_text(&scratch, "old.xls", "\xd0\xcf\x11\xe0"), 0));
    ck_assert_ptr_nonnull(strstr(status.text, "it is not a zip archive"));
    free(read_rows(&status, scratch_path(&scratch, "missing.xlsx"), 0));
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
}
END_TEST

/* A sheet cut off inside its data, and one whose checksum is wrong, end in an error and not early. */
START_TEST(damaged_archives_are_refused)
{
    static const char sheet[] = SHEET("<row><c><v>1</v></c></row>");
    struct made_entry entries[] = {
        entry("xl/workbook.xml", WORKBOOK("<sheet name=\"x\" r:id=\"a\"/>")),
        entry("xl/_rels/workbook.xml.rels", RELATIONS(RELATION("a", "worksheet", "s.xml"))),
        entry("xl/s.xml", sheet),
    };
    struct status status;
    entries[2].crc = 12345;
    free(read_rows(&status, write_book(entries, 3), 0));
    ck_assert_ptr_nonnull(strstr(status.text, "the checksum of an entry is wrong"));
    entries[2].deflate = 0;
    free(read_rows(&status, write_book(entries, 3), 0));
    ck_assert_ptr_nonnull(strstr(status.text, "the checksum of an entry is wrong"));
    entries[2].deflate = 1;
    entries[2].crc = 0;
    entries[2].claimed_bytes = entries[2].local_bytes = sizeof sheet + 7;
    free(read_rows(&status, write_book(entries, 3), 0));
    ck_assert_ptr_nonnull(strstr(status.text, "cannot be inflated to the size it claims"));
}
END_TEST

/* A tag that never ends is given up after a megabyte or so, not at the end of the part. */
START_TEST(endless_tags_are_refused)
{
    size_t bytes = 8 << 20;
    char *sheet = malloc(bytes + 1);
    struct status status;
    memset(sheet, 'a', bytes);
    memcpy(sheet, "<worksheet x=\"", 14);
    sheet[bytes] = '\0';
    free(read_rows(&status, write_sheet(sheet, NULL), 0));
    ck_assert_ptr_nonnull(strstr(status.text, "a tag or comment of more than 1 MiB"));
    free(sheet);
}
END_TEST

/* Rows of one cell in the last column: 16384 cells each to who reads them, from 40 bytes. */
START_TEST(cells_that_are_not_there_are_counted)
{
    enum { ROWS = 17000 };
    char *sheet = malloc(ROWS * 50 + 200), *at = sheet;
    struct status status;
    at += sprintf(at, "<worksheet><sheetData>");
    for (int i = 0; i < ROWS; i++) at += sprintf(at, "<row><c r=\"XFD1\"/></row>");
    sprintf(at, "</sheetData></worksheet>");
    const char *path = write_sheet(sheet, NULL);
    struct sheet_book *book;
    struct sheet_reader *reader;
    struct sheet_row row;
    bool more = true;
    ck_assert(!sheet_book_open(&book, path, FILES_TRUSTED).code);
    ck_assert(!sheet_open(&reader, book, 0).code);
    int rows = 0;
    while (!(status = sheet_next(reader, &row, &more)).code && more) rows++;
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(status.text, "more than 268435456 cells"));
    ck_assert_int_eq(rows, SHEET_MAX_CELLS / SHEET_MAX_COLUMNS);
    ck_assert(sheet_next(reader, &row, &more).code); /* it stays refused */
    sheet_close(reader);
    sheet_book_close(book);
    free(sheet);
}
END_TEST

START_TEST(csv_files_are_sheets)
{
    struct status status;
    const char *path =
        scratch_text(&scratch, "result.csv",
                     "\xef\xbb\xbfNPU Name,Max diff\r\n\"a,b\",-0.5\r\n,nan\r\n'=1,1 \r\n");
    char *rows = read_rows(&status, path, 0);
    ck_assert_msg(!status.code, "%s", status.text);
    ck_assert_str_eq(rows, "1:'NPU Name|'Max diff\n2:'a,b|#-0.5=-0.5\n3:_|'nan\n4:''=1|#1 =1\n");
    free(rows);
}
END_TEST

/* Strings of a sheet that do not fit into one piece of the parser's input. */
START_TEST(texts_may_be_longer_than_a_piece)
{
    size_t bytes = 300000;
    char *text = malloc(bytes + 1), *sheet = malloc(bytes + 200);
    struct status status;
    for (size_t i = 0; i < bytes; i++) text[i] = (char)('a' + i % 26);
    text[bytes] = '\0';
    sprintf(sheet,
            "<worksheet><sheetData><row><c t=\"str\"><v>%s</v></c></row></sheetData></worksheet>",
            text);
    char *rows = read_rows(&status, write_sheet(sheet, NULL), 0);
    ck_assert_msg(!status.code, "%s", status.text);
    ck_assert_uint_eq(strlen(rows), bytes + 4);
    ck_assert(!strncmp(rows + 3, text, bytes));
    free(rows);
    free(text);
    free(sheet);
}
END_TEST

/* openpyxl writes a book with cells of all kinds and lists what it reads in it; without openpyxl
 * there is nothing to compare with. */
START_TEST(openpyxl_reads_the_same)
{
    static const char script[] =
        "import openpyxl, random, sys\n"
        "random.seed(7)\n"
        "book = openpyxl.Workbook()\n"
        "texts = ['a', 'NPU Name', '<&\">', ' blanks ', 'two\\nlines', '\\u4e2d', '=not', 'x' * "
        "40]\n"
        "for r in range(1, 400):\n"
        "    for c in range(1, 40) if r % 7 != 3 else []:\n"
        "        value = [None, random.choice(texts), random.randrange(-10**6, 10**6),\n"
        "                 random.choice([1, -1]) * 10 ** random.uniform(-300, 300),\n"
        "                 random.random() < .5][random.randrange(5)]\n"
        "        cell = book.active.cell(r, c, value)\n"
        "        if isinstance(value, str): cell.data_type = 's'\n"
        "book.save(sys.argv[1])\n"
        "show = lambda v: ('_' if v is None else '\\'' + v if isinstance(v, str) else\n"
        "                  '?' + str(v) if isinstance(v, bool) else '#%.17g' % v)\n"
        "listed = open(sys.argv[2], 'w', encoding='utf-8')\n"
        "for r, row in enumerate(openpyxl.load_workbook(sys.argv[1]).active.values, 1):\n"
        "    cells = [show(v) for v in row]\n"
        "    while cells and cells[-1] == '_': cells.pop()\n"
        "    if cells: listed.write('%d:%s\\n' % (r, '|'.join(cells)))\n";
    char command[2000];
    if (system("/usr/bin/python3 -c 'import openpyxl' 2>/dev/null")) return;
    char path[600], list[600];
    snprintf(path, sizeof path, "%s", scratch_path(&scratch, "oracle.xlsx"));
    snprintf(list, sizeof list, "%s", scratch_path(&scratch, "oracle.txt"));
    snprintf(command, sizeof command, "/usr/bin/python3 %s %s %s",
             scratch_text(&scratch, "write.py", script), path, list);
    ck_assert_int_eq(system(command), 0);
    struct status status;
    char *expected = scratch_read(list, NULL), *rows = read_rows(&status, path, 0), *to = rows;
    ck_assert_msg(!status.code, "%s", status.text);
    /* of a number only its value is compared: "#<text>=<value>" becomes "#<value>" */
    for (char *from = rows; *from; from++) {
        *to++ = *from;
        if (*from == '#') from = strchr(from, '=');
    }
    *to = '\0';
    ck_assert_uint_gt(strlen(expected), 50000);
    size_t same = 0;
    while (rows[same] && rows[same] == expected[same]) same++;
    ck_assert_msg(rows[same] == expected[same], "'%.60s', expected '%.60s'", rows + same,
                  expected + same);
    free(expected);
    free(rows);
}
END_TEST

static int left;

static int refuse(size_t bytes)
{
    (void)bytes;
    return left-- == 0;
}

START_TEST(refused_memory_is_an_error)
{
    const char *path = write_sheet(SHEET("<row><c t=\"s\"><v>0</v></c><c><v>1</v></c></row>"),
                                   STRINGS("<si><t>a</t></si>"));
    int requests = 0;
    memory_fault = refuse;
    for (;; requests++) {
        struct status status;
        left = requests;
        char *rows = read_rows(&status, path, 0);
        bool fits = left >= 0;
        if (fits) ck_assert_str_eq(rows, "1:'a|#1=1\n");
        else ck_assert_msg(status.code == STATUS_NO_MEMORY, "%d: %s", requests, status.text);
        free(rows);
        if (fits) break; /* it needed fewer */
    }
    memory_fault = NULL;
    ck_assert_int_ge(requests, 20);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sheet_read");
    TCase *tests = tcase_create("sheet_read");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, cells_become_texts_and_numbers, 0,
                        sizeof accepted / sizeof *accepted);
    tcase_add_loop_test(tests, what_is_no_sheet_is_refused, 0, sizeof refused / sizeof *refused);
    tcase_add_test(tests, sheets_have_names_and_places);
    tcase_add_test(tests, what_is_no_workbook_is_refused);
    tcase_add_test(tests, damaged_archives_are_refused);
    tcase_add_test(tests, endless_tags_are_refused);
    tcase_add_test(tests, cells_that_are_not_there_are_counted);
    tcase_add_test(tests, csv_files_are_sheets);
    tcase_add_test(tests, texts_may_be_longer_than_a_piece);
    tcase_add_test(tests, openpyxl_reads_the_same);
    tcase_add_test(tests, refused_memory_is_an_error);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
