/* Ranks that share the tensors of a model become one: where their statistics differ, those of the whole
 * tensor follow from those of its shares.
 *
 *   max of the maxima, min of the minima, mean of the means, root of the sum of the squared norms
 *
 * Linear layers are split in pairs, the first by columns, the second by rows: the input of the first and
 * the output and bias of the second are not split and stay as they are.
 */
#ifndef PROBE_GRAPH_MERGE_TENSOR_H
#define PROBE_GRAPH_MERGE_TENSOR_H

#include "graph/merge_tree.h"

/* Merge trees into the tree of the first.
 *
 *   trees    ranks (indices in the forest) that have them, `count` of them
 *   partner  for each rank (index) `count` ranks that hold the shares of its tensors, itself first, in
 *            the order of the trees */
struct status merge_tensor(struct merge_forest *forest, const uint32_t *trees, uint32_t count,
                           const uint32_t *partner);

#endif
