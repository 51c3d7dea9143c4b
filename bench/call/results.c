/* Outputs, in the dtype that the dump recorded where that is a matter of precision alone. */
#include "bench/call/results.h"

#include <string.h>

#include "bench/call/failure.h"
#include "bench/primitives/casts.h"
#include "core/checked.h"

static struct result *next_result(struct call *call)
{
    if (tape_failed(call->tape)) return NULL;
    if (call->results.count == call->results.capacity) {
        if (call->results.count >= CALL_MOST_OUTPUTS) {
            call_fail(call, "more than %d outputs", CALL_MOST_OUTPUTS);
            return NULL;
        }
        size_t capacity = call->results.capacity ? 2 * call->results.capacity : 4;
        struct result *bigger = tape_allocate(call->tape, capacity, sizeof *bigger);
        if (!bigger) return NULL;
        if (call->results.count)
            memcpy(bigger, call->results.items, call->results.count * sizeof *bigger);
        call->results.items = bigger;
        call->results.capacity = capacity;
    }
    struct result *result = &call->results.items[call->results.count++];
    memset(result, 0, sizeof *result);
    return result;
}

/* Tensor `wanted` of a recorded list, depth-first; NULL when there is none. */
static const struct tensor_record *recorded_tensor(const struct value *value, size_t *wanted)
{
    if (value->kind == VALUE_TENSOR || !value_is_sequence(value)) {
        if (*wanted == 0) return value->kind == VALUE_TENSOR ? value->tensor.record : NULL;
        (*wanted)--;
        return NULL;
    }
    for (size_t i = 0; i < value->list.count; i++) {
        size_t before = *wanted;
        const struct tensor_record *found = recorded_tensor(&value->list.items[i], wanted);
        if (found || (before == 0 && *wanted == 0 && !value_is_sequence(&value->list.items[i])))
            return found;
    }
    return NULL;
}

static enum dtype first_argument_dtype(const struct call *call)
{
    return call->arguments.leaf_count && call->arguments.leaves[0].value->tensor.tensor
               ? call->arguments.leaves[0].value->tensor.tensor->dtype
               : DT_NONE;
}

enum dtype call_recorded_dtype(const struct call *call, enum dtype dtype)
{
    size_t k = call->results.count;
    const struct tensor_record *record = recorded_tensor(&call->api_case->outputs, &k);
    bool floats = record && dtype_is_float(dtype) && record->dtype != DT_NONE &&
                  dtype_is_float(record->dtype);
    return floats ? record->dtype : dtype;
}

void call_return_typed(struct call *call, struct node *node, enum dtype dtype)
{
    if (dtype == DT_NONE) dtype = node->integer ? DT_I64 : DT_F32;
    if (call->in_place && call->results.count == 0 && first_argument_dtype(call) != DT_NONE)
        dtype = first_argument_dtype(call);
    else dtype = call_recorded_dtype(call, dtype);
    node = node_cast(call->tape, node, dtype);
    struct result *result = next_result(call);
    if (!result) return;
    result->kind = BENCH_OUTPUT_TENSOR;
    result->node = node;
    result->dtype = dtype;
    result->rank = node->rank;
    memcpy(result->shape, node->shape, sizeof result->shape);
}

void call_return(struct call *call, struct node *node)
{
    call_return_typed(call, node, node->dtype);
}

void call_return_none(struct call *call)
{
    struct result *result = next_result(call);
    if (result) result->kind = BENCH_OUTPUT_NONE;
}

void call_return_value(struct call *call, struct value value)
{
    struct result *result = next_result(call);
    if (!result) return;
    result->kind = BENCH_OUTPUT_VALUE;
    result->value = value;
}

void call_return_random(struct call *call, struct node *native, enum dtype dtype, int rank,
                        const int64_t *shape, const struct bench_property *property)
{
    size_t n;
    if (dtype == DT_NONE) dtype = DT_F32; /* of a Python number */
    if (!shape_elements(&n, rank, shape))
        call_fail(call, "a result shape is negative or too large");
    struct result *result = next_result(call);
    if (!result) return;
    result->kind = BENCH_OUTPUT_RANDOM;
    result->node = native;
    result->dtype = dtype;
    result->rank = rank;
    memcpy(result->shape, shape, (size_t)rank * sizeof *shape);
    result->property = property;
}
