/* construct.json of any bytes: the hierarchy that is built of it is one tree with every node in it
 * once, forwards and backwards. */
#include <assert.h>

#include "fuzz/memory_file.h"
#include "graph/build.h"

static const struct name_slice gradients[] = {
    { "Module.a.A.parameters_grad", 26 },
    { "Module.b.parameters_grad.1", 26 },
};

static void check_tree(const struct model *model)
{
    uint32_t down = 0, up = 0;
    for (uint32_t node = model->root; node != NODE_NONE; node = model_after(model, node)) {
        const struct model_node *n = &model->nodes[node];
        assert(node < model->n_nodes && ++down <= model->n_nodes);
        if (node != model->root) assert(n->parent < model->n_nodes && n->parent != node);
        if (n->first_child != NODE_NONE) assert(model->nodes[n->first_child].parent == node);
        if (n->next != NODE_NONE) assert(model->nodes[n->next].previous == node);
        else if (node != model->root) assert(model->nodes[n->parent].last_child == node);
    }
    for (uint32_t node = model_deepest_first(model, model->root); node != NODE_NONE;
         node = model_after_children(model, node))
        assert(++up <= model->n_nodes);
    assert(down == up);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct memory_file file = memory_file_make(data, size);
    struct construct construct;
    struct model model;
    struct status status = construct_read(&construct, file.path, FILES_TRUSTED);

    if (!status.code) {
        uint32_t names = construct.names.count;
        if (!model_build(&model, &construct, gradients, 2).code) {
            assert(model.n_nodes > names);
            check_tree(&model);
            model_close(&model);
        }
        construct_close(&construct);
    } else {
        assert(status.code == STATUS_BAD_INPUT);
    }
    memory_file_close(&file);
    return 0;
}
