/* Two walks over the arguments side by side. */
#include "runner/devices/leaf_order.h"

#include <stddef.h>

const char leaf_order_reason[] =
    "The call of PyTorch takes its tensors in another order, so its gradients are not dealt out.";

/* Tensor `wanted` of an argument tree, depth-first; *wanted counts down. */
struct search {
    size_t wanted;
    const struct tensor_record *found;
};

static bool is_wanted(struct value *tensor, void *context)
{
    struct search *search = context;
    if (search->wanted--) return true;
    search->found = tensor->tensor.record;
    return false;
}

static const struct tensor_record *leaf(const struct api_case *c, size_t i)
{
    struct search search = { .wanted = i };
    struct value args = c->args, kwargs = c->kwargs;
    (void)(value_each_tensor(&args, is_wanted, &search) &&
           value_each_tensor(&kwargs, is_wanted, &search));
    return search.found;
}

static size_t leaves(const struct api_case *c)
{
    return value_count_tensors(&c->args) + value_count_tensors(&c->kwargs);
}

bool leaf_order_is_kept(const struct api_case *c)
{
    if (!c->recorded) return true;
    size_t count = leaves(c);
    if (count != leaves(c->recorded)) return false;
    for (size_t i = 0; i < count; i++)
        if (leaf(c, i) != leaf(c->recorded, i)) return false;
    return true;
}
