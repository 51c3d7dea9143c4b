/* Rows of checked dumps of MindSpore, by the names that their files give them. */
#ifndef PROBE_TESTS_RUNNER_MINDSPORE_ROWS_H
#define PROBE_TESTS_RUNNER_MINDSPORE_ROWS_H

#include "formats/csv.h"
#include "support/suite.h"
#include "support/workspace.h"

#define DATA PROBE_TEST_DATA "/mindspore/"

enum { CELLS = 9, ROWS_MAX = 1200 };
enum { NAME, BENCH, TESTED, SHAPE, COSINE, ABS, RELATIVE, STATUS, MESSAGE };
static const char *const headers[CELLS] = { "API Name",       "Bench Dtype", "Tested Dtype",
                                            "Shape",          "Cosine",      "MaxAbsErr",
                                            "MaxRelativeErr", "Status",      "Message" };

struct table {
    char *cells[ROWS_MAX][CELLS];
    size_t rows, columns;
};

__attribute__((unused)) static struct table *read_table(const char *path)
{
    struct table *table = calloc(1, sizeof *table);
    struct file file;
    struct csv_reader reader;
    struct csv_row row;
    bool more;
    ck_assert_int_eq(file_open_read(&file, path, FILES_TRUSTED).code, 0);
    ck_assert_int_eq(csv_open_file(&reader, &file, NULL).code, 0);
    while (!csv_next(&reader, &row, &more).code && more) {
        ck_assert_uint_lt(table->rows, ROWS_MAX);
        ck_assert_uint_le(row.count, CELLS);
        table->columns = row.count;
        for (size_t i = 0; i < row.count; i++)
            table->cells[table->rows][i] = strndup(row.cells[i].bytes, row.cells[i].length);
        table->rows++;
    }
    csv_close(&reader);
    ck_assert_int_eq(file_close(&file).code, 0);
    return table;
}

__attribute__((unused)) static void free_table(struct table *table)
{
    for (size_t i = 0; i < table->rows; i++)
        for (size_t k = 0; k < CELLS; k++) free(table->cells[i][k]);
    free(table);
}

__attribute__((unused)) static char **find_row(struct table *table, const char *name)
{
    for (size_t i = 1; i < table->rows; i++)
        if (!strcmp(table->cells[i][NAME], name)) return table->cells[i];
    return NULL;
}

__attribute__((unused)) static bool run_file_says(const struct workspace *w, const char *text)
{
    if (!count_matches(w, "out/accuracy_checking_run_*.json")) return false;
    char *record = read_file(only_match(w, "out/accuracy_checking_run_*.json"), NULL);
    bool says = strstr(record, text) != NULL;
    free(record);
    return says;
}

__attribute__((unused)) static struct outcome check(const struct workspace *w, const char *set,
                                                    const char *kind, const char *option,
                                                    const char *value)
{
    char dump[512];
    snprintf(dump, sizeof dump, DATA "%s/%s/dump.json", set, kind);
    return run_program(w, "-f", "mindspore", "run_ut", "-api_info", dump, "-o", "out",
                       "--trust-files", option, value, NULL);
}

#endif
