/* Read every element of a tensor that a parser returned (up to a number that keeps fuzzing
 * fast), so that ASan sees a view that leaves its file. */
#ifndef PROBE_TESTS_FUZZ_TOUCH_TENSOR_H
#define PROBE_TESTS_FUZZ_TOUCH_TENSOR_H

#include <assert.h>

#include "core/tensor.h"

static inline void touch_tensor(const struct tensor *t)
{
    enum { MOST = 100000 };
    int64_t index[TENSOR_MAX_RANK] = { 0 };
    size_t width = dtype_info(t->dtype)->bytes, elements = tensor_elements(t);

    assert(t->dtype > DT_NONE && t->dtype < DT_COUNT);
    assert(t->rank >= 0 && t->rank <= TENSOR_MAX_RANK);
    if (!elements) return;
    /* The last element first: the farthest. */
    int64_t last = 0;
    for (int d = 0; d < t->rank; d++) last += (t->shape[d] - 1) * t->stride[d];
    double x[2];
    dtype_to_double(x, (const char *)t->data + last * (int64_t)width, t->dtype, 1);
    for (size_t i = 0; i < elements && i < MOST; i++) {
        int64_t offset = 0;
        for (int d = 0; d < t->rank; d++) offset += index[d] * t->stride[d];
        dtype_to_double(x, (const char *)t->data + offset * (int64_t)width, t->dtype, 1);
        for (int d = t->rank - 1; d >= 0; d--) {
            if (++index[d] < t->shape[d]) break;
            index[d] = 0;
        }
    }
}

#endif
