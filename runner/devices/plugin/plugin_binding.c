/* What choosing a kernel and writing its program both need to know. */
#include "runner/devices/plugin/plugin_binding.h"

#include <stdio.h>

struct status binding_located(const struct binding *b, const cJSON *node, struct status st)
{
    return st.code == STATUS_BAD_INPUT ? BINDING_FAULT(b, node, "%s", st.text) : st;
}

struct label_search {
    const struct tensor *wanted;
    size_t index;
};

static bool count_to(struct value *value, void *context)
{
    struct label_search *search = context;
    if (value->tensor.tensor == search->wanted) return false;
    search->index++;
    return true;
}

void binding_label(char *text, size_t bytes, const struct binding *b, const struct tensor *tensor)
{
    struct label_search search = { tensor, 0 };
    struct value args = b->c->args, kwargs = b->c->kwargs, cotangents = b->c->cotangents;
    if (!value_each_tensor(&args, count_to, &search) ||
        !value_each_tensor(&kwargs, count_to, &search)) {
        (void)snprintf(text, bytes, "input %zu", search.index);
        return;
    }
    search.index = 0;
    if (!value_each_tensor(&cotangents, count_to, &search))
        (void)snprintf(text, bytes, "cotangent %zu", search.index);
    else (void)snprintf(text, bytes, "forward output");
}

struct status binding_axes(int *axes, const struct binding *b, const cJSON *node, const char *text,
                           int rank)
{
    bool seen[TENSOR_MAX_RANK] = { false };
    int64_t order[TENSOR_MAX_RANK];
    int count;
    for (int i = 0; i < rank; i++) axes[i] = i;
    if (!text) return status_ok();
    TRY(binding_located(b, node, expression_as_shape(order, &count, &b->scope, text)));
    if (count != rank) return BINDING_FAULT(b, node, "\"axes\" needs %d numbers", rank);
    for (int i = 0; i < rank; i++) {
        if (order[i] >= rank || seen[order[i]])
            return BINDING_FAULT(b, node, "\"axes\" is not an order of %d dimensions", rank);
        seen[order[i]] = true;
        axes[i] = (int)order[i];
    }
    return status_ok();
}

struct status binding_dtype(enum dtype *out, const struct binding *b, const cJSON *node,
                            const char *text)
{
    const char *name;
    TRY(binding_located(b, node, expression_as_string(&name, &b->scope, text)));
    *out = dtype_from_name(name);
    return *out == DT_NONE ? BINDING_FAULT(b, node, "\"%s\" is not a dtype", name) : status_ok();
}
