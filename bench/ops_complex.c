/* Complex tensors from real ones. */
#include "bench/complex_functions.h"
#include "bench/operands.h"

/* real + i imag */
static void complex_from_parts(struct call *call)
{
    call_return(call, node_complex(call->graph, call_tensor(call, "real"), call_tensor(call, "imag")));
}

/* abs (cos angle + i sin angle) */
static void polar(struct call *call)
{
    struct graph *g = call->graph;
    struct node *size = call_tensor(call, "abs"), *angle = call_tensor(call, "angle");
    call_return(call, node_complex(g, node_multiply(g, size, node_apply(g, "cos", angle)),
                                   node_multiply(g, size, node_apply(g, "sin", angle))));
}

/* clang-format off */
const struct op ops_complex[] = {
    { "complex", TORCH, "(Tensor real, Tensor imag)", complex_from_parts, OP_ONE_NODE, 0, NULL },
    { "polar", TORCH, "(Tensor abs, Tensor angle)", polar, OP_ONE_NODE, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(complex);
