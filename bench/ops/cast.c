/* Conversions of dtype. A float target keeps the values: rounding to it is the device's. */
#include <string.h>

#include "bench/call/op.h"
#include "bench/ops/foreach.h"
#include "bench/ops/four_bits.h"
#include "bench/ops/hifloat8.h"
#include "bench/ops/quantizing.h"
#include "bench/primitives/casts.h"
#include "bench/primitives/movement.h"
#include "bench/primitives/selection.h"
#include "bench/primitives/stated_gradient.h"

/* detail: the dtype. */
static void to_fixed(struct call *call)
{
    struct node *x = call_tensor(call, "input");
    call_return_typed(call, node_cast(call->tape, x, (enum dtype)call->op->detail),
                      (enum dtype)call->op->detail);
}

static void to_dtype(struct call *call, enum dtype dtype)
{
    struct node *x = call_tensor(call, "input");
    if (dtype == DT_NONE) dtype = x->dtype;
    call_return_typed(call, node_cast(call->tape, x, dtype), dtype);
}

/* to(dtype), to(device, dtype). */
static void to(struct call *call) { to_dtype(call, call_dtype(call, "dtype")); }

/* copy(self, src): src in the dtype of self, broadcast to its shape. */
static void copy(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *self = call_tensor(call, "input"), *source = call_tensor(call, "src");
    struct node *y =
        node_broadcast(tape, node_cast(tape, source, self->dtype), self->rank, self->shape);
    if (!self->integer && !self->imaginary &&
        !y->imaginary) { /* what was there has a gradient of 0 */
        struct node *before = node_constant(tape, DT_NONE, 0, self->rank, self->shape);
        y = node_select(tape, node_integer_constant(tape, DT_BOOL, 1, 0, NULL), y,
                        node_flat(tape, before, 1, &self));
    }
    call_return_typed(call, y, self->dtype);
}

/* to(other), type_as(other). */
static void to_other(struct call *call) { to_dtype(call, call_tensor(call, "other")->dtype); }

/* type(dtype) or type("torch.FloatTensor"); without one the name of the type. */
static void to_type(struct call *call)
{
    static const struct {
        const char *name;
        enum dtype dtype;
    } tensor_types[] = {
        { "torch.FloatTensor", DT_F32 },        { "torch.DoubleTensor", DT_F64 },
        { "torch.HalfTensor", DT_F16 },         { "torch.BFloat16Tensor", DT_BF16 },
        { "torch.LongTensor", DT_I64 },         { "torch.IntTensor", DT_I32 },
        { "torch.ShortTensor", DT_I16 },        { "torch.CharTensor", DT_I8 },
        { "torch.ByteTensor", DT_U8 },          { "torch.BoolTensor", DT_BOOL },
        { "torch.ComplexFloatTensor", DT_C64 }, { "torch.ComplexDoubleTensor", DT_C128 },
    };
    const struct value *value = call_value(call, "dtype");
    enum dtype dtype = value->kind == VALUE_DTYPE ? value->dtype : DT_NONE;
    if (value->kind == VALUE_NONE) {
        enum dtype own = call_tensor(call, "input")->dtype;
        for (size_t i = 0; i < sizeof tensor_types / sizeof *tensor_types; i++)
            if (own == tensor_types[i].dtype)
                call_return_value(
                    call, (struct value){ .kind = VALUE_STRING, .string = tensor_types[i].name });
        return;
    }
    if (value->kind == VALUE_STRING) {
        for (size_t i = 0; i < sizeof tensor_types / sizeof *tensor_types; i++)
            if (!strcmp(value->string, tensor_types[i].name)) dtype = tensor_types[i].dtype;
        if (dtype == DT_NONE) dtype = dtype_from_name(value->string);
        if (!call_require(call, dtype != DT_NONE, "type '%s' is not known", value->string)) return;
    }
    to_dtype(call, dtype);
}

/* torch_npu's: to(dtype), and from and to the floats that come in bytes, which numbers name. */
static void npu_cast(struct call *call)
{
    struct tape *tape = call->tape;
    struct node *x = call_tensor(call, "input");
    const struct four_bits *from = four_bits_named(call, "input_dtype");
    static const struct quantizing exactly = { 0, DT_NONE, NULL };
    if (from) x = four_bits_unpacked(call, x, from);
    else if (hifloat8_named(call, "input_dtype")) x = hifloat8_unpacked(call, x);
    if (call_value(call, "dtype")->kind == VALUE_INT) {
        call_return_quantized_named(call, node_to_real(tape, x), "dtype", &exactly, 0);
        return;
    }
    enum dtype dtype = call_dtype(call, "dtype");
    if (dtype == DT_NONE) dtype = x->dtype;
    call_return_typed(call, node_cast(tape, x, dtype), dtype);
}

static void each_copy(struct call *call) { call_for_each(call, copy); }

/* clang-format off */
#define CAST(name, dtype) { name, TENSOR, "(Tensor input, ...)", to_fixed, OP_ONE_NODE, dtype, NULL }
const struct op ops_cast[] = {
    CAST("float", DT_F32), CAST("double", DT_F64), CAST("half", DT_F16), CAST("bfloat16", DT_BF16),
    CAST("cfloat", DT_C64), CAST("cdouble", DT_C128),
    { "int", TENSOR, "(Tensor input, ...)", to_fixed, OP_NO_GRADIENT, DT_I32, NULL },
    { "long", TENSOR, "(Tensor input, ...)", to_fixed, OP_NO_GRADIENT, DT_I64, NULL },
    { "short", TENSOR, "(Tensor input, ...)", to_fixed, OP_NO_GRADIENT, DT_I16, NULL },
    { "char", TENSOR, "(Tensor input, ...)", to_fixed, OP_NO_GRADIENT, DT_I8, NULL },
    { "byte", TENSOR, "(Tensor input, ...)", to_fixed, OP_NO_GRADIENT, DT_U8, NULL },
    { "bool", TENSOR, "(Tensor input, ...)", to_fixed, OP_NO_GRADIENT, DT_BOOL, NULL },
    { "to", TENSOR, "(Tensor input, Tensor other, bool non_blocking=False, bool copy=False, ...)", to_other, OP_ONE_NODE, 0, NULL },
    { "to", TENSOR, "(Tensor input, ScalarType dtype, bool non_blocking=False, bool copy=False, ...)", to, OP_ONE_NODE, 0, NULL },
    { "to", TENSOR, "(Tensor input, Device? device=None, ScalarType? dtype=None, bool non_blocking=False, bool copy=False, ...)", to, OP_ONE_NODE, 0, NULL },
    { "npu_dtype_cast", NPU, "(Tensor input, Any dtype, Any input_dtype=None)", npu_cast, OP_ONE_NODE, 0, NULL },
    { "_to_copy", ATEN, "(Tensor input, *, ScalarType? dtype=None, ...)", to, OP_ONE_NODE, 0, NULL },
    { "copy", TENSOR | ATEN, "(Tensor input, Tensor src, bool non_blocking=False)", copy, OP_ONE_NODE, 0, NULL },
    { "type_as", TENSOR, "(Tensor input, Tensor other)", to_other, OP_ONE_NODE, 0, NULL },
    { "type", TENSOR, "(Tensor input, Any dtype=None, bool non_blocking=False, ...)", to_type, OP_ONE_NODE, 0, NULL },
    { "_foreach_copy", ATEN, "(Tensor[] input, Tensor[] src, bool non_blocking=False)", each_copy, OP_ONE_NODE, 0, NULL },
};
/* clang-format on */
OP_TABLE_END(cast);
