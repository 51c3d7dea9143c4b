/* The dumps of a shard, and which of their calls it has. */
#ifndef PROBE_CLUSTER_SHARD_SLICES_H
#define PROBE_CLUSTER_SHARD_SLICES_H

#include "cluster/plan_file.h"
#include "core/arena.h"
#include "formats/dump_tree.h"

struct shard_slice {
    size_t dump; /* of the plan */
    struct dump_slice slice;
};

struct shard_slices {
    struct shard_slice *items;
    size_t count;
};

/* Those of one shard, in the order of the plan. Everything lives in `arena`. */
struct status shard_slices_list(struct shard_slices *out, struct arena *arena,
                                const struct plan *plan, size_t shard);

/* The tree that a run over these slices has. `root` is where the dumps are; commands in the results name
 * them below the root of the plan. */
struct status shard_slices_tree(struct dump_tree *out, struct arena *arena, const struct plan *plan,
                                const struct shard_slices *slices, const char *root);

/* All dumps of the plan as a run over all of them has them, refused ones too. */
struct status plan_tree(struct dump_tree *out, struct arena *arena, const struct plan *plan,
                        const char *root);

#endif
