/* Complex tensors from real ones and back. */
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

/* Pairs along a new last dimension. */
static void view_as_real(struct call *call)
{
    struct graph *g = call->graph;
    struct node *x = call_tensor(call, "input");
    int64_t shape[TENSOR_MAX_RANK];
    if (!x->imaginary || x->rank + 1 > TENSOR_MAX_RANK) {
        call_fail(call, "view_as_real takes complex tensors");
        return;
    }
    for (int d = 0; d < x->rank; d++) shape[d] = x->shape[d];
    shape[x->rank] = 1;
    struct node *parts[2] = { node_reshape(g, node_real_part(g, x), x->rank + 1, shape),
                              node_reshape(g, node_imaginary_part(g, x), x->rank + 1, shape) };
    call_return(call, node_concatenate(g, parts, 2, x->rank));
}

static void view_as_complex(struct call *call)
{
    struct graph *g = call->graph;
    struct node *x = call_tensor(call, "input");
    int last = x->rank - 1;
    if (last < 0 || x->shape[last] != 2 || x->integer) {
        call_fail(call, "view_as_complex takes floats with a last dimension of 2");
        return;
    }
    struct node *re = node_slice(g, x, last, 0, 1, 1), *im = node_slice(g, x, last, 1, 1, 1);
    call_return(call, node_complex(g, node_reshape(g, re, last, x->shape),
                                   node_reshape(g, im, last, x->shape)));
}

/* clang-format off */
const struct op ops_complex[] = {
    { "complex", TORCH, "(Tensor real, Tensor imag)", complex_from_parts, OP_ONE_NODE, 0, NULL },
    { "polar", TORCH, "(Tensor abs, Tensor angle)", polar, OP_ONE_NODE, 0, NULL },
    { "view_as_real", TORCH, "(Tensor input)", view_as_real, OP_ONE_NODE, 0, NULL },
    { "view_as_complex", TORCH, "(Tensor input)", view_as_complex, OP_ONE_NODE, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(complex);
