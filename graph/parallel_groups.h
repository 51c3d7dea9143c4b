/* Which ranks share a tensor, and which share the layers: groups of equal size of which every rank
 * is in one. What the dumps recorded of their communication says it; where they do not, the order in
 * which the numbers of ranks were given out.
 */
#ifndef PROBE_GRAPH_PARALLEL_GROUPS_H
#define PROBE_GRAPH_PARALLEL_GROUPS_H

#include "graph/parallel.h"
#include "graph/side.h"

/* `count` groups of `size` ranks, one behind the other. */
struct rank_groups {
    unsigned *ranks;
    unsigned count, size;
};

void rank_groups_release(struct rank_groups *groups);

/* A rank whose dump may tell its groups. */
struct rank_side {
    unsigned rank;
    const struct graph_side *side;
};

/* Groups of `tp` ranks: the first reduction of a rank over that many names them.
 *
 *   ranks  0 ... rank_size - 1 in any order: one of each
 *   out    end with rank_groups_release; empty on failure */
struct status tensor_groups(struct rank_groups *out, const struct parallel_layout *layout,
                            const struct rank_side *ranks);

/* Groups of `pp` ranks, the first stage first: each sends to the next. */
struct status pipeline_groups(struct rank_groups *out, const struct parallel_layout *layout,
                              const struct rank_side *ranks);

#endif
