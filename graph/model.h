/* The hierarchy of a model: modules and calls as a tree, in the order of execution.
 *
 * Node i has the name with number i. Children of a node are a list in both directions, so that
 * nodes move from one parent to another in constant time; trees of a million nodes, a million
 * levels deep, are walked without recursion.
 */
#ifndef PROBE_GRAPH_MODEL_H
#define PROBE_GRAPH_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/dotted_name.h"
#include "core/text_table.h"

#define NODE_NONE UINT32_MAX

/* The numbers are those of the result files. */
enum node_type { NODE_MODULE = 0, NODE_CALL = 1, NODE_COLLECTION = 9 };

/* What the builder had to do to give a node a place; said in the result files. */
enum node_repair {
    REPAIR_NONE,
    REPAIR_MISSING_PARENT, /* its parent is no key of the file, and the node is no child of any */
    REPAIR_CIRCLE          /* it was its own ancestor */
};

struct model_node {
    uint32_t parent, first_child, last_child, next, previous;
    uint32_t micro_step;
    uint8_t type;   /* enum node_type */
    uint8_t repair; /* enum node_repair */
};

struct model {
    struct text_table names;
    struct model_node *nodes;
    uint32_t n_nodes, node_room;
    uint32_t root;
    uint32_t micro_steps;     /* pages; 0 when there are none */
    bool records_micro_steps; /* the dump says the page of each node */
    uint32_t unknown_types;   /* nodes whose name begins with no known type: taken for modules */
};

extern const char model_root_name[]; /* "DefaultModel" */

/* Take over the names of `names` (which is empty afterwards) as nodes without a parent, and add the
 * root. End with model_close; empty on failure. */
struct status model_create(struct model *out, struct text_table *names);
void model_close(struct model *model);

/* The node of this name, made when there is none; the node, or NODE_NONE. */
struct status model_add(uint32_t *node, struct model *model, const char *name, size_t length);
uint32_t model_find(const struct model *model, const char *name, size_t length);

struct name_slice model_name(const struct model *model, uint32_t node);

/* Put a node without a parent behind the children of `parent`, or before its sibling `before`; take
 * it from its parent. */
void model_attach(struct model *model, uint32_t parent, uint32_t node);
void model_attach_before(struct model *model, uint32_t before, uint32_t node);
void model_detach(struct model *model, uint32_t node);

/* Walks. From the root: every node after its parent, children in order; model_after gives the next
 * node, NODE_NONE at the end; model_after_below does so for the descendants of `top`, and
 * model_after_all for what lies behind those of `node`. Children first: start with
 * model_deepest_first(root). */
uint32_t model_after(const struct model *model, uint32_t node);
uint32_t model_after_below(const struct model *model, uint32_t top, uint32_t node);
uint32_t model_after_all(const struct model *model, uint32_t top, uint32_t node);
uint32_t model_deepest_first(const struct model *model, uint32_t node);
uint32_t model_after_children(const struct model *model, uint32_t node);

/* The type that a name says; NODE_MODULE with *known false when it says none. */
enum node_type node_type_of(struct name_slice name, bool *known);

#endif
