/* Functions of three tensors, clamping and selection. */
#include <math.h>
#include <string.h>

#include "bench/call/op.h"
#include "bench/ops/foreach.h"
#include "bench/ops/integers.h"
#include "bench/ops/operands.h"
#include "bench/primitives/alias.h"
#include "bench/primitives/binary.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/composed_functions.h"
#include "bench/primitives/cotangent.h"
#include "bench/primitives/integral.h"
#include "bench/primitives/selection.h"
#include "bench/primitives/stated_gradient.h"
#include "bench/tape/broadcast.h"

/* As autograd composes them: of tensor1 c (value / tensor2), of tensor2 -c ((value tensor1) / (tensor2 tensor2)). */
static void quotient_slopes(struct tape *tape, struct node *node, struct node *cotangent,
                            const void *parameters)
{
    struct node *x = node->inputs[1], *a = node->inputs[2], *b = node->inputs[3];
    struct node *value = (struct node *)parameters;
    gradient_pass(tape, x, cotangent, NULL);
    gradient_pass(tape, a, cotangent, node_divide(tape, value, b));
    struct node *slope =
        node_divide(tape, node_multiply(tape, value, a), node_multiply(tape, b, b));
    gradient_pass(tape, b, node_negate(tape, cotangent), slope);
}

/* The same of a product: c (tensor2 value) and c (tensor1 value). */
static void product_slopes(struct tape *tape, struct node *node, struct node *cotangent,
                           const void *parameters)
{
    struct node *a = node->inputs[2], *b = node->inputs[3], *value = (struct node *)parameters;
    gradient_pass(tape, node->inputs[1], cotangent, NULL);
    gradient_pass(tape, a, cotangent, node_multiply(tape, b, value));
    gradient_pass(tape, b, cotangent, node_multiply(tape, a, value));
}

/* input + value * tensor1 * tensor2 (detail 1: tensor1 / tensor2). */
static void add_combined(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input"), *a = call_tensor(call, "tensor1");
    struct node *b = call_tensor(call, "tensor2"),
                *value = call_node(call, call_value(call, "value"));
    enum dtype dtype = call_result_type(call, (struct node *[]){ x, a, b }, 3);
    bool divides = call->op->detail != 0;
    if (x->integer && a->integer && b->integer) {
        if (!call_require(call, !divides, "addcdiv of integers")) return;
        value = node_to_integer(tape, value, DT_I64);
        struct node *y = node_integer_binary(tape, dtype, wrapping_multiply, a, b);
        y = node_integer_binary(tape, dtype, wrapping_multiply, y, value);
        call_return(call, node_integer_binary(tape, dtype, wrapping_add, x, y));
        return;
    }
    x = node_staged_operand(tape, x, dtype);
    a = operand_repeated(tape, node_staged_operand(tape, a, dtype), x);
    b = node_staged_operand(tape, b, dtype);
    struct node *y = divides ? node_divide(tape, a, b) : node_multiply(tape, a, b);
    if (call_real(call, "value") != 1) y = node_multiply(tape, y, value);
    y = node_add(tape, x, y);
    if (composes(tape) && !y->imaginary)
        y = node_stated_gradient(tape, y, 3, (struct node *[]){ x, a, b },
                                 divides ? quotient_slopes : product_slopes, value);
    call_return_typed(call, y, dtype);
}

/* Of input and end: c (1 - weight) and c weight; of weight c (end - input). */
static void lerp_slopes(struct tape *tape, struct node *node, struct node *cotangent,
                        const void *parameters)
{
    struct node *a = node->inputs[1], *b = node->inputs[2], *weight = node->inputs[3];
    (void)parameters;
    gradient_pass(tape, a, cotangent, node_subtract(tape, node_scalar(tape, 1), weight));
    gradient_pass(tape, b, cotangent, weight);
    gradient_pass(tape, weight, cotangent, node_subtract(tape, b, a));
}

/* input + weight (end - input) */
static void lerp(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *a = call_tensor(call, "input"), *b = call_tensor(call, "end");
    struct node *weight = call_tensor(call, "weight");
    enum dtype dtype = call_result_type(call, (struct node *[]){ a, b }, 2);
    struct node *y = node_add(tape, a, node_multiply(tape, weight, node_subtract(tape, b, a)));
    if (tape_is_model(tape)) {
        /* Or two products, or from the other end. What goes to the weight is the product of c and end - input in all of them: two products
         * for it have c times what is off in both where the ends cancel, and no autograd forms them. */
        struct node *rest = node_detach(tape, node_subtract(tape, node_scalar(tape, 1), weight));
        struct node *way = node_detach(tape, node_subtract(tape, b, a));
        struct node *back = node_multiply(tape, way, rest);
        y = node_model_either(tape, y, node_subtract(tape, node_detach(tape, b), back));
        y = node_model_either(tape, y,
                              node_add(tape, node_multiply(tape, rest, a),
                                       node_multiply(tape, node_detach(tape, weight), b)));
    }
    if (composes(tape) && !y->imaginary)
        y = node_stated_gradient(tape, y, 3, (struct node *[]){ a, b, weight }, lerp_slopes, NULL);
    call_return_typed(call, y, dtype);
}

/* ---- clamp ----------------------------------------------------------------------------------- */

/* A limit, or NULL when None or not a parameter of this row. */
static struct node *limit_of(struct call *call, const char *name)
{
    return strstr(call->op->schema, name) ? call_optional_tensor(call, name) : NULL;
}

/* Where x lies between the limits, both included, it takes the cotangent; a tensor limit takes
 * it where it binds (of crossed limits the upper one does). */
static void clamp_backward(struct tape *tape, struct node *node, struct node *cotangent,
                           const void *parameters)
{
    const bool *has = parameters; /* which limits there are, in order of the inputs */
    struct node *x = node->inputs[1], *low = NULL, *high = NULL;
    struct node *one = node_scalar(tape, 1), *zero = node_scalar(tape, 0);
    int at = 2;
    if (has[0]) low = node->inputs[at++];
    if (has[1]) high = node->inputs[at];
    struct node *inside = NULL;
    if (low) inside = node_compare(tape, COMPARE_GE, x, node_as_compared(tape, low, x->dtype));
    if (high) {
        struct node *below =
            node_compare(tape, COMPARE_LE, x, node_as_compared(tape, high, x->dtype));
        inside = inside ? node_and(tape, inside, below) : below;
    }
    gradient_pass(tape, x, cotangent, node_select(tape, inside, one, zero));
    if (low && low->tracked) {
        struct node *binds = node_compare(tape, COMPARE_LT, x, low);
        if (high) binds = node_and(tape, binds, node_compare(tape, COMPARE_LT, low, high));
        gradient_pass(tape, low, cotangent, node_select(tape, binds, one, zero));
    }
    if (high && high->tracked) {
        struct node *binds = node_compare(tape, COMPARE_GT, x, high);
        if (low) binds = node_or(tape, binds, node_compare(tape, COMPARE_LT, high, low));
        gradient_pass(tape, high, cotangent, node_select(tape, binds, one, zero));
    }
}

/* NaN in x stays; NaN in a tensor limit is the result. */
static void clamp(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input");
    struct node *low = limit_of(call, "min"), *high = limit_of(call, "max");
    struct node *all[3] = { x }, *inputs[3];
    int count = 1;
    bool *has = tape_allocate(tape, 2, sizeof *has);
    if (low) all[count++] = low;
    if (high) all[count++] = high;
    if (!call_require(call, count != 1, "clamp needs a limit")) return;
    enum dtype dtype = call_result_type(call, all, count);
    if (dtype_is_integral(dtype)) {
        x = node_cast(tape, x, dtype);
        call_return(call, clamp_integers(tape, dtype, x, low, high));
        return;
    }
    for (int k = 0; k < count; k++) inputs[k] = node_to_real(tape, all[k]);
    has[0] = low != NULL;
    has[1] = high != NULL;
    struct node *y = inputs[0];
    int at = 1;
    if (low) {
        struct node *limit = inputs[at++];
        struct node *under =
            node_or(tape, node_compare(tape, COMPARE_LT, y, limit), node_isnan(tape, limit));
        y = node_select(tape, under, limit, y);
    }
    if (high) {
        struct node *limit = inputs[at];
        struct node *over =
            node_or(tape, node_compare(tape, COMPARE_GT, y, limit), node_isnan(tape, limit));
        y = node_select(tape, over, limit, y);
    }
    y = node_stated_gradient(tape, y, count, inputs, clamp_backward, has);
    call_return_typed(call, y, dtype);
}

/* ---- where -------------------------------------------------------------------------------------- */

static void where(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *condition = call_tensor(call, "condition");
    struct node *a = call_tensor(call, "input"), *b = call_tensor(call, "other");
    enum dtype dtype = call_result_type(call, (struct node *[]){ a, b }, 2);
    if (dtype_is_complex(dtype)) {
        a = node_cast(tape, a, dtype);
        b = node_cast(tape, b, dtype);
    }
    call_return_typed(call, node_select(tape, condition, a, b), dtype);
}

/* The positions where it holds: one index tensor per dimension (one for 0-d). */
static void where_positions(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *flag = node_to_integer(tape, call_tensor(call, "condition"), DT_BOOL);
    int64_t count = 0, stride[TENSOR_MAX_RANK];
    if (tape_failed(tape)) return;
    for (size_t i = 0; i < flag->n; i++) count += flag->integer[i];
    shape_strides(stride, flag->rank, flag->shape);
    for (int d = 0; d < flag->rank || d == 0; d++) {
        struct node *index = node_new_integer(tape, DT_I64, 1, &count);
        if (tape_failed(tape)) return;
        for (size_t i = 0, k = 0; i < flag->n; i++)
            if (flag->integer[i])
                index->integer[k++] = flag->rank ? (int64_t)i / stride[d] % flag->shape[d] : 0;
        call_return(call, index);
    }
}

/* ---- lists --------------------------------------------------------------------------------------- */

/* clang-format off */
static void each_add_combined(struct call *call) { call_for_each(call, add_combined); }
static void each_lerp(struct call *call) { call_for_each(call, lerp); }
/* clang-format on */

/* clang-format off */
const struct op ops_nary[] = {
    { "addcmul", TENSOR | TORCH, "(Tensor input, Tensor tensor1, Tensor tensor2, *, Scalar value=1)", add_combined, OP_ONE_NODE, 0, NULL },
    { "addcdiv", TENSOR | TORCH, "(Tensor input, Tensor tensor1, Tensor tensor2, *, Scalar value=1)", add_combined, OP_ONE_NODE, 1, NULL },
    /* The older order. */
    { "addcmul", TENSOR | TORCH, "(Tensor input, Scalar value, Tensor tensor1, Tensor tensor2)", add_combined, OP_ONE_NODE, 0, NULL },
    { "addcdiv", TENSOR | TORCH, "(Tensor input, Scalar value, Tensor tensor1, Tensor tensor2)", add_combined, OP_ONE_NODE, 1, NULL },
    { "lerp", TENSOR | TORCH, "(Tensor input, Tensor end, Tensor weight)", lerp, OP_ONE_NODE, 0, NULL },
    { "clamp|clip", TENSOR | TORCH, "(Tensor input, Tensor? min=None, Tensor? max=None)", clamp, OP_ONE_NODE, 0, NULL },
    { "clamp_min", TENSOR | TORCH, "(Tensor input, Tensor min)", clamp, OP_ONE_NODE, 0, NULL },
    { "clamp_max", TENSOR | TORCH, "(Tensor input, Tensor max)", clamp, OP_ONE_NODE, 0, NULL },
    { "where", TENSOR, "(Tensor input, Tensor condition, Tensor other)", where, OP_ONE_NODE, 0, NULL },
    { "where", TORCH, "(Tensor condition, Tensor input, Tensor other)", where, OP_ONE_NODE, 0, NULL },
    { "where", TORCH, "(Tensor condition)", where_positions, OP_NO_GRADIENT, 0, NULL },
    { "_foreach_addcmul", TORCH, "(Tensor[] input, Tensor[] tensor1, Tensor[] tensor2, Any value=1)", each_add_combined, OP_ONE_NODE, 0, NULL },
    { "_foreach_addcdiv", TORCH, "(Tensor[] input, Tensor[] tensor1, Tensor[] tensor2, Any value=1)", each_add_combined, OP_ONE_NODE, 1, NULL },
    { "_foreach_lerp", TORCH, "(Tensor[] input, Tensor[] end, Any weight)", each_lerp, OP_ONE_NODE, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(nary);
