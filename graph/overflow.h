/* Overflow levels: where nan, inf and exploding norms begin.
 *
 *   critical  inputs are normal, an output is not
 *   high      both are not; or the largest norm of the outputs is more than 100 times that of the
 *             inputs (of more than 100 where the inputs have norm 0)
 *   medium    an input is not normal, the outputs are
 */
#ifndef PROBE_GRAPH_OVERFLOW_H
#define PROBE_GRAPH_OVERFLOW_H

#include "graph/side.h"

enum overflow_level { OVERFLOW_NONE, OVERFLOW_MEDIUM, OVERFLOW_HIGH, OVERFLOW_CRITICAL };

/* "medium", "high", "critical"; NULL for OVERFLOW_NONE. */
const char *overflow_level_name(enum overflow_level level);

enum overflow_level overflow_of_node(const struct graph_side *side, uint32_t node);

#endif
