/* Shapes, strides and dense copies. */
#include "core/tensor.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/checked.h"
#include "core/quantity.h"

/* clang-format off */
size_t tensor_elements(const struct tensor *tensor)
{
    size_t n = 0;
    (void)shape_elements(&n, tensor->rank, tensor->shape);
    return n;
}
/* clang-format on */

/* clang-format off */
static void set_dense(struct tensor *out, enum dtype dtype, int rank, const int64_t *shape)
{
    int64_t stride = 1;

    out->dtype = dtype;
    out->rank = rank;
    for (int i = rank - 1; i >= 0; i--) {
        out->shape[i] = shape[i];
        out->stride[i] = stride;
        if (shape[i] > 0 && __builtin_mul_overflow(stride, shape[i], &stride)) stride = 0;
    }
}
/* clang-format on */

struct status tensor_create(struct tensor *out, struct arena *arena, enum dtype dtype, int rank,
                            const int64_t *shape)
{
    size_t n, bytes;
    char text[256];

    if (rank < 0 || rank > TENSOR_MAX_RANK)
        return status_error(STATUS_SKIP, "a tensor of %d dimensions; at most %d are supported",
                            rank, TENSOR_MAX_RANK);
    shape_format(text, sizeof text, rank, shape);
    if (!shape_elements(&n, rank, shape) || !size_multiply(&bytes, n, dtype_info(dtype)->bytes))
        return status_error(STATUS_NO_MEMORY, "a tensor of shape %s does not fit in memory", text);
    void *data = arena_allocate(arena, bytes);
    if (!data)
        return status_error(STATUS_NO_MEMORY, "out of memory: a tensor of shape %s needs %s", text,
                            quantity_bytes(bytes).text);
    set_dense(out, dtype, rank, shape);
    out->data = data;
    return status_ok();
}

void tensor_wrap(struct tensor *out, void *data, enum dtype dtype, int rank, const int64_t *shape)
{
    set_dense(out, dtype, rank, shape);
    out->data = data;
}

/* clang-format off */
bool tensor_is_dense(const struct tensor *tensor)
{
    int64_t expected = 1;

    if (tensor_elements(tensor) == 0) return true;
    for (int i = tensor->rank - 1; i >= 0; i--) {
        if (tensor->shape[i] != 1 && tensor->stride[i] != expected) return false;
        expected *= tensor->shape[i];
    }
    return true;
}
/* clang-format on */

/* clang-format off */
struct status tensor_densify(struct tensor *out, struct arena *arena, const struct tensor *in)
{
    if (tensor_is_dense(in)) {
        struct tensor same = *in;
        set_dense(&same, in->dtype, in->rank, in->shape);
        *out = same;
        return status_ok();
    }
    struct tensor copy;
    TRY(tensor_create(&copy, arena, in->dtype, in->rank, in->shape));
    size_t n = tensor_elements(in), width = dtype_info(in->dtype)->bytes;
    int64_t index[TENSOR_MAX_RANK] = { 0 };
    const unsigned char *from = in->data;
    unsigned char *to = copy.data;
    for (size_t k = 0; k < n; k++) {
        memcpy(to, from, width);
        to += width;
        for (int d = in->rank - 1; d >= 0; d--) {
            from += in->stride[d] * (int64_t)width;
            if (++index[d] < in->shape[d]) break;
            from -= in->stride[d] * in->shape[d] * (int64_t)width;
            index[d] = 0;
        }
    }
    *out = copy;
    return status_ok();
}
/* clang-format on */

/* clang-format off */
bool tensor_same_shape(const struct tensor *a, const struct tensor *b)
{
    if (a->rank != b->rank) return false;
    for (int i = 0; i < a->rank; i++)
        if (a->shape[i] != b->shape[i]) return false;
    return true;
}
/* clang-format on */

void shape_format(char *text, size_t bytes, int rank, const int64_t *shape)
{
    size_t used = 0;

    for (int i = 0; i < rank && used < bytes; i++)
        used += (size_t)snprintf(text + used, bytes - used, "%s%" PRId64, i ? ", " : "(", shape[i]);
    if (used < bytes)
        (void)snprintf(text + used, bytes - used, "%s", rank == 0 ? "()" : rank == 1 ? ",)" : ")");
}
