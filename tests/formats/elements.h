/* The elements of the files in tests/data/pt and tests/data/npy, by the formula with which
 * make.py made them. */
#ifndef PROBE_TESTS_FORMATS_ELEMENTS_H
#define PROBE_TESTS_FORMATS_ELEMENTS_H

#include <check.h>
#include <string.h>

#include "core/tensor.h"

/* Element i as a complex number (imaginary part 0 for real types). */
static inline void element_expected(double out[2], enum dtype dtype, size_t i)
{
    int n = (int)(i * 7 % 11);
    out[1] = 0;
    switch (dtype_info(dtype)->kind) {
    case KIND_BOOL: out[0] = n % 2; break;
    case KIND_INTEGER: out[0] = dtype == DT_U8 ? n : n - 3; break;
    case KIND_COMPLEX:
        out[0] = (n - 3) / 8.0;
        out[1] = (double)i - 5;
        break;
    default: out[0] = (n - 3) / 8.0; break;
    }
}

/* Every element of a tensor, by its logical index through the strides. */
static inline void check_elements(const struct tensor *t)
{
    int64_t index[TENSOR_MAX_RANK] = { 0 };
    size_t width = dtype_info(t->dtype)->bytes;

    for (size_t i = 0; i < tensor_elements(t); i++) {
        int64_t offset = 0;
        double want[2], got[2] = { 0, 0 };
        for (int d = 0; d < t->rank; d++) offset += index[d] * t->stride[d];
        dtype_to_double(got, (const char *)t->data + offset * (int64_t)width, t->dtype, 1);
        element_expected(want, t->dtype, i);
        if (got[0] != want[0] || got[1] != want[1]) /* an assertion each would take seconds */
            ck_abort_msg("element %zu: %g%+gi, not %g%+gi", i, got[0], got[1], want[0], want[1]);
        for (int d = t->rank - 1; d >= 0; d--) {
            if (++index[d] < t->shape[d]) break;
            index[d] = 0;
        }
    }
}

static inline void check_shape(const struct tensor *t, int rank, const int64_t *shape)
{
    ck_assert_int_eq(t->rank, rank);
    for (int i = 0; i < rank; i++) ck_assert_int_eq(t->shape[i], shape[i]);
}

/* A dense tensor with the elements of the formula, in `arena`. */
static inline void fill_tensor(struct tensor *out, struct arena *arena, enum dtype dtype, int rank,
                               const int64_t *shape)
{
    ck_assert_int_eq(tensor_create(out, arena, dtype, rank, shape).code, STATUS_OK);
    for (size_t i = 0; i < tensor_elements(out); i++) {
        double x[2];
        element_expected(x, dtype, i);
        dtype_from_double((char *)out->data + i * dtype_info(dtype)->bytes, dtype, x, 1);
    }
}

#endif
