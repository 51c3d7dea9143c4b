/* Answers of a device that is known to be right as far as it goes: positions of values that tie, say. */
#include "bench/call/device_answer.h"

#include <string.h>

#include "bench/call/call.h"

const struct tensor *call_device_output(struct call *call, size_t k)
{
    call->device_answer.consulted = true;
    if (!call->device_answer.outputs || k >= call->device_answer.outputs->list.count) return NULL;
    const struct value *value = &call->device_answer.outputs->list.items[k];
    return value->kind == VALUE_TENSOR ? value->tensor.tensor : NULL;
}

struct node *call_device_numbers(struct call *call, size_t k, size_t n)
{
    const struct tensor *got = call_device_output(call, k);
    if (!got || dtype_is_complex(got->dtype) || tensor_elements(got) != n) return NULL;
    struct node *node = node_leaf(call->tape, got, false);
    if (!node->integer) (void)node_values(call->tape, node);
    return tape_failed(call->tape) ? NULL : node;
}

const int64_t *call_device_integer_list(struct call *call, size_t k, size_t *n)
{
    const struct tensor *got = call_device_output(call, k);
    struct tensor dense;
    if (!got || tape_failed(call->tape) || dtype_info(got->dtype)->kind != KIND_INTEGER ||
        tensor_densify(&dense, call->tape->arena, got).code)
        return NULL;
    *n = tensor_elements(got);
    int64_t *numbers = tape_allocate(call->tape, *n, sizeof *numbers);
    if (numbers) dtype_to_int64(numbers, dense.data, dense.dtype, *n);
    return numbers;
}

struct node *call_device_integers(struct call *call, size_t k, const struct node *like)
{
    size_t n;
    const int64_t *numbers = call_device_integer_list(call, k, &n);
    if (!numbers || n != like->n) return NULL;
    struct node *node = node_new_integer(call->tape, like->dtype, like->rank, like->shape);
    if (tape_failed(call->tape)) return NULL;
    if (n) memcpy(node->integer, numbers, n * sizeof *numbers);
    return node;
}

struct node *call_settled_indices(struct call *call, size_t k, struct node *own,
                                  bool (*accept)(void *context, size_t i, int64_t index),
                                  void *context)
{
    struct node *node = call_device_integers(call, k, own);
    if (!node) return own;
    for (size_t i = 0; i < node->n; i++)
        if (node->integer[i] != own->integer[i] && !accept(context, i, node->integer[i]))
            return own;
    return node;
}
