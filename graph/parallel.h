/* How a model was distributed over ranks.
 *
 * `tp` ranks share each tensor (tensor parallelism), `pp` ranks share the layers (pipeline
 * parallelism), each of them `vpp` pieces of them; the others repeat the whole (data parallelism).
 */
#ifndef PROBE_GRAPH_PARALLEL_H
#define PROBE_GRAPH_PARALLEL_H

#include <stdbool.h>

enum { PARALLEL_ORDER_BYTES = 64 };

struct parallel_layout {
    unsigned rank_size, tp, pp, vpp;
    char order[PARALLEL_ORDER_BYTES]; /* of the dimensions in the numbers of ranks, fastest first */
};

enum parallel_dimension {
    PARALLEL_TENSOR,
    PARALLEL_CONTEXT,
    PARALLEL_EXPERT,
    PARALLEL_DATA,
    PARALLEL_PIPELINE,
    PARALLEL_DIMENSIONS
};

/* Ranks along a dimension. */
unsigned parallel_size(const struct parallel_layout *layout, enum parallel_dimension dimension);

/* Does `order` name every dimension that has more than one rank, and none that is unknown, with experts
 * beside data? */
bool parallel_order_is_valid(const struct parallel_layout *layout);

/* The rank at place `in_group` of group `group` of those that differ only in the dimension `across`. */
unsigned parallel_rank(const struct parallel_layout *layout, enum parallel_dimension across,
                       unsigned group, unsigned in_group);

#endif
