/* Pairs of parents are walked from the top: those of the NPU side in the order of its tree. */
#include "graph/match_below.h"

#include <string.h>

#include "core/memory.h"

struct below {
    struct graph_side *npu, *bench;
    struct text_table keys; /* of the children of one Bench node */
    uint32_t *first;        /* by key: the next child that is free; NODE_NONE */
    uint32_t *next;         /* by Bench node: the one behind it that has its key */
    uint32_t room;
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

static struct status make_room(struct below *b)
{
    if (b->keys.count < b->room) return status_ok();
    uint32_t room = b->room ? 2 * b->room : 64;
    uint32_t *grown = memory_resize(b->first, room * sizeof *grown);
    if (!grown) return status_no_memory(room * sizeof *grown);
    memset(grown + b->room, 0xff, (room - b->room) * sizeof *grown);
    b->first = grown;
    b->room = room;
    return status_ok();
}

/* Chain the free children of a Bench node by key, or (`chain` false) forget them. */
static struct status chain_children(struct below *b, uint32_t parent, bool chain)
{
    char key[NAME_BUFFER];
    const struct model *model = &b->bench->model;
    for (uint32_t child = model->nodes[parent].last_child; child != NODE_NONE;
         child = model->nodes[child].previous) {
        uint32_t number;
        size_t length = make_key(key, model, child);
        TRY(make_room(b));
        TRY(text_table_add(&number, NULL, &b->keys, key, length));
        if (!chain) b->first[number] = NODE_NONE;
        if (!chain || b->bench->match[child] != NODE_NONE) continue;
        b->next[child] = b->first[number];
        b->first[number] = child;
    }
    return status_ok();
}

static uint32_t take_child(struct below *b, uint32_t node)
{
    char key[NAME_BUFFER];
    uint32_t number = text_table_find(&b->keys, key, make_key(key, &b->npu->model, node));
    if (number == TEXT_NONE || b->first[number] == NODE_NONE) return NODE_NONE;
    uint32_t child = b->first[number];
    b->first[number] = b->next[child];
    return child;
}

static struct status match_children(uint32_t *matched, struct below *b, uint32_t node,
                                    uint32_t partner)
{
    const struct model *model = &b->npu->model;
    TRY(chain_children(b, partner, true));
    for (uint32_t child = model->nodes[node].first_child; child != NODE_NONE;
         child = model->nodes[child].next) {
        if (b->npu->match[child] != NODE_NONE) continue;
        uint32_t other = take_child(b, child);
        if (other == NODE_NONE) continue;
        b->npu->match[child] = other;
        b->bench->match[other] = child;
        ++*matched;
    }
    return chain_children(b, partner, false);
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
    b.next = memory_allocate(bench->model.n_nodes * sizeof *b.next);
    if (!b.next) return status_no_memory(bench->model.n_nodes * sizeof *b.next);
    struct status status = text_table_create(&b.keys);
    if (!status.code) status = walk(matched, &b, node, partner);
    if (b.keys.slots) text_table_release(&b.keys);
    memory_release(b.first);
    memory_release(b.next);
    return status;
}
