/* Complex tensors from real ones. */
#include "bench/ops/operands.h"
#include "bench/primitives/complex_functions.h"

/* real + i imag */
static void complex_from_parts(struct call *call)
{
    call_return(call,
                node_complex(call->tape, call_tensor(call, "real"), call_tensor(call, "imag")));
}

/* abs (cos angle + i sin angle) */
static void polar(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *size = call_tensor(call, "abs"), *angle = call_tensor(call, "angle");
    call_return(call, node_complex(tape, node_multiply(tape, size, node_apply(tape, "cos", angle)),
                                   node_multiply(tape, size, node_apply(tape, "sin", angle))));
}

/* clang-format off */
const struct op ops_complex[] = {
    { "complex", TORCH, "(Tensor real, Tensor imag)", complex_from_parts, OP_ONE_NODE, 0, NULL },
    { "polar", TORCH, "(Tensor abs, Tensor angle)", polar, OP_ONE_NODE, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(complex);
