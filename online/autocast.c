/* Which calls autocast runs in its dtype is a list of PyTorch's (aten/src/ATen/autocast_mode.h); what it runs in float32 has
 * the arguments that were recorded, and what it leaves alone has one dtype throughout. */
#include "online/autocast.h"

#include <string.h>

#include "runner/devices/autocast.h"

enum { BLOCK = 4096 };

static bool is_cast_by_autocast(const struct api_case *call)
{
    static const char *const groups[] = { "Functional", "Tensor", "Torch" };
    static const char *const names[] = {
        "conv1d",
        "conv2d",
        "conv3d",
        "conv_tbc",
        "conv_transpose1d",
        "conv_transpose2d",
        "conv_transpose3d",
        "convolution",
        "linear",
        "bilinear",
        "matmul",
        "__matmul__",
        "__rmatmul__",
        "mm",
        "bmm",
        "mv",
        "inner",
        "addmm",
        "addmv",
        "addr",
        "addbmm",
        "baddbmm",
        "chain_matmul",
        "linalg.multi_dot",
        "einsum",
        "tensordot",
        "prelu",
        "scaled_dot_product_attention",
    };
    bool known = false;
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        known |= !strcmp(call->type, groups[i]);
    for (size_t i = 0; known && i < sizeof names / sizeof *names; i++)
        if (!strcmp(call->api, names[i])) return true;
    return false;
}

struct cast {
    struct arena *arena;
    enum dtype to;
};

static bool is_castable(enum dtype dtype)
{
    return dtype == DT_F32 || dtype == DT_F16 || dtype == DT_BF16;
}

/* False where there is no room. */
static bool cast_tensor(struct value *value, void *context)
{
    const struct cast *cast = context;
    const struct tensor *from = value->tensor.tensor;
    struct tensor dense, *to;
    struct tensor_record *record;
    float block[BLOCK];

    if (!from || !is_castable(from->dtype) || from->dtype == cast->to) return true;
    to = arena_allocate(cast->arena, sizeof *to);
    record = arena_allocate(cast->arena, sizeof *record);
    if (!to || !record || tensor_densify(&dense, cast->arena, from).code ||
        tensor_create(to, cast->arena, cast->to, from->rank, from->shape).code)
        return false;
    size_t n = tensor_elements(&dense), bytes = dtype_info(dense.dtype)->bytes,
           to_bytes = dtype_info(cast->to)->bytes;
    for (size_t at = 0; at < n; at += BLOCK) {
        size_t count = n - at < BLOCK ? n - at : BLOCK;
        dtype_to_float(block, (const char *)dense.data + at * bytes, dense.dtype, count);
        dtype_from_float((char *)to->data + at * to_bytes, cast->to, block, count);
    }
    *record = *value->tensor.record;
    record->dtype = cast->to;
    record->dtype_name = dtype_info(cast->to)->name;
    value->tensor.record = record;
    value->tensor.tensor = to;
    return true;
}

/* The dtype that autocast computes a call in; DT_NONE where it does not. */
static enum dtype autocast_of(const struct api_case *call)
{
    if (!is_cast_by_autocast(call) || !call->outputs.list.count) return DT_NONE;
    enum dtype dtype = case_autocast(call);
    const struct value *result = &call->outputs.list.items[0];
    bool shows = result->kind == VALUE_TENSOR && result->tensor.tensor &&
                 result->tensor.tensor->dtype == dtype;
    return shows ? dtype : DT_NONE;
}

void record_cast_arguments(struct record *record, struct arena *arena)
{
    if (record->unusable.code) return;
    struct cast cast = { arena, autocast_of(&record->call) };
    if (cast.to == DT_NONE) return;
    if (!value_each_tensor(&record->call.args, cast_tensor, &cast) ||
        !value_each_tensor(&record->call.kwargs, cast_tensor, &cast))
        record->unusable = status_error(
            STATUS_SKIP,
            "computed under autocast, and there is no room to cast its arguments to %s",
            dtype_info(cast.to)->name);
}
