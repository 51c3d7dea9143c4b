/* How much memory an evaluation may take, from the recorded shapes alone. */
#include "bench/bench.h"

static size_t recorded_elements(const struct value *value)
{
    size_t total = 0;
    if (value->kind == VALUE_TENSOR) {
        size_t n = 1;
        const struct tensor_record *record = value->tensor.record;
        for (int i = 0; record && i < record->rank; i++)
            if (__builtin_mul_overflow(n, (size_t)record->shape[i], &n)) return SIZE_MAX / 4096;
        return n < SIZE_MAX / 4096 ? n : SIZE_MAX / 4096;
    }
    for (size_t i = 0; value_is_sequence(value) && i < value->list.count; i++) {
        total += recorded_elements(&value->list.items[i]);
        if (total > SIZE_MAX / 4096) return SIZE_MAX / 4096;
    }
    return total;
}

size_t bench_peak_bytes(const struct api_case *c)
{
    /* A value and a bound per element and node; compositions keep about five nodes of the size
     * of each argument and result per direction, in two arithmetics. */
    size_t forward = recorded_elements(&c->args) + recorded_elements(&c->kwargs) +
                     recorded_elements(&c->outputs);
    size_t backward =
        c->has_backward ? recorded_elements(&c->cotangents) + recorded_elements(&c->gradients) : 0;
    return ((size_t)1 << 20) + forward * 96 + backward * 96;
}
