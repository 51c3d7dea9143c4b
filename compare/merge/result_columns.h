/* The columns of a comparison's result file, as far as merging needs them: which kind of dumps was
 * compared, and where the columns stand that can be merged. */
#ifndef PROBE_COMPARE_MERGE_RESULT_COLUMNS_H
#define PROBE_COMPARE_MERGE_RESULT_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>

#include "compare/dumps/dump_rows.h"
#include "formats/sheet_read.h"

/* The kind by the header row: the columns of any generation (compare/dumps/columns.h), with stacks or
 * without, each in its place; more of them, which probe-ut adds, may stand to the right. False when it
 * is none of them. */
bool result_kind(enum dump_kind *kind, const struct sheet_row *header);

/* Where the column stands; SIZE_MAX when it does not. */
size_t result_column(const struct sheet_row *header, const char *name);

/* The columns that can be merged of a kind, in their order, ended by NULL; none of checksums. */
const char *const *result_indices(enum dump_kind kind);

/* The header of a column that can be merged by what a user calls it; NULL when no kind has it. */
const char *result_index(const char *name);
const char *result_nearest_index(const char *name);

#endif
