/* One call of a list is as many calls of its items. */
#include "bench/ops/foreach.h"

bool call_returns_lists(struct call *call)
{
    const struct value *outputs = &call->api_case->outputs;
    bool nothing = outputs->kind == VALUE_LIST && outputs->list.count == 1 &&
                   outputs->list.items[0].kind == VALUE_NONE;
    return call_require(call, !(call->in_place && nothing),
                        "%s returns nothing, and what it wrote into its arguments is not recorded",
                        call->api_case->api);
}

void call_for_each(struct call *call, void (*function)(struct call *call))
{
    struct arguments *arguments = &call->arguments;
    size_t count = arguments->bound[0].kind == VALUE_LIST ? arguments->bound[0].list.count : 0;

    if (!call_returns_lists(call)) return;
    for (int p = 0; p < arguments->schema->count; p++) {
        const struct value *value = &arguments->bound[p];
        if (!call_require(call, value->kind != VALUE_LIST || value->list.count == count,
                          "the list '%s' has %zu items, the first %zu",
                          arguments->schema->parameters[p].name, value->list.count, count))
            return;
    }
    for (size_t i = 0; i < count && !tape_failed(call->tape); i++) {
        struct call item = *call; /* the leaves and their nodes are shared */
        for (int p = 0; p < arguments->schema->count; p++)
            if (arguments->bound[p].kind == VALUE_LIST)
                item.arguments.bound[p] = arguments->bound[p].list.items[i];
        function(&item);
        call->results = item.results;
        call->device_answer.consulted |= item.device_answer.consulted;
    }
}
