/* One walk for all kinds. */
#include "variation/leaves.h"

#include <stdbool.h>

static bool is_leaf(const struct value *value, enum leaf_kind kind)
{
    switch (kind) {
    case LEAF_ARGUMENT:
    case LEAF_TENSOR: return value->kind == VALUE_TENSOR;
    case LEAF_INTEGER: return value->kind == VALUE_INT;
    case LEAF_NUMBER:
        return value->kind == VALUE_BOOL || value->kind == VALUE_INT || value->kind == VALUE_FLOAT;
    }
    return false;
}

/* *left: leaves to pass over before the one that is meant. */
static struct value *find_in(struct value *items, size_t count, enum leaf_kind kind, size_t *left)
{
    for (size_t i = 0; i < count; i++) {
        struct value *value = &items[i], *found = NULL;
        bool is_list = value->kind == VALUE_LIST || value->kind == VALUE_SIZE ||
                       value->kind == VALUE_DICT;
        if (is_leaf(value, kind) && !(*left)--) return value;
        if (is_list) found = find_in(value->list.items, value->list.count, kind, left);
        if (found) return found;
    }
    return NULL;
}

struct value *leaf_find(const struct api_case *c, enum leaf_kind kind, size_t k)
{
    const struct value *lists[] = { &c->args, &c->kwargs, &c->cotangents };
    size_t n_lists = kind == LEAF_TENSOR ? 3 : 2;
    struct value *found = NULL;
    for (size_t i = 0; !found && i < n_lists; i++)
        found = find_in(lists[i]->list.items, lists[i]->list.count, kind, &k);
    return found;
}
