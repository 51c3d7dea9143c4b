/* What is wanted of the result file of one rank: for the rows of the configured APIs, the values of
 * the merged columns. */
#ifndef PROBE_COMPARE_MERGE_RANK_ROWS_H
#define PROBE_COMPARE_MERGE_RANK_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "compare/merge/merge_config.h"
#include "compare/merge/result_columns.h"
#include "core/arena.h"
#include "core/file.h"
#include "core/stop.h"
#include "formats/table_file.h"

struct rank_row {
    const char *name;
    size_t length;
    size_t api;                     /* number in the configuration */
    const struct table_cell *cells; /* one for each merged column */
};

struct rank_rows {
    struct rank_row *items; /* in the order of the file */
    size_t count, room;
    struct arena arena; /* owns the texts and cells */
};

/* What the columns are: all that the kind of the first file has when the configuration names none. */
struct merged_columns {
    const char *const *names;
    size_t count;
};

/* Open the workbook of a rank and list those of its columns that can be merged, in `arena`. */
struct status rank_columns(struct merged_columns *columns, struct arena *arena, const char *path,
                           struct file_policy policy);

/* Read the rows. `out` is all zeros or released before; release it also on failure.
 *
 *   errors  STATUS_BAD_INPUT: the file is damaged or lacks a column, in words that say which */
struct status rank_rows_read(struct rank_rows *out, const char *path,
                             const struct merge_config *config,
                             const struct merged_columns *columns, struct file_policy policy,
                             struct stop stop);

void rank_rows_release(struct rank_rows *rows);

#endif
