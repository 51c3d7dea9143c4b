/* --columns english: the rows are the same, only the names of columns are others, and every command that
 * reads such files takes them as it takes those of msprobe. */
#include "standards/header_language.h"

#include "results/details_file.h"
#include "standards/row_layout.h"
#include "standards/three_way/three_way.h"
#include "support/dumps.h"
#include "support/html_page.h"
#include "support/runs.h"
#include "support/suite.h"

static bool is_ascii(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text >= 0x80) return false;
    return true;
}

/* A header row, as a reader has it. */
static struct csv_row row_of(struct csv_text *cells, const char *const *headers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        cells[i] = (struct csv_text){ headers[i], strlen(headers[i]) };
    return (struct csv_row){ .cells = cells, .count = count };
}

static void every_column_is_found(const char *const *headers, size_t count)
{
    const char *english[64];
    struct csv_text cells[64];
    ck_assert_uint_le(count, 64);
    memcpy(english, headers, count * sizeof *english);
    headers_translate(english, count, HEADERS_ENGLISH);
    const struct csv_row row = row_of(cells, english, count);
    for (size_t i = 0; i < count; i++) {
        ck_assert_msg(is_ascii(english[i]), "%s", english[i]);
        ck_assert_msg(details_find_column(&row, headers[i]) == i, "%s", english[i]);
    }
}

START_TEST(columns_have_names_of_their_own)
{
    every_column_is_found(details_headers, COLUMN_COUNT);
    every_column_is_found(three_way_headers, THREE_WAY_COLUMNS);
}
END_TEST

/* Two runs of the same calls, one with English names. */
static struct workspace two_runs(void)
{
    struct workspace w = workspace_make();
    write_many_calls(in(&w, "dump.json"), 8, 5);
    succeeded(run_program(&w, "-api_info", "dump.json", "-o", "plain", NULL));
    succeeded(
        run_program(&w, "-api_info", "dump.json", "-o", "english", "--columns", "english", NULL));
    return w;
}

static void same_rows(const char *plain, const char *english)
{
    char *a = read_file(plain, NULL), *b = read_file(english, NULL);
    ck_assert_str_eq(strchr(a, '\n'), strchr(b, '\n'));
    *strchr(b, '\n') = '\0';
    ck_assert_msg(is_ascii(b + 3), "%s", b); /* behind the mark */
    ck_assert_ptr_nonnull(strstr(b, "API Name,"));
    free(a);
    free(b);
}

START_TEST(rows_are_the_same)
{
    struct workspace w = two_runs();
    same_rows(only_match(&w, "plain/" DETAILS), only_match(&w, "english/" DETAILS));
    assert_same_files(only_match(&w, "plain/" RESULT), only_match(&w, "english/" RESULT));
    workspace_remove(&w);
}
END_TEST

START_TEST(resuming_goes_on_in_english)
{
    struct workspace w = two_runs();
    char result[600];
    snprintf(result, sizeof result, "%s", only_match(&w, "english/" RESULT));
    struct outcome o = run_program(&w, "-api_info", "dump.json", "-csv_path", result, NULL);
    ck_assert_msg(o.status == 3 && strstr(o.err, "columns was \"english\", is absent"), "%s",
                  o.err);
    outcome_free(&o);
    for (int i = 0; i < 3; i++) { /* half of the details, the torn header, no file at all */
        const char *path = only_match(&w, "english/" DETAILS);
        if (i < 2) ck_assert_int_eq(truncate(path, i ? 30 : 1500), 0);
        else ck_assert_int_eq(unlink(path), 0);
        succeeded(run_program(&w, "-api_info", "dump.json", "-csv_path", result, "--columns",
                              "english", NULL));
        same_rows(only_match(&w, "plain/" DETAILS), only_match(&w, "english/" DETAILS));
    }
    workspace_remove(&w);
}
END_TEST

START_TEST(three_way_reads_and_writes_both)
{
    struct workspace w = two_runs();
    succeeded(run_program(&w, "api_precision_compare", "-npu", "plain", "-gpu", "plain", "-o", "a",
                          NULL));
    succeeded(run_program(&w, "api_precision_compare", "-npu", "english", "-gpu", "plain", "-o",
                          "b", NULL));
    succeeded(run_program(&w, "api_precision_compare", "-npu", "plain", "-gpu", "english", "-o",
                          "c", "--columns", "english", NULL));
    const char *plain = only_match(&w, "a/api_precision_compare_details_*.csv");
    assert_same_files(plain, only_match(&w, "b/api_precision_compare_details_*.csv"));
    const char *english = only_match(&w, "c/api_precision_compare_details_*.csv");
    same_rows(plain, english);
    /* And as a baseline. */
    struct outcome o = run_program(&w, "api_precision_compare", "-npu", "english", "-gpu",
                                   "english", "-o", "d", "--baseline", english, NULL);
    ck_assert_msg(o.status == 0 && strstr(o.out, "since the baseline"), "%s%s", o.out, o.err);
    outcome_free(&o);
    workspace_remove(&w);
}
END_TEST

/* Both pages have the same columns. */
static char *columns_of(const struct workspace *w, const char *directory)
{
    size_t bytes;
    succeeded(run_program(w, "report", directory, "-o", "a.html", NULL));
    char *page = read_file(in(w, "a.html"), NULL), *meta = html_block(page, "meta", &bytes);
    free(page);
    char *columns = strdup(strstr(meta, "\"columns\":{"));
    free(meta);
    return columns;
}

START_TEST(pages_and_reports_read_both)
{
    struct workspace w = two_runs();
    char *a = columns_of(&w, "plain"), *b = columns_of(&w, "english");
    ck_assert_ptr_nonnull(strstr(a, "max_relative_error"));
    ck_assert_uint_eq(strlen(a), strlen(b));
    free(a);
    free(b);
    char result[600];
    snprintf(result, sizeof result, "%s", only_match(&w, "english/" DETAILS));
    struct outcome o = run_program(&w, "-api_info", "dump.json", "-o", "again", "--baseline",
                                   result, "--junit", "j.xml", "--columns", "english", NULL);
    ck_assert_msg(o.status == 0 && strstr(o.out, "new failures                   0"), "%s", o.out);
    outcome_free(&o);
    char *junit = read_file(in(&w, "j.xml"), NULL);
    ck_assert_ptr_nonnull(strstr(junit, "tests=\"16\""));
    free(junit);
    workspace_remove(&w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("header_language");
    TCase *tests = tcase_create("header_language");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, columns_have_names_of_their_own);
    tcase_add_test(tests, rows_are_the_same);
    tcase_add_test(tests, resuming_goes_on_in_english);
    tcase_add_test(tests, three_way_reads_and_writes_both);
    tcase_add_test(tests, pages_and_reports_read_both);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
