/* What the result files say once for all nodes: colours, explanations of metrics, the task.
 */
#ifndef PROBE_GRAPH_CONFIG_TEXT_H
#define PROBE_GRAPH_CONFIG_TEXT_H

#include "graph/graph.h"

/* {hex: {"value": [low, high], "description": ...}, ...}, appended. */
struct status colours_append(struct csv_buffer *out, enum dump_kind kind,
                             enum generation generation);

/* {metric: explanation, ...}, appended. */
struct status tool_tips_append(struct csv_buffer *out, enum dump_kind kind);

/* "summary", "md5", "all", "structure". */
const char *task_name(enum dump_kind kind);

/* [name, ...] of a node's children, or of the path from the other side's root to its partner. */
struct status children_append(struct csv_buffer *out, const struct model *model, uint32_t node);
struct status partner_path_append(struct csv_buffer *out, const struct graph_side *side,
                                  const struct graph_side *other, uint32_t node);

/* The frames of a node's stack as a list; [] when there is none. */
struct status stack_append(struct csv_buffer *out, const struct graph_side *side, uint32_t node);

#endif
