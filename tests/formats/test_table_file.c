/* Tables as files: cells come out as they went in, in both formats; a file has its name only when it is
 * whole. Workbooks are read by openpyxl. */
#include "formats/table_file.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "support/scratch.h"
#include "support/suite.h"

static struct table_cell text(const char *string) { return table_text(string, strlen(string)); }

static struct status write_rows(struct table_file *file)
{
    const struct table_cell header[] = { text("Name"), text("a"), text("b"), text("c") };
    const struct table_cell first[] = {
        text("=1+1"),
        { .kind = TABLE_NUMBER, .number = 0.1 },
        { .kind = TABLE_INTEGER, .integer = -7 },
        { .kind = TABLE_BOOLEAN, .boolean = true },
    };
    const struct table_cell second[] = {
        text("x, \"y\"\nz"),
        { .kind = TABLE_NUMBER, .number = -INFINITY },
        { .kind = TABLE_EMPTY },
        text("-inf"),
    };
    TRY(table_file_add_sheet(file, "Sheet1"));
    TRY(table_file_add_row(file, header, 4, TABLE_PLAIN));
    TRY(table_file_add_row(file, first, 4, TABLE_RED));
    return table_file_add_row(file, second, 4, TABLE_PLAIN);
}

/* What RFC 4180 and the rule for formulas ask for. */
START_TEST(csv_cells)
{
    struct scratch scratch = scratch_make();
    struct table_file *file;
    const char *path = scratch_path(&scratch, "t.csv");

    ck_assert_int_eq(table_file_create(&file, path, TABLE_CSV, 1).code, STATUS_OK);
    ck_assert_int_eq(write_rows(file).code, STATUS_OK);
    ck_assert_int_eq(table_file_finish(file).code, STATUS_OK);
    char *bytes = scratch_read(path, NULL);
    ck_assert_str_eq(bytes, "\xef\xbb\xbf"
                            "Name,a,b,c\r\n\"'=1+1\",0.1,-7,True\r\n"
                            "\"x, \"\"y\"\"\nz\",-inf,,-inf\r\n");
    free(bytes);
    scratch_remove(&scratch);
}
END_TEST

/* The cells as another program reads them. */
START_TEST(workbook_cells)
{
    static const char script[] =
        "import sys, openpyxl\n"
        "s = openpyxl.load_workbook(sys.argv[1])['Sheet1']\n"
        "assert [[c.value for c in r] for r in s.iter_rows()] == [\n"
        "  ['Name', 'a', 'b', 'c'], ['=1+1', 0.1, -7, True],\n"
        "  ['x, \"y\"\\nz', '-inf', None, '-inf']], list(s.values)\n"
        "assert s['A2'].data_type == 's' and s['B2'].fill.fgColor.rgb == 'FFFF0000'\n"
        "assert s['A3'].fill.fill_type is None\n";
    struct scratch scratch = scratch_make();
    struct table_file *file;
    char command[1024];
    const char *path = scratch_path(&scratch, "t.xlsx");

    ck_assert_int_eq(table_file_create(&file, path, TABLE_XLSX, 2).code, STATUS_OK);
    ck_assert_int_eq(write_rows(file).code, STATUS_OK);
    ck_assert_int_eq(table_file_finish(file).code, STATUS_OK);
    if (system("/usr/bin/python3 -c 'import openpyxl' 2>/dev/null") == 0) {
        const char *program = scratch_text(&scratch, "read.py", script);
        snprintf(command, sizeof command, "/usr/bin/python3 %s %s", program, path);
        ck_assert_int_eq(system(command), 0);
    }
    scratch_remove(&scratch);
}
END_TEST

/* What XML, or a reader of workbooks, would take for something else; all digits of a number; several
 * sheets, one of many rows. */
static void write_odd_cells(const char *path, unsigned threads)
{
    const struct table_cell odd[] = {
        text("a & b < c > \"d\" 'e'"),
        text("_x0041_ _x004_ _X0041_"),
        text(" blanks\t"),
        text("\x01\x1f\x7f\xef\xbf\xbf."),
        text("\xe4\xb8\xad\xe6\x96\x87"),
        { .kind = TABLE_NUMBER, .number = 0.1 + 0.2 },
        { .kind = TABLE_NUMBER, .number = 5e-324 },
        { .kind = TABLE_INTEGER, .integer = INT64_MIN },
        text(""),
    };
    struct table_file *file;

    ck_assert_int_eq(table_file_create(&file, path, TABLE_XLSX, threads).code, STATUS_OK);
    ck_assert_int_eq(table_file_add_sheet(file, "A & B").code, STATUS_OK);
    ck_assert_int_eq(table_file_add_row(file, odd, 9, TABLE_PLAIN).code, STATUS_OK);
    ck_assert_int_eq(table_file_add_row(file, odd, 9, TABLE_YELLOW).code, STATUS_OK);
    ck_assert_int_eq(table_file_add_sheet(file, "many").code, STATUS_OK);
    for (int i = 0; i < 30000; i++) {
        const struct table_cell cells[] = { { .kind = TABLE_INTEGER, .integer = i },
                                            { .kind = TABLE_NUMBER, .number = 1.0 / (i + 1) },
                                            text("the same") };
        ck_assert_int_eq(table_file_add_row(file, cells, 3, TABLE_PLAIN).code, STATUS_OK);
    }
    ck_assert_int_eq(table_file_finish(file).code, STATUS_OK);
}

START_TEST(workbook_odd_cells)
{
    static const char script[] =
        "import sys, openpyxl\n"
        "b = openpyxl.load_workbook(sys.argv[1])\n"
        "row = ['a & b < c > \"d\" \\'e\\'', '_x0041_ _x004_ _X0041_', ' blanks\\t', '    .',\n"
        "       '\\u4e2d\\u6587', 0.1 + 0.2, 5e-324, -2**63, None]\n"
        "got = list(b['A & B'].values)\n"
        "assert [list(r) + [None] * (9 - len(r)) for r in got] == [row, row], got\n"
        "assert b['A & B']['I2'].fill.fgColor.rgb == 'FFFFFF00'\n"
        "assert list(b['many'].values) == [(i, 1 / (i + 1), 'the same') for i in range(30000)]\n";
    struct scratch scratch = scratch_make();
    char command[1300], one[600];
    size_t size, other_size;

    strcpy(one, scratch_path(&scratch, "1.xlsx"));
    const char *many = scratch_path(&scratch, "4.xlsx");
    write_odd_cells(one, 1);
    write_odd_cells(many, 4);
    char *bytes = scratch_read(one, &size), *other = scratch_read(many, &other_size);
    ck_assert(size == other_size && !memcmp(bytes, other, size));
    free(bytes);
    free(other);
    if (system("/usr/bin/python3 -c 'import openpyxl' 2>/dev/null") == 0) {
        const char *program = scratch_text(&scratch, "read.py", script);
        snprintf(command, sizeof command, "/usr/bin/python3 %s %s", program, one);
        ck_assert_int_eq(system(command), 0);
    }
    scratch_remove(&scratch);
}
END_TEST

static const char *const no_sheet_names[] = {
    "", "a/b", "a[1]", "'a", "a name of more than thirty-one characters",
};

START_TEST(names_of_sheets)
{
    struct scratch scratch = scratch_make();
    struct table_file *file;
    ck_assert_int_eq(table_file_create(&file, scratch_path(&scratch, "t.xlsx"), TABLE_XLSX, 1).code,
                     STATUS_OK);
    ck_assert_int_ne(table_file_add_sheet(file, no_sheet_names[_i]).code, STATUS_OK);
    table_file_discard(file);
    scratch_remove(&scratch);
}
END_TEST

/* Until the end the old file stays; given up, nothing is left. */
START_TEST(appears_when_whole)
{
    struct scratch scratch = scratch_make();
    struct table_file *file;
    struct stat info;
    const char *path = scratch_text(&scratch, _i ? "t.xlsx" : "t.csv", "old");
    char command[600];

    ck_assert_int_eq(table_file_create(&file, path, _i ? TABLE_XLSX : TABLE_CSV, 1).code,
                     STATUS_OK);
    ck_assert_int_eq(write_rows(file).code, STATUS_OK);
    table_file_discard(file);
    char *bytes = scratch_read(path, NULL);
    ck_assert_str_eq(bytes, "old");
    free(bytes);
    snprintf(command, sizeof command, "test $(ls -A %s | wc -l) = 1", scratch.path);
    ck_assert_int_eq(system(command), 0);

    ck_assert_int_eq(table_file_create(&file, path, _i ? TABLE_XLSX : TABLE_CSV, 1).code,
                     STATUS_OK);
    ck_assert_int_eq(write_rows(file).code, STATUS_OK);
    ck_assert_int_eq(table_file_finish(file).code, STATUS_OK);
    ck_assert_int_eq(stat(path, &info), 0);
    ck_assert_int_eq(info.st_mode & 07777, 0640);
    ck_assert_int_eq(system(command), 0);
    scratch_remove(&scratch);
}
END_TEST

/* A place that cannot be written is an error at the start, and a text beyond a cell's size is cut. */
START_TEST(limits)
{
    struct scratch scratch = scratch_make();
    struct table_file *file;
    const char *path = scratch_path(&scratch, "t.xlsx");
    static char longest[40000];
    struct table_cell cell = table_text(longest, sizeof longest);

    memset(longest, 'x', sizeof longest);
    ck_assert_int_ne(table_file_create(&file, "/nowhere/t.csv", TABLE_CSV, 1).code, STATUS_OK);
    ck_assert_ptr_null(file);
    ck_assert_int_eq(table_file_create(&file, path, TABLE_XLSX, 2).code, STATUS_OK);
    ck_assert_int_eq(table_file_add_sheet(file, "Sheet1").code, STATUS_OK);
    ck_assert_int_eq(table_file_add_row(file, &cell, 1, TABLE_PLAIN).code, STATUS_OK);
    ck_assert_int_eq(table_file_finish(file).code, STATUS_OK);
    scratch_remove(&scratch);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("table_file");
    TCase *tests = tcase_create("table_file");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, csv_cells);
    tcase_add_test(tests, workbook_cells);
    tcase_add_test(tests, workbook_odd_cells);
    tcase_add_loop_test(tests, names_of_sheets, 0,
                        (int)(sizeof no_sheet_names / sizeof *no_sheet_names));
    tcase_add_loop_test(tests, appears_when_whole, 0, 2);
    tcase_add_test(tests, limits);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
