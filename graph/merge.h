/* Graphs of ranks that a model was distributed over, merged into graphs of the whole model.
 *
 * Ranks of a pipeline are put one behind the other, then the shares of tensors are brought together;
 * what remains are the repetitions of data parallelism, each a graph of its own. Calls between modules
 * of all ranks lie in collections "Apis_Between_Modules_All_Ranks.{i}", a child for each rank.
 */
#ifndef PROBE_GRAPH_MERGE_H
#define PROBE_GRAPH_MERGE_H

#include "graph/parallel.h"
#include "graph/side.h"

/* A graph of the whole model, as if one rank had dumped it. */
struct merged_rank {
    unsigned rank; /* the first of those that it was made of */
    struct side_parts parts;
};

struct merged_ranks {
    struct merged_rank *items; /* ended by merged_ranks_close */
    uint32_t count;
};

/* The folder of a rank. */
struct rank_folder {
    unsigned rank;
    const char *path;
};

/* Read `layout->rank_size` folders and merge them. `out` must stay where it is until
 * merged_ranks_close; empty on failure.
 *
 *   errors  what reading a rank reports; STATUS_BAD_INPUT for dumps that hold no statistics, or are of
 *           different frameworks */
struct status merged_ranks_open(struct merged_ranks *out, const struct rank_folder *folders,
                                const struct parallel_layout *layout, struct file_policy policy);
void merged_ranks_close(struct merged_ranks *merged);

#endif
