/* The dumps of a job: every dump.json at or below a directory, as msprobe lays them out
 * (step0/rank3/dump.json, step0/proc4711/dump.json) or in any other way.
 */
#ifndef PROBE_FORMATS_DUMP_TREE_H
#define PROBE_FORMATS_DUMP_TREE_H

#include <stddef.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/file.h"
#include "core/number_ranges.h"
#include "core/status.h"
#include "formats/dump_slice.h"

/* One of them. */
struct dump_place {
    const char *path;   /* of the dump.json */
    const char *folder; /* its directory below the one that was searched: "step0/rank3"; "" there */
    int64_t step, rank; /* as its folders say; -1 where none does */
    uint64_t bytes;     /* of the dump.json */
    const struct dump_slice *slice; /* only these of its calls; NULL: all */
};

struct dump_tree {
    struct dump_place *items; /* by step and rank: rank2 before rank10 */
    size_t count;
    size_t all; /* before any was left out by the filter */
};

/* Which of them are wanted. All zeros: all. */
struct dump_tree_filter {
    struct number_ranges steps, ranks;
};

/* Find them.
 *
 *   out     lives in `arena`; may be empty
 *   policy  links to directories are followed where files are trusted
 *   errors  what the listing of a directory reports; STATUS_BAD_INPUT for more than 1,000,000 dumps
 */
struct status dump_tree_find(struct dump_tree *out, struct arena *arena, const char *directory,
                             const struct dump_tree_filter *filter, struct file_policy policy);

#endif
