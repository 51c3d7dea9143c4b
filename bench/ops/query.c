/* Questions about a tensor, answered by plain values. */
#include <string.h>

#include "bench/call/op.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/complex_parts.h"
#include "bench/tape/broadcast.h"
#include "bench/tape/promotion.h"

static void return_int(struct call *call, int64_t x)
{
    call_return_value(call, (struct value){ .kind = VALUE_INT, .integer = x });
}

static void return_bool(struct call *call, bool x)
{
    call_return_value(call, (struct value){ .kind = VALUE_BOOL, .boolean = x });
}

/* Element i of x as Python would have it. */
static void return_element(struct call *call, struct node *x, size_t i)
{
    if (x->integer) {
        if (x->dtype == DT_BOOL) return_bool(call, x->integer[i] != 0);
        else return_int(call, x->integer[i]);
        return;
    }
    const double *value = node_values(call->tape, x);
    if (tape_failed(call->tape)) return;
    call_return_value(call, (struct value){ .kind = VALUE_FLOAT, .real = value[i] });
}

/* size, and stride of the dense tensor (text): one extent, or all of them. */
static void size(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    int64_t stride[TENSOR_MAX_RANK];
    shape_strides(stride, x->rank, x->shape);
    const int64_t *what = call->op->text ? stride : x->shape;
    if (!call_is_none(call, "dim")) {
        int dim = call_dim(call, "dim", x->rank);
        if (x->rank) return_int(call, what[dim]);
        else call_fail(call, "a scalar has no dimensions");
        return;
    }
    for (int d = 0; d < x->rank; d++) return_int(call, what[d]);
}

static void dimensions(struct call *call) { return_int(call, call_tensor(call, "input")->rank); }

static void element_count(struct call *call)
{
    return_int(call, (int64_t)call_tensor(call, "input")->n);
}

static void element_size(struct call *call)
{
    return_int(call, (int64_t)dtype_info(call_tensor(call, "input")->dtype)->bytes);
}

static void length(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    if (!x->rank) call_fail(call, "a scalar has no length");
    else return_int(call, x->shape[0]);
}

static bool one_element(struct call *call, const struct node *x)
{
    return call_require(call, x->n == 1 && !x->imaginary,
                        "one real element is needed, the tensor has %zu", x->n);
}

static void item(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    if (one_element(call, x)) return_element(call, x, 0);
}

/* bool(x) */
static void truth(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    if (!call_require(call, x->n == 1, "a tensor of %zu elements has no truth value", x->n)) return;
    struct node *flag = node_to_integer(call->tape, x, DT_BOOL);
    if (!tape_failed(call->tape)) return_bool(call, flag->integer[0] != 0);
}

/* The real part of a number whose imaginary part is 0, as Python converts it. */
static struct node *real_of(struct call *call, struct node *x)
{
    if (!x->imaginary || x->n != 1) return x;
    const double *im = node_values(call->tape, x->imaginary);
    return !tape_failed(call->tape) && *im == 0 ? node_real_part(call->tape, x) : x;
}

/* int(x) */
static void whole_number(struct call *call)
{
    struct node *x = real_of(call, call_tensor(call, "input"));
    if (!one_element(call, x)) return;
    struct node *whole = node_cast(call->tape, x, DT_I64);
    if (!tape_failed(call->tape)) return_int(call, whole->integer[0]);
}

/* float(x) */
static void real_number(struct call *call)
{
    struct node *x = real_of(call, call_tensor(call, "input"));
    if (!one_element(call, x)) return;
    const double *value = node_values(call->tape, x);
    if (tape_failed(call->tape)) return;
    call_return_value(call, (struct value){ .kind = VALUE_FLOAT, .real = *value });
}

static void tolist(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    if (!call_require(call, x->n <= CALL_MOST_OUTPUTS && !x->imaginary, "a list of %zu elements",
                      x->n))
        return;
    for (size_t i = 0; i < x->n && !tape_failed(call->tape); i++) return_element(call, x, i);
}

/* detail: the answer for every tensor here; they are dense, and nothing about them is lazy. */
static void same_answer(struct call *call) { return_bool(call, call->op->detail != 0); }

static void is_tensor(struct call *call)
{
    return_bool(call, call_value(call, "obj")->kind == VALUE_TENSOR);
}

static void is_same_size(struct call *call)
{
    struct node *x = call_tensor(call, "input"), *y = call_tensor(call, "other");
    return_bool(call, x->rank == y->rank &&
                          !memcmp(x->shape, y->shape, (size_t)x->rank * sizeof *x->shape));
}

static void return_dtype(struct call *call, enum dtype dtype)
{
    call_return_value(call, (struct value){ .kind = VALUE_DTYPE, .dtype = dtype });
}

static void result_type(struct call *call)
{
    struct node *operands[2] = { call_tensor(call, "tensor1"), call_tensor(call, "tensor2") };
    return_dtype(call, call_result_type(call, operands, 2));
}

static void promote_types(struct call *call)
{
    return_dtype(call, dtype_promote(call_dtype(call, "type1"), call_dtype(call, "type2")));
}

/* May a value of one dtype become the other without losing its kind? PyTorch does not ask for the sign. */
static void can_cast(struct call *call)
{
    enum dtype from = call_dtype(call, "from_"), to = call_dtype(call, "to");
    return_bool(call, dtype_info(from)->kind <= dtype_info(to)->kind);
}

/* clang-format off */
#define QUERY(names, groups, function, detail) \
    { names, groups, "(Tensor input)", function, OP_NO_GRADIENT, detail, NULL }

const struct op ops_query[] = {
    { "size|sym_size", TENSOR | ATEN, "(Tensor input, int? dim=None)", size, OP_NO_GRADIENT, 0, NULL },
    { "stride|sym_stride", TENSOR | ATEN, "(Tensor input, int? dim=None)", size, OP_NO_GRADIENT, 0, "stride" },
    QUERY("dim|ndimension", TENSOR, dimensions, 0),
    QUERY("numel|nelement", TENSOR | TORCH, element_count, 0),
    QUERY("element_size|itemsize", TENSOR, element_size, 0),
    QUERY("__len__", TENSOR, length, 0),
    QUERY("item|_local_scalar_dense", TENSOR | ATEN, item, 0),
    QUERY("__bool__|__nonzero__|is_nonzero", TENSOR | TORCH, truth, 0),
    QUERY("__int__|__index__|__long__", TENSOR, whole_number, 0),
    QUERY("__float__", TENSOR, real_number, 0),
    QUERY("tolist", TENSOR, tolist, 0),
    QUERY("is_contiguous", TENSOR, same_answer, true),
    QUERY("is_conj|is_neg|is_inference", TENSOR | TORCH, same_answer, false),
    { "is_tensor", TORCH, "(Any obj)", is_tensor, OP_NO_GRADIENT, 0, NULL },
    { "is_same_size", TENSOR | TORCH, "(Tensor input, Tensor other)", is_same_size, OP_NO_GRADIENT, 0, NULL },
    { "result_type", TORCH, "(Tensor tensor1, Tensor tensor2)", result_type, OP_NO_GRADIENT, 0, NULL },
    { "promote_types", TORCH, "(ScalarType type1, ScalarType type2)", promote_types, OP_NO_GRADIENT, 0, NULL },
    { "can_cast", TORCH, "(ScalarType from_, ScalarType to)", can_cast, OP_NO_GRADIENT, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(query);
