/* The table of a comparison as a file. */
#ifndef PROBE_COMPARE_DUMPS_TABLE_H
#define PROBE_COMPARE_DUMPS_TABLE_H

#include "compare/dumps/result.h"
#include "compare/dumps/tensor_rows.h"

struct table_request {
    enum table_format format;
    unsigned threads;              /* that may help to write */
    bool extras;                   /* our columns at the right */
    bool bench_only;               /* rows that only Bench has, at the end */
    uint32_t sheet_rows;           /* most rows of a sheet; 0: 1 048 500 */
    struct comparison_watch watch; /* asked every some thousand rows */
};

/* Write all rows to `path`, which appears when it is whole; an older file of the name is replaced. A
 * workbook of more rows than a sheet takes has several, part_0, part_1, ... of equal size, and no
 * backgrounds. STATUS_INTERRUPTED when the watch says stop. */
struct status comparison_write_table(const struct comparison *c, const char *path,
                                     const struct table_request *request);

#endif
