/* `plan`: the calls of all dumps, cut into shards of about the same seconds. */
#ifndef PROBE_CLUSTER_PLAN_H
#define PROBE_CLUSTER_PLAN_H

#include <stddef.h>

#include "cluster/plan_file.h"
#include "core/arena.h"
#include "core/status.h"
#include "formats/dump_tree.h"
#include "runner/cost.h"
#include "runner/run_options.h"

struct plan_request {
    const struct run_options *options;
    const struct dump_tree *tree; /* the dumps that are to be checked */
    bool single;                  /* one dump, whose files lie in the output directory itself */
    size_t shards;                /* how many; or 0 */
    double shard_seconds; /* seconds of one thread that a shard may take; unused with `shards` */
    const struct cost_model *model;
};

/* Read all dumps and cut their calls. What the texts of the plan (root, arguments, ...) say is the caller's.
 *
 *   out     its dumps and shards live in `arena`; paths and folders are those of the tree
 *   errors  STATUS_BAD_ARGUMENT when no call is left to check; what is wrong with the options. A dump that
 *           cannot be used is refused in the plan, unless it is the only one
 */
struct status plan_make(struct plan *out, struct arena *arena, const struct plan_request *request);

#endif
