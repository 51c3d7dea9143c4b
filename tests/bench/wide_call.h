/* The same call in float64: its inexact tensors take double or complex double elements, of the same values. */
#ifndef PROBE_TESTS_BENCH_WIDE_CALL_H
#define PROBE_TESTS_BENCH_WIDE_CALL_H

#include "core/case.h"

/* Visits one tensor; `context` is the arena. The record keeps the old dtype: calls read the tensor. */
static inline bool widen_tensor(struct value *value, void *context)
{
    struct arena *arena = context;
    const struct tensor *old = value->tensor.tensor;
    if (!old || (!dtype_is_float(old->dtype) && !dtype_is_complex(old->dtype))) return true;
    enum dtype dtype = dtype_is_complex(old->dtype) ? DT_C128 : DT_F64;
    struct tensor dense, *wide = arena_allocate_zeroed(arena, 1, sizeof *wide);
    if (tensor_densify(&dense, arena, old).code ||
        tensor_create(wide, arena, dtype, old->rank, old->shape).code)
        return false;
    dtype_to_double(wide->data, dense.data, dense.dtype, tensor_elements(&dense));
    value->tensor.tensor = wide;
    return true;
}

/* Widen all arguments. Recorded outputs are forgotten: their dtypes no longer hold. */
static inline bool widen_call(struct api_case *c, struct arena *arena)
{
    c->outputs.list.count = 0;
    return value_each_tensor(&c->args, widen_tensor, arena) &&
           value_each_tensor(&c->kwargs, widen_tensor, arena);
}

#endif
