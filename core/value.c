/* Walks over values and their parts. */
#include "core/value.h"

#include <string.h>

bool value_is_sequence(const struct value *value)
{
    return value->kind == VALUE_LIST || value->kind == VALUE_DICT || value->kind == VALUE_SLICE ||
           value->kind == VALUE_SIZE;
}

struct value *value_find(const struct value *dict, const char *key)
{
    if (dict->kind != VALUE_DICT) return NULL;
    for (size_t i = 0; i < dict->list.count; i++)
        if (!strcmp(dict->list.keys[i], key)) return &dict->list.items[i];
    return NULL;
}

bool value_each_tensor(struct value *value, bool (*visit)(struct value *tensor, void *context),
                       void *context)
{
    if (value->kind == VALUE_TENSOR) return visit(value, context);
    if (!value_is_sequence(value)) return true;
    for (size_t i = 0; i < value->list.count; i++)
        if (!value_each_tensor(&value->list.items[i], visit, context)) return false;
    return true;
}

size_t value_count_tensors(const struct value *value)
{
    if (value->kind == VALUE_TENSOR) return 1;
    if (!value_is_sequence(value)) return 0;
    size_t count = 0;
    for (size_t i = 0; i < value->list.count; i++)
        count += value_count_tensors(&value->list.items[i]);
    return count;
}
