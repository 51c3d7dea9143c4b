/* BENCH_NATIVE: results and gradients as a device returns them. */
#include "bench/evaluation.h"

/* A node's values as dense elements of `dtype`. */
static struct status to_elements(void *out, struct tape *tape, struct node *node, enum dtype dtype)
{
    if (node->integer) {
        dtype_from_int64(out, dtype, node->integer, node->n);
        return status_ok();
    }
    const double *re = node_values(tape, node);
    if (dtype_is_complex(dtype)) {
        const double *im = node->imaginary ? node_values(tape, node->imaginary) : NULL;
        size_t width = dtype_info(dtype)->bytes;
        if (tape_failed(tape)) return tape->status;
        for (size_t i = 0; i < node->n; i++) {
            double pair[2] = { re[i], im ? im[i] : 0 };
            dtype_from_double((char *)out + i * width, dtype, pair, 1);
        }
    } else if (!tape_failed(tape)) dtype_from_double(out, dtype, re, node->n);
    return tape->status;
}

/* A node as a tensor of `dtype`. Floats that the tape has made and nobody has asked for as doubles are it themselves. */
static struct status to_tensor(struct value *out, struct tape *tape, struct node *node,
                               enum dtype dtype, struct arena *arena)
{
    struct tensor *tensor = arena_allocate(arena, sizeof *tensor);
    if (!tensor) return status_no_memory(0);
    if (dtype == DT_F32 && node->single && !node->value && !node->source) {
        tensor_wrap(tensor, (void *)(uintptr_t)node->single, dtype, node->rank, node->shape);
    } else {
        TRY(tensor_create(tensor, arena, dtype, node->rank, node->shape));
        TRY(to_elements(tensor->data, tape, node, dtype));
    }
    *out = (struct value){ .kind = VALUE_TENSOR };
    out->tensor.record = NULL;
    out->tensor.tensor = tensor;
    return status_ok();
}

static struct status new_list(struct value *out, size_t count, struct arena *arena)
{
    *out = (struct value){ .kind = VALUE_LIST };
    out->list.keys = NULL;
    out->list.count = count;
    out->list.items = arena_allocate_zeroed(arena, count, sizeof *out->list.items);
    return out->list.items ? status_ok() : status_no_memory(0);
}

struct status bench_native_outputs(struct value *out, struct bench *bench)
{
    TRY(new_list(out, bench->own.call.results.count, bench->own.arena));
    for (size_t i = 0; i < bench->own.call.results.count; i++) {
        const struct result *result = &bench->own.call.results.items[i];
        if (result->kind == BENCH_OUTPUT_VALUE) out->list.items[i] = result->value;
        else if (result->kind != BENCH_OUTPUT_NONE)
            TRY(to_tensor(&out->list.items[i], &bench->own.tape, result->node, result->dtype,
                          bench->own.arena));
    }
    return status_ok();
}

struct status bench_native_gradients(struct value *out, struct bench *bench,
                                     const struct value *cotangents)
{
    struct evaluation *own = &bench->own;
    TRY(evaluation_backward(own, cotangents));
    TRY(new_list(out, own->call.arguments.leaf_count, own->arena));
    for (size_t i = 0; i < own->call.arguments.leaf_count; i++) {
        struct node *gradient = evaluation_gradient(own, i);
        TRY(own->tape.status);
        if (gradient)
            TRY(to_tensor(&out->list.items[i], &own->tape, gradient,
                          own->call.arguments.leaves[i].value->tensor.tensor->dtype, own->arena));
    }
    return status_ok();
}
