/* Ranks that share the layers of a model become one: the layers of each stage are put behind those of
 * the stage before it, and numbered through.
 */
#ifndef PROBE_GRAPH_MERGE_PIPELINE_H
#define PROBE_GRAPH_MERGE_PIPELINE_H

#include "graph/merge_tree.h"

/* Merge the ranks of a group (indices in the forest, `count` of them, the first stage first) into the
 * tree of the first.
 *
 *   pieces  of layers that each rank has (vpp): modules "Module.{piece}..." that become one */
struct status merge_pipeline(struct merge_forest *forest, const uint32_t *group, uint32_t count,
                             unsigned pieces);

#endif
