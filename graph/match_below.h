/* What lies below two nodes that were matched by hand. */
#ifndef PROBE_GRAPH_MATCH_BELOW_H
#define PROBE_GRAPH_MATCH_BELOW_H

#include "graph/side.h"

/* Match children of two nodes that have no partner yet: the k-th of a type and a short name with the k-th;
 * then what lies below those, and so on. The short name of a module is what its parent calls it
 * ("Module.layers.0.attention.Attention.forward.0": attention; of "Module.layers.0.Layer.forward.0":
 * layers), that of a call the API. *matched counts the pairs that were made. */
struct status match_below(uint32_t *matched, struct graph_side *npu, struct graph_side *bench,
                          uint32_t node, uint32_t partner);

#endif
