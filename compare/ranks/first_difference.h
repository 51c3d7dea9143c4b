/* Where ranks begin to differ. Differences travel: what a rank receives may be wrong because another
 * computed it, and everything behind that is no news. So what is looked for are the differences with no
 * other before them:
 *
 *   1. in each rank the first computation that differs before its first communication; where no rank
 *      has one,
 *   2. the communications that differ, or have a computation that differs right before them, and that no
 *      other of these leads to, in their rank or through the communications that ranks have in
 *      common; where there is none,
 *   3. in each rank the first computation that differs behind its last communication.
 */
#ifndef PROBE_COMPARE_RANKS_FIRST_DIFFERENCE_H
#define PROBE_COMPARE_RANKS_FIRST_DIFFERENCE_H

#include "compare/ranks/rank_flow.h"

/* Entries of ranks, by rank and in their order. */
struct found_entry {
    size_t rank, entry; /* indices */
};

struct found_entries {
    struct found_entry *items; /* free with memory_release */
    size_t count, room;
};

struct status first_difference_find(struct found_entries *out, const struct rank_flow *ranks,
                                    size_t n_ranks);

/* Write what was found, with the rows of each entry read back from the files of its rank:
 *
 *     {"rank_{r}": [{"op_name": ..., "data_info": {"input": {row: {"NPU max": ...}}, "output": {...}},
 *      "stack_info": ...}]} */
struct status first_difference_write(const char *path, const struct found_entries *found,
                                     const struct rank_flow *ranks);

#endif
