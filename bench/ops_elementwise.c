/* Functions of one tensor that are one row of the function table. */
#include "bench/op.h"

/* y = f(x) by name (text); integers become float32. */
static void elementwise(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    enum dtype dtype = call_float_type(call, &x, 1);
    call_return_typed(call, node_apply(call->graph, call->op->text, x), dtype);
}

#define FLOATING(name, function)                                                            \
    { name, TENSOR | TORCH, "(Tensor input)", elementwise, OP_ONE_NODE, 0, function }

const struct op ops_elementwise[] = {
    FLOATING("exp", "exp"),
    FLOATING("log", "log"),
    FLOATING("sigmoid", "sigmoid"),
    FLOATING("tanh", "tanh"),
    FLOATING("rsqrt", "rsqrt"),
};
OP_TABLE_END(elementwise);
