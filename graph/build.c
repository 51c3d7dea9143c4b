/* The tree of a model from the pairs of construct.json.
 *
 * Dumps taken in training have holes: a backward call whose hook ran outside of its module has no
 * parent, an in-place module makes its own twin the parent, and layers that are recomputed in the
 * backward pass stand at the top level. Each of these is mended by looking at the forward twin.
 */
#include "graph/build.h"

#include <stdio.h>
#include <string.h>

#include "core/memory.h"
#include "graph/name_queues.h"

/* ---- parents ---------------------------------------------------------------------------- */

/* The name of `name` turned into `direction`, as a number; TEXT_NONE when no such name is known. */
static uint32_t twin(const struct construct *c, struct name_slice name,
                     enum name_direction direction)
{
    char buffer[NAME_BUFFER];
    size_t length = name_turn(buffer, name, direction);
    return length ? text_table_find(&c->names, buffer, length) : TEXT_NONE;
}

static struct name_slice name_of(const struct construct *c, uint32_t number)
{
    size_t length;
    const char *text = text_table_get(&c->names, number, &length);
    return name_slice_of(text, length);
}

/* The parent of the forward twin, turned backward, when that is a key of the file. */
static uint32_t parent_of_twin(const struct construct *c, struct name_slice child,
                               uint32_t otherwise)
{
    uint32_t forward_parent, ignored, forward = twin(c, child, DIRECTION_FORWARD);
    if (!construct_parent(c, forward, &forward_parent)) return otherwise;
    if (forward_parent == TEXT_NONE) return otherwise;
    uint32_t parent = twin(c, name_of(c, forward_parent), DIRECTION_BACKWARD);
    return construct_parent(c, parent, &ignored) ? parent : otherwise;
}

/* A backward call of a module whose parent is another module than its name says: hooks of in-place
 * modules run late. */
static uint32_t parent_in_place(const struct construct *c, struct name_slice child, uint32_t parent)
{
    enum { CHILD_PARTS = 5, PARENT_PARTS = 4 };
    struct name_slice name = name_of(c, parent);
    uint32_t forward_parent;

    if (!name_is_number(name_part_from_end(child, 1)) || name_part_count(child) < CHILD_PARTS ||
        name_part_count(name) < PARENT_PARTS)
        return parent;
    if (name_slices_equal(name_without_last(child, 4), name_without_last(name, 3))) return parent;
    if (!construct_parent(c, twin(c, child, DIRECTION_FORWARD), &forward_parent)) return parent;
    return forward_parent == TEXT_NONE ? TEXT_NONE : parent_of_twin(c, child, parent);
}

static uint32_t repaired_parent(const struct construct *c, const struct construct_link *link)
{
    struct name_slice child = name_of(c, link->child);
    if (name_direction(child) != DIRECTION_BACKWARD) return link->parent;
    return link->parent == TEXT_NONE ? parent_of_twin(c, child, TEXT_NONE)
                                     : parent_in_place(c, child, link->parent);
}

/* The parents after the repairs, by link. */
static struct status repair_parents(uint32_t **parents, const struct construct *c)
{
    *parents = memory_allocate(c->n_links * sizeof **parents);
    if (!*parents) return status_no_memory(c->n_links * sizeof **parents);
    for (uint32_t i = 0; i < c->n_links; i++) (*parents)[i] = repaired_parent(c, &c->links[i]);
    return status_ok();
}

static void place_links(struct model *model, const struct construct *c, const uint32_t *parents)
{
    for (uint32_t i = 0; i < c->n_links; i++) {
        uint32_t child = c->links[i].child, parent = parents[i];
        if (child == model->root) continue;
        model->nodes[child].micro_step = c->links[i].micro_step;
        model_attach(model, parent == TEXT_NONE || parent == child ? model->root : parent, child);
    }
}

/* ---- nodes that the root does not reach -------------------------------------------------- */

static void mark_below(bool *reached, const struct model *model, uint32_t top)
{
    for (uint32_t node = top; node != NODE_NONE; node = model_after_below(model, top, node))
        reached[node] = true;
}

/* Parents that are nobody's children, and circles of parents, go below the root. A node that is
 * its own ancestor is taken from its parent first. */
static struct status place_the_rest(struct model *model)
{
    bool *reached = memory_allocate_zeroed(model->n_nodes, sizeof *reached);
    if (!reached) return status_no_memory(model->n_nodes);
    mark_below(reached, model, model->root);
    for (int circles = 0; circles < 2; circles++) {
        for (uint32_t node = 0; node < model->n_nodes; node++) {
            bool has_parent = model->nodes[node].parent != NODE_NONE;
            if (reached[node] || (has_parent && !circles)) continue;
            if (has_parent) model_detach(model, node);
            model_attach(model, model->root, node);
            model->nodes[node].repair = has_parent ? REPAIR_CIRCLE : REPAIR_MISSING_PARENT;
            mark_below(reached, model, node);
        }
    }
    memory_release(reached);
    return status_ok();
}

/* ---- recomputed layers -------------------------------------------------------------------- */

/* Modules below others have long names: "Module.0.module.decoder.layers.1.Layer.forward.3". */
static bool has_name_of_a_layer(struct name_slice name)
{
    size_t parts = name_part_count(name);
    bool second = name_is_number(name_part(name, 1)), fourth = name_is_number(name_part(name, 3));
    return parts > 7 || (parts == 7 && !(second && fourth)) || (parts == 6 && !second);
}

/* A module at the top level whose twin of the other direction stands there too. */
static bool is_recomputed(const struct model *model, uint32_t node)
{
    char buffer[NAME_BUFFER];
    const struct model_node *n = &model->nodes[node];
    struct name_slice name = model_name(model, node);
    enum name_direction direction = name_direction(name);

    if (n->parent != model->root || n->type != NODE_MODULE || !direction) return false;
    if (!has_name_of_a_layer(name)) return false;
    size_t length = name_turn(
        buffer, name, direction == DIRECTION_FORWARD ? DIRECTION_BACKWARD : DIRECTION_FORWARD);
    uint32_t other = model_find(model, buffer, length);
    return other != NODE_NONE && model->nodes[other].parent == model->root;
}

/* What a layer is called whatever its direction and number. */
static struct name_slice layer_name(const struct model *model, uint32_t node)
{
    return name_without_last(model_name(model, node), 2);
}

/* Where a recomputed node belongs: below the backward twin of its original's parent. */
static uint32_t recomputed_parent(const struct model *model, uint32_t original)
{
    char buffer[NAME_BUFFER];
    if (original == NODE_NONE || model->nodes[original].parent == NODE_NONE) return NODE_NONE;
    struct name_slice parent = model_name(model, model->nodes[original].parent);
    size_t length = name_turn(buffer, parent, DIRECTION_BACKWARD);
    return length ? model_find(model, buffer, length) : NODE_NONE;
}

/* Originals wait by their names in the order of the file. */
static struct status queue_originals(struct name_queues *queues, const struct model *model,
                                     const bool *recomputed)
{
    for (uint32_t node = 0; node < model->n_nodes; node++) {
        const struct model_node *n = &model->nodes[node];
        if (recomputed[node] || n->type != NODE_MODULE || n->parent == model->root) continue;
        struct name_slice name = layer_name(model, node);
        if (name_direction(model_name(model, node)) == DIRECTION_FORWARD)
            TRY(name_queues_push(queues, name.text, name.length, node));
    }
    return status_ok();
}

/* Would `node` become its own ancestor below `parent`? */
static bool lies_below(const struct model *model, uint32_t node, uint32_t ancestor)
{
    for (; node != NODE_NONE; node = model->nodes[node].parent)
        if (node == ancestor) return true;
    return false;
}

/* Move the recomputed nodes of one direction; each direction counts by itself. */
static struct status move_direction(struct model *model, const bool *recomputed,
                                    enum name_direction direction)
{
    struct name_queues queues;
    TRY(name_queues_create(&queues, model->n_nodes));
    struct status status = queue_originals(&queues, model, recomputed);
    uint32_t next;
    for (uint32_t node = model->nodes[model->root].first_child; !status.code && node != NODE_NONE;
         node = next) {
        next = model->nodes[node].next;
        if (!recomputed[node] || name_direction(model_name(model, node)) != direction) continue;
        struct name_slice name = layer_name(model, node);
        uint32_t original = name_queues_pop(&queues, name.text, name.length);
        uint32_t parent = recomputed_parent(model, original);
        if (parent == NODE_NONE || lies_below(model, parent, node)) continue;
        model_detach(model, node);
        model_attach(model, parent, node);
    }
    name_queues_release(&queues);
    return status;
}

static struct status place_recomputed(struct model *model)
{
    bool any = false;
    bool *recomputed = memory_allocate_zeroed(model->n_nodes, sizeof *recomputed);
    if (!recomputed) return status_no_memory(model->n_nodes);
    for (uint32_t node = model->nodes[model->root].first_child; node != NODE_NONE;
         node = model->nodes[node].next)
        any |= recomputed[node] = is_recomputed(model, node);
    struct status status = status_ok();
    if (any) status = move_direction(model, recomputed, DIRECTION_FORWARD);
    if (any && !status.code) status = move_direction(model, recomputed, DIRECTION_BACKWARD);
    memory_release(recomputed);
    return status;
}

/* ---- calls between modules ---------------------------------------------------------------- */

static bool is_loose_call(const struct model *model, uint32_t node)
{
    return node != NODE_NONE && model->nodes[node].type == NODE_CALL;
}

/* Two and more calls in a row at the top level become the children of a collection. */
static struct status collect_calls(struct model *model)
{
    unsigned n_collections = 0;
    uint32_t next;
    for (uint32_t node = model->nodes[model->root].first_child; node != NODE_NONE; node = next) {
        next = model->nodes[node].next;
        if (!is_loose_call(model, node) || !is_loose_call(model, next)) continue;
        char name[64];
        uint32_t collection;
        int length = snprintf(name, sizeof name, "Apis_Between_Modules.%u", n_collections++);
        TRY(model_add(&collection, model, name, (size_t)length));
        /* A module of that name is left alone; its calls stay where they are. */
        if (model->nodes[collection].parent != NODE_NONE) continue;
        model->nodes[collection].type = NODE_COLLECTION;
        model_attach_before(model, node, collection);
        for (; is_loose_call(model, node); node = next) {
            next = model->nodes[node].next;
            model_detach(model, node);
            model_attach(model, collection, node);
        }
        next = model->nodes[collection].next;
    }
    return status_ok();
}

/* ---- gradients of parameters --------------------------------------------------------------- */

/* By module: the largest number among its backward calls. */
struct last_backward {
    struct text_table modules;
    uint32_t *node;
    unsigned *number;
};

static struct status note_backward(struct last_backward *last, const struct model *model,
                                   uint32_t node)
{
    struct name_slice name = model_name(model, node);
    unsigned number;
    uint32_t module;
    bool added;

    if (name_direction(name) != DIRECTION_BACKWARD) return status_ok();
    if (!name_read_number(name_part_from_end(name, 1), &number)) return status_ok();
    struct name_slice prefix = name_without_last(name, 2);
    TRY(text_table_add(&module, &added, &last->modules, prefix.text, prefix.length));
    if (!added && last->number[module] >= number) return status_ok();
    last->node[module] = node;
    last->number[module] = number;
    return status_ok();
}

/* "{module}.parameters_grad" or "{module}.parameters_grad.{n}" without what follows the module. */
static struct name_slice module_of_gradient(struct name_slice name)
{
    return name_without_last(name, name_is_number(name_part_from_end(name, 1)) ? 2 : 1);
}

/* Gradients of a module that never went backward in the hierarchy have no place in it. */
static struct status place_gradient(struct model *model, const struct last_backward *last,
                                    struct name_slice name)
{
    uint32_t node;
    struct name_slice module = module_of_gradient(name);
    uint32_t number = text_table_find(&last->modules, module.text, module.length);
    if (number == TEXT_NONE || model_find(model, name.text, name.length) != NODE_NONE)
        return status_ok();
    TRY(model_add(&node, model, name.text, name.length));
    model->nodes[node].type = NODE_MODULE;
    model_attach(model, last->node[number], node);
    return status_ok();
}

static struct status place_gradients(struct model *model, const struct name_slice *gradients,
                                     size_t n_gradients)
{
    size_t n = model->n_nodes;
    if (!n_gradients) return status_ok();
    struct last_backward last = { .node = memory_allocate(n * sizeof *last.node),
                                  .number = memory_allocate(n * sizeof *last.number) };
    struct status status = last.node && last.number ? text_table_create(&last.modules)
                                                    : status_no_memory(n * sizeof *last.node);
    for (uint32_t node = 0; !status.code && node < n; node++)
        status = note_backward(&last, model, node);
    for (size_t i = 0; !status.code && i < n_gradients; i++)
        status = place_gradient(model, &last, gradients[i]);
    if (last.modules.slots) text_table_release(&last.modules);
    memory_release(last.node);
    memory_release(last.number);
    return status;
}

/* ---- micro steps --------------------------------------------------------------------------- */

/* A page of the result is one forward and one backward pass: the next one begins with the first
 * module that goes forward behind one that does not. Calls stay on the page of the module before
 * them. */
static void number_micro_steps(struct model *model)
{
    uint32_t page = 0;
    bool forward = true;
    for (uint32_t node = model->nodes[model->root].first_child; node != NODE_NONE;
         node = model->nodes[node].next) {
        struct model_node *n = &model->nodes[node];
        if (n->type == NODE_MODULE) {
            struct name_slice name = model_name(model, node);
            bool goes_forward = memmem(name.text, name.length, ".forward.", 9) != NULL;
            page += goes_forward && !forward;
            forward = goes_forward;
        }
        n->micro_step = page;
    }
    model->micro_steps = page + 1;
}

/* Descendants share the page of their ancestor at the top level. */
static void inherit_micro_steps(struct model *model)
{
    for (uint32_t node = model->root; node != NODE_NONE; node = model_after(model, node)) {
        uint32_t parent = model->nodes[node].parent;
        if (node != model->root && parent != model->root)
            model->nodes[node].micro_step = model->nodes[parent].micro_step;
    }
}

/* Recorded pages are those of each node; a collection is where its first call is. */
static void complete_recorded(struct model *model)
{
    for (uint32_t node = model->nodes[model->root].first_child; node != NODE_NONE;
         node = model->nodes[node].next) {
        struct model_node *n = &model->nodes[node];
        if (n->type == NODE_COLLECTION && n->first_child != NODE_NONE)
            n->micro_step = model->nodes[n->first_child].micro_step;
    }
}

void model_number_micro_steps(struct model *model, const struct model *like)
{
    model->records_micro_steps = like->records_micro_steps;
    model->micro_steps = like->micro_steps;
    if (model->records_micro_steps) {
        complete_recorded(model);
        return;
    }
    number_micro_steps(model);
    inherit_micro_steps(model);
}

/* ---- the sequence -------------------------------------------------------------------------- */

static struct status shape_tree(struct model *model, const struct construct *c,
                                const uint32_t *parents, const struct name_slice *gradients,
                                size_t n_gradients)
{
    place_links(model, c, parents);
    TRY(place_the_rest(model));
    TRY(place_recomputed(model));
    TRY(collect_calls(model));
    TRY(place_gradients(model, gradients, n_gradients));
    model->records_micro_steps = c->has_micro_steps;
    model->micro_steps = c->micro_steps;
    model_number_micro_steps(model, model);
    return status_ok();
}

struct status model_build(struct model *out, struct construct *construct,
                          const struct name_slice *gradients, size_t n_gradients)
{
    uint32_t *parents = NULL;
    *out = (struct model){ 0 };
    TRY(repair_parents(&parents, construct));
    struct status status = model_create(out, &construct->names);
    uint32_t unknown = out->unknown_types; /* without the names that we give */
    if (!status.code) status = shape_tree(out, construct, parents, gradients, n_gradients);
    memory_release(parents);
    out->unknown_types = unknown;
    if (status.code) model_close(out);
    return status;
}
