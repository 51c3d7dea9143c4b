/* Alignment, byte order and truth values of elements that were stored by others. */
#include "formats/tensor_bytes.h"

#include <stdint.h>
#include <string.h>

#include "core/file.h"

/* Reverse the bytes of `count` items of `width` bytes. */
static void swap_items(unsigned char *bytes, size_t count, size_t width)
{
    for (size_t i = 0; i < count; i++, bytes += width)
        for (size_t low = 0, high = width - 1; low < high; low++, high--) {
            unsigned char kept = bytes[low];
            bytes[low] = bytes[high];
            bytes[high] = kept;
        }
}

struct status tensor_bytes_take(void **out, struct arena *arena, const void *bytes, size_t elements,
                                enum dtype dtype, bool swapped, const char *name)
{
    const struct dtype_info *info = dtype_info(dtype);
    /* Of a complex number each part is an item of its own. */
    size_t parts = info->kind == KIND_COMPLEX ? 2 : 1, width = info->bytes / parts;
    size_t total = elements * info->bytes;

    if (dtype == DT_BOOL)
        for (size_t i = 0; i < elements; i++)
            if (((const unsigned char *)bytes)[i] > 1)
                return status_error(STATUS_BAD_INPUT,
                                    "cannot read '%s': element %zu is a bool that is neither 0 "
                                    "nor 1",
                                    file_shown(name).text, i);
    if ((uintptr_t)bytes % width == 0 && (!swapped || width == 1)) {
        *out = (void *)(uintptr_t)bytes;
        return status_ok();
    }
    unsigned char *copy = arena_allocate(arena, total);
    if (!copy) return status_no_memory(total);
    if (total) memcpy(copy, bytes, total);
    if (swapped && width > 1) swap_items(copy, elements * parts, width);
    *out = copy;
    return status_ok();
}
