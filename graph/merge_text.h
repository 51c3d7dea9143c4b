/* A merged tree as one rank would have dumped it: the model, the text of its dump.json and of its
 * stack.json, and what was merged into each node.
 */
#ifndef PROBE_GRAPH_MERGE_TEXT_H
#define PROBE_GRAPH_MERGE_TEXT_H

#include "graph/merge_tree.h"

/* Write the tree of a rank (index). End with side_parts_release, on failure too. */
struct status merge_text_write(struct side_parts *out, struct merge_forest *forest, uint32_t rank);

#endif
