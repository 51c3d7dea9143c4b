/* Nodes, their lists of children, and walks over them. */
#include "graph/model.h"

#include <string.h>

#include "core/memory.h"

const char model_root_name[] = "DefaultModel";

static const struct {
    const char *prefix;
    enum node_type type;
} prefixes[] = {
    /* clang-format off */
    { "Module.", NODE_MODULE },     { "Cell.", NODE_MODULE },  { "optimizer", NODE_MODULE },
    { "clip_grad", NODE_MODULE },
    { "Tensor.", NODE_CALL },       { "Torch.", NODE_CALL },   { "Functional.", NODE_CALL },
    { "NPU.", NODE_CALL },          { "VF.", NODE_CALL },      { "Distributed.", NODE_CALL },
    { "Aten.", NODE_CALL },         { "Mint.", NODE_CALL },    { "Primitive.", NODE_CALL },
    { "Jit.", NODE_CALL },          { "MintFunctional.", NODE_CALL },
    { "MindSpeed.", NODE_CALL },
    /* clang-format on */
};

enum node_type node_type_of(struct name_slice name, bool *known)
{
    *known = true;
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (name_starts_with(name, prefixes[i].prefix)) return prefixes[i].type;
    *known = false;
    return NODE_MODULE;
}

/* ---- nodes ------------------------------------------------------------------------------ */

/* Make nodes of names that have none yet. */
static struct status add_nodes(struct model *model)
{
    if (model->names.count > model->node_room) {
        size_t room = 2 * (size_t)model->names.count;
        void *nodes = memory_resize(model->nodes, room * sizeof *model->nodes);
        if (!nodes) return status_no_memory(room * sizeof *model->nodes);
        model->nodes = nodes;
        model->node_room = (uint32_t)(room < NODE_NONE ? room : NODE_NONE);
    }
    for (; model->n_nodes < model->names.count; model->n_nodes++) {
        bool known;
        enum node_type type = node_type_of(model_name(model, model->n_nodes), &known);
        model->unknown_types += !known;
        model->nodes[model->n_nodes] = (struct model_node){
            .parent = NODE_NONE,
            .first_child = NODE_NONE,
            .last_child = NODE_NONE,
            .next = NODE_NONE,
            .previous = NODE_NONE,
            .type = (uint8_t)type,
        };
    }
    return status_ok();
}

struct status model_create(struct model *out, struct text_table *names)
{
    *out = (struct model){ .names = *names };
    *names = (struct text_table){ 0 };
    struct status status = add_nodes(out);
    if (!status.code)
        status = model_add(&out->root, out, model_root_name, sizeof model_root_name - 1);
    if (status.code) model_close(out);
    else out->unknown_types = out->unknown_types ? out->unknown_types - 1 : 0; /* the root's */
    return status;
}

void model_close(struct model *model)
{
    if (model->names.slots) text_table_release(&model->names);
    memory_release(model->nodes);
    *model = (struct model){ 0 };
}

struct status model_add(uint32_t *node, struct model *model, const char *name, size_t length)
{
    TRY(text_table_add(node, NULL, &model->names, name, length));
    return add_nodes(model);
}

uint32_t model_find(const struct model *model, const char *name, size_t length)
{
    uint32_t node = text_table_find(&model->names, name, length);
    return node == TEXT_NONE ? NODE_NONE : node;
}

struct name_slice model_name(const struct model *model, uint32_t node)
{
    size_t length;
    const char *text = text_table_get(&model->names, node, &length);
    return name_slice_of(text, length);
}

/* ---- the tree --------------------------------------------------------------------------- */

void model_attach(struct model *model, uint32_t parent, uint32_t node)
{
    struct model_node *p = &model->nodes[parent], *n = &model->nodes[node];
    n->parent = parent;
    n->previous = p->last_child;
    n->next = NODE_NONE;
    if (p->last_child == NODE_NONE) p->first_child = node;
    else model->nodes[p->last_child].next = node;
    p->last_child = node;
}

void model_attach_before(struct model *model, uint32_t before, uint32_t node)
{
    struct model_node *b = &model->nodes[before], *n = &model->nodes[node];
    n->parent = b->parent;
    n->next = before;
    n->previous = b->previous;
    if (b->previous == NODE_NONE) model->nodes[b->parent].first_child = node;
    else model->nodes[b->previous].next = node;
    b->previous = node;
}

void model_detach(struct model *model, uint32_t node)
{
    struct model_node *n = &model->nodes[node], *p = &model->nodes[n->parent];
    if (n->previous == NODE_NONE) p->first_child = n->next;
    else model->nodes[n->previous].next = n->next;
    if (n->next == NODE_NONE) p->last_child = n->previous;
    else model->nodes[n->next].previous = n->previous;
    n->parent = n->next = n->previous = NODE_NONE;
}

uint32_t model_after_all(const struct model *model, uint32_t top, uint32_t node)
{
    const struct model_node *nodes = model->nodes;
    while (node != top && nodes[node].next == NODE_NONE) node = nodes[node].parent;
    return node == top ? NODE_NONE : nodes[node].next;
}

uint32_t model_after_below(const struct model *model, uint32_t top, uint32_t node)
{
    uint32_t child = model->nodes[node].first_child;
    return child != NODE_NONE ? child : model_after_all(model, top, node);
}

uint32_t model_after(const struct model *model, uint32_t node)
{
    return model_after_below(model, model->root, node);
}

uint32_t model_deepest_first(const struct model *model, uint32_t node)
{
    while (model->nodes[node].first_child != NODE_NONE) node = model->nodes[node].first_child;
    return node;
}

uint32_t model_after_children(const struct model *model, uint32_t node)
{
    if (node == model->root) return NODE_NONE;
    uint32_t next = model->nodes[node].next;
    return next == NODE_NONE ? model->nodes[node].parent : model_deepest_first(model, next);
}
