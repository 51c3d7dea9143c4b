/* Arithmetic of two and three tensors: add, sub, mul, div, pow, remainders, extrema, lerp. */
#include "bench/op.h"

/* The two operands in their common dtype. */
struct operands {
    struct node *a, *b;
    enum dtype dtype;
};

static struct operands two_operands(struct call *call, const char *first, const char *second)
{
    struct operands o = { call_tensor(call, first), call_tensor(call, second), DT_NONE };
    o.dtype = call_result_type(call, (struct node *[]){ o.a, o.b }, 2);
    return o;
}

static bool is_integral(const struct operands *o)
{
    return o->a->integer && o->b->integer;
}

static int64_t wrapping_add(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }
static int64_t wrapping_subtract(int64_t a, int64_t b) { return (int64_t)((uint64_t)a - (uint64_t)b); }
static int64_t wrapping_multiply(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }

/* a + alpha b and a - alpha b; detail is the sign. rsub swaps its operands: text "swap". */
static void add(struct call *call)
{
    struct graph *g = call->graph;
    struct operands o = two_operands(call, "input", "other");
    struct node *alpha = call_node(call, call_value(call, "alpha"));
    if (call->op->text) {
        struct node *a = o.a;
        o.a = o.b;
        o.b = a;
    }
    if (is_integral(&o) && alpha->integer) {
        struct node *scaled = node_integer_binary(g, o.dtype, wrapping_multiply, o.b, alpha);
        call_return(call, node_integer_binary(g, o.dtype,
                                              call->op->detail > 0 ? wrapping_add : wrapping_subtract,
                                              o.a, scaled));
        return;
    }
    struct node *b = call_real(call, "alpha") == 1 ? o.b : node_multiply(g, o.b, alpha);
    struct node *y = call->op->detail > 0 ? node_add(g, o.a, b) : node_subtract(g, o.a, b);
    call_return_typed(call, y, o.dtype);
}

static void multiply(struct call *call)
{
    struct graph *g = call->graph;
    struct operands o = two_operands(call, "input", "other");
    if (is_integral(&o)) {
        call_return(call, node_integer_binary(g, o.dtype, wrapping_multiply, o.a, o.b));
        return;
    }
    call_return_typed(call, node_multiply(g, o.a, o.b), o.dtype);
}

/* clang-format off */
const struct op ops_arithmetic[] = {
    { "add", TENSOR | TORCH, "(Tensor input, Tensor other, *, Scalar alpha=1)", add, OP_ONE_NODE, 1, NULL },
    { "sub|subtract", TENSOR | TORCH, "(Tensor input, Tensor other, *, Scalar alpha=1)", add, OP_ONE_NODE, -1, NULL },
    { "rsub", TENSOR | TORCH, "(Tensor input, Tensor other, *, Scalar alpha=1)", add, OP_ONE_NODE, -1, "swap" },
    { "mul|multiply", TENSOR | TORCH, "(Tensor input, Tensor other)", multiply, OP_ONE_NODE, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(arithmetic);
