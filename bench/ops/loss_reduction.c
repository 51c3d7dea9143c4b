/* The reduction argument of losses. */
#include "bench/ops/loss_reduction.h"

#include <string.h>

#include "bench/call/op.h"
#include "bench/call/schema.h"
#include "bench/primitives/reduce.h"

/* A legacy flag: given and not None. */
static bool has_flag(struct call *call, const char *name, bool *flag)
{
    for (int i = 0; i < call->arguments.schema->count; i++) {
        if (strcmp(call->arguments.schema->parameters[i].name, name) != 0) continue;
        if (!call->arguments.given[i] || call_is_none(call, name)) return false;
        *flag = call_bool(call, name);
        return true;
    }
    return false;
}

enum loss_reduction loss_reduction(struct call *call)
{
    const struct value *value = call_value(call, "reduction");
    bool average = true, reduce = true;
    bool legacy = has_flag(call, "size_average", &average);
    legacy = has_flag(call, "reduce", &reduce) || legacy;
    if (legacy) return !reduce ? LOSS_NONE : average ? LOSS_MEAN : LOSS_SUM;
    if (value->kind == VALUE_INT)
        return value->integer != 1 && value->integer != 2 ? LOSS_NONE
               : value->integer == 1                      ? LOSS_MEAN
                                                          : LOSS_SUM;
    const char *name = call_string(call, "reduction");
    if (!strcmp(name, "none")) return LOSS_NONE;
    if (!strcmp(name, "sum")) return LOSS_SUM;
    if (strcmp(name, "mean") != 0 && strcmp(name, "elementwise_mean") != 0)
        call_fail(call, "reduction is '%s'; it can be 'none', 'mean' or 'sum'", name);
    return LOSS_MEAN;
}

struct node *loss_reduced(struct call *call, struct node *loss)
{
    switch (loss_reduction(call)) {
    case LOSS_NONE: return loss;
    case LOSS_SUM: return node_sum(call->tape, loss, all_dims(loss), false);
    default: return node_mean(call->tape, loss, all_dims(loss), false);
    }
}
