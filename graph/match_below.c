/* Pairs of parents are walked from the top: those of the NPU side in the order of its tree. */
#include "graph/match_below.h"

#include <string.h>

#include "graph/name_queues.h"

struct below {
    struct graph_side *npu, *bench;
    struct name_queues children; /* of one Bench node, by key: those that are free */
};

/* The part that tells a node among its siblings: of numbers the part before them. */
static struct name_slice short_name(const struct model *model, uint32_t node)
{
    struct name_slice name = model_name(model, node);
    size_t from_end = model->nodes[node].type == NODE_MODULE ? 4 : 2;
    struct name_slice part = name_part_from_end(name, from_end);
    return name_is_number(part) ? name_part_from_end(name, from_end + 1) : part;
}

/* The key of a node: type, direction and short name; its length. */
static size_t make_key(char key[NAME_BUFFER], const struct model *model, uint32_t node)
{
    struct name_slice name = short_name(model, node);
    if (name.length > NAME_BUFFER - 2) name.length = NAME_BUFFER - 2;
    key[0] = (char)('0' + model->nodes[node].type);
    key[1] = (char)('0' + (int)name_direction(model_name(model, node)));
    memcpy(key + 2, name.text, name.length);
    return name.length + 2;
}

/* Line up the free children of a Bench node, or forget those that are left. */
static struct status line_up(struct below *b, uint32_t parent, bool forget)
{
    char key[NAME_BUFFER];
    const struct model *model = &b->bench->model;
    for (uint32_t child = model->nodes[parent].first_child; child != NODE_NONE;
         child = model->nodes[child].next) {
        size_t length = make_key(key, model, child);
        if (forget) name_queues_clear(&b->children, key, length);
        else if (b->bench->match[child] == NODE_NONE)
            TRY(name_queues_push(&b->children, key, length, child));
    }
    return status_ok();
}

static struct status match_children(uint32_t *matched, struct below *b, uint32_t node,
                                    uint32_t partner)
{
    char key[NAME_BUFFER];
    const struct model *model = &b->npu->model;
    TRY(line_up(b, partner, false));
    for (uint32_t child = model->nodes[node].first_child; child != NODE_NONE;
         child = model->nodes[child].next) {
        if (b->npu->match[child] != NODE_NONE) continue;
        uint32_t other = name_queues_pop(&b->children, key, make_key(key, model, child));
        if (other == NODE_NONE) continue;
        b->npu->match[child] = other;
        b->bench->match[other] = child;
        ++*matched;
    }
    return line_up(b, partner, true);
}

/* Nodes that have a partner elsewhere are passed over with all below them. */
static struct status walk(uint32_t *matched, struct below *b, uint32_t top, uint32_t partner)
{
    const struct model *model = &b->npu->model;
    TRY(match_children(matched, b, top, partner));
    for (uint32_t node = model_after_below(model, top, top); node != NODE_NONE;) {
        uint32_t other = b->npu->match[node], up = b->npu->match[model->nodes[node].parent];
        bool enters = other != NODE_NONE && b->bench->model.nodes[other].parent == up;
        if (enters) TRY(match_children(matched, b, node, other));
        node = enters ? model_after_below(model, top, node) : model_after_all(model, top, node);
    }
    return status_ok();
}

struct status match_below(uint32_t *matched, struct graph_side *npu, struct graph_side *bench,
                          uint32_t node, uint32_t partner)
{
    struct below b = { .npu = npu, .bench = bench };
    *matched = 0;
    TRY(name_queues_create(&b.children, bench->model.n_nodes));
    struct status status = walk(matched, &b, node, partner);
    name_queues_release(&b.children);
    return status;
}
