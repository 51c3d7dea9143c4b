/* Every rank of a pipeline calls its first layer "layers.0". A module that all ranks have is one of
 * three: its inputs and its outputs differ between the ranks, and it is a layer, so that each rank has
 * a piece of its own; only what leaves it differs, so that pieces lie within it, and what leaves the
 * last rank is what leaves the whole; or nothing differs. Within a module nodes that the first rank
 * lacks come from the others. */
#include "graph/merge_pipeline.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "formats/csv.h"

struct pipeline {
    struct merge_forest *forest;
    const uint32_t *group;
    uint32_t count;
    unsigned pieces;
    uint32_t *peers; /* of the module that is looked at, in the other ranks */
};

static const struct model_node *node_at(const struct pipeline *p, uint32_t node)
{
    return &p->forest->tree.nodes[node];
}

/* ---- names of layers --------------------------------------------------------------------------- */

/* The number in "layers.12." or "layer.12." within a name; false when there is none. */
static bool find_layer(struct name_slice *number, struct name_slice name)
{
    static const char *const words[] = { "layers.", "layer." };
    for (size_t at = 0; at < name.length; at++) {
        for (size_t i = 0; i < 2; i++) {
            size_t length = strlen(words[i]), end = at + length;
            if (name.length - at <= length || memcmp(name.text + at, words[i], length)) continue;
            while (end < name.length && isdigit((unsigned char)name.text[end])) end++;
            if (end == at + length || end == name.length || name.text[end] != '.') continue;
            *number = name_slice_of(name.text + at + length, end - at - length);
            return true;
        }
    }
    return false;
}

static bool is_layer(const struct merge_forest *f, uint32_t node)
{
    struct name_slice number;
    return f->tree.nodes[node].type == NODE_MODULE && find_layer(&number, merge_name(f, node));
}

/* `name` with the part `old` of it replaced by a number; its length, 0 when it does not fit. */
static size_t replace_number(char out[NAME_BUFFER + 32], struct name_slice name,
                             struct name_slice old, unsigned number)
{
    size_t before = (size_t)(old.text - name.text), behind = before + old.length;
    if (name.length >= NAME_BUFFER) return 0;
    int length = snprintf(out, NAME_BUFFER + 32, "%.*s%u%.*s", (int)before, name.text, number,
                          (int)(name.length - behind), name.text + behind);
    return (size_t)length;
}

static struct status rename_layer(struct merge_forest *f, uint32_t node, unsigned layer)
{
    char name[NAME_BUFFER + 32];
    struct name_slice number;
    if (!find_layer(&number, merge_name(f, node))) return status_ok();
    size_t length = replace_number(name, merge_name(f, node), number, layer);
    return length ? merge_rename(f, node, name, length) : status_ok();
}

/* ---- what differs ------------------------------------------------------------------------------ */

/* Do rows that the ranks of a module have in common differ? */
static bool rows_differ(const struct pipeline *p, uint32_t node, bool outputs)
{
    struct merge_rank *own, *other;
    struct row_range range = merge_rows(&own, p->forest, node, outputs);
    for (uint32_t row = range.first; row < range.first + range.count; row++) {
        if (row_is_shown_as_output(own->side, row) != outputs) continue;
        if (!merge_row_is_numeric(own->rows, row)) continue;
        for (uint32_t i = 1; i < p->count; i++) {
            (void)merge_rows(&other, p->forest, p->peers[i], outputs);
            uint32_t partner = merge_partner_row(p->forest, node, row, p->peers[i], outputs);
            if (partner == ROW_MISSING || !merge_row_is_numeric(other->rows, partner)) break;
            if (!merge_rows_equal(own->rows, row, other->rows, partner, true)) return true;
        }
    }
    return false;
}

/* ---- nodes of other ranks ---------------------------------------------------------------------- */

/* Put a node of another rank, with all below it, behind the children of `parent`. */
static void adopt(struct pipeline *p, uint32_t parent, uint32_t node)
{
    struct model *tree = &p->forest->tree;
    for (uint32_t at = node; at != NODE_NONE; at = model_after_below(tree, node, at))
        p->forest->nodes[at].added = true;
    model_detach(tree, node);
    model_attach(tree, parent, node);
    p->forest->nodes[parent].adopts = true;
}

/* Is a child of the module in rank `i` of the group already there? Each rank has layers of its own, and
 * calls that are told apart by their rank; other modules are taken from the first rank that has them. */
static bool is_there(const struct pipeline *p, uint32_t module, uint32_t i, uint32_t child)
{
    const struct merge_forest *f = p->forest;
    struct name_slice name = merge_first_name(f, child);
    uint32_t own = merge_find(f, p->group[0], name);
    if (own != NODE_NONE && node_at(p, own)->parent == module) return true;
    if (node_at(p, child)->type == NODE_COLLECTION) return true;
    if (is_layer(f, child) || node_at(p, child)->type == NODE_CALL) return false;
    for (uint32_t before = 1; before < i; before++) {
        uint32_t earlier = merge_find(f, p->group[before], name);
        if (earlier != NODE_NONE && node_at(p, earlier)->parent == module) return true;
    }
    return false;
}

static void adopt_missing(struct pipeline *p, uint32_t module)
{
    for (uint32_t i = 1; i < p->count; i++) {
        uint32_t next;
        for (uint32_t child = node_at(p, p->peers[i])->first_child; child != NODE_NONE;
             child = next) {
            next = node_at(p, child)->next;
            if (!is_there(p, module, i, child)) adopt(p, module, child);
        }
    }
}

/* ---- modules ----------------------------------------------------------------------------------- */

static bool find_peers(struct pipeline *p, uint32_t module)
{
    struct name_slice name = merge_first_name(p->forest, module);
    for (uint32_t i = 1; i < p->count; i++) {
        p->peers[i] = merge_find(p->forest, p->group[i], name);
        if (p->peers[i] == NODE_NONE || p->forest->nodes[p->peers[i]].added) return false;
    }
    return true;
}

/* Was the forward call of a backward call a piece? What flows backward may not have been recorded. */
static bool twin_is_split(const struct pipeline *p, uint32_t module)
{
    char twin[NAME_BUFFER];
    struct name_slice name = merge_first_name(p->forest, module);
    if (name_direction(name) != DIRECTION_BACKWARD) return false;
    size_t length = name_turn(twin, name, DIRECTION_FORWARD);
    uint32_t node = length ? merge_find(p->forest, p->group[0], name_slice_of(twin, length))
                           : NODE_NONE;
    return node != NODE_NONE && p->forest->nodes[node].split;
}

/* Merge a module of the first rank with those of the others; true when what lies in it is merged too. */
static bool merge_module(struct pipeline *p, uint32_t module)
{
    struct merge_forest *f = p->forest;
    struct merge_node *node = &f->nodes[module];
    bool is_root = module == f->roots[p->group[0]];
    if (!find_peers(p, module)) return false;
    bool inputs_differ = !is_root && rows_differ(p, module, false);
    bool outputs_differ = !is_root && rows_differ(p, module, true);
    if ((inputs_differ && outputs_differ && is_layer(f, module)) || twin_is_split(p, module)) {
        node->split = true;
        uint32_t parent = node_at(p, module)->parent;
        for (uint32_t i = 1; i < p->count; i++) adopt(p, parent, p->peers[i]);
        return false;
    }
    enum name_direction direction = name_direction(merge_first_name(f, module));
    uint32_t last = p->peers[p->count - 1];
    if (direction == DIRECTION_FORWARD && !inputs_differ && outputs_differ) node->outputs = last;
    if (direction == DIRECTION_BACKWARD && inputs_differ && !outputs_differ) node->inputs = last;
    adopt_missing(p, module);
    return true;
}

/* Steps of the optimizer are those of each rank. */
static bool stays_apart(struct name_slice name)
{
    return name_slice_is(name, "clip_grad") || name_slice_is(name, "optimizer");
}

static void merge_modules(struct pipeline *p)
{
    struct merge_forest *f = p->forest;
    uint32_t root = f->roots[p->group[0]], node = root;
    while (node != NODE_NONE) {
        bool enter = node_at(p, node)->type == NODE_MODULE && !f->nodes[node].added &&
                     !stays_apart(merge_name(f, node)) && merge_module(p, node);
        node = enter ? model_after_below(&f->tree, root, node)
                     : model_after_all(&f->tree, root, node);
    }
}

/* ---- the order of children --------------------------------------------------------------------- */

/* An added child, by which it is sorted. */
struct added_child {
    uint32_t node, stage, position;
};

static int in_order(const void *a, const void *b)
{
    const struct added_child *x = a, *y = b;
    if (x->stage != y->stage) return x->stage < y->stage ? -1 : 1;
    return (x->position > y->position) - (x->position < y->position);
}

static bool goes_forward(const struct merge_forest *f, uint32_t node)
{
    return name_direction(merge_first_name(f, node)) == DIRECTION_FORWARD;
}

static uint32_t stage_of(const struct pipeline *p, uint32_t rank)
{
    uint32_t stage = 0;
    while (stage < p->count && p->group[stage] != rank) stage++;
    return stage;
}

/* Take the added children of one direction from a parent, sorted as they run: forward the first stage
 * first, backward the last. */
static size_t take_added(struct added_child *out, struct pipeline *p, uint32_t parent, bool forward)
{
    const struct merge_forest *f = p->forest;
    size_t count = 0;
    uint32_t next;
    for (uint32_t child = node_at(p, parent)->first_child; child != NODE_NONE; child = next) {
        next = node_at(p, child)->next;
        if (!f->nodes[child].added || goes_forward(f, child) != forward) continue;
        uint32_t stage = stage_of(p, f->nodes[child].rank);
        out[count++] = (struct added_child){ child, forward ? stage : p->count - stage,
                                             f->nodes[child].position };
        model_detach(&p->forest->tree, child);
    }
    qsort(out, count, sizeof *out, in_order);
    return count;
}

/* What runs forward follows the first rank's forward calls, what runs backward comes before its
 * backward calls. */
static void place_added(struct pipeline *p, uint32_t parent, const struct added_child *added,
                        size_t count, bool forward)
{
    struct merge_forest *f = p->forest;
    uint32_t before = NODE_NONE;
    if (forward) {
        for (uint32_t child = node_at(p, parent)->last_child; child != NODE_NONE;
             child = node_at(p, child)->previous) {
            if (name_direction(merge_first_name(f, child)) != DIRECTION_BACKWARD) break;
            before = child;
        }
    } else {
        before = node_at(p, parent)->first_child;
        while (before != NODE_NONE && goes_forward(f, before)) before = node_at(p, before)->next;
    }
    for (size_t i = 0; i < count; i++) {
        if (before == NODE_NONE) model_attach(&f->tree, parent, added[i].node);
        else model_attach_before(&f->tree, before, added[i].node);
    }
}

static size_t count_children(const struct pipeline *p, uint32_t parent)
{
    size_t count = 0;
    for (uint32_t child = node_at(p, parent)->first_child; child != NODE_NONE;
         child = node_at(p, child)->next)
        count++;
    return count;
}

/* ---- numbers of layers ------------------------------------------------------------------------- */

/* Below a layer of another rank: modules take its number, calls the number of their rank. */
static struct status rename_added(struct merge_forest *f, uint32_t top, unsigned layer)
{
    bool numbered = is_layer(f, top);
    for (uint32_t node = top; node != NODE_NONE; node = model_after_below(&f->tree, top, node)) {
        if (f->tree.nodes[node].type == NODE_CALL) TRY(merge_mark_rank(f, node));
        else if (numbered) TRY(rename_layer(f, node, layer));
    }
    return status_ok();
}

/* Number the layers of a parent through, as they run forward. */
static struct status number_layers(struct pipeline *p, uint32_t parent, bool forward)
{
    struct merge_forest *f = p->forest;
    const struct model_node *top = node_at(p, parent);
    unsigned layers = 0;
    uint32_t next;
    for (uint32_t child = forward ? top->first_child : top->last_child; child != NODE_NONE;
         child = next) {
        next = forward ? node_at(p, child)->next : node_at(p, child)->previous;
        if (goes_forward(f, child) != forward) continue;
        layers += is_layer(f, child);
        if (f->nodes[child].added) TRY(rename_added(f, child, layers ? layers - 1 : 0));
    }
    return status_ok();
}

static struct status order_children(struct pipeline *p, uint32_t parent)
{
    size_t room = count_children(p, parent);
    struct added_child *added = memory_allocate((room + 1) * sizeof *added);
    struct status status = added ? status_ok() : status_no_memory(room * sizeof *added);
    for (int backward = 0; !status.code && backward < 2; backward++) {
        size_t count = take_added(added, p, parent, !backward);
        place_added(p, parent, added, count, !backward);
        status = number_layers(p, parent, !backward);
    }
    memory_release(added);
    return status;
}

static struct status order_all(struct pipeline *p)
{
    const struct merge_forest *f = p->forest;
    uint32_t root = f->roots[p->group[0]];
    for (uint32_t node = root; node != NODE_NONE; node = model_after_below(&f->tree, root, node))
        if (f->nodes[node].adopts) TRY(order_children(p, node));
    return status_ok();
}

/* ---- pieces within a rank (virtual pipelines) --------------------------------------------------- */

/* "Module.0.module..." is the name of piece 0. */
static bool is_of_piece(struct name_slice name, unsigned piece)
{
    unsigned number;
    return name_is_number(name_part(name, 1)) && name_read_number(name_part(name, 1), &number) &&
           number == piece;
}

static size_t name_of_piece(char out[NAME_BUFFER + 32], struct name_slice name, unsigned piece)
{
    return name_is_number(name_part(name, 1)) ? replace_number(out, name, name_part(name, 1), piece)
                                              : 0;
}

/* The module of the first rank that is what `module` is, in another piece. */
static uint32_t find_in_piece(const struct pipeline *p, uint32_t module, unsigned piece)
{
    char name[NAME_BUFFER + 32];
    size_t length = name_of_piece(name, merge_first_name(p->forest, module), piece);
    return length ? merge_find(p->forest, p->group[0], name_slice_of(name, length)) : NODE_NONE;
}

/* What leaves the last piece is what leaves the whole. */
static void take_last_rows(struct pipeline *p, uint32_t module)
{
    struct merge_forest *f = p->forest;
    uint32_t last = find_in_piece(p, module, p->pieces - 1);
    if (last == NODE_NONE) return;
    if (goes_forward(f, module)) f->nodes[module].outputs = f->nodes[last].outputs;
    else f->nodes[module].inputs = f->nodes[last].inputs;
}

/* Move the children of a module of another piece that piece 0 lacks: all layers, and what is named as
 * nothing there. Forward they follow, backward they come first. */
static void move_children(struct pipeline *p, uint32_t module, uint32_t from)
{
    struct merge_forest *f = p->forest;
    bool forward = goes_forward(f, module);
    uint32_t first = node_at(p, module)->first_child, next;
    for (uint32_t child = node_at(p, from)->first_child; child != NODE_NONE; child = next) {
        next = node_at(p, child)->next;
        uint32_t same = f->nodes[child].added ? NODE_NONE : find_in_piece(p, child, 0);
        if (same != NODE_NONE && same != child && node_at(p, same)->parent == module &&
            !is_layer(f, child))
            continue;
        model_detach(&f->tree, child);
        if (forward || first == NODE_NONE) model_attach(&f->tree, module, child);
        else model_attach_before(&f->tree, first, child);
    }
}

/* Modules below a moved node are those of piece 0, and of the layer's number. */
static struct status rename_moved(struct merge_forest *f, uint32_t top, unsigned layer)
{
    char name[NAME_BUFFER + 32];
    bool numbered = is_layer(f, top);
    for (uint32_t node = top; node != NODE_NONE; node = model_after_below(&f->tree, top, node)) {
        if (f->tree.nodes[node].type != NODE_MODULE) continue;
        size_t length = name_of_piece(name, merge_name(f, node), 0);
        if (length) TRY(merge_rename(f, node, name, length));
        if (numbered) TRY(rename_layer(f, node, layer));
    }
    return status_ok();
}

static struct status number_pieces(struct pipeline *p, uint32_t module)
{
    struct merge_forest *f = p->forest;
    bool forward = goes_forward(f, module);
    const struct model_node *top = node_at(p, module);
    unsigned layers = 0;
    for (uint32_t child = forward ? top->first_child : top->last_child; child != NODE_NONE;
         child = forward ? node_at(p, child)->next : node_at(p, child)->previous) {
        layers += is_layer(f, child);
        struct name_slice name = merge_name(f, child);
        if (node_at(p, child)->type == NODE_MODULE && !is_of_piece(name, 0))
            TRY(rename_moved(f, child, layers ? layers - 1 : 0));
    }
    return status_ok();
}

static struct status merge_piece(struct pipeline *p, uint32_t module)
{
    take_last_rows(p, module);
    for (unsigned piece = 1; piece < p->pieces; piece++) {
        uint32_t other = find_in_piece(p, module, piece);
        if (other != NODE_NONE && other != module) move_children(p, module, other);
    }
    return number_pieces(p, module);
}

/* Modules at the top of other pieces whose children are in piece 0 now. */
static void drop_pieces(struct pipeline *p, uint32_t root)
{
    uint32_t next;
    for (uint32_t node = node_at(p, root)->first_child; node != NODE_NONE; node = next) {
        next = node_at(p, node)->next;
        struct name_slice name = merge_first_name(p->forest, node);
        if (node_at(p, node)->type != NODE_MODULE || is_of_piece(name, 0)) continue;
        uint32_t same = find_in_piece(p, node, 0);
        if (same != NODE_NONE && same != node) model_detach(&p->forest->tree, node);
    }
}

static struct status merge_pieces(struct pipeline *p)
{
    struct merge_forest *f = p->forest;
    uint32_t root = f->roots[p->group[0]];
    uint32_t node = model_after_below(&f->tree, root, root);
    while (node != NODE_NONE) {
        const struct merge_node *n = &f->nodes[node];
        bool enter = node_at(p, node)->type == NODE_MODULE && !n->added && !n->split &&
                     is_of_piece(merge_first_name(f, node), 0);
        if (enter) TRY(merge_piece(p, node));
        node = enter ? model_after_below(&f->tree, root, node)
                     : model_after_all(&f->tree, root, node);
    }
    drop_pieces(p, root);
    return status_ok();
}

/* ---- the sequence ------------------------------------------------------------------------------- */

static struct status run(struct pipeline *p)
{
    p->peers = memory_allocate(p->count * sizeof *p->peers);
    if (!p->peers) return status_no_memory(p->count * sizeof *p->peers);
    merge_modules(p);
    TRY(order_all(p));
    return p->pieces > 1 ? merge_pieces(p) : status_ok();
}

struct status merge_pipeline(struct merge_forest *forest, const uint32_t *group, uint32_t count,
                             unsigned pieces)
{
    struct pipeline p = { .forest = forest, .group = group, .count = count, .pieces = pieces };
    struct status status = run(&p);
    memory_release(p.peers);
    return status;
}
