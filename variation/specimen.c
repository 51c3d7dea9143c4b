/* Copies without a pointer back, so that the arena of what was tried can be emptied. */
#include "variation/specimen.h"

#include <string.h>

#include "bench/bench.h"
#include "core/checked.h"

/* ---- copies ----------------------------------------------------------------------------- */

struct status specimen_set_tensor(struct value *value, struct arena *arena,
                                  const struct tensor *tensor)
{
    const struct tensor_record *before = value->tensor.record;
    struct tensor_record *record = arena_allocate_zeroed(arena, 1, sizeof *record);
    struct tensor *copy = arena_allocate(arena, sizeof *copy);
    if (!record || !copy) return status_no_memory(sizeof *record + sizeof *copy);
    *copy = *tensor;
    record->dtype = tensor->dtype;
    record->dtype_name = dtype_info(tensor->dtype)->name;
    record->rank = tensor->rank;
    memcpy(record->shape, tensor->shape, sizeof record->shape);
    record->requires_grad = before && before->requires_grad;
    record->is_parameter = before && before->is_parameter;
    *value = (struct value){ .kind = VALUE_TENSOR, .tensor = { record, copy } };
    return status_ok();
}

static struct status copy_tensor(struct value *out, struct arena *arena, const struct value *value)
{
    struct tensor dense, copy;
    *out = *value;
    if (!value->tensor.tensor) {
        out->tensor.record = NULL;
        if (!value->tensor.record) return status_ok();
        struct tensor_record *record = arena_allocate(arena, sizeof *record);
        if (!record) return status_no_memory(sizeof *record);
        *record = *value->tensor.record;
        record->dtype_name = dtype_info(record->dtype)->name;
        record->data_name = record->md5 = NULL;
        out->tensor.record = record;
        return status_ok();
    }
    TRY(tensor_densify(&dense, arena, value->tensor.tensor));
    TRY(tensor_create(&copy, arena, dense.dtype, dense.rank, dense.shape));
    memcpy(copy.data, dense.data, tensor_elements(&dense) * dtype_info(dense.dtype)->bytes);
    return specimen_set_tensor(out, arena, &copy);
}

static struct status copy_list(struct value *out, struct arena *arena, const struct value *value)
{
    size_t count = value->list.count;
    bool keyed = value->kind == VALUE_DICT;
    *out = (struct value){ .kind = value->kind };
    out->list.items = arena_allocate_zeroed(arena, count, sizeof *out->list.items);
    const char **keys = keyed ? arena_allocate_zeroed(arena, count, sizeof *keys) : NULL;
    if (!out->list.items || (keyed && !keys)) return status_no_memory(count * sizeof *out);
    for (size_t i = 0; i < count; i++) {
        TRY(specimen_copy_value(&out->list.items[i], arena, &value->list.items[i]));
        if (keyed && !(keys[i] = arena_copy_string(arena, value->list.keys[i])))
            return status_no_memory(0);
    }
    out->list.keys = keys;
    out->list.count = count;
    return status_ok();
}

struct status specimen_copy_value(struct value *out, struct arena *arena, const struct value *value)
{
    switch (value->kind) {
    case VALUE_TENSOR: return copy_tensor(out, arena, value);
    case VALUE_LIST:
    case VALUE_DICT:
    case VALUE_SLICE:
    case VALUE_SIZE: return copy_list(out, arena, value);
    case VALUE_STRING:
    case VALUE_DEVICE:
    case VALUE_MEMORY_FORMAT:
    case VALUE_UNSUPPORTED:
        *out = *value;
        out->string = arena_copy_string(arena, value->string);
        return out->string ? status_ok() : status_no_memory(0);
    default: *out = *value; return status_ok();
    }
}

struct status specimen_copy(struct api_case *out, struct arena *arena, const struct api_case *c)
{
    *out = *c;
    out->full_name = arena_copy_string(arena, c->full_name);
    out->type = arena_copy_string(arena, c->type);
    out->api = arena_copy_string(arena, c->api);
    if (!out->full_name || !out->type || !out->api) return status_no_memory(0);
    TRY(specimen_copy_value(&out->args, arena, &c->args));
    TRY(specimen_copy_value(&out->kwargs, arena, &c->kwargs));
    TRY(specimen_copy_value(&out->outputs, arena, &c->outputs));
    TRY(specimen_copy_value(&out->cotangents, arena, &c->cotangents));
    out->gradients = (struct value){ .kind = VALUE_LIST };
    return status_ok();
}

/* ---- shapes ----------------------------------------------------------------------------- */

struct status specimen_window(struct tensor *out, struct arena *arena, const struct tensor *in,
                              const int64_t *shape, const int64_t *start)
{
    size_t width = dtype_info(in->dtype)->bytes, n;
    int64_t at[TENSOR_MAX_RANK] = { 0 };
    struct tensor made;
    for (int d = 0; d < in->rank; d++)
        if (shape[d] && !in->shape[d])
            return status_error(STATUS_SKIP, "an empty tensor has no elements to repeat");
    TRY(tensor_create(&made, arena, in->dtype, in->rank, shape));
    n = tensor_elements(&made);
    for (size_t i = 0; i < n; i++) {
        int64_t from = 0;
        for (int d = 0; d < in->rank; d++)
            from += (start[d] + at[d]) % in->shape[d] * in->stride[d];
        memcpy((unsigned char *)made.data + i * width,
               (const unsigned char *)in->data + from * (int64_t)width, width);
        for (int d = in->rank; d-- > 0;) {
            if (++at[d] < made.shape[d]) break;
            at[d] = 0;
        }
    }
    *out = made;
    return status_ok();
}

struct status specimen_convert(struct tensor *out, struct arena *arena, const struct tensor *in,
                               enum dtype dtype)
{
    struct tensor converted;
    size_t n = tensor_elements(in);
    if (!dtype_is_float(in->dtype) || !dtype_is_float(dtype))
        return status_error(STATUS_SKIP, "only floating types are converted to each other");
    double *values = arena_allocate_array(arena, n, sizeof *values);
    if (!values) return status_no_memory(n * sizeof *values);
    TRY(tensor_create(&converted, arena, dtype, in->rank, in->shape));
    dtype_to_double(values, in->data, in->dtype, n);
    dtype_from_double(converted.data, dtype, values, n);
    *out = converted;
    return status_ok();
}

/* ---- what follows from the arguments ---------------------------------------------------- */

/* The record of an output, without elements. */
static struct status describe_output(struct value *out, struct arena *arena,
                                     const struct value *output)
{
    if (output->kind != VALUE_TENSOR) return specimen_copy_value(out, arena, output);
    TRY(specimen_set_tensor(out, arena, output->tensor.tensor));
    out->tensor.tensor = NULL;
    return status_ok();
}

/* A cotangent has the shape and dtype of its output. */
static struct status fit_cotangent(struct value *cotangent, struct arena *arena,
                                   const struct tensor_record *output)
{
    static const int64_t start[TENSOR_MAX_RANK];
    struct tensor fitted;
    if (cotangent->kind != VALUE_TENSOR || !cotangent->tensor.tensor || !output) return status_ok();
    const struct tensor *now = cotangent->tensor.tensor;
    if (now->rank != output->rank)
        return status_error(STATUS_SKIP, "the output has another rank than its cotangent");
    if (now->dtype == output->dtype &&
        !memcmp(now->shape, output->shape, (size_t)now->rank * sizeof now->shape[0]))
        return status_ok();
    TRY(specimen_window(&fitted, arena, now, output->shape, start));
    if (fitted.dtype != output->dtype)
        TRY(specimen_convert(&fitted, arena, &fitted, output->dtype));
    return specimen_set_tensor(cotangent, arena, &fitted);
}

struct status specimen_settle(struct api_case *c, struct arena *arena)
{
    struct arena scratch = { 0 };
    struct bench *bench = NULL;
    struct value outputs = { .kind = VALUE_LIST };
    struct status status = bench_open(&bench, c, &scratch, BENCH_NATIVE);
    if (!status.code) status = bench_native_outputs(&outputs, bench);
    size_t count = outputs.list.count;
    c->outputs = (struct value){ .kind = VALUE_LIST };
    c->outputs.list.items = arena_allocate_zeroed(arena, count, sizeof *c->outputs.list.items);
    if (!status.code && !c->outputs.list.items) status = status_no_memory(0);
    for (size_t i = 0; !status.code && i < count; i++, c->outputs.list.count = i)
        status = describe_output(&c->outputs.list.items[i], arena, &outputs.list.items[i]);
    for (size_t i = 0; !status.code && i < c->cotangents.list.count && i < count; i++) {
        const struct value *output = &c->outputs.list.items[i];
        status = fit_cotangent(&c->cotangents.list.items[i], arena,
                               output->kind == VALUE_TENSOR ? output->tensor.record : NULL);
    }
    arena_release(&scratch);
    return status;
}
