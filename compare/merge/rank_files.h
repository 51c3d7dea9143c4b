/* The result files of a multi-rank comparison in a folder, by their names:
 *
 *     compare_result_rank{N}_{14 digits}.xlsx, compare_result_rank{N}-rank{M}_{14 digits}.xlsx
 */
#ifndef PROBE_COMPARE_MERGE_RANK_FILES_H
#define PROBE_COMPARE_MERGE_RANK_FILES_H

#include <stddef.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/status.h"
#include "core/warnings.h"

struct rank_file {
    const char *path;
    uint32_t rank; /* N */
};

struct rank_files {
    struct rank_file *items; /* by rank */
    size_t count;
};

/* Find them; everything lives in `arena`. Files of comparisons of a single card are left out, with a
 * warning; what is no .xlsx does not matter.
 *
 *   errors  STATUS_BAD_INPUT: another .xlsx, two files of a rank, fewer than two files */
struct status rank_files_find(struct rank_files *out, struct arena *arena, const char *directory,
                              struct warnings warnings);

#endif
