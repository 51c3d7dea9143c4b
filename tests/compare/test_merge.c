/* Results of ranks side by side: the reference tool's own cases cell by cell, the order of rows,
 * cells without a value, files that are left out, inputs that are refused. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "compare/merge/merge.h"
#include "core/memory.h"
#include "formats/sheet_read.h"
#include "formats/table_file.h"
#include "support/notes.h"
#include "support/suite.h"

#define DATA PROBE_TEST_DATA "/merge_result/"

static struct status merge(struct merge_counts *counts, const char *input, const char *config)
{
    struct merge_request request = { .input = input,
                                     .config = config,
                                     .output = in(&place, "merged.xlsx"),
                                     .policy = FILES_TRUSTED,
                                     .warnings = { note, NULL } };
    return merge_results(counts, &request);
}

/* ---- the reference tool's own cases ----------------------------------------------------- */

static bool same_cell(const struct sheet_cell *a, const struct sheet_cell *b)
{
    if (a->kind != b->kind) return false;
    if (a->kind == SHEET_NUMBER) return fabs(a->number - b->number) <= 1e-12 * fabs(b->number);
    return a->length == b->length && !memcmp(a->text, b->text, a->length);
}

/* Every cell of every sheet; how many there were. */
static size_t check_books(const char *got_path, const char *want_path)
{
    struct sheet_book *got, *want;
    size_t cells = 0;

    ck_assert(!sheet_book_open(&got, got_path, FILES_TRUSTED).code);
    ck_assert(!sheet_book_open(&want, want_path, FILES_TRUSTED).code);
    ck_assert_uint_eq(sheet_count(got), sheet_count(want));
    for (size_t s = 0; s < sheet_count(want); s++) {
        struct sheet_reader *got_rows, *want_rows;
        struct sheet_row a, b;
        bool more_a = true, more_b = true;
        ck_assert_str_eq(sheet_name(got, s), sheet_name(want, s));
        ck_assert(!sheet_open(&got_rows, got, s).code);
        ck_assert(!sheet_open(&want_rows, want, s).code);
        for (;;) {
            ck_assert(!sheet_next(got_rows, &a, &more_a).code);
            ck_assert(!sheet_next(want_rows, &b, &more_b).code);
            ck_assert_int_eq(more_a, more_b);
            if (!more_a) break;
            ck_assert_uint_eq(a.count, b.count);
            for (size_t i = 0; i < a.count; i++, cells++)
                ck_assert_msg(same_cell(&a.cells[i], &b.cells[i]),
                              "sheet %s, row %d: '%.*s', expected '%.*s'", sheet_name(want, s),
                              (int)b.number, (int)a.cells[i].length, a.cells[i].text,
                              (int)b.cells[i].length, b.cells[i].text);
        }
        sheet_close(got_rows);
        sheet_close(want_rows);
    }
    sheet_book_close(got);
    sheet_book_close(want);
    return cells;
}

static const struct {
    const char *config, *expected;
    size_t cells; /* sheets * (rows + 1) * (ranks + 1) */
} goldens[] = {
    { DATA "merge1.yaml", DATA "merge1.xlsx", 4 * 135 * 5 },
    { DATA "merge2.yaml", DATA "merge2.xlsx", 9 * 16 * 5 },
};

START_TEST(cells_are_those_of_the_reference_tool)
{
    struct merge_counts counts;
    struct status status = merge(&counts, DATA "ranks", goldens[_i].config);
    ck_assert_msg(!status.code, "%s", status.text);
    ck_assert_uint_eq(check_books(in(&place, "merged.xlsx"), goldens[_i].expected),
                      goldens[_i].cells);
    ck_assert_str_eq(warnings, "");
}
END_TEST

/* ---- made results ----------------------------------------------------------------------- */

#define HEADER                                                                                  \
    "NPU Name|Bench Name|NPU Dtype|Bench Dtype|NPU Tensor Shape|Bench Tensor Shape|NPU "        \
    "Requires_grad|Bench Requires_grad|Max diff|Min diff|Mean diff|L2norm diff|MaxRelativeErr|" \
    "MinRelativeErr|MeanRelativeErr|NormRelativeErr|NPU max|NPU min|NPU mean|NPU l2norm|Bench " \
    "max|Bench min|Bench mean|Bench l2norm|Requires_grad Consistent|Result|Err_message"
#define TENSOR_HEADER                                                                           \
    "NPU Name|Bench Name|NPU Dtype|Bench Dtype|NPU Tensor Shape|Bench Tensor Shape|NPU "        \
    "Requires_grad|Bench Requires_grad|Cosine|EucDist|MaxAbsErr|MaxRelativeErr|One Thousandth " \
    "Err Ratio|Five Thousandths Err Ratio|NPU max|NPU min|NPU mean|NPU l2norm|Bench max|Bench " \
    "min|Bench mean|Bench l2norm|Requires_grad Consistent|Accuracy Reached or Not|Err_message|" \
    "Data_name"

#define MD5_HEADER                                                                       \
    "NPU Name|Bench Name|NPU Dtype|Bench Dtype|NPU Tensor Shape|Bench Tensor Shape|NPU " \
    "Requires_grad|Bench Requires_grad|NPU MD5|BENCH MD5|Requires_grad Consistent|Result"

/* A cell: a number ("#0.5"), a truth value ("?1"), nothing, or a text. */
static struct table_cell made_cell(const char *text, size_t length)
{
    if (!length) return (struct table_cell){ .kind = TABLE_EMPTY };
    if (*text == '#')
        return (struct table_cell){ .kind = TABLE_NUMBER, .number = strtod(text + 1, NULL) };
    if (*text == '?')
        return (struct table_cell){ .kind = TABLE_BOOLEAN, .boolean = text[1] == '1' };
    return table_text(text, length);
}

/* A workbook whose rows are texts with '|' between cells. */
static void write_book(const char *name, const char *const *rows, size_t count)
{
    struct table_file *file;
    ck_assert(!table_file_create(&file, in(&place, name), TABLE_XLSX, 1).code);
    ck_assert(!table_file_add_sheet(file, "Sheet1").code);
    for (size_t i = 0; i < count; i++) {
        struct table_cell cells[64];
        size_t n = 0;
        for (const char *at = rows[i];; at++) {
            size_t length = strcspn(at, "|");
            cells[n++] = made_cell(at, length);
            at += length;
            if (!*at) break;
        }
        ck_assert(!table_file_add_row(file, cells, n, TABLE_PLAIN).code);
    }
    ck_assert(!table_file_finish(file).code);
}

/* A row of statistics: name, Max diff, NPU max, Bench max. */
#define ROW(name, diff, npu, bench) name "||||||||" diff "||||||||" npu "||||" bench "|||"

#define BOOK(rank, ...)                                           \
    write_book("compare_result_rank" rank "_20260101120000.xlsx", \
               (const char *const[]){ HEADER, __VA_ARGS__ },      \
               1 + sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(const char *))

/* The rows of a sheet as text. */
static char *read_sheet(const char *path, size_t index)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    struct sheet_book *book;
    struct sheet_reader *reader;
    struct sheet_row row;
    bool more;

    ck_assert(!sheet_book_open(&book, path, FILES_TRUSTED).code);
    ck_assert(!sheet_open(&reader, book, index).code);
    while (!sheet_next(reader, &row, &more).code && more) {
        for (size_t i = 0; i < row.count; i++)
            fprintf(out, "%s%.*s", i ? "|" : "", (int)row.cells[i].length, row.cells[i].text);
        fprintf(out, "\n");
    }
    sheet_close(reader);
    sheet_book_close(book);
    fclose(out);
    return text;
}

static void write_config(const char *text)
{
    write_file(in(&place, "merge.yaml"), text, strlen(text));
}

static struct status merge_made(const char *config)
{
    struct merge_counts counts;
    write_config(config);
    return merge(&counts, place.path, in(&place, "merge.yaml"));
}

static void check_merged(const char *expected)
{
    char *got = read_sheet(in(&place, "merged.xlsx"), 0);
    ck_assert_str_eq(got, expected);
    free(got);
}

/* Rows of one API stand together, those of later ranks behind those of earlier ones, a row with
 * two APIs at the first. Ranks are columns by number, blank where a rank lacks the row. */
START_TEST(rows_have_their_order)
{
    BOOK("10", ROW("B.y.0.forward", "#7", "", ""), ROW("A.x.0.forward", "#8", "", ""),
         ROW("A.new.0.forward", "#9", "", ""));
    BOOK("2", ROW("A.x.0.forward", "#1", "", ""), ROW("B.y.0.forward", "#2", "", ""),
         ROW("A.x.1.forward", "#3", "", ""), ROW("C.z.0.forward", "#4", "", ""));
    struct status status = merge_made("api: [B, A.x, A]\ncompare_index: [Max diff]\n");
    ck_assert_msg(!status.code, "%s", status.text);
    check_merged("NPU Name|rank2|rank10\n"
                 "B.y.0.forward|2|7\n"
                 "A.x.0.forward|1|8\n"
                 "A.x.1.forward|3\n"
                 "A.new.0.forward||9\n");
    ck_assert_str_eq(warnings, "rank 2 has no row of A\n");
}
END_TEST

/* One line for an API, however many ranks lack it. */
START_TEST(ranks_without_an_api_are_one_line)
{
    BOOK("0", ROW("A.x.f", "#1", "", ""), ROW("B.x.f", "#1", "", ""));
    BOOK("1", ROW("A.x.f", "#3", "", ""));
    BOOK("12", ROW("A.x.f", "#4", "", ""));
    ck_assert(!merge_made("api: [A, B, C]\ncompare_index: [Max diff]\n").code);
    ck_assert_str_eq(warnings, "ranks 1, 12 have no row of B\nno rank has a row of C\n");
}
END_TEST

/* The k-th row of a name belongs to the k-th of the other ranks. */
START_TEST(repeated_names_are_paired_in_order)
{
    BOOK("0", ROW("A.x.f", "#1", "", ""), ROW("A.x.f", "#2", "", ""));
    BOOK("1", ROW("A.x.f", "#3", "", ""));
    BOOK("2", ROW("A.x.f", "#4", "", ""), ROW("A.x.f", "#5", "", ""), ROW("A.x.f", "#6", "", ""));
    ck_assert(!merge_made("api: [A]\ncompare_index: [Max diff]\n").code);
    check_merged("NPU Name|rank0|rank1|rank2\n"
                 "A.x.f|1|3|4\n"
                 "A.x.f|2||5\n"
                 "A.x.f|||6\n");
}
END_TEST

/* Where there is no value, the maxima of both sides are shown, as Python prints them. */
START_TEST(cells_without_a_value_show_the_maxima)
{
    BOOK("0", ROW("A.a.f", "N/A", "[0, 1]", "[0, 2]"), ROW("A.b.f", "Nan", "#0.00001", "#2.5"),
         ROW("A.c.f", "unsupported", "#3", "?1"), ROW("A.d.f", "N/A", "", "None"),
         ROW("A.e.f", "", "#1", "#1"), ROW("A.g.f", "nan", "#1", "#1"));
    BOOK("1", ROW("A.a.f", "#-0.5", "", ""));
    ck_assert(!merge_made("api: [A]\ncompare_index: [Max diff]\n").code);
    check_merged("NPU Name|rank0|rank1\n"
                 "A.a.f|NPU:[0, 1]  Bench:[0, 2]|-0.5\n"
                 "A.b.f|NPU:1e-05  Bench:2.5\n"
                 "A.c.f|NPU:3  Bench:True\n"
                 "A.d.f|NPU:nan  Bench:None\n"
                 "A.e.f\n"
                 "A.g.f|nan\n");
}
END_TEST

/* What a spreadsheet would compute is a text with an apostrophe, and stops nothing. */
START_TEST(formulas_are_disarmed)
{
    BOOK("0", ROW("A.=1.f", "=2+3", "", ""), ROW("A.b.f", "-inf", "", ""));
    BOOK("1", ROW("A.=1.f", "N/A", "=1", "x;@y"));
    ck_assert(!merge_made("api: [A]\ncompare_index: [Max diff]\n").code);
    check_merged("NPU Name|rank0|rank1\n"
                 "A.=1.f|'=2+3|NPU:=1  Bench:x;@y\n"
                 "A.b.f|-inf\n");
}
END_TEST

/* Without a list of columns those of the first file's kind are merged, and a file of another kind,
 * of checksums, of other columns or damaged is left out with a line that says why. */
START_TEST(files_that_cannot_be_merged_are_left_out)
{
    BOOK("0", ROW("A.x.f", "#1", "", ""));
    write_book("compare_result_rank1-rank1_20260101120000.xlsx",
               (const char *const[]){ TENSOR_HEADER, "A.x.f" }, 2);
    write_book("compare_result_rank2_20260101120000.xlsx",
               (const char *const[]){ MD5_HEADER, "A.x.f" }, 2);
    write_book("compare_result_rank3_20260101120000.xlsx", (const char *const[]){ "a|b", "c" }, 2);
    write_file(in(&place, "compare_result_rank4_20260101120000.xlsx"), "PK", 2);
    BOOK("5", ROW("A.x.f", "#5", "", ""));
    write_book("compare_result_rank_20260101120000.xlsx", (const char *const[]){ HEADER }, 1);
    write_file(in(&place, "notes.txt"), "x", 1);
    struct merge_counts counts;
    write_config("api: [A]\n");
    struct status status = merge(&counts, place.path, in(&place, "merge.yaml"));
    ck_assert_msg(!status.code, "%s", status.text);
    ck_assert_uint_eq(counts.ranks, 2);
    ck_assert_uint_eq(counts.left_out, 4);
    ck_assert_uint_eq(counts.columns, 9);
    check_merged("NPU Name|rank0|rank5\nA.x.f|1|5\n");
    static const char *const lines[] = {
        "compare_result_rank_20260101120000.xlsx compares a single card; it is left out\n",
        "compare_result_rank1-rank1_20260101120000.xlsx has no column 'Max diff'; it is left out\n",
        "compare_result_rank2_20260101120000.xlsx compares checksums; it is left out\n",
        "compare_result_rank3_20260101120000.xlsx has not the columns of a comparison; it is left",
        "compare_result_rank4_20260101120000.xlsx': it is not a zip archive; it is left out\n",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        ck_assert_msg(strstr(warnings, lines[i]) != NULL, "%s", warnings);
}
END_TEST

static void check_refused(struct status status, const char *message)
{
    ck_assert_int_eq(status.code, STATUS_BAD_INPUT);
    ck_assert_msg(strstr(status.text, message) != NULL, "%s", status.text);
    ck_assert_int_ne(access(in(&place, "merged.xlsx"), F_OK), 0);
}

static const char *const strange_names[] = {
    "compare_result_20260101120000.xlsx",         "compare_result_rank1_2026010112000.xlsx",
    "compare_result_rank1_202601011200000.xlsx",  "compare_result_rank1-rank_20260101120000.xlsx",
    "compare_result_rank1x_20260101120000.xlsx",  "x.xlsx",
    "~$compare_result_rank1_20260101120000.xlsx",
};

START_TEST(other_workbooks_in_the_folder_are_refused)
{
    BOOK("0", ROW("A.x.f", "#1", "", ""));
    BOOK("1", ROW("A.x.f", "#1", "", ""));
    write_file(in(&place, strange_names[_i]), "x", 1);
    check_refused(merge_made("api: [A]\n"), strange_names[_i]);
}
END_TEST

START_TEST(inputs_that_make_no_table_are_refused)
{
    check_refused(merge_made("api: [A]\n"), "has no result of a multi-rank comparison");
    BOOK("0", ROW("A.x.f", "#1", "", ""));
    check_refused(merge_made("api: [A]\n"), "has one result of a multi-rank comparison");
    BOOK("0-rank0", ROW("A.x.f", "#1", "", ""));
    check_refused(merge_made("api: [A]\n"), "has two results of rank 0");
    ck_assert_int_eq(remove(in(&place, "compare_result_rank0-rank0_20260101120000.xlsx")), 0);
    BOOK("1", ROW("A.x.f", "#1", "", ""));
    check_refused(merge_made("api: [A.x.f]\n"), "has a row of the APIs in");
    check_refused(merge_made("api: [A]\ncompare_index: [Cosine]\n"), "can be merged");
    check_refused(merge_made("api: 5\n"), "'api' must be a list");
    struct merge_counts counts;
    write_config("api: [A]\n");
    check_refused(merge(&counts, in(&place, "nowhere"), in(&place, "merge.yaml")), "nowhere");
    check_refused(merge(&counts, place.path, in(&place, "nothing.yaml")), "nothing.yaml");
}
END_TEST

static bool always(void *context)
{
    ++*(int *)context;
    return true;
}

START_TEST(an_interruption_leaves_no_file)
{
    struct merge_counts counts;
    int asked = 0;
    BOOK("0", ROW("A.x.f", "#1", "", ""));
    BOOK("1", ROW("A.x.f", "#1", "", ""));
    write_config("api: [A]\n");
    struct merge_request request = { .input = place.path,
                                     .config = in(&place, "merge.yaml"),
                                     .output = in(&place, "merged.xlsx"),
                                     .policy = FILES_TRUSTED,
                                     .stop = { always, &asked } };
    ck_assert_int_eq(merge_results(&counts, &request).code, STATUS_INTERRUPTED);
    ck_assert_int_eq(asked, 1);
    ck_assert_int_ne(access(in(&place, "merged.xlsx"), F_OK), 0);
}
END_TEST

static int left;

static int refuse(size_t bytes)
{
    (void)bytes;
    return left-- == 0;
}

static int refuse_file(enum file_operation operation, const char *path)
{
    (void)operation, (void)path;
    return left-- == 0 ? ENOSPC : 0;
}

/* Whatever fails, there is either a whole result or none. */
START_TEST(failures_leave_no_file)
{
    struct merge_counts counts;
    BOOK("0", ROW("A.x.f", "#1", "", ""));
    BOOK("1", ROW("A.x.f", "#1", "", ""));
    write_config("api: [A]\n");
    bool merged = false;
    for (int i = 0; !merged; i++) {
        left = i;
        if (_i) file_fault = refuse_file;
        else memory_fault = refuse;
        struct status status = merge(&counts, place.path, in(&place, "merge.yaml"));
        memory_fault = NULL;
        file_fault = NULL;
        merged = left >= 0;
        bool there = access(in(&place, "merged.xlsx"), F_OK) == 0;
        /* a file that cannot be read is left out, and the others are merged */
        if (there) ck_assert_uint_eq(counts.rows, 1);
        else ck_assert(status.code != STATUS_OK && status.text[0]);
        if (there) ck_assert_int_eq(remove(in(&place, "merged.xlsx")), 0);
        if (merged) ck_assert(!status.code);
        ck_assert_int_lt(i, 2000);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("merge");
    TCase *tests = tcase_create("merge");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, cells_are_those_of_the_reference_tool, 0, 2);
    tcase_add_test(tests, rows_have_their_order);
    tcase_add_test(tests, ranks_without_an_api_are_one_line);
    tcase_add_test(tests, repeated_names_are_paired_in_order);
    tcase_add_test(tests, cells_without_a_value_show_the_maxima);
    tcase_add_test(tests, formulas_are_disarmed);
    tcase_add_test(tests, files_that_cannot_be_merged_are_left_out);
    tcase_add_loop_test(tests, other_workbooks_in_the_folder_are_refused, 0,
                        sizeof strange_names / sizeof *strange_names);
    tcase_add_test(tests, inputs_that_make_no_table_are_refused);
    tcase_add_test(tests, an_interruption_leaves_no_file);
    tcase_add_loop_test(tests, failures_leave_no_file, 0, 2);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
