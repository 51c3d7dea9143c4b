/* Results of a multi-rank comparison side by side: one sheet for each merged column, in it one row
 * for each row name and one column for each rank. A difference that all ranks share comes from the
 * code, one that a single rank shows from its data or its card.
 *
 * Rows are grouped by API in the order of the configuration, within one in the order of the files,
 * those that only later ranks have last. Where a name is there more than once, the k-th row of a rank
 * belongs to the k-th of the others.
 */
#ifndef PROBE_COMPARE_MERGE_MERGE_H
#define PROBE_COMPARE_MERGE_MERGE_H

#include <stddef.h>

#include "core/file.h"
#include "core/status.h"
#include "core/stop.h"
#include "core/warnings.h"

struct merge_request {
    const char *input;  /* folder of the result files (compare/merge/rank_files.h) */
    const char *config; /* compare/merge/merge_config.h */
    const char *output; /* .xlsx to be written; appears when it is whole */
    struct file_policy policy;
    struct warnings warnings;
    struct stop stop;
};

struct merge_counts {
    size_t ranks, rows, columns; /* merged */
    size_t left_out;             /* files */
};

/* Merge. A file that cannot be merged (checksums, other columns, damaged) is left out with a
 * warning.
 *
 *   errors  STATUS_BAD_INPUT: the configuration, the names in the folder, no file that can be merged,
 *           no row of the APIs in any of them */
struct status merge_results(struct merge_counts *out, const struct merge_request *request);

#endif
