/* Complex tensors from real ones. */
#include "bench/call/op.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/complex_parts.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/unary.h"
#include "bench/tape/broadcast.h"

/* real + i imag, broadcast */
static void complex_from_parts(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *re = call_tensor(call, "real"), *im = call_tensor(call, "imag");
    int64_t shape[TENSOR_MAX_RANK];
    int rank;
    if (!shape_broadcast(&rank, shape, re->rank, re->shape, im->rank, im->shape)) {
        call_fail(call, "real and imaginary part do not broadcast");
        return;
    }
    call_return(call, node_complex(tape, node_broadcast(tape, re, rank, shape),
                                   node_broadcast(tape, im, rank, shape)));
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
