/* Which recorded values of matched groups of calls belong together. */
#ifndef PROBE_COMPARE_API_DUMPS_DATA_PAIRS_H
#define PROBE_COMPARE_API_DUMPS_DATA_PAIRS_H

#include <stdbool.h>

#include "compare/api_dumps/call_match.h"

struct data_pair {
    const struct api_data *origin, *target; /* NULL: nothing of that side belongs to it */
};

struct data_pairs {
    struct data_pair *items; /* free with memory_release */
    size_t count, room;
};

struct data_pair_options {
    bool ignore_unmatched; /* only pairs of both sides */
    bool backward;         /* values of the backward pass instead of those of the forward pass */
};

/* The pairs of all groups: forward in the order of the calls, backward in the reverse of it. Of a group
 *
 *   - the inputs of the first calls are paired, by their shapes in order (compare/api_dumps/align.h);
 *   - what has no partner because it passes inside the group follows: outputs of the first calls, all
 *     values of the calls between, inputs of the last calls, each of the origin before the target's;
 *   - the outputs of the last calls are paired like the inputs.
 *
 * Beginnings of modules (LAYER) have no values to compare and are left out. */
struct status data_pairs_make(struct data_pairs *out, const struct call_groups *groups,
                              const struct api_step *origin, const struct api_step *target,
                              struct data_pair_options options);

#endif
