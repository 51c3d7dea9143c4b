/* Small dumps for the tests of comparisons. */
#ifndef PROBE_TESTS_COMPARE_DUMPS_H
#define PROBE_TESTS_COMPARE_DUMPS_H

#include <stdio.h>
#include <string.h>

#include "compare/dumps/comparison.h"
#include "compare/dumps/dump_reader.h"
#include "support/scratch.h"
#include "support/suite.h"

/* A dump.json in a folder of its own below the scratch folder; its path. */
static inline const char *make_dump(const struct scratch *scratch, const char *folder,
                                    const char *task, const char *framework, const char *data)
{
    static char text[1 << 16];
    char name[128];
    snprintf(name, sizeof name, "%s/%s", scratch->path, folder);
    mkdir(name, 0750);
    snprintf(text, sizeof text, "{\"task\": \"%s\", \"framework\": \"%s\", \"data\": {%s}}", task,
             framework, data);
    snprintf(name, sizeof name, "%s/dump.json", folder);
    return scratch_text(scratch, name, text);
}

static inline struct dump_rows open_dump(const char *path)
{
    struct dump_rows dump;
    struct status status = dump_rows_open(&dump, path, FILES_CHECKED);
    ck_assert_msg(!status.code, "%s", status.text);
    return dump;
}

/* The name of a row, in one of a few buffers. */
static inline const char *name_of(const struct dump_rows *dump, uint32_t row)
{
    static char names[8][2200];
    static int next;
    struct csv_buffer text = { 0 };
    char *name = names[next++ % 8];
    ck_assert_int_eq(dump_row_append_name(&text, dump, &dump->rows[row]).code, STATUS_OK);
    snprintf(name, sizeof names[0], "%.*s", (int)text.length, text.data);
    csv_buffer_release(&text);
    return name;
}

static inline const char *value_of(const struct dump_rows *dump, uint32_t row,
                                   enum row_statistic which)
{
    static char values[8][600];
    static int next;
    struct csv_buffer text = { 0 };
    char *value = values[next++ % 8];
    ck_assert_int_eq(
        row_value_append(&text, dump, dump_row_statistic(&dump->rows[row], which)).code, STATUS_OK);
    snprintf(value, sizeof values[0], "%.*s", (int)text.length, text.data);
    csv_buffer_release(&text);
    return value;
}

/* A tensor record with these statistics (JSON tokens). */
#define TENSOR(max, min, mean, norm)                                                              \
    "{\"type\": \"torch.Tensor\", \"dtype\": \"torch.float32\", \"shape\": [2, 3], \"Max\": " max \
    ", \"Min\": " min ", \"Mean\": " mean ", \"Norm\": " norm ", \"requires_grad\": false}"

#endif
