/* Which calls autocast runs in its dtype is a list of PyTorch's (aten/src/ATen/autocast_mode.h); what it runs in float32 has
 * the arguments that were recorded, and what it leaves alone has one dtype throughout. Recurrent layers and cells show their
 * dtype only where all of a step was computed in it. */
#include "runner/autocast_arguments.h"

#include <string.h>

#include "runner/devices/autocast.h"

enum { BLOCK = 4096 };

static bool is_cast_by_autocast(const struct api_case *call)
{
    static const char *const groups[] = { "Functional", "Tensor", "Torch", "VF" };
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
        "lstm",
        "gru",
        "rnn_tanh",
        "rnn_relu",
        "lstm_cell",
        "gru_cell",
        "rnn_tanh_cell",
        "rnn_relu_cell",
    };
    bool known = false;
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        known |= !strcmp(call->type, groups[i]);
    for (size_t i = 0; known && i < sizeof names / sizeof *names; i++)
        if (!strcmp(call->api, names[i])) return true;
    return false;
}

static bool is_castable(enum dtype dtype)
{
    return dtype == DT_F32 || dtype == DT_F16 || dtype == DT_BF16;
}

static struct status cast_elements(struct tensor *out, struct arena *arena,
                                   const struct tensor *from, enum dtype to)
{
    struct tensor dense;
    float block[BLOCK];

    TRY(tensor_densify(&dense, arena, from));
    TRY(tensor_create(out, arena, to, from->rank, from->shape));
    size_t n = tensor_elements(&dense), bytes = dtype_info(dense.dtype)->bytes,
           to_bytes = dtype_info(to)->bytes;
    for (size_t at = 0; at < n; at += BLOCK) {
        size_t count = n - at < BLOCK ? n - at : BLOCK;
        dtype_to_float(block, (const char *)dense.data + at * bytes, dense.dtype, count);
        dtype_from_float((char *)out->data + at * to_bytes, to, block, count);
    }
    return status_ok();
}

static struct status cast_tensor(struct value *value, struct arena *arena, enum dtype to)
{
    const struct tensor *from = value->tensor.tensor;
    if (!from || !is_castable(from->dtype) || from->dtype == to) return status_ok();
    struct tensor *cast = arena_allocate(arena, sizeof *cast);
    struct tensor_record *record = arena_allocate_zeroed(arena, 1, sizeof *record);
    if (!cast || !record) return status_no_memory(sizeof *cast + sizeof *record);
    TRY(cast_elements(cast, arena, from, to));
    if (value->tensor.record) *record = *value->tensor.record;
    record->dtype = to;
    record->dtype_name = dtype_info(to)->name;
    value->tensor.record = record;
    value->tensor.tensor = cast;
    return status_ok();
}

/* Cast all tensors of a tree, whose lists are replaced by copies. */
static struct status cast_value(struct value *value, struct arena *arena, enum dtype to)
{
    if (value->kind == VALUE_TENSOR) return cast_tensor(value, arena, to);
    if (!value_is_sequence(value) || !value_count_tensors(value)) return status_ok();
    size_t count = value->list.count;
    struct value *items = arena_allocate_array(arena, count, sizeof *items);
    if (!items) return status_no_memory(count * sizeof *items);
    memcpy(items, value->list.items, count * sizeof *items);
    for (size_t i = 0; i < count; i++) TRY(cast_value(&items[i], arena, to));
    value->list.items = items;
    return status_ok();
}

/* The dtype that autocast computed a call in; DT_NONE where it did not. */
static enum dtype autocast_of(const struct api_case *call)
{
    if (!is_cast_by_autocast(call) || !call->outputs.list.count) return DT_NONE;
    enum dtype dtype = case_autocast(call);
    const struct value *result = &call->outputs.list.items[0];
    bool shows = result->kind == VALUE_TENSOR && result->tensor.record &&
                 result->tensor.record->dtype == dtype;
    return shows ? dtype : DT_NONE;
}

struct status autocast_arguments(enum dtype *to, struct api_case *c, struct arena *arena)
{
    *to = autocast_of(c);
    if (*to == DT_NONE) return status_ok();
    TRY(cast_value(&c->args, arena, *to));
    return cast_value(&c->kwargs, arena, *to);
}

struct status autocast_gradients(struct value *gradients, enum dtype to, struct arena *arena)
{
    return to == DT_NONE ? status_ok() : cast_value(gradients, arena, to);
}
