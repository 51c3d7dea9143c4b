/* Which calls of one dump do what which calls of the other do. Frameworks split work differently, so
 * groups of calls are matched: mostly one with one, sometimes several with several, or with none.
 *
 *   1. Anchors. Calls of one attribute (unified name, input and output shapes) that occur equally
 *      often in both ranges are the same calls, in order. Of the attributes for which that holds, the
 *      one that is hardest to confuse splits the ranges: modules before functions before methods
 *      before others; inputs and outputs of the most different sizes; the most frequent. The gaps are
 *      ranges again.
 *   2. Gaps with calls on both sides are cut where data pass by that have equal shapes on both: the
 *      boundaries between calls are aligned (compare/api_dumps/align.h) by the shapes of the outputs
 *      before and the inputs behind them and, in doubt, by the names of the calls beside them.
 */
#ifndef PROBE_COMPARE_API_DUMPS_CALL_MATCH_H
#define PROBE_COMPARE_API_DUMPS_CALL_MATCH_H

#include "compare/api_dumps/api_calls.h"

/* Calls first..first+count of either step. Both groups are in the order of the calls. */
struct call_group {
    size_t origin, n_origin, target, n_target;
};

struct call_groups {
    struct call_group *items; /* in the arena */
    size_t count;
};

/* Match two steps; every call is in one group. `no_shapes` is the vocabulary's number of an empty list of
 * shapes. STATUS_BAD_INPUT when too many calls lie between two anchors; STATUS_NO_MEMORY. */
struct status call_match(struct call_groups *out, struct arena *arena,
                         const struct api_step *origin, const struct api_step *target,
                         uint32_t no_shapes);

#endif
