/* From views of storages to tensors: elements are read once for all views of a storage, and the signs that a lazy view has not are
 * flipped in a copy. */
#include "formats/torch_objects.h"

#include <string.h>

#include "core/checked.h"
#include "formats/tensor_bytes.h"

/* Is the last element of the view inside the storage? */
static bool view_fits(const struct torch_view *view, size_t storage_elements)
{
    size_t last = (size_t)view->offset, part;

    for (int i = 0; i < view->rank; i++)
        if (!size_multiply(&part, (size_t)view->shape[i] - 1, (size_t)view->stride[i]) ||
            !size_add(&last, last, part))
            return false;
    return last < storage_elements;
}

/* Flip the signs that a lazy view has not: of the imaginary parts, of everything. The sign is the
 * highest bit of a component. */
static void flip_signs(const struct tensor *dense, const struct torch_view *view)
{
    size_t width = dtype_info(dtype_component(dense->dtype))->bytes;
    size_t components = dtype_is_complex(dense->dtype) ? 2 : 1, n = tensor_elements(dense);
    unsigned char *bytes = dense->data;
    for (size_t i = 0; i < n * components; i++) {
        bool imaginary = components == 2 && i % 2;
        if (view->negated != (imaginary && view->conjugated)) bytes[i * width + width - 1] ^= 0x80;
    }
}

static struct status apply_signs(struct tensor *out, struct torch_objects *objects,
                                 const struct torch_view *view)
{
    struct tensor copy = *out, from = *out;
    if (!dtype_is_float(out->dtype) && !dtype_is_complex(out->dtype))
        return torch_objects_bad(objects, "a view of integers is negated");
    /* Read only what is there: a dense tensor would be handed back as it is. */
    TRY(tensor_densify(&copy, objects->arena, &from));
    if (copy.data == from.data) {
        TRY(tensor_create(&copy, objects->arena, from.dtype, from.rank, from.shape));
        memcpy(copy.data, from.data, tensor_elements(&from) * dtype_info(from.dtype)->bytes);
    }
    flip_signs(&copy, view);
    *out = copy;
    return status_ok();
}

static struct status find_bytes(struct torch_objects *objects, struct torch_storage *storage)
{
    if (!storage->data && objects->find) TRY(objects->find(objects, storage));
    if (storage->data) return status_ok();
    return torch_objects_bad(objects, "the bytes of its storage are missing");
}

/* The elements of a storage, the same ones for all views of a dtype. */
static struct status take_elements(struct torch_objects *objects, struct torch_storage *storage,
                                   enum dtype dtype, size_t elements)
{
    if (storage->taken[dtype]) return status_ok();
    return tensor_bytes_take(&storage->taken[dtype], objects->arena, storage->data, elements, dtype,
                             storage->big_endian, objects->name);
}

struct status torch_objects_tensor(struct tensor *out, struct torch_objects *objects,
                                   const struct torch_view *view)
{
    struct torch_storage *storage = view->storage;
    size_t width = dtype_info(view->dtype)->bytes, elements;
    size_t in_storage = storage->dtype == DT_NONE ? storage->elements / width : storage->elements;
    struct tensor tensor = { .dtype = view->dtype, .rank = view->rank };

    if (!shape_elements(&elements, view->rank, view->shape) || elements > PTRDIFF_MAX / 16)
        return torch_objects_bad(objects, "the sizes of the tensor overflow");
    if (elements && !view_fits(view, in_storage))
        return torch_objects_bad(objects, "the tensor reaches beyond its storage");
    TRY(find_bytes(objects, storage));
    memcpy(tensor.shape, view->shape, sizeof tensor.shape);
    memcpy(tensor.stride, view->stride, sizeof tensor.stride);
    if (!elements) {
        /* Strides and offset of an empty tensor say nothing. */
        TRY(tensor_create(&tensor, objects->arena, view->dtype, view->rank, view->shape));
        *out = tensor;
        return status_ok();
    }
    TRY(take_elements(objects, storage, view->dtype, in_storage));
    tensor.data = (unsigned char *)storage->taken[view->dtype] + (size_t)view->offset * width;
    if (view->conjugated || view->negated) TRY(apply_signs(&tensor, objects, view));
    *out = tensor;
    return status_ok();
}
