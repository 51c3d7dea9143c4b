/* Every dtype fits into doubles or into 64-bit integers. */
#include "runner/tensor_reference.h"

#include <string.h>

struct status tensor_reference(struct reference *out, struct arena *arena,
                               const struct tensor *tensor)
{
    struct tensor dense;
    size_t elements = tensor_elements(tensor);

    TRY(tensor_densify(&dense, arena, tensor));
    *out = (struct reference){ .dtype = tensor->dtype,
                               .rank = tensor->rank,
                               .n = dtype_is_complex(tensor->dtype) ? 2 * elements : elements,
                               .state = REFERENCE_EXACT };
    memcpy(out->shape, tensor->shape, sizeof out->shape);
    if (dtype_is_integral(tensor->dtype)) {
        out->integer = arena_allocate_array(arena, out->n, sizeof *out->integer);
        if (!out->integer) return status_no_memory(out->n * sizeof *out->integer);
        dtype_to_int64(out->integer, dense.data, dense.dtype, elements);
        return status_ok();
    }
    out->hi = arena_allocate_array(arena, out->n, sizeof *out->hi);
    if (!out->hi) return status_no_memory(out->n * sizeof *out->hi);
    dtype_to_double(out->hi, dense.data, dense.dtype, elements);
    return status_ok();
}
