/* An odometer over the kernel's order of dimensions, and conversion of what it collects. */
#include "runner/devices/tensor_layout.h"

#include <assert.h>
#include <string.h>

void layout_convert(void *out, enum dtype to, const void *in, enum dtype from, size_t n)
{
    enum { BLOCK = 1024 };
    size_t from_bytes = dtype_info(from)->bytes, to_bytes = dtype_info(to)->bytes;
    const unsigned char *source = in;
    unsigned char *target = out;

    if (from == to) {
        if (n) memcpy(out, in, n * to_bytes);
        return;
    }
    for (size_t done = 0; done < n; done += BLOCK) {
        size_t count = n - done < BLOCK ? n - done : BLOCK;
        if (dtype_is_integral(from)) {
            int64_t integers[BLOCK];
            dtype_to_int64(integers, source, from, count);
            dtype_from_int64(target, to, integers, count);
        } else {
            double numbers[2 * BLOCK];
            dtype_to_double(numbers, source, from, count);
            if (dtype_is_complex(to) && !dtype_is_complex(from))
                for (size_t i = count; i-- > 0;) {
                    numbers[2 * i] = numbers[i];
                    numbers[2 * i + 1] = 0;
                }
            dtype_from_double(target, to, numbers, count);
        }
        source += count * from_bytes;
        target += count * to_bytes;
    }
}

bool layout_broadcasts(int rank, const int64_t *shape, int wanted_rank, const int64_t *wanted)
{
    if (rank > wanted_rank) return false;
    for (int i = 1; i <= rank; i++)
        if (shape[rank - i] != 1 && shape[rank - i] != wanted[wanted_rank - i]) return false;
    return true;
}

/* Elements of `bytes` bytes from anywhere to a dense block: `stride` in elements, by dimension,
 * the last one varying fastest. */
static void gather(unsigned char *out, const unsigned char *in, size_t bytes, int rank,
                   const int64_t *shape, const int64_t *stride)
{
    int64_t index[TENSOR_MAX_RANK] = { 0 };
    assert(rank); /* a scalar is dense */
    int64_t inner = shape[rank - 1], step = stride[rank - 1];
    for (int i = 0; i < rank; i++)
        if (!shape[i]) return;
    for (;;) {
        if (step == 1) memcpy(out, in, (size_t)inner * bytes);
        else
            for (int64_t i = 0; i < inner; i++)
                memcpy(out + (size_t)i * bytes, in + i * step * (int64_t)bytes, bytes);
        out += (size_t)inner * bytes;
        int axis = rank - 2;
        for (; axis >= 0; axis--) {
            in += stride[axis] * (int64_t)bytes;
            if (++index[axis] < shape[axis]) break;
            in -= shape[axis] * stride[axis] * (int64_t)bytes;
            index[axis] = 0;
        }
        if (axis < 0) return;
    }
}

static bool is_row_major(int rank, const int *axes)
{
    for (int i = 0; axes && i < rank; i++)
        if (axes[i] != i) return false;
    return true;
}

struct status layout_store(void *out, enum dtype dtype, int rank, const int64_t *shape,
                           const int *axes, const struct tensor *in, struct arena *arena)
{
    struct tensor view = *in;
    size_t n;

    view.rank = rank;
    for (int i = 1; i <= rank; i++) {
        bool own = i <= in->rank;
        int64_t extent = own ? in->shape[in->rank - i] : 1;
        view.shape[rank - i] = shape[rank - i];
        view.stride[rank - i] = own && extent != 1 ? in->stride[in->rank - i] : 0;
    }
    n = tensor_elements(&view);
    if (is_row_major(rank, axes) && tensor_is_dense(&view)) {
        layout_convert(out, dtype, in->data, in->dtype, n);
        return status_ok();
    }
    int64_t extents[TENSOR_MAX_RANK], strides[TENSOR_MAX_RANK];
    for (int i = 0; i < rank; i++) {
        int axis = axes ? axes[i] : i;
        extents[i] = view.shape[axis];
        strides[i] = view.stride[axis];
    }
    size_t bytes = dtype_info(in->dtype)->bytes;
    if (in->dtype == dtype) {
        gather(out, in->data, bytes, rank, extents, strides);
        return status_ok();
    }
    void *dense = arena_allocate_array(arena, n, bytes);
    if (!dense) return status_no_memory(n * bytes);
    gather(dense, in->data, bytes, rank, extents, strides);
    layout_convert(out, dtype, dense, in->dtype, n);
    return status_ok();
}

struct status layout_load(struct tensor *out, enum dtype dtype, const struct tensor *stored,
                          const int *axes, struct arena *arena)
{
    struct tensor result, ordered = *stored;
    int64_t step = 1;

    TRY(tensor_create(&result, arena, dtype, stored->rank, stored->shape));
    for (int i = stored->rank - 1; i >= 0; i--) {
        ordered.stride[axes[i]] = step;
        step *= stored->shape[axes[i]];
    }
    TRY(layout_store(result.data, dtype, stored->rank, stored->shape, NULL, &ordered, arena));
    *out = result;
    return status_ok();
}
